"""The clusters of an estimate, one line each, with intervals over the draws' clusters that match them."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.sparse import csr_array, issparse

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
    columns: dict[str, Any] = {
        "size": sizes,
        "size_low": size_low,
        "size_high": size_high,
        "weight": sizes / n,
        "weight_low": size_low / n,
        "weight_high": size_high / n,
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
    for s, (draw, (mine, theirs)) in enumerate(zip(draws, matches, strict=True)):
        each = _means_and_deviations(X, centre, draw, int(draw.max()) + 1)
        for values, found in zip(over_draws, each, strict=True):
            values[s, mine] = found[theirs]
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

    def shares(labels: np.ndarray, mine: np.ndarray, theirs: np.ndarray) -> np.ndarray:
        """Shares of the words of clusters ``mine`` in clusters ``theirs``."""
        n_theirs = int(labels.max()) + 1
        if not len(used):
            return np.zeros((len(mine), _WORDS))
        found = _by_cluster(narrow, labels, n_theirs)[np.repeat(theirs, _WORDS), place[mine].ravel()]
        whole = np.maximum(np.bincount(labels, totals, n_theirs)[theirs], 1e-300)
        return np.asarray(found).reshape(-1, _WORDS) / whole[:, None]

    over_draws = np.full((len(range(0, len(draws), every)), k, _WORDS), np.nan)
    for s, draw in enumerate(range(0, len(draws), every)):
        mine, theirs = matches[draw]
        over_draws[s, mine] = shares(draws[draw], mine, theirs)
    low, high = _interval(over_draws, level)
    own = shares(estimate, np.arange(k), np.arange(k))

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
