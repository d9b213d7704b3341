"""Dates: texts that are dates, and dates as numbers."""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import Any

import numpy as np

__all__ = ["days", "parse_dates"]

_ISO = re.compile(r"\d{4}-\d{2}-\d{2}(?:[T ]\d{2}:\d{2}(?::\d{2}(?:\.\d{1,9})?)?)?Z?", re.ASCII)
_DOTTED = re.compile(r"(\d{1,2})\.(\d{1,2})\.(\d{4})", re.ASCII)
_SLASHED = re.compile(r"(\d{1,2})/(\d{1,2})/(\d{4})", re.ASCII)


def parse_dates(texts: Collection[str]) -> tuple[dict[str, Any] | None, str]:
    """Return the date each text stands for, or None if they are not all dates of one form; and a note.

    The forms are 2024-12-31, 2024-12-31 23:59:59, 31.12.2024, and 12/31/2024 or 31/12/2024 if the days tell which.

    Examples
    --------
    >>> from hashmix.data.dates import parse_dates
    >>> parse_dates(["31/12/2024", "01/12/2024"])[0]["01/12/2024"]
    np.datetime64('2024-12-01T00:00:00.000000')
    >>> parse_dates(["01/02/2024"])
    (None, 'dates, but day and month cannot be told apart')
    """
    try:
        if all(_ISO.fullmatch(text) for text in texts):
            return {text: np.datetime64(text.removesuffix("Z").replace(" ", "T"), "us") for text in texts}, ""
        for form in (_DOTTED, _SLASHED):
            parts = {text: match.groups() for text in texts if (match := form.fullmatch(text))}
            if len(parts) == len(texts):
                return _ordered({text: (int(a), int(b), int(c)) for text, (a, b, c) in parts.items()}, form is _DOTTED)
    except ValueError:  # such as 2024-02-31
        pass
    return None, ""


def _ordered(parts: dict[str, tuple[int, int, int]], day_first: bool) -> tuple[dict[str, Any] | None, str]:
    """Dates from two numbers and a year; the day is the number that exceeds 12 somewhere."""
    if not day_first:
        day_first = any(first > 12 for first, _, _ in parts.values())
        if not day_first and not any(second > 12 for _, second, _ in parts.values()):
            return None, "dates, but day and month cannot be told apart"
    dates = {}
    for text, (first, second, year) in parts.items():
        day, month = (first, second) if day_first else (second, first)
        dates[text] = np.datetime64(f"{year:04d}-{month:02d}-{day:02d}", "us")
    return dates, ""


def days(dates: np.ndarray) -> np.ndarray:
    """Return days since 1970-01-01 as float64, with NaN for NaT.

    Examples
    --------
    >>> import numpy as np
    >>> from hashmix.data.dates import days
    >>> days(np.array(["1970-01-02T12:00", "NaT"], "datetime64[us]"))
    array([1.5, nan])
    """
    return (dates - np.datetime64("1970-01-01", "us")) / np.timedelta64(1, "D")
