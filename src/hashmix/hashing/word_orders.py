"""Orders of sparse rows in which those that share rare words stand together."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from hashmix.compiling import borrowed, kernel
from hashmix.hashing.counter import address, uniform_at
from hashmix.hashing.family import in_threads
from hashmix.hashing.rows import SparseRows, document_weights, n_rows

__all__ = ["WordOrders"]

#: Rows one thread goes through in one go.
_BLOCK = 16384


@kernel
def _arrivals(key, table, weights, out):
    """When each word comes, in a random order of words: sooner, the larger the square of its weight."""
    for j in range(len(out)):
        out[j] = -math.log(uniform_at(address(key, table, j), 0)) / max(weights[j], 1e-6) ** 2


@kernel
def _first_words(rows, arrivals, begin, end, codes):
    """The two words of each row that come first, a word that is in a row twice coming twice as soon."""
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
    """Sparse rows sorted by two of their words: those that come first in a random order of words, where rare ones come early.

    Rows that share a word meet there with the probability of a weighted MinHash.

    Parameters
    ----------
    rows : SparseRows
        Counts of words, not negative.
    key : int
        Names the orders.
    n_jobs : int
        Threads to work in; does not change the result.

    Attributes
    ----------
    weights : float32 array of shape (n_features,)
        Of words, large for rare ones.
    norms : float32 array of shape (n_rows,)
        Lengths of rows whose coordinates are square roots of counts, times weights.

    Examples
    --------
    >>> from scipy.sparse import csr_matrix
    >>> from hashmix.hashing.rows import as_hashable
    >>> from hashmix.hashing.word_orders import WordOrders
    >>> X = csr_matrix([[1, 2, 0, 0], [0, 0, 2, 1], [1, 1, 0, 0], [0, 0, 1, 1]])
    >>> order, words = WordOrders(as_hashable(X, "WordOrders"), key=0, n_jobs=1).order(0)
    >>> order.tolist(), words.tolist()
    ([0, 2, 1, 3], [1, 1, 2, 3])
    """

    def __init__(self, rows: SparseRows, key: int, n_jobs: int) -> None:
        self.rows, self.key, self.n_jobs = rows, np.uint64(key), n_jobs
        self.weights = document_weights(rows).astype(np.float32)
        self.norms = np.empty(n_rows(rows), np.float32)
        self._in_blocks(lambda begin, end: _norms(rows, self.weights, begin, end, self.norms))

    def order(self, t: int) -> tuple[np.ndarray, np.ndarray]:
        """The rows' numbers in the t-th order, and which word each is sorted by first."""
        arrivals = np.empty(self.rows.n_features, np.float32)
        _arrivals(self.key, t, self.weights, arrivals)
        codes = np.empty(n_rows(self.rows), np.int64)
        self._in_blocks(lambda begin, end: _first_words(self.rows, arrivals, begin, end, codes))
        order = np.argsort(codes, kind="stable").astype(np.int32)
        return order, (codes[order] >> 32).astype(np.int32)

    def _in_blocks(self, work: Any) -> None:
        n = n_rows(self.rows)
        in_threads(lambda begin: work(begin, min(begin + _BLOCK, n)), range(0, n, _BLOCK), self.n_jobs)
