"""How often moves are applied: found during warm-up by counted work, then frozen.

A number that depended on the partition at hand would change what the chain converges to, as a stopping rule that looks at
the state does. So nothing is tuned once draws are recorded, and nothing ever by the clock: a seed means one result.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from hashmix.moves.anchored import WORK
from hashmix.moves.contract import Move, new_counts
from hashmix.rng import unit_interval
from hashmix.state import State
from hashmix.validation import check_number

__all__ = ["Schedule", "Tuner", "Work"]

#: How much of the shared work is dealt evenly; the rest goes by improvement.
_EVENLY = 0.3
#: Weight of the past in averages over sweeps of warm-up.
_MEMORY = 0.8
#: A move is applied in so many parts of a sweep's share, until the share is used up.
_PARTS = 20


class Work(NamedTuple):
    """A weight of a move in a schedule: how much work it may take in a sweep, in predictives per row.

    During warm-up the move is applied until its work is done; the number of applications that took is frozen when warm-up
    ends. Of moves whose work is ``shared``, those that improved the log joint more, for the work they took, get more of it.

    Examples
    --------
    >>> import hashmix as hm
    >>> hm.moves.Work(1.0)
    Work(predictives=1.0, shared=False)
    """

    predictives: float
    shared: bool = False


Schedule = list[tuple[Move, "float | Work"]]


class Tuner:
    """The number of applications of each move in a sweep of one chain.

    Parameters
    ----------
    schedule : list of (Move, weight or Work)
    state : State
        Where the chain starts: without warm-up, numbers are frozen as they seem right there.
    """

    def __init__(self, schedule: Schedule, state: State) -> None:
        self.schedule = schedule
        self.n = len(state.partition.labels)
        self.is_work = [isinstance(weight, Work) for _, weight in schedule]
        self._shared = [m for m, (_, weight) in enumerate(schedule) if isinstance(weight, Work) and weight.shared]
        self._amounts = np.array([weight.predictives if isinstance(weight, Work) else 0.0 for _, weight in schedule])
        self._times = np.array(
            [
                self._amounts[m] * self.n / move.expected_work(state) if self.is_work[m] else weight
                for m, (move, weight) in enumerate(schedule)
            ],
            dtype=float,
        )
        self._gains, self._spent = np.zeros(len(schedule)), np.zeros(len(schedule))

    def times(self, m: int, key: int, sweep: int) -> int:
        """How often move m is applied in a sweep after warm-up: the whole part, and once more with the chance of the rest."""
        if self.is_work[m]:
            return max(1, round(self._times[m]))
        whole = int(self._times[m])
        return whole + (whole < self._times[m] and unit_interval(key, sweep, m) < self._times[m] - whole)

    def warm_up(self, m: int, state: State, rng: Any, stop: Callable[[], bool]) -> np.ndarray:
        """Apply move m until its work of a sweep is done; remember how often that was, and what it gained."""
        move, counts = self.schedule[m][0], new_counts()
        before = state.log_joint()
        work, applied = self._amounts[m] * self.n, 0
        part = max(1, int(work / move.expected_work(state) / _PARTS))
        while counts[WORK] < work and applied < self.n and not stop():
            counts += move.apply(state, rng, part, stop)
            applied += part
        self._times[m] = _MEMORY * self._times[m] + (1.0 - _MEMORY) * applied
        self._gains[m] = _MEMORY * self._gains[m] + max(0.0, state.log_joint() - before)
        self._spent[m] = _MEMORY * self._spent[m] + counts[WORK]
        return counts

    def share_out(self) -> None:
        """At the end of a sweep of warm-up: more of the shared work to what improved the log joint more for its work."""
        rates = self._gains[self._shared] / np.maximum(self._spent[self._shared], 1.0)
        if rates.sum() > 0.0:
            total = self._amounts[self._shared].sum()
            shares = _EVENLY / len(rates) + (1.0 - _EVENLY) * rates / rates.sum()
            self._amounts[self._shared] = total * shares

    def snapshot(self) -> np.ndarray:
        """All it has learned, to be given to :meth:`restore`."""
        return np.stack([self._times, self._amounts, self._gains, self._spent])

    def restore(self, kept: np.ndarray) -> None:
        """Be as it was."""
        self._times, self._amounts, self._gains, self._spent = kept.copy()

    def frozen(self) -> Schedule:
        """The schedule with numbers in place of work."""
        return [
            (move, max(1, round(self._times[m])) if self.is_work[m] else weight)
            for m, (move, weight) in enumerate(self.schedule)
        ]


def check_weight(owner: str, move: Move, weight: Any) -> float | Work:
    """A weight of a schedule, if it can be one."""
    name = f"moves (weight of {move.name})"
    if isinstance(weight, Work):
        return Work(check_number(owner, name, weight.predictives), bool(weight.shared))
    return check_number(owner, name, weight)
