"""The hash tables of one chain: built when a move first asks, drawn afresh as sweeps go by, never by looking at clusters."""

from __future__ import annotations

import threading
from copy import copy
from typing import Any

from hashmix.hashing.family import HashFamily
from hashmix.hashing.neighbours import Neighbours
from hashmix.hashing.rows import DenseRows, FeatureMap, SparseRows, column_map, n_rows
from hashmix.hashing.tables import Tables
from hashmix.rng import stream

__all__ = ["ChainTables"]

#: Beyond so many rows, lists are shorter: while they are made, a neighbour takes 8 bytes.
_ROWS_FOR_LONG_LISTS = 2_000_000


class ChainTables:
    """Tables over a chain's rows, one for each family that its moves ask for.

    Parameters
    ----------
    data : ndarray or SparseRows
        The rows.
    key : int
        Names the chain: the functions of a family are drawn from it.
    n_jobs : int, optional
        Threads to hash in; does not change the result.
    first : ChainTables, optional
        Those of the first chain: lists of neighbours that are never refreshed are the same for all chains.

    Examples
    --------
    >>> import numpy as np
    >>> from hashmix.hashing import SignProjection
    >>> from hashmix.hashing.chain_tables import ChainTables
    >>> kept = ChainTables(np.random.default_rng(0).normal(size=(20, 2)), key=1)
    >>> first = kept.tables(SignProjection(4, 2), sweep=0, refresh=10)
    >>> first is kept.tables(SignProjection(4, 2), sweep=9, refresh=10)
    True
    >>> first is kept.tables(SignProjection(4, 2), sweep=10, refresh=10)
    False
    """

    def __init__(self, data: Any, key: int, n_jobs: int | None = None, first: ChainTables | None = None) -> None:
        self.rows = data if isinstance(data, SparseRows) else DenseRows(data)
        self.key = key
        # Starting threads takes longer than hashing a few thousand rows.
        self.n_jobs = n_jobs if n_rows(self.rows) > 10_000 else 1
        self._families: dict[str, HashFamily] = {}
        self._tables: dict[tuple[str, int | None], tuple[int, Tables]] = {}
        self._features: FeatureMap | None = None
        self._first = first
        self._lists: dict[tuple[int, int, int | None], tuple[int, Neighbours]] = {}
        self._lock = threading.Lock()

    def tables(self, family: HashFamily, sweep: int, refresh: int | None) -> Tables:
        """The tables of a family in a sweep, with fresh functions every ``refresh`` sweeps (None: never).

        Moves that ask for the same family and the same freshness share their tables.
        """
        name = repr(family)
        generation = 0 if refresh is None else sweep // refresh
        if name not in self._families:
            mine = copy(family)
            mine.random_state = self.key
            self._families[name] = mine.fit(self.rows)
        kept = self._tables.get((name, refresh))
        if kept is None or kept[0] != generation:
            tables = Tables(self.rows, self._families[name].redrawn(self.rows, generation), self.n_jobs)
            self._tables[name, refresh] = kept = (generation, tables)
        return kept[1]

    def neighbours(self, n_bits: int = 32, n_tables: int = 16, sweep: int = 0, refresh: int | None = None) -> Neighbours:
        """Lists of neighbours in a sweep, found anew every ``refresh`` sweeps (None: never)."""
        if refresh is None and self._first is not None:
            return self._first.neighbours(n_bits, n_tables)
        settings = n_bits, n_tables, refresh
        generation = 0 if refresh is None else sweep // refresh
        with self._lock:
            kept = self._lists.get(settings)
            if kept is None or kept[0] != generation:
                key = int(stream(self.key, generation).state[0])
                length = 12 if n_rows(self.rows) <= _ROWS_FOR_LONG_LISTS else 8
                lists = Neighbours(self.rows, length, n_bits, n_tables, random_state=key, n_jobs=self.n_jobs)
                self._lists[settings] = kept = (generation, lists)
        return kept[1]

    def features(self) -> FeatureMap:
        """Non-negative features of the rows: the sign split of columns about their means, in standard deviations.

        Of sparse rows, words weighed by how few rows have them.
        """
        if self._features is None:
            sparse = isinstance(self.rows, SparseRows)
            self._features = column_map(self.rows, not sparse, "idf" if sparse else True, not sparse)
        return self._features
