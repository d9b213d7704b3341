"""Learning the hyperparameters of Gaussian components: exact updates under weak hyperpriors.

Hyperpriors, in terms of the columns' means and variances v_d, whatever values a chain starts from:

* ``mean_d`` ~ N(column mean, v_d);
* the variance expected within a cluster, as a share of v_d, is log-uniform between ``10^(−8/D)`` and 1 in every column:
  a cluster fills between 10⁻⁴ of the volume of the data and all of it; with full covariances the lower bound is at most
  ``10^(−3/4)``: otherwise, with many columns, the bound would force clusters to be as wide as the data, and small clusters
  that are far apart would be merged;
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

__all__ = ["Hyperprior", "learn"]

#: Log10 of volumes: the smallest share of the data's volume a cluster may fill, and the region of means in cluster volumes.
LEAST_VOLUME, LEAST_REGION, MOST_REGION = -4.0, 9.0, 12.0

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
    def weak(cls, variance: np.ndarray, scale_per_variance: float, least_share: float = 1.0) -> Hyperprior:
        """The hyperprior of this module; a scale of ``scale_per_variance`` corresponds to an expected variance of 1.

        The lower bound of the share of a column's variance within a cluster is at most ``least_share``.
        """
        d = len(variance)
        most = scale_per_variance * variance
        least = most * min(10.0 ** (2.0 * LEAST_VOLUME / d), least_share)
        return cls(variance, least, most, 10.0 ** (-2.0 * MOST_REGION / d), 10.0 ** (-2.0 * LEAST_REGION / d))


def _truncated_gamma(x: Any, shape: float, rate: Any, low: Any, high: Any, rng: np.random.Generator) -> Any:
    """Update numbers with density x^(shape − 1) exp(−rate x) between bounds, on the log scale."""
    return np.exp(slice_within(lambda t: shape * t - rate * np.exp(t), np.log(x), np.log(low), np.log(high), rng))


def _common_factor(log_density: Callable[[float], float], low: float, high: float, rng: np.random.Generator) -> float:
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

    ``component`` is a Gaussian: it draws parameters and builds models (``_draw_precisions``, ``_scales`` and
    ``_with_hyperparameters``).
    """
    means, precisions = component._draw_precisions(model, stats, rng)
    n_clusters, d = means.shape
    total = precisions.sum(axis=0)
    # Each scale has K · weight / 2 as its shape, and half the sum of the precisions, in the units of a scale, as its rate.
    weight, per_scale = component._scale_weight(model)
    diagonal = total if total.ndim == 1 else np.diagonal(total)
    scales = _truncated_gamma(
        component._scales(model),
        n_clusters * weight,
        per_scale * diagonal,
        hyperprior.least_scale,
        hyperprior.most_scale,
        rng,
    )
    if total.ndim == 1:
        precision = 1.0 / hyperprior.variance + model.kappa * total
        pull = model.kappa * (precisions * means).sum(axis=0)
        mean = pull / precision + rng.standard_normal(d) / np.sqrt(precision)
        squares = (precisions * (means - mean) ** 2).sum()
    else:
        factor = np.linalg.cholesky(np.diag(1.0 / hyperprior.variance) + model.kappa * total)
        pull = model.kappa * np.einsum("kij,kj->i", precisions, means)
        mean = np.linalg.solve(factor.T, np.linalg.solve(factor, pull) + rng.standard_normal(d))
        squares = np.einsum("ki,kij,kj->", means - mean, precisions, means - mean)
    kappa = float(
        _truncated_gamma(model.kappa, 0.5 * n_clusters * d, 0.5 * squares, hyperprior.least_kappa, hyperprior.most_kappa, rng)
    )
    model = component._with_hyperparameters(model, mean, kappa, scales, False)

    # The hyperprior is log-uniform in every scale: a common factor changes the likelihood only.
    power, weights, spreads = component._factor_terms(model, stats)

    def log_density(log_factor: float) -> float:
        return power * log_factor - float(weights @ np.log(math.exp(log_factor) + spreads).sum(axis=1))

    low = float(np.log(hyperprior.least_scale / scales).max())
    high = float(np.log(hyperprior.most_scale / scales).min())
    common = math.exp(_common_factor(log_density, min(low, 0.0), max(high, 0.0), rng))
    return component._with_hyperparameters(model, mean, kappa, scales * common)
