"""The posterior predictive given a partition: which cluster a new row belongs to, its density, and new rows."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import vstack
from scipy.special import gammaln, logsumexp, softmax

from hashmix.components.contract import Component
from hashmix.core.threads import Threads
from hashmix.core.validation import check_n_jobs
from hashmix.data.rows import Rows
from hashmix.priors.contract import PartitionPrior

__all__ = ["Matched", "Predictive", "cluster_probabilities", "log_density", "predictive_weights"]


#: Rows that one thread labels per task.
_TASK = 8192


def predictive_weights(prior: PartitionPrior, labels: np.ndarray) -> np.ndarray:
    """The prior weight of each cluster for the next row; a new cluster is not considered.

    Examples
    --------
    >>> import numpy as np, hashmix as hm
    >>> from hashmix.posterior.predictive import predictive_weights
    >>> predictive_weights(hm.priors.DirichletProcess(1.0), np.array([0, 0, 0, 1]))
    array([0.75, 0.25])
    """
    weights = _weights(prior, np.bincount(labels), prior.start_concentration)[0]
    return weights / weights.sum()


def _weights(prior: PartitionPrior, sizes: np.ndarray, concentration: float) -> tuple[np.ndarray, float]:
    """The prior weight of each cluster for the next row, and of a new cluster, up to a common factor."""
    sizes = sizes.astype(np.float64)
    form = prior.weights(int(sizes.sum()) + 1, len(sizes) + 2, concentration)
    weights = np.ones_like(sizes) if form.flat else sizes + form.shift
    k = len(sizes)
    new = form.log_v[k + 1] - form.log_v[k] + (0.0 if form.flat else gammaln(1.0 + form.shift))
    return weights, float(np.exp(new))


class Predictive(NamedTuple):
    """A component with its model, and the statistics and weight of every cluster of a partition.

    ``weights`` sum to 1; ``new_weight`` is that of a new cluster, in the same units.

    Examples
    --------
    >>> import numpy as np, hashmix as hm
    >>> from hashmix.posterior.predictive import Predictive
    >>> component, prior = hm.components.DiagonalGaussian(0.0, 0.1, 2.0, 0.1), hm.priors.DirichletProcess(1.0)
    >>> predictive = Predictive.given(np.array([0, 0, 1]), component, prior, component.rows([[0.0], [0.1], [5.0]]))
    >>> predictive.log_joint([[0.05]]).argmax()
    np.int64(0)
    """

    component: Component
    model: Any
    stats: Any
    weights: np.ndarray
    new_weight: float

    @classmethod
    def given(
        cls,
        labels: np.ndarray,
        component: Component,
        prior: PartitionPrior,
        rows: Rows,
        concentration: float | None = None,
    ) -> Predictive:
        """The predictive given the labels of the rows, and a component with fixed hyperparameters."""
        model = component.model(rows)
        stats = component.statistics(model, rows, labels, int(labels.max()) + 1)
        concentration = prior.start_concentration if concentration is None else concentration
        return cls.of_clusters(component, model, stats, np.bincount(labels), prior, concentration)

    @classmethod
    def of_clusters(
        cls, component: Component, model: Any, stats: Any, sizes: np.ndarray, prior: PartitionPrior, concentration: float
    ) -> Predictive:
        """The predictive given sizes and statistics of clusters, wherever their rows are."""
        weights, new = _weights(prior, sizes, concentration)
        return cls(component, model, stats, weights / weights.sum(), new / weights.sum())

    def log_joint(self, X: Any) -> np.ndarray:
        """Log weight + log predictive of every row in every cluster, (n, K)."""
        return self.component.log_predictives(self.model, self.stats, X) + np.log(self.weights)

    def log_new(self, X: Any) -> np.ndarray:
        """Log weight + log density of every row in a new cluster, (n,)."""
        empty = self.stats[:1] * 0.0
        return self.component.log_predictives(self.model, empty, X)[:, 0] + np.log(self.new_weight)

    def probabilities_and_new(self, X: Any) -> np.ndarray:
        """The probability of every cluster for every row, and in a last column that of a new cluster, (n, K + 1)."""
        return softmax(np.column_stack([self.log_joint(X), self.log_new(X)]), axis=1)

    def labels(self, rows: Rows, n_jobs: int | None = None) -> np.ndarray:
        """The most probable cluster of every row, in parts and in threads; no (n, K) array is made."""
        return np.concatenate(self._by_part(rows, n_jobs, lambda log_p, begin: log_p.argmax(axis=1)))

    def probabilities_of(self, rows: Rows, labels: np.ndarray, n_jobs: int | None = None) -> np.ndarray:
        """The probability of the given cluster of every row."""

        def work(log_p: np.ndarray, begin: int) -> np.ndarray:
            own = np.take_along_axis(log_p, labels[begin : begin + len(log_p), None], axis=1)[:, 0]
            return np.exp(own - logsumexp(log_p, axis=1))

        return np.concatenate(self._by_part(rows, n_jobs, work))

    def _by_part(self, rows: Rows, n_jobs: int | None, work: Callable[[np.ndarray, int], np.ndarray]) -> list[np.ndarray]:
        def part(begin: int) -> np.ndarray:
            return work(self.log_joint(rows.take(slice(begin, begin + _TASK))), begin)

        return Threads(check_n_jobs("predict", n_jobs)).map(part, range(0, rows.n_rows, _TASK))

    def draw(self, n: int, n_features: int, rng: np.random.Generator) -> tuple[Any, np.ndarray]:
        """New rows, and the cluster each came from. Every row draws the parameters of its cluster, for their uncertainty."""
        clusters = rng.choice(len(self.weights), n, p=self.weights)
        at_once = max(1, min(4096, 2**24 // n_features))
        drawn = []
        for start in range(0, n, at_once):
            block = clusters[start : start + at_once]
            parameters = self.component.draw_parameters(self.model, self.stats[block], rng)
            drawn.append(self.component.draw_rows(parameters, np.arange(len(block)), rng))
        rows = vstack(drawn, format="csr") if hasattr(drawn[0], "tocsr") else np.concatenate(drawn)
        return rows, clusters


class Matched(NamedTuple):
    """The predictive of a draw, and the estimate's cluster that each of its clusters matches; -1 for none."""

    predictive: Predictive
    match: np.ndarray


def cluster_probabilities(rows: Any, draws: Iterable[Matched], n_clusters: int) -> np.ndarray:
    """The probability of each of the estimate's clusters for each row, averaged over draws.

    Examples
    --------
    >>> import numpy as np, hashmix as hm
    >>> from hashmix.posterior.predictive import Matched, Predictive, cluster_probabilities
    >>> component, prior = hm.components.DiagonalGaussian(0.0, 0.1, 2.0, 0.1), hm.priors.DirichletProcess(1.0)
    >>> predictive = Predictive.given(np.array([0, 0, 1]), component, prior, component.rows([[0.0], [0.1], [5.0]]))
    >>> cluster_probabilities([[0.05], [5.0]], [Matched(predictive, np.array([1, 0]))], 2).argmax(axis=1)
    array([1, 0])
    """
    total: Any = 0.0
    for predictive, match in draws:
        log_p = predictive.log_joint(rows)
        shares = np.zeros((len(log_p), n_clusters))
        shares[:, match[match >= 0]] = softmax(log_p, axis=1)[:, match >= 0]
        total = total + shares
    return total / np.maximum(total.sum(axis=1, keepdims=True), np.finfo(np.float64).tiny)


def log_density(rows: Any, draws: Iterable[Matched]) -> np.ndarray:
    """The log posterior predictive density of each row; the density is averaged over draws.

    Examples
    --------
    >>> import numpy as np, hashmix as hm
    >>> from hashmix.posterior.predictive import Matched, Predictive, log_density
    >>> component, prior = hm.components.DiagonalGaussian(0.0, 0.1, 2.0, 0.1), hm.priors.DirichletProcess(1.0)
    >>> predictive = Predictive.given(np.array([0, 0, 1]), component, prior, component.rows([[0.0], [0.1], [5.0]]))
    >>> log_density([[0.05], [5.0], [70.0]], [Matched(predictive, np.array([0, 1]))]).argsort()
    array([2, 1, 0])
    """
    each = [logsumexp(draw.predictive.log_joint(rows), axis=1) for draw in draws]
    return logsumexp(each, axis=0) - np.log(len(each))
