"""Exchanges of points between the clusters of hashed mates."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from hashmix.compiling import borrowed, kernel
from hashmix.moves.anchored import ACCEPTED, PROPOSED, WORK
from hashmix.moves.anchors import SIMILAR, Anchors, draw_anchors
from hashmix.moves.hashed import HashedMove
from hashmix.moves.restricted import gather, restricted_scan
from hashmix.moves.room import out_of_room
from hashmix.partition import move_point
from hashmix.rng import bernoulli
from hashmix.state import State

__all__ = ["Exchange"]


@kernel
def run_exchange(rng, anchors, arrays, target, begin, end, counts):
    """Proposals number begin … end − 1; stops early when free slots run out.

    Points u and v are drawn without looking at the partition. Are they apart, every other point of their two clusters
    chooses between the two by its full conditional; u and v stay, so that the union and the two clusters do.
    """
    rng, anchors, arrays, target = borrowed(rng), borrowed(anchors), borrowed(arrays), borrowed(target)
    partition, points, sides = arrays.partition, arrays.scratch.points, arrays.scratch.sides
    if len(partition.labels) < 2:
        return end
    for step in range(begin, end):
        if out_of_room(arrays, target):
            return step
        u, v = draw_anchors(rng, anchors, partition)
        first, second = partition.labels[u], partition.labels[v]
        counts[WORK] += 1
        if first == second:
            continue
        m = gather(arrays, first, second, u, v)
        if bernoulli(rng, 0.5):  # forwards or backwards: each is the other's way back
            for j in range(m // 2):
                points[j], points[m - 1 - j] = points[m - 1 - j], points[j]
        for j in range(m):
            sides[j] = 0 if partition.labels[points[j]] == first else 1
        restricted_scan(rng, arrays, target, u, first, second, m, False)
        moved = False
        for j in range(m):
            slot = first if sides[j] == 0 else second
            if partition.labels[points[j]] != slot:
                move_point(partition, points[j], slot)
                moved = True
        counts[PROPOSED] += 1
        counts[ACCEPTED] += 1 if moved else 0
        counts[WORK] += 2 * m
    return end


class Exchange(HashedMove):
    """A restricted Gibbs scan over the clusters of a point and a mate of it in the hash tables.

    Splits and merges alone never undo a bad cut but as a whole; between two clusters that are next to each other, points
    choose anew. Neither appears nor vanishes.

    Parameters
    ----------
    n_bits, n_tables : int, default=1 and 10
        Of the hash tables.
    refresh : int or None, default=10
        Sweeps between fresh hash functions; None keeps the first ones.
    family : {"sign-projection", "minhash", "neighbours"}, default="minhash"
        What rows that share a bucket have in common: direction from the mean, weighted Jaccard of their sign split, or
        being neighbours (:class:`hashmix.hashing.Neighbours`).

    Examples
    --------
    >>> import hashmix as hm
    >>> hm.moves.Exchange()
    Exchange(n_bits=1, n_tables=10, refresh=10, family='minhash')
    """

    def __init__(self, n_bits: int = 1, n_tables: int = 10, refresh: int | None = 10, family: str = "minhash") -> None:
        super().__init__(n_bits, n_tables, refresh, family)

    def run_units(self, rng: Any, state: State, begin: int, end: int, counts: np.ndarray) -> int:
        anchors = Anchors(SIMILAR, math.inf, self.tables(state).arrays)
        return run_exchange(rng, anchors, state.arrays, state.target, begin, end, counts)
