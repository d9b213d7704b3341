"""Splits launched from hash buckets."""

from __future__ import annotations

import math

from hashmix.hashing import HashFamily
from hashmix.moves.allocation import SCANS_FROM_BUCKETS, Allocation
from hashmix.moves.anchored import Anchored
from hashmix.moves.anchors import WITHIN, Anchors
from hashmix.moves.contract import Proposal
from hashmix.moves.hashed.tables import HashedMove
from hashmix.partition.state import State

__all__ = ["BucketSplit"]


class BucketSplit(HashedMove, Proposal):
    """Smart split, dumb merge: two rows of one cluster, launched with their buckets on their sides and others by coins.

    One recorded restricted Gibbs scan follows the launch: an informed launch replaces the many scans of RGSM. The merge
    takes two uniform clusters. A fair coin decides which half is attempted, and the ratio accounts for anchors that are
    drawn within clusters.

    Parameters
    ----------
    n_bits, n_tables : int, default=1 and 10
        Size and number of the hash tables.
    refresh : int or None, default=10
        Sweeps between fresh hash functions; None keeps the first ones.
    family : str or HashFamily, default="minhash"
        What rows in one bucket have in common; see :class:`hashmix.moves.hashed.tables.HashedMove`.

    Examples
    --------
    >>> import hashmix as hm
    >>> hm.moves.BucketSplit()
    BucketSplit(n_bits=1, n_tables=10, refresh=10, family='minhash')
    """

    works_in_parts = True

    def __init__(
        self, n_bits: int = 1, n_tables: int = 10, refresh: int | None = 10, family: str | HashFamily = "minhash"
    ) -> None:
        super().__init__(n_bits, n_tables, refresh, family)

    def law(self, state: State) -> Anchored:
        tables = self.table_arrays(state)
        return Anchored(Anchors(WITHIN, math.inf, tables), Allocation(SCANS_FROM_BUCKETS, 0, tables.buckets))
