"""The clusters of an estimate, one line each, with intervals over the draws' clusters that match them.

Sizes are counted. For weights, means, standard deviations and shares of words, each matching cluster of a draw contributes
one value drawn given its rows, under a reference prior: intervals then include the uncertainty about the partition and that
about the parameters given the rows. These values are stratified over the draws, so that their noise is small, and the same
every time.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.sparse import csr_array
from scipy.special import betaincinv, ndtri

from hashmix.core.compiling import borrowed, kernel
from hashmix.posterior.estimate.matching import contingency_table, match_clusters
from hashmix.posterior.summaries import pandas
from hashmix.report.columns import numeric_columns

__all__ = ["DRAWS_FOR_CLUSTERS", "cluster_frame"]

#: Draws that intervals are computed from, at most, evenly spread over all; for words fewer, so that no more than so many
#: entries of the data are read.
DRAWS_FOR_CLUSTERS, _ENTRIES_FOR_WORDS = 100, 500_000_000
#: Words named per cluster.
_WORDS = 5

#: For each draw, the estimate's clusters that have a match, and the draw's clusters that these are matched with.
Matches = list[tuple[np.ndarray, np.ndarray]]


def cluster_frame(draws: np.ndarray, estimate: np.ndarray, X: Any, names: list[str], level: float) -> Any:
    """One line per cluster of the estimate: its size, how well draws agree with it, and a description by the data.

    The clusters of every draw are matched with those of the estimate. Intervals are over the draws in which a cluster has a
    match.

    Parameters
    ----------
    draws : int array of shape (n_draws, n_samples)
    estimate : int array of shape (n_samples,)
    X : array, DataFrame or sparse matrix of shape (n_samples, n_features), or None
        Numeric columns are described by means and standard deviations, a sparse matrix of counts by its most telling words.
    names : list of str
        Names of the columns.
    level : float
        Level of the intervals.

    Examples
    --------
    >>> import numpy as np
    >>> from hashmix.posterior.describe.clusters import cluster_frame
    >>> draws = np.array([[0, 0, 1], [0, 0, 1]], np.int32)
    >>> cluster_frame(draws, draws[0], np.array([[1.0], [3.0], [9.0]]), ["x"], 0.9)["x_mean"].tolist()
    [2.0, 9.0]
    """
    k, n = int(estimate.max()) + 1, len(estimate)
    sizes = np.bincount(estimate, minlength=k)
    found = np.full((len(draws), k), np.nan)
    agreement = np.zeros((len(draws), k))
    matches: Matches = []
    for s, draw in enumerate(draws):
        common = contingency_table(estimate, draw, (k, int(draw.max()) + 1))
        match = match_clusters(common)
        theirs = np.flatnonzero(match >= 0)
        mine, count = match[theirs], common.sum(axis=0)[theirs]
        found[s, mine] = count
        shared = common[mine, theirs]
        agreement[s, mine] = shared / (sizes[mine] + count - shared)
        matches.append((mine, theirs))
    size_low, size_high = _interval(found, level)
    weight_low, weight_high = _interval(betaincinv(found, n - found + 1.0, _strata(found.shape)), level)
    columns: dict[str, Any] = {
        "size": sizes,
        "size_low": size_low,
        "size_high": size_high,
        "weight": sizes / n,
        "weight_low": weight_low,
        "weight_high": weight_high,
        "matched": np.isfinite(found).mean(axis=0),
        "agreement": agreement.mean(axis=0),
    }
    if X is not None:
        numbers, numeric = numeric_columns(X, names)
        if numeric:
            columns |= _moments(numbers, numeric, estimate, k, draws, matches, level)
        elif _holds_counts(X):
            columns |= _words(X.tocsr(), names, estimate, k, draws, matches, level)
    return pandas().DataFrame(columns, index=pandas().RangeIndex(k, name="cluster"))


def _holds_counts(X: Any) -> bool:
    """Whether X is a sparse matrix of counts, so that its columns are words."""
    if not hasattr(X, "tocsr"):
        return False
    values = X.tocsr().data
    return bool((values >= 0).all() and (values.dtype.kind in "bui" or (values == np.floor(values)).all()))


def _interval(values: np.ndarray, level: float) -> tuple[np.ndarray, np.ndarray]:
    """The interval over draws; those without a match are left out. NaN where no draw has one."""
    out = np.full((2, *values.shape[1:]), np.nan)
    some = np.isfinite(values).any(axis=0)
    out[:, some] = np.nanquantile(values[:, some], [(1.0 - level) / 2.0, (1.0 + level) / 2.0], axis=0)
    return out[0], out[1]


def _strata(shape: tuple[int, ...]) -> np.ndarray:
    """Numbers in (0, 1), evenly spread over the first axis, in a random order that differs along the other axes."""
    order = np.random.default_rng(0).random(shape).argsort(axis=0)
    return (order + 0.5) / shape[0]


# ---- numeric columns: means and standard deviations --------------------------------------------------------------------


@kernel
def _moments_by_cluster(X, centre, labels, k):
    """Number of values, mean and standard deviation of every column in every cluster; blanks are left out.

    Sums are taken about ``centre`` to keep rounding errors small.
    """
    X, centre, labels = borrowed(X), borrowed(centre), borrowed(labels)
    n, d = X.shape
    counts, mean, deviation = np.zeros((k, d)), np.zeros((k, d)), np.zeros((k, d))
    for i in range(n):
        c = labels[i]
        for j in range(d):
            x = X[i, j] - centre[j]
            if not np.isnan(x):
                counts[c, j] += 1.0
                mean[c, j] += x
                deviation[c, j] += x * x
    for c in range(k):
        for j in range(d):
            mean[c, j] /= counts[c, j]
            deviation[c, j] = np.sqrt(max(deviation[c, j] / counts[c, j] - mean[c, j] ** 2, 0.0))
            mean[c, j] += centre[j]
            if counts[c, j] == 0.0:
                mean[c, j] = deviation[c, j] = np.nan
    return counts, mean, deviation


def _moments(
    X: np.ndarray, names: list[str], estimate: np.ndarray, k: int, draws: np.ndarray, matches: Matches, level: float
) -> dict[str, Any]:
    X = np.ascontiguousarray(X)
    centre = _means_of_columns(X)
    shape = len(draws), k, len(names)
    counts, means, deviations = np.ones(shape), np.full(shape, np.nan), np.full(shape, np.nan)
    for s, (draw, (mine, theirs)) in enumerate(zip(draws, matches, strict=True)):
        each = _moments_by_cluster(X, centre, draw, int(draw.max()) + 1)
        for values, found in zip((counts, means, deviations), each, strict=True):
            values[s, mine] = found[theirs]
    noise = ndtri(_strata((*shape, 2)))
    deviations *= np.exp(noise[..., 0] / np.sqrt(2.0 * np.maximum(counts - 1.0, 0.5)))
    means += deviations * noise[..., 1] / np.sqrt(np.maximum(counts, 1.0))
    _, mean_now, deviation_now = _moments_by_cluster(X, centre, estimate, k)
    described = [
        (what, now, *_interval(values, level))
        for what, now, values in (("mean", mean_now, means), ("sd", deviation_now, deviations))
    ]
    columns: dict[str, Any] = {}
    for j, name in enumerate(names):
        for what, now, low, high in described:
            columns |= {f"{name}_{what}": now[:, j], f"{name}_{what}_low": low[:, j], f"{name}_{what}_high": high[:, j]}
    return columns


def _means_of_columns(X: np.ndarray) -> np.ndarray:
    """The mean of every column without its blanks; 0 if there is nothing else."""
    means = X.mean(axis=0, dtype=np.float64)
    for j in np.flatnonzero(np.isnan(means)):
        column = X[:, j]
        present = column[~np.isnan(column)]
        means[j] = present.mean(dtype=np.float64) if len(present) else 0.0
    return means


# ---- counts: the most telling words ------------------------------------------------------------------------------------


def _words(
    X: Any, names: list[str], estimate: np.ndarray, k: int, draws: np.ndarray, matches: Matches, level: float
) -> dict[str, Any]:
    """The words that each cluster has most of beyond what all rows have, and their shares of the cluster's counts."""
    totals = np.asarray(X.sum(axis=1), np.float64).ravel()
    top = _telling_words(_by_cluster(X, estimate, k))
    used = np.unique(np.concatenate([*top, np.zeros(0, np.int64)]))
    narrow = csr_array(X)[:, used]
    every = -(-len(draws) * narrow.nnz // _ENTRIES_FOR_WORDS) or 1
    place = np.zeros((k, _WORDS), np.int64)
    named = np.zeros((k, _WORDS), bool)
    for c, words in enumerate(top):
        place[c, : len(words)], named[c, : len(words)] = np.searchsorted(used, words), True

    def counted(labels: np.ndarray, mine: np.ndarray, theirs: np.ndarray) -> np.ndarray:
        """Counts of the words of clusters ``mine`` in clusters ``theirs``, and of all words there."""
        n_theirs = int(labels.max()) + 1
        if not len(used):
            return np.zeros((2, len(mine), _WORDS))
        found = _by_cluster(narrow, labels, n_theirs)[np.repeat(theirs, _WORDS), place[mine].ravel()]
        whole = np.broadcast_to(np.bincount(labels, totals, n_theirs)[theirs, None], (len(mine), _WORDS))
        return np.stack([np.asarray(found).reshape(-1, _WORDS), whole])

    over_draws = np.full((2, len(range(0, len(draws), every)), k, _WORDS), np.nan)
    for s, draw in enumerate(range(0, len(draws), every)):
        mine, theirs = matches[draw]
        over_draws[:, s, mine] = counted(draws[draw], mine, theirs)
    found, whole = over_draws
    low, high = _interval(betaincinv(found + 0.5, whole - found + 0.5, _strata(found.shape)), level)
    found, whole = counted(estimate, np.arange(k), np.arange(k))
    own = found / np.maximum(whole, 1e-300)

    def listed(values: np.ndarray) -> list[tuple]:
        return [tuple(row[have].tolist()) for row, have in zip(values, named, strict=True)]

    return {
        "top_words": [tuple(names[j] for j in words) for words in top],
        "word_shares": listed(own),
        "word_shares_low": listed(low),
        "word_shares_high": listed(high),
    }


def _by_cluster(X: Any, labels: np.ndarray, k: int) -> csr_array:
    """The sum of the rows of each cluster."""
    n = len(labels)
    return csr_array(csr_array((np.ones(n), labels, np.arange(n + 1)), shape=(n, k)).T @ X)


def _telling_words(counts: csr_array) -> list[np.ndarray]:
    """For each cluster, the columns that contribute most to the divergence of its shares from those of all rows."""
    share_of_all = np.asarray(counts.sum(axis=0)).ravel() / max(counts.sum(), 1)
    out = []
    for start, end in zip(counts.indptr[:-1], counts.indptr[1:], strict=True):
        columns, mine = counts.indices[start:end], counts.data[start:end] / max(counts.data[start:end].sum(), 1)
        columns, mine = columns[mine > 0], mine[mine > 0]
        score = mine * np.log(mine / share_of_all[columns])
        out.append(columns[np.argsort(-score, kind="stable")[:_WORDS]])
    return out
