"""What clusters are about: their words, if the component has words, and their representative rows."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

__all__ = ["Word", "representative_rows", "top_words"]

#: A word is common in a cluster if it occurs at least this often per row, and at least this often in all.
_COMMON_PER_ROW, _COMMON_AT_LEAST = 0.05, 2.0


class Word(NamedTuple):
    """A column in a cluster: its name, its probability (or rate) there, and the ratio of this to that of all rows."""

    name: str
    probability: float
    lift: float


def top_words(component: Any, model: Any, stats: Any, names: list[str], n_words: int, by: str) -> list[list[Word]]:
    """The first words of every cluster, by probability or by lift.

    Parameters
    ----------
    component : Component
        One that has words.
    model, stats :
        Its model, and the statistics of the clusters: size first, counts of the words last.
    names : list of str
        Names of the words.
    n_words : int
        Number of words per cluster, at most.
    by : {"probability", "lift"}
        By lift, only words that are common in the cluster are named, if there are any.

    Examples
    --------
    >>> import numpy as np, hashmix as hm
    >>> from hashmix.posterior.describe.words import top_words
    >>> X, component = [[3, 1, 0], [0, 1, 4]], hm.components.DirichletMultinomial(0.5)
    >>> model = component.model(X)
    >>> stats = component.statistics(model, X, np.array([0, 1]), 2)
    >>> [[word.name for word in words] for words in top_words(component, model, stats, ["cat", "the", "oak"], 2, "lift")]
    [['cat'], ['oak']]
    """
    if not component.has_words:
        raise ValueError(f"top_words is for components that have words. Got {component!r} instead.")
    overall = component.word_profile(model, _total(stats))[0]
    out = []
    for c in range(stats.shape[0]):
        own = stats[[c]]
        profile, numbers = component.word_profile(model, own)[0], _dense(own)[0]
        size, counts = numbers[0], numbers[-len(profile) :]
        lift = profile / overall
        considered = counts > 0
        if by == "lift":
            common = counts >= max(_COMMON_AT_LEAST, _COMMON_PER_ROW * size)
            considered = common if common.any() else considered
        columns = np.flatnonzero(considered)
        best = columns[np.argsort(-(lift if by == "lift" else profile)[columns], kind="stable")[:n_words]]
        out.append([Word(names[j], float(profile[j]), float(lift[j])) for j in best])
    return out


def _dense(stats: Any) -> np.ndarray:
    return stats.toarray() if hasattr(stats, "toarray") else np.asarray(stats)


def _total(stats: Any) -> Any:
    """The statistics of all clusters together."""
    total = np.asarray(stats.sum(axis=0)).reshape(1, -1)
    return type(stats)(total) if hasattr(stats, "toarray") else total


def representative_rows(component: Any, model: Any, stats: Any, X: Any, labels: np.ndarray, n_rows: int) -> list[np.ndarray]:
    """The rows that represent every cluster: those that it predicts best.

    If the component has words, a row is predicted well if the cluster predicts it better, per count, than all rows together do;
    only rows whose total is at least the median of their cluster are considered. Otherwise it is predicted well if its density
    is high.

    Parameters
    ----------
    component, model, stats :
        The component, its model, and the statistics of the clusters.
    X : array or sparse matrix of shape (n_samples, n_features)
    labels : int array of shape (n_samples,)
        Cluster of each row.
    n_rows : int
        Number of rows per cluster, at most.

    Examples
    --------
    >>> import numpy as np, hashmix as hm
    >>> from hashmix.posterior.describe.words import representative_rows
    >>> X, labels = np.array([[0.0], [0.1], [0.5], [9.0]]), np.array([0, 0, 0, 1])
    >>> component = hm.components.DiagonalGaussian(4.0, 0.1, 2.0, 0.1)
    >>> model = component.model(X)
    >>> stats = component.statistics(model, X, labels, 2)
    >>> [rows.tolist() for rows in representative_rows(component, model, stats, X, labels, 1)]
    [[2], [3]]
    """
    out = []
    for c in range(stats.shape[0]):
        mine = np.flatnonzero(labels == c)
        rows = X[mine]
        score = component.log_predictives(model, stats[[c]], rows)[:, 0]
        if component.has_words:
            totals = np.asarray(rows.sum(axis=1, dtype=np.float64)).ravel()
            score = (score - component.log_predictives(model, _total(stats), rows)[:, 0]) / np.maximum(totals, 1.0)
            score[totals < np.median(totals)] = -np.inf
        out.append(mine[np.argsort(-score, kind="stable")[:n_rows]])
    return out
