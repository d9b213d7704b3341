"""A tree over the clusters of an estimate: which clusters belong together, at every level from all of them to one.

Clusters with fewer rows than a quarter of the average are joined first, the smallest first, each with the cluster nearest to
it. Otherwise a few unusual rows would keep a level for themselves. Then the two clusters with the least
n_a n_b/(n_a + n_b) · d are joined, until one is left: Ward's criterion with distances instead of their squares. d is the
distance between clusters in coordinates of the component (:meth:`hashmix.components.Component.positions`): for Gaussians, in
units of the spread within clusters. Only sizes and positions are needed, no rows.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from hashmix.core.compiling import borrowed, helper, kernel

__all__ = ["Levels", "compare_levels", "cut_linkage", "join_clusters"]

#: Up to this many clusters, all levels are compared; beyond, so many more, in geometric steps.
_ALL_LEVELS, _MORE_LEVELS = 60, 60
#: A cluster is small if it has less than this share of the average number of rows.
_SMALL = 0.25
#: A level is reproducible if its agreement is within this of the best, and not at all if it is below the least.
_TOLERANCE, _LEAST_AGREEMENT = 0.05, 0.25


# ---- joining ---------------------------------------------------------------------------------------------------------------


@helper
def _distance(positions, a, b):
    total = 0.0
    for j in range(positions.shape[1]):
        offset = positions[a, j] - positions[b, j]
        total += offset * offset
    return math.sqrt(total)


@helper
def _height(positions, sizes, a, b):
    return sizes[a] * sizes[b] / (sizes[a] + sizes[b]) * _distance(positions, a, b)


@helper
def _find_nearest(positions, sizes, alive, a, nearest, least):
    """Find the cluster after a that is cheapest to join with it."""
    least[a], nearest[a] = math.inf, -1
    for b in range(a + 1, len(sizes)):
        if alive[b]:
            height = _height(positions, sizes, a, b)
            if height < least[a]:
                least[a], nearest[a] = height, b


@helper
def _unite(positions, sizes, alive, a, b):
    """Let b be the union of a and b."""
    share = sizes[a] / (sizes[a] + sizes[b])
    for j in range(positions.shape[1]):
        positions[b, j] += share * (positions[a, j] - positions[b, j])
    sizes[b] += sizes[a]
    alive[a] = False


@helper
def _join_small(positions, sizes, alive, joined, heights, least_size):
    """Join clusters of fewer rows with the nearest, the smallest first; return the number of steps."""
    k = len(sizes)
    for step in range(k - 1):
        a = -1
        for c in range(k):
            if alive[c] and (a < 0 or sizes[c] < sizes[a]):
                a = c
        if sizes[a] >= least_size:
            return step
        b, nearest = -1, math.inf
        for c in range(k):
            if alive[c] and c != a:
                distance = _distance(positions, a, c)
                if distance < nearest:
                    b, nearest = c, distance
        joined[step, 0], joined[step, 1], heights[step] = a, b, _height(positions, sizes, a, b)
        _unite(positions, sizes, alive, a, b)
    return k - 1


@kernel
def _join(positions, sizes, joined, heights, least_size):
    """Join clusters until one is left, and return the number of steps in which small ones were joined.

    Positions and sizes are overwritten: a union takes the place of its second part.
    """
    positions, sizes, joined, heights = borrowed(positions), borrowed(sizes), borrowed(joined), borrowed(heights)
    k = len(sizes)
    alive = np.ones(k, np.bool_)
    n_small = _join_small(positions, sizes, alive, joined, heights, least_size)
    nearest, least = np.empty(k, np.int64), np.empty(k)
    for a in range(k):
        if alive[a]:
            _find_nearest(positions, sizes, alive, a, nearest, least)
    for step in range(n_small, k - 1):
        a = -1
        for c in range(k):
            if alive[c] and (a < 0 or least[c] < least[a]):
                a = c
        b = nearest[a]
        joined[step, 0], joined[step, 1], heights[step] = a, b, least[a]
        _unite(positions, sizes, alive, a, b)
        for c in range(b):
            if not alive[c]:
                continue
            if nearest[c] == a or nearest[c] == b:
                _find_nearest(positions, sizes, alive, c, nearest, least)
            else:
                height = _height(positions, sizes, c, b)
                if height < least[c]:
                    least[c], nearest[c] = height, b
        _find_nearest(positions, sizes, alive, b, nearest, least)
    return n_small


def join_clusters(positions: np.ndarray, sizes: np.ndarray) -> np.ndarray:
    """Join small clusters with their nearest, then the two that are cheapest to join, until one is left.

    Parameters
    ----------
    positions : array of shape (n_clusters, n_coordinates)
        Where clusters are; Euclidean distances say how different they are.
    sizes : array of shape (n_clusters,)

    Returns
    -------
    array of shape (n_clusters - 1, 4)
        A linkage matrix as SciPy has it. Heights never decrease; those of small clusters are at most that of the first join
        of two others.

    Examples
    --------
    >>> import numpy as np
    >>> from hashmix.posterior.tree import join_clusters
    >>> join_clusters(np.array([[0.0], [1.0], [9.0]]), np.array([5, 5, 10]))
    array([[ 0. ,  1. ,  2.5,  2. ],
           [ 2. ,  3. , 42.5,  3. ]])
    """
    k = len(sizes)
    joined, heights = np.empty((k - 1, 2), np.int64), np.empty(k - 1)
    sizes = np.array(sizes, np.float64)
    n_small = _join(np.array(positions, np.float64), sizes, joined, heights, _SMALL * sizes.mean())
    heights[:n_small] = np.minimum(heights[:n_small], heights[n_small:].min(initial=np.inf))
    out = np.empty((k - 1, 4))
    number, leaves = np.arange(k), np.ones(k)
    for step, (a, b) in enumerate(joined.tolist()):
        leaves[b] += leaves[a]
        out[step] = *sorted((number[a], number[b])), heights[step], leaves[b]
        number[b] = k + step
    np.maximum.accumulate(out[:, 2], out=out[:, 2])
    return out


def cut_linkage(linkage: np.ndarray, n_clusters: int) -> np.ndarray:
    """The group of every cluster when the tree is cut into ``n_clusters`` groups, numbered in the order of first appearance.

    Examples
    --------
    >>> import numpy as np
    >>> from hashmix.posterior.tree import cut_linkage, join_clusters
    >>> cut_linkage(join_clusters(np.array([[0.0], [1.0], [9.0]]), np.array([5, 5, 10])), 2)
    array([0, 0, 1])
    """
    k = len(linkage) + 1
    root = np.arange(2 * k - 1)
    # From the top down: what was joined after the cut stays apart.
    for step in range(k - n_clusters - 1, -1, -1):
        root[linkage[step, :2].astype(np.int64)] = root[k + step]
    _, first, groups = np.unique(root[:k], return_index=True, return_inverse=True)
    return np.argsort(np.argsort(first))[groups]


# ---- levels ----------------------------------------------------------------------------------------------------------------


class Levels(NamedTuple):
    """How well two halves of the rows agree at every level of their trees.

    Attributes
    ----------
    n_clusters : int array
        Levels.
    agreement : array
        Adjusted Rand index of the two halves' labels at each level.
    reproducible : int
        The finest level with an agreement within 0.05 of the best; 1 if no level has an agreement of 0.25.
    """

    n_clusters: np.ndarray
    agreement: np.ndarray
    reproducible: int


def compare_levels(table: np.ndarray, first: np.ndarray, second: np.ndarray) -> Levels:
    """Compare two trees level by level.

    Parameters
    ----------
    table : array of shape (K1, K2)
        How many rows are in each cluster of the first and of the second estimate.
    first, second : arrays
        Linkage matrices of the two estimates.

    Examples
    --------
    >>> import numpy as np
    >>> from hashmix.posterior.tree import compare_levels, join_clusters
    >>> tree = join_clusters(np.array([[0.0], [1.0], [9.0]]), np.array([5, 5, 10]))
    >>> compare_levels(np.array([[3, 2, 0], [2, 3, 0], [0, 0, 10]]), tree, tree).reproducible
    2
    """
    most = min(table.shape)
    if most < 2:
        return Levels(np.array([1]), np.array([1.0]), 1)
    levels = np.arange(2, min(most, _ALL_LEVELS) + 1)
    if most > _ALL_LEVELS:
        levels = np.unique(np.append(levels, np.geomspace(_ALL_LEVELS, most, _MORE_LEVELS).round().astype(int)))
    agreement = np.array([_rand_index(_grouped(table, cut_linkage(first, k), cut_linkage(second, k))) for k in levels])
    best = agreement.max()
    reproducible = int(levels[agreement >= best - _TOLERANCE].max()) if best >= _LEAST_AGREEMENT else 1
    return Levels(levels, agreement, reproducible)


def _grouped(table: np.ndarray, rows: np.ndarray, columns: np.ndarray) -> np.ndarray:
    """The contingency table of groups of rows and columns."""
    by_row = np.zeros((rows.max() + 1, table.shape[1]))
    np.add.at(by_row, rows, table)
    out = np.zeros((columns.max() + 1, len(by_row)))
    np.add.at(out, columns, by_row.T)
    return out.T


def _rand_index(table: np.ndarray) -> float:
    """Adjusted Rand index of a contingency table."""

    def pairs(counts: np.ndarray) -> float:
        return float((counts * (counts - 1.0)).sum() / 2.0)

    together, a, b = pairs(table), pairs(table.sum(axis=1)), pairs(table.sum(axis=0))
    expected = a * b / pairs(table.sum(keepdims=True))
    most = 0.5 * (a + b)
    return 1.0 if most == expected else (together - expected) / (most - expected)
