"""Gaussian clusters with a full covariance (normal–inverse-Wishart)."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.linalg import solve_triangular
from scipy.special import multigammaln

from hashmix.components.contract import DenseSlots, Learner
from hashmix.components.gaussian.full_kernels import FullModel, marginal_constants, predictive_constants, with_constants
from hashmix.components.gaussian.metric import LEAST_STRENGTH, STARTING_STRENGTH, MetricHyperprior, learn_metric
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
from hashmix.core.validation import bad_parameter, check_flag, check_number, check_vector
from hashmix.data.rows import ROW_BLOCK

__all__ = ["FullGaussian"]


class FullGaussian(GaussianComponent):
    """Gaussian clusters with a full covariance.

    A cluster has covariance Σ ~ inverse-Wishart(dof, scale) and mean μ | Σ ~ N(mean, Σ / kappa).

    Parameters
    ----------
    mean : float or array of shape (n_features,)
        Where cluster means are expected.
    kappa : float
        Weight of that expectation, in observations. Small values let cluster means spread widely.
    dof : float
        Degrees of freedom of the covariance's prior, more than n_features − 1.
    scale : float, array of shape (n_features,) or (n_features, n_features)
        Scale of the covariance's prior (a number or a vector stand for a diagonal matrix);
        ``scale / (dof - n_features - 1)`` is the covariance expected within a cluster.
    learn : bool, default=False
        Whether ``mean``, ``kappa``, ``dof`` and the whole matrix ``scale`` are learned under weak hyperpriors, starting from
        the values given (:mod:`hashmix.components.gaussian.metric`). ``dof`` must then be more than n_features + 1.

    Examples
    --------
    >>> import hashmix as hm
    >>> hm.components.FullGaussian(mean=0.0, kappa=0.01, dof=4.0, scale=0.1)
    FullGaussian(mean=0.0, kappa=0.01, dof=4.0, scale=0.1, learn=False)
    """

    learn: bool

    # Learned with few degrees of freedom at first, the scale follows clusters that become smaller.
    sweeps_held_from_one = 5
    most_columns_from_neighbourhoods = 24

    def __init__(self, mean: Any, kappa: float, dof: float, scale: Any, learn: bool = False) -> None:
        owner = type(self).__name__
        self.learn = check_flag(owner, "learn", learn)
        self.mean = mean
        self.kappa: float = check_number(owner, "kappa", kappa)
        self.dof: float = check_number(owner, "dof", dof)
        self.scale = scale
        check_vector(owner, "mean", mean, np.size(mean))
        _check_scale(scale, len(scale) if np.ndim(scale) else 1)

    @classmethod
    def from_data(cls, X: Any, learn: bool = False) -> FullGaussian:
        """Choose defaults from raw data, column by column, so that units do not matter.

        ``mean`` is the column's mean. Clusters are expected to fill a tenth of the volume of the data, and their means to
        lie anywhere in a region of 10⁶ cluster volumes (10⁹ if hyperparameters are learned), whatever the number of
        columns (see :func:`hashmix.components.gaussian.shared.default_spread`). ``dof`` is n_features + 3, or n_features + 4
        if it is learned.

        Examples
        --------
        >>> import numpy as np, hashmix as hm
        >>> hm.components.FullGaussian.from_data(np.array([[0.0, 0.0], [10.0, 2.0]])).scale
        array([5. , 0.2])
        """
        rows = cls.rows(X)
        mean, variance = column_spread(rows)
        within, kappa = default_spread(rows.n_columns, learn)
        strength = STARTING_STRENGTH if learn else default_strength(learn)
        return cls(mean, kappa, dof=rows.n_columns + 1.0 + strength, scale=strength * within * variance, learn=learn)

    def model(self, X: Any) -> FullModel:
        rows = self.rows(X)
        n, d = rows.shape
        owner = type(self).__name__
        mean = check_vector(owner, "mean", self.mean, d)
        scale = _check_scale(self.scale, d)
        if self.dof <= d - 1:
            raise bad_parameter(owner, "dof", f"a number > n_features - 1 = {d - 1}", self.dof)
        if self.learn and self.dof <= d + 1:
            raise bad_parameter(owner, "dof", f"a number > n_features + 1 = {d + 1} if it is learned", self.dof)
        origin, _ = column_spread(rows)
        inverse_scale = 1.0 / np.sqrt(np.diagonal(scale))
        internal_scale = scale * inverse_scale * inverse_scale[:, None]
        model = FullModel(
            origin,
            inverse_scale,
            (mean - origin) * inverse_scale,
            self.kappa,
            self.dof,
            internal_scale,
            float(np.log(inverse_scale).sum()),
            float(np.linalg.slogdet(internal_scale)[1]),
            np.empty(n_tabulated(n)),
            np.empty(n_tabulated(n)),
        )
        warn_if_out_of_range(model, rows)
        return with_constants(model)

    def slots(self, model: FullModel, capacity: int) -> DenseSlots:
        d = len(model.mean)
        return DenseSlots.empty(capacity, d + d * (d + 1) // 2, d + d * d + 1, d)

    def statistics(self, model: FullModel, X: Any, labels: np.ndarray, n_clusters: int) -> np.ndarray:
        values, d = self.rows(X).matrix(), len(model.mean)
        rows, columns = np.tril_indices(d)
        stats = np.zeros((n_clusters, 1 + d + len(rows)))
        stats[:, 0] = np.bincount(labels, minlength=n_clusters)
        block_length = max(1, block_rows(n_clusters) // d)
        for start in range(0, len(values), block_length):
            Y = to_internal(model, values[start : start + block_length])
            block = labels[start : start + block_length]
            stats[:, 1 : 1 + d] += sum_by_label(Y, block, n_clusters)
            stats[:, 1 + d :] += sum_by_label(Y[:, rows] * Y[:, columns], block, n_clusters)
        return stats

    def _posterior(self, model: FullModel, stats: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """kappa, dof (K,), mean (K, D) and scale (K, D, D) of each cluster's posterior, in internal units."""
        d = len(model.mean)
        n = stats[:, 0]
        s = stats[:, 1 : 1 + d]
        q = np.zeros((len(stats), d, d))
        rows, columns = np.tril_indices(d)
        q[:, rows, columns] = q[:, columns, rows] = stats[:, 1 + d :]
        k = model.kappa + n
        average = s / np.maximum(n, 1.0)[:, None]
        offset = average - model.mean
        scatter = q - s[:, :, None] * average[:, None, :]
        shrink = (model.kappa * n / k)[:, None, None] * offset[:, :, None] * offset[:, None, :]
        return k, model.dof + n, (model.kappa * model.mean + s) / k[:, None], model.scale + scatter + shrink

    def log_marginals(self, model: FullModel, stats: np.ndarray) -> np.ndarray:
        _, dof, _, scale = self._posterior(model, stats)
        gammas = multigammaln(0.5 * dof, len(model.mean)) - multigammaln(0.5 * model.dof, len(model.mean))
        return marginal_constants(model, stats[:, 0], gammas) - 0.5 * dof * np.linalg.slogdet(scale)[1]

    def log_predictives(self, model: FullModel, stats: np.ndarray, X: Any) -> np.ndarray:
        values = self.rows(X).matrix()
        k, dof, m, scale = self._posterior(model, stats)
        factors = cholesky_factors(scale)
        gammas = log_gamma_ratios(0.5 * (dof + 1.0), 0.5 * len(model.mean))
        log_roots = np.log(np.diagonal(factors, axis1=1, axis2=2)).sum(axis=1)
        constants = predictive_constants(model, stats[:, 0], gammas) - log_roots
        out = np.empty((len(values), len(stats)))
        for start in range(0, len(values), ROW_BLOCK):
            Y = to_internal(model, values[start : start + ROW_BLOCK])
            for c in range(len(stats)):
                w = solve_triangular(factors[c], (Y - m[c]).T, lower=True)
                grown = np.log1p(k[c] / (k[c] + 1.0) * (w * w).sum(axis=0))
                out[start : start + ROW_BLOCK, c] = constants[c] - 0.5 * (dof[c] + 1.0) * grown
        return out

    def draw_parameters(self, model: FullModel, stats: np.ndarray, rng: np.random.Generator) -> GaussianParameters:
        k, dof, m, scale = self._posterior(model, stats)
        n_clusters, d = m.shape
        # With Ψ = L Lᵀ and Bartlett's A, Σ = (L A⁻ᵀ)(L A⁻ᵀ)ᵀ.
        bartlett = _bartlett(dof, d, rng)
        root = np.linalg.solve(bartlett, cholesky_factors(scale).transpose(0, 2, 1)).transpose(0, 2, 1)
        noise = rng.standard_normal((n_clusters, d, 1)) / np.sqrt(k)[:, None, None]
        root /= model.inverse_scale[:, None]
        return GaussianParameters(
            model.origin + m / model.inverse_scale + (root @ noise)[:, :, 0], root @ root.transpose(0, 2, 1)
        )

    def _draw_precisions(self, model: FullModel, stats: np.ndarray, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        k, dof, m, scale = self._posterior(model, stats)
        n_clusters, d = m.shape
        # With Ψ = L Lᵀ and Bartlett's A, Σ⁻¹ = R Rᵀ, R = L⁻ᵀ A.
        root = np.linalg.solve(cholesky_factors(scale).transpose(0, 2, 1), _bartlett(dof, d, rng))
        noise = np.linalg.solve(root.transpose(0, 2, 1), rng.standard_normal((n_clusters, d, 1)))[:, :, 0]
        return m + noise / np.sqrt(k)[:, None], root @ root.transpose(0, 2, 1)

    def learner(self, model: FullModel, X: Any) -> Learner | None:
        if not self.learn:
            return None
        hyperprior = MetricHyperprior.weak(column_spread(self.rows(X))[1] * model.inverse_scale**2)
        return lambda model, slots, used, rng: learn_metric(self, model, hyperprior, slots.statistics(used), rng)

    def hyperparameters(self, model: FullModel) -> dict[str, np.ndarray]:
        if not self.learn:
            return {}
        return {
            "mean": model.origin + model.mean / model.inverse_scale,
            "kappa": np.array(model.kappa),
            "dof": np.array(model.dof),
            "scale": model.scale / (model.inverse_scale * model.inverse_scale[:, None]),
        }

    def settled(self, model: FullModel) -> FullModel:
        d = len(model.mean)
        factor = LEAST_STRENGTH / (model.dof - d - 1.0)
        if not self.learn or factor <= 1.0:
            return model
        return self._with_metric(model, model.mean, model.kappa, factor * model.scale, d + 1.0 + LEAST_STRENGTH)

    def hash_metric(self, model: FullModel) -> np.ndarray | None:
        if not self.learn:
            return None
        return np.linalg.inv(np.linalg.cholesky(model.scale)).T * model.inverse_scale[:, None]

    def _spreads(self, model: FullModel, stats: np.ndarray) -> np.ndarray:
        """Eigenvalues of Ψ⁻¹ A, A what a cluster's rows add to the scale Ψ of its prior, (K, D)."""
        added = self._posterior(model, stats)[3] - model.scale
        inverse = np.linalg.inv(np.linalg.cholesky(model.scale))
        return np.maximum(np.linalg.eigvalsh(inverse @ added @ inverse.T), 0.0)

    def _with_metric(
        self, model: FullModel, mean: np.ndarray, kappa: float, scale: np.ndarray, dof: float, constants: bool = True
    ) -> FullModel:
        """The model with other hyperparameters; without look-up tables if these are not needed."""
        log_determinant = float(np.linalg.slogdet(scale)[1])
        new = model._replace(mean=mean, kappa=kappa, dof=dof, scale=scale, log_prior_determinant=log_determinant)
        return with_constants(new) if constants else new

    def with_hyperparameters(self, values: dict[str, Any]) -> FullGaussian:
        return FullGaussian(**{**values, "dof": float(values["dof"])}) if values else self

    def expected_parameters(self, model: FullModel, stats: np.ndarray) -> GaussianParameters:
        _, dof, m, scale = self._posterior(model, stats)
        d = len(model.mean)
        # The expected covariance is Ψ/(ν−D−1); where that is infinite, the inverse of the expected precision.
        divisor = np.where(dof > d + 1, dof - d - 1, dof)[:, None, None]
        units = model.inverse_scale * model.inverse_scale[:, None]
        return GaussianParameters(model.origin + m / model.inverse_scale, scale / divisor / units)


def cholesky_factors(scales: np.ndarray) -> np.ndarray:
    """Cholesky factors of (K, D, D) scale matrices.

    A sum of squares far from the origin loses digits, and a matrix may come out as not quite positive definite. Then as little
    as is needed, beginning with a rounding error, is added to its diagonal.

    Examples
    --------
    >>> import numpy as np
    >>> from hashmix.components.gaussian.full import cholesky_factors
    >>> cholesky_factors(np.array([[[4.0, 0.0], [0.0, 9.0]], [[1.0, 1.0], [1.0, 1.0]]])).round(3)[:, 0, 0]
    array([2., 1.])
    """
    # Some LAPACKs return NaN for matrices that are not finite; others raise.
    if not np.isfinite(scales).all():
        raise np.linalg.LinAlgError("The scale matrix of a cluster is not finite.")
    try:
        return np.linalg.cholesky(scales)
    except np.linalg.LinAlgError:
        return np.stack([_factor_of_one(scale) for scale in scales])


def _factor_of_one(scale: np.ndarray) -> np.ndarray:
    most = 2.0 * len(scale) * np.abs(scale).max()  # with this on the diagonal, any symmetric matrix is positive definite
    for share in (0.0, *10.0 ** np.arange(-15, 1)):
        try:
            return np.linalg.cholesky(scale + share * most * np.eye(len(scale)))
        except np.linalg.LinAlgError:
            continue
    raise np.linalg.LinAlgError("The scale matrix of a cluster is not positive definite.")


def _bartlett(dof: np.ndarray, d: int, rng: np.random.Generator) -> np.ndarray:
    """Lower triangular matrices A, one for each number of degrees of freedom, such that A Aᵀ is a standard Wishart."""
    bartlett = np.tril(rng.standard_normal((len(dof), d, d)), -1)
    bartlett[:, range(d), range(d)] = np.sqrt(rng.chisquare(dof[:, None] - np.arange(d)))
    return bartlett


def _check_scale(scale: Any, d: int) -> np.ndarray:
    """The scale as a (d, d) positive definite matrix."""
    allowed = f"a positive number, {d} of them, or a symmetric positive definite {d} × {d} matrix"
    try:
        matrix = np.asarray(scale, dtype=np.float64)
    except (TypeError, ValueError):
        raise bad_parameter("FullGaussian", "scale", allowed, scale) from None
    if matrix.shape in ((), (1,), (d,)):
        matrix = np.diag(np.broadcast_to(matrix, d))
    diagonal = np.diagonal(matrix) if matrix.shape == (d, d) else np.zeros(1)
    if not np.isfinite(matrix).all() or (diagonal <= 0).any() or not np.allclose(matrix, matrix.T, rtol=1e-8, atol=0.0):
        raise bad_parameter("FullGaussian", "scale", allowed, scale)
    unit = 1.0 / np.sqrt(diagonal)
    try:
        np.linalg.cholesky(matrix * unit * unit[:, None])
    except np.linalg.LinAlgError:
        raise bad_parameter("FullGaussian", "scale", allowed, scale) from None
    return matrix
