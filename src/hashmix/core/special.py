"""Log ratios of gamma functions, accurate for large arguments."""

from __future__ import annotations

import math

import numpy as np
from scipy.special import gammaln

from hashmix.core.compiling import helper

__all__ = ["log_gamma_ratio", "log_gamma_ratios"]


@helper
def log_gamma_ratio(z, h):
    """Log Γ(z) − log Γ(z − h), inside kernels.

    For large z the two terms cancel almost completely, so Stirling's series is used for their difference instead.
    """
    y = z - h
    if y < 2000.0:
        return math.lgamma(z) - math.lgamma(y)
    return (z - 0.5) * -math.log1p(-h / z) + h * math.log(y) - h + (1.0 / z - 1.0 / y) / 12.0


def log_gamma_ratios(z: np.ndarray, h: np.ndarray | float) -> np.ndarray:
    """Log Γ(z) − log Γ(z − h), element by element: the array form of :func:`log_gamma_ratio`.

    Parameters
    ----------
    z : ndarray
    h : ndarray or float
        Less than ``z``.

    Examples
    --------
    >>> import numpy as np
    >>> from hashmix.core.special import log_gamma_ratios
    >>> np.exp(log_gamma_ratios(np.array([5.0, 1e6]), 1.0)).round(3)  # Γ(z) / Γ(z − 1) = z − 1
    array([4.00000e+00, 9.99999e+05])
    """
    y = z - h
    with np.errstate(divide="ignore", invalid="ignore"):
        stirling = (z - 0.5) * -np.log1p(-h / z) + h * np.log(y) - h + (1.0 / z - 1.0 / y) / 12.0
    return np.where(y < 2000.0, gammaln(z) - gammaln(y), stirling)
