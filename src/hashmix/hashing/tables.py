"""Hash tables as samplers: given a row, another one that is likely to be similar, or dissimilar, at the cost of a look-up."""

from __future__ import annotations

from copy import copy
from typing import Any, NamedTuple

import numpy as np

from hashmix.compiling import borrowed, helper, inlined, kernel
from hashmix.hashing.family import HashFamily, in_threads
from hashmix.rng import chain_keys, integer, stream
from hashmix.validation import bad_parameter, check_integer, check_n_jobs

__all__ = ["NO_TABLES", "TableArrays", "Tables", "another_from_bucket", "bucket_mate", "filled_bucket", "n_others", "turned"]


class TableArrays(NamedTuple):
    """Tables as kernels read them; buckets are numbered through all tables.

    ``buckets`` (n, n_tables): the bucket of every row; bucket b holds rows ``order[begins[b] : begins[b + 1]]``, by
    increasing index; ``opposites[b]`` is the bucket of the opposite code, or −1 where there is none.
    """

    buckets: np.ndarray
    begins: np.ndarray
    order: np.ndarray
    opposites: np.ndarray


#: For kernels that take tables and do not read them.
NO_TABLES = TableArrays(np.empty((0, 1), np.int32), np.zeros(1, np.int64), np.empty(0, np.int32), np.empty(0, np.int32))


# ---- building --------------------------------------------------------------------------------------------------------------


@helper
def _slot(code, slots, distinct):
    """The slot that holds a code's number, or the empty one where it belongs."""
    last = np.uint64(len(slots) - 1)
    # Codes of few bits differ in their low bits alone, fingerprints anywhere: a multiplication spreads both.
    at = ((code * np.uint64(0x9E3779B97F4A7C15)) >> np.uint64(32)) & last
    while slots[at] >= 0 and distinct[slots[at]] != code:
        at = (at + np.uint64(1)) & last
    return at


@kernel
def _sort_into_buckets(codes, bucket, order):
    """Number the distinct codes by first appearance; return them, where each one's rows begin in ``order``, and slots."""
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
    """The numbers of codes, −1 for those that no row has."""
    codes, slots, distinct = borrowed(codes), borrowed(slots), borrowed(distinct)
    found = np.empty(len(codes), np.int32)
    for k in range(len(codes)):
        found[k] = slots[_slot(codes[k], slots, distinct)]
    return found


# ---- sampling --------------------------------------------------------------------------------------------------------------


# A row is in its own bucket, and never in the opposite one: so it need not be searched for to be left out.


@inlined
def n_others(tables, bucket, opposite, but):
    """How many rows other than ``but`` (−1: none) a bucket holds: its own, or the ``opposite`` one; −1 is no bucket."""
    if bucket < 0:
        return 0
    return tables.begins[bucket + 1] - tables.begins[bucket] - (1 if but >= 0 and not opposite else 0)


@inlined
def turned(tables, bucket, opposite):
    """A bucket, or the opposite one."""
    return tables.opposites[bucket] if opposite and bucket >= 0 else bucket


@helper
def filled_bucket(rng, tables, buckets, opposite, but):
    """Probe random tables until the query's bucket holds a row other than ``but``; that bucket, or −1 when all are empty.

    ``buckets`` has the query's bucket in every table; ``opposite``: look in the opposite ones. A first table is probed; if
    it holds nothing, one of those that do is chosen: together, each of these is equally likely.
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
    """A uniform row of a bucket, other than ``but``; −1 for no bucket."""
    if bucket < 0:
        return -1
    row = tables.order[tables.begins[bucket] + integer(rng, n_others(tables, bucket, opposite, but))]
    # The last row stands in for the one left out.
    return tables.order[tables.begins[bucket + 1] - 1] if row == but else row


@inlined
def bucket_mate(rng, tables, buckets, opposite, but):
    """Locality-sensitive sampling: a uniform row, other than ``but``, of :func:`filled_bucket`; −1 when there is none."""
    return another_from_bucket(rng, tables, filled_bucket(rng, tables, buckets, opposite, but), opposite, but)


@kernel
def _draw_mates(rng, tables, buckets, opposite, but, out):
    rng, tables, buckets = borrowed(rng), borrowed(tables), borrowed(buckets)
    for k in range(len(out)):
        out[k] = bucket_mate(rng, tables, buckets, opposite, but)


class Tables:
    """Hash tables over the rows of X, used as samplers.

    Parameters
    ----------
    X : array or sparse matrix of shape (n_rows, n_features)
        The rows. Kept by reference, for :meth:`refresh`.
    family : SignProjection or WeightedMinHash
        The hash functions; if it is not fitted yet, a copy of it is, to X.
    n_jobs : int, optional
        Threads to hash and build in; None for one per processor. Does not change the result.

    Attributes
    ----------
    arrays : TableArrays
        The tables as kernels read them.

    Examples
    --------
    >>> import numpy as np, hashmix as hm
    >>> X = np.array([[3.0, 0.1], [3.0, 0.0], [-3.0, 0.2], [-3.0, -0.3]])
    >>> tables = hm.hashing.Tables(X, hm.hashing.SignProjection(n_bits=2, n_tables=8, random_state=0))
    >>> int(tables.sample(0, random_state=0)), tables.sample(0, similar=False, random_state=0) in (2, 3)
    (1, True)
    """

    def __init__(self, X: Any, family: HashFamily, n_jobs: int | None = None) -> None:
        if not isinstance(family, HashFamily):
            raise bad_parameter("Tables", "family", "a SignProjection or WeightedMinHash", family)
        self.X, self.n_jobs = X, check_n_jobs("Tables", n_jobs)
        self.family = family if hasattr(family, "key_") else copy(family).fit(X)
        self._refreshed = 0
        self._build()

    def refresh(self) -> Tables:
        """Build the tables anew with fresh hash functions; returns the tables themselves.

        What is fresh is a matter of how often this was called, never of any partition.

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
        self.family = self.family.redrawn(self.X, self._refreshed)
        self._build()
        return self

    def _build(self) -> None:
        codes = self.family.codes(self.X, self.n_jobs)
        n_tables, n = codes.shape
        bucket, order = np.empty((n_tables, n), np.int32), np.empty((n_tables, n), np.int32)
        built = in_threads(lambda t: self._build_table(codes[t], bucket[t], order[t]), range(n_tables), self.n_jobs)
        #: Codes of the buckets, and the first bucket of every table.
        self.bucket_codes = np.concatenate([distinct for distinct, _, _ in built])
        self.table_begins = np.cumsum([0] + [len(distinct) for distinct, _, _ in built])
        begins = np.concatenate([part[:-1] + t * n for t, (_, part, _) in enumerate(built)] + [[n_tables * n]])
        bucket += self.table_begins[:-1, None].astype(np.int32)
        for (_, _, opposites), first in zip(built, self.table_begins[:-1], strict=True):
            opposites[opposites >= 0] += first
        opposites = np.concatenate([opposites for _, _, opposites in built])
        self.arrays = TableArrays(np.ascontiguousarray(bucket.T), begins, order.ravel(), opposites)

    def _build_table(self, codes: np.ndarray, bucket: np.ndarray, order: np.ndarray) -> tuple[np.ndarray, ...]:
        """Sort rows into the buckets of one table; return their codes, where they begin, and their opposites.

        The opposite of a bucket is that of the opposite code; −1 for none, or a family that knows no opposites.
        """
        distinct, begins, slots = _sort_into_buckets(codes, bucket, order)
        wanted = self.family.opposite(distinct)
        opposites = np.full(len(distinct), -1, np.int32) if wanted is None else _find_codes(wanted, slots, distinct)
        return distinct, begins, opposites

    @property
    def n_tables(self) -> int:
        """How many tables there are."""
        return self.arrays.buckets.shape[1]

    def __len__(self) -> int:
        return len(self.arrays.buckets)

    def bucket(self, i: int, table: int = 0) -> np.ndarray:
        """Rows that share row i's code in a table, i among them.

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
        """Rows other than i that share its code in a table.

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
        """Locality-sensitive sampling: probe random tables until the query's bucket holds another row; a uniform such row.

        Given the tables, row j is drawn with the average, over the tables where the query's bucket holds a row other than
        the query, of 1{j in it} / (how many others it holds).

        Parameters
        ----------
        query : int or array of shape (n_features,)
            A row of X by its number (never returned itself), or any other row.
        similar : bool, default=True
            Look in the query's bucket; False: in that of its opposite (sign projections only).
        size : int, optional
            How many independent draws; None for one number.
        random_state : None, int, SeedSequence, Generator or RandomState
            Where randomness comes from.

        Returns
        -------
        int or array
            Numbers of rows; −1 where every bucket is empty.
        """
        if not similar and self.family.opposite(self.bucket_codes) is None:
            raise bad_parameter("sample", "similar", "True: only sign projections know the opposite of a row", similar)
        out = np.empty(1 if size is None else check_integer("sample", "size", size, low=0), np.int64)
        rng = stream(chain_keys(random_state, 1)[0])
        if np.ndim(query) == 0 and not hasattr(query, "tocsr"):
            i = self._row(query)
            _draw_mates(rng, self.arrays, self.arrays.buckets[i], not similar, i, out)
        else:
            _draw_mates(rng, self.arrays, self._buckets_of(query, similar), False, -1, out)
        return int(out[0]) if size is None else out

    def _buckets_of(self, query: Any, similar: bool) -> np.ndarray:
        """The buckets of a row that need not be in the tables; −1 where there is none."""
        rows = query if hasattr(query, "tocsr") else np.asarray(query)
        codes: Any = self.family.codes(rows.reshape(1, -1) if rows.ndim == 1 else rows)
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
