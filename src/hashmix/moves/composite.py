"""Moves made of others."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from typing import Any

import numpy as np

from hashmix.moves.contract import Move
from hashmix.state import State

__all__ = ["CompositeMove"]


class CompositeMove(Move):
    """A move that applies each of its parts in turn; exact because every part is."""

    @property
    @abstractmethod
    def parts(self) -> list[Move]:
        """The moves it is made of."""

    def apply(self, state: State, rng: Any, times: int = 1, stop: Callable[[], bool] = lambda: False) -> np.ndarray:
        """Apply every part ``times`` times; return the counts of all parts together."""
        return np.sum([part.apply(state, rng, times, stop) for part in self.parts], axis=0)

    def run_units(self, rng: Any, state: State, begin: int, end: int, counts: np.ndarray) -> int:
        return min(part.run_units(rng, state, begin, end, counts) for part in self.parts)
