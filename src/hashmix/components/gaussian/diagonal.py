"""Gaussian clusters with independent columns; each column's mean and precision unknown (normal–gamma)."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import gammaln

from hashmix.components.contract import DenseSlots, Learner
from hashmix.components.gaussian.diagonal_kernels import DiagonalModel, marginal_constants, predictive_constants, with_constants
from hashmix.components.gaussian.learning import Hyperprior, learn
from hashmix.components.gaussian.shared import (
    GaussianComponent,
    GaussianParameters,
    block_rows,
    column_spread,
    default_spread,
    default_strength,
    sum_by_label,
    to_internal,
    warn_if_out_of_range,
)
from hashmix.components.tabulated import n_tabulated
from hashmix.core.special import log_gamma_ratios
from hashmix.core.validation import check_flag, check_number, check_vector
from hashmix.data.rows import ROW_BLOCK, DenseRows

__all__ = ["DiagonalGaussian"]


class DiagonalGaussian(GaussianComponent):
    """Gaussian clusters with a diagonal covariance.

    Column d of a cluster has precision λ_d ~ Gamma(shape, rate_d) and mean μ_d | λ_d ~ N(mean_d, 1/(kappa λ_d)).

    Parameters
    ----------
    mean : float or array of shape (n_features,)
        Where cluster means are expected.
    kappa : float
        Weight of that expectation, in observations. Small values let cluster means spread widely.
    shape : float
        Shape of the precisions' Gamma prior: worth ``2 * shape`` observations.
    rate : float or array of shape (n_features,)
        Its rate: ``rate / (shape - 1)`` is the variance expected within a cluster.
    learn : bool, default=False
        Whether ``mean``, ``kappa`` and ``rate`` are learned under weak hyperpriors, starting from the values given
        (:mod:`hashmix.components.gaussian.learning`).

    Examples
    --------
    >>> import hashmix as hm
    >>> hm.components.DiagonalGaussian(mean=0.0, kappa=0.01, shape=2.0, rate=0.1)
    DiagonalGaussian(mean=0.0, kappa=0.01, shape=2.0, rate=0.1, learn=False)
    """

    learn: bool

    def __init__(self, mean: Any, kappa: float, shape: float, rate: Any, learn: bool = False) -> None:
        owner = type(self).__name__
        self.learn = check_flag(owner, "learn", learn)
        self.mean = mean
        self.kappa: float = check_number(owner, "kappa", kappa)
        self.shape: float = check_number(owner, "shape", shape)
        self.rate = rate
        check_vector(owner, "mean", mean, np.size(mean))
        check_vector(owner, "rate", rate, np.size(rate), positive=True)

    @classmethod
    def from_data(cls, X: Any, learn: bool = False) -> DiagonalGaussian:
        """Choose defaults from raw data, column by column, so that units do not matter.

        ``mean`` is the column's mean. Clusters are expected to fill a tenth of the volume of the data, and their means to
        lie anywhere in a region of 10⁶ cluster volumes (10⁹ if hyperparameters are learned), whatever the number of
        columns (see :func:`hashmix.components.gaussian.shared.default_spread`). ``shape`` is 2, or 21 if the others are
        learned: clusters then have similar variances.

        Examples
        --------
        >>> import numpy as np, hashmix as hm
        >>> hm.components.DiagonalGaussian.from_data(np.array([[0.0, 0.0], [10.0, 2.0]])).rate
        array([2.5, 0.1])
        """
        return cls._from_rows(cls.rows(X), learn)

    @classmethod
    def _from_rows(cls, rows: DenseRows, learn: bool) -> DiagonalGaussian:
        """The same from the summary of rows that may have blanks."""
        mean, variance = column_spread(rows)
        within, kappa = default_spread(rows.n_columns, learn)
        shape = 1.0 + 0.5 * default_strength(learn)
        return cls(mean=mean, kappa=kappa, shape=shape, rate=(shape - 1.0) * within * variance, learn=learn)

    def model(self, X: Any) -> DiagonalModel:
        rows = self.rows(X)
        n, d = rows.shape
        owner = type(self).__name__
        mean = check_vector(owner, "mean", self.mean, d)
        rate = check_vector(owner, "rate", self.rate, d, positive=True)
        origin, _ = column_spread(rows)
        inverse_scale = 1.0 / np.sqrt(rate)
        log_jacobian = float(np.log(inverse_scale).sum())
        sizes = np.arange(n_tabulated(n))
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
        warn_if_out_of_range(model, rows)
        return with_constants(model)

    def slots(self, model: DiagonalModel, capacity: int) -> DenseSlots:
        d = len(model.mean)
        return DenseSlots.empty(capacity, 2 * d, 2 * d + 1, d)

    def statistics(self, model: DiagonalModel, X: Any, labels: np.ndarray, n_clusters: int) -> np.ndarray:
        values, d = self.rows(X).matrix(), len(model.mean)
        stats = np.zeros((n_clusters, 1 + 2 * d))
        stats[:, 0] = np.bincount(labels, minlength=n_clusters)
        at_once = block_rows(n_clusters)
        for start in range(0, len(values), at_once):
            Y = to_internal(model, values[start : start + at_once])
            block = labels[start : start + at_once]
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
        return marginal_constants(model, stats[:, 0], gammas) - a[:, 0] * np.log(b).sum(axis=1)

    def log_predictives(self, model: DiagonalModel, stats: np.ndarray, X: Any) -> np.ndarray:
        values = self.rows(X).matrix()
        k, a, m, b = self._posterior(model, stats)
        gammas = len(model.mean) * log_gamma_ratios(a[:, 0] + 0.5, 0.5)
        constants = predictive_constants(model, stats[:, 0], gammas) + a[:, 0] * np.log(b).sum(axis=1)
        out = np.empty((len(values), len(stats)))
        for start in range(0, len(values), ROW_BLOCK):
            Y = to_internal(model, values[start : start + ROW_BLOCK])
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

    def learner(self, model: DiagonalModel, X: Any) -> Learner | None:
        if not self.learn:
            return None
        variance = column_spread(self.rows(X))[1] * model.inverse_scale**2
        hyperprior = Hyperprior.weak(variance, max(self.shape - 1.0, 0.5))
        return lambda model, slots, used, rng: learn(self, model, hyperprior, slots.statistics(used), rng)

    def hyperparameters(self, model: DiagonalModel) -> dict[str, np.ndarray]:
        if not self.learn:
            return {}
        return {
            "mean": model.origin + model.mean / model.inverse_scale,
            "kappa": np.array(model.kappa),
            "rate": model.rate / model.inverse_scale**2,
        }

    def hash_metric(self, model: DiagonalModel) -> np.ndarray | None:
        return np.diag(model.inverse_scale / np.sqrt(model.rate)) if self.learn else None

    def _factor_terms(self, model: DiagonalModel, stats: np.ndarray) -> tuple[float, np.ndarray, np.ndarray]:
        """(p, w, e): if all rates are multiplied by f, Σ log m is p log f − Σ_kj w_k log(f + e_kj) and a constant."""
        _, a, _, b = self._posterior(model, stats)
        return model.shape * b.size, a, (b - model.rate) / model.rate

    def _with_hyperparameters(
        self, model: DiagonalModel, mean: np.ndarray, kappa: float, rate: np.ndarray, constants: bool = True
    ) -> DiagonalModel:
        """The model with other hyperparameters; without look-up tables if these are not needed."""
        log_rate_sum = float(np.log(rate).sum())
        new = model._replace(mean=mean, kappa=kappa, rate=rate, rate_floor=float(rate.min()), log_rate_sum=log_rate_sum)
        return with_constants(new) if constants else new

    def with_hyperparameters(self, values: dict[str, Any]) -> DiagonalGaussian:
        return DiagonalGaussian(shape=self.shape, **values) if values else self

    def expected_parameters(self, model: DiagonalModel, stats: np.ndarray) -> GaussianParameters:
        _, a, m, b = self._posterior(model, stats)
        # The expected variance is b/(a−1); where that is infinite (a ≤ 1), the inverse of the expected precision.
        variance = b / np.where(a > 1.0, a - 1.0, a)
        return GaussianParameters(model.origin + m / model.inverse_scale, variance / model.inverse_scale**2)
