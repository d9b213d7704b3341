"""Numbers as text, the same everywhere."""

from __future__ import annotations

import numpy as np

__all__ = ["shown_number", "shown_percent", "shown_range", "shown_rhat"]

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
    ('99.7', '99.99', '100', '4.2', '–')
    """
    if not np.isfinite(share):
        return "–"
    percent = 100.0 * share
    if 99.0 < percent < 100.0:
        return f"{min(percent, 99.99):.4g}"
    return f"{percent:.0f}" if percent >= 9.95 else f"{percent:.2g}"


def shown_range(low: float, high: float) -> str:
    """An interval of numbers; "–" if it does not exist.

    Examples
    --------
    >>> from hashmix.report.numbers import shown_range
    >>> shown_range(1.25, 2000), shown_range(float("nan"), float("nan"))
    ('1.25 – 2,000', '–')
    """
    return f"{shown_number(low)} – {shown_number(high)}" if np.isfinite(low) and np.isfinite(high) else "–"


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
