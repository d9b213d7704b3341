"""The columns of data as people have them: their names, and those that hold numbers."""

from __future__ import annotations

from typing import Any

import numpy as np

from hashmix.core.validation import bad_parameter

__all__ = ["column_names", "numeric_columns"]


def column_names(X: Any, names: Any, n_rows: int, owner: str) -> list[str]:
    """The names of the columns of X: those given, those of a DataFrame, or numbers; the number of rows is checked.

    Examples
    --------
    >>> import numpy as np
    >>> from hashmix.report.columns import column_names
    >>> column_names(np.eye(2), None, 2, "report")
    ['0', '1']
    """
    shape = np.shape(X) if not hasattr(X, "shape") else X.shape
    if len(shape) != 2 or shape[0] != n_rows:
        raise bad_parameter(owner, "X", f"the {n_rows} rows that were clustered", f"shape {tuple(shape)}")
    if names is None:
        names = getattr(X, "columns", range(shape[1]))
    out = [str(name) for name in names]
    if len(out) != shape[1]:
        raise bad_parameter(owner, "feature_names", f"{shape[1]} names", f"{len(out)} names")
    return out


def _as_numbers(column: Any) -> np.ndarray | None:
    """A column as numbers, with NaN for blanks; None if it holds anything else."""
    values = np.asarray(column)
    if values.dtype.kind in "buif":
        return values
    if values.dtype.kind == "O":
        try:
            return np.array([np.nan if value is None else value for value in values], dtype=np.float64)
        except (TypeError, ValueError):
            return None
    return None


def numeric_columns(X: Any, names: list[str]) -> tuple[np.ndarray, list[str]]:
    """The columns of X that hold numbers, and their names; none of a sparse matrix, whose columns are words.

    Parameters
    ----------
    X : array, DataFrame or sparse matrix of shape (n_samples, n_features)
        An array of numbers is not copied. Blanks are None or NaN.
    names : list of str
        Names of all columns.

    Returns
    -------
    array of shape (n_samples, n_numeric)
        The numbers; blanks are NaN.
    list of str
        Names of these columns.

    Examples
    --------
    >>> import numpy as np
    >>> from hashmix.report.columns import numeric_columns
    >>> numbers, names = numeric_columns(np.array([[1.5, "red"], [None, "blue"]], dtype=object), ["size", "colour"])
    >>> numbers.tolist(), names
    ([[1.5], [nan]], ['size'])
    """
    if hasattr(X, "tocsr"):
        return np.empty((X.shape[0], 0)), []
    if hasattr(X, "iloc"):
        columns = [X.iloc[:, j] for j in range(X.shape[1])]
    else:
        X = np.asarray(X)
        if X.dtype.kind in "buif":
            return X, names
        columns = list(X.T)
    found = [
        (name, numbers) for name, column in zip(names, columns, strict=True) if (numbers := _as_numbers(column)) is not None
    ]
    if not found:
        return np.empty((len(X), 0)), []
    return np.column_stack([numbers for _, numbers in found]), [name for name, _ in found]
