"""Approximate nearest neighbours by hashing: rows are compared with those adjacent to them in hash-sorted orders."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from hashmix.core.compiling import borrowed, helper, hot_helper, kernel
from hashmix.core.rng import chain_keys, stream
from hashmix.core.validation import bad_parameter, check_integer, check_n_jobs
from hashmix.data.rows import Rows, as_rows
from hashmix.hashing.family import HashFamily, check_bits, in_threads
from hashmix.hashing.features import column_map, has_negative, smallest_entry
from hashmix.hashing.sign_projection import SignProjection
from hashmix.hashing.tables import TableArrays
from hashmix.hashing.word_orders import WordOrders

__all__ = ["NeighbourLists", "Neighbours"]

#: Rows per window of an order. All rows of a window are compared with each other.
_WINDOW = 32
#: Windows that one thread processes per task.
_WINDOWS = 64
#: Up to this many sparse rows, all rows of a window are compared, even if they were sorted by different words. Windows then
#: cover a large part of all pairs by chance.
_FEW_ROWS = 10_000
#: Beyond this many rows, lists are shorter to save memory: a neighbour takes 8 bytes while lists are built.
_ROWS_FOR_LONG_LISTS, _SHORT_LIST = 2_000_000, 8


@hot_helper
def _squared_distances(columns, p, n_window, out):
    """Squared distances between row p of a window and all its rows. ``columns`` is the window, transposed."""
    for q in range(n_window):
        out[q] = np.float32(0.0)
    for j in range(columns.shape[0]):
        values = columns[j]
        own = values[p]
        for q in range(n_window):
            t = values[q] - own
            out[q] += t * t


@helper
def _insert(neighbours, distances, row, distance):
    """Insert a row into a list sorted from farthest to nearest, unless it is there already, and drop the farthest."""
    last = len(distances) - 1
    for at in range(last + 1):
        if neighbours[at] == row:
            return
    at = 0
    while at < last and distances[at + 1] > distance:
        distances[at] = distances[at + 1]
        neighbours[at] = neighbours[at + 1]
        at += 1
    distances[at] = distance
    neighbours[at] = row


@kernel
def _compare_dense(rows, features, order, n_windows, begin, end, lists, distances):
    """Compare the rows of each window begin … end − 1 of an order, and update the lists of nearest rows.

    A row is in exactly one window. Windows can therefore be processed in any order or in parallel.
    """
    X, order = borrowed(rows.values), borrowed(order)
    origin, scale = borrowed(features.origin), borrowed(features.scale)
    lists, distances = borrowed(lists), borrowed(distances)
    n, d = X.shape
    columns = np.empty((d, 2 * _WINDOW), np.float32)
    window_distances = np.empty(2 * _WINDOW, np.float32)
    for w in range(begin, end):
        first = w * n // n_windows
        n_window = (w + 1) * n // n_windows - first
        for p in range(n_window):
            i = order[first + p]
            for j in range(d):
                columns[j, p] = (X[i, j] - origin[j]) * scale[j]
        for p in range(n_window):
            i = order[first + p]
            _squared_distances(columns, p, n_window, window_distances)
            for q in range(n_window):
                if window_distances[q] < distances[i, 0] and q != p:
                    _insert(lists[i, 1:], distances[i], order[first + q], window_distances[q])


@helper
def _sum_products(rows, weights, members, groups, last, before, owners, coordinates, products):
    """Inner products of all pairs of rows of a window that are in one group.

    A coordinate is the square root of a count times the weight of the word. The entries of each word form a linked list:
    ``last[word]`` is the latest entry and ``before`` links to earlier entries. ``last`` is −1 everywhere on entry and exit.
    """
    n_window = len(members)
    for p in range(n_window):
        for q in range(p):
            products[q, p] = np.float32(0.0)
    entry = 0
    for p in range(n_window):
        for at in range(rows.begins[members[p]], rows.begins[members[p] + 1]):
            word = rows.columns[at]
            x = np.float32(math.sqrt(rows.values[at])) * weights[word]
            earlier = last[word]
            owners[entry], coordinates[entry], before[entry] = p, x, earlier
            last[word] = entry
            entry += 1
            while earlier >= 0 and owners[earlier] >= groups[p]:
                products[owners[earlier], p] += x * coordinates[earlier]
                earlier = before[earlier]
    for p in range(n_window):
        for at in range(rows.begins[members[p]], rows.begins[members[p] + 1]):
            last[rows.columns[at]] = -1


@kernel
def _compare_sparse(rows, weights, norms, order, sorted_by, n_windows, begin, end, lists, distances):
    """The same as :func:`_compare_dense` for sparse rows, with distance 1 − cosine.

    Rows of a window that were sorted by different words are adjacent by chance. Their distance is not computed, but set
    above all others. If there are few rows, all rows of a window are one group.
    """
    rows, order, weights, norms = borrowed(rows), borrowed(order), borrowed(weights), borrowed(norms)
    sorted_by, lists, distances = borrowed(sorted_by), borrowed(lists), borrowed(distances)
    n = len(lists)
    none, one = np.float32(0.0), np.float32(1.0)
    groups = np.zeros(2 * _WINDOW, np.int64)
    last = np.full(rows.n_features, -1, np.int32)
    before, owners, coordinates = np.empty(0, np.int32), np.empty(0, np.uint8), np.empty(0, np.float32)
    pairs = np.empty((2 * _WINDOW, 2 * _WINDOW), np.float32)
    for w in range(begin, end):
        first = w * n // n_windows
        members = order[first : (w + 1) * n // n_windows]
        n_window = len(members)
        length = 0
        for p in range(n_window):
            length += rows.begins[members[p] + 1] - rows.begins[members[p]]
            alike = p > 0 and (n <= _FEW_ROWS or sorted_by[first + p] == sorted_by[first + p - 1])
            groups[p] = groups[p - 1] if alike else p
        if length > len(before):
            before, owners = np.empty(2 * length, np.int32), np.empty(2 * length, np.uint8)
            coordinates = np.empty(2 * length, np.float32)
        _sum_products(rows, weights, members, groups, last, before, owners, coordinates, pairs)
        for p in range(n_window):
            for q in range(p):
                distance = one if q >= groups[p] else one + one
                if pairs[q, p] > none:
                    distance -= pairs[q, p] / (norms[members[p]] * norms[members[q]])
                pairs[q, p], pairs[p, q] = distance, distance
        for p in range(n_window):
            i = members[p]
            for q in range(n_window):
                if q != p and pairs[p, q] < distances[i, 0]:
                    _insert(lists[i, 1:], distances[i], members[q], pairs[p, q])


class Neighbours:
    """Approximate nearest neighbours of each row, by Euclidean distance over standardised columns.

    Sparse rows are word counts. They are near if the angle between them is small, with rare words weighted more.

    Rows are sorted by hash codes, ``n_tables`` times with new functions. Each row is compared with the rows adjacent to it,
    which share the first bits of its code, and keeps the nearest. Sparse rows are sorted by two words instead, chosen by a
    weighted MinHash: texts on one subject share few words, but rare ones. The cost is that of sorting the rows.

    The lists do not depend on a partition. Moves may use them as they use hash buckets, without any probability of the lists
    in their acceptance ratio.

    Parameters
    ----------
    X : Rows, array or sparse matrix of shape (n_rows, n_features)
    n_neighbors : int, default=12
        Length of a list, 1 to 31. Lists have n_rows − 1 neighbours if there are fewer rows.
    n_bits : int, default=32
        Bits per code, 1 to 64. Not used for sparse rows.
    n_tables : int, default=16
        Number of orders. More orders find nearer neighbours.
    random_state : None, int, SeedSequence, Generator or RandomState
        Source of the hash functions.
    n_jobs : int, optional
        Number of threads; None for one per processor. Does not change the result.

    Attributes
    ----------
    lists : int32 array of shape (n_rows, 1 + n_neighbors)
        The number of each row, followed by its neighbours from farthest to nearest.
    arrays : TableArrays
        The lists as kernels read them: one table of overlapping buckets, one bucket per row.

    Examples
    --------
    >>> import numpy as np, hashmix as hm
    >>> X = np.array([[0.0], [9.0], [0.1], [9.1], [0.3], [9.3]])
    >>> hm.hashing.Neighbours(X, n_neighbors=2, random_state=0).lists.tolist()
    [[0, 4, 2], [1, 5, 3], [2, 4, 0], [3, 5, 1], [4, 0, 2], [5, 1, 3]]
    """

    lists: np.ndarray
    arrays: TableArrays

    def __init__(
        self,
        X: Any,
        n_neighbors: int = 12,
        n_bits: int = 32,
        n_tables: int = 16,
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        owner = type(self).__name__
        rows = as_rows(X, owner)
        n_bits, n_tables = check_bits(owner, n_bits), check_integer(owner, "n_tables", n_tables, low=1)
        n_jobs = check_n_jobs(owner, n_jobs)
        n = rows.n_rows
        m = min(_check_length(owner, n_neighbors), n - 1)
        self.lists = np.empty((n, 1 + m), np.int32)
        self.lists[:, 0] = np.arange(n)
        self.lists[:, 1:] = -1
        if m > 0:
            key = chain_keys(random_state, 1)[0]
            distances = np.full((n, m), np.inf, np.float32)
            if rows.is_sparse:
                self._fill_sparse(rows, key, n_tables, n_jobs, distances)
            else:
                self._fill_dense(rows, key, n_bits, n_tables, n_jobs, distances)
        begins = np.arange(n + 1, dtype=np.int64) * (1 + m)
        own_bucket = np.arange(n, dtype=np.int32)[:, None]
        self.arrays = TableArrays(own_bucket, begins, self.lists.ravel(), np.full(n, -1, np.int32))

    def _fill_dense(self, rows: Rows, key: int, n_bits: int, n_tables: int, n_jobs: int, distances: np.ndarray) -> None:
        family = SignProjection(n_bits, 1, center="rows", scale=True, random_state=key).fit(rows)
        features = column_map(rows, center=True, scale=True)
        for t in range(n_tables):
            order = np.argsort(family.redrawn(rows, t).codes(rows, n_jobs)[0]).astype(np.int32)
            self._in_windows(partial(_compare_dense, rows.arrays, features, order), distances, n_jobs)

    def _fill_sparse(self, rows: Rows, key: int, n_tables: int, n_jobs: int, distances: np.ndarray) -> None:
        if has_negative(rows):
            least, row, column = smallest_entry(rows)
            raise ValueError(f"X must hold counts ≥ 0 if it is sparse. Got {least:g} in row {row}, column {column} instead.")
        orders = WordOrders(rows, key, n_jobs)
        for t in range(n_tables):
            compare = partial(_compare_sparse, rows.arrays, orders.weights, orders.norms, *orders.order(t))
            self._in_windows(compare, distances, n_jobs)

    def _in_windows(self, compare: Callable[..., None], distances: np.ndarray, n_jobs: int) -> None:
        n_windows = max(1, len(self.lists) // _WINDOW)
        in_threads(
            lambda w: compare(n_windows, w, min(w + _WINDOWS, n_windows), self.lists, distances),
            range(0, n_windows, _WINDOWS),
            n_jobs,
        )


def _check_length(owner: str, n_neighbors: Any) -> int:
    """Validate the length of a list, which must be less than a window."""
    if check_integer(owner, "n_neighbors", n_neighbors, low=1) >= _WINDOW:
        raise bad_parameter(owner, "n_neighbors", f"an integer from 1 to {_WINDOW - 1}", n_neighbors)
    return int(n_neighbors)


class NeighbourLists(HashFamily):
    """The family of hashed neighbours: the bucket of a row is the row and its list of :class:`Neighbours`.

    Parameters
    ----------
    n_bits : int, default=32
        Bits per code, 1 to 64. Not used for sparse rows.
    n_tables : int, default=16
        Number of hash-sorted orders in which neighbours are found.
    n_neighbors : int, default=12
        Length of a list, 1 to 31. Beyond 2 million rows, lists have at most 8 neighbours.

    Examples
    --------
    >>> import hashmix as hm
    >>> hm.hashing.NeighbourLists(n_neighbors=8)
    NeighbourLists(n_bits=32, n_tables=16, n_neighbors=8)
    """

    shared = True

    def __init__(self, n_bits: int = 32, n_tables: int = 16, n_neighbors: int = 12) -> None:
        super().__init__(n_bits, n_tables)
        self.n_neighbors: int = _check_length(type(self).__name__, n_neighbors)

    def build(self, rows: Rows, key: int, generation: int = 0, n_jobs: int | None = None) -> Neighbours:
        """Find the neighbours of all rows with the functions named by (key, generation).

        See :meth:`hashmix.hashing.HashFamily.build` for the parameters.

        Returns
        -------
        Neighbours

        Examples
        --------
        >>> import numpy as np, hashmix as hm
        >>> from hashmix.data.rows import as_rows
        >>> rows = as_rows(np.array([[0.0], [9.0], [0.1], [9.1]]))
        >>> hm.hashing.NeighbourLists(n_neighbors=1).build(rows, key=1).lists.tolist()
        [[0, 2], [1, 3], [2, 0], [3, 1]]
        """
        length = self.n_neighbors if rows.n_rows <= _ROWS_FOR_LONG_LISTS else min(self.n_neighbors, _SHORT_LIST)
        named = int(stream(key, generation).state[0])
        return Neighbours(rows, length, self.n_bits, self.n_tables, random_state=named, n_jobs=n_jobs)
