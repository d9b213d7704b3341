"""Dates: texts that are dates, and dates as numbers."""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import Any

import numpy as np

__all__ = ["days", "parse_dates"]

_ISO = re.compile(r"\d{4}-\d{2}-\d{2}(?:[T ]\d{2}:\d{2}(?::\d{2}(?:\.\d{1,9})?)?)?Z?", re.ASCII)
_TIME = r"(?:,? (\d{1,2}):(\d{2})(?::(\d{2}))?(?: ?([AaPp])[Mm])?)?"
_DOTTED = re.compile(r"(\d{1,2})\.(\d{1,2})\.(\d{4})" + _TIME, re.ASCII)
_SLASHED = re.compile(r"(\d{1,2})/(\d{1,2})/(\d{4})" + _TIME, re.ASCII)


def parse_dates(texts: Collection[str]) -> tuple[dict[str, Any] | None, str]:
    """Return the date each text stands for, or None if they are not all dates of one form; and a note.

    The forms are 2024-12-31, 31.12.2024, and 12/31/2024 or 31/12/2024 if the days tell which; each may have a time of day, such
    as 23:59 or 23:59:59, and those of the last two forms 11:59 PM.

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
                return _ordered(parts, form is _DOTTED)
    except ValueError:  # such as 2024-02-31
        pass
    return None, ""


def _ordered(parts: dict[str, tuple[Any, ...]], day_first: bool) -> tuple[dict[str, Any] | None, str]:
    """Dates from two numbers, a year and a time of day; the day is the number that exceeds 12 somewhere."""
    pairs = {text: (int(first), int(second)) for text, (first, second, *_) in parts.items()}
    if not day_first:
        day_first = any(first > 12 for first, _ in pairs.values())
        if not day_first and not any(second > 12 for _, second in pairs.values()):
            return None, "dates, but day and month cannot be told apart"
    dates = {}
    for text, (_, _, year, *time) in parts.items():
        day, month = pairs[text] if day_first else reversed(pairs[text])
        dates[text] = np.datetime64(f"{year}-{month:02d}-{day:02d}T{_time_of_day(*time)}", "us")
    return dates, ""


def _time_of_day(hour: str | None, minute: str | None, second: str | None, half: str | None) -> str:
    """A time of day as ISO writes it; midnight if there is none."""
    hours = int(hour or 0)
    if half is not None:
        if not 1 <= hours <= 12:
            raise ValueError
        hours = hours % 12 + 12 * (half in "Pp")
    return f"{hours:02d}:{minute or '00'}:{second or '00'}"


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
