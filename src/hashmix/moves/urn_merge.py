"""Merges of hashed neighbours, each at the cost of one marginal likelihood."""

from __future__ import annotations

from typing import Any

import numpy as np

from hashmix.moves.anchored import run_anchored
from hashmix.moves.anchors import SIMILAR, Anchors
from hashmix.moves.hashed import HashedMove
from hashmix.moves.restricted import URN, Law
from hashmix.state import State

__all__ = ["UrnMerge"]

#: How many points a blind split, attempted when both anchors are in one cluster, may deal on average: it is nearly always
#: rejected. It is attempted the less often the larger the cluster, and merges pay for that with as much in their ratio.
SPLIT_POINTS = 0.2


class UrnMerge(HashedMove):
    """Smart merge, dumb split: a point and a mate of it in the hash tables; a split deals their cluster by a Pólya urn.

    The urn's probability depends on sizes alone, and cancels the Dirichlet process's: a merge takes one marginal
    likelihood, whatever the sizes.

    Parameters
    ----------
    n_bits, n_tables : int, default=10
        Of the hash tables.
    refresh : int or None, default=10
        Sweeps between fresh hash functions; None keeps the first ones.
    family : {"sign-projection", "minhash", "neighbours"}, default="sign-projection"
        What rows that share a bucket have in common: direction from the mean, weighted Jaccard of their sign split, or
        being neighbours (:class:`hashmix.hashing.Neighbours`).

    Examples
    --------
    >>> import hashmix as hm
    >>> hm.moves.UrnMerge(n_bits=12)
    UrnMerge(n_bits=12, n_tables=10, refresh=10, family='sign-projection')
    """

    def __init__(self, n_bits: int = 10, n_tables: int = 10, refresh: int | None = 10, family: str = "sign-projection") -> None:
        super().__init__(n_bits, n_tables, refresh, family)

    def units_per_call(self, state: State) -> int:
        return min(10_000, max(50, 20_000_000 // len(state.partition.labels)))

    def run_units(self, rng: Any, state: State, begin: int, end: int, counts: np.ndarray) -> int:
        anchors = Anchors(SIMILAR, SPLIT_POINTS, self.tables(state).arrays)
        return run_anchored(rng, anchors, Law(URN), state.arrays, state.target, begin, end, counts)
