"""What a move is to the sampler."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any

import numpy as np

from hashmix.core.compiling import check_verbs
from hashmix.core.declared import Declared
from hashmix.core.rng import stream
from hashmix.moves.allocation import allocate
from hashmix.moves.anchored import Anchored
from hashmix.moves.anchors import draw_anchors
from hashmix.moves.driver import Unions, choose, divide, run_proposals, run_updates, update, weigh_merge
from hashmix.moves.tally import new_tally
from hashmix.partition.state import Arrays, State
from hashmix.partition.target import TargetArrays

__all__ = ["Move", "Proposal", "Update"]


#: Types of laws that were found complete: a call that makes a few microseconds' worth of proposals must not check again.
_COMPLETE: set[type] = set()


def _check(move: Move, law: Any, verbs: list[Callable]) -> None:
    """Raise unless a law is a NamedTuple with these verbs."""
    if type(law) in _COMPLETE:
        return
    if not (isinstance(law, tuple) and hasattr(law, "_fields")):
        raise TypeError(f"law() of {move.name} must return a NamedTuple. Got {law!r} instead.")
    check_verbs(move.name, type(law), verbs)
    _COMPLETE.add(type(law))


class Move(Declared, ABC):
    """One exact Markov kernel on partitions.

    To write one, derive from :class:`Proposal` or :class:`Update`: these only need a law.
    """

    #: Whether it leaves the posterior invariant; False only for what the paper printed.
    exact: bool = True
    #: Whether it works in a part of a partition (:mod:`hashmix.partition.parts`), for :class:`hashmix.moves.InRegions`. Its law
    #: then takes rows from ``partition.rows``, ignores those of label −1, and has rows moved by the driver or by ``reassign``.
    works_in_parts: bool = False
    #: Whether an application of many proposals costs much less than as many applications of one each.
    prepares: bool = False

    @property
    def name(self) -> str:
        """The name in records and reports."""
        return type(self).__name__

    @abstractmethod
    def run_units(self, rng: Any, state: State, begin: int, end: int, tally: np.ndarray) -> int:
        """Do units of work begin … end − 1; return where it stopped, before ``end`` if the state must grow first."""

    def compile(self, state: State) -> None:
        """Compile the kernels for data and a model like the state's, without changing anything."""
        self.run_units(stream(0), state, 0, 0, new_tally())

    def units(self, state: State) -> int:
        """Units of work per application: 1 for a proposal, n for a scan."""
        return 1

    def expected_work(self, state: State) -> float:
        """Roughly how many predictives one application evaluates in a state like this."""
        return 4.0

    def most_times(self, state: State) -> int:
        """Applications per sweep beyond which there is no use, for moves whose number is tuned."""
        return state.n_rows

    def units_per_call(self, state: State) -> int:
        """Units of work per compiled call, chosen so that a call takes well under a second."""
        return max(1, 1_000_000 // state.n_rows)

    def apply(self, state: State, rng: Any, times: int = 1, stop: Callable[[], bool] = lambda: False) -> np.ndarray:
        """Apply the move ``times`` times, or until ``stop()`` returns True; return the tally.

        Examples
        --------
        >>> import numpy as np, hashmix as hm
        >>> from hashmix.core.rng import stream
        >>> from hashmix.moves.tally import PROPOSED
        >>> from hashmix.partition.state import State
        >>> from hashmix.partition.target import Target
        >>> X = np.array([[0.0], [0.1], [9.0], [9.1]])
        >>> component, prior = hm.components.DiagonalGaussian(5.0, 0.1, 2.0, 0.1), hm.priors.DirichletProcess(1.0)
        >>> state = State(Target.of(X, component, prior), [0, 0, 0, 0])
        >>> tally = hm.moves.SAMS().apply(state, stream(0), times=50)
        >>> int(tally[PROPOSED])
        50
        """
        tally = new_tally()
        done, total = 0, times * self.units(state)
        while done < total and not stop():
            state.ensure_spare()
            chunk_end = min(total, done + self.units_per_call(state))
            done = self.run_units(rng, state, done, chunk_end, tally)
        return tally


class Proposal(Move):
    """A move that proposes a split or a merge, which the driver accepts or rejects.

    A subclass returns its law: a NamedTuple for which the verbs ``choose``, ``divide`` and ``weigh_merge`` of
    :mod:`hashmix.moves.driver` are implemented, such as :class:`hashmix.moves.anchored.Anchored`.
    """

    @abstractmethod
    def law(self, state: State) -> Any:
        """What the kernel reads, for a state like this."""

    def run_units(self, rng: Any, state: State, begin: int, end: int, tally: np.ndarray) -> int:
        return self.run_law(rng, self.checked_law(state), state.arrays, state.target, Unions.none(), begin, end, tally)

    def run_law(
        self, rng: Any, law: Any, arrays: Arrays, target: TargetArrays, unions: Unions, begin: int, end: int, tally: np.ndarray
    ) -> int:
        """Make proposals begin … end − 1 with a law of this move, in all of a partition or a part of it."""
        return run_proposals(rng, law, arrays, target, unions, begin, end, tally)

    def checked_law(self, state: State) -> Any:
        """The law, after a check that its verbs are implemented."""
        law = self.law(state)
        _check(self, law, [choose, divide, weigh_merge])
        if isinstance(law, Anchored):
            _check(self, law.anchors, [draw_anchors])
            _check(self, law.allocation, [allocate])
        return law


class Update(Move):
    """A move that draws something from its full conditional, so that nothing needs to be accepted.

    A subclass returns its law: a NamedTuple for which the verb ``update`` of :mod:`hashmix.moves.driver` is implemented.
    """

    @abstractmethod
    def law(self, state: State) -> Any:
        """What the kernel reads, for a state like this."""

    def run_units(self, rng: Any, state: State, begin: int, end: int, tally: np.ndarray) -> int:
        return self.run_law(rng, self.checked_law(state), state.arrays, state.target, Unions.none(), begin, end, tally)

    def run_law(
        self, rng: Any, law: Any, arrays: Arrays, target: TargetArrays, unions: Unions, begin: int, end: int, tally: np.ndarray
    ) -> int:
        """Make updates begin … end − 1 with a law of this move, in all of a partition or a part of it."""
        return run_updates(rng, law, arrays, target, begin, end, tally)

    def checked_law(self, state: State) -> Any:
        """The law, after a check that its verb is implemented."""
        law = self.law(state)
        _check(self, law, [update])
        return law
