"""Hash families that compute codes: rows with equal codes share a bucket of a hash table."""

from __future__ import annotations

from abc import abstractmethod
from copy import copy
from typing import Any

import numpy as np

from hashmix.core.rng import chain_keys, stream
from hashmix.core.validation import bad_parameter
from hashmix.data.rows import Rows, as_rows
from hashmix.hashing.family import HashFamily, in_threads
from hashmix.hashing.tables import Tables

__all__ = ["CodeFamily"]

#: Rows that one thread hashes per task.
_BLOCK = 4096


class CodeFamily(HashFamily):
    """Base class of families that compute codes: ``n_tables`` codes per row, of ``n_bits`` concatenated hashes each.

    What a subclass must provide is listed in :class:`~hashmix.hashing.HashFamily`.

    Parameters
    ----------
    n_bits : int, default=1
        Hashes per code, 1 to 64.
    n_tables : int, default=1
        Codes per row.
    random_state : None, int, SeedSequence, Generator or RandomState
        Source of the functions that :meth:`fit` draws. :meth:`build` does not use it.

    Attributes
    ----------
    key_ : uint64
        Names the functions.
    n_features_in_ : int
        Number of columns of the rows in :meth:`fit`.

    Examples
    --------
    A family whose bits tell whether random columns are above their means:

    >>> import numpy as np, hashmix as hm
    >>> class AboveMean(hm.hashing.CodeFamily):
    ...     def _fit_columns(self, rows):
    ...         self.means_ = rows.summary.mean
    ...
    ...     def _draw_functions(self, rows):
    ...         rng = np.random.default_rng(int(self.key_))
    ...         self.columns_ = rng.integers(rows.n_columns, size=(self.n_tables, self.n_bits))
    ...
    ...     def _hash(self, rows, begin, end, out):
    ...         above = rows.matrix()[begin:end] > self.means_
    ...         for t in range(self.n_tables):
    ...             out[t, begin:end] = above[:, self.columns_[t]] @ (1 << np.arange(self.n_bits))
    >>> X = np.array([[0.0, 1.0], [5.0, 6.0], [0.0, 1.0]])
    >>> hm.hashing.Tables(X, AboveMean(n_bits=2, random_state=0)).bucket(0)
    array([0, 2], dtype=int32)
    """

    random_state: Any
    key_: np.uint64
    n_features_in_: int

    def __init__(self, n_bits: int = 1, n_tables: int = 1, random_state: Any = None) -> None:
        super().__init__(n_bits, n_tables)
        self.random_state = random_state

    @property
    def n_functions(self) -> int:
        """Number of hash functions, over all tables."""
        return self.n_bits * self.n_tables

    @property
    def is_fitted(self) -> bool:
        """Whether the family has hash functions."""
        return hasattr(self, "key_")

    def fit(self, X: Any) -> CodeFamily:
        """Learn about the columns of X and draw the functions from ``random_state``.

        Parameters
        ----------
        X : Rows, array or sparse matrix of shape (n_rows, n_features)

        Returns
        -------
        CodeFamily
            The family itself.

        Examples
        --------
        >>> import numpy as np, hashmix as hm
        >>> hm.hashing.SignProjection(4, 2, random_state=0).fit(np.eye(3)).is_fitted
        True
        """
        return self._fit(as_rows(X, type(self).__name__), chain_keys(self.random_state, 1)[0])

    def redrawn(self, X: Any, key: int) -> CodeFamily:
        """Copy a fitted family and draw new functions, named by ``key``. Learned column statistics are kept.

        Parameters
        ----------
        X : Rows, array or sparse matrix of shape (n_rows, n_features)
            The rows that the family was fitted to.
        key : int
            Another key gives other functions.

        Returns
        -------
        CodeFamily

        Examples
        --------
        >>> import numpy as np, hashmix as hm
        >>> X = np.random.default_rng(0).normal(size=(20, 3))
        >>> family = hm.hashing.SignProjection(8, 1, random_state=0).fit(X)
        >>> bool((family.codes(X) == family.redrawn(X, 1).codes(X)).all())
        False
        """
        self._check_fitted("redrawn")
        twin = copy(self)
        twin.key_ = stream(int(self.key_), key).state[0]
        twin._draw_functions(as_rows(X, type(self).__name__))
        return twin

    def codes(self, X: Any, n_jobs: int | None = None) -> np.ndarray:
        """Compute the codes of rows.

        Parameters
        ----------
        X : Rows, array or sparse matrix of shape (n_rows, n_features)
        n_jobs : int, optional
            Number of threads; None for one per processor. Does not change the result.

        Returns
        -------
        uint64 array of shape (n_tables, n_rows)
            The same for dense and sparse rows.

        Examples
        --------
        >>> import numpy as np, hashmix as hm
        >>> hm.hashing.SignProjection(4, 2, random_state=0).fit(np.eye(3)).codes(np.eye(3)).shape
        (2, 3)
        """
        owner = type(self).__name__
        self._check_fitted("codes")
        rows = as_rows(X, owner)
        if rows.n_columns != self.n_features_in_:
            raise bad_parameter(owner, "X", f"a matrix of {self.n_features_in_} columns", f"{rows.n_columns} columns")
        self._check(rows)
        n = rows.n_rows
        out = np.empty((self.n_tables, n), np.uint64)
        in_threads(lambda start: self._hash(rows, start, min(start + _BLOCK, n), out), range(0, n, _BLOCK), n_jobs)
        return out

    def build(self, rows: Rows, key: int, generation: int = 0, n_jobs: int | None = None) -> Tables:
        """Build hash tables over rows with the functions named by (key, generation). The family itself is not changed.

        See :meth:`hashmix.hashing.HashFamily.build` for the parameters.

        Returns
        -------
        Tables
            Its ``family`` is the fitted copy.

        Examples
        --------
        >>> import numpy as np, hashmix as hm
        >>> from hashmix.data.rows import as_rows
        >>> rows = as_rows(np.array([[1.0, 2.0], [1.0, 2.0], [-3.0, 0.0]]))
        >>> hm.hashing.SignProjection(4, 2).build(rows, key=1).bucket(0)
        array([0, 1], dtype=int32)
        """
        named = int(stream(chain_keys(key, 1)[0], generation).state[0])
        return Tables(rows, copy(self)._fit(rows, named), n_jobs)

    def opposite(self, codes: np.ndarray) -> np.ndarray | None:
        """The codes of the opposite rows −x, or None if the family does not define opposites.

        A code must never be its own opposite.
        """
        return None

    def _fit(self, rows: Rows, key: int) -> CodeFamily:
        self.key_ = np.uint64(key)
        self.n_features_in_ = rows.n_columns
        self._fit_columns(rows)
        self._draw_functions(rows)
        return self

    def _check_fitted(self, method: str) -> None:
        if not self.is_fitted:
            raise ValueError(f"{type(self).__name__} has no hash functions yet: call fit before {method}.")

    def _fit_columns(self, rows: Rows) -> None:
        """Learn what the functions need to know about the columns."""
        return

    @abstractmethod
    def _draw_functions(self, rows: Rows) -> None:
        """Draw the functions named by ``key_``. Called again, on a copy, when functions are refreshed."""

    def _check(self, rows: Rows) -> None:
        """Raise a ValueError if rows cannot be hashed."""
        return

    @abstractmethod
    def _hash(self, rows: Rows, begin: int, end: int, out: np.ndarray) -> None:
        """Write the codes of rows begin … end − 1 to ``out[:, begin:end]``. Runs in several threads at once."""
