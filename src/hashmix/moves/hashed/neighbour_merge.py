"""Merges of hashed neighbours that overlap."""

from __future__ import annotations

from hashmix.hashing import HashFamily
from hashmix.moves.allocation import SEQUENTIAL, Allocation
from hashmix.moves.anchored import Anchored
from hashmix.moves.anchors import SIMILAR, Anchors
from hashmix.moves.contract import Proposal
from hashmix.moves.hashed.tables import HashedMove
from hashmix.partition.state import State

__all__ = ["NeighbourMerge"]

#: Upper bound on the expected number of rows that a split reallocates: other moves split better.
SPLIT_ROWS = 4.0


class NeighbourMerge(HashedMove, Proposal):
    """Smart merge, smart split: a row and a mate of it in the hash tables; a split assigns the others by what predicts them.

    If clusters are far apart, :class:`UrnMerge` does the same for less. If they overlap, a blind urn would hardly ever
    divide their union as it is divided now, and so hardly ever allows the merge; an allocation by predictives does. Most
    merges are rejected before that allocation is computed.

    Parameters
    ----------
    n_bits, n_tables : int, default=32 and 16
        Size and number of the hash tables, or of the orders in which neighbours are found.
    refresh : int or None, default=None
        Sweeps between fresh hash functions; None keeps the first ones.
    family : str or HashFamily, default="neighbours"
        What rows in one bucket have in common; see :class:`hashmix.moves.hashed.tables.HashedMove`.

    Examples
    --------
    >>> import hashmix as hm
    >>> hm.moves.NeighbourMerge()
    NeighbourMerge(n_bits=32, n_tables=16, refresh=None, family='neighbours')
    """

    works_in_parts = True

    def __init__(
        self, n_bits: int = 32, n_tables: int = 16, refresh: int | None = None, family: str | HashFamily = "neighbours"
    ) -> None:
        super().__init__(n_bits, n_tables, refresh, family)

    def units_per_call(self, state: State) -> int:
        return min(10_000, max(50, 10_000_000 // state.n_rows))

    def law(self, state: State) -> Anchored:
        return Anchored(Anchors(SIMILAR, SPLIT_ROWS, self.table_arrays(state)), Allocation(SEQUENTIAL))
