"""Learning a metric: the whole scale matrix of full covariances, and how much covariances differ between clusters.

Covariances are Σ_c ~ inverse-Wishart(ν, Ψ) with ν = D + 1 + s and Ψ = s M: M is the covariance expected within a cluster, and
s says how alike clusters are. Large s: all clusters have one shape. Small s: each has its own. Hyperpriors, in terms of the
columns' means and variances v:

* M ~ Wishart(D + 2, S), with expectation diag(v) · 10^(−2/D): a cluster fills about a tenth of the volume of the data;
* s is log-uniform between 30 and 1000: with smaller s, a cluster of any shape is as good as another, and groups are found as
  one cluster;
* ``mean`` ~ N(column means, v), and ``kappa`` is log-uniform between 10^(−18/D) and 10^(−12/D): cluster means may lie anywhere
  in a region of 10⁶ to 10⁹ cluster volumes.

A chain starts with s below its bounds, where it stays until clusters have formed: while s is large, no cluster can become
smaller than all others, and the chain would hardly leave a partition in which all clusters are too large.

An update draws every cluster's mean and precision Λ_c from their posterior. Given these,
Ψ ~ Wishart(D + 2 + Kν, (S⁻¹/s + Σ_c Λ_c)⁻¹). Where ν says more about a cluster than its rows, Λ_c and Ψ hold each other in
place: then they are drawn in turns. Then s, with M held, and a common factor of Ψ are updated by slice sampling with
the clusters' parameters integrated out. Both need |f Ψ + A_c| for many f, where A_c is the scatter of cluster c: one
eigenvalue decomposition per cluster gives them all.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from scipy.special import gammaln

from hashmix.components.gaussian.learning import common_factor, draw_kappa
from hashmix.core.slice_sampling import slice_within

__all__ = ["MetricHyperprior", "learn_metric"]

#: Bounds of s = ν − D − 1, and where a chain starts.
LEAST_STRENGTH, MOST_STRENGTH, STARTING_STRENGTH = 30.0, 1000.0, 3.0
#: log10 of the region of means, in cluster volumes.
LEAST_REGION, MOST_REGION = 6.0, 9.0
#: How often precisions and the scale are drawn in turns where the prior says more about a cluster than its rows.
_TURNS = 3


class MetricHyperprior(NamedTuple):
    """In internal units: the variance of every column, the diagonal of S⁻¹, and bounds of kappa."""

    variance: np.ndarray
    inverse_scale: np.ndarray
    least_kappa: float
    most_kappa: float

    @classmethod
    def weak(cls, variance: np.ndarray) -> MetricHyperprior:
        """The hyperprior of this module."""
        d = len(variance)
        inverse_scale = (d + 2.0) / (10.0 ** (-2.0 / d) * variance)
        return cls(variance, inverse_scale, 10.0 ** (-2.0 * MOST_REGION / d), 10.0 ** (-2.0 * LEAST_REGION / d))


def learn_metric(component: Any, model: Any, hyperprior: MetricHyperprior, stats: np.ndarray, rng: np.random.Generator) -> Any:
    """Update mean, kappa, scale and degrees of freedom of a full Gaussian once, given the statistics of all clusters."""
    n_clusters, d = len(stats), len(model.mean)
    strength = model.dof - d - 1.0
    # How often depends on nothing that these draws change, so that they keep the posterior.
    for _ in range(_TURNS if n_clusters * model.dof > stats[:, 0].sum() else 1):
        means, precisions = component._draw_precisions(model, stats, rng)
        total = precisions.sum(axis=0)
        scale = _draw_wishart(d + 2.0 + n_clusters * model.dof, np.diag(hyperprior.inverse_scale / strength) + total, rng)
        if scale is not None:
            model = component._with_metric(model, model.mean, model.kappa, scale, model.dof, constants=False)
    factor = np.linalg.cholesky(np.diag(1.0 / hyperprior.variance) + model.kappa * total)
    pull = model.kappa * np.einsum("kij,kj->i", precisions, means)
    mean = np.linalg.solve(factor.T, np.linalg.solve(factor, pull) + rng.standard_normal(d))
    squares = np.einsum("ki,kij,kj->", means - mean, precisions, means - mean)
    kappa = draw_kappa(model.kappa, n_clusters * d, squares, hyperprior, rng)
    scale = model.scale
    model = component._with_metric(model, mean, kappa, scale, model.dof, constants=False)

    spreads, sizes = component._spreads(model, stats), stats[:, 0]
    old = strength
    if strength >= LEAST_STRENGTH:
        strength = _draw_strength(strength, sizes, spreads, rng)
    # With M held, the scale changes with s, and so do spreads in units of it.
    scale, spreads = scale * (strength / old), spreads * (old / strength)
    dof = d + 1.0 + strength
    trace = float(hyperprior.inverse_scale @ np.diagonal(scale)) / strength

    def log_density(log_factor: float) -> float:
        f = math.exp(log_factor)
        prior = 0.5 * (d + 2.0) * d * log_factor - 0.5 * f * trace
        return prior + 0.5 * dof * n_clusters * d * log_factor - 0.5 * float((dof + sizes) @ np.log(f + spreads).sum(axis=1))

    common = math.exp(common_factor(log_density, -50.0, 50.0, rng))
    return component._with_metric(model, mean, kappa, scale * common, dof)


def _draw_wishart(dof: float, inverse_scale: np.ndarray, rng: np.random.Generator) -> np.ndarray | None:
    """A draw of a Wishart matrix with this inverse scale; None if the inverse scale is singular to float64."""
    d = len(inverse_scale)
    unit = 1.0 / np.sqrt(np.diagonal(inverse_scale))
    bartlett = np.tril(rng.standard_normal((d, d)), -1)
    bartlett[range(d), range(d)] = np.sqrt(rng.chisquare(dof - np.arange(d)))
    try:
        factor = np.linalg.cholesky(inverse_scale * unit * unit[:, None])
    except np.linalg.LinAlgError:
        return None
    root = np.linalg.solve(factor.T, bartlett) * unit[:, None]
    drawn = root @ root.T
    return 0.5 * (drawn + drawn.T)


def _draw_strength(strength: float, sizes: np.ndarray, spreads: np.ndarray, rng: np.random.Generator) -> float:
    """Update s with M held. ``spreads`` are the eigenvalues of Ψ⁻¹ A_c, (K, D), for the current Ψ = s M."""
    k, d = spreads.shape
    below = np.arange(d)

    def log_density(log_strength: Any) -> Any:
        out = np.empty(1)
        for place, value in enumerate(np.exp(log_strength)):
            dof, ratio = d + 1.0 + value, value / strength
            gammas = gammaln(0.5 * (dof + sizes[:, None] - below)).sum() - k * gammaln(0.5 * (dof - below)).sum()
            determinants = np.log(ratio + spreads).sum(axis=1)
            out[place] = gammas + 0.5 * dof * k * d * math.log(ratio) - 0.5 * float((dof + sizes) @ determinants)
        return out

    low, high = np.log([[LEAST_STRENGTH], [MOST_STRENGTH]])
    return float(np.exp(slice_within(log_density, np.log([strength]), low, high, rng))[0])
