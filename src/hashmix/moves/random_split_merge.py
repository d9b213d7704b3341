"""Split–merge with fair coins: the simplest baseline."""

from __future__ import annotations

from typing import Any

import numpy as np

from hashmix.moves.anchored import run_anchored
from hashmix.moves.contract import Move
from hashmix.moves.restricted import COINS, Law
from hashmix.state import Arrays, Target

__all__ = ["RandomSplitMerge"]


class RandomSplitMerge(Move):
    """Random split–merge: two uniform points; a split deals the rest of their cluster by fair coins.

    Examples
    --------
    >>> import hashmix as hm
    >>> hm.moves.RandomSplitMerge()
    RandomSplitMerge()
    """

    def run_units(self, rng: Any, arrays: Arrays, target: Target, begin: int, end: int, counts: np.ndarray) -> int:
        return run_anchored(rng, Law(COINS, 0), arrays, target, begin, end, counts)
