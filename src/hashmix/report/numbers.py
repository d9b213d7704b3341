"""Numbers as text, the same everywhere."""

from __future__ import annotations

import math

import numpy as np

__all__ = ["shown_number", "shown_percent", "shown_rhat", "shown_with_interval"]

#: R̂ above this is not shown as a number: all that matters is that the chains have nothing in common.
_LARGEST_RHAT = 100.0


def shown_number(value: float) -> str:
    """A number with four digits, or more if it is a large or a whole number; "–" if it does not exist.

    Examples
    --------
    >>> from hashmix.report.numbers import shown_number
    >>> shown_number(12345.678), shown_number(0.123456), shown_number(float("nan"))
    ('12,346', '0.1235', '–')
    """
    if not np.isfinite(value):
        return "–"
    if abs(value) >= 1e15:
        return f"{value:.4g}"
    return f"{value:,.0f}" if abs(value) >= 1000 or value == int(value) else f"{value:.4g}"


def shown_percent(share: float) -> str:
    """A share in percent, without the sign: whole numbers from 10 on, two digits below; "–" if it does not exist.

    Examples
    --------
    >>> from hashmix.report.numbers import shown_percent
    >>> shown_percent(0.997), shown_percent(0.9999), shown_percent(1.0), shown_percent(0.0423), shown_percent(float("nan"))
    ('99.7', '99.9', '100', '4.2', '–')
    """
    if not np.isfinite(share):
        return "–"
    percent = 100.0 * share
    if 99.0 < percent < 100.0:
        return f"{min(percent, 99.9):.3g}"
    return f"{percent:.0f}" if percent >= 9.95 else f"{percent:.2g}"


def shown_with_interval(value: float, low: float, high: float) -> tuple[str, str]:
    """A number and its interval, with the digits that the width of the interval allows; "–" for what does not exist.

    Examples
    --------
    >>> from hashmix.report.numbers import shown_with_interval
    >>> shown_with_interval(-9.4823, -9.5517, -9.2594), shown_with_interval(51234.5, 48000.2, 53000.9)
    (('-9.48', '-9.55 to -9.26'), ('51,234', '48,000 to 53,001'))
    >>> shown_with_interval(1.5, float("nan"), float("nan"))
    ('1.5', '–')
    """
    if not (np.isfinite(value) and np.isfinite(low) and np.isfinite(high)):
        return shown_number(value), "–"
    if high <= low or max(abs(low), abs(high)) >= 1e15 or high - low < 1e-6:
        return shown_number(value), f"{shown_number(low)} to {shown_number(high)}"
    decimals = max(0, 1 - math.floor(math.log10(high - low)))
    return f"{value:z,.{decimals}f}", f"{low:z,.{decimals}f} to {high:z,.{decimals}f}"


def shown_rhat(value: float) -> str:
    """R̂ with two decimals, or "above 100"; "–" if it does not exist.

    Examples
    --------
    >>> from hashmix.report.numbers import shown_rhat
    >>> shown_rhat(1.0234), shown_rhat(float("inf")), shown_rhat(float("nan"))
    ('1.02', 'above 100', '–')
    """
    if np.isnan(value):
        return "–"
    return f"above {_LARGEST_RHAT:.0f}" if value > _LARGEST_RHAT else f"{value:.2f}"
