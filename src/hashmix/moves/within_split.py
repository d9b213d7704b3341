"""Splits of what is one cluster now."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from hashmix.hashing.tables import NO_TABLES
from hashmix.moves.anchored import run_anchored
from hashmix.moves.anchors import WITHIN, Anchors
from hashmix.moves.contract import Move
from hashmix.moves.restricted import SEQUENTIAL, Law
from hashmix.state import State

__all__ = ["WithinSplit"]


class WithinSplit(Move):
    """Smart split, dumb merge: two points of one cluster; the others, in a random order, join the side that predicts them.

    The merge takes two uniform clusters and is rejected early in nearly all cases. Which half is attempted is decided by a
    fair coin, and the ratio carries that anchors are drawn within clusters.

    Examples
    --------
    >>> import hashmix as hm
    >>> hm.moves.WithinSplit()
    WithinSplit()
    """

    def expected_work(self, state: State) -> float:
        # Half of the proposals are splits, of clusters that are the likelier the larger.
        sizes = state.sizes.astype(np.float64)
        return 4.0 + 1.5 * float((sizes * sizes).sum() / sizes.sum())

    def run_units(self, rng: Any, state: State, begin: int, end: int, counts: np.ndarray) -> int:
        anchors, law = Anchors(WITHIN, math.inf, NO_TABLES), Law(SEQUENTIAL)
        return run_anchored(rng, anchors, law, state.arrays, state.target, begin, end, counts)
