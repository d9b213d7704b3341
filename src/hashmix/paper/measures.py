"""Quality measures of the paper, and the time a chain needs to reach a given level."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.optimize import linear_sum_assignment
from sklearn.metrics import normalized_mutual_info_score
from sklearn.metrics.cluster import contingency_matrix

__all__ = ["accuracy", "nmi", "reached"]


def nmi(truth: Any, labels: Any) -> float:
    """Normalised mutual information: mutual information divided by the geometric mean of the entropies.

    Examples
    --------
    >>> from hashmix.paper.measures import nmi
    >>> nmi([0, 0, 1, 1], [5, 5, 3, 3])
    1.0
    """
    return float(normalized_mutual_info_score(truth, labels, average_method="geometric"))


def accuracy(truth: Any, labels: Any) -> float:
    """Fraction of rows whose cluster is matched with their true cluster.

    Clusters are matched one to one so that the fraction is largest (the Hungarian method).

    Examples
    --------
    >>> from hashmix.paper.measures import accuracy
    >>> accuracy([0, 0, 1, 1], [7, 7, 3, 7])
    0.75
    """
    contingency = contingency_matrix(truth, labels)
    rows, columns = linear_sum_assignment(contingency, maximize=True)
    return float(contingency[rows, columns].sum() / len(np.asarray(truth)))


def reached(curve: dict[str, list], level: float) -> float | None:
    """Seconds until the log joint of a curve first reaches ``level``, or None if it never does.

    Parameters
    ----------
    curve : dict
        Lists of equal length under ``"seconds"`` and ``"log_joint"``.
    level : float

    Examples
    --------
    >>> from hashmix.paper.measures import reached
    >>> reached({"seconds": [0.0, 1.5, 3.0], "log_joint": [-9.0, -5.0, -4.0]}, -5.0)
    1.5
    """
    hits = np.flatnonzero(np.asarray(curve["log_joint"]) >= level)
    return float(curve["seconds"][hits[0]]) if len(hits) else None
