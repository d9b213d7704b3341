"""Random orders of sparse rows in which rows that share rare words are adjacent."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from hashmix.core.compiling import borrowed, kernel
from hashmix.core.counter import address, uniform_at
from hashmix.data.rows import Rows
from hashmix.hashing.family import in_threads
from hashmix.hashing.features import document_weights

__all__ = ["WordOrders"]

#: Rows that one thread processes per task.
_BLOCK = 16384


@kernel
def _arrivals(key, table, weights, out):
    """Draw an exponential arrival time of each word, with rate proportional to its squared weight."""
    for j in range(len(out)):
        out[j] = -math.log(uniform_at(address(key, table, j), 0)) / max(weights[j], 1e-6) ** 2


@kernel
def _first_words(rows, arrivals, begin, end, codes):
    """Find the two words of each row that arrive first. The rate of a word is multiplied by its count in the row."""
    rows, arrivals = borrowed(rows), borrowed(arrivals)
    for i in range(begin, end):
        soonest, next_soonest = np.inf, np.inf
        word, next_word = -1, -1
        for at in range(rows.begins[i], rows.begins[i + 1]):
            when = arrivals[rows.columns[at]] / rows.values[at] if rows.values[at] > 0 else np.inf
            if when < soonest:
                soonest, next_soonest = when, soonest
                word, next_word = rows.columns[at], word
            elif when < next_soonest:
                next_soonest, next_word = when, rows.columns[at]
        codes[i] = (np.int64(word) << 32) + next_word


@kernel
def _norms(rows, weights, begin, end, norms):
    rows, weights = borrowed(rows), borrowed(weights)
    for i in range(begin, end):
        total = 0.0
        for at in range(rows.begins[i], rows.begins[i + 1]):
            total += rows.values[at] * weights[rows.columns[at]] ** 2
        norms[i] = math.sqrt(total)


class WordOrders:
    """Random orders of sparse rows, sorted by two words per row.

    Words arrive at random times, rare words early. Each row is sorted by the first two of its words to arrive. Two rows
    share their first word with the probability of a weighted MinHash.

    Parameters
    ----------
    rows : SparseRows
        Word counts ≥ 0.
    key : int
        Names the orders.
    n_jobs : int
        Number of threads. Does not change the result.

    Attributes
    ----------
    weights : float32 array of shape (n_columns,)
        Inverse document frequencies.
    norms : float32 array of shape (n_rows,)
        Norms of the rows whose coordinates are square roots of counts times weights.

    Examples
    --------
    >>> from scipy.sparse import csr_array
    >>> from hashmix.data.rows import as_sparse
    >>> from hashmix.hashing.word_orders import WordOrders
    >>> X = csr_array([[1, 2, 0, 0], [0, 0, 2, 1], [1, 1, 0, 0], [0, 0, 1, 1]])
    >>> order, words = WordOrders(as_sparse(X), key=0, n_jobs=1).order(0)
    >>> order.tolist(), words.tolist()
    ([0, 2, 1, 3], [1, 1, 2, 3])
    """

    rows: Rows
    key: Any
    n_jobs: int
    weights: np.ndarray
    norms: np.ndarray

    def __init__(self, rows: Rows, key: int, n_jobs: int) -> None:
        self.rows, self.key, self.n_jobs = rows, np.uint64(key), n_jobs
        self.weights = document_weights(rows).astype(np.float32)
        self.norms = np.empty(rows.n_rows, np.float32)
        self._in_blocks(lambda begin, end: _norms(rows.arrays, self.weights, begin, end, self.norms))

    def order(self, t: int) -> tuple[np.ndarray, np.ndarray]:
        """The t-th order.

        Returns
        -------
        order : int32 array of shape (n_rows,)
            Row numbers.
        words : int32 array of shape (n_rows,)
            The first word of each of these rows; −1 for empty rows.
        """
        arrivals = np.empty(self.rows.n_columns, np.float32)
        _arrivals(self.key, t, self.weights, arrivals)
        codes = np.empty(self.rows.n_rows, np.int64)
        self._in_blocks(lambda begin, end: _first_words(self.rows.arrays, arrivals, begin, end, codes))
        order = np.argsort(codes, kind="stable").astype(np.int32)
        return order, (codes[order] >> 32).astype(np.int32)

    def _in_blocks(self, work: Callable[[int, int], None]) -> None:
        n = self.rows.n_rows
        in_threads(lambda begin: work(begin, min(begin + _BLOCK, n)), range(0, n, _BLOCK), self.n_jobs)
