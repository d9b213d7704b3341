"""Cells of text: which are blank, which are numbers, and what a column of them holds."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from hashmix.data.dates import parse_dates

__all__ = ["BLANKS", "ParsedColumn", "is_number", "labels_of", "parse_texts"]

#: Texts that stand for a blank cell.
BLANKS = ("", "NA", "N/A", "n/a", "#N/A", "<NA>", "NaN", "nan", "-nan", "NULL", "null", "None", "?", "NaT")
_BLANK = frozenset(BLANKS)

_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?|[+-]?(inf|infinity)", re.IGNORECASE | re.ASCII)
#: A number as people write it: with a currency, a percent sign or commas between thousands.
_WRITTEN = re.compile(r"([+-]?)([$€£¥]?) ?([+-]?)(\d{1,3}(?:,\d{3})+|\d+)(\.\d+)? ?([%$€£¥]?)", re.ASCII)
_SWAPPED = str.maketrans(",.", ".,")
_TRUTH = {"true": True, "false": False}


class ParsedColumn(NamedTuple):
    """What :func:`parse_texts` made of a column: float64, bool, datetime64 or object, and a note if it is not obvious."""

    values: np.ndarray
    note: str = ""


def is_number(text: str) -> bool:
    """Return whether a text is a number with a decimal point.

    Examples
    --------
    >>> from hashmix.data.cells import is_number
    >>> is_number("-1.5e3"), is_number("1_000"), is_number("12 %")
    (True, False, False)
    """
    return _NUMBER.fullmatch(text) is not None


def parse_texts(texts: Sequence[str | None], decimal: str = ".") -> ParsedColumn:
    """Return the numbers, truth values or dates that all texts of a column are, or the texts themselves.

    Blank cells (:data:`BLANKS`) become NaN, NaT or None. Numbers with a leading zero, such as postal codes, stay texts.

    Parameters
    ----------
    texts : sequence of str or None
    decimal : "." or ","
        What separates the decimals of a number.

    Examples
    --------
    >>> from hashmix.data.cells import parse_texts
    >>> parse_texts(["1", "NA", "2.5"]).values
    array([1. , nan, 2.5])
    >>> parse_texts(["$1,200", "$80"])
    ParsedColumn(values=array([1200.,   80.]), note="numbers without '$' and ','")
    >>> parse_texts(["red", "?"]).values
    array(['red', None], dtype=object)
    """
    stripped = (None if text is None else text.strip() for text in texts)
    cells = [None if text in _BLANK else text for text in stripped]
    # Every distinct text is looked at once: columns of categories have few.
    distinct = {cell for cell in cells if cell is not None}
    found, note = _meaning(distinct, decimal)
    if found is None:
        if decimal == ",":  # numbers among texts are written with a point from here on
            points = {cell: form for cell in distinct if is_number(form := cell.translate(_SWAPPED))}
            cells = [points.get(cell, cell) if cell is not None else None for cell in cells]
        return ParsedColumn(_objects(cells), note)
    values = list(found.values())
    if not distinct or isinstance(values[0], float):
        return ParsedColumn(np.array([np.nan if cell is None else found[cell] for cell in cells], np.float64), note)
    if isinstance(values[0], bool):
        truths = [None if cell is None else found[cell] for cell in cells]
        if None not in truths:
            return ParsedColumn(np.array(truths, bool), note)
        return ParsedColumn(_objects([None if truth is None else str(truth) for truth in truths]), note)
    blank = np.datetime64("NaT", "us")
    return ParsedColumn(np.array([blank if cell is None else found[cell] for cell in cells], "datetime64[us]"), note)


def _meaning(distinct: set[str], decimal: str) -> tuple[dict[str, Any] | None, str]:
    """What each text stands for, if all of them are of one kind, and a note."""
    if all(text.lower() in _TRUTH for text in distinct):
        return {text: _TRUTH[text.lower()] for text in distinct}, ""
    if any(_is_code(text) for text in distinct):
        return None, ""
    swapped = {text: text.translate(_SWAPPED) if decimal == "," else text for text in distinct}
    for forms in (swapped, {text: text for text in distinct}):
        if all(is_number(form) for form in forms.values()):
            return {text: float(form) for text, form in forms.items()}, ""
    if numbers := _written_numbers(swapped):
        return numbers
    return parse_dates(distinct)


def _is_code(text: str) -> bool:
    """Whether digits begin with a zero that a number would lose."""
    return len(text) > 1 and text[0] == "0" and text.isdecimal()


def _written_numbers(forms: dict[str, str]) -> tuple[dict[str, float], str] | None:
    """The numbers that texts like "$1,200" stand for, if all are alike, and a note that names the signs left out."""
    matches = {text: _WRITTEN.fullmatch(form) for text, form in forms.items()}
    numbers, signs = {}, set()
    for text, match in matches.items():
        if match is None:
            return None
        minus, before, inner, whole, decimals, after = match.groups()
        signs.add(before + after)
        numbers[text] = float(f"{minus or inner}{whole.replace(',', '')}{decimals or ''}")
    if len(signs) > 1:  # dollars and euros, or shares and per cents, are not comparable
        return None
    signs = {sign for sign in signs if sign} | ({","} if any("," in form for form in forms.values()) else set())
    return numbers, f"numbers without {' and '.join(repr(sign) for sign in sorted(signs))}"


def labels_of(column: np.ndarray) -> np.ndarray:
    """Return the cells of a raw column as texts, None where they are blank: the names of categories.

    Examples
    --------
    >>> import numpy as np
    >>> from hashmix.data.cells import labels_of
    >>> labels_of(np.array([3.0, np.nan, 0.5]))
    array(['3', None, '0.5'], dtype=object)
    """
    if column.dtype == object:
        return column
    if column.dtype.kind == "b":
        return _objects([str(value) for value in column.tolist()])
    if column.dtype.kind == "M":
        return _objects([None if np.isnat(value) else _short_date(str(value)) for value in column])
    distinct, where = np.unique(column, return_inverse=True)
    names = _objects([None if value != value else _short_number(value) for value in distinct.tolist()])
    return names[where]


def _short_number(value: float) -> str:
    return str(int(value)) if np.isfinite(value) and value == int(value) else repr(value)


def _short_date(text: str) -> str:
    return text.removesuffix(".000000").removesuffix("T00:00:00")


def _objects(cells: list[Any]) -> np.ndarray:
    """A list as an object array, whatever it holds."""
    out = np.empty(len(cells), object)
    out[:] = cells
    return out
