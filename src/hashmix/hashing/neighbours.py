"""Lists of neighbours found by hashing: the nearest of the rows that a row has met in hash-sorted orders."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from hashmix.compiling import borrowed, helper, hot_helper, kernel
from hashmix.hashing.family import in_threads
from hashmix.hashing.rows import SparseRows, as_hashable, column_map, n_rows, smallest_entry
from hashmix.hashing.sign_projection import SignProjection
from hashmix.hashing.tables import TableArrays
from hashmix.hashing.word_orders import WordOrders
from hashmix.rng import chain_keys
from hashmix.validation import bad_parameter, check_integer, check_n_jobs

__all__ = ["Neighbours"]

#: Rows that meet: each is compared with this many that stand next to it in the order of their codes.
_WINDOW = 32
#: Windows one thread goes through in one go.
_WINDOWS = 64
#: Up to so many sparse rows, all that stand together are compared: by chance, too, a row meets a good part of all.
_FEW_ROWS = 10_000


@hot_helper
def _squared_distances(columns, p, n_met, out):
    """Squared distances of the p-th of the rows that meet from all of them; ``columns`` has a column of the data a row."""
    for q in range(n_met):
        out[q] = np.float32(0.0)
    for j in range(columns.shape[0]):
        values = columns[j]
        own = values[p]
        for q in range(n_met):
            t = values[q] - own
            out[q] += t * t


@helper
def _insert(neighbours, distances, row, distance):
    """Put a row into a list that is sorted from the farthest to the nearest, if it is not in it; the farthest falls out."""
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
def _meet(rows, features, order, n_windows, begin, end, lists, distances):
    """Let the rows of windows begin … end − 1 of an order meet; each keeps the nearest it has met so far.

    A row is in one window, so that windows can be gone through in any order or at once.
    """
    X, order = borrowed(rows.values), borrowed(order)
    origin, scale = borrowed(features.origin), borrowed(features.scale)
    lists, distances = borrowed(lists), borrowed(distances)
    n, d = X.shape
    columns = np.empty((d, 2 * _WINDOW), np.float32)
    met = np.empty(2 * _WINDOW, np.float32)
    for w in range(begin, end):
        first = w * n // n_windows
        n_met = (w + 1) * n // n_windows - first
        for p in range(n_met):
            i = order[first + p]
            for j in range(d):
                columns[j, p] = (X[i, j] - origin[j]) * scale[j]
        for p in range(n_met):
            i = order[first + p]
            _squared_distances(columns, p, n_met, met)
            for q in range(n_met):
                if met[q] < distances[i, 0] and q != p:
                    _insert(lists[i, 1:], distances[i], order[first + q], met[q])


@helper
def _sum_products(rows, weights, members, groups, last, before, owners, coordinates, products):
    """Products of rows that meet and are of one group, two by two.

    The square root of a count, times the word's weight, is a coordinate. For every word, those who have it are a chain:
    ``last[word]`` is the latest entry (−1: none, before and after), and ``before`` leads on to the earlier ones.
    """
    n_met = len(members)
    for p in range(n_met):
        for q in range(p):
            products[q, p] = np.float32(0.0)
    entry = 0
    for p in range(n_met):
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
    for p in range(n_met):
        for at in range(rows.begins[members[p]], rows.begins[members[p] + 1]):
            last[rows.columns[at]] = -1


@kernel
def _meet_sparse(rows, weights, norms, order, sorted_by, n_windows, begin, end, lists, distances):
    """What :func:`_meet` does, of sparse rows, by 1 − the cosine of the angle between them.

    Rows that are not sorted by the same word stand together by chance, and are taken to be farther than all others; of few
    rows, all are one group.
    """
    rows, order, weights, norms = borrowed(rows), borrowed(order), borrowed(weights), borrowed(norms)
    sorted_by, lists, distances = borrowed(sorted_by), borrowed(lists), borrowed(distances)
    n = len(lists)
    none, one = np.float32(0.0), np.float32(1.0)
    groups = np.zeros(2 * _WINDOW, np.int64)
    last = np.full(rows.n_features, -1, np.int32)
    before, owners, coordinates = np.empty(0, np.int32), np.empty(0, np.uint8), np.empty(0, np.float32)
    met = np.empty((2 * _WINDOW, 2 * _WINDOW), np.float32)
    for w in range(begin, end):
        first = w * n // n_windows
        members = order[first : (w + 1) * n // n_windows]
        n_met = len(members)
        length = 0
        for p in range(n_met):
            length += rows.begins[members[p] + 1] - rows.begins[members[p]]
            alike = p > 0 and (n <= _FEW_ROWS or sorted_by[first + p] == sorted_by[first + p - 1])
            groups[p] = groups[p - 1] if alike else p
        if length > len(before):
            before, owners = np.empty(2 * length, np.int32), np.empty(2 * length, np.uint8)
            coordinates = np.empty(2 * length, np.float32)
        _sum_products(rows, weights, members, groups, last, before, owners, coordinates, met)
        for p in range(n_met):
            for q in range(p):
                distance = one if q >= groups[p] else one + one
                if met[q, p] > none:
                    distance -= met[q, p] / (norms[members[p]] * norms[members[q]])
                met[q, p], met[p, q] = distance, distance
        for p in range(n_met):
            i = members[p]
            for q in range(n_met):
                if q != p and met[p, q] < distances[i, 0]:
                    _insert(lists[i, 1:], distances[i], members[q], met[p, q])


class Neighbours:
    """For every row, some of the rows nearest to it, in Euclidean distance over standardised columns.

    Sparse rows, of counts, are near when their angle is small, common words counting for little.

    Rows are sorted by hash codes, ``n_tables`` times with fresh functions, and each meets those that stand next to it: rows
    that share the first bits of a code are near each other (the codes of sparse rows are two words, chosen by a weighted
    MinHash: two texts on one subject share few of their words, but rare ones). Of all it has met it keeps the nearest. The
    cost grows with the number of rows like that of sorting them. Lists are found without looking at a partition, so that
    moves may use them as they use hash buckets: no probability of theirs enters a ratio.

    Parameters
    ----------
    X : array of shape (n_rows, n_features)
    n_neighbors : int, default=12
        Length of a list (n_rows − 1 if that is less).
    n_bits, n_tables : int, default=32 and 16
        Bits of a code (1 to 64; not of sparse rows), and how many orders there are. More orders find nearer neighbours.
    random_state : None, int, SeedSequence, Generator or RandomState
        Where hash functions come from.
    n_jobs : int, optional
        Threads to work in; None for one per processor. Does not change the result.

    Attributes
    ----------
    lists : int32 array of shape (n_rows, 1 + n_neighbors)
        Each row's own number, then its neighbours, from the farthest to the nearest.
    arrays : TableArrays
        The lists as a table of overlapping buckets, one for each row, as kernels read them.

    Examples
    --------
    >>> import numpy as np, hashmix as hm
    >>> X = np.array([[0.0], [9.0], [0.1], [9.1], [0.3], [9.3]])
    >>> hm.hashing.Neighbours(X, n_neighbors=2, random_state=0).lists.tolist()
    [[0, 4, 2], [1, 5, 3], [2, 4, 0], [3, 5, 1], [4, 0, 2], [5, 1, 3]]
    """

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
        rows = as_hashable(X, owner)
        n = n_rows(rows)
        m = min(check_integer(owner, "n_neighbors", n_neighbors, low=1), n - 1)
        if m >= _WINDOW:
            raise bad_parameter(owner, "n_neighbors", f"an integer from 1 to {_WINDOW - 1}", n_neighbors)
        n_tables = check_integer(owner, "n_tables", n_tables, low=1)
        n_jobs = check_n_jobs(owner, n_jobs)
        self.lists = np.empty((n, 1 + m), np.int32)
        self.lists[:, 0] = np.arange(n)
        self.lists[:, 1:] = -1
        if m > 0:
            key = chain_keys(random_state, 1)[0]
            distances = np.full((n, m), np.inf, np.float32)
            if isinstance(rows, SparseRows):
                self._fill_sparse(rows, key, n_tables, n_jobs, distances)
            else:
                self._fill_dense(rows, key, n_bits, n_tables, n_jobs, distances)
        begins = np.arange(n + 1, dtype=np.int64) * (1 + m)
        rows_themselves = np.arange(n, dtype=np.int32)[:, None]
        self.arrays = TableArrays(rows_themselves, begins, self.lists.ravel(), np.empty(0, np.int32))

    def _fill_dense(self, rows: Any, key: int, n_bits: int, n_tables: int, n_jobs: int, distances: np.ndarray) -> None:
        family = SignProjection(n_bits, 1, center="rows", scale=True, random_state=key).fit(rows)
        features = column_map(rows, True, True, False)
        for t in range(n_tables):
            order = np.argsort(family.redrawn(rows, t).codes(rows, n_jobs)[0]).astype(np.int32)
            self._in_windows(partial(_meet, rows, features, order), distances, n_jobs)

    def _fill_sparse(self, rows: SparseRows, key: int, n_tables: int, n_jobs: int, distances: np.ndarray) -> None:
        least, row, column = smallest_entry(rows)
        if least < 0:
            raise ValueError(f"X must hold counts ≥ 0 if it is sparse. Got {least:g} in row {row}, column {column} instead.")
        orders = WordOrders(rows, key, n_jobs)
        for t in range(n_tables):
            self._in_windows(partial(_meet_sparse, rows, orders.weights, orders.norms, *orders.order(t)), distances, n_jobs)

    def _in_windows(self, meet: Callable[..., None], distances: np.ndarray, n_jobs: int) -> None:
        n_windows = max(1, len(self.lists) // _WINDOW)
        in_threads(
            lambda w: meet(n_windows, w, min(w + _WINDOWS, n_windows), self.lists, distances),
            range(0, n_windows, _WINDOWS),
            n_jobs,
        )
