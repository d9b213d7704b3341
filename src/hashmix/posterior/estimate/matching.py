"""How draws compare with one partition: the credible ball around it, and which clusters correspond to each other."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from scipy.optimize import linear_sum_assignment

from hashmix.core.compiling import borrowed, kernel

__all__ = ["CredibleBall", "contingency_table", "credible_ball", "match_clusters", "row_certainty"]


class CredibleBall(NamedTuple):
    """The draws nearest to an estimate that make up ``level`` of the posterior, and those at its edge.

    ``radius`` is the distance of the farthest of them. ``farthest``, ``fewest`` and ``most`` are (chain, draw): the farthest
    draw in the ball, and the farthest among those with the fewest and with the most clusters. ``distances`` has those of all
    draws, in and outside the ball, (chain, draw).

    Examples
    --------
    >>> import numpy as np, hashmix as hm
    >>> posterior = hm.sample(np.random.default_rng(0).normal(size=(20, 2)), n_draws=40, random_state=0)
    >>> posterior.credible_ball().distances.shape
    (1, 40)
    """

    level: float
    radius: float
    farthest: tuple[int, int]
    fewest: tuple[int, int]
    most: tuple[int, int]
    distances: np.ndarray


def credible_ball(distances: np.ndarray, n_clusters: np.ndarray, level: float) -> CredibleBall:
    """The smallest ball of draws that makes up ``level`` of all.

    Examples
    --------
    >>> import numpy as np
    >>> from hashmix.posterior.estimate.matching import credible_ball
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


def contingency_table(estimate: np.ndarray, draw: np.ndarray, shape: tuple[int, int]) -> np.ndarray:
    """The contingency table of two partitions: how many rows are in each pair of clusters.

    Examples
    --------
    >>> import numpy as np
    >>> from hashmix.posterior.estimate.matching import contingency_table
    >>> contingency_table(np.array([0, 0, 1]), np.array([1, 1, 0]), (2, 2))
    array([[0, 2],
           [1, 0]])
    """
    cells = np.bincount(estimate.astype(np.int64) * shape[1] + draw, minlength=shape[0] * shape[1])
    return cells.reshape(shape)


def match_clusters(contingency: np.ndarray) -> np.ndarray:
    """For each cluster of a draw, the estimate's cluster it is matched with, or −1.

    The matching maximises the number of rows in matched pairs of clusters (Hungarian method).

    Parameters
    ----------
    contingency : int array of shape (n_clusters of the estimate, n_clusters of the draw)

    Examples
    --------
    >>> import numpy as np
    >>> from hashmix.posterior.estimate.matching import match_clusters
    >>> match_clusters(np.array([[0, 5, 1], [4, 0, 0]])).tolist()
    [1, 0, -1]
    """
    mine, theirs = linear_sum_assignment(contingency, maximize=True)
    match = np.full(contingency.shape[1], -1, np.int64)
    overlap = contingency[mine, theirs] > 0
    match[theirs[overlap]] = mine[overlap]
    return match


@kernel
def row_certainty(estimate, draws, matches):
    """For every row, the share of draws in which it is in the cluster matched with its own, and the entropy of its cluster.

    ``matches[s, c]`` is the cluster matched with cluster c of draw s. Clusters without a match count as one.
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
