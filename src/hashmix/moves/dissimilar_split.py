"""Splits between points that hashing takes for far apart."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from hashmix.moves.anchored import run_anchored
from hashmix.moves.anchors import DISSIMILAR, Anchors
from hashmix.moves.hashed import HashedMove
from hashmix.moves.restricted import SEQUENTIAL, Law
from hashmix.state import State

__all__ = ["DissimilarSplit"]


class DissimilarSplit(HashedMove):
    """Smart split: a point and one from the buckets of its opposite; the rest of their cluster joins the side that predicts it.

    Parameters
    ----------
    n_bits, n_tables : int, default=10
        Of the tables of sign projections.
    refresh : int or None, default=10
        Sweeps between fresh hash functions; None keeps the first ones.

    Examples
    --------
    >>> import hashmix as hm
    >>> hm.moves.DissimilarSplit()
    DissimilarSplit(n_bits=10, n_tables=10, refresh=10, family='sign-projection')
    """

    def __init__(self, n_bits: int = 10, n_tables: int = 10, refresh: int | None = 10) -> None:
        super().__init__(n_bits, n_tables, refresh, "sign-projection")

    def run_units(self, rng: Any, state: State, begin: int, end: int, counts: np.ndarray) -> int:
        anchors = Anchors(DISSIMILAR, math.inf, self.tables(state).arrays)
        return run_anchored(rng, anchors, Law(SEQUENTIAL), state.arrays, state.target, begin, end, counts)
