"""Merges of hashed neighbours that overlap."""

from __future__ import annotations

from typing import Any

import numpy as np

from hashmix.moves.anchored import run_anchored
from hashmix.moves.anchors import SIMILAR, Anchors
from hashmix.moves.hashed import HashedMove
from hashmix.moves.restricted import SEQUENTIAL, Law
from hashmix.state import State

__all__ = ["NeighbourMerge"]

#: How many points a split of two neighbours' common cluster may deal on average: there is a better move for these.
SPLIT_POINTS = 4.0


class NeighbourMerge(HashedMove):
    """Smart merge, smart split: a point and a mate of it in the hash tables; a split deals the others by what predicts them.

    Where clusters lie apart, :class:`UrnMerge` does the same for less. Where they overlap, a blind urn would hardly ever
    part their union as they are parted now, and so hardly ever allows it; an allocation by what predicts the points does.
    Most merges are rejected before that allocation is gone through.

    Parameters
    ----------
    n_bits, n_tables : int, default=32 and 16
        Of the hash tables, or of the orders in which neighbours are found.
    refresh : int or None, default=None
        Sweeps between fresh hash functions; None keeps the first ones.
    family : {"sign-projection", "minhash", "neighbours"}, default="neighbours"
        What rows that share a bucket have in common: direction from the mean, weighted Jaccard of their sign split, or
        being neighbours (:class:`hashmix.hashing.Neighbours`).

    Examples
    --------
    >>> import hashmix as hm
    >>> hm.moves.NeighbourMerge()
    NeighbourMerge(n_bits=32, n_tables=16, refresh=None, family='neighbours')
    """

    def __init__(self, n_bits: int = 32, n_tables: int = 16, refresh: int | None = None, family: str = "neighbours") -> None:
        super().__init__(n_bits, n_tables, refresh, family)

    def units_per_call(self, state: State) -> int:
        return min(10_000, max(50, 10_000_000 // len(state.partition.labels)))

    def run_units(self, rng: Any, state: State, begin: int, end: int, counts: np.ndarray) -> int:
        anchors = Anchors(SIMILAR, SPLIT_POINTS, self.tables(state).arrays)
        return run_anchored(rng, anchors, Law(SEQUENTIAL), state.arrays, state.target, begin, end, counts)
