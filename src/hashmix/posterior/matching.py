"""How draws compare with one partition: distances, the credible ball around it, and which cluster of a draw is which."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from scipy.optimize import linear_sum_assignment

from hashmix.compiling import borrowed, kernel

__all__ = ["CredibleBall", "credible_ball", "match_clusters", "row_certainty", "table_of"]


class CredibleBall(NamedTuple):
    """The draws nearest to an estimate that make up ``level`` of the posterior, and those at its edge.

    ``radius`` is the distance of the farthest of them; ``farthest``, ``fewest`` and ``most`` are (chain, draw): the farthest,
    and of those with the fewest and with the most clusters the farthest. ``distances`` are of all draws, (chain, draw).
    """

    level: float
    radius: float
    farthest: tuple[int, int]
    fewest: tuple[int, int]
    most: tuple[int, int]
    distances: np.ndarray


def credible_ball(distances: np.ndarray, n_clusters: np.ndarray, level: float) -> CredibleBall:
    """The ball of the nearest draws: as few of them as make up ``level`` of all.

    Examples
    --------
    >>> import numpy as np
    >>> from hashmix.posterior.matching import credible_ball
    >>> ball = credible_ball(np.array([[0.1, 0.4, 0.2, 0.9]]), np.array([[3, 2, 4, 9]]), 0.75)
    >>> ball.radius, ball.farthest, ball.fewest, ball.most
    (0.4, (0, 1), (0, 1), (0, 2))
    """
    flat, k = distances.ravel(), n_clusters.ravel()
    radius = np.sort(flat)[math.ceil(level * len(flat)) - 1]
    inside = np.flatnonzero(flat <= radius)

    def at_edge(chosen: np.ndarray) -> tuple[int, int]:
        return divmod(int(chosen[np.argmax(flat[chosen])]), distances.shape[1])

    fewest, most = inside[k[inside] == k[inside].min()], inside[k[inside] == k[inside].max()]
    return CredibleBall(level, float(radius), at_edge(inside), at_edge(fewest), at_edge(most), distances)


def table_of(estimate: np.ndarray, draw: np.ndarray, shape: tuple[int, int]) -> np.ndarray:
    """The contingency table of two partitions: how many rows are in each pair of clusters."""
    cells = np.bincount(estimate.astype(np.int64) * shape[1] + draw, minlength=shape[0] * shape[1])
    return cells.reshape(shape)


def match_clusters(table: np.ndarray) -> np.ndarray:
    """For each cluster of a draw (a column), the estimate's cluster it is matched with, or −1.

    The matching has as many rows as possible in pairs of clusters that are matched (the Hungarian method).

    Examples
    --------
    >>> import numpy as np
    >>> from hashmix.posterior.matching import match_clusters
    >>> match_clusters(np.array([[0, 5, 1], [4, 0, 0]])).tolist()
    [1, 0, -1]
    """
    mine, theirs = linear_sum_assignment(table, maximize=True)
    match = np.full(table.shape[1], -1, np.int64)
    overlap = table[mine, theirs] > 0
    match[theirs[overlap]] = mine[overlap]
    return match


@kernel
def row_certainty(estimate, draws, matches):
    """For every row, the share of draws in which it is in the cluster matched with its own, and the entropy over all.

    ``matches[s, c]`` is the cluster matched with cluster c of draw s. Rows in clusters without a match count as together.
    """
    estimate, draws, matches = borrowed(estimate), borrowed(draws), borrowed(matches)
    n_draws, n = draws.shape
    probability, entropy = np.empty(n), np.empty(n)
    found = np.empty(n_draws, np.int64)
    counts = np.empty(n_draws, np.int64)
    for i in range(n):
        k = 0
        own = 0
        for s in range(n_draws):
            cluster = matches[s, draws[s, i]]
            own += cluster == estimate[i]
            at = 0
            while at < k and found[at] != cluster:
                at += 1
            if at == k:
                found[k], counts[k] = cluster, 0
                k += 1
            counts[at] += 1
        probability[i] = own / n_draws
        total = 0.0
        for at in range(k):
            share = counts[at] / n_draws
            total -= share * math.log(share)
        entropy[i] = total
    return probability, entropy
