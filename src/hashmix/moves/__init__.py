"""Moves: exact Markov kernels on partitions, one a file, behind :class:`hashmix.moves.contract.Move`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from hashmix.moves.contract import Move
from hashmix.moves.gibbs import Gibbs
from hashmix.moves.random_split_merge import RandomSplitMerge
from hashmix.moves.rgsm import RGSM
from hashmix.moves.sams import SAMS
from hashmix.moves.sdds import SDDS
from hashmix.validation import bad_parameter, check_number

__all__ = ["RGSM", "SAMS", "SDDS", "Gibbs", "Move", "RandomSplitMerge", "Schedule", "resolve_moves"]

Schedule = list[tuple[Move, float]]

_SCHEDULES: dict[str, Callable[[], Schedule]] = {
    "split-merge": lambda: [(SAMS(), 50), (RGSM(n_scans=1, launch="nearest"), 50), (Gibbs(), 1)],
    "sams": lambda: [(SAMS(), 1), (Gibbs(), 1)],
    "rgsm": lambda: [(RGSM(n_scans=5), 1), (Gibbs(), 1)],
    "sdds": lambda: [(SDDS(), 1), (Gibbs(), 1)],
    "random-split-merge": lambda: [(RandomSplitMerge(), 1), (Gibbs(), 1)],
    "gibbs": lambda: [(Gibbs(), 1)],
}


def resolve_moves(moves: str | Move | Sequence[tuple[Move, float]], owner: str = "sample") -> Schedule:
    """The schedule a user means: a list of (move, weight).

    A sweep applies each move ``weight`` times, in the order given: the whole part of the weight always, once more with
    the probability of its fraction.

    Parameters
    ----------
    moves : str, Move or list of (Move, weight)
        "split-merge" (50 SAMS and 50 RGSM proposals with the nearest launch, and a Gibbs scan, a sweep), "sams", "rgsm",
        "sdds", "random-split-merge" (one proposal and a Gibbs scan), "gibbs" (the scan alone), one move, or a list.
    owner : str
        Who asks, for the error message.

    Examples
    --------
    >>> from hashmix.moves import resolve_moves
    >>> resolve_moves("rgsm")
    [(RGSM(n_scans=5, launch='coins'), 1), (Gibbs(), 1)]
    """
    names = ", ".join(map(repr, _SCHEDULES))
    allowed = f"one of {names}, a Move, or a list of (Move, weight)"
    if isinstance(moves, Move):
        return [(moves, 1)]
    if isinstance(moves, str):
        if moves not in _SCHEDULES:
            raise bad_parameter(owner, "moves", allowed, moves)
        return _SCHEDULES[moves]()
    if not isinstance(moves, (list, tuple)) or not moves or not all(_is_pair(entry) for entry in moves):
        raise bad_parameter(owner, "moves", allowed, moves)
    return [(move, check_number(owner, f"moves (weight of {move.name})", weight)) for move, weight in moves]


def _is_pair(entry: Any) -> bool:
    return isinstance(entry, (list, tuple)) and len(entry) == 2 and isinstance(entry[0], Move)
