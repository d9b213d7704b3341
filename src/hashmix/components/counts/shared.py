"""Shared by the components of counts: rows, statistics, and the histograms that hyperparameters are learned from."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from typing import Any, ClassVar, NamedTuple

import numpy as np
from scipy.sparse import csr_array, hstack
from sklearn.random_projection import SparseRandomProjection

from hashmix.components.contract import Component
from hashmix.components.counts.word_slots import WordSlots, count_at, n_places, word_at
from hashmix.core.compiling import borrowed, kernel
from hashmix.core.special import log_gamma_ratios
from hashmix.data.counts import as_counts
from hashmix.data.rows import ENTRY_BLOCK, SparseRows

__all__ = [
    "CountComponent",
    "Histogram",
    "base_levels",
    "histogram",
    "most_words",
    "projected",
    "quantiles",
    "rise_of_pairs",
    "row_constants",
    "sizes_and_words",
    "sum_by_row",
    "sum_rises",
]

#: Words are sorted into levels by how often they occur; neighbouring levels differ by this factor.
_STEP = np.sqrt(2.0)
#: Counts below this enter a histogram; larger ones are listed.
_WIDTH = 512


def most_words(rows: SparseRows) -> int:
    """The largest number of words that a row has; at least 1."""
    return max(1, int(np.diff(rows.arrays.begins).max(initial=1)))


#: With more words than this, positions of clusters are projected to fewer coordinates: distances change by a few per cent.
_MOST_WORDS, _COORDINATES = 2000, 1000


def projected(matrix: csr_array) -> np.ndarray:
    """A sparse matrix with few columns: its own, or random projections of them, always the same."""
    if matrix.shape[1] > _MOST_WORDS:
        matrix = SparseRandomProjection(_COORDINATES, random_state=0).fit_transform(matrix)
    return matrix.toarray()


class CountComponent(Component):
    """Counts or 0/1 data, dense or sparse; clusters are known by the words they have.

    In the array forms, ``stats`` is a sparse matrix with one row per cluster: its size, the sum of its rows' constants, and
    its count of every word.
    """

    takes_sparse = True
    takes_counts = True
    has_words = True
    draws_parameters = True
    # A sample of texts has too few texts of each topic: their clusters merge.
    starts_from_sample = False
    # Small clusters lead to small concentrations, and these to small clusters. If the concentration is held at first,
    # small clusters merge.
    sweeps_held = 20
    #: Whether entries may only be 0 and 1.
    binary: ClassVar[bool] = False
    learn: bool

    @classmethod
    def rows(cls, X: Any, owner: str = "sample") -> SparseRows:
        return as_counts(X, owner, cls.binary)

    def word_profile(self, model: Any, stats: csr_array) -> np.ndarray:
        return self.expected_parameters(model, stats)

    def positions(self, model: Any, stats: csr_array) -> np.ndarray:
        """Square roots of how often a row of the cluster has each word: distances are Hellinger's, but for a projection."""
        sizes, words = sizes_and_words(stats)
        return projected(csr_array(words.multiply(1.0 / sizes[:, None])).sqrt())

    def slots(self, model: Any, capacity: int) -> WordSlots:
        return WordSlots.empty(capacity, model.n_words, model.row_words)

    def statistics(self, model: Any, X: Any, labels: np.ndarray, n_clusters: int) -> csr_array:
        matrix = self.rows(X).matrix()
        n = matrix.shape[0]
        one_hot = csr_array((np.ones(n), labels, np.arange(n + 1)), shape=(n, n_clusters)).T
        own = np.column_stack([np.ones(n), self._row_constants(matrix)])
        return csr_array(hstack([csr_array(one_hot @ own), one_hot @ matrix.astype(np.float64)], format="csr"))

    @abstractmethod
    def _row_constants(self, matrix: csr_array) -> np.ndarray:
        """What every row adds to the log likelihood of its cluster, whichever that is."""

    def log_predictives(self, model: Any, stats: csr_array, X: Any) -> np.ndarray:
        matrix = self.rows(X).matrix()
        totals = np.asarray(matrix.sum(axis=1, dtype=np.float64)).ravel()
        constants = self._row_constants(matrix)
        out = np.empty((matrix.shape[0], stats.shape[0]))
        for c in range(stats.shape[0]):
            size, words = sizes_and_words(stats[[c]])
            out[:, c] = constants + self._log_predictives_of(model, float(size[0]), words.toarray()[0], matrix, totals)
        return out

    @abstractmethod
    def _log_predictives_of(
        self, model: Any, size: float, words: np.ndarray, matrix: csr_array, totals: np.ndarray
    ) -> np.ndarray:
        """Log p(row | one cluster) of all rows, without their constants."""


def sizes_and_words(stats: csr_array) -> tuple[np.ndarray, csr_array]:
    """The sizes of clusters and their counts of words, as ``stats`` has them."""
    return stats[:, [0]].toarray().ravel(), stats[:, 2:]


def row_constants(stats: csr_array) -> np.ndarray:
    """The sum of its rows' constants for every cluster, as ``stats`` has it."""
    return stats[:, [1]].toarray().ravel()


def sum_by_row(matrix: csr_array, terms: np.ndarray) -> np.ndarray:
    """Sum one number per entry over the entries of every row."""
    return np.asarray(csr_array((terms, matrix.indices, matrix.indptr), shape=matrix.shape).sum(axis=1)).ravel()


def sum_rises(matrix: csr_array, start: np.ndarray) -> np.ndarray:
    """Σ_w log Γ(start_w + x_w) − log Γ(start_w) of every row x."""
    terms = np.log(start)[matrix.indices]
    many = matrix.data > 1
    x = matrix.data[many].astype(np.float64)
    terms[many] = log_gamma_ratios(start[matrix.indices[many]] + x, x)
    return sum_by_row(matrix, terms)


def quantiles(numbers: Any) -> np.ndarray:
    """At most 1000 of some integers, evenly spaced in their order."""
    ordered = np.sort(np.asarray(numbers).ravel())
    return ordered[np.linspace(0, len(ordered) - 1, min(len(ordered), 1000)).astype(np.int64)]


def base_levels(rows: SparseRows) -> np.ndarray:
    """Relative weights of words with mean 1, in proportion to how often they occur, rounded to some tens of levels.

    Every word is counted once more than it occurs.
    """
    values, columns, _, d = rows.arrays
    totals = np.zeros(d)
    for start in range(0, len(values), ENTRY_BLOCK):
        block = slice(start, start + ENTRY_BLOCK)
        totals += np.bincount(columns[block], values[block], d)
    rounded = _STEP ** np.round(np.log(1.0 + totals) / np.log(_STEP))
    return rounded / rounded.mean()


# ---- what hyperparameters are learned from ---------------------------------------------------------------------------------


class Histogram(NamedTuple):
    """How many (cluster, word) pairs of each level have each count: pairs below, larger ones one by one."""

    pairs: np.ndarray  # (n_levels, _WIDTH)
    levels: np.ndarray  # of the larger ones
    counts: np.ndarray


@kernel
def _count_pairs(slots, used, levels, pairs, large, left):
    """Count pairs by level and count, or by how many rows do not have the word if ``left``; list what is too large.

    Returns how many were too large; if more than ``large`` can hold, only that number is right.
    """
    slots, used, levels = borrowed(slots), borrowed(used), borrowed(levels)
    pairs, large = borrowed(pairs), borrowed(large)
    found = 0
    for s in range(len(used)):
        slot = used[s]
        for k in range(n_places(slots, slot)):
            count = count_at(slots, slot, k)
            if count > 0:
                level = levels[word_at(slots, slot, k)]
                if left:
                    count = slots.sizes[slot] - count
                if count < pairs.shape[1]:
                    pairs[level, count] += 1
                else:
                    if found < len(large):
                        large[found, 0] = level
                        large[found, 1] = count
                    found += 1
    return found


def histogram(slots: WordSlots, used: np.ndarray, levels: np.ndarray, n_levels: int, left: bool = False) -> Histogram:
    """The pairs of a chain's clusters and words by level and count, or by rows without the word if ``left``."""
    large = np.empty((1024, 2), np.int64)
    while True:
        pairs = np.zeros((n_levels, _WIDTH), np.int64)
        found = _count_pairs(slots, used, levels, pairs, large, left)
        if found <= len(large):
            return Histogram(pairs, *np.ascontiguousarray(large[:found].T))
        large = np.empty((found, 2), np.int64)


def rise_of_pairs(pairs: Histogram) -> Callable[[np.ndarray], float]:
    """The function Σ over pairs of log Γ(v_level + count) − log Γ(v_level) of the levels' values v."""
    level, count = np.nonzero(pairs.pairs)
    weight = pairs.pairs[level, count].astype(np.float64)
    levels, counts = np.concatenate([level, pairs.levels]), np.concatenate([count, pairs.counts]).astype(np.float64)
    weights = np.concatenate([weight, np.ones(len(pairs.levels))])

    def total(values: np.ndarray) -> float:
        return float(weights @ log_gamma_ratios(values[levels] + counts, counts))

    return total
