"""The posterior predictive given a partition: which cluster a new row belongs to, its density, and new rows."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import vstack

from hashmix.components.contract import Component
from hashmix.data.rows import Rows
from hashmix.priors.contract import PartitionPrior

__all__ = ["Predictive", "predictive_weights"]


def predictive_weights(prior: PartitionPrior, labels: np.ndarray) -> np.ndarray:
    """The prior weight of each cluster for the next row; a new cluster is not considered.

    Examples
    --------
    >>> import numpy as np, hashmix as hm
    >>> from hashmix.posterior.predictive import predictive_weights
    >>> predictive_weights(hm.priors.DirichletProcess(1.0), np.array([0, 0, 0, 1]))
    array([0.75, 0.25])
    """
    sizes = np.bincount(labels).astype(np.float64)
    form = prior.weights(len(labels) + 1, len(sizes), prior.start_concentration)
    weights = np.ones_like(sizes) if form.flat else sizes + form.shift
    return weights / weights.sum()


class Predictive(NamedTuple):
    """A component with its model, and the statistics and weight of every cluster of a partition.

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

    @classmethod
    def given(cls, labels: np.ndarray, component: Component, prior: PartitionPrior, rows: Rows) -> Predictive:
        """The predictive given the labels of the rows, and a component with fixed hyperparameters."""
        model = component.model(rows)
        stats = component.statistics(model, rows, labels, int(labels.max()) + 1)
        return cls(component, model, stats, predictive_weights(prior, labels))

    def log_joint(self, X: Any) -> np.ndarray:
        """Log weight + log predictive of every row in every cluster, (n, K)."""
        return self.component.log_predictives(self.model, self.stats, X) + np.log(self.weights)

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
