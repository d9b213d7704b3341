"""Collapsed Gibbs on all cores: regions of clusters, one worker each.

Every row has a colour that says where it is, drawn without looking at the partition. A cluster belongs to the region of its
leader's colour, and its rows with it. A worker goes through the rows of its region one after the other, among the clusters of
its region only: leaders stay, and a row joins a cluster only if the leader's rank is less than its own. So the leaders, the
regions and their rows are the same before and after, and workers never touch each other's clusters.
"""

from __future__ import annotations

import math
from queue import SimpleQueue
from typing import Any, NamedTuple

import numpy as np

from hashmix.components.contract import add, is_full, load, remove
from hashmix.core.compiling import borrowed, helper, implements, inlined, kernel
from hashmix.core.counter import address
from hashmix.core.rng import Stream, bernoulli, categorical, integer, stream
from hashmix.core.threads import one_blas_thread
from hashmix.core.validation import check_integer
from hashmix.hashing import HashFamily
from hashmix.hashing.tables import TableArrays, row_of_window, window_of_mates
from hashmix.moves.conditional import contains, log_weight, normalise
from hashmix.moves.driver import accept
from hashmix.moves.hashed.tables import HashedMove
from hashmix.moves.parallel.regions_colours import colour_rows
from hashmix.moves.parallel.regions_memory import fetch, fetch_address, fetch_row
from hashmix.moves.parallel.regions_sharing import Regions, share_out
from hashmix.moves.parallel.seeds import draw_seed
from hashmix.moves.tally import ACCEPTED, PROPOSED, WORK, new_tally
from hashmix.partition.leaders import rank_of
from hashmix.partition.members import MOVED, regroup
from hashmix.partition.state import Arrays, State

__all__ = ["RegionGibbs", "RegionScan", "begin_row", "scan_region"]

#: How often a row whose cluster is among those of its mates is offered any other of its region instead. It is the way back
#: of a row whose cluster is not among them.
STRAY = 0.1
#: There are at most so many regions that each has this many clusters on average: a cluster alone in its region has nothing
#: to exchange.
CLUSTERS_PER_REGION = 8
#: How many rows before its turn a row is fetched from memory.
_AHEAD = 4
# What random numbers are for: addresses of a seed. The colours have others.
_ROWS = 1


class RegionScan(NamedTuple):
    """What the scan of a region reads.

    ``regions`` of all rows, and the ``ranks`` of leaders by slot. ``n_mates`` of 0 means that all clusters of the region are
    candidates.
    """

    seed: np.uint64
    tables: TableArrays
    n_mates: int
    regions: np.ndarray
    ranks: np.ndarray


# ---- the scan of a region ----------------------------------------------------------------------------------------------------


def begin_row(rng: Any, seed: Any, i: Any) -> Any:
    """Let the draws that follow be those of row i, whoever draws them."""


@implements(begin_row, Stream, inline=True)
def _begin_row(rng, seed, i):
    rng.state[0] = address(seed, _ROWS, i)
    rng.state[1] = 0


@inlined
def _may_join(scan, slot, i):
    """Whether row i may join a cluster, or be in it without being its leader."""
    return scan.ranks[slot] < rank_of(scan.seed, i)


@helper
def _all_clusters(scan, clusters, i, found):
    """List the clusters of the region that row i may join; return how many. The leaders' ranks ascend."""
    k = 0
    while k < len(clusters) and _may_join(scan, clusters[k], i):
        found[k] = clusters[k]
        k += 1
    return k


@helper
def _clusters_of_mates(rng, scan, labels, i, found):
    """List the clusters of some of row i's mates that it may join, without repeats; return how many.

    Only mates of the same region count: their labels are no one else's, and stay in the region. The mates are a window of
    the bucket, starting at a random place: a choice that no label enters. Row i is not its own mate.
    """
    begin, size, start, length = window_of_mates(rng, scan.tables, i, scan.n_mates)
    k, seen = 0, 0
    for place in range(start, start + length):
        mate = row_of_window(scan.tables, begin, size, place)
        if mate == i or seen == scan.n_mates:
            continue
        seen += 1
        if scan.regions[mate] == scan.regions[i]:
            slot = labels[mate]
            if not contains(found, k, slot) and _may_join(scan, slot, i):
                found[k] = slot
                k += 1
    return k


@inlined
def _look_ahead(scan, labels, data, rows, step):
    """Fetch from memory, in three steps, what the next rows of a region will need."""
    tables = scan.tables
    if step + 3 * _AHEAD < len(rows):
        i = np.int64(rows[step + 3 * _AHEAD])
        fetch(labels, i)
        fetch(scan.regions, i)
        fetch(tables.buckets, i * tables.buckets.shape[1])
        fetch_address(data, i)
        if tables.buckets.shape[1] == 1:  # else it is not known yet which table is looked at
            fetch(tables.begins, np.int64(tables.buckets[rows[step + 2 * _AHEAD], 0]))
            begin = tables.begins[tables.buckets[rows[step + _AHEAD], 0]]
            fetch(tables.order, begin)
            fetch(tables.order, begin + scan.n_mates)
        fetch_row(data, rows[step + _AHEAD])


@kernel
def scan_region(rng, scan, arrays, target, rows, clusters, begin, tally):
    """Go through rows begin, begin + 1, … of a region; return where it stopped, before the last if slots were full.

    Let T be the candidates of a row; they do not depend on where the row itself is. From within T, it draws from its full
    conditional restricted to T. Sometimes it is offered a cluster e outside T instead, each with the same small probability
    r. A row at e outside T is offered the draw from T. With p the full conditional and Z its sum over T, both are accepted by
    Metropolis–Hastings: p_d · r · α(d → e) = p_e · p_d/Z · α(e → d).
    """
    rng, scan, arrays, target = borrowed(rng), borrowed(scan), borrowed(arrays), borrowed(target)
    rows, clusters, tally = borrowed(rows), borrowed(clusters), borrowed(tally)
    labels, slots, model = arrays.partition.labels, arrays.slots, target.model
    found, weights = arrays.scratch.candidates, arrays.scratch.weights
    for step in range(begin, len(rows)):
        _look_ahead(scan, labels, target.data, rows, step)
        i = rows[step]
        here = labels[i]
        if not _may_join(scan, here, i):
            continue  # it is the leader
        if is_full(model, slots):
            return step
        begin_row(rng, scan.seed, i)
        if scan.n_mates == 0:
            k = _all_clusters(scan, clusters, i, found)
        else:
            k = _clusters_of_mates(rng, scan, labels, i, found)
        if k == 0:
            continue
        outside = not contains(found, k, here)
        elsewhere = -1  # the cluster outside T that is at stake, if any
        if outside:
            elsewhere = here
        elif scan.n_mates > 0 and bernoulli(rng, STRAY):
            elsewhere = clusters[integer(rng, len(clusters))]
            if contains(found, k, elsewhere) or not _may_join(scan, elsewhere, i):
                elsewhere = -1
        if elsewhere < 0 and k == 1:
            continue  # nothing to choose from
        row = load(model, slots, target.data, i)
        for c in range(k):
            weights[c] = log_weight(arrays, target, found[c], here, -1, 0, row)
        total, top = normalise(weights, k)
        tally[PROPOSED] += 1
        tally[WORK] += k
        if elsewhere >= 0:
            tally[WORK] += 1
            rate = STRAY / len(clusters)
            log_odds = log_weight(arrays, target, elsewhere, here, -1, 0, row) - math.log(rate * total) - top
            if not accept(rng, -log_odds if outside else log_odds):
                continue
        slot = elsewhere
        if outside or elsewhere < 0:
            slot = found[categorical(rng, weights, k, total)]
        if slot != here:
            remove(model, slots, here, row)
            add(model, slots, slot, row)
            labels[i] = slot
            tally[ACCEPTED] += 1
    return len(rows)


class RegionGibbs(HashedMove):
    """Collapsed Gibbs updates of all rows, on all cores of a chain.

    Clusters are shared out to regions by where their leaders are, and every region is scanned by one thread: each row is
    offered the clusters of those mates that are in its region. No cluster is opened or emptied. Draws do not depend on the
    number of threads. "Accepted" counts the rows that changed cluster.

    Parameters
    ----------
    n_bits, n_tables : int, default=10
        Size and number of the hash tables.
    n_mates : int or None, default=16
        Number of mates looked at, starting at a random place in the bucket. None: every row is offered all clusters of its
        region.
    refresh : int or None, default=10
        Sweeps between fresh hash functions; None keeps the first ones.
    family : str or HashFamily, default="sign-projection"
        What rows in one bucket have in common; see :class:`hashmix.moves.hashed.tables.HashedMove`.
    n_regions : int, default=64
        Largest number of regions. With fewer than 512 clusters there are fewer: eight clusters in each, on average.

    Examples
    --------
    >>> import numpy as np, hashmix as hm
    >>> from hashmix.core.rng import stream
    >>> from hashmix.core.threads import Threads
    >>> from hashmix.moves.parallel.regions import RegionGibbs
    >>> from hashmix.partition.state import State
    >>> from hashmix.partition.target import Target
    >>> X = np.concatenate([np.linspace(0.0, 1.0, 50), np.linspace(9.0, 10.0, 50)])[:, None]
    >>> component, prior = hm.components.DiagonalGaussian(5.0, 0.1, 2.0, 0.1), hm.priors.DirichletProcess(1.0)
    >>> state = State(Target.of(X, component, prior), np.arange(100) // 60, threads=Threads(2))
    >>> tally = RegionGibbs(n_bits=1).apply(state, stream(0), times=5)
    >>> state.n_clusters, sorted(state.sizes.tolist())
    (2, [50, 50])
    """

    def __init__(
        self,
        n_bits: int = 10,
        n_tables: int = 10,
        n_mates: int | None = 16,
        refresh: int | None = 10,
        family: str | HashFamily = "sign-projection",
        n_regions: int = 64,
    ) -> None:
        super().__init__(n_bits, n_tables, refresh, family)
        self.n_mates: int | None = None if n_mates is None else check_integer("RegionGibbs", "n_mates", n_mates, low=1)
        self.n_regions: int = check_integer("RegionGibbs", "n_regions", n_regions, low=1)

    def expected_work(self, state: State) -> float:
        return 2.0 * state.n_rows

    def colours(self, state: State, seed: np.uint64, rows: np.ndarray, n_colours: int) -> np.ndarray:
        """Colours 0 … n_colours − 1 of some rows, by where they are; labels must not enter."""
        return colour_rows(state.hashed.rows, self.table_arrays(state), seed, rows, n_colours, state.threads)

    def find_regions(self, state: State, seed: np.uint64) -> tuple[RegionScan, Regions]:
        """What the scans of all regions read, and the regions. The scans change neither."""
        n_regions = max(1, min(self.n_regions, state.n_clusters // CLUSTERS_PER_REGION))
        regions = share_out(state, seed, lambda rows: self.colours(state, seed, rows, n_regions))
        return RegionScan(seed, self.table_arrays(state), self.n_mates or 0, regions.of_rows, regions.ranks), regions

    def run_units(self, rng: Any, state: State, begin: int, end: int, tally: np.ndarray) -> int:
        with one_blas_thread():  # once for all steps of an application
            for _ in range(begin, end):
                _scan_regions(*self.find_regions(state, np.uint64(draw_seed(rng))), state, tally)
        return end

    def compile(self, state: State) -> None:
        scan, regions = self.find_regions(state, np.uint64(0))
        _scan_regions(scan, regions._replace(begins=np.zeros_like(regions.begins)), state, new_tally())


def _scan_regions(scan: RegionScan, regions: Regions, state: State, tally: np.ndarray) -> None:
    """Scan all regions, the largest first, and list the members of clusters again."""
    sizes = np.diff(regions.begins)
    left = [(int(r), 0) for r in np.argsort(-sizes, kind="stable")]
    moved = 0
    while left:
        left, of_round = _scan_in_threads(scan, regions, state, left)
        tally += of_round
        moved += int(of_round[ACCEPTED])
    if moved:
        regroup(state.partition, state.threads)
        state.partition.counters[MOVED] += moved


def _scan_in_threads(
    scan: RegionScan, regions: Regions, state: State, tasks: list[tuple[int, int]]
) -> tuple[list[tuple[int, int]], np.ndarray]:
    """Scan regions from where they stopped; return what is left because slots were full, and the tally."""
    state.slots, views = state.slots.for_workers(min(state.threads.n, len(tasks)))
    idle: SimpleQueue = SimpleQueue()
    for view in views:
        idle.put(view)
    target, scratch = state.target, state.scratch

    def work(task: tuple[int, int]) -> tuple[int, np.ndarray]:
        region, begin = task
        rows, clusters = regions.rows(region), regions.slots(region)
        tally, slots = new_tally(), idle.get()
        try:
            n_candidates = scan.n_mates or len(clusters)
            own = scratch._replace(candidates=np.empty(n_candidates, np.int32), weights=np.empty(n_candidates))
            arrays = Arrays(state.partition, slots, own)
            return scan_region(stream(0), scan, arrays, target, rows, clusters, begin, tally), tally
        finally:
            idle.put(slots)

    done = state.threads.map(work, tasks)
    state.slots.after_workers(views)
    sizes = np.diff(regions.begins)
    left = [(region, stopped) for (region, _), (stopped, _) in zip(tasks, done, strict=True) if stopped < sizes[region]]
    return left, np.sum([tally for _, tally in done], axis=0)
