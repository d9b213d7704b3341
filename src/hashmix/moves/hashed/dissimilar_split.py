"""Splits between rows that hashing takes to be far apart."""

from __future__ import annotations

import math

from hashmix.moves.allocation import SEQUENTIAL, Allocation
from hashmix.moves.anchored import Anchored
from hashmix.moves.anchors import DISSIMILAR, Anchors
from hashmix.moves.contract import Proposal
from hashmix.moves.hashed.tables import HashedMove
from hashmix.partition.state import State

__all__ = ["DissimilarSplit"]


class DissimilarSplit(HashedMove, Proposal):
    """Smart split: a row and one from the opposite buckets; the rest of their cluster joins the side that predicts it.

    Parameters
    ----------
    n_bits, n_tables : int, default=10
        Size and number of the tables of sign projections.
    refresh : int or None, default=10
        Sweeps between fresh hash functions; None keeps the first ones.

    Examples
    --------
    >>> import hashmix as hm
    >>> hm.moves.DissimilarSplit()
    DissimilarSplit(n_bits=10, n_tables=10, refresh=10)
    """

    works_in_parts = True

    def __init__(self, n_bits: int = 10, n_tables: int = 10, refresh: int | None = 10) -> None:
        super().__init__(n_bits, n_tables, refresh, "sign-projection")

    def law(self, state: State) -> Anchored:
        return Anchored(Anchors(DISSIMILAR, math.inf, self.table_arrays(state)), Allocation(SEQUENTIAL))
