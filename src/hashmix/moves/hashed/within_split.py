"""Splits of one cluster, from two of its rows."""

from __future__ import annotations

import math

import numpy as np

from hashmix.core.validation import check_choice
from hashmix.hashing.tables import NO_TABLES
from hashmix.moves.allocation import SCANS_FROM_NEAREST, SEQUENTIAL, Allocation
from hashmix.moves.anchored import Anchored
from hashmix.moves.anchors import WITHIN, Anchors
from hashmix.moves.contract import Proposal
from hashmix.partition.state import State

__all__ = ["WithinSplit"]


class WithinSplit(Proposal):
    """Smart split, dumb merge: two rows of one cluster start the sides, and the other rows are assigned to them.

    The merge takes two uniform clusters and is nearly always rejected early. A fair coin decides which half is attempted,
    and the ratio accounts for anchors that are drawn within clusters.

    Parameters
    ----------
    launch : {"sequential", "nearest"}, default="sequential"
        How rows are assigned: in a random order, each to the side that predicts it so far; or each to the anchor that alone
        predicts it better, followed by one restricted Gibbs scan. The first is cheaper. The second also works if one row says
        little about its cluster, as with texts: in a sequential pass, rows then follow the larger side.

    Examples
    --------
    >>> import hashmix as hm
    >>> hm.moves.WithinSplit()
    WithinSplit(launch='sequential')
    """

    works_in_parts = True

    def __init__(self, launch: str = "sequential") -> None:
        self.launch: str = check_choice("WithinSplit", "launch", launch, ["sequential", "nearest"])

    def expected_work(self, state: State) -> float:
        # Half of the proposals are splits, of clusters chosen by size; see work_per_row.
        sizes = state.sizes.astype(np.float64)
        return 4.0 + (2.5 if self.launch == "nearest" else 1.5) * float((sizes * sizes).sum() / sizes.sum())

    def law(self, state: State) -> Anchored:
        kind = SCANS_FROM_NEAREST if self.launch == "nearest" else SEQUENTIAL
        return Anchored(Anchors(WITHIN, math.inf, NO_TABLES), Allocation(kind))
