"""Values that a user says mean a blank, such as -999 or "unknown"."""

from __future__ import annotations

from collections.abc import Collection

import numpy as np

from hashmix.data.cells import is_number, parse_texts
from hashmix.data.frames import RawColumns

__all__ = ["make_blank"]


def make_blank(raw: RawColumns, values: Collection[str]) -> None:
    """Make all cells blank that hold one of the values; columns that hold nothing but numbers then become numbers.

    Parameters
    ----------
    raw : RawColumns
        Changed in place.
    values : collection of str
        Texts, or numbers as texts.

    Examples
    --------
    >>> from hashmix.data.blanks import make_blank
    >>> from hashmix.data.frames import raw_columns
    >>> raw = raw_columns({"age": ["31", "unknown"], "height": [-999, 1.7]})
    >>> make_blank(raw, ["unknown", "-999"])
    >>> raw
    {'age': array([31., nan]), 'height': array([nan, 1.7])}
    """
    numbers = [float(value) for value in values if is_number(value)]
    for name, column in raw.items():
        if column.dtype.kind == "f" and np.isin(column, numbers).any():
            raw[name] = np.where(np.isin(column, numbers), np.nan, column)
        elif column.dtype == object and set(values) & set(column.tolist()):
            raw[name] = parse_texts([None if cell in values else cell for cell in column.tolist()]).values
