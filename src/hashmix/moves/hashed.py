"""What moves that use hash tables have in common."""

from __future__ import annotations

from hashmix.hashing import HashFamily, Neighbours, SignProjection, Tables, WeightedMinHash
from hashmix.hashing.family import check_bits
from hashmix.hashing.rows import SparseRows
from hashmix.moves.contract import Move
from hashmix.state import State
from hashmix.validation import check_choice, check_integer

__all__ = ["HashedMove", "check_tables"]

_FAMILIES = ["sign-projection", "minhash", "neighbours"]


def check_tables(owner: str, n_bits: int, n_tables: int, refresh: int | None) -> tuple[int, int, int | None]:
    """The settings of a move's hash tables, if they can be."""
    refresh = None if refresh is None else check_integer(owner, "refresh", refresh, low=1)
    return check_bits(owner, n_bits), check_integer(owner, "n_tables", n_tables, low=1), refresh


class HashedMove(Move):
    """A move with hash tables over the rows, standardised column by column; rare words of sparse rows count for more.

    The tables are drawn without looking at the partition and known to the kernel, so no probability of theirs enters a
    ratio, whatever the family, the number of bits and the number of tables.

    Parameters
    ----------
    n_bits : int
        Hashes concatenated in a code, 1 to 64: more make buckets smaller and their rows more alike.
    n_tables : int
        Tables.
    refresh : int or None
        Sweeps between fresh hash functions; None keeps the first ones.
    family : {"sign-projection", "minhash", "neighbours"}
        Rows in similar directions from the mean, or of similar weighted Jaccard (of their sign split), share buckets; or
        the bucket of a row is its list of hashed neighbours (:class:`hashmix.hashing.Neighbours`).
    """

    def __init__(self, n_bits: int, n_tables: int, refresh: int | None, family: str) -> None:
        owner = type(self).__name__
        self.n_bits, self.n_tables, self.refresh = check_tables(owner, n_bits, n_tables, refresh)
        self.family = check_choice(owner, "family", family, _FAMILIES)

    def _new_family(self, state: State) -> HashFamily:
        if isinstance(state.hashed.rows, SparseRows):
            if self.family == "minhash":
                return WeightedMinHash(self.n_bits, self.n_tables, scale="idf")
            return SignProjection(self.n_bits, self.n_tables, scale="idf")
        if self.family == "minhash":
            return WeightedMinHash(self.n_bits, self.n_tables, signed=True, center=True, scale=True)
        return SignProjection(self.n_bits, self.n_tables, scale=True)

    def tables(self, state: State) -> Tables | Neighbours:
        """The tables of a chain, as old as ``refresh`` says."""
        if self.family == "neighbours":
            return state.hashed.neighbours(self.n_bits, self.n_tables, state.sweep, self.refresh)
        return state.hashed.tables(self._new_family(state), state.sweep, self.refresh)
