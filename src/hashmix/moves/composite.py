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
    """A move made of others that make one proposal each; exact because every part is.

    Applied once, it makes a proposal of each part; applied n times, n of the first part, then n of the next.
    """

    @property
    @abstractmethod
    def parts(self) -> list[Move]:
        """The moves it is made of."""

    def apply(self, state: State, rng: Any, times: int = 1, stop: Callable[[], bool] = lambda: False) -> np.ndarray:
        """Apply every part ``times`` times; return the counts of all parts together."""
        return np.sum([part.apply(state, rng, times, stop) for part in self.parts], axis=0)

    def compile(self, state: State) -> None:
        for part in self.parts:
            part.compile(state)

    def units(self, state: State) -> int:
        return len(self.parts)

    def run_units(self, rng: Any, state: State, begin: int, end: int, counts: np.ndarray) -> int:
        parts = self.parts
        for step in range(begin, end):
            if parts[step % len(parts)].run_units(rng, state, 0, 1, counts) == 0:
                return step
        return end
