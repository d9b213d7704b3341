"""Learning the hyperparameters of diagonal Gaussians: exact updates under weak hyperpriors.

Hyperpriors, in terms of the columns' means and variances v_d, whatever values a chain starts from:

* ``mean_d`` ~ N(column mean, v_d);
* the variance expected within a cluster, as a share of v_d, is log-uniform in every column, between 1 and ``10^(−8/D)`` or
  10⁻⁴, whichever is less: clusters may be small in every column however many columns there are;
* ``kappa`` is log-uniform between ``10^(−24/D)`` and ``10^(−18/D)``: cluster means may lie anywhere in a region of 10⁹ to 10¹²
  cluster volumes. This is where parsimony comes from: if kappa could grow freely, clusters would become cheap, and groups
  that are not quite Gaussian would be split.

An update draws every cluster's mean and precision from their posterior, then the hyperparameters given these. It then
updates one common factor of all scales by slice sampling, with the clusters' parameters integrated out: scales and drawn
precisions are strongly correlated, and the common factor is not affected by that.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from hashmix.core.slice_sampling import slice_within

__all__ = ["Hyperprior", "common_factor", "draw_kappa", "learn"]

#: Log10 of volumes: the smallest share of the data's volume a cluster may fill, and the region of means in cluster volumes.
LEAST_VOLUME, LEAST_REGION, MOST_REGION = -4.0, 9.0, 12.0
#: The least share of a column's variance within a cluster is never more than this.
LEAST_SHARE = 1e-4

#: Initial width of the slice for the common factor's logarithm.
_WIDTH = 0.5


class Hyperprior(NamedTuple):
    """In internal units: the variance of every column; bounds of the scale in every column, and of kappa."""

    variance: np.ndarray
    least_scale: np.ndarray
    most_scale: np.ndarray
    least_kappa: float
    most_kappa: float

    @classmethod
    def weak(cls, variance: np.ndarray, scale_per_variance: float) -> Hyperprior:
        """The hyperprior of this module; a scale of ``scale_per_variance`` corresponds to an expected variance of 1."""
        d = len(variance)
        most = scale_per_variance * variance
        least = most * min(10.0 ** (2.0 * LEAST_VOLUME / d), LEAST_SHARE)
        return cls(variance, least, most, 10.0 ** (-2.0 * MOST_REGION / d), 10.0 ** (-2.0 * LEAST_REGION / d))


def _truncated_gamma(x: Any, shape: float, rate: Any, low: Any, high: Any, rng: np.random.Generator) -> Any:
    """Update numbers with density x^(shape − 1) exp(−rate x) between bounds, on the log scale."""
    return np.exp(slice_within(lambda t: shape * t - rate * np.exp(t), np.log(x), np.log(low), np.log(high), rng))


def draw_kappa(kappa: float, n_squares: int, squares: float, hyperprior: Any, rng: np.random.Generator) -> float:
    """Update kappa, given the sum of so many squares of standardised offsets of the clusters' means."""
    low, high = hyperprior.least_kappa, hyperprior.most_kappa
    return float(_truncated_gamma(kappa, 0.5 * n_squares, 0.5 * squares, low, high, rng))


def common_factor(log_density: Callable[[float], float], low: float, high: float, rng: np.random.Generator) -> float:
    """Slice-sampling update of a number whose current value is 0: step out, then shrink."""
    level = log_density(0.0) + math.log1p(-rng.random())
    left = -_WIDTH * rng.random()
    right = left + _WIDTH
    while left > low and log_density(left) >= level:
        left -= _WIDTH
    while right < high and log_density(right) >= level:
        right += _WIDTH
    left, right = max(left, low), min(right, high)
    while True:
        new = left + (right - left) * rng.random()
        if log_density(new) >= level:
            return new
        if new < 0.0:
            left = new
        else:
            right = new


def learn(component: Any, model: Any, hyperprior: Hyperprior, stats: np.ndarray, rng: np.random.Generator) -> Any:
    """Update a model's hyperparameters once, given the statistics of all clusters.

    ``component`` is a diagonal Gaussian: it draws parameters and builds models (``_draw_precisions``, ``_factor_terms`` and
    ``_with_hyperparameters``).
    """
    means, precisions = component._draw_precisions(model, stats, rng)
    n_clusters, d = means.shape
    total = precisions.sum(axis=0)
    scales = _truncated_gamma(model.rate, n_clusters * model.shape, total, hyperprior.least_scale, hyperprior.most_scale, rng)
    precision = 1.0 / hyperprior.variance + model.kappa * total
    pull = model.kappa * (precisions * means).sum(axis=0)
    mean = pull / precision + rng.standard_normal(d) / np.sqrt(precision)
    squares = (precisions * (means - mean) ** 2).sum()
    kappa = draw_kappa(model.kappa, n_clusters * d, squares, hyperprior, rng)
    model = component._with_hyperparameters(model, mean, kappa, scales, False)

    # The hyperprior is log-uniform in every scale: a common factor changes the likelihood only.
    power, weights, spreads = component._factor_terms(model, stats)

    def log_density(log_factor: float) -> float:
        return power * log_factor - float((weights * np.log(math.exp(log_factor) + spreads)).sum())

    low = float(np.log(hyperprior.least_scale / scales).max())
    high = float(np.log(hyperprior.most_scale / scales).min())
    common = math.exp(common_factor(log_density, min(low, 0.0), max(high, 0.0), rng))
    return component._with_hyperparameters(model, mean, kappa, scales * common)
