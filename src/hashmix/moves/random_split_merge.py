"""Split–merge with fair coins: the simplest baseline."""

from __future__ import annotations

from typing import Any

import numpy as np

from hashmix.moves.anchored import run_anchored
from hashmix.moves.anchors import UNIFORM_ANCHORS
from hashmix.moves.contract import Move
from hashmix.moves.restricted import COINS, Law
from hashmix.state import State

__all__ = ["RandomSplitMerge"]


class RandomSplitMerge(Move):
    """Random split–merge: two uniform points; a split deals the rest of their cluster by fair coins.

    Examples
    --------
    >>> import hashmix as hm
    >>> hm.moves.RandomSplitMerge()
    RandomSplitMerge()
    """

    def run_units(self, rng: Any, state: State, begin: int, end: int, counts: np.ndarray) -> int:
        return run_anchored(rng, UNIFORM_ANCHORS, Law(COINS), state.arrays, state.target, begin, end, counts)
