"""The hash tables of one chain: built on first use, refreshed by sweep number, never by looking at clusters."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import numpy as np

from hashmix.data.rows import ColumnSummary, DenseRows, Rows, as_rows
from hashmix.hashing.family import HashFamily
from hashmix.hashing.features import FeatureMap, standard_features

__all__ = ["ChainTables"]

#: Rows whose coordinates are changed at once: all of them would take several times the memory of the data.
_BLOCK = 65_536
#: Up to this many rows, starting threads takes longer than hashing.
_ROWS_FOR_THREADS = 10_000


class ChainTables:
    """Hash tables over the rows of a chain, one set per family that its moves use.

    Parameters
    ----------
    rows : Rows
        An array or sparse matrix is converted.
    key : int
        Names the chain. The functions of all families derive from it.
    n_jobs : int, optional
        Number of threads; None for one per processor. Does not change the result.
    first : ChainTables, optional
        The tables of the first chain of the run. Families that are ``shared`` and never refreshed are taken from there.

    Attributes
    ----------
    rows : Rows
        As they are hashed.
    metric : array or None
        The coordinates that rows are hashed in, if these were changed.

    Examples
    --------
    >>> import numpy as np
    >>> from hashmix.data.rows import as_rows
    >>> from hashmix.hashing import SignProjection
    >>> from hashmix.hashing.chain_tables import ChainTables
    >>> chain = ChainTables(as_rows(np.random.default_rng(0).normal(size=(20, 2))), key=1)
    >>> tables = chain.tables(SignProjection(4, 2), sweep=0, refresh=10)
    >>> tables is chain.tables(SignProjection(4, 2), sweep=9, refresh=10)
    True
    >>> tables is chain.tables(SignProjection(4, 2), sweep=10, refresh=10)
    False
    """

    rows: Rows

    def __init__(self, rows: Rows, key: int, n_jobs: int | None = None, first: ChainTables | None = None) -> None:
        self.rows = self._source = as_rows(rows, type(self).__name__)
        self.metric: np.ndarray | None = None
        self.key = key
        self.n_jobs: int | None = n_jobs if self.rows.n_rows > _ROWS_FOR_THREADS else 1
        self._first = first
        self._kept: dict[tuple[Any, ...], tuple[int, Any]] = {}
        self._features: FeatureMap | None = None
        # Other chains ask the first one for shared tables from their own threads.
        self._lock = threading.Lock()

    def use_metric(self, metric: np.ndarray) -> None:
        """Hash rows in the coordinates X @ metric from now on, without scaling columns. Tables are built again."""
        X, mean = self._source.matrix(), self._source.summary.mean
        values = np.empty((len(X), metric.shape[1]), np.float32)
        for begin in range(0, len(X), _BLOCK):
            values[begin : begin + _BLOCK] = (X[begin : begin + _BLOCK] - mean) @ metric
        zeros, ones = np.zeros(values.shape[1]), np.ones(values.shape[1])
        with self._lock:
            summary = ColumnSummary(zeros, ones, values.min(axis=0), values.max(axis=0), np.count_nonzero(values, axis=0))
            self.rows, self.metric = DenseRows(values, summary), metric
            self._first, self._features = None, None
            self._kept.clear()

    def tables(self, family: HashFamily, sweep: int = 0, refresh: int | None = None) -> Any:
        """The buckets of a family in a sweep. Moves with equal families and equal ``refresh`` share them.

        Parameters
        ----------
        family : HashFamily
            Not changed.
        sweep : int, default=0
            Number of sweeps so far.
        refresh : int, optional
            Sweeps between new functions; None keeps the first ones.

        Returns
        -------
        Tables, Neighbours or another object with ``arrays``
            The result of ``family.build``.
        """
        if refresh is None and family.shared and self._first is not None:
            return self._first.tables(family)
        name = type(family), repr(family), refresh
        generation = 0 if refresh is None else sweep // refresh
        with self._lock:
            kept = self._kept.get(name)
            if kept is None or kept[0] != generation:
                # Old tables are freed before new ones are built, so that both are never in memory together.
                kept = None
                self._kept.pop(name, None)
                kept = generation, family.build(self.rows, self.key, generation, self.n_jobs)
                self._kept[name] = kept
        return kept[1]

    def of_sweep(self, name: tuple[Any, ...], sweep: int, make: Callable[[], Any]) -> Any:
        """Whatever else moves make of the rows and not of their clusters, once per sweep."""
        kept = self._kept.get(name)
        if kept is None or kept[0] != sweep:
            kept = sweep, make()
            self._kept[name] = kept
        return kept[1]

    def features(self) -> FeatureMap:
        """Non-negative features of the rows; see :func:`~hashmix.hashing.features.standard_features`."""
        if self._features is None:
            self._features = standard_features(self.rows)
        return self._features
