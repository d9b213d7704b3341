"""What clusters of counts are about: their words, and the rows that stand for them."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from hashmix.components.counts import CountComponent, sizes_and_words
from hashmix.components.dirichlet_multinomial import MultinomialParameters

__all__ = ["Word", "cluster_profile", "representative_rows", "top_words"]


class Word(NamedTuple):
    """A column in a cluster: its name, its probability (or rate) there, and how many times that of all rows this is."""

    name: str
    probability: float
    lift: float


def cluster_profile(component: CountComponent, model: Any, stats: Any) -> np.ndarray:
    """Probability (or rate) of every word in one cluster: its posterior expectation."""
    parameters = component.expected_parameters(model, stats)
    return (parameters.probabilities if isinstance(parameters, MultinomialParameters) else parameters)[0]


def top_words(component: CountComponent, model: Any, stats: Any, names: list[str], n_words: int, by: str) -> list[list[Word]]:
    """The first words of every cluster, by probability or by lift.

    By lift, only words that occur in at least one row in twenty of the cluster count, as far as there are any.
    """
    overall = cluster_profile(component, model, _total(stats))
    out = []
    for c in range(stats.shape[0]):
        size, words = sizes_and_words(stats[[c]])
        profile, counts = cluster_profile(component, model, stats[[c]]), words.toarray()[0]
        lift = profile / overall
        order = profile
        if by == "lift":
            common = counts >= max(2.0, 0.05 * size[0])
            order = np.where(common if common.any() else counts > 0, lift, -1.0)
        best = np.argsort(-order, kind="stable")[:n_words]
        out.append([Word(names[j], float(profile[j]), float(lift[j])) for j in best if counts[j] > 0])
    return out


def _total(stats: Any) -> Any:
    """The statistics of all clusters together."""
    return type(stats)(stats.sum(axis=0).reshape(1, -1))


def representative_rows(component: Any, model: Any, stats: Any, X: Any, labels: np.ndarray, n_rows: int) -> list[np.ndarray]:
    """The rows that stand for every cluster: of those with enough counts, what it predicts best for each of their counts.

    Of counts, predicting well means better than all rows together would, and a row has enough if its total is at least the
    median of its cluster. Of other data it means a high density.
    """
    counts = isinstance(component, CountComponent)
    out = []
    for c in range(stats.shape[0]):
        mine = np.flatnonzero(labels == c)
        rows = X[mine]
        score = component.log_predictives(model, stats[[c]], rows)[:, 0]
        if counts:
            totals = np.asarray(rows.sum(axis=1, dtype=np.float64)).ravel()
            score = (score - component.log_predictives(model, _total(stats), rows)[:, 0]) / np.maximum(totals, 1.0)
            score[totals < np.median(totals)] = -np.inf
        out.append(mine[np.argsort(-score, kind="stable")[:n_rows]])
    return out
