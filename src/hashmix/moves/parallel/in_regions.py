"""Moves in all regions of clusters at once, one worker each.

Every row has a rank and a colour drawn without looking at the partition. A region is all clusters whose leaders, their rows
of least rank, have one colour. In each region, a move proposes as if there were no other rows, and is rejected where it would
give a cluster a leader of another colour. So the regions and their rows are the same before and after, and workers never touch
each other's clusters.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from queue import SimpleQueue
from typing import Any

import numpy as np

from hashmix.core.rng import stream, unit_interval
from hashmix.core.threads import one_blas_thread
from hashmix.core.validation import bad_parameter, check_integer
from hashmix.hashing import HashFamily
from hashmix.moves.contract import Proposal, Update
from hashmix.moves.driver import Unions
from hashmix.moves.hashed.tables import HashedMove
from hashmix.moves.parallel.regions_colours import colour_all_rows
from hashmix.moves.parallel.regions_sharing import Regions, share_out
from hashmix.moves.parallel.seeds import draw_seed
from hashmix.moves.tally import new_tally
from hashmix.partition.members import N_CLUSTERS, N_FREE, Bounds, Partition
from hashmix.partition.parts import deal_slots, enter, leave, part_of, take_back
from hashmix.partition.state import SPARE_SLOTS, Arrays, Scratch, State

__all__ = ["InRegions", "Task", "run_tasks", "share_units"]

#: There are at most so many regions that each has this many rows on average.
_ROWS_PER_REGION = 256
#: What random numbers of a sweep are for, beside those of its moves.
_COLOURS = 1 << 32


@dataclass
class Task:
    """What is to be done in a region, and how far it has come. It is the same wherever it stopped for want of memory."""

    part: Partition
    rng: Any
    region: int
    units: int
    others: int  # clusters of all other regions
    done: int = 0
    unions: Unions = field(default_factory=Unions.none)
    tally: np.ndarray = field(default_factory=new_tally)

    @property
    def n_clusters(self) -> int:
        """Clusters of the region now."""
        return int(self.part.counters[N_CLUSTERS])

    @property
    def short_of_slots(self) -> bool:
        """Whether the next proposal might not find its free slots."""
        return bool(self.part.counters[N_FREE] < SPARE_SLOTS)


class InRegions(HashedMove):
    """A move in all regions of clusters at once, on all cores of a chain.

    Regions are drawn by where rows are, afresh for every sweep and application, so that clusters with similar rows mostly
    share one. Proposals are shared out by the regions' rows. If the ratio of the prior depends on the number of all clusters
    (Pitman–Yor, mixtures of finite mixtures), regions take turns. Draws do not depend on the number of threads.

    Parameters
    ----------
    move : Proposal or Update
        What is done in each region: any exact one of this package, such as SAMS, RGSM, UrnMerge or Gibbs, or one of your own
        that declares ``works_in_parts``. LSHSM and MinSM are made of several, each of which may be done in regions.
    n_bits, n_tables : int, default=32 and 16
        Size and number of the hash tables from which colours are found.
    refresh : int or None, default=None
        Sweeps between fresh hash functions; None keeps the first ones.
    family : str or HashFamily, default="neighbours"
        What rows in one bucket have in common; see :class:`hashmix.moves.hashed.tables.HashedMove`.
    n_regions : int, default=64
        Largest number of regions. With fewer than 16,384 rows there are fewer: 256 rows in each, on average.
    fewest_rows : int, default=512
        With fewer rows there is one region, and the move is applied as it is: with few rows, finding regions takes longer than
        proposing.

    Examples
    --------
    >>> import numpy as np, hashmix as hm
    >>> from hashmix.core.rng import stream
    >>> from hashmix.core.threads import Threads
    >>> from hashmix.partition.state import State
    >>> from hashmix.partition.target import Target
    >>> X = np.concatenate([np.linspace(0.0, 1.0, 300), np.linspace(9.0, 10.0, 300)])[:, None]
    >>> component, prior = hm.components.DiagonalGaussian(5.0, 0.1, 2.0, 0.1), hm.priors.DirichletProcess(1.0)
    >>> state = State(Target.of(X, component, prior), np.arange(600) // 100, threads=Threads(2))
    >>> tally = hm.moves.InRegions(hm.moves.UrnMerge(n_bits=1)).apply(state, stream(0), times=300)
    >>> 2 <= state.n_clusters <= 6
    True
    """

    prepares = True

    def __init__(
        self,
        move: Proposal | Update,
        n_bits: int = 32,
        n_tables: int = 16,
        refresh: int | None = None,
        family: str | HashFamily = "neighbours",
        n_regions: int = 64,
        fewest_rows: int = 2 * _ROWS_PER_REGION,
    ) -> None:
        super().__init__(n_bits, n_tables, refresh, family)
        if not isinstance(move, (Proposal, Update)) or not move.works_in_parts:
            allowed = "a move that works in parts of a partition, as UrnMerge does"
            raise bad_parameter(type(self).__name__, "move", allowed, move)
        self.move = move
        self.n_regions = check_integer(type(self).__name__, "n_regions", n_regions, low=1)
        self.fewest_rows = check_integer(type(self).__name__, "fewest_rows", fewest_rows, low=1)

    @property
    def name(self) -> str:
        return f"InRegions({self.move.name})"

    def units(self, state: State) -> int:
        return self.move.units(state)

    def expected_work(self, state: State) -> float:
        return self.move.expected_work(state)

    def most_times(self, state: State) -> int:
        return self.move.most_times(state)

    def colours(self, state: State) -> np.ndarray:
        """Colours of all rows, by where they are. Neither they nor their number may depend on the partition.

        They are drawn once per sweep, for all moves.
        """
        tables, n_colours, hashed = self.table_arrays(state), self._n_colours(state), state.hashed
        seed = stream(hashed.key, state.sweep, _COLOURS).state[0]
        name = InRegions, repr(self.family), self.n_bits, self.n_tables, self.refresh, n_colours
        return hashed.of_sweep(name, state.sweep, lambda: colour_all_rows(hashed.rows, tables, seed, n_colours, state.threads))

    def _n_colours(self, state: State) -> int:
        return 1 if state.n_rows < self.fewest_rows else max(1, min(self.n_regions, state.n_rows // _ROWS_PER_REGION))

    def apply(self, state: State, rng: Any, times: int = 1, stop: Callable[[], bool] = lambda: False) -> np.ndarray:
        """Apply the move ``times`` times in all regions together, or until ``stop()`` returns True; return the tally."""
        if times == 0 or self._n_colours(state) == 1:
            return self.move.apply(state, rng, times, stop)
        return self._run(state, np.uint64(draw_seed(rng)), times * self.units(state), stop)

    def run_units(self, rng: Any, state: State, begin: int, end: int, tally: np.ndarray) -> int:
        tally += self._run(state, np.uint64(draw_seed(rng)), end - begin, lambda: False)
        return end

    def compile(self, state: State) -> None:
        self._run(state, np.uint64(0), 0, lambda: False)

    # ---- one application -------------------------------------------------------------------------------------------------

    def _run(self, state: State, seed: np.uint64, n_units: int, stop: Callable[[], bool]) -> np.ndarray:
        with one_blas_thread():  # once for all steps
            colours = self.colours(state)
            regions = share_out(state, seed, colours.__getitem__)
            tasks = share_units(state, seed, regions, n_units)
            run_tasks(self.move, state, Bounds(seed, colours, 0, regions.ranks), tasks, stop)
        return np.sum([task.tally for task in tasks], axis=0)


def share_units(state: State, seed: np.uint64, regions: Regions, n_units: int) -> list[Task]:
    """One task per region with rows. Units are shared out by rows: their numbers are the same before and after."""
    n, k = state.n_rows, state.n_clusters
    offset = int(unit_interval(int(seed)) * n)
    cuts = (n_units * regions.begins + offset) // n
    return [
        Task(
            part_of(state.partition, regions.rows(r), regions.slots(r)),
            stream(int(seed), r),
            region=r,
            units=int(cuts[r + 1] - cuts[r]),
            others=k - len(regions.slots(r)),
        )
        for r in range(len(regions.begins) - 1)
        if len(regions.rows(r)) > 0
    ]


def run_tasks(
    move: Proposal | Update, state: State, bounds: Bounds, tasks: list[Task], stop: Callable[[], bool] = lambda: False
) -> None:
    """Do all tasks, at once or in turn, and make one partition of the parts again."""
    workers: list[_Worker] = []
    change = 0  # in the number of clusters
    for group in [tasks] if state.prior.linear_in_clusters else [[task] for task in tasks]:
        before = sum(task.n_clusters for task in group)
        for task in group:
            task.others += change
        left, short = sorted(group, key=lambda task: -len(task.part.rows)), True
        while left and not stop():
            if short:
                bounds = _deal(state, bounds, left)
            ready = [task for task in left if not task.short_of_slots]
            _run_in_threads(move, state, bounds, ready, workers, stop)
            left = [task for task in left if task.done < task.units]
            # When nobody can go on without slots: who is short then does not depend on when memory ran out before.
            short = all(task.short_of_slots for task in left)
        change += sum(task.n_clusters for task in group) - before
    take_back(state.partition, [task.part for task in tasks], state.threads)


def _deal(state: State, bounds: Bounds, tasks: list[Task]) -> Bounds:
    """Give all tasks free slots; return bounds with the ranks of as many slots as there are then."""
    for task, part in zip(tasks, deal_slots(state, [task.part for task in tasks]), strict=True):
        task.part = part
    ranks = np.zeros(state.capacity, np.uint64)
    ranks[: len(bounds.ranks)] = bounds.ranks
    return bounds._replace(ranks=ranks)


@dataclass
class _Worker:
    """Memory of one thread: labels of the part at hand, −1 of all other rows, and buffers; some laws have buffers, too.

    The thread touches it first.
    """

    labels: np.ndarray
    scratch: Scratch
    law: Any

    @classmethod
    def of(cls, state: State, law: Any) -> _Worker:
        return cls(np.empty(0, np.int32), Scratch.empty(state.n_rows, state.capacity), law)


def _run_in_threads(
    move: Proposal | Update,
    state: State,
    bounds: Bounds,
    tasks: list[Task],
    workers: list[_Worker],
    stop: Callable[[], bool],
) -> None:
    """Go on with tasks until each is done or wants memory."""
    n_workers = min(state.threads.n, len(tasks))
    workers += [_Worker.of(state, move.checked_law(state)) for _ in range(n_workers - len(workers))]
    state.slots, views = state.slots.for_workers(n_workers, proposals=True)
    idle: SimpleQueue = SimpleQueue()
    for worker, view in zip(workers, views, strict=False):
        idle.put((worker, view))
    labels, target, per_call = state.partition.labels, state.target, move.units_per_call(state)

    def work(task: Task) -> None:
        worker, slots = idle.get()
        try:
            if len(worker.labels) == 0:
                worker.labels = np.full(state.n_rows, -1, np.int32)
            if len(worker.scratch.weights) < state.capacity:
                worker.scratch = Scratch.empty(state.n_rows, state.capacity)
            part = task.part._replace(labels=worker.labels, bounds=bounds._replace(colour=task.region))
            arrays = Arrays(part, slots, worker.scratch)
            weights = target._replace(prior=target.prior._replace(log_v=target.prior.log_v[task.others :]))
            enter(part, labels)
            while True:
                end = min(task.units, task.done + per_call)
                task.done = move.run_law(task.rng, worker.law, arrays, weights, task.unions, task.done, end, task.tally)
                if task.done < end or task.done == task.units or stop():
                    break
            leave(part, labels, slots, target.model)
        finally:
            idle.put((worker, slots))

    state.threads.map(work, tasks)
    state.slots.after_workers(views)
