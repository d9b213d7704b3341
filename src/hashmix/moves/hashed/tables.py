"""Shared by moves that use hash tables."""

from __future__ import annotations

from typing import Any

from hashmix.core.validation import check_integer
from hashmix.hashing import HashFamily, resolve_family
from hashmix.hashing.family import check_bits
from hashmix.hashing.tables import TableArrays
from hashmix.moves.contract import Move
from hashmix.partition.state import State

__all__ = ["HashedMove", "check_tables"]


def check_tables(owner: str, n_bits: int, n_tables: int, refresh: int | None) -> tuple[int, int, int | None]:
    """Validate hash-table settings."""
    refresh = None if refresh is None else check_integer(owner, "refresh", refresh, low=1)
    return check_bits(owner, n_bits), check_integer(owner, "n_tables", n_tables, low=1), refresh


class HashedMove(Move):
    """A move that draws from hash tables over the rows.

    Tables are drawn without looking at the partition, and the kernel is given them. So none of their probabilities enters a
    ratio, whatever the family, the number of bits and the number of tables.

    Parameters
    ----------
    n_bits : int
        Hashes per code, 1 to 64. More of them make buckets smaller and their rows more similar.
    n_tables : int
        Number of tables.
    refresh : int or None
        Sweeps between fresh hash functions; None keeps the first ones.
    family : str or HashFamily
        "sign-projection" (rows in similar directions from the mean share buckets), "minhash" (rows with a similar weighted
        Jaccard similarity of their sign split do), "neighbours" (the bucket of a row is its list of hashed neighbours,
        :class:`hashmix.hashing.Neighbours`), or an object, whose own ``n_bits`` and ``n_tables`` count.
    """

    refresh: int | None
    n_bits: int
    n_tables: int

    def __init__(self, n_bits: int, n_tables: int, refresh: int | None, family: str | HashFamily) -> None:
        owner = type(self).__name__
        self.family = family
        n_bits, n_tables, self.refresh = check_tables(owner, n_bits, n_tables, refresh)
        self._family = resolve_family(family, n_bits, n_tables, owner)
        self.n_bits, self.n_tables = self._family.n_bits, self._family.n_tables

    def tables(self, state: State) -> Any:
        """The chain's tables, as old as ``refresh`` allows."""
        return state.hashed.tables(self._family, state.sweep, self.refresh)

    def table_arrays(self, state: State) -> TableArrays:
        """The chain's tables as kernels read them."""
        return self.tables(state).arrays
