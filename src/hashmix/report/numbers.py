"""Numbers as text, the same everywhere."""

from __future__ import annotations

import numpy as np

__all__ = ["shown_number", "shown_rhat"]

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
    return f"{value:,.0f}" if abs(value) >= 1000 or value == int(value) else f"{value:.4g}"


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
