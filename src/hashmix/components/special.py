"""Ratios of gamma functions without the cancellation of large terms."""

from __future__ import annotations

import math

import numpy as np
from scipy.special import gammaln

from hashmix.compiling import helper

__all__ = ["log_gamma_ratio", "log_gamma_ratios"]


@helper
def log_gamma_ratio(z, h):
    """Log Γ(z) − log Γ(z − h), by Stirling where z is large."""
    y = z - h
    if y < 2000.0:
        return math.lgamma(z) - math.lgamma(y)
    return (z - 0.5) * -math.log1p(-h / z) + h * math.log(y) - h + (1.0 / z - 1.0 / y) / 12.0


def log_gamma_ratios(z: np.ndarray, h: np.ndarray | float) -> np.ndarray:
    """Array form of :func:`log_gamma_ratio`."""
    y = z - h
    with np.errstate(divide="ignore", invalid="ignore"):
        stirling = (z - 0.5) * -np.log1p(-h / z) + h * np.log(y) - h + (1.0 / z - 1.0 / y) / 12.0
    return np.where(y < 2000.0, gammaln(z) - gammaln(y), stirling)
