"""The clusters of an estimate, one line each, with intervals over the draws' clusters that match them.

Sizes are counted. Of weights, means, standard deviations and shares of words, every draw's cluster gives one value drawn given
its rows, under a reference prior, so that intervals hold both what is not known of the partition and what its rows leave open.
These values are stratified over the draws: their noise is small, and the same every time.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.sparse import csr_array, issparse
from scipy.special import betaincinv, ndtri

from hashmix.compiling import borrowed, kernel
from hashmix.posterior.matching import match_clusters, table_of
from hashmix.posterior.tables import pandas

__all__ = ["DRAWS_FOR_CLUSTERS", "cluster_table"]

#: Draws that cluster tables look at, at most, spread evenly over all; for words fewer, so that at most so many entries of the
#: data are gone through.
DRAWS_FOR_CLUSTERS, _ENTRIES_FOR_WORDS = 100, 500_000_000
#: Words of a cluster of counts that are named.
_WORDS = 5


def cluster_table(draws: Any, estimate: np.ndarray, X: Any, names: list[str], level: float) -> Any:
    """One line a cluster of the estimate: its size, how much of it other draws agree on, and what is in it.

    Every draw's clusters are matched with the estimate's. Intervals are over draws in which a cluster has a match.
    """
    k, n = int(estimate.max()) + 1, len(estimate)
    sizes = np.bincount(estimate, minlength=k)
    found = np.full((len(draws), k), np.nan)
    agreement = np.zeros((len(draws), k))
    matches = []
    for s, draw in enumerate(draws):
        table = table_of(estimate, draw, (k, int(draw.max()) + 1))
        match = match_clusters(table)
        theirs = np.flatnonzero(match >= 0)
        mine, count = match[theirs], table.sum(axis=0)[theirs]
        found[s, mine] = count
        shared = table[mine, theirs]
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
        describe = _words if issparse(X) else _moments
        columns |= describe(X, names, estimate, k, draws, matches, level)
    return pandas().DataFrame(columns, index=pandas().RangeIndex(k, name="cluster"))


def _interval(values: np.ndarray, level: float) -> tuple[np.ndarray, np.ndarray]:
    """The interval over draws, those without a match left out; NaN where none has one."""
    out = np.full((2, *values.shape[1:]), np.nan)
    some = np.isfinite(values).any(axis=0)
    out[:, some] = np.nanquantile(values[:, some], [(1.0 - level) / 2.0, (1.0 + level) / 2.0], axis=0)
    return out[0], out[1]


def _strata(shape: tuple[int, ...]) -> np.ndarray:
    """Numbers in (0, 1), evenly spread over the first axis in an order of their own everywhere else."""
    order = np.random.default_rng(0).random(shape).argsort(axis=0)
    return (order + 0.5) / shape[0]


# ---- dense columns: means and standard deviations ----------------------------------------------------------------------


@kernel
def _means_and_deviations(X, centre, labels, k):
    """Mean and standard deviation of every column in every cluster; sums are taken about ``centre``, for their rounding."""
    X, centre, labels = borrowed(X), borrowed(centre), borrowed(labels)
    n, d = X.shape
    counts = np.zeros(k)
    mean, deviation = np.zeros((k, d)), np.zeros((k, d))
    for i in range(n):
        c = labels[i]
        counts[c] += 1.0
        for j in range(d):
            x = X[i, j] - centre[j]
            mean[c, j] += x
            deviation[c, j] += x * x
    for c in range(k):
        for j in range(d):
            mean[c, j] /= counts[c]
            deviation[c, j] = np.sqrt(max(deviation[c, j] / counts[c] - mean[c, j] ** 2, 0.0))
            mean[c, j] += centre[j]
    return mean, deviation


def _moments(
    X: Any, names: list[str], estimate: np.ndarray, k: int, draws: Any, matches: list[tuple], level: float
) -> dict[str, Any]:
    X = np.ascontiguousarray(X)
    centre = X.mean(axis=0, dtype=np.float64)
    over_draws = np.full((2, len(draws), k, len(names)), np.nan)
    counts = np.ones((len(draws), k, 1))
    for s, (draw, (mine, theirs)) in enumerate(zip(draws, matches, strict=True)):
        each = _means_and_deviations(X, centre, draw, int(draw.max()) + 1)
        counts[s, mine, 0] = np.bincount(draw)[theirs]
        for values, found in zip(over_draws, each, strict=True):
            values[s, mine] = found[theirs]
    noise = ndtri(_strata((*over_draws.shape[1:], 2)))
    over_draws[1] *= np.exp(noise[..., 0] / np.sqrt(2.0 * np.maximum(counts - 1.0, 0.5)))
    over_draws[0] += over_draws[1] * noise[..., 1] / np.sqrt(counts)
    columns: dict[str, Any] = {}
    described = [
        (what, now, *_interval(values, level))
        for what, now, values in zip(("mean", "sd"), _means_and_deviations(X, centre, estimate, k), over_draws, strict=True)
    ]
    for j, name in enumerate(names):
        for what, now, low, high in described:
            columns |= {f"{name}_{what}": now[:, j], f"{name}_{what}_low": low[:, j], f"{name}_{what}_high": high[:, j]}
    return columns


# ---- counts: the words that tell most ----------------------------------------------------------------------------------


def _words(
    X: Any, names: list[str], estimate: np.ndarray, k: int, draws: Any, matches: list[tuple], level: float
) -> dict[str, Any]:
    """The words each cluster has most of beyond what all rows have, and what share of its counts they are."""
    totals = np.asarray(X.sum(axis=1), np.float64).ravel()
    counts = _by_cluster(X, estimate, k)
    top = _telling_words(counts)
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
    n = len(labels)
    return csr_array(csr_array((np.ones(n), labels, np.arange(n + 1)), shape=(n, k)).T @ X)


def _telling_words(counts: csr_array) -> list[np.ndarray]:
    share_of_all = np.asarray(counts.sum(axis=0)).ravel() / max(counts.sum(), 1)
    out = []
    for start, end in zip(counts.indptr[:-1], counts.indptr[1:], strict=True):
        columns, mine = counts.indices[start:end], counts.data[start:end] / max(counts.data[start:end].sum(), 1)
        columns, mine = columns[mine > 0], mine[mine > 0]
        score = mine * np.log(mine / share_of_all[columns])
        out.append(columns[np.argsort(-score, kind="stable")[:_WORDS]])
    return out
