"""Gaussian clusters with independent columns; each column's mean and precision unknown (normal–gamma)."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from scipy.special import gammaln

from hashmix.compiling import helper, hot_helper, implements
from hashmix.components.contract import (
    DenseTable,
    add,
    collect,
    derive,
    load,
    log_marginal,
    log_predictive,
    log_predictive_without,
    remove,
)
from hashmix.components.gaussian import (
    ROW_BLOCK,
    GaussianComponent,
    GaussianParameters,
    block_rows,
    column_spread,
    default_spread,
    default_strength,
    load_dense,
    log_gamma_ratio,
    log_gamma_ratios,
    sum_by_label,
    table_length,
    to_internal,
    warn_if_out_of_range,
)
from hashmix.validation import check_flag, check_number, check_vector

__all__ = ["DiagonalGaussian"]

_LOG_2PI = math.log(2.0 * math.pi)


class DiagonalModel(NamedTuple):
    """Hyperparameters in internal units y = (x − origin) · inverse_scale, where the prior rate starts as 1."""

    origin: np.ndarray
    inverse_scale: np.ndarray
    mean: np.ndarray
    kappa: float
    shape: float
    rate: np.ndarray
    rate_floor: float
    log_jacobian: float
    log_rate_sum: float
    predictive_gammas: np.ndarray
    marginal_gammas: np.ndarray
    predictive_constants: np.ndarray
    marginal_constants: np.ndarray


class DiagonalGaussian(GaussianComponent):
    """Gaussian clusters with a diagonal covariance.

    Column d of a cluster has precision λ_d ~ Gamma(shape, rate_d) and mean μ_d | λ_d ~ N(mean_d, 1/(kappa λ_d)).

    Parameters
    ----------
    mean : float or array of shape (n_features,)
        Where cluster means are expected.
    kappa : float
        How firmly: a prior worth ``kappa`` observations. Small values let cluster means spread widely.
    shape : float
        Shape of the precisions' Gamma prior: worth ``2 * shape`` observations.
    rate : float or array of shape (n_features,)
        Its rate: ``rate / (shape - 1)`` is the variance expected within a cluster.
    learn : bool, default=False
        Whether ``mean``, ``kappa`` and ``rate`` are learned, from the values given on, under weak hyperpriors
        (:mod:`hashmix.components.learning`).

    Examples
    --------
    >>> import hashmix as hm
    >>> hm.components.DiagonalGaussian(mean=0.0, kappa=0.01, shape=2.0, rate=0.1)
    DiagonalGaussian(mean=0.0, kappa=0.01, shape=2.0, rate=0.1)
    """

    scale_name = "rate"

    def __init__(self, mean: Any, kappa: float, shape: float, rate: Any, learn: bool = False) -> None:
        owner = type(self).__name__
        self.learn = check_flag(owner, "learn", learn)
        self.mean = mean
        self.kappa = check_number(owner, "kappa", kappa)
        self.shape = check_number(owner, "shape", shape)
        self.rate = rate
        check_vector(owner, "mean", mean, np.size(mean))
        check_vector(owner, "rate", rate, np.size(rate), positive=True)

    def __repr__(self) -> str:
        learn = ", learn=True" if self.learn else ""
        return f"DiagonalGaussian(mean={self.mean!r}, kappa={self.kappa!r}, shape={self.shape!r}, rate={self.rate!r}{learn})"

    @classmethod
    def from_data(cls, X: np.ndarray, learn: bool = False) -> DiagonalGaussian:
        """Defaults for raw tables, column by column, so that units do not matter.

        ``mean`` is the column's mean. Clusters are expected to fill a tenth of the volume of the data, and their means to
        lie anywhere in a region of 10⁶ cluster volumes (10⁹ if hyperparameters are learned), whatever the number of
        columns (see :func:`hashmix.components.gaussian.default_spread`). ``shape`` is 2, or 21 if the others are
        learned: then it says that clusters are much alike in their variances.

        Examples
        --------
        >>> import numpy as np, hashmix as hm
        >>> hm.components.DiagonalGaussian.from_data(np.array([[0.0, 0.0], [10.0, 2.0]])).rate
        array([2.5, 0.1])
        """
        mean, variance = column_spread(X)
        within, kappa = default_spread(X.shape[1], learn)
        shape = 1.0 + 0.5 * default_strength(learn)
        return cls(mean=mean, kappa=kappa, shape=shape, rate=(shape - 1.0) * within * variance, learn=learn)

    def model(self, X: np.ndarray) -> DiagonalModel:
        n, d = X.shape
        owner = type(self).__name__
        mean = check_vector(owner, "mean", self.mean, d)
        rate = check_vector(owner, "rate", self.rate, d, positive=True)
        origin, _ = column_spread(X)
        inverse_scale = 1.0 / np.sqrt(rate)
        log_jacobian = float(np.log(inverse_scale).sum())
        sizes = np.arange(table_length(n))
        internal_rate = rate * inverse_scale**2
        model = DiagonalModel(
            origin,
            inverse_scale,
            (mean - origin) * inverse_scale,
            self.kappa,
            self.shape,
            internal_rate,
            float(internal_rate.min()),
            log_jacobian,
            float(np.log(internal_rate).sum()),
            d * log_gamma_ratios(self.shape + 0.5 * sizes + 0.5, 0.5),
            d * (gammaln(self.shape + 0.5 * sizes) - gammaln(self.shape)),
            np.empty(0),
            np.empty(0),
        )
        warn_if_out_of_range(model, X)
        return _with_constants(model)

    def table(self, model: DiagonalModel, capacity: int) -> DenseTable:
        d = len(model.mean)
        return DenseTable.empty(capacity, 2 * d, 2 * d + 1, d)

    def statistics(self, model: DiagonalModel, X: np.ndarray, labels: np.ndarray, n_clusters: int) -> np.ndarray:
        d = len(model.mean)
        stats = np.zeros((n_clusters, 1 + 2 * d))
        stats[:, 0] = np.bincount(labels, minlength=n_clusters)
        rows = block_rows(n_clusters)
        for start in range(0, len(X), rows):
            Y = to_internal(model, X[start : start + rows])
            block = labels[start : start + rows]
            stats[:, 1 : 1 + d] += sum_by_label(Y, block, n_clusters)
            stats[:, 1 + d :] += sum_by_label(Y * Y, block, n_clusters)
        return stats

    def _posterior(self, model: DiagonalModel, stats: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """kappa, shape (K, 1), mean and rate (K, D) of each cluster's posterior, in internal units."""
        d = len(model.mean)
        n = stats[:, :1]
        s, q = stats[:, 1 : 1 + d], stats[:, 1 + d :]
        k = model.kappa + n
        average = s / np.maximum(n, 1.0)
        scatter = np.maximum(q - s * average, 0.0)
        b = model.rate + 0.5 * scatter + 0.5 * model.kappa * n / k * (average - model.mean) ** 2
        return k, model.shape + 0.5 * n, (model.kappa * model.mean + s) / k, b

    def log_marginals(self, model: DiagonalModel, stats: np.ndarray) -> np.ndarray:
        _, a, _, b = self._posterior(model, stats)
        gammas = len(model.mean) * (gammaln(a[:, 0]) - gammaln(model.shape))
        return _marginal_constants(model, stats[:, 0], gammas) - a[:, 0] * np.log(b).sum(axis=1)

    def log_predictives(self, model: DiagonalModel, stats: np.ndarray, X: np.ndarray) -> np.ndarray:
        k, a, m, b = self._posterior(model, stats)
        gammas = len(model.mean) * log_gamma_ratios(a[:, 0] + 0.5, 0.5)
        constants = _predictive_constants(model, stats[:, 0], gammas) + a[:, 0] * np.log(b).sum(axis=1)
        out = np.empty((len(X), len(stats)))
        for start in range(0, len(X), ROW_BLOCK):
            Y = to_internal(model, X[start : start + ROW_BLOCK])
            for c in range(len(stats)):
                grown = np.log(b[c] + 0.5 * k[c] / (k[c] + 1.0) * (Y - m[c]) ** 2).sum(axis=1)
                out[start : start + ROW_BLOCK, c] = constants[c] - (a[c] + 0.5) * grown
        return out

    def draw_parameters(self, model: DiagonalModel, stats: np.ndarray, rng: np.random.Generator) -> GaussianParameters:
        k, a, m, b = self._posterior(model, stats)
        variance = b / rng.standard_gamma(np.broadcast_to(a, b.shape))
        mean = m + np.sqrt(variance / k) * rng.standard_normal(m.shape)
        return GaussianParameters(model.origin + mean / model.inverse_scale, variance / model.inverse_scale**2)

    def _draw_precisions(
        self, model: DiagonalModel, stats: np.ndarray, rng: np.random.Generator
    ) -> tuple[np.ndarray, np.ndarray]:
        k, a, m, b = self._posterior(model, stats)
        precisions = rng.standard_gamma(np.broadcast_to(a, b.shape)) / b
        return m + rng.standard_normal(m.shape) / np.sqrt(k * precisions), precisions

    def _scale_weight(self, model: DiagonalModel) -> tuple[float, float]:
        return model.shape, 1.0

    def _scales(self, model: DiagonalModel) -> np.ndarray:
        return model.rate

    def _with_hyperparameters(
        self, model: DiagonalModel, mean: np.ndarray, kappa: float, rate: np.ndarray, constants: bool = True
    ) -> DiagonalModel:
        log_rate_sum = float(np.log(rate).sum())
        new = model._replace(mean=mean, kappa=kappa, rate=rate, rate_floor=float(rate.min()), log_rate_sum=log_rate_sum)
        return _with_constants(new) if constants else new

    def _variance_unit(self, model: DiagonalModel) -> float:
        return max(self.shape - 1.0, 0.5)

    def with_hyperparameters(self, values: dict[str, Any]) -> DiagonalGaussian:
        return DiagonalGaussian(shape=self.shape, **values) if values else self

    def expected_parameters(self, model: DiagonalModel, stats: np.ndarray) -> GaussianParameters:
        _, a, m, b = self._posterior(model, stats)
        # The expected variance is b/(a−1); where that is infinite (a ≤ 1), the inverse of the expected precision.
        variance = b / np.where(a > 1.0, a - 1.0, a)
        return GaussianParameters(model.origin + m / model.inverse_scale, variance / model.inverse_scale**2)


def _predictive_constants(model: DiagonalModel, n: np.ndarray, gammas: np.ndarray) -> np.ndarray:
    d = len(model.mean)
    k = model.kappa + n
    return gammas + 0.5 * d * (np.log(k / (k + 1.0)) - _LOG_2PI) + model.log_jacobian


def _marginal_constants(model: DiagonalModel, n: np.ndarray, gammas: np.ndarray) -> np.ndarray:
    d = len(model.mean)
    spread = 0.5 * d * (np.log(model.kappa / (model.kappa + n)) - n * _LOG_2PI)
    return gammas + spread + n * model.log_jacobian + model.shape * model.log_rate_sum


def _with_constants(model: DiagonalModel) -> DiagonalModel:
    """The model with look-up tables that fit its hyperparameters."""
    sizes = np.arange(len(model.predictive_gammas))
    return model._replace(
        predictive_constants=_predictive_constants(model, sizes, model.predictive_gammas),
        marginal_constants=_marginal_constants(model, sizes, model.marginal_gammas),
    )


# ---- kernels -------------------------------------------------------------------------------------------------------------
# A row of ``stats`` is (Σ y, Σ y²); a row of ``derived`` is (posterior mean m, posterior rate b, S = Σ log b).


@hot_helper
def _sum_log(values):
    """Σ log of positive values, taking one logarithm of a product of 8 columns.

    The columns of a product are an eighth of the row apart, so that neighbouring products are computed side by side. In
    internal units every value is at least about 1, and products stay far below overflow (values < 10³⁸).
    """
    d = len(values)
    eighth = d // 8
    total = 0.0
    for k in range(eighth):
        product = values[k]
        for j in range(1, 8):
            product *= values[k + j * eighth]
        total += math.log(product)
    if 8 * eighth < d:
        product = 1.0
        for k in range(8 * eighth, d):
            product *= values[k]
        total += math.log(product)
    return total


@hot_helper
def _sum_log_rates(derived, row, work, c, floor):
    """Σ log max(b + c (y − m)², floor)."""
    d = len(row)
    mean, rate = derived[:d], derived[d : 2 * d]
    for j in range(d):
        t = row[j] - mean[j]
        value = rate[j] + c * t * t
        work[j] = value if value > floor else floor
    return _sum_log(work)


@hot_helper
def _predictive_constant(model, n):
    if n < len(model.predictive_constants):
        return model.predictive_constants[n]
    a = model.shape + 0.5 * n
    k = model.kappa + n
    d = len(model.mean)
    return d * (log_gamma_ratio(a + 0.5, 0.5) + 0.5 * math.log(k / (k + 1.0)) - 0.5 * _LOG_2PI) + model.log_jacobian


@helper
def _marginal_constant(model, n):
    if n < len(model.marginal_constants):
        return model.marginal_constants[n]
    a = model.shape + 0.5 * n
    k = model.kappa + n
    d = len(model.mean)
    gammas = math.lgamma(a) - math.lgamma(model.shape)
    return (
        d * (gammas + 0.5 * math.log(model.kappa / k) - 0.5 * n * _LOG_2PI)
        + n * model.log_jacobian
        + model.shape * model.log_rate_sum
    )


implements(load, DiagonalModel, hot=True)(load_dense)


@implements(log_predictive, DiagonalModel, hot=True)
def _log_predictive(model, table, slot, row):
    d = len(row)
    n = table.sizes[slot]
    a = model.shape + 0.5 * n
    k = model.kappa + n
    derived = table.derived[slot]
    grown = _sum_log_rates(derived, row, table.work, 0.5 * k / (k + 1.0), model.rate_floor)
    return _predictive_constant(model, n) + a * derived[2 * d] - (a + 0.5) * grown


@implements(log_predictive_without, DiagonalModel, hot=True)
def _log_predictive_without(model, table, slot, row):
    d = len(row)
    n = table.sizes[slot]
    a = model.shape + 0.5 * n
    k = model.kappa + n
    derived = table.derived[slot]
    shrunk = _sum_log_rates(derived, row, table.work, -0.5 * k / (k - 1.0), model.rate_floor)
    return _predictive_constant(model, n - 1) + (a - 0.5) * shrunk - a * derived[2 * d]


@implements(add, DiagonalModel)
def _add(model, table, slot, row):
    d = len(row)
    k = model.kappa + table.sizes[slot]
    table.sizes[slot] += 1
    stats, derived = table.stats[slot], table.derived[slot]
    step, c = 1.0 / (k + 1.0), 0.5 * k / (k + 1.0)
    sums, squares, mean, rate = stats[:d], stats[d:], derived[:d], derived[d : 2 * d]
    for j in range(d):
        y = row[j]
        sums[j] += y
        squares[j] += y * y
        t = y - mean[j]
        mean[j] += t * step
        rate[j] += c * t * t
    derived[2 * d] = _sum_log(rate)


@implements(collect, DiagonalModel, hot=True)
def _collect(model, table, slot, row):
    d = len(row)
    table.sizes[slot] += 1
    stats = table.stats[slot]
    sums, squares = stats[:d], stats[d:]
    for j in range(d):
        y = row[j]
        sums[j] += y
        squares[j] += y * y


@implements(remove, DiagonalModel)
def _remove(model, table, slot, row):
    d = len(row)
    k = model.kappa + table.sizes[slot]
    table.sizes[slot] -= 1
    stats, derived = table.stats[slot], table.derived[slot]
    step, c = 1.0 / (k - 1.0), 0.5 * k / (k - 1.0)
    sums, squares, mean, rate = stats[:d], stats[d:], derived[:d], derived[d : 2 * d]
    for j in range(d):
        y = row[j]
        sums[j] -= y
        squares[j] -= y * y
        t = y - mean[j]
        mean[j] -= t * step
        rate[j] = max(rate[j] - c * t * t, model.rate[j])
    derived[2 * d] = _sum_log(rate)


@implements(derive, DiagonalModel)
def _derive(model, table, slot):
    d = len(model.mean)
    n = table.sizes[slot]
    k = model.kappa + n
    stats, derived = table.stats[slot], table.derived[slot]
    per_point = 1.0 / max(n, 1)
    shrink = 0.5 * model.kappa * n / k
    for j in range(d):
        average = stats[j] * per_point
        offset = average - model.mean[j]
        derived[j] = (model.kappa * model.mean[j] + stats[j]) / k
        derived[d + j] = model.rate[j] + 0.5 * max(stats[d + j] - stats[j] * average, 0.0) + shrink * offset * offset
    derived[2 * d] = _sum_log(derived[d : 2 * d])


@implements(log_marginal, DiagonalModel)
def _log_marginal(model, table, slot):
    n = table.sizes[slot]
    return _marginal_constant(model, n) - (model.shape + 0.5 * n) * table.derived[slot, 2 * len(model.mean)]
