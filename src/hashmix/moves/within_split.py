"""Splits of what is one cluster now."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from hashmix.hashing.tables import NO_TABLES
from hashmix.moves.anchored import run_anchored
from hashmix.moves.anchors import WITHIN, Anchors
from hashmix.moves.contract import Move
from hashmix.moves.restricted import SCANS_FROM_NEAREST, SEQUENTIAL, Law
from hashmix.state import State
from hashmix.validation import check_choice

__all__ = ["WithinSplit"]


class WithinSplit(Move):
    """Smart split, dumb merge: two points of one cluster, to the sides of which the others are dealt.

    The merge takes two uniform clusters and is rejected early in nearly all cases. Which half is attempted is decided by a
    fair coin, and the ratio carries that anchors are drawn within clusters.

    Parameters
    ----------
    launch : {"sequential", "nearest"}, default="sequential"
        How: in a random order, each to the side that predicts it so far; or at first each to the anchor that alone predicts
        it better, then by one restricted Gibbs scan. The first is cheaper. Where one row says little of its cluster, as one
        text does, it follows whatever side is larger, and the second still divides.

    Examples
    --------
    >>> import hashmix as hm
    >>> hm.moves.WithinSplit()
    WithinSplit(launch='sequential')
    """

    def __init__(self, launch: str = "sequential") -> None:
        self.launch = check_choice("WithinSplit", "launch", launch, ["sequential", "nearest"])

    def expected_work(self, state: State) -> float:
        # Half of the proposals are splits, of clusters that are the likelier the larger; see work_per_point.
        sizes = state.sizes.astype(np.float64)
        return 4.0 + (2.5 if self.launch == "nearest" else 1.5) * float((sizes * sizes).sum() / sizes.sum())

    def run_units(self, rng: Any, state: State, begin: int, end: int, counts: np.ndarray) -> int:
        anchors = Anchors(WITHIN, math.inf, NO_TABLES)
        law = Law(SCANS_FROM_NEAREST if self.launch == "nearest" else SEQUENTIAL)
        return run_anchored(rng, anchors, law, state.arrays, state.target, begin, end, counts)
