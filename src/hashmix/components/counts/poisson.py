"""Counts whose totals matter: events in a given time (Gamma–Poisson)."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.sparse import csr_array
from scipy.special import gammaln

from hashmix.components.contract import Learner
from hashmix.components.counts.kernels import CountModel, log_factorials, rises_of
from hashmix.components.counts.shared import (
    CountComponent,
    base_levels,
    histogram,
    most_words,
    rise_of_pairs,
    row_constants,
    sizes_and_words,
    sum_by_row,
    sum_rises,
)
from hashmix.components.densities import CountDensity
from hashmix.core.slice_sampling import slice_pair
from hashmix.core.validation import check_flag, check_number, check_vector
from hashmix.data.rows import SparseRows

__all__ = ["GammaPoisson"]

#: The mean shape of a column, and the rate times the mean of the entries: where they start when they are learned, and bounds.
START, LEAST, MOST = 0.5, 1e-4, 1e4


class GammaPoisson(CountComponent):
    """Clusters of counts in a given time or space: column w of a cluster has a rate λ_w ~ Gamma(shape_w, rate).

    Parameters
    ----------
    shape : float or array of shape (n_features,)
        Of the rates' Gamma prior. Small values mean rates that differ much.
    rate : float
        Its rate: ``shape / rate`` is the expected count.
    learn : bool, default=False
        Whether both are learned: a common factor of the shapes, and the rate, each log-uniform within eight orders of
        magnitude.

    Examples
    --------
    >>> import hashmix as hm
    >>> X = [[9, 8], [7, 11], [8, 9], [1, 0], [0, 2], [1, 1]]
    >>> component = hm.components.GammaPoisson(shape=1.0, rate=0.2)
    >>> hm.SplitMergeMixture(component, random_state=0).fit(X).labels_
    array([0, 0, 0, 1, 1, 1])
    """

    learn: bool

    def __init__(self, shape: Any, rate: float, learn: bool = False) -> None:
        self.learn = check_flag("GammaPoisson", "learn", learn)
        self.shape = shape
        self.rate: float = check_number("GammaPoisson", "rate", rate)
        check_vector("GammaPoisson", "shape", shape, np.size(shape), positive=True)

    @classmethod
    def from_data(cls, X: Any, learn: bool = False) -> GammaPoisson:
        """Defaults: shapes of 0.5 on average, in proportion to the columns' sums; a rate such that the mean is that of X.

        Examples
        --------
        >>> import hashmix as hm
        >>> round(hm.components.GammaPoisson.from_data([[1, 4], [3, 4]]).rate, 3)
        0.192
        """
        rows = cls.rows(X)
        return cls(START * base_levels(rows), START / _mean_entry(rows), learn=learn)

    def model(self, X: Any) -> CountModel:
        rows = self.rows(X)
        d = rows.n_columns
        each = check_vector("GammaPoisson", "shape", self.shape, d, positive=True)
        values, levels = np.unique(each, return_inverse=True)
        numbers = log_factorials(), np.empty(0, np.int64), most_words(rows)
        return CountModel(self.rate, float(each.sum()), levels.astype(np.int32), values, rises_of(values), *numbers)

    def learner(self, model: CountModel, X: Any) -> Learner | None:
        if not self.learn:
            return None
        d = len(model.levels)
        low, high = np.log(LEAST), np.log(MOST)
        log_unit = -np.log(_mean_entry(self.rows(X)))

        def update(model: CountModel, slots: Any, used: np.ndarray, rng: np.random.Generator) -> CountModel:
            words = rise_of_pairs(histogram(slots, used, model.levels, len(model.values)))
            sizes, totals = slots.sizes[used].astype(np.float64), slots.totals[used].astype(np.float64)

            def base(total: float, rate: float) -> float:
                return float(-(total * np.log1p(sizes / rate) + totals * np.log(rate + sizes)).sum())

            def log_density(log_mean: float, log_rate: float) -> float:
                factor = np.exp(log_mean) * d / model.total
                return words(factor * model.values) + base(factor * model.total, np.exp(log_rate))

            mean, shifted = np.log(model.total / d), (low + log_unit, high + log_unit)
            log_mean, log_rate = slice_pair(log_density, mean, np.log(model.rate), (low, high), shifted, rng)
            factor = float(np.exp(log_mean - mean))
            total, values = factor * model.total, factor * model.values
            return model._replace(rate=float(np.exp(log_rate)), total=total, values=values, rises=rises_of(values))

        return update

    def hyperparameters(self, model: CountModel) -> dict[str, np.ndarray]:
        if not self.learn:
            return {}
        return {"shape": np.array(model.total / len(model.levels)), "rate": np.array(model.rate)}

    def with_hyperparameters(self, values: dict[str, Any]) -> GammaPoisson:
        if not values:
            return self
        each = np.asarray(self.shape, dtype=np.float64)
        return GammaPoisson(each * (float(values["shape"]) / each.mean()), float(values["rate"]))

    def _row_constants(self, matrix: csr_array) -> np.ndarray:
        return -sum_by_row(matrix, gammaln(matrix.data + 1.0))

    def log_marginals(self, model: CountModel, stats: csr_array) -> np.ndarray:
        sizes, words = sizes_and_words(stats)
        totals = np.asarray(words.sum(axis=1)).ravel()
        base = -model.total * np.log1p(sizes / model.rate) - totals * np.log(model.rate + sizes)
        return row_constants(stats) + base + sum_rises(words, model.values[model.levels])

    def _log_predictives_of(
        self, model: CountModel, size: float, words: np.ndarray, matrix: csr_array, totals: np.ndarray
    ) -> np.ndarray:
        rate = model.rate + size
        base = -(model.total + words.sum()) * np.log1p(1.0 / rate) - totals * np.log(rate + 1.0)
        return base + sum_rises(matrix, model.values[model.levels] + words)

    def _shapes_and_rates(self, model: CountModel, stats: csr_array) -> tuple[np.ndarray, np.ndarray]:
        sizes, words = sizes_and_words(stats)
        return model.values[model.levels] + words.toarray(), model.rate + sizes[:, None]

    def draw_parameters(self, model: CountModel, stats: csr_array, rng: np.random.Generator) -> np.ndarray:
        """Rates of every cluster's columns, (K, D)."""
        shapes, rates = self._shapes_and_rates(model, stats)
        return rng.standard_gamma(shapes) / rates

    def draw_density(self, model: CountModel, stats: csr_array, rng: np.random.Generator) -> CountDensity:
        rates = self.draw_parameters(model, stats, rng)
        logs = np.log(np.maximum(rates, np.finfo(np.float64).tiny))
        return CountDensity(-rates.sum(axis=1), np.ascontiguousarray(logs.T, np.float32))

    def expected_parameters(self, model: CountModel, stats: csr_array) -> np.ndarray:
        shapes, rates = self._shapes_and_rates(model, stats)
        return shapes / rates

    def log_densities(self, parameters: np.ndarray, X: Any) -> np.ndarray:
        matrix = self.rows(X).matrix()
        log_rates = np.log(np.maximum(parameters, np.finfo(np.float64).tiny))
        return matrix @ log_rates.T - parameters.sum(axis=1) + self._row_constants(matrix)[:, None]

    def draw_rows(self, parameters: np.ndarray, labels: np.ndarray, rng: np.random.Generator) -> csr_array:
        return csr_array(rng.poisson(parameters[labels]))


def _mean_entry(rows: SparseRows) -> float:
    """The mean of all entries, zeros included, after one more entry of 1: so it is never 0."""
    total = float(rows.arrays.values.sum(dtype=np.float64))
    return (total + 1.0) / (rows.n_rows * rows.n_columns + 1.0)
