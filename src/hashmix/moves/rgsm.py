"""Restricted-Gibbs split–merge (Jain and Neal 2004)."""

from __future__ import annotations

from typing import Any

import numpy as np

from hashmix.moves.anchored import run_anchored
from hashmix.moves.anchors import UNIFORM_ANCHORS
from hashmix.moves.contract import Move
from hashmix.moves.restricted import SCANS_FROM_COINS, SCANS_FROM_NEAREST, Law
from hashmix.state import State
from hashmix.validation import check_choice, check_integer

__all__ = ["RGSM"]


class RGSM(Move):
    """Restricted-Gibbs split–merge: a split starts from a launch state and ``n_scans`` restricted Gibbs scans.

    Only the one further, final scan enters the ratio; for a merge it is forced to the current division.

    Parameters
    ----------
    n_scans : int, default=5
        Restricted Gibbs scans before the final one.
    launch : {"coins", "nearest"}, default="coins"
        How the points are dealt at first: by fair coins, as published, or each to the anchor that alone predicts it
        better, which needs fewer scans.

    Examples
    --------
    >>> import hashmix as hm
    >>> hm.moves.RGSM(n_scans=3)
    RGSM(n_scans=3, launch='coins')
    """

    def __init__(self, n_scans: int = 5, launch: str = "coins") -> None:
        self.n_scans = check_integer("RGSM", "n_scans", n_scans, low=0)
        self.launch = check_choice("RGSM", "launch", launch, ["coins", "nearest"])

    def run_units(self, rng: Any, state: State, begin: int, end: int, counts: np.ndarray) -> int:
        kind = SCANS_FROM_NEAREST if self.launch == "nearest" else SCANS_FROM_COINS
        return run_anchored(rng, UNIFORM_ANCHORS, Law(kind, self.n_scans), state.arrays, state.target, begin, end, counts)
