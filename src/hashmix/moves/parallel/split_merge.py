"""Many split–merges at once: disjoint clusters, and all of their rows in a few parallel passes."""

from __future__ import annotations

from typing import Any

import numpy as np

from hashmix.components.contract import DenseSlots, clear
from hashmix.core.compiling import borrowed, kernel
from hashmix.core.validation import check_choice, check_integer
from hashmix.hashing.cells import CellFamily
from hashmix.moves.contract import Move
from hashmix.moves.parallel.pairs import MERGES, Pairs, disjoint_pairs
from hashmix.moves.parallel.passes import Passes, Segments, list_rows, sizes_of
from hashmix.moves.parallel.seeds import draw_seed
from hashmix.moves.tally import ACCEPTED, PROPOSED, SPLITS_ACCEPTED, SPLITS_PROPOSED, WORK
from hashmix.partition.members import close_cluster, move_row, open_cluster
from hashmix.partition.state import SPARE_SLOTS, State
from hashmix.priors.contract import log_sizes_ratios

__all__ = ["ParallelSplitMerge", "accept", "log_anchors", "without_hopeless_merges"]

#: One pair of anchors is drawn per so many rows, and at least _FEWEST.
_ROWS_PER_PAIR, _FEWEST = 8, 64
#: How much less a density costs than a collapsed predictive.
_CHEAPER = 4
#: Rows per cell that anchors are drawn from: those of a cell are near each other.
_NEAR = 64


class ParallelSplitMerge(Move):
    """Anchored splits and merges of many clusters at once.

    A pair of anchors proposes to split the cluster of both, or to merge their two clusters. A pair is dropped if one of its
    clusters is also that of an earlier pair that was kept. What remains is disjoint, and as likely on the way back as the ratio
    says. Sides are found by a few passes over all rows: parameters of both sides are drawn, then every
    row's side given these. The last pass gives the probability of the proposal. Proposals are accepted one after the other.

    Parameters
    ----------
    anchors : {"within", "near", "uniform"}, default="within"
        How the second row of a pair is drawn. "within": from the cluster of the first, so that nearly all proposals are splits,
        and the ratio accounts for it. "near": another row of its cell, in the same cluster or in a neighbouring one.
        "uniform": any other row.
    n_passes : int, default=3
        Passes before the recorded one.
    refresh : int, default=50
        Sweeps between fresh cells.

    Examples
    --------
    >>> import numpy as np, hashmix as hm
    >>> X = np.concatenate([np.random.default_rng(0).normal(m, 1.0, (50, 2)) for m in (-5, 5)])
    >>> moves = [(hm.moves.ParallelSplitMerge(), 1), (hm.moves.ParallelGibbs(), 1)]
    >>> posterior = hm.sample(X, moves=moves, n_draws=50, n_warmup=50, random_state=0)
    >>> int(np.median(posterior.n_clusters))
    2
    """

    def __init__(self, anchors: str = "within", n_passes: int = 3, refresh: int = 50) -> None:
        owner = type(self).__name__
        self.anchors: str = check_choice(owner, "anchors", anchors, ["within", "near", "uniform"])
        self.n_passes: int = check_integer(owner, "n_passes", n_passes, low=0)
        self.refresh: int = check_integer(owner, "refresh", refresh, low=1)

    def expected_work(self, state: State) -> float:
        return max(1.0, state.n_rows * (self.n_passes + 2) / _CHEAPER)

    def most_times(self, state: State) -> int:
        return 1

    def units_per_call(self, state: State) -> int:
        return 1

    def compile(self, state: State) -> None:
        self._propose(state, np.uint64(0), np.zeros(5, np.int64), commit=False)

    def run_units(self, rng: Any, state: State, begin: int, end: int, tally: np.ndarray) -> int:
        self._propose(state, np.uint64(draw_seed(rng)), tally)
        return begin + 1

    # ---- one application ----

    def _propose(self, state: State, seed: np.uint64, tally: np.ndarray, commit: bool = True) -> None:
        pairs = self._draw_pairs(state, seed)
        tally[PROPOSED] += len(pairs.u)
        tally[SPLITS_PROPOSED] += int(pairs.is_split.sum())
        tally[WORK] += len(pairs.u)
        _make_room(state, int(pairs.is_split.sum()))
        pairs, gains = without_hopeless_merges(state, pairs, self._log_anchors)
        if len(pairs.u) == 0:
            return
        segments = list_rows(state, pairs)
        tally[WORK] += int(len(segments.rows) * 2 * (self.n_passes + 2) / _CHEAPER)
        sides, log_q = self._divide(state, seed, pairs, segments)
        log_sides = state.component.log_marginals(state.model, sides).reshape(-1, 2)
        sizes = np.rint(sizes_of(sides)).astype(np.int64).reshape(-1, 2)
        split = pairs.is_split
        gains = np.where(split, log_sides.sum(axis=1) - gains, gains)
        log_q -= self._log_anchors(state.n_rows, sizes.sum(axis=1))
        accepted = accept(state, pairs, sizes, gains, log_q) if commit else np.zeros(0, np.int64)
        tally[ACCEPTED] += len(accepted)
        tally[SPLITS_ACCEPTED] += int(split[accepted].sum())
        _commit(state, pairs, segments, sides, accepted)

    def _log_anchors(self, n: int, sizes: np.ndarray) -> np.ndarray:
        return log_anchors(self.anchors, n, sizes)

    def _draw_pairs(self, state: State, seed: np.uint64) -> Pairs:
        n = state.n_rows
        n_pairs = min(n, max(_FEWEST, n // _ROWS_PER_PAIR))
        if self.anchors == "near":
            cells = state.hashed.tables(CellFamily(_NEAR), state.sweep, self.refresh).arrays
            cell, begins, order = cells.buckets[:, 0], cells.begins, cells.order
        else:
            cell, begins, order = np.zeros(0, np.int32), np.zeros(0, np.int64), np.zeros(0, np.int32)
        found, uniforms = disjoint_pairs(seed, n_pairs, self.anchors == "within", cell, begins, order, state.partition)
        return Pairs(found[0], found[1], found[2], found[3], np.log(uniforms))

    def _divide(self, state: State, seed: np.uint64, pairs: Pairs, segments: Segments) -> tuple[Any, np.ndarray]:
        """Divide the rows of all proposals; return the statistics of the sides (u, v, u, v, …) and log q of each proposal."""
        forced = segments.sides.copy()
        passes = Passes(state, seed, pairs, segments)
        passes.join_nearest()
        log_q = np.zeros(len(pairs.u))
        for number in range(self.n_passes + 1):
            last = number == self.n_passes
            log_q = passes.draw_sides(number, forced if last else None)
        return passes.statistics, log_q


# ---- anchors ---------------------------------------------------------------------------------------------------------------


def log_anchors(anchors: str, n: int, sizes: np.ndarray) -> np.ndarray:
    """Log g(u, v | split) − log g(u, v | together), for clusters of these sizes when they are together."""
    if anchors != "within":
        return np.zeros(len(sizes))
    return np.log(MERGES / (1.0 - MERGES) * (sizes - 1.0) / n)


def _make_room(state: State, n_splits: int) -> None:
    """Make sure that all splits find a free slot, and the prior's table a number for every K that may be reached."""
    needed = state.n_clusters + n_splits + SPARE_SLOTS
    if state.capacity < needed:
        state.grow(2 * needed)


# ---- ratios ----------------------------------------------------------------------------------------------------------------


def without_hopeless_merges(state: Any, pairs: Pairs, log_anchors: Any) -> tuple[Pairs, np.ndarray]:
    """Leave out merges that are rejected whatever their q ≤ 1 and whatever else is accepted.

    Also return log m of the cluster of every split, and the gain in log likelihood of every merge.
    """
    place = np.empty(state.capacity, np.int64)
    place[state.used] = np.arange(state.n_clusters)
    stats = state.statistics(state.used)
    log_m = state.component.log_marginals(state.model, stats)
    first, second = place[pairs.of_u], place[pairs.of_v]
    split = pairs.is_split
    gains = log_m[first].copy()
    merges = np.flatnonzero(~split)
    keep = np.ones(len(split), bool)
    if len(merges):
        union = stats[first[merges]] + stats[second[merges]]
        a, b = first[merges], second[merges]
        gains[merges] = state.component.log_marginals(state.model, union) - log_m[a] - log_m[b]
        sizes = sizes_of(stats)
        k, change = state.n_clusters, len(split)
        log_v = state.target.prior.log_v
        least = np.diff(log_v[max(1, k - change) : k + change + 1]).min()
        bound = gains[merges] - least - log_sizes_ratios(state.target.prior, sizes[a], sizes[b])
        keep[merges] = pairs.log_uniform[merges] < bound - log_anchors(state.n_rows, sizes[a] + sizes[b])
    return pairs.keep(keep), gains[keep]


def accept(state: Any, pairs: Pairs, sizes: np.ndarray, gains: np.ndarray, log_q: np.ndarray) -> np.ndarray:
    """Which proposals are accepted, one after the other: the prior looks at the number of clusters.

    ``gains`` are in log likelihood, and ``log_q`` is the log ratio of the probabilities to propose the split and the merge.
    """
    split = pairs.is_split
    ratios = log_sizes_ratios(state.target.prior, sizes[:, 0], sizes[:, 1])
    log_v, k, accepted = state.target.prior.log_v, state.n_clusters, []
    for b in range(len(split)):
        if split[b]:
            log_ratio = gains[b] + ratios[b] + log_v[k + 1] - log_v[k] - log_q[b]
        else:
            log_ratio = gains[b] - ratios[b] - (log_v[k] - log_v[k - 1]) + log_q[b]
        if pairs.log_uniform[b] < log_ratio:
            accepted.append(b)
            k += 1 if split[b] else -1
    return np.array(accepted, np.int64)


# ---- commits ---------------------------------------------------------------------------------------------------------------


def _commit(state: State, pairs: Pairs, segments: Segments, sides: Any, accepted: np.ndarray) -> None:
    """Carry out the accepted proposals."""
    p, dense = state.partition, isinstance(state.slots, DenseSlots)
    no_rows = np.zeros(0, np.int32)
    _move_members(p, no_rows, 0)
    if not dense:
        state.move_rows(no_rows, no_rows)
    changed, stats = [], []
    for b in accepted.tolist():
        begin, end = segments.starts[b], segments.starts[b] + segments.sizes[b]
        if pairs.of_u[b] == pairs.of_v[b]:
            into, source = _open(p), pairs.of_u[b]
            rows = np.append(segments.rows[begin:end][segments.sides[begin:end] == 1], pairs.v[b])
            if dense:
                changed += [source, into]
                stats += [sides[2 * b], sides[2 * b + 1]]
            else:
                _clear_slot(state.slots, state.model, into)
        else:
            into, source = pairs.of_u[b], pairs.of_v[b]
            if p.sizes[into] < p.sizes[source]:
                into, source = source, into
            rows = p.pool[p.starts[source] : p.starts[source] + p.sizes[source]].copy()
            if dense:
                changed.append(into)
                stats.append(sides[2 * b] + sides[2 * b + 1])
        if dense:
            _move_members(p, rows, into)
        else:
            state.move_rows(rows, np.full(len(rows), into, np.int32))
        if p.sizes[source] == 0:
            _close(p, source)
    if changed:
        state.set_statistics(np.array(changed), np.array(stats))


@kernel
def _open(partition):
    return open_cluster(borrowed(partition))


@kernel
def _close(partition, slot):
    close_cluster(borrowed(partition), slot)


@kernel
def _clear_slot(slots, model, slot):
    clear(borrowed(model), borrowed(slots), slot)


@kernel
def _move_members(partition, rows, into):
    partition, rows = borrowed(partition), borrowed(rows)
    for at in range(len(rows)):
        move_row(partition, rows[at], into)
