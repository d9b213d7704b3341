"""How often moves are applied: tuned during warm-up by counted work, then frozen.

A number of applications that depends on the current partition would change what the chain converges to, as a stopping rule
that looks at the state does. So nothing is tuned once draws are recorded. Nothing is ever tuned by the clock: one seed gives
one result.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from hashmix.core.rng import unit_interval
from hashmix.core.validation import check_number
from hashmix.moves.contract import Move
from hashmix.moves.tally import ACCEPTED, PROPOSED, WORK, new_tally
from hashmix.partition.state import State

__all__ = ["Schedule", "Tuner", "Work"]

#: Share of the shared work that is divided evenly; the rest is divided by improvement.
_EVENLY = 0.3
#: Share of a move's proposals, or of the rows it visits, that is much to change; and the share for a move that visits all rows
#: and is not dear. In many columns few rows move per sweep, and clusters still take hundreds of sweeps to settle.
_MUCH, _MUCH_OF_ALL_ROWS = 0.02, 0.0002
#: Applications per sweep that a dear move is worth, per share of what it changes: one that moves a tenth of the rows is
#: worth a fifth. It is dear if one application takes the work of more than so many sweeps; else it is worth one if it changes
#: much. Its work is at most so many predictives per row and sweep, whatever it changes.
_WORTH, _DEAR, _MOST_WORK = 2.0, 4.0, 4.0
#: Weight of the past in averages over sweeps of warm-up.
_MEMORY = 0.8
#: A sweep's share of work is done in parts, so that it can end when the work is done. The first is one application, the
#: others are no longer than all before them together, and no shorter than one in so many of them.
_LEAST = 20
#: If many applications at once cost less, the first part is what the last sweeps did, divided by this.
_PARTS = 4


class Work(NamedTuple):
    """Weight of a move in a schedule: its work per sweep, in predictives per row.

    During warm-up the move is applied until its work is done. A move of which one application is more work than that is
    applied in some sweeps only, but during warm-up in every one as long as it changes much. The number of applications
    that the work is worth is frozen when warm-up ends. Moves with ``shared`` work get more of it the more they improve the
    log joint per unit of work.

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
    """The number of applications of each move per sweep of one chain.

    Parameters
    ----------
    schedule : list of (Move, weight or Work)
    state : State
        Where the chain starts. Without warm-up, the numbers are those expected to be right there.
    """

    is_work: list[bool]

    def __init__(self, schedule: Schedule, state: State) -> None:
        self.schedule = schedule
        self.n: int = state.n_rows
        self.is_work = [isinstance(weight, Work) for _, weight in schedule]
        self._shared = [m for m, (_, weight) in enumerate(schedule) if isinstance(weight, Work) and weight.shared]
        self._amounts = np.array([weight.predictives if isinstance(weight, Work) else 0.0 for _, weight in schedule])
        self._times = np.array([self._first_times(m, state) for m in range(len(schedule))])
        self._gains, self._spent, self._owed = np.zeros((3, len(schedule)))
        self._changing = np.ones(len(schedule))

    def _first_times(self, m: int, state: State) -> float:
        """Applications per sweep as long as nothing is known; those of a dear move as if it changed everything."""
        move, weight = self.schedule[m]
        if not isinstance(weight, Work):
            return weight
        return min(max(1.0, weight.predictives * self.n / move.expected_work(state)), move.most_times(state))

    def times(self, m: int, key: int, sweep: int) -> int:
        """How often to apply move m after warm-up: the whole part, and once more with the probability of the rest."""
        if self.is_work[m] and self._times[m] >= 1.0:
            return round(self._times[m])
        whole = int(self._times[m])
        return whole + (whole < self._times[m] and unit_interval(key, sweep, m) < self._times[m] - whole)

    def warm_up(self, m: int, state: State, rng: Any, stop: Callable[[], bool]) -> np.ndarray:
        """Apply move m until its work is done; record how often that was, and the gain in log joint."""
        move, tally = self.schedule[m][0], new_tally()
        per_sweep, one = self._amounts[m] * self.n, move.expected_work(state)
        self._owed[m] += per_sweep
        if self._owed[m] < one and not self._changes_much(m, move.most_times(state), one / per_sweep):
            self._times[m] = _MEMORY * self._times[m] + (1.0 - _MEMORY) * per_sweep / one
            return tally
        before = state.log_joint()
        work, most, applied, part = self._owed[m], move.most_times(state), 0, 1
        if move.prepares and self._spent[m] > 0.0:
            part = max(1, min(most, int(self._times[m]) // _PARTS))
        while tally[WORK] < work and applied < most and not stop():
            tally += move.apply(state, rng, part, stop)
            applied += part
            left = math.ceil((work - tally[WORK]) / max(1, tally[WORK]) * applied)
            part = max(1, min(left, applied), applied // _LEAST)
        self._owed[m], self._changing[m] = 0.0, tally[ACCEPTED] / max(1, tally[PROPOSED])
        worth = applied if per_sweep >= one else max(per_sweep / one, self._worth(m, most, one / per_sweep))
        memory = _MEMORY if self._spent[m] > 0.0 else 0.0  # what was expected at first may be far off
        self._times[m] = memory * self._times[m] + (1.0 - memory) * worth
        self._gains[m] = _MEMORY * self._gains[m] + max(0.0, state.log_joint() - before)
        self._spent[m] = _MEMORY * self._spent[m] + tally[WORK]
        return tally

    def _changes_much(self, m: int, most: int, sweeps: float) -> bool:
        """Whether a move changes much, given its most applications per sweep, and how many sweeps' work one takes."""
        return bool(self._changing[m] >= (_MUCH_OF_ALL_ROWS if most == 1 and sweeps <= _DEAR else _MUCH))

    def _worth(self, m: int, most: int, sweeps: float) -> float:
        """Applications per sweep that a move is worth for what it changes, if one takes the work of so many sweeps."""
        if sweeps <= _DEAR and self._changes_much(m, most, sweeps):
            return 1.0
        per_sweep = self._amounts[m] * self.n
        return min(1.0, _WORTH * self._changing[m], _MOST_WORK * self.n / (sweeps * per_sweep))

    def share_out(self) -> None:
        """Divide the shared work again, at the end of a sweep of warm-up, by improvement of the log joint per unit of work."""
        rates = self._gains[self._shared] / np.maximum(self._spent[self._shared], 1.0)
        if rates.sum() > 0.0:
            total = self._amounts[self._shared].sum()
            shares = _EVENLY / len(rates) + (1.0 - _EVENLY) * rates / rates.sum()
            self._amounts[self._shared] = total * shares

    def snapshot(self) -> np.ndarray:
        """Everything it has learned, for :meth:`restore`."""
        return np.stack([self._times, self._amounts, self._gains, self._spent, self._owed, self._changing])

    def restore(self, kept: np.ndarray) -> None:
        """Restore a snapshot."""
        self._times, self._amounts, self._gains, self._spent, self._owed, self._changing = kept.copy()

    def frozen(self) -> Schedule:
        """The schedule with numbers of applications in place of work."""
        return [
            (move, (round(self._times[m]) if self._times[m] >= 1.0 else float(self._times[m])) if self.is_work[m] else weight)
            for m, (move, weight) in enumerate(self.schedule)
        ]


def check_weight(owner: str, move: Move, weight: Any) -> float | Work:
    """Validate a weight of a schedule."""
    name = f"moves (weight of {move.name})"
    if isinstance(weight, Work):
        return Work(check_number(owner, name, weight.predictives), bool(weight.shared))
    return check_number(owner, name, weight)
