"""Hash tables as samplers: one look-up gives a row that is likely to be similar, or dissimilar, to a given row."""

from __future__ import annotations

from copy import copy
from typing import Any, NamedTuple, Protocol, runtime_checkable

import numpy as np

from hashmix.core.compiling import borrowed, helper, inlined, kernel
from hashmix.core.rng import chain_keys, integer, stream
from hashmix.core.validation import bad_parameter, check_integer, check_n_jobs
from hashmix.data.rows import Rows, as_rows
from hashmix.hashing.family import in_threads

__all__ = [
    "NO_TABLES",
    "ComputesCodes",
    "TableArrays",
    "Tables",
    "another_from_bucket",
    "bucket_mate",
    "filled_bucket",
    "n_others",
    "row_of_window",
    "turned",
    "window_of_mates",
]


class TableArrays(NamedTuple):
    """Hash tables as kernels read them. Buckets are numbered consecutively over all tables.

    Parameters
    ----------
    buckets : int32 array of shape (n_rows, n_tables)
        The bucket of each row in each table.
    begins : int64 array of shape (n_buckets + 1,)
        Bucket b holds the rows ``order[begins[b] : begins[b + 1]]``.
    order : int32 array
        Rows by bucket.
    opposites : int32 array of shape (n_buckets,)
        The bucket of the opposite code; −1 if there is none.
    """

    buckets: np.ndarray
    begins: np.ndarray
    order: np.ndarray
    opposites: np.ndarray


#: An empty argument for kernels that take tables but do not read them.
NO_TABLES = TableArrays(np.empty((0, 1), np.int32), np.zeros(1, np.int64), np.empty(0, np.int32), np.empty(0, np.int32))


# ---- building --------------------------------------------------------------------------------------------------------------


@helper
def _slot(code, slots, distinct):
    """The slot that holds the number of a code, or the empty slot where it belongs (open addressing)."""
    last = np.uint64(len(slots) - 1)
    # Short codes differ in their low bits only, 64-bit codes in any. A multiplication spreads the differences of both.
    at = ((code * np.uint64(0x9E3779B97F4A7C15)) >> np.uint64(32)) & last
    while slots[at] >= 0 and distinct[slots[at]] != code:
        at = (at + np.uint64(1)) & last
    return at


@kernel
def _sort_into_buckets(codes, bucket, order):
    """Number distinct codes by first appearance and sort rows by code.

    Return the distinct codes, the begin of each bucket in ``order``, and the slots for :func:`_find_codes`.
    """
    codes, bucket, order = borrowed(codes), borrowed(bucket), borrowed(order)
    n = len(codes)
    slots = np.full(1024, -1, np.int32)
    distinct = np.empty(n, np.uint64)
    found = 0
    for i in range(n):
        at = _slot(codes[i], slots, distinct)
        if slots[at] < 0:
            slots[at] = found
            distinct[found] = codes[i]
            found += 1
            bucket[i] = found - 1
            if 2 * found > len(slots):
                slots = np.full(2 * len(slots), -1, np.int32)
                for b in range(found):
                    slots[_slot(distinct[b], slots, distinct)] = b
        else:
            bucket[i] = slots[at]
    begins = np.zeros(found + 1, np.int64)
    for i in range(n):
        begins[bucket[i] + 1] += 1
    for b in range(found):
        begins[b + 1] += begins[b]
    place = begins[:found].copy()
    for i in range(n):
        order[place[bucket[i]]] = i
        place[bucket[i]] += 1
    return distinct[:found].copy(), begins, slots


@kernel
def _find_codes(codes, slots, distinct):
    """The numbers of codes; −1 for codes that no row has."""
    codes, slots, distinct = borrowed(codes), borrowed(slots), borrowed(distinct)
    found = np.empty(len(codes), np.int32)
    for k in range(len(codes)):
        found[k] = slots[_slot(codes[k], slots, distinct)]
    return found


# ---- sampling --------------------------------------------------------------------------------------------------------------


# A row is always in its own bucket and never in the opposite one. It can be left out without a search.


@inlined
def n_others(tables, bucket, opposite, but):
    """Number of rows in a bucket other than row ``but`` (−1 to leave out none).

    ``opposite`` tells whether the bucket is the opposite of the bucket of ``but``. Bucket −1 is empty.
    """
    if bucket < 0:
        return 0
    return tables.begins[bucket + 1] - tables.begins[bucket] - (1 if but >= 0 and not opposite else 0)


@inlined
def turned(tables, bucket, opposite):
    """The bucket itself, or its opposite."""
    return tables.opposites[bucket] if opposite and bucket >= 0 else bucket


@inlined
def window_of_mates(rng, tables, i, n_mates):
    """Rows of row i's bucket in a random table, starting at a random place: begin and size of the bucket, start and length.

    The window has one row more than ``n_mates`` if the bucket does, since row i may be one of them.
    """
    bucket = tables.buckets[i, integer(rng, tables.buckets.shape[1])]
    begin, size = tables.begins[bucket], tables.begins[bucket + 1] - tables.begins[bucket]
    length = min(size, n_mates + 1)
    start = integer(rng, size) if length < size else 0
    return begin, size, start, length


@inlined
def row_of_window(tables, begin, size, place):
    """The row at a place of a bucket, counted around its end."""
    return tables.order[begin + (place if place < size else place - size)]


@helper
def filled_bucket(rng, tables, buckets, opposite, but):
    """Probe random tables until the bucket of the query holds a row other than ``but``; −1 if all are empty.

    ``buckets`` holds the bucket of the query in each table. With ``opposite``, the opposite buckets are probed. One table is
    probed first. If its bucket is empty, one of the tables with a non-empty bucket is drawn. Either way, each non-empty
    bucket is equally likely.
    """
    n_tables = len(buckets)
    bucket = turned(tables, buckets[integer(rng, n_tables)], opposite)
    if n_others(tables, bucket, opposite, but) > 0:
        return bucket
    filled = 0
    for t in range(n_tables):
        if n_others(tables, turned(tables, buckets[t], opposite), opposite, but) > 0:
            filled += 1
    left = integer(rng, filled) if filled > 0 else -1
    for t in range(n_tables):
        bucket = turned(tables, buckets[t], opposite)
        if n_others(tables, bucket, opposite, but) > 0:
            if left == 0:
                return bucket
            left -= 1
    return -1


@helper
def another_from_bucket(rng, tables, bucket, opposite, but):
    """Draw a uniform row of a bucket, other than ``but``; −1 for bucket −1."""
    if bucket < 0:
        return -1
    row = tables.order[tables.begins[bucket] + integer(rng, n_others(tables, bucket, opposite, but))]
    # If a row is left out, the draw is over all places but the last, and the last row replaces the one left out.
    return tables.order[tables.begins[bucket + 1] - 1] if row == but else row


@inlined
def bucket_mate(rng, tables, buckets, opposite, but):
    """Locality-sensitive sampling: a uniform row of :func:`filled_bucket`, other than ``but``; −1 if there is none."""
    return another_from_bucket(rng, tables, filled_bucket(rng, tables, buckets, opposite, but), opposite, but)


@kernel
def _draw_mates(rng, tables, buckets, opposite, but, out):
    rng, tables, buckets = borrowed(rng), borrowed(tables), borrowed(buckets)
    for k in range(len(out)):
        out[k] = bucket_mate(rng, tables, buckets, opposite, but)


@runtime_checkable
class ComputesCodes(Protocol):
    """The methods of a family that :class:`Tables` use; see :class:`~hashmix.hashing.CodeFamily`."""

    @property
    def is_fitted(self) -> bool: ...

    def fit(self, X: Any) -> Any: ...

    def redrawn(self, X: Any, key: int) -> Any: ...

    def codes(self, X: Any, n_jobs: int | None = None) -> np.ndarray: ...

    def opposite(self, codes: np.ndarray) -> np.ndarray | None: ...


class Tables:
    """Hash tables over the rows of X, used as samplers.

    Parameters
    ----------
    X : Rows, array or sparse matrix of shape (n_rows, n_features)
        Not copied. :meth:`refresh` reads it again.
    family : CodeFamily
        The hash functions, such as :class:`SignProjection` or :class:`WeightedMinHash`. If it is not fitted, a copy of it is
        fitted to X.
    n_jobs : int, optional
        Number of threads; None for one per processor. Does not change the result.

    Attributes
    ----------
    arrays : TableArrays
        The tables as kernels read them.
    rows : Rows
        The rows of X.
    family : CodeFamily
        The fitted family.
    bucket_codes : uint64 array of shape (n_buckets,)
        The code of each bucket.
    table_begins : int64 array of shape (n_tables + 1,)
        The first bucket of each table.

    Examples
    --------
    >>> import numpy as np, hashmix as hm
    >>> X = np.array([[3.0, 0.1], [3.0, 0.0], [-3.0, 0.2], [-3.0, -0.3]])
    >>> tables = hm.hashing.Tables(X, hm.hashing.SignProjection(n_bits=2, n_tables=8, random_state=0))
    >>> int(tables.sample(0, random_state=0)), tables.sample(0, similar=False, random_state=0) in (2, 3)
    (1, True)
    """

    rows: Rows
    n_jobs: int
    bucket_codes: np.ndarray
    table_begins: np.ndarray
    arrays: TableArrays

    def __init__(self, X: Any, family: ComputesCodes, n_jobs: int | None = None) -> None:
        if not isinstance(family, ComputesCodes):
            raise bad_parameter("Tables", "family", "a SignProjection, a WeightedMinHash or another CodeFamily", family)
        self.rows, self.n_jobs = as_rows(X, "Tables"), check_n_jobs("Tables", n_jobs)
        self.family = family if family.is_fitted else copy(family).fit(self.rows)
        self._refreshed = 0
        self._build()

    def refresh(self) -> Tables:
        """Draw new hash functions and rebuild the tables in place.

        The new functions depend on the number of earlier calls, and on nothing else.

        Returns
        -------
        Tables
            The tables themselves.

        Examples
        --------
        >>> import numpy as np, hashmix as hm
        >>> X = np.random.default_rng(0).normal(size=(50, 3))
        >>> tables = hm.hashing.Tables(X, hm.hashing.SignProjection(n_bits=4, n_tables=1, random_state=0))
        >>> before = tables.bucket(0).tolist()
        >>> before == tables.refresh().bucket(0).tolist()
        False
        """
        self._refreshed += 1
        self.family = self.family.redrawn(self.rows, self._refreshed)
        self._build()
        return self

    def _build(self) -> None:
        codes = self.family.codes(self.rows, self.n_jobs)
        n_tables, n = codes.shape
        bucket, order = np.empty((n_tables, n), np.int32), np.empty((n_tables, n), np.int32)
        built = in_threads(lambda t: self._build_table(codes[t], bucket[t], order[t]), range(n_tables), self.n_jobs)
        self.bucket_codes = np.concatenate([distinct for distinct, _, _ in built])
        self.table_begins = np.cumsum([0] + [len(distinct) for distinct, _, _ in built])
        begins = np.concatenate([part[:-1] + t * n for t, (_, part, _) in enumerate(built)] + [[n_tables * n]])
        bucket += self.table_begins[:-1, None].astype(np.int32)
        for (_, _, opposites), first in zip(built, self.table_begins[:-1], strict=True):
            opposites[opposites >= 0] += first
        opposites = np.concatenate([opposites for _, _, opposites in built])
        self.arrays = TableArrays(np.ascontiguousarray(bucket.T), begins, order.ravel(), opposites)

    def _build_table(self, codes: np.ndarray, bucket: np.ndarray, order: np.ndarray) -> tuple[np.ndarray, ...]:
        """Sort rows into the buckets of one table; return the code, the begin and the opposite bucket of each."""
        distinct, begins, slots = _sort_into_buckets(codes, bucket, order)
        wanted = self.family.opposite(distinct)
        opposites = np.full(len(distinct), -1, np.int32) if wanted is None else _find_codes(wanted, slots, distinct)
        return distinct, begins, opposites

    @property
    def n_tables(self) -> int:
        """Number of tables."""
        return self.arrays.buckets.shape[1]

    def __len__(self) -> int:
        return len(self.arrays.buckets)

    def bucket(self, i: int, table: int = 0) -> np.ndarray:
        """Rows with the code of row i in a table, including row i.

        Examples
        --------
        >>> import numpy as np, hashmix as hm
        >>> X = np.array([[1.0, 0.0], [1.0, 0.0], [0.0, 2.0]])
        >>> hm.hashing.Tables(X, hm.hashing.WeightedMinHash(random_state=0)).bucket(0)
        array([0, 1], dtype=int32)
        """
        b = self.arrays.buckets[self._row(i), self._table(table)]
        return self.arrays.order[self.arrays.begins[b] : self.arrays.begins[b + 1]]

    def mates(self, i: int, table: int = 0) -> np.ndarray:
        """Rows with the code of row i in a table, without row i.

        Examples
        --------
        >>> import numpy as np, hashmix as hm
        >>> X = np.array([[1.0, 0.0], [1.0, 0.0], [0.0, 2.0]])
        >>> hm.hashing.Tables(X, hm.hashing.WeightedMinHash(random_state=0)).mates(0)
        array([1], dtype=int32)
        """
        bucket = self.bucket(i, table)
        return bucket[bucket != i]

    def sample(self, query: Any, similar: bool = True, size: int | None = None, random_state: Any = None) -> Any:
        """Locality-sensitive sampling: draw a row from the bucket of a query.

        Random tables are probed until the bucket of the query holds a row other than the query. A uniform row of this bucket
        is returned. Given the tables, the probability of row j is the average of 1{j in bucket} / (number of other rows in
        the bucket) over the tables with at least one other row.

        Parameters
        ----------
        query : int or array of shape (n_features,)
            The number of a row of X, which is never returned, or any other row.
        similar : bool, default=True
            If False, draw from the bucket of the opposite code. Only for families with opposites, such as SignProjection.
        size : int, optional
            Number of independent draws; None for a single number.
        random_state : None, int, SeedSequence, Generator or RandomState
            Source of randomness.

        Returns
        -------
        int or int64 array of shape (size,)
            Numbers of rows; −1 if every bucket is empty.

        Examples
        --------
        >>> import numpy as np, hashmix as hm
        >>> X = np.array([[1.0, 0.0], [1.0, 0.0], [0.0, 2.0]])
        >>> hm.hashing.Tables(X, hm.hashing.WeightedMinHash(random_state=0)).sample(0, size=3, random_state=0)
        array([1, 1, 1])
        """
        if not similar and self.family.opposite(self.bucket_codes) is None:
            family = type(self.family).__name__
            raise bad_parameter("sample", "similar", f"True: {family} does not define the opposite of a row", similar)
        out = np.empty(1 if size is None else check_integer("sample", "size", size, low=0), np.int64)
        rng = stream(chain_keys(random_state, 1)[0])
        if np.ndim(query) == 0 and not hasattr(query, "tocsr"):
            i = self._row(query)
            _draw_mates(rng, self.arrays, self.arrays.buckets[i], not similar, i, out)
        else:
            _draw_mates(rng, self.arrays, self._buckets_of(query, similar), False, -1, out)
        return int(out[0]) if size is None else out

    def _buckets_of(self, query: Any, similar: bool) -> np.ndarray:
        """The bucket, in each table, of a row that may not be in the tables; −1 if there is none."""
        row = query if hasattr(query, "tocsr") else np.asarray(query)
        codes = self.family.codes(row.reshape(1, -1) if row.ndim == 1 else row)
        if codes.shape[1] != 1:
            raise bad_parameter("sample", "query", "the number of a row, or one row", f"{codes.shape[1]} rows")
        wanted: Any = codes[:, 0] if similar else self.family.opposite(codes[:, 0])
        buckets = np.full(self.n_tables, -1, np.int32)
        for t in range(self.n_tables):
            found = np.flatnonzero(self.bucket_codes[self.table_begins[t] : self.table_begins[t + 1]] == wanted[t])
            if len(found):
                buckets[t] = found[0] + self.table_begins[t]
        return buckets

    def _row(self, i: Any) -> int:
        if not isinstance(i, (int, np.integer)) or isinstance(i, bool) or not -1 < i < len(self):
            raise bad_parameter("Tables", "query", f"the number of a row, 0 to {len(self) - 1}", i)
        return int(i)

    def _table(self, table: int) -> int:
        if not isinstance(table, (int, np.integer)) or isinstance(table, bool) or not -1 < table < self.n_tables:
            raise bad_parameter("Tables", "table", f"the number of a table, 0 to {self.n_tables - 1}", table)
        return int(table)
