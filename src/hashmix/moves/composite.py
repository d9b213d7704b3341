"""Moves made of others."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from typing import Any

import numpy as np

from hashmix.moves.contract import Move
from hashmix.moves.tally import new_tally
from hashmix.partition.state import State

__all__ = ["CompositeMove"]


class CompositeMove(Move):
    """A move made of others; exact because every part is.

    Applied once, it makes one proposal per part. Applied n times, it makes n proposals of the first part, then n of the
    next, each times its rate (:attr:`rates`); applied 0 times, as it is in some sweeps if its weight is below 1, none.
    """

    @property
    @abstractmethod
    def parts(self) -> list[Move]:
        """The moves it is made of."""

    @property
    def rates(self) -> list[float]:
        """Proposals of each part per application, on average over many; at least one in all."""
        return [1.0] * len(self.parts)

    def apply(self, state: State, rng: Any, times: int = 1, stop: Callable[[], bool] = lambda: False) -> np.ndarray:
        """Apply every part ``times`` times its rate; return the tally of all parts together."""
        if times == 0:
            return new_tally()
        proposals = [(part, max(1, round(rate * times))) for part, rate in zip(self.parts, self.rates, strict=True)]
        return np.sum([part.apply(state, rng, n, stop) for part, n in proposals], axis=0)

    def compile(self, state: State) -> None:
        for part in self.parts:
            part.compile(state)

    def units(self, state: State) -> int:
        return len(self.parts)

    def run_units(self, rng: Any, state: State, begin: int, end: int, tally: np.ndarray) -> int:
        parts = self.parts
        for step in range(begin, end):
            if parts[step % len(parts)].run_units(rng, state, 0, 1, tally) == 0:
                return step
        return end
