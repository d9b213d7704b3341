"""Merges of hashed neighbours, each at the cost of one marginal likelihood."""

from __future__ import annotations

from hashmix.core.validation import check_choice
from hashmix.hashing import HashFamily
from hashmix.moves.allocation import URN, Allocation
from hashmix.moves.anchored import Anchored
from hashmix.moves.anchors import OF_CLUSTERS, SIMILAR, Anchors
from hashmix.moves.contract import Proposal
from hashmix.moves.hashed.tables import HashedMove
from hashmix.partition.state import State

__all__ = ["UrnMerge"]

#: Upper bound on the expected number of rows that a split reallocates. A blind split is nearly always rejected, so it is
#: attempted less often the larger the cluster, and a merge's ratio has the same factor.
SPLIT_ROWS = 0.2


#: Most proposals per sweep and cluster, if clusters are drawn.
_PER_CLUSTER = 4


class UrnMerge(HashedMove, Proposal):
    """Smart merge, dumb split: a row and a mate of it in the hash tables; a split divides their cluster by a Pólya urn.

    The urn's probability depends on sizes alone and cancels that of the Dirichlet process. So a merge takes one marginal
    likelihood, whatever the sizes.

    Parameters
    ----------
    n_bits, n_tables : int, default=10
        Size and number of the hash tables.
    refresh : int or None, default=10
        Sweeps between fresh hash functions; None keeps the first ones.
    family : str or HashFamily, default="sign-projection"
        What rows in one bucket have in common; see :class:`hashmix.moves.hashed.tables.HashedMove`.
    start : {"row", "cluster"}, default="row"
        Whose mate is drawn: each row in turn, or a uniform row of a uniform cluster, so that small clusters are not forgotten.

    Examples
    --------
    >>> import hashmix as hm
    >>> hm.moves.UrnMerge(n_bits=12)
    UrnMerge(n_bits=12, n_tables=10, refresh=10, family='sign-projection', start='row')
    """

    works_in_parts = True

    def __init__(
        self,
        n_bits: int = 10,
        n_tables: int = 10,
        refresh: int | None = 10,
        family: str | HashFamily = "sign-projection",
        start: str = "row",
    ) -> None:
        super().__init__(n_bits, n_tables, refresh, family)
        self.start: str = check_choice(type(self).__name__, "start", start, ["row", "cluster"])

    def most_times(self, state: State) -> int:
        return state.n_rows if self.start == "row" else _PER_CLUSTER * state.n_clusters

    def units_per_call(self, state: State) -> int:
        # Unions are remembered within a call; splits of large clusters are thinned out.
        return min(10_000, max(2_000, 20_000_000 // state.n_rows))

    def law(self, state: State) -> Anchored:
        return Anchored(
            Anchors(SIMILAR if self.start == "row" else OF_CLUSTERS, SPLIT_ROWS, self.table_arrays(state)), Allocation(URN)
        )
