"""The acceptance rule, written once."""

from __future__ import annotations

import math

from hashmix.compiling import helper
from hashmix.rng import bernoulli

__all__ = ["accept", "log_or_never"]


@helper
def log_or_never(probability):
    """Its logarithm; −∞ for what has no probability."""
    return math.log(probability) if probability > 0.0 else -math.inf


@helper
def accept(rng, log_ratio):
    """Metropolis–Hastings: True with probability min(1, exp(log_ratio)); a NaN is rejected.

    Early rejection takes two calls: where log_ratio = bound + log q with log q ≤ 0, ``accept(bound)`` and then
    ``accept(max(bound, 0) + log q)`` together have probability min(1, exp(bound + log q)), and log q need not be
    computed when the first says no.
    """
    if log_ratio >= 0.0:
        return True
    return bernoulli(rng, math.exp(log_ratio))
