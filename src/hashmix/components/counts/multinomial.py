"""Counts whose total says nothing about the cluster: texts (Dirichlet–multinomial)."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import csr_array
from scipy.special import gammaln

from hashmix.components.contract import Learner
from hashmix.components.counts.kernels import CountModel, log_factorials, rises_of
from hashmix.components.counts.shared import (
    CountComponent,
    histogram,
    most_words,
    projected,
    quantiles,
    rise_of_pairs,
    row_constants,
    sizes_and_words,
    sum_by_row,
    sum_rises,
)
from hashmix.components.densities import CountDensity
from hashmix.core.slice_sampling import slice_within
from hashmix.core.special import log_gamma_ratios
from hashmix.core.validation import check_flag, check_vector
from hashmix.data.rows import ROW_BLOCK, SparseRows

__all__ = ["DirichletMultinomial", "MultinomialParameters"]

#: A word's concentration starts at this many times the least, and stays below this bound, when it is learned.
START, MOST = 3.0, 10.0


def least_concentration(n_words: int, lengths: np.ndarray) -> float:
    """The least concentration of a word that is learned: 0.1, but no more than 500, or ten rows' length, in all.

    This is where parsimony comes from. Words come in bursts and phrases, not one by one as the model has it; left free, the
    concentration falls until every phrase is a cluster. Long texts have more of them.
    """
    return min(0.1, max(500.0, 10.0 * float(np.mean(lengths))) / n_words)


class MultinomialParameters(NamedTuple):
    """Word probabilities of every cluster (K, D), and the lengths that rows may have."""

    probabilities: np.ndarray
    lengths: np.ndarray


class DirichletMultinomial(CountComponent):
    """Clusters of counts, such as texts: a cluster has word probabilities θ ~ Dirichlet(concentration).

    A row is that many draws from θ as its counts sum to; how many that are says nothing about its cluster.

    Parameters
    ----------
    concentration : float or array of shape (n_features,)
        Of the Dirichlet prior, for every word. Small values mean clusters with few words each.
    learn : bool, default=False
        Whether the concentration is learned: a common factor of what is given, such that their mean is log-uniform between
        0.1 and 10; where there are many words, between max(500, 10 · mean length of a row) / n_features and 10.

    Examples
    --------
    >>> import hashmix as hm
    >>> X = [[3, 1, 0, 0], [2, 2, 0, 0], [0, 0, 1, 4], [0, 0, 3, 2]]
    >>> component = hm.components.DirichletMultinomial(0.5)
    >>> hm.SplitMergeMixture(component, random_state=0).fit(X).labels_
    array([0, 0, 1, 1])
    """

    given_sums = True
    learn: bool

    def __init__(self, concentration: Any, learn: bool = False) -> None:
        self.learn = check_flag("DirichletMultinomial", "learn", learn)
        self.concentration = concentration
        check_vector("DirichletMultinomial", "concentration", concentration, np.size(concentration), positive=True)

    @classmethod
    def from_data(cls, X: Any, learn: bool = False) -> DirichletMultinomial:
        """Defaults: 0.3 per word, or less if there are many words: three times the lower bound of what is learned.

        Examples
        --------
        >>> import hashmix as hm
        >>> hm.components.DirichletMultinomial.from_data([[0, 1], [0, 2]])
        DirichletMultinomial(concentration=0.3, learn=False)
        """
        rows = cls.rows(X)
        return cls(round(START * least_concentration(rows.n_columns, _lengths(rows)), 6), learn=learn)

    def model(self, X: Any) -> CountModel:
        rows = self.rows(X)
        d = rows.n_columns
        each = check_vector("DirichletMultinomial", "concentration", self.concentration, d, positive=True)
        values, levels = np.unique(each, return_inverse=True)
        numbers = log_factorials(), _lengths(rows), most_words(rows)
        return CountModel(0.0, float(each.sum()), levels.astype(np.int32), values, rises_of(values), *numbers)

    def learner(self, model: CountModel, X: Any) -> Learner | None:
        if not self.learn:
            return None
        d = len(model.levels)

        def update(model: CountModel, slots: Any, used: np.ndarray, rng: np.random.Generator) -> CountModel:
            words = rise_of_pairs(histogram(slots, used, model.levels, len(model.values)))
            totals = slots.totals[used].astype(np.float64)

            def log_density(log_mean: float) -> float:
                factor = np.exp(log_mean) * d / model.total
                total = factor * model.total
                return words(factor * model.values) - log_gamma_ratios(total + totals, totals).sum()

            mean = np.log(model.total / d)
            low, high = np.log(least_concentration(d, model.lengths)), np.log(MOST)
            factor = float(np.exp(slice_within(log_density, mean, low, high, rng) - mean))
            values = factor * model.values
            return model._replace(total=factor * model.total, values=values, rises=rises_of(values))

        return update

    def word_concentration(self, model: CountModel) -> float:
        return float(model.total / len(model.levels))

    def hyperparameters(self, model: CountModel) -> dict[str, np.ndarray]:
        return {"concentration": np.array(model.total / len(model.levels))} if self.learn else {}

    def with_hyperparameters(self, values: dict[str, Any]) -> DirichletMultinomial:
        if not values:
            return self
        each = np.asarray(self.concentration, dtype=np.float64)
        return DirichletMultinomial(each * (float(values["concentration"]) / each.mean()))

    def positions(self, model: CountModel, stats: csr_array) -> np.ndarray:
        """Square roots of the shares of words."""
        _, words = sizes_and_words(stats)
        totals = np.maximum(np.asarray(words.sum(axis=1)).ravel(), 1.0)
        return projected(csr_array(words.multiply(1.0 / totals[:, None])).sqrt())

    def _row_constants(self, matrix: csr_array) -> np.ndarray:
        totals = np.asarray(matrix.sum(axis=1, dtype=np.float64)).ravel()
        return gammaln(totals + 1.0) - sum_by_row(matrix, gammaln(matrix.data + 1.0))

    def log_marginals(self, model: CountModel, stats: csr_array) -> np.ndarray:
        _, words = sizes_and_words(stats)
        totals = np.asarray(words.sum(axis=1)).ravel()
        base = row_constants(stats) - log_gamma_ratios(model.total + totals, totals)
        return base + sum_rises(words, model.values[model.levels])

    def _log_predictives_of(
        self, model: CountModel, size: float, words: np.ndarray, matrix: csr_array, totals: np.ndarray
    ) -> np.ndarray:
        end = model.total + words.sum() + totals
        return sum_rises(matrix, model.values[model.levels] + words) - log_gamma_ratios(end, totals)

    def draw_parameters(self, model: CountModel, stats: csr_array, rng: np.random.Generator) -> MultinomialParameters:
        shapes = model.values[model.levels] + sizes_and_words(stats)[1].toarray()
        weights = np.maximum(rng.standard_gamma(shapes), np.finfo(np.float64).tiny)
        return MultinomialParameters(weights / weights.sum(axis=1, keepdims=True), model.lengths)

    def draw_density(self, model: CountModel, stats: csr_array, rng: np.random.Generator) -> CountDensity:
        logs = np.log(self.draw_parameters(model, stats, rng).probabilities)
        return CountDensity(np.zeros(len(logs)), np.ascontiguousarray(logs.T, np.float32))

    def expected_parameters(self, model: CountModel, stats: csr_array) -> MultinomialParameters:
        return MultinomialParameters(self.word_profile(model, stats), model.lengths)

    def word_profile(self, model: CountModel, stats: csr_array) -> np.ndarray:
        weights = model.values[model.levels] + sizes_and_words(stats)[1].toarray()
        return weights / weights.sum(axis=1, keepdims=True)

    def log_densities(self, parameters: MultinomialParameters, X: Any) -> np.ndarray:
        matrix = self.rows(X).matrix()
        return matrix @ np.log(parameters.probabilities).T + self._row_constants(matrix)[:, None]

    def draw_rows(self, parameters: MultinomialParameters, labels: np.ndarray, rng: np.random.Generator) -> csr_array:
        """Rows of lengths like those that were seen."""
        lengths = rng.choice(parameters.lengths, len(labels))
        return csr_array(rng.multinomial(lengths, parameters.probabilities[labels]))


def _lengths(rows: SparseRows) -> np.ndarray:
    """Lengths that rows have."""
    matrix = rows.matrix()
    blocks = range(0, matrix.shape[0], ROW_BLOCK)
    return quantiles(np.concatenate([matrix[start : start + ROW_BLOCK].sum(axis=1, dtype=np.int64) for start in blocks]))
