"""Moves: exact Markov kernels on partitions, one a file, behind :class:`hashmix.moves.contract.Move`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from hashmix.moves.bucket_cut import BucketCut
from hashmix.moves.bucket_split import BucketSplit
from hashmix.moves.contract import Move
from hashmix.moves.dissimilar_split import DissimilarSplit
from hashmix.moves.envelope_cut import EnvelopeCut
from hashmix.moves.exchange import Exchange
from hashmix.moves.gibbs import Gibbs
from hashmix.moves.hashed_gibbs import HashedGibbs
from hashmix.moves.lshsm import LSHSM
from hashmix.moves.minsm import MinSM
from hashmix.moves.neighbour_merge import NeighbourMerge
from hashmix.moves.published import PublishedLSHSM, PublishedMinSM
from hashmix.moves.random_split_merge import RandomSplitMerge
from hashmix.moves.rgsm import RGSM
from hashmix.moves.sams import SAMS
from hashmix.moves.sdds import SDDS
from hashmix.moves.tuning import Schedule, Work, check_weight
from hashmix.moves.urn_merge import UrnMerge
from hashmix.moves.within_split import WithinSplit
from hashmix.validation import bad_parameter

__all__ = [
    "LSHSM",
    "RGSM",
    "SAMS",
    "SDDS",
    "BucketCut",
    "BucketSplit",
    "DissimilarSplit",
    "EnvelopeCut",
    "Exchange",
    "Gibbs",
    "HashedGibbs",
    "MinSM",
    "Move",
    "NeighbourMerge",
    "PublishedLSHSM",
    "PublishedMinSM",
    "RandomSplitMerge",
    "Schedule",
    "UrnMerge",
    "WithinSplit",
    "Work",
    "default_prior",
    "resolve_moves",
]


def _lss() -> Schedule:
    """Locality-sensitive sampling: everything that knows about other points knows about a point's hashed neighbours."""
    neighbours: Any = {"n_bits": 32, "n_tables": 16, "refresh": None, "family": "neighbours"}
    return [
        (BucketCut(hops=3, **neighbours), Work(0.25, shared=True)),
        (HashedGibbs(n_mates=8, **neighbours), 1),
        (UrnMerge(**neighbours), Work(0.5, shared=True)),
        (NeighbourMerge(**neighbours), Work(0.5, shared=True)),
        (WithinSplit(), Work(0.25, shared=True)),
        (WithinSplit(launch="nearest"), Work(0.25, shared=True)),
        (Gibbs(n_points=1), Work(1.0)),
    ]


_SCHEDULES: dict[str, Callable[[], Schedule]] = {
    "lss": _lss,
    "split-merge": lambda: [(SAMS(), 50), (RGSM(n_scans=1, launch="nearest"), 50), (Gibbs(), 1)],
    "sams": lambda: [(SAMS(), 1), (Gibbs(), 1)],
    "rgsm": lambda: [(RGSM(n_scans=5), 1), (Gibbs(), 1)],
    "sdds": lambda: [(SDDS(), 1), (Gibbs(), 1)],
    "random-split-merge": lambda: [(RandomSplitMerge(), 1), (Gibbs(), 1)],
    "lshsm": lambda: [(LSHSM(), 1), (Gibbs(), 1)],
    "minsm": lambda: [(MinSM(), 1), (Gibbs(), 1)],
    "gibbs": lambda: [(Gibbs(), 1)],
    "published-lshsm": lambda: [(PublishedLSHSM(), 100)],
    "published-minsm": lambda: [(PublishedMinSM(), 100)],
}


def resolve_moves(moves: str | Move | Sequence[tuple[Move, float | Work]], owner: str = "sample") -> Schedule:
    """The schedule a user means: a list of (move, weight).

    A sweep applies each move ``weight`` times, in the order given: the whole part of the weight always, once more with
    the probability of its fraction. A weight may also be a :class:`Work`.

    Parameters
    ----------
    moves : str, Move or list of (Move, weight)
        "lss" (locality-sensitive sampling: cuts by neighbourhoods, a hashed Gibbs offer to every point, merges of hashed
        neighbours, splits, and full conditionals for about n/K points, tuned during warm-up); "split-merge" (50 SAMS and 50
        RGSM proposals with the nearest launch, and a Gibbs scan, a sweep); "sams", "rgsm", "sdds", "random-split-merge",
        "lshsm", "minsm" (the move once, and a Gibbs scan); "gibbs" (the scan alone);
        "published-lshsm", "published-minsm" (100 proposals as the paper prints them: not exact); one move; or a list.
    owner : str
        Who asks, for the error message.

    Examples
    --------
    >>> from hashmix.moves import resolve_moves
    >>> resolve_moves("rgsm")
    [(RGSM(n_scans=5, launch='coins'), 1), (Gibbs(n_points=None), 1)]
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
    return [(move, check_weight(owner, move, weight)) for move, weight in moves]


def default_prior(schedule: Schedule) -> str:
    """The prior meant by "auto": a Dirichlet process, but flat for published moves, whose ratio is a likelihood alone.

    Examples
    --------
    >>> from hashmix.moves import default_prior, resolve_moves
    >>> default_prior(resolve_moves("minsm")), default_prior(resolve_moves("published-minsm"))
    ('dirichlet-process', 'flat')
    """
    return "dirichlet-process" if all(move.exact for move, _ in schedule) else "flat"


def _is_pair(entry: Any) -> bool:
    return isinstance(entry, (list, tuple)) and len(entry) == 2 and isinstance(entry[0], Move)
