"""Splits launched from hash buckets."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from hashmix.moves.anchored import run_anchored
from hashmix.moves.anchors import WITHIN, Anchors
from hashmix.moves.hashed import HashedMove
from hashmix.moves.restricted import SCANS_FROM_BUCKETS, Law
from hashmix.state import State

__all__ = ["BucketSplit"]


class BucketSplit(HashedMove):
    """Smart split, dumb merge: two points of one cluster, launched with their buckets on their sides, and others by coins.

    One recorded restricted Gibbs scan follows the launch: an informed launch takes the place of RGSM's many scans. The merge
    takes two uniform clusters. Which half is attempted is decided by a fair coin, and the ratio carries that anchors are
    drawn within clusters.

    Parameters
    ----------
    n_bits, n_tables : int, default=1 and 10
        Of the hash tables.
    refresh : int or None, default=10
        Sweeps between fresh hash functions; None keeps the first ones.
    family : {"sign-projection", "minhash", "neighbours"}, default="minhash"
        What rows that share a bucket have in common: direction from the mean, weighted Jaccard of their sign split, or
        being neighbours (:class:`hashmix.hashing.Neighbours`).

    Examples
    --------
    >>> import hashmix as hm
    >>> hm.moves.BucketSplit()
    BucketSplit(n_bits=1, n_tables=10, refresh=10, family='minhash')
    """

    def __init__(self, n_bits: int = 1, n_tables: int = 10, refresh: int | None = 10, family: str = "minhash") -> None:
        super().__init__(n_bits, n_tables, refresh, family)

    def run_units(self, rng: Any, state: State, begin: int, end: int, counts: np.ndarray) -> int:
        tables = self.tables(state).arrays
        law = Law(SCANS_FROM_BUCKETS, 0, tables.buckets)
        return run_anchored(rng, Anchors(WITHIN, math.inf, tables), law, state.arrays, state.target, begin, end, counts)
