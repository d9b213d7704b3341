"""Sequentially-allocated merge–split (Dahl)."""

from __future__ import annotations

from typing import Any

import numpy as np

from hashmix.moves.anchored import run_anchored
from hashmix.moves.anchors import UNIFORM_ANCHORS
from hashmix.moves.contract import Move
from hashmix.moves.restricted import SEQUENTIAL, Law
from hashmix.state import State

__all__ = ["SAMS"]


class SAMS(Move):
    """Sequentially-allocated merge–split: one pass in a random order, each point joining the side that predicts it.

    Examples
    --------
    >>> import hashmix as hm
    >>> hm.moves.SAMS()
    SAMS()
    """

    def run_units(self, rng: Any, state: State, begin: int, end: int, counts: np.ndarray) -> int:
        return run_anchored(rng, UNIFORM_ANCHORS, Law(SEQUENTIAL), state.arrays, state.target, begin, end, counts)
