"""Schedules: which moves a sweep applies, and how often."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from hashmix.components.contract import Component
from hashmix.core.registry import Registry
from hashmix.core.validation import bad_parameter
from hashmix.hashing.cells import CellFamily
from hashmix.moves.classic.gibbs import Gibbs
from hashmix.moves.classic.random_split_merge import RandomSplitMerge
from hashmix.moves.classic.rgsm import RGSM
from hashmix.moves.classic.sams import SAMS
from hashmix.moves.classic.sdds import SDDS
from hashmix.moves.classic.singleton_merge import SingletonMerge
from hashmix.moves.contract import Move, Proposal, Update
from hashmix.moves.hashed.bucket_cut import BucketCut
from hashmix.moves.hashed.hashed_gibbs import HashedGibbs
from hashmix.moves.hashed.lshsm import LSHSM
from hashmix.moves.hashed.minsm import MinSM
from hashmix.moves.hashed.neighbour_merge import NeighbourMerge
from hashmix.moves.hashed.urn_merge import UrnMerge
from hashmix.moves.hashed.within_split import WithinSplit
from hashmix.moves.parallel.gibbs import ParallelGibbs
from hashmix.moves.parallel.in_regions import InRegions
from hashmix.moves.parallel.regions import RegionGibbs
from hashmix.moves.parallel.split_merge import ParallelSplitMerge
from hashmix.moves.published import PublishedLSHSM, PublishedMinSM
from hashmix.moves.tuning import Schedule, Work, check_weight

__all__ = ["SCHEDULES", "default_prior", "resolve_moves"]

#: The schedules that have a name. Add one of your own with ``SCHEDULES.add("mine", lambda: [(MyMove(), 1), (Gibbs(), 1)])``.
SCHEDULES: Registry[Schedule] = Registry("moves", Move)


_NEIGHBOURS: Any = {"n_bits": 32, "n_tables": 16, "refresh": None, "family": "neighbours"}


def _lss() -> Schedule:
    """Locality-sensitive sampling: every proposal that involves other rows takes them from a row's hashed neighbours."""
    return [
        (BucketCut(hops=3, **_NEIGHBOURS), Work(0.25, shared=True)),
        (HashedGibbs(n_mates=8, **_NEIGHBOURS), 1),
        (UrnMerge(**_NEIGHBOURS), Work(0.5, shared=True)),
        (NeighbourMerge(**_NEIGHBOURS), Work(0.5, shared=True)),
        (WithinSplit(), Work(0.25, shared=True)),
        (WithinSplit(launch="nearest"), Work(0.25, shared=True)),
        (Gibbs(n_points=1), Work(1.0)),
    ]


#: Finding regions takes about six milliseconds per move and sweep; below this many rows, proposals take less.
_ROWS_FOR_REGIONS = 50_000
#: Rows per cell: small ones for anchors and merges.
_NEAR = CellFamily(64)


def _parallel() -> Schedule:
    """All rows at once: splits of all clusters, merges of neighbours, and parallel Gibbs among candidates and among all."""
    return [
        (ParallelSplitMerge("within"), Work(0.08)),
        (ParallelSplitMerge("near"), Work(0.04)),
        (ParallelGibbs(), Work(0.5)),
        (ParallelGibbs(candidates=32), Work(1.0)),
        (UrnMerge(family=_NEAR, refresh=50, start="cluster"), Work(0.1)),
        (UrnMerge(family=_NEAR, refresh=50), Work(0.02)),
        (WithinSplit(), Work(0.1)),
        (WithinSplit(launch="nearest"), Work(0.1)),
        (SingletonMerge(), Work(0.06)),
    ]


def _in_regions(move: Proposal | Update) -> InRegions:
    """A move in regions, where there are enough rows for that to pay."""
    return InRegions(move, fewest_rows=_ROWS_FOR_REGIONS)


def _collapsed() -> Schedule:
    """Locality-sensitive sampling in regions, on all cores, for components whose parameters stay integrated out."""
    return [
        (_in_regions(BucketCut(hops=3, **_NEIGHBOURS)), Work(0.25, shared=True)),
        (RegionGibbs(n_mates=8, **_NEIGHBOURS), 1),
        (_in_regions(HashedGibbs(n_mates=8, **_NEIGHBOURS)), 0.25),
        (_in_regions(UrnMerge(**_NEIGHBOURS)), Work(0.25, shared=True)),
        (_in_regions(NeighbourMerge(**_NEIGHBOURS)), Work(0.25, shared=True)),
        (_in_regions(WithinSplit()), Work(0.25, shared=True)),
        (_in_regions(WithinSplit(launch="nearest")), Work(0.25, shared=True)),
        (_in_regions(Gibbs(n_points=1)), Work(0.5)),
    ]


SCHEDULES.add("auto", _parallel)
SCHEDULES.add("lss", _lss)
SCHEDULES.add("split-merge", lambda: [(SAMS(), 50), (RGSM(n_scans=1, launch="nearest"), 50), (Gibbs(), 1)])
SCHEDULES.add("sams", lambda: [(SAMS(), 1), (Gibbs(), 1)])
SCHEDULES.add("rgsm", lambda: [(RGSM(n_scans=5), 1), (Gibbs(), 1)])
SCHEDULES.add("sdds", lambda: [(SDDS(), 1), (Gibbs(), 1)])
SCHEDULES.add("random-split-merge", lambda: [(RandomSplitMerge(), 1), (Gibbs(), 1)])
SCHEDULES.add("lshsm", lambda: [(LSHSM(), 1), (Gibbs(), 1)])
SCHEDULES.add("minsm", lambda: [(MinSM(), 1), (Gibbs(), 1)])
SCHEDULES.add("gibbs", lambda: [(Gibbs(), 1)])
SCHEDULES.add("published-lshsm", lambda: [(PublishedLSHSM(), 100)])
SCHEDULES.add("published-minsm", lambda: [(PublishedMinSM(), 100)])


def resolve_moves(
    moves: str | Move | Sequence[tuple[Move, float | Work]], owner: str = "sample", component: Component | None = None
) -> Schedule:
    """Resolve a ``moves`` parameter to a schedule: a list of (move, weight).

    A sweep applies each move ``weight`` times, in the order given: the whole part of the weight always, and once more with
    the probability of its fraction. A weight may also be a :class:`Work`.

    Parameters
    ----------
    moves : str, Move or list of (Move, weight)
        A name of :data:`SCHEDULES`, one move, or a list. "auto" suits the component: where rows find their clusters with
        parameters drawn (Gaussians), splits of all clusters at once, parallel Gibbs and merges of small clusters; else "lss"
        in regions of clusters, on all cores. "lss" is locality-sensitive sampling: cuts by neighbourhoods, a
        hashed Gibbs offer to every row, merges of hashed neighbours, splits, and full conditionals for about n/K rows, tuned
        during warm-up. "split-merge" is 50 SAMS and 50 RGSM proposals and a Gibbs scan per sweep. "sams", "rgsm", "sdds",
        "random-split-merge", "lshsm" and "minsm" are that move once, and a Gibbs scan; "gibbs" the scan alone.
        "published-lshsm" and "published-minsm" are 100 proposals as the paper prints them: not exact.
    owner : str
        Whose parameter it is, for the error message.
    component : Component, optional
        What "auto" suits; a Gaussian by default.

    Examples
    --------
    >>> from hashmix.moves import resolve_moves
    >>> resolve_moves("rgsm")
    [(RGSM(n_scans=5, launch='coins'), 1), (Gibbs(n_points=None), 1)]
    """
    if isinstance(moves, Move):
        return [(moves, 1)]
    if isinstance(moves, str) and moves == "auto" and component is not None and not component.moves_with_parameters:
        return _collapsed()
    if moves in SCHEDULES:
        return SCHEDULES[moves]()  # type: ignore[index]
    if not isinstance(moves, (list, tuple)) or not moves or not all(_is_pair(entry) for entry in moves):
        raise bad_parameter(owner, "moves", f"{SCHEDULES.allowed()}, or a list of (Move, weight)", moves)
    return [(move, check_weight(owner, move, weight)) for move, weight in moves]


def default_prior(schedule: Schedule) -> str:
    """The prior that "auto" stands for: a Dirichlet process, but flat for published moves, whose ratio has no prior.

    Examples
    --------
    >>> from hashmix.moves import default_prior, resolve_moves
    >>> default_prior(resolve_moves("minsm")), default_prior(resolve_moves("published-minsm"))
    ('dirichlet-process', 'flat')
    """
    return "dirichlet-process" if all(move.exact for move, _ in schedule) else "flat"


def _is_pair(entry: Any) -> bool:
    return isinstance(entry, (list, tuple)) and len(entry) == 2 and isinstance(entry[0], Move)
