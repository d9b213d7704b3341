"""Restricted-Gibbs split–merge (Jain and Neal 2004)."""

from __future__ import annotations

from hashmix.core.validation import check_choice, check_integer
from hashmix.moves.allocation import SCANS_FROM_COINS, SCANS_FROM_NEAREST, Allocation
from hashmix.moves.anchored import Anchored
from hashmix.moves.anchors import UNIFORM_ANCHORS
from hashmix.moves.contract import Proposal
from hashmix.partition.state import State

__all__ = ["RGSM"]


class RGSM(Proposal):
    """Restricted-Gibbs split–merge: a split starts from a launch state and ``n_scans`` restricted Gibbs scans.

    Only one further, final scan enters the ratio. For a merge it is forced to the current division.

    Parameters
    ----------
    n_scans : int, default=5
        Restricted Gibbs scans before the final one.
    launch : {"coins", "nearest"}, default="coins"
        How rows are assigned at first: by fair coins, as published, or each to the anchor that alone predicts it better,
        which needs fewer scans.

    Examples
    --------
    >>> import hashmix as hm
    >>> hm.moves.RGSM(n_scans=3)
    RGSM(n_scans=3, launch='coins')
    """

    works_in_parts = True

    def __init__(self, n_scans: int = 5, launch: str = "coins") -> None:
        self.n_scans: int = check_integer("RGSM", "n_scans", n_scans, low=0)
        self.launch: str = check_choice("RGSM", "launch", launch, ["coins", "nearest"])

    def law(self, state: State) -> Anchored:
        kind = SCANS_FROM_NEAREST if self.launch == "nearest" else SCANS_FROM_COINS
        return Anchored(UNIFORM_ANCHORS, Allocation(kind, self.n_scans))
