"""Frames of pandas, polars and pyarrow, and dicts of sequences, as raw columns."""

from __future__ import annotations

import datetime
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal
from numbers import Real
from typing import Any

import numpy as np

from hashmix.data.cells import parse_texts

__all__ = ["CategoryColumn", "RawColumns", "raw_columns"]

_DAY = np.timedelta64(1, "D")


class RawColumns(dict[str, np.ndarray]):
    """Columns by name, as they were found: float64 with NaN for blanks, bool, datetime64, or object (str, or None for a blank).

    Attributes
    ----------
    notes : list of str
        What the user should know about how the columns were read, one line each.

    Examples
    --------
    >>> from hashmix.data.frames import RawColumns
    >>> raw = RawColumns()
    >>> raw.add(["age", "age"], [[31, 45], [1, 2]])
    >>> list(raw), raw.notes
    (['age', 'age.1'], ['duplicate names: another age is now age.1'])
    """

    def __init__(self) -> None:
        super().__init__()
        self.notes: list[str] = []

    def add(self, names: Iterable[str], columns: Iterable[Any], decimal: str = ".") -> None:
        """Add columns of the same length; a name that exists gets a number."""
        numbers: Counter[str] = Counter()
        for name, column in zip(names, columns, strict=True):
            unique = name
            while unique in self:
                numbers[name] += 1
                unique = f"{name}.{numbers[name]}"
            if unique != name:
                self.notes.append(f"duplicate names: another {name} is now {unique}")
            self[unique], note = _raw_column(column, decimal)
            if note:
                self.notes.append(f"{unique}: {note}")
        lengths = {name: len(column) for name, column in self.items()}
        if len(set(lengths.values())) > 1:
            shown = ", ".join(f"{name}: {length}" for name, length in list(lengths.items())[:5])
            raise ValueError(f"All columns must have the same number of rows. Got {shown} instead.")


class CategoryColumn(np.ndarray):
    """An object array of str or None that knows the order in which its categories were declared."""

    categories: tuple[str, ...]

    @classmethod
    def of(cls, codes: np.ndarray, categories: Sequence[Any]) -> CategoryColumn:
        """Build the column from codes (negative: blank) and categories.

        Examples
        --------
        >>> from hashmix.data.frames import CategoryColumn
        >>> CategoryColumn.of([1, -1], ["small", "large"]).tolist()
        ['large', None]
        """
        names = [category if isinstance(category, str) else str(category) for category in categories]
        lookup = np.array([*names, None], object)
        out = lookup[np.where(np.asarray(codes) < 0, len(names), codes).astype(int)].view(cls)
        out.categories = tuple(names)
        return out

    def __array_finalize__(self, other: Any) -> None:
        self.categories = getattr(other, "categories", ())


def raw_columns(X: Any) -> RawColumns | None:
    """Return the columns of a frame by name, in order; None if X is not a frame.

    Parameters
    ----------
    X : DataFrame of pandas or polars, Table of pyarrow, dict of sequences, or anything else

    Returns
    -------
    RawColumns or None
        A dict of float64, bool, datetime64 or object arrays. Times are in days. Categories keep their declared order.

    Examples
    --------
    >>> from hashmix.data.frames import raw_columns
    >>> raw_columns({"age": [31, None], "colour": ["red", "?"]})
    {'age': array([31., nan]), 'colour': array(['red', None], dtype=object)}
    >>> raw_columns([[1, 2], [3, 4]]) is None
    True
    """
    raw = RawColumns()
    library = type(X).__module__.split(".")[0]
    if isinstance(X, RawColumns):
        return X
    if isinstance(X, Mapping):
        raw.add(map(str, X), X.values())
    elif library == "pandas" and hasattr(X, "columns"):
        raw.add(map(_text, X.columns), (_from_pandas(X.iloc[:, j]) for j in range(X.shape[1])))
    elif library == "polars" and hasattr(X, "collect_schema"):
        X = X.lazy().collect()
        raw.add(X.columns, map(_from_polars, X))
    elif library == "pyarrow" and hasattr(X, "column_names"):
        raw.add(X.column_names, map(_from_arrow, X.columns))
    else:
        return None
    return raw


def _text(name: Any) -> str:
    """A column name as text; those of several levels are joined."""
    return "_".join(map(str, name)) if isinstance(name, tuple) else str(name)


def _from_pandas(column: Any) -> Any:
    kind = type(column.dtype).__name__
    if kind == "CategoricalDtype":
        return CategoryColumn.of(column.cat.codes.to_numpy(), column.cat.categories.tolist())
    if kind == "DatetimeTZDtype":
        return column.dt.tz_convert("UTC").dt.tz_localize(None).to_numpy()
    if isinstance(column.dtype, np.dtype):
        return column.to_numpy()
    if getattr(column.dtype, "kind", "O") in "iuf":
        return column.to_numpy(dtype=np.float64, na_value=np.nan)
    return column.to_numpy(dtype=object)


def _from_polars(column: Any) -> Any:
    kind = type(column.dtype).__name__
    if kind == "Enum":
        places = {category: j for j, category in enumerate(column.dtype.categories)}
        return CategoryColumn.of(np.array([places.get(cell, -1) for cell in column.to_list()]), list(places))
    if (column.dtype.is_numeric() and kind != "Decimal") or (column.dtype.is_temporal() and kind != "Time"):
        return column.to_numpy()
    return column.to_list()


def _from_arrow(column: Any) -> Any:
    from pyarrow import types

    if types.is_dictionary(column.type):
        column = column.combine_chunks() if hasattr(column, "combine_chunks") else column
        codes = column.indices.cast("int64").fill_null(-1).to_numpy(zero_copy_only=False)
        return CategoryColumn.of(codes, column.dictionary.to_pylist())
    if types.is_integer(column.type) or types.is_floating(column.type):
        return (
            column.cast("float64").to_numpy() if column.null_count == 0 else column.cast("float64").fill_null(np.nan).to_numpy()
        )
    if types.is_date(column.type) or types.is_timestamp(column.type) or types.is_duration(column.type):
        return column.to_numpy()
    return column.to_pylist()


# ---- one column ------------------------------------------------------------------------------------------------------------


def _raw_column(column: Any, decimal: str) -> tuple[np.ndarray, str]:
    """A column of any kind as a raw column, and a note if it is not obvious what became of it."""
    if isinstance(column, CategoryColumn):
        return column, ""
    if not isinstance(column, np.ndarray) and hasattr(column, "dtype"):  # a pandas or polars series in a dict
        column = np.asarray(column)
    if isinstance(column, np.ndarray) and column.dtype.kind in "fiubMm":
        if column.ndim != 1:
            raise ValueError(f"Every column must have one dimension. Got shape {column.shape} instead.")
        if column.dtype.kind == "m":
            return column / _DAY, "times, as numbers of days"
        if column.dtype.kind == "M":
            return column.astype("datetime64[us]"), ""
        return (column, "") if column.dtype.kind == "b" else (np.asarray(column, np.float64), "")
    return _from_objects(list(column), decimal)


def _from_objects(values: list[Any], decimal: str) -> tuple[np.ndarray, str]:
    """Python objects as a raw column."""
    cells = [None if _is_blank(value) else value for value in values]
    types = {type(cell) for cell in cells if cell is not None}
    if types == {str}:
        return parse_texts(cells, decimal)
    if types and all(issubclass(kind, (bool, np.bool_)) for kind in types):
        return parse_texts([None if cell is None else str(cell) for cell in cells])
    if all(issubclass(kind, (Real, Decimal)) and not issubclass(kind, (bool, np.bool_)) for kind in types):
        return np.array([np.nan if cell is None else float(cell) for cell in cells]), ""
    if all(issubclass(kind, (datetime.date, np.datetime64)) for kind in types):
        return np.array([_naive(cell) for cell in cells], "datetime64[us]"), ""
    if all(issubclass(kind, (datetime.timedelta, np.timedelta64)) for kind in types):
        spans = np.array(
            [np.timedelta64("NaT", "us") if cell is None else np.timedelta64(cell) for cell in cells], "timedelta64[us]"
        )
        return spans / _DAY, "times, as numbers of days"
    return parse_texts([None if cell is None else _as_text(cell) for cell in cells], decimal)


def _is_blank(value: Any) -> bool:
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return True
    return isinstance(value, (float, np.floating, np.datetime64, np.timedelta64)) and bool(value != value)


def _naive(cell: Any) -> Any:
    """A date without its time zone, in UTC."""
    if cell is None:
        return np.datetime64("NaT")
    if isinstance(cell, datetime.datetime) and cell.tzinfo is not None:
        cell = cell.astimezone(datetime.UTC).replace(tzinfo=None)
    return np.datetime64(cell)


def _as_text(cell: Any) -> str:
    return cell.decode("utf-8", "replace") if isinstance(cell, bytes) else str(cell)
