"""Data of any kind as numbers and categories: what clusters are described by, and what is drawn."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from hashmix.core.validation import bad_parameter
from hashmix.data.cells import labels_of
from hashmix.data.frames import RawColumns, raw_columns
from hashmix.data.mixed import MixedRows

__all__ = ["Category", "Table", "as_table", "column_names"]

#: A column of texts with more different ones than this is not a column of categories, if this share of them is different.
_MANY_TEXTS, _ALL_DIFFERENT = 50, 0.5


class Category(NamedTuple):
    """A column of categories.

    Attributes
    ----------
    name : str
    codes : int array of shape (n_rows,)
        The position of every cell's category in ``levels``; −1 for a blank.
    levels : tuple of str
        The categories.

    Examples
    --------
    >>> import numpy as np
    >>> from hashmix.data.table import Category
    >>> Category("colour", np.array([0, -1, 1]), ("blue", "red")).levels[1]
    'red'
    """

    name: str
    codes: np.ndarray
    levels: tuple[str, ...]


class Table(NamedTuple):
    """Columns of numbers, with NaN for blanks, their names, and columns of categories.

    Attributes
    ----------
    numbers : array of shape (n_rows, n_numeric)
    numeric : list of str
    categories : list of Category

    Examples
    --------
    >>> import numpy as np
    >>> from hashmix.data.table import as_table
    >>> as_table(np.eye(2), ["u", "v"]).numeric
    ['u', 'v']
    """

    numbers: np.ndarray
    numeric: list[str]
    categories: list[Category]


def column_names(X: Any, names: Any, n_rows: int, owner: str) -> list[str]:
    """The names of the columns of X: those given, those of a frame, or numbers; the number of rows is checked.

    Examples
    --------
    >>> import numpy as np
    >>> from hashmix.data.table import column_names
    >>> column_names(np.eye(2), None, 2, "report")
    ['0', '1']
    """
    shape = np.shape(X) if not hasattr(X, "shape") else X.shape
    if len(shape) != 2 or shape[0] != n_rows:
        raise bad_parameter(owner, "X", f"the {n_rows} rows that were clustered", f"shape {tuple(shape)}")
    if names is None:
        if isinstance(X, MixedRows):
            names = [column.name for column in X.columns]
        else:
            names = getattr(X, "column_names", getattr(X, "columns", range(shape[1])))
    out = [str(name) for name in names]
    if len(out) != shape[1]:
        raise bad_parameter(owner, "feature_names", f"{shape[1]} names", f"{len(out)} names")
    return out


def as_table(X: Any, names: list[str]) -> Table:
    """The columns of X that hold numbers or categories; none of a sparse matrix, whose columns are words.

    Dates, and texts that are almost all different, are left out.

    Parameters
    ----------
    X : array, frame, MixedRows or sparse matrix of shape (n_rows, n_columns)
        An array of numbers is not copied. Blanks are None or NaN.
    names : list of str
        Names of all columns.

    Examples
    --------
    >>> import numpy as np
    >>> from hashmix.data.table import as_table
    >>> table = as_table(np.array([[1.5, "red"], [None, "blue"]], dtype=object), ["size", "colour"])
    >>> table.numbers.tolist(), table.numeric
    ([[1.5], [nan]], ['size'])
    >>> table.categories[0].levels, table.categories[0].codes.tolist()
    (('blue', 'red'), [1, 0])
    """
    if hasattr(X, "tocsr"):
        return Table(np.empty((X.shape[0], 0)), [], [])
    if isinstance(X, MixedRows):
        return _of_mixed(X, names)
    raw = raw_columns(X)
    if raw is None:
        X = np.asarray(X)
        if X.dtype.kind in "buif":
            return Table(X, names, [])
        raw = RawColumns()
        raw.add(map(str, range(X.shape[1])), X.T)
    n_rows = len(next(iter(raw.values()), ()))
    numeric: list[tuple[str, np.ndarray]] = []
    categories = []
    for name, column in zip(names, raw.values(), strict=True):
        if column.dtype.kind == "f":
            numeric.append((name, column))
        elif column.dtype.kind in "bO" and (category := _category(name, labels_of(column))) is not None:
            categories.append(category)
    numbers = np.column_stack([column for _, column in numeric]) if numeric else np.empty((n_rows, 0))
    return Table(numbers, [name for name, _ in numeric], categories)


def _of_mixed(X: MixedRows, names: list[str]) -> Table:
    plain = [j for j, column in enumerate(X.columns) if not column.categories]
    categories = [
        Category(name, np.where(np.isnan(cells), -1, np.nan_to_num(cells)).astype(np.int64), column.categories)
        for name, column, cells in zip(names, X.columns, X.values.T, strict=True)
        if column.categories
    ]
    numbers = X.values if len(plain) == X.shape[1] else X.values[:, plain]
    return Table(numbers, [names[j] for j in plain], categories)


def _category(name: str, cells: np.ndarray) -> Category | None:
    """Texts as categories; None if there are too many different ones, or nothing but blanks."""
    levels = sorted({cell for cell in cells if cell is not None})
    if not levels or (len(levels) > _MANY_TEXTS and len(levels) > _ALL_DIFFERENT * len(cells)):
        return None
    positions: dict[str | None, int] = {level: j for j, level in enumerate(levels)} | {None: -1}
    return Category(name, np.array([positions[cell] for cell in cells], np.int64), tuple(levels))
