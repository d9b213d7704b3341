"""Rows with columns of different kinds, some of them blank: numbers, categories, yes/no and counts in one matrix."""

from __future__ import annotations

import hashlib
from typing import Any, NamedTuple

import numpy as np

from hashmix.core.validation import NotFinite, bad_parameter, not_finite
from hashmix.data.rows import ColumnSummary, DenseRows, Rows, as_rows

__all__ = ["KINDS", "Column", "MixedRows", "as_mixed", "as_rows_with_blanks"]

#: What a column may hold.
KINDS = ("numeric", "categorical", "binary", "count")


class Column(NamedTuple):
    """What a column holds: its name, one of :data:`KINDS`, and the categories of categorical and binary columns.

    Examples
    --------
    >>> from hashmix.data.mixed import Column
    >>> Column("colour", "categorical", ("blue", "red")).categories[1]
    'red'
    """

    name: str
    kind: str
    categories: tuple[str, ...] = ()


class MixedRows(DenseRows):
    """Rows as a float64 matrix: numbers and counts as they are, categories by their position, NaN where a cell is blank.

    Parameters
    ----------
    values : float array of shape (n_rows, n_columns)
    columns : sequence of Column, optional
        By default all columns are numeric.
    owner : str
        Whose parameter it is, for the error message.

    Examples
    --------
    >>> import numpy as np
    >>> from hashmix.data.mixed import Column, MixedRows
    >>> columns = Column("age", "numeric"), Column("colour", "categorical", ("blue", "red"))
    >>> rows = MixedRows(np.array([[31.0, 1.0], [np.nan, 0.0]]), columns)
    >>> rows.summary.mean, rows.observed.tolist(), rows.levels[1]
    (array([31. ,  0.5]), [1, 2], np.int64(2))
    """

    levels: np.ndarray

    def __init__(self, values: np.ndarray, columns: Any = None, owner: str = "MixedRows") -> None:
        values = np.ascontiguousarray(values, np.float64)
        if columns is None:
            columns = tuple(Column(str(j), "numeric") for j in range(values.shape[1]))
        self.columns: tuple[Column, ...] = tuple(columns)
        if np.isinf(values).any():
            row, column = np.argwhere(np.isinf(values))[0]
            raise not_finite(values[row, column], row, column)
        for j, column in enumerate(self.columns):
            _check_column(values[:, j], column, owner)
        super().__init__(values)
        self.levels = self._levels()

    def _levels(self) -> np.ndarray:
        """How many categories every column has, or would have if it held positions of categories."""
        # Numbers beyond 2⁵³ are no positions, and may be too large for an integer.
        seen = np.clip(self.summary.most, 0.0, 2.0**53).astype(np.int64) + 1
        return np.array([len(c.categories) or most for c, most in zip(self.columns, seen.tolist(), strict=True)])

    @property
    def observed(self) -> np.ndarray:
        """How many cells of every column are not blank."""
        return (~np.isnan(self.values)).sum(axis=0)

    @property
    def summary(self) -> ColumnSummary:
        """Mean, variance and bounds of the cells that are not blank; a column of blanks is all 0."""
        if self._summary is None:
            blank = np.isnan(self.values)
            n = np.maximum((~blank).sum(axis=0), 1)
            filled = np.where(blank, 0.0, self.values)
            mean = filled.sum(axis=0) / n
            variance = (np.where(blank, 0.0, self.values - mean) ** 2).sum(axis=0) / n
            least = np.where(blank, np.inf, self.values).min(axis=0)
            most = np.where(blank, -np.inf, self.values).max(axis=0)
            empty = blank.all(axis=0)
            least[empty] = most[empty] = 0.0
            self._summary = ColumnSummary(mean, variance, least, most, np.count_nonzero(filled, axis=0))
        return self._summary

    def take(self, chosen: np.ndarray | slice) -> MixedRows:
        return _trusted(self.values[chosen], self.columns, self.levels)

    def with_values(self, values: np.ndarray) -> MixedRows:
        return _trusted(values, self.columns, self.levels)

    @property
    def numeric(self) -> np.ndarray:
        """Mask of the numeric columns."""
        return np.array([column.kind == "numeric" for column in self.columns])

    def select_columns(self, chosen: np.ndarray) -> MixedRows:
        if chosen.all():
            return self
        columns = tuple(column for column, used in zip(self.columns, chosen, strict=True) if used)
        return _trusted(self.values[:, chosen], columns, self.levels[chosen])

    def complete(self, owner: str) -> DenseRows:
        if self.numeric.all() and not np.isnan(self.values).any():
            return DenseRows(self.values)
        raise bad_parameter(owner, "component", "'auto' or 'mixed' for columns with blanks or categories", "another")

    def fingerprint(self) -> dict[str, Any]:
        found = super().fingerprint()
        kinds = hashlib.sha256(repr(self.columns).encode()).hexdigest()
        return found | {"columns": kinds}


def _trusted(values: np.ndarray, columns: tuple[Column, ...], levels: np.ndarray) -> MixedRows:
    """Some rows or columns of rows that were checked before; a category that is missing among them stays one."""
    rows = MixedRows.__new__(MixedRows)
    DenseRows.__init__(rows, np.ascontiguousarray(values))
    rows.columns, rows.levels = columns, levels
    return rows


def _check_column(values: np.ndarray, column: Column, owner: str) -> None:
    """Raise a ValueError if a cell is not of the column's kind."""
    if column.kind not in KINDS:
        raise bad_parameter(owner, "columns", f"kinds among {', '.join(KINDS)}", column.kind)
    if column.kind == "numeric":
        return
    seen = values[~np.isnan(values)]
    if (seen < 0).any() or (seen != np.floor(seen)).any():
        wrong = seen[(seen < 0) | (seen != np.floor(seen))][0]
        raise bad_parameter(owner, "X", f"whole numbers ≥ 0 in the {column.kind} column {column.name!r}", f"{wrong:g}")
    if column.kind != "count" and len(seen) and seen.max() >= len(column.categories):
        raise bad_parameter(
            owner, "X", f"one of {len(column.categories)} categories in column {column.name!r}", f"{seen.max():g}"
        )


def as_mixed(X: Any, owner: str = "sample") -> MixedRows:
    """Rows of a matrix of numbers in which NaN means blank; mixed rows are returned as they are.

    Examples
    --------
    >>> from hashmix.data.mixed import as_mixed
    >>> as_mixed([[1.0, float("nan")], [2.0, 3.0]]).observed
    array([2, 1])
    """
    if isinstance(X, MixedRows):
        return X
    if hasattr(X, "tocsr"):
        raise bad_parameter(owner, "X", "a dense array (call X.toarray() if it fits in memory)", type(X))
    try:
        values = X.values if isinstance(X, DenseRows) else np.asarray(X, np.float64)
    except (TypeError, ValueError):
        raise bad_parameter(owner, "X", "an array of numbers, or a DataFrame", type(X)) from None
    if values.ndim != 2 or 0 in values.shape:
        raise bad_parameter(owner, "X", "a matrix of at least one row and one column", f"shape {values.shape}")
    return MixedRows(values, owner=owner)


def as_rows_with_blanks(X: Any, owner: str = "sample") -> Rows:
    """Rows of any data: mixed rows if a matrix of numbers has NaN in it.

    Examples
    --------
    >>> import numpy as np
    >>> from hashmix.data.mixed import as_rows_with_blanks
    >>> type(as_rows_with_blanks(np.array([[1.0, np.nan], [2.0, 3.0]]))).__name__
    'MixedRows'
    """
    try:
        return as_rows(X, owner)
    except NotFinite:  # found while the columns are summarised: looking for blanks first would take another pass
        return as_mixed(X, owner)
