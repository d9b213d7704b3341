"""How good labels are, as the paper has it, and how soon a chain was as good as another became."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.optimize import linear_sum_assignment
from sklearn.metrics import normalized_mutual_info_score
from sklearn.metrics.cluster import contingency_matrix

__all__ = ["accuracy", "nmi", "reached"]


def nmi(truth: Any, labels: Any) -> float:
    """Mutual information over the geometric mean of the entropies.

    Examples
    --------
    >>> from hashmix.paper.measures import nmi
    >>> nmi([0, 0, 1, 1], [5, 5, 3, 3])
    1.0
    """
    return float(normalized_mutual_info_score(truth, labels, average_method="geometric"))


def accuracy(truth: Any, labels: Any) -> float:
    """The share of rows in the cluster that is matched with their true one, by the best matching (the Hungarian method).

    Examples
    --------
    >>> from hashmix.paper.measures import accuracy
    >>> accuracy([0, 0, 1, 1], [7, 7, 3, 7])
    0.75
    """
    table = contingency_matrix(truth, labels)
    rows, columns = linear_sum_assignment(table, maximize=True)
    return float(table[rows, columns].sum() / len(np.asarray(truth)))


def reached(curve: dict[str, list], level: float) -> float | None:
    """Seconds after which a curve's log joint first was at ``level`` or above; None if it never was.

    Examples
    --------
    >>> from hashmix.paper.measures import reached
    >>> reached({"seconds": [0.0, 1.5, 3.0], "log_joint": [-9.0, -5.0, -4.0]}, -5.0)
    1.5
    """
    hits = np.flatnonzero(np.asarray(curve["log_joint"]) >= level)
    return float(curve["seconds"][hits[0]]) if len(hits) else None
