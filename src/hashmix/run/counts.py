"""How probable the sums of rows of counts are: what a component that takes sums as given leaves out."""

from __future__ import annotations

import numpy as np
from scipy.optimize import minimize_scalar
from scipy.stats import nbinom, norm

__all__ = ["log_probability_of_totals"]

#: Logarithms of shapes that negative binomials are tried with.
_SHAPES = (-7.0, 14.0)


def log_probability_of_totals(totals: np.ndarray) -> float:
    """The evidence of sums of rows: normal within cells or negative binomial, less half a log n for each of two parameters.

    Examples
    --------
    >>> import numpy as np
    >>> from hashmix.run.counts import log_probability_of_totals
    >>> round(log_probability_of_totals(np.full(100, 7.0)), 2)  # sums that are all the same cost their two parameters
    -4.61
    """
    mean, variance = float(totals.mean()), float(totals.var())
    deviation = max(np.sqrt(variance), 1e-9)
    within = norm.cdf((totals + 0.5 - mean) / deviation) - norm.cdf((totals - 0.5 - mean) / deviation)
    best = float(np.log(np.maximum(within, 1e-300)).sum())
    if variance > mean > 0.0:
        # The most probable mean is that of the sums, whatever the shape is.
        values, counts = np.unique(totals, return_counts=True)

        def loss(log_shape: float) -> float:
            shape = np.exp(log_shape)
            return -float(counts @ nbinom.logpmf(values, shape, shape / (shape + mean)))

        best = max(best, -float(minimize_scalar(loss, bounds=_SHAPES, method="bounded").fun))
    return best - float(np.log(len(totals)))
