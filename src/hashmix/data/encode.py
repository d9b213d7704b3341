"""Raw columns as the matrix that components take."""

from __future__ import annotations

import warnings
from collections.abc import Collection, Mapping

import numpy as np

from hashmix.data.cells import labels_of
from hashmix.data.kinds import as_numbers
from hashmix.data.mixed import Column, MixedRows

__all__ = ["decode", "encode", "plain_matrix"]


def encode(raw: Mapping[str, np.ndarray], columns: Collection[Column]) -> MixedRows:
    """Return the columns as rows of numbers: categories by position, NaN for blanks.

    A category that its column does not declare becomes a blank, with a warning that names it.

    Parameters
    ----------
    raw : dict of arrays
        As :func:`~hashmix.data.frames.raw_columns` returns them; other columns than those asked for are ignored.
    columns : sequence of Column
        As :func:`~hashmix.data.kinds.recognise` returns them, or those of an earlier fit.

    Examples
    --------
    >>> from hashmix.data.encode import encode
    >>> from hashmix.data.frames import raw_columns
    >>> from hashmix.data.mixed import Column
    >>> columns = Column("age", "numeric"), Column("colour", "categorical", ("blue", "red"))
    >>> encode(raw_columns({"colour": ["red", None], "age": [31, 45]}), columns).values
    array([[31.,  1.],
           [45., nan]])
    """
    _check_present(raw, columns)
    values = np.empty((_n_rows(raw), len(columns)))
    unknown: list[str] = []
    for j, column in enumerate(columns):
        values[:, j] = _codes(raw[column.name], column, unknown) if column.categories else _numbers(raw[column.name], column)
    _check_finite(values, columns)
    if unknown:
        warnings.warn(
            f"Categories that the fit did not see are taken as blank: {'; '.join(unknown)}.", UserWarning, stacklevel=2
        )
    return MixedRows(values, columns)


def plain_matrix(raw: Mapping[str, np.ndarray], columns: Collection[Column]) -> np.ndarray:
    """Return numeric columns as a float64 matrix.

    Examples
    --------
    >>> from hashmix.data.encode import plain_matrix
    >>> from hashmix.data.frames import raw_columns
    >>> from hashmix.data.mixed import Column
    >>> plain_matrix(raw_columns({"u": [1, 2], "v": [3, 4]}), [Column("v", "numeric")])
    array([[3.],
           [4.]])
    """
    _check_present(raw, columns)
    values = np.empty((_n_rows(raw), len(columns)))
    for j, column in enumerate(columns):
        values[:, j] = _numbers(raw[column.name], column)
    _check_finite(values, columns)
    return values


def decode(values: np.ndarray, columns: Collection[Column]) -> np.ndarray:
    """Return rows of numbers with categories in place of their positions, as an array of objects.

    Examples
    --------
    >>> import numpy as np
    >>> from hashmix.data.encode import decode
    >>> from hashmix.data.mixed import Column
    >>> decode(np.array([[1.5, 1.0]]), [Column("age", "numeric"), Column("colour", "categorical", ("blue", "red"))])
    array([[1.5, 'red']], dtype=object)
    """
    out = values.astype(object)
    for j, column in enumerate(columns):
        if column.categories:
            out[:, j] = [column.categories[int(code)] for code in values[:, j]]
    return out


def _n_rows(raw: Mapping[str, np.ndarray]) -> int:
    return len(next(iter(raw.values()))) if raw else 0


def _check_present(raw: Mapping[str, np.ndarray], columns: Collection[Column]) -> None:
    missing = [repr(column.name) for column in columns if column.name not in raw]
    if missing:
        found = ", ".join(list(raw)[:20]) or "none"
        raise ValueError(f"X must have the columns of the fit. It lacks {', '.join(missing[:20])}; it has {found}.")


def _check_finite(values: np.ndarray, columns: Collection[Column]) -> None:
    infinite = np.isinf(values)
    if infinite.any():
        bad = [column.name for column, found in zip(columns, infinite.any(axis=0), strict=True) if found]
        row = int(np.argmax(infinite.any(axis=1)))
        where = f"in row {row} ({', '.join(bad[:20])})"
        raise ValueError(
            f"Numbers must be finite or blank. Got inf {where}: make such cells blank (--blank inf,-inf), or leave out "
            f"such columns (--drop {','.join(bad[:20])})."
        )


def _numbers(values: np.ndarray, column: Column) -> np.ndarray:
    numbers = as_numbers(values)
    if numbers is None:
        cell = next(cell for cell in values if cell is not None)
        raise ValueError(f"Column {column.name!r} must be {column.kind}. Got the text {cell[:40]!r} instead.")
    return numbers


def _codes(values: np.ndarray, column: Column, unknown: list[str]) -> np.ndarray:
    positions: dict[str | None, float] = {category: j for j, category in enumerate(column.categories)}
    labels = labels_of(values).tolist()
    new = sorted(set(labels) - positions.keys() - {None})
    if new:
        unknown.append(f"{', '.join(repr(category) for category in new[:3])}{' …' if len(new) > 3 else ''} in {column.name!r}")
    return np.array([positions.get(label, np.nan) for label in labels], np.float64)
