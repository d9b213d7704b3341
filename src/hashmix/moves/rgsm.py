"""Restricted-Gibbs split–merge (Jain and Neal 2004)."""

from __future__ import annotations

from typing import Any

import numpy as np

from hashmix.moves.anchored import run_anchored
from hashmix.moves.contract import Move
from hashmix.moves.restricted import Scans
from hashmix.state import Arrays, Target
from hashmix.validation import check_integer

__all__ = ["RGSM"]


class RGSM(Move):
    """Restricted-Gibbs split–merge: a split is launched by coins and ``n_scans`` restricted Gibbs scans.

    Only the one further, final scan enters the ratio; for a merge it is forced to the current division.

    Parameters
    ----------
    n_scans : int, default=5
        Restricted Gibbs scans before the final one.

    Examples
    --------
    >>> import hashmix as hm
    >>> hm.moves.RGSM(n_scans=3)
    RGSM(n_scans=3)
    """

    def __init__(self, n_scans: int = 5) -> None:
        self.n_scans = check_integer("RGSM", "n_scans", n_scans, low=0)

    def run_units(self, rng: Any, arrays: Arrays, target: Target, begin: int, end: int, counts: np.ndarray) -> int:
        return run_anchored(rng, Scans(self.n_scans), arrays, target, begin, end, counts)
