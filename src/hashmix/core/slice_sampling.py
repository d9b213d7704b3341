"""Slice sampling of bounded numbers (Neal 2003)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

__all__ = ["slice_pair", "slice_within"]


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


def slice_pair(
    log_density: Callable[[Any, Any], Any],
    x: Any,
    y: Any,
    x_bounds: tuple[Any, Any],
    y_bounds: tuple[Any, Any],
    rng: np.random.Generator,
) -> tuple[Any, Any]:
    """Update pairs of numbers, each between its own bounds: x, then y, then both by the same amount.

    Two logarithms whose ratio the data know well and whose size they hardly know lie along a ridge. Steps of one number
    at a time creep along it; a step of both does not. It is a step of slice sampling on the line through x and y.

    Examples
    --------
    >>> import numpy as np
    >>> from hashmix.core.slice_sampling import slice_pair
    >>> zero, bounds = np.zeros(1), (np.full(1, -9.0), np.full(1, 9.0))
    >>> x, y = slice_pair(lambda s, t: -1e6 * (s - t) ** 2, zero, zero, bounds, bounds, np.random.default_rng(0))
    >>> bool(abs(x[0]) > 0.1), bool(abs(x[0] - y[0]) < 0.1)
    (True, True)
    """
    x = slice_within(lambda t: log_density(t, y), x, *x_bounds, rng)
    y = slice_within(lambda t: log_density(x, t), y, *y_bounds, rng)
    lowest, highest = np.maximum(x_bounds[0] - x, y_bounds[0] - y), np.minimum(x_bounds[1] - x, y_bounds[1] - y)
    step = slice_within(lambda t: log_density(x + t, y + t), np.zeros(np.shape(x)), lowest, highest, rng)
    return x + step, y + step
