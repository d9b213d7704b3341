"""What a family of hash functions is to tables and moves."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from copy import copy
from typing import Any

import numpy as np

from hashmix.hashing.rows import DenseRows, SparseRows, as_hashable, n_columns, n_rows
from hashmix.rng import chain_keys, stream
from hashmix.validation import bad_parameter, check_integer, check_n_jobs

__all__ = ["HashFamily", "check_bits", "in_threads"]

#: Rows hashed by one thread in one go.
_BLOCK = 4096
_MOST_BITS = 64


def in_threads(work: Callable[[Any], Any], tasks: Iterable[Any], n_jobs: int | None = None) -> list[Any]:
    """Do every task, in ``n_jobs`` threads (None: one per processor); results in the order of the tasks."""
    workers = check_n_jobs("hashing", n_jobs)
    tasks = list(tasks)
    if workers == 1 or len(tasks) == 1:
        return [work(task) for task in tasks]
    with ThreadPoolExecutor(workers) as pool:
        return list(pool.map(work, tasks))


def check_bits(owner: str, n_bits: Any) -> int:
    """How many hashes fit into a code."""
    if not isinstance(n_bits, (int, np.integer)) or isinstance(n_bits, bool) or not 1 <= n_bits <= _MOST_BITS:
        raise bad_parameter(owner, "n_bits", f"an integer from 1 to {_MOST_BITS}", n_bits)
    return int(n_bits)


class HashFamily(ABC):
    """Hash functions: ``n_tables`` codes of ``n_bits`` concatenated hashes each.

    A family never looks at a partition. :meth:`fit` learns from the data only what the functions need to know about
    columns; the functions themselves are drawn from ``random_state``.
    """

    n_bits: int
    n_tables: int
    random_state: Any

    def __init__(self, n_bits: int, n_tables: int, random_state: Any) -> None:
        owner = type(self).__name__
        self.n_bits = check_bits(owner, n_bits)
        self.n_tables = check_integer(owner, "n_tables", n_tables, low=1)
        self.random_state = random_state

    def __repr__(self) -> str:
        settings = ", ".join(f"{name}={value!r}" for name, value in vars(self).items() if not name.endswith("_"))
        return f"{type(self).__name__}({settings})"

    @property
    def n_functions(self) -> int:
        """How many hash functions there are in all."""
        return self.n_bits * self.n_tables

    def fit(self, X: Any) -> HashFamily:
        """Learn about the columns of X and draw the functions; returns the family itself."""
        rows = as_hashable(X, type(self).__name__)
        self.key_ = np.uint64(chain_keys(self.random_state, 1)[0])
        self.n_features_in_ = n_columns(rows)
        self._fit_columns(rows)
        self._draw_functions(rows)
        return self

    def redrawn(self, X: Any, key: int) -> HashFamily:
        """A fitted family's twin with fresh functions, named by ``key``; what was learned about columns is kept."""
        self._check_fitted("redrawn")
        twin = copy(self)
        twin.key_ = stream(int(self.key_), key).state[0]
        twin._draw_functions(as_hashable(X, type(self).__name__))
        return twin

    def codes(self, X: Any, n_jobs: int | None = None) -> np.ndarray:
        """Codes of rows, uint64 of shape (n_tables, n_rows); the same for any ``n_jobs``, dense or sparse."""
        owner = type(self).__name__
        self._check_fitted("codes")
        rows = as_hashable(X, owner)
        if n_columns(rows) != self.n_features_in_:
            raise bad_parameter(owner, "X", f"a matrix of {self.n_features_in_} columns", f"{n_columns(rows)} columns")
        self._check(rows)
        n = n_rows(rows)
        out = np.empty((self.n_tables, n), np.uint64)
        in_threads(lambda start: self._hash(rows, start, min(start + _BLOCK, n), out), range(0, n, _BLOCK), n_jobs)
        return out

    def _check_fitted(self, method: str) -> None:
        if not hasattr(self, "key_"):
            raise ValueError(f"{type(self).__name__} has no hash functions yet: call fit before {method}.")

    @abstractmethod
    def _fit_columns(self, rows: DenseRows | SparseRows) -> None:
        """Learn what the functions must know about columns."""

    @abstractmethod
    def _draw_functions(self, rows: DenseRows | SparseRows) -> None:
        """Draw the functions named by ``key_``."""

    @abstractmethod
    def _check(self, rows: DenseRows | SparseRows) -> None:
        """Raise where rows cannot be hashed."""

    @abstractmethod
    def _hash(self, rows: DenseRows | SparseRows, begin: int, end: int, out: np.ndarray) -> None:
        """Write the codes of rows begin … end − 1."""

    def opposite(self, codes: np.ndarray) -> np.ndarray | None:
        """Codes that the rows' opposites −x would have, where the family knows opposites; else None."""
        return None
