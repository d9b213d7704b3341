"""The point estimate: which draws it looks at, the best of them, and the partition with the least expected loss."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import NamedTuple

import numpy as np

from hashmix.partition.members import canonical_labels
from hashmix.posterior.estimate.groups import group_rows
from hashmix.posterior.estimate.losses import loss_values, pairwise_losses
from hashmix.posterior.estimate.search import least_expected_loss

__all__ = ["GroupedDraws", "best_draw", "evenly_spread", "group_draws", "n_draws_compared", "point_estimate"]

#: Largest and least number of draws that expected losses are averaged over, and the number of labels that decides.
MOST_DRAWS, LEAST_DRAWS, LABELS = 200, 20, 20_000_000
#: Labels looked at to compare draws in pairs: if all pairs have more, some draws are left out, down to the least number.
LABELS_OF_PAIRS = 50_000_000


class GroupedDraws(NamedTuple):
    """Draws as labels of groups of rows that none of them separates."""

    labels: np.ndarray  # (draw, group)
    weights: np.ndarray  # (group,) number of rows
    of_row: np.ndarray  # (row,) group


def n_draws_compared(n_rows: int) -> int:
    """How many draws a point estimate looks at, at most, so that its cost is bounded for any number of rows.

    Examples
    --------
    >>> from hashmix.posterior.estimate.point import n_draws_compared
    >>> n_draws_compared(1_000), n_draws_compared(400_000), n_draws_compared(10_000_000)
    (200, 50, 20)
    """
    return int(np.clip(LABELS // n_rows, LEAST_DRAWS, MOST_DRAWS))


def evenly_spread(total: int, most: int) -> np.ndarray:
    """At most ``most`` of the numbers 0 … total − 1, evenly spread, the first and the last included.

    Examples
    --------
    >>> from hashmix.posterior.estimate.point import evenly_spread
    >>> evenly_spread(10, 4).tolist(), evenly_spread(3, 4).tolist()
    ([0, 3, 6, 9], [0, 1, 2])
    """
    return np.unique(np.linspace(0, total - 1, min(total, most)).round().astype(int))


def group_draws(draws: Callable[[], Iterable[np.ndarray]]) -> GroupedDraws:
    """Draws as labels of groups of rows.

    Parameters
    ----------
    draws : callable
        Returns the labels of the draws, one after another; called twice, so that not all need to be in memory at once.

    Examples
    --------
    >>> import numpy as np
    >>> from hashmix.posterior.estimate.point import group_draws
    >>> group_draws(lambda: np.array([[0, 0, 0, 1], [0, 1, 1, 2]])).labels
    array([[0, 0, 1],
           [0, 1, 2]], dtype=int32)
    """
    groups = group_rows(draws())
    labels = np.stack([np.asarray(draw)[groups.first_rows] for draw in draws()])
    return GroupedDraws(labels.astype(np.int32, copy=False), groups.weights, groups.of_row)


def best_draw(draws: GroupedDraws, by_information: bool, log_joint: np.ndarray) -> int:
    """The draw with the least expected loss to the others; among equals, the one with the highest log joint.

    Examples
    --------
    >>> import numpy as np
    >>> from hashmix.posterior.estimate.point import best_draw, group_draws
    >>> draws = group_draws(lambda: np.array([[0, 0, 0, 1], [0, 0, 1, 1], [0, 0, 1, 1]]))
    >>> best_draw(draws, True, np.array([-3.0, -2.0, -1.0]))
    2
    """
    most = int(max(LEAST_DRAWS, np.sqrt(2.0 * LABELS_OF_PAIRS / len(draws.weights))))
    compared = evenly_spread(len(draws.labels), most)
    labels, values = draws.labels[compared], loss_values(len(draws.of_row), by_information)
    losses = pairwise_losses(labels, draws.weights, int(labels.max()) + 1, values).mean(axis=1)
    best = compared[losses <= losses.min() + 1e-12]
    return int(best[np.argmax(log_joint[best])])


def point_estimate(draws: GroupedDraws, best: int, by_information: bool, seed: int) -> np.ndarray:
    """The partition of the rows with the least expected loss that the search finds when it starts from one draw.

    It has no more clusters than the draw that has most. Labels are of shape (n_samples,), and numbered in the order of first
    appearance.

    Examples
    --------
    >>> import numpy as np
    >>> from hashmix.posterior.estimate.point import group_draws, point_estimate
    >>> draws = group_draws(lambda: np.array([[0, 0, 0, 1], [0, 0, 1, 1], [0, 0, 1, 1]]))
    >>> point_estimate(draws, 0, True, seed=0).tolist()
    [0, 0, 1, 1]
    """
    labels = least_expected_loss(draws.labels, draws.weights, draws.labels[best], by_information, seed)
    labels = canonical_labels(labels, int(labels.max()) + 1)[0]
    most = max(len(np.unique(draw)) for draw in draws.labels)
    if labels.max() >= most:
        labels = _with_fewer_clusters(labels, draws, most)
    return canonical_labels(labels[draws.of_row], int(labels.max()) + 1)[0]


def _with_fewer_clusters(labels: np.ndarray, draws: GroupedDraws, most: int) -> np.ndarray:
    """The labels without the smallest clusters, so that no more are left than some draw has.

    To be alone costs least for a row that is now in one cluster, now in another, such as a row of blanks. But no draw has it
    alone, and a user would see clusters that are none. Each such group joins the cluster that it is most often with.
    """
    sizes = np.bincount(labels, draws.weights)
    kept = np.sort(np.argsort(-sizes, kind="stable")[:most])
    out = labels.copy()
    for i in np.flatnonzero(~np.isin(labels, kept)):
        together = draws.weights * (draws.labels == draws.labels[:, [i]]).sum(axis=0)
        shares = np.bincount(labels, together, minlength=len(sizes)) / sizes
        out[i] = kept[np.argmax(shares[kept])]
    return out
