"""Shared by the two Gaussian components: units, defaults, statistics by label, densities."""

from __future__ import annotations

import math
import warnings
from abc import abstractmethod
from typing import Any, NamedTuple

import numpy as np
from scipy.linalg import solve_triangular
from scipy.sparse import csr_array

from hashmix.components.contract import Component
from hashmix.components.densities import DiagonalDensity, FullDensity
from hashmix.data.rows import ROW_BLOCK, DenseRows

__all__ = [
    "GaussianComponent",
    "GaussianParameters",
    "block_rows",
    "column_spread",
    "default_spread",
    "default_strength",
    "draw_rows",
    "load_dense",
    "log_densities",
    "sum_by_label",
    "to_internal",
    "warn_if_out_of_range",
]

_LOG_2PI = math.log(2.0 * math.pi)


class GaussianParameters(NamedTuple):
    """Means (K, D) and covariances, (K, D) when diagonal or (K, D, D)."""

    means: np.ndarray
    covariances: np.ndarray


class GaussianComponent(Component):
    """What does not depend on how covariances are stored."""

    has_means = True
    draws_parameters = True
    moves_with_parameters = True
    drops_constant_columns = True
    # The scale of one cluster is that of the data. Learned at once, it would make splits look hopeless.
    sweeps_held_from_one = 15

    learn: bool

    @abstractmethod
    def _draw_precisions(self, model: Any, stats: np.ndarray, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        """A draw of every cluster's mean and precision (its diagonal, or the matrix), in internal units."""

    def draw_density(self, model: Any, stats: np.ndarray, rng: np.random.Generator) -> DiagonalDensity | FullDensity:
        means, precisions = self._draw_precisions(model, stats, rng)
        if precisions.ndim == 2:
            log_roots = 0.5 * np.log(precisions).sum(axis=1)
        else:
            log_roots = 0.5 * np.linalg.slogdet(precisions)[1]
        constants = log_roots + model.log_jacobian - 0.5 * means.shape[1] * _LOG_2PI
        kind = DiagonalDensity if precisions.ndim == 2 else FullDensity
        return kind.of(model.origin, model.inverse_scale, means, precisions, constants)

    def positions(self, model: Any, stats: np.ndarray) -> np.ndarray:
        """Means in units of the covariance within clusters, averaged over rows."""
        means, covariances = self.expected_parameters(model, stats)
        within = np.average(covariances, axis=0, weights=stats[:, 0])
        means = means - means.mean(axis=0)
        if within.ndim == 1:
            return means / np.sqrt(within)
        unit = np.sqrt(np.diagonal(within))
        return solve_triangular(np.linalg.cholesky(within / unit / unit[:, None]), (means / unit).T, lower=True).T

    def log_densities(self, parameters: GaussianParameters, X: Any) -> np.ndarray:
        return log_densities(parameters, self.rows(X).matrix())

    def draw_rows(self, parameters: GaussianParameters, labels: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        return draw_rows(parameters, labels, rng)


def log_densities(parameters: GaussianParameters, X: np.ndarray) -> np.ndarray:
    """Log density of every row under every parameter set, (n, K)."""
    out = np.empty((len(X), len(parameters.means)))
    for c, (mean, covariance) in enumerate(zip(*parameters, strict=True)):
        diagonal = covariance.ndim == 1
        root = np.sqrt(covariance) if diagonal else np.linalg.cholesky(covariance)
        log_root = np.log(root if diagonal else np.diagonal(root)).sum()
        for start in range(0, len(X), ROW_BLOCK):
            offset = X[start : start + ROW_BLOCK] - mean
            w = offset / root if diagonal else solve_triangular(root, offset.T, lower=True).T
            out[start : start + ROW_BLOCK, c] = -0.5 * (w * w).sum(axis=1) - log_root - 0.5 * len(mean) * _LOG_2PI
    return out


def draw_rows(parameters: GaussianParameters, labels: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """One row per label, drawn under that cluster's parameters, (len(labels), D)."""
    noise = rng.standard_normal((len(labels), parameters.means.shape[1]))
    if parameters.covariances.ndim == 2:
        return parameters.means[labels] + np.sqrt(parameters.covariances[labels]) * noise
    roots = np.linalg.cholesky(parameters.covariances)
    return parameters.means[labels] + np.einsum("nij,nj->ni", roots[labels], noise)


def block_rows(n_clusters: int) -> int:
    """Rows to sum by label in one go: more where there are many clusters, because each go writes to all of them."""
    return max(ROW_BLOCK, min(n_clusters, 2**17))


def column_spread(rows: DenseRows) -> tuple[np.ndarray, np.ndarray]:
    """Mean and variance of each column; a constant column gets a nominal variance.

    The nominal variance is (10⁻³ |value|)², or 1 if the value is 0: any positive number serves.
    """
    mean, variance, least, most, _ = rows.summary
    if not np.isfinite(variance).all() or (variance[most > least] < 1e-300).any():
        raise ValueError("The columns of X must vary by amounts between 1e-150 and 1e150: rescale them.")
    # What rounding alone can leave of a constant column counts as constant.
    constant = variance <= (8 * np.finfo(rows.values.dtype).eps * np.abs(mean)) ** 2
    nominal = np.where(mean == 0.0, 1.0, (1e-3 * mean) ** 2)
    return mean, np.where(constant, nominal, variance)


def default_spread(n_features: int, learn: bool) -> tuple[float, float]:
    """Defaults of both Gaussians: share of a column's variance within a cluster, and kappa.

    A cluster fills a tenth of the volume the data fill, whatever the number of columns: its standard deviation is
    10^(−1/D) of a column's. Cluster means may lie anywhere in a region of 10⁶ cluster volumes, kappa = 10^(−12/D), or of
    10⁹ where clusters' scales are learned and so tell less against clusters that are not needed. Stating both as volumes
    keeps the prior's charge for one more cluster the same in every dimension.
    """
    return 10.0 ** (-2.0 / n_features), 10.0 ** (-(18.0 if learn else 12.0) / n_features)


def default_strength(learn: bool) -> float:
    """By default, how many observations the prior of a cluster's variances is worth.

    Few if its scale is a guess. More if the scale is learned: then it is the scale of the other clusters.
    """
    return 40.0 if learn else 2.0


def to_internal(model: Any, X: np.ndarray) -> np.ndarray:
    """Rows in internal units."""
    return (X - model.origin) * model.inverse_scale


def warn_if_out_of_range(model: Any, rows: DenseRows) -> None:
    """Warn if rows lie so far from the origin that float64 sums about it lose digits."""
    least, most = rows.summary.least, rows.summary.most
    farthest = (np.maximum(most - model.origin, model.origin - least) * model.inverse_scale).max()
    if farthest > 1e6:
        warnings.warn(
            f"X spreads over {farthest:.0e} times the scale the component expects within a cluster, more than the 1e6 that "
            "float64 sums can resolve: check the component's hyperparameters and X for outliers.",
            UserWarning,
            stacklevel=2,
        )


def sum_by_label(Y: np.ndarray, labels: np.ndarray, n_clusters: int) -> np.ndarray:
    """Sum of the rows of each label, (n_clusters, columns)."""
    n = len(Y)
    one_hot = csr_array((np.ones(n), labels, np.arange(n + 1)), shape=(n, n_clusters))
    return one_hot.T @ Y


def load_dense(model: Any, slots: Any, data: Any, i: Any) -> Any:
    """The verb ``load`` of both Gaussians: row i in internal units."""
    row = slots.row
    for j in range(len(row)):
        row[j] = (data.values[i, j] - model.origin[j]) * model.inverse_scale[j]
    return row
