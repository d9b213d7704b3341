"""Pairs of anchors whose clusters are disjoint: one split or merge each, all proposed at once."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from hashmix.core.compiling import borrowed, kernel
from hashmix.core.counter import address, uniform_at

__all__ = ["MERGES", "Pairs", "disjoint_pairs"]

#: Share of merges among the pairs whose rows are drawn within clusters.
MERGES = 0.1

# What a counter-based number is for.
_ANCHORS = 1


class Pairs(NamedTuple):
    """Pairs of anchors that are left, their clusters (the same for a split), and the log uniform numbers that decide."""

    u: np.ndarray
    v: np.ndarray
    of_u: np.ndarray
    of_v: np.ndarray
    log_uniform: np.ndarray

    @property
    def is_split(self) -> np.ndarray:
        return self.of_u == self.of_v

    def keep(self, which: np.ndarray) -> Pairs:
        return Pairs(*(part[which] for part in self))


@kernel
def disjoint_pairs(seed, n_pairs, within, cell, begins, order, partition):
    """Draw pairs of rows, each with the uniform number that decides on it, and leave out those that meet a cluster of an
    earlier pair that was not left out.

    If rows are drawn ``within`` clusters, a coin decides between a split, for which v is a uniform member of u's cluster, and
    a merge, for which v is any row. The rows of clusters that earlier pairs met are the same on the way back. Given these,
    the choice of a pair depends on its own clusters alone, so that each proposal leaves the posterior of the rest as it is.
    """
    cell, begins, order, partition = borrowed(cell), borrowed(begins), borrowed(order), borrowed(partition)
    labels = partition.labels
    n, found = len(labels), 0
    touched = np.zeros(len(partition.sizes), np.bool_)
    out, uniforms = np.empty((4, n_pairs), np.int32), np.empty(n_pairs)
    for b in range(n_pairs):
        place = address(seed, _ANCHORS, b)
        u = int(uniform_at(place, 0) * n)
        of_u = labels[u]
        if touched[of_u]:
            continue
        merges = within and uniform_at(place, 3) < MERGES
        if within and not merges:
            begin, last = partition.starts[of_u], partition.sizes[of_u] - 1
            v = partition.pool[begin + int(uniform_at(place, 1) * last)]
            v = partition.pool[begin + last] if v == u else v
        elif len(cell) > 0 and begins[cell[u] + 1] - begins[cell[u]] > 1:
            begin, end = begins[cell[u]], begins[cell[u] + 1]
            v = order[begin + int(uniform_at(place, 1) * (end - begin))]
        else:
            v = int(uniform_at(place, 1) * n)
        of_v = labels[v]
        if touched[of_v] or (u == v and not within):
            continue
        touched[of_u] = touched[of_v] = True
        if u == v or (merges and of_u == of_v):
            continue
        out[0, found], out[1, found], out[2, found], out[3, found] = u, v, of_u, of_v
        uniforms[found] = uniform_at(place, 2)
        found += 1
    return out[:, :found].copy(), uniforms[:found].copy()
