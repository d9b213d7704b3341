"""Intervals over draws, with one value for each parameter and draw."""

from __future__ import annotations

import numpy as np

__all__ = ["interval", "strata"]


def interval(values: np.ndarray, level: float) -> tuple[np.ndarray, np.ndarray]:
    """The interval over draws, the first axis; those without a match are left out. NaN where no draw has one.

    Examples
    --------
    >>> import numpy as np
    >>> from hashmix.posterior.describe.intervals import interval
    >>> low, high = interval(np.array([[1.0, np.nan], [2.0, np.nan], [3.0, np.nan]]), 0.5)
    >>> low, high
    (array([1.5, nan]), array([2.5, nan]))
    """
    out = np.full((2, *values.shape[1:]), np.nan)
    some = np.isfinite(values).any(axis=0)
    out[:, some] = np.nanquantile(values[:, some], [(1.0 - level) / 2.0, (1.0 + level) / 2.0], axis=0)
    return out[0], out[1]


def strata(shape: tuple[int, ...]) -> np.ndarray:
    """Numbers in (0, 1), evenly spread over the first axis, in a random order that differs along the other axes.

    Examples
    --------
    >>> import numpy as np
    >>> from hashmix.posterior.describe.intervals import strata
    >>> np.sort(strata((4, 2)), axis=0)[:, 1]
    array([0.125, 0.375, 0.625, 0.875])
    """
    order = np.random.default_rng(0).random(shape).argsort(axis=0)
    return (order + 0.5) / shape[0]
