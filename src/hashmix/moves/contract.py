"""What a move is to the sampler."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any

import numpy as np

from hashmix.rng import stream
from hashmix.state import State

__all__ = ["Move", "new_counts"]


def new_counts() -> np.ndarray:
    """Counts of proposals, acceptances, splits proposed and accepted, and predictives evaluated: none so far."""
    return np.zeros(5, np.int64)


class Move(ABC):
    """One exact Markov kernel on partitions.

    A subclass names itself and provides :meth:`run_units`, a thin call of a jitted kernel. A move never accepts by a
    rule of its own: its kernel ends in :func:`hashmix.moves.acceptance.accept`, or draws from a full conditional.
    """

    #: Whether it leaves the posterior invariant; False only for what the paper printed.
    exact: bool = True

    @property
    def name(self) -> str:
        """What records and tables call it."""
        return type(self).__name__

    @abstractmethod
    def run_units(self, rng: Any, state: State, begin: int, end: int, counts: np.ndarray) -> int:
        """Do units of work begin … end − 1; return where it stopped (before ``end`` when free slots ran out).

        ``counts`` accumulates proposals, acceptances, how many of each were splits, and work, in predictives.
        """

    def compile(self, state: State) -> None:
        """Compile the kernels for data and a model like the state's, without doing anything."""
        self.run_units(stream(0), state, 0, 0, new_counts())

    def units(self, state: State) -> int:
        """Units of work in one application: 1 for a proposal, n for a scan."""
        return 1

    def expected_work(self, state: State) -> float:
        """Predictives one application takes, roughly, in a state like this."""
        return 4.0

    def units_per_call(self, state: State) -> int:
        """Units of work one jitted call may do, so that a call takes well under a second."""
        return max(1, 1_000_000 // len(state.partition.labels))

    def apply(self, state: State, rng: Any, times: int = 1, stop: Callable[[], bool] = lambda: False) -> np.ndarray:
        """Apply the move ``times`` times, unless ``stop()`` says to leave; return the counts.

        Examples
        --------
        >>> import numpy as np, hashmix as hm
        >>> from hashmix.rng import stream
        >>> from hashmix.state import State
        >>> X = np.array([[0.0], [0.1], [9.0], [9.1]])
        >>> state = State(X, hm.components.DiagonalGaussian(5.0, 0.1, 2.0, 0.1), hm.priors.DirichletProcess(1.0), [0, 0, 0, 0])
        >>> counts = hm.moves.SAMS().apply(state, stream(0), times=50)
        >>> int(counts[0])
        50
        """
        counts = new_counts()
        done, total = 0, times * self.units(state)
        while done < total and not stop():
            state.ensure_spare()
            chunk_end = min(total, done + self.units_per_call(state))
            done = self.run_units(rng, state, done, chunk_end, counts)
        return counts

    def __repr__(self) -> str:
        settings = ", ".join(f"{name}={value!r}" for name, value in vars(self).items())
        return f"{type(self).__name__}({settings})"

    def __eq__(self, other: Any) -> bool:
        return type(self) is type(other) and vars(self) == vars(other)

    __hash__ = None  # type: ignore[assignment]
