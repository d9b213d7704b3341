"""Split–merge with fair coins: the simplest baseline."""

from __future__ import annotations

from hashmix.moves.allocation import COINS, Allocation
from hashmix.moves.anchored import Anchored
from hashmix.moves.anchors import UNIFORM_ANCHORS
from hashmix.moves.contract import Proposal
from hashmix.partition.state import State

__all__ = ["RandomSplitMerge"]


class RandomSplitMerge(Proposal):
    """Random split–merge: two uniform rows; a split assigns the rest of their cluster by fair coins.

    Examples
    --------
    >>> import hashmix as hm
    >>> hm.moves.RandomSplitMerge()
    RandomSplitMerge()
    """

    works_in_parts = True

    def law(self, state: State) -> Anchored:
        return Anchored(UNIFORM_ANCHORS, Allocation(COINS))
