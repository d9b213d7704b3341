"""Sequentially-allocated merge–split (Dahl)."""

from __future__ import annotations

from hashmix.moves.allocation import SEQUENTIAL, Allocation
from hashmix.moves.anchored import Anchored
from hashmix.moves.anchors import UNIFORM_ANCHORS
from hashmix.moves.contract import Proposal
from hashmix.partition.state import State

__all__ = ["SAMS"]


class SAMS(Proposal):
    """Sequentially-allocated merge–split: one pass in a random order, in which each row joins the side that predicts it.

    Examples
    --------
    >>> import hashmix as hm
    >>> hm.moves.SAMS()
    SAMS()
    """

    works_in_parts = True

    def law(self, state: State) -> Anchored:
        return Anchored(UNIFORM_ANCHORS, Allocation(SEQUENTIAL))
