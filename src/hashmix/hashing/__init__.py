"""Locality-sensitive hashing: families of hash functions, and buckets to sample from. Never looks at a partition."""

from __future__ import annotations

from functools import partial

from hashmix.core.registry import Registry
from hashmix.hashing.cells import CellFamily, Cells
from hashmix.hashing.codes import CodeFamily
from hashmix.hashing.family import HashFamily
from hashmix.hashing.minhash import WeightedMinHash
from hashmix.hashing.neighbours import NeighbourLists, Neighbours
from hashmix.hashing.sign_projection import SignProjection, hamming, sign_collision_probability
from hashmix.hashing.similarity import collision_probability, cut_probability, sign_split, weighted_jaccard
from hashmix.hashing.tables import Tables

__all__ = [
    "FAMILIES",
    "CellFamily",
    "Cells",
    "CodeFamily",
    "HashFamily",
    "NeighbourLists",
    "Neighbours",
    "SignProjection",
    "Tables",
    "WeightedMinHash",
    "collision_probability",
    "cut_probability",
    "hamming",
    "resolve_family",
    "sign_collision_probability",
    "sign_split",
    "weighted_jaccard",
]

#: The families that have a name. A maker is called with (n_bits, n_tables), and its other settings must suit any rows. Add a
#: family of your own with ``FAMILIES.add("my-family", MyFamily)``.
FAMILIES: Registry[HashFamily] = Registry("family", HashFamily)
FAMILIES.add("sign-projection", partial(SignProjection, scale="auto"))
FAMILIES.add("minhash", partial(WeightedMinHash, signed="auto", center="auto", scale="auto"))
FAMILIES.add("neighbours", NeighbourLists)


def resolve_family(family: str | HashFamily, n_bits: int, n_tables: int, owner: str = "sample") -> HashFamily:
    """The hash family that a ``family`` parameter stands for.

    Parameters
    ----------
    family : str or HashFamily
        A name in ``FAMILIES``, or a family, which is returned as it is.
    n_bits, n_tables : int
        Settings of a family given by name.
    owner : str
        Name of the caller, for error messages.

    Returns
    -------
    HashFamily
        Not fitted if it was given by name.

    Examples
    --------
    >>> from hashmix.hashing import resolve_family
    >>> resolve_family("neighbours", n_bits=16, n_tables=4)
    NeighbourLists(n_bits=16, n_tables=4, n_neighbors=12)
    """
    if isinstance(family, HashFamily):
        return family
    return FAMILIES[FAMILIES.check(family, owner)](n_bits, n_tables)
