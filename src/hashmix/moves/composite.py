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
    """A move made of others; exact because every part is.

    Applied once, it makes a proposal of each part; applied n times, n of the first part, then n of the next, or as many
    more or fewer as :attr:`rates` say.
    """

    @property
    @abstractmethod
    def parts(self) -> list[Move]:
        """The moves it is made of."""

    @property
    def rates(self) -> list[float]:
        """How many proposals of each part there are to an application, on average over many; at least one in all."""
        return [1.0] * len(self.parts)

    def apply(self, state: State, rng: Any, times: int = 1, stop: Callable[[], bool] = lambda: False) -> np.ndarray:
        """Apply every part ``times`` times its rate; return the counts of all parts together."""
        proposals = [(part, max(1, round(rate * times))) for part, rate in zip(self.parts, self.rates, strict=True)]
        return np.sum([part.apply(state, rng, n, stop) for part, n in proposals], axis=0)

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
