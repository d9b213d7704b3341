"""Slice sampling of bounded numbers (Neal 2003)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

__all__ = ["slice_within"]


def slice_within(log_density: Callable[[Any], Any], x: Any, low: Any, high: Any, rng: np.random.Generator) -> Any:
    """Update several independent numbers, each between its own bounds, by one step of slice sampling.

    ``log_density`` takes and returns arrays of the shape of x. The interval shrinks from the bounds towards x, which
    leaves every density on the bounds invariant.

    Examples
    --------
    >>> import numpy as np
    >>> from hashmix.core.slice_sampling import slice_within
    >>> x = slice_within(lambda t: -t, np.array([0.5]), np.zeros(1), np.ones(1), np.random.default_rng(0))
    >>> bool(0 <= x[0] <= 1)
    True
    """
    x = np.clip(x, low, high)  # only a starting value can lie outside
    level = log_density(x) + np.log1p(-rng.random(np.shape(x)))
    left, right = low, high
    new = left + (right - left) * rng.random(np.shape(x))
    while True:
        outside = log_density(new) < level
        if not np.any(outside):
            return new
        left = np.where(outside & (new < x), new, left)
        right = np.where(outside & (new >= x), new, right)
        new = np.where(outside, left + (right - left) * rng.random(np.shape(x)), new)
