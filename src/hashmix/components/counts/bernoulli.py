"""0/1 data: presence and absence (Beta–Bernoulli)."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.sparse import csr_array

from hashmix.components.contract import Learner
from hashmix.components.counts.bernoulli_kernels import BernoulliModel, rises_up_to
from hashmix.components.counts.shared import CountComponent, histogram, most_words, rise_of_pairs, sizes_and_words
from hashmix.components.counts.word_slots import count_at, n_places
from hashmix.components.densities import CountDensity
from hashmix.components.tabulated import n_tabulated
from hashmix.core.compiling import borrowed, kernel
from hashmix.core.slice_sampling import slice_pair
from hashmix.core.special import log_gamma_ratios
from hashmix.core.validation import check_flag, check_number

__all__ = ["BetaBernoulli"]

#: Bounds of alpha and beta when they are learned.
LEAST, MOST = 1e-4, 1e4


class BetaBernoulli(CountComponent):
    """Clusters of 0/1 profiles: column w of a cluster is 1 with probability p_w ~ Beta(alpha, beta).

    Parameters
    ----------
    alpha, beta : float
        Of the Beta prior: ``alpha / (alpha + beta)`` is the share of ones expected; small values mean columns that are nearly
        always, or nearly never, 1 in a cluster.
    learn : bool, default=False
        Whether both are learned, each log-uniform between 0.0001 and 10,000.

    Examples
    --------
    >>> import hashmix as hm
    >>> X = [[1, 1, 1, 0, 0, 0], [1, 1, 1, 0, 0, 0], [0, 0, 0, 1, 1, 1], [0, 0, 0, 1, 1, 1]]
    >>> component = hm.components.BetaBernoulli(0.3, 0.3)
    >>> hm.SplitMergeMixture(component, random_state=0).fit(X).labels_
    array([0, 0, 1, 1])
    """

    learn: bool

    binary = True

    def __init__(self, alpha: float, beta: float, learn: bool = False) -> None:
        self.alpha: float = check_number("BetaBernoulli", "alpha", alpha)
        self.beta: float = check_number("BetaBernoulli", "beta", beta)
        self.learn = check_flag("BetaBernoulli", "learn", learn)

    @classmethod
    def from_data(cls, X: Any, learn: bool = False) -> BetaBernoulli:
        """Defaults: alpha + beta = 1, and as many ones expected as there are.

        Examples
        --------
        >>> import hashmix as hm
        >>> hm.components.BetaBernoulli.from_data([[1, 0], [0, 0]]).alpha
        0.3
        """
        rows = cls.rows(X)
        share = (len(rows.arrays.values) + 0.5) / (rows.n_rows * rows.n_columns + 1.0)
        return cls(share, 1.0 - share, learn=learn)

    def model(self, X: Any) -> BernoulliModel:
        rows = self.rows(X)
        length = n_tabulated(rows.n_rows)
        rises = rises_up_to(self.alpha, length), rises_up_to(self.beta, length)
        return BernoulliModel(self.alpha, self.beta, rows.n_columns, most_words(rows), *rises)

    def learner(self, model: BernoulliModel, X: Any) -> Learner | None:
        if not self.learn:
            return None
        one_level = np.zeros(model.n_words, np.int32)
        bounds = np.log(LEAST), np.log(MOST)

        def update(model: BernoulliModel, slots: Any, used: np.ndarray, rng: np.random.Generator) -> BernoulliModel:
            ones = histogram(slots, used, one_level, 1)
            with_ones = rise_of_pairs(ones)
            without = rise_of_pairs(histogram(slots, used, one_level, 1, left=True))
            sizes = slots.sizes[used].astype(np.float64)
            absent = model.n_words - _words_of(slots, used)

            def log_density(log_alpha: float, log_beta: float) -> float:
                alpha, beta = np.exp(log_alpha), np.exp(log_beta)
                all_words = absent @ log_gamma_ratios(beta + sizes, sizes)
                all_words -= model.n_words * log_gamma_ratios(alpha + beta + sizes, sizes).sum()
                return with_ones(np.array([alpha])) + without(np.array([beta])) + float(all_words)

            alpha, beta = slice_pair(log_density, np.log(model.alpha), np.log(model.beta), bounds, bounds, rng)
            length, alpha, beta = len(model.rises_alpha), float(np.exp(alpha)), float(np.exp(beta))
            return model._replace(
                alpha=alpha, beta=beta, rises_alpha=rises_up_to(alpha, length), rises_beta=rises_up_to(beta, length)
            )

        return update

    def hyperparameters(self, model: BernoulliModel) -> dict[str, np.ndarray]:
        return {"alpha": np.array(model.alpha), "beta": np.array(model.beta)} if self.learn else {}

    def with_hyperparameters(self, values: dict[str, Any]) -> BetaBernoulli:
        return BetaBernoulli(float(values["alpha"]), float(values["beta"])) if values else self

    def _row_constants(self, matrix: csr_array) -> np.ndarray:
        return np.zeros(matrix.shape[0])

    def log_marginals(self, model: BernoulliModel, stats: csr_array) -> np.ndarray:
        sizes, words = sizes_and_words(stats)
        out = np.empty(len(sizes))
        for c, n in enumerate(sizes):
            ones = words[[c]].toarray()[0]
            each = log_gamma_ratios(model.alpha + ones, ones) + log_gamma_ratios(model.beta + n - ones, n - ones)
            out[c] = (each - log_gamma_ratios(model.alpha + model.beta + n, n)).sum()
        return out

    def _log_predictives_of(
        self, model: BernoulliModel, size: float, words: np.ndarray, matrix: csr_array, totals: np.ndarray
    ) -> np.ndarray:
        zeros = np.log(model.beta + size - words)
        base = zeros.sum() - model.n_words * np.log(model.alpha + model.beta + size)
        return base + matrix @ (np.log(model.alpha + words) - zeros)

    def _shapes(self, model: BernoulliModel, stats: csr_array) -> tuple[np.ndarray, np.ndarray]:
        sizes, words = sizes_and_words(stats)
        ones = words.toarray()
        return model.alpha + ones, model.beta + sizes[:, None] - ones

    def draw_parameters(self, model: BernoulliModel, stats: csr_array, rng: np.random.Generator) -> np.ndarray:
        """Probabilities of a 1 in every cluster's columns, (K, D)."""
        return rng.beta(*self._shapes(model, stats))

    def draw_density(self, model: BernoulliModel, stats: csr_array, rng: np.random.Generator) -> CountDensity:
        ones, zeros = _log_odds(self.draw_parameters(model, stats, rng))
        return CountDensity(zeros.sum(axis=1), np.ascontiguousarray((ones - zeros).T, np.float32))

    def expected_parameters(self, model: BernoulliModel, stats: csr_array) -> np.ndarray:
        ones, zeros = self._shapes(model, stats)
        return ones / (ones + zeros)

    def log_densities(self, parameters: np.ndarray, X: Any) -> np.ndarray:
        matrix = self.rows(X).matrix()
        ones, zeros = _log_odds(parameters)
        return matrix @ (ones - zeros).T + zeros.sum(axis=1)

    def draw_rows(self, parameters: np.ndarray, labels: np.ndarray, rng: np.random.Generator) -> csr_array:
        return csr_array((rng.random((len(labels), parameters.shape[1])) < parameters[labels]).astype(np.uint8))


def _log_odds(probabilities: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Log probabilities of a 1 and of a 0, finite even where rounding left 0 or 1."""
    tiny = np.finfo(np.float64).tiny
    return np.log(np.maximum(probabilities, tiny)), np.log1p(-np.minimum(probabilities, 1.0 - 2**-53))


@kernel
def _words_of(slots, used):
    """How many words each cluster has."""
    slots, used = borrowed(slots), borrowed(used)
    out = np.zeros(len(used), np.int64)
    for s in range(len(used)):
        for k in range(n_places(slots, used[s])):
            out[s] += 1 if count_at(slots, used[s], k) > 0 else 0
    return out
