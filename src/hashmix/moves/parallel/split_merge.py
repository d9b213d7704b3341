"""Many split–merges at once: disjoint clusters, and all of their rows in a few parallel passes."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from scipy.special import gammaln

from hashmix.components.contract import DenseSlots, add, clear, collect, is_full, load, log_predictive, remove
from hashmix.components.densities import log_odds, pair_weights
from hashmix.core.compiling import borrowed, fallback, helper, implements, kernel
from hashmix.core.counter import address, uniform_at
from hashmix.core.rng import numpy_generator
from hashmix.core.validation import check_choice, check_integer
from hashmix.hashing.cells import CellFamily
from hashmix.moves.contract import Move
from hashmix.moves.parallel.seeds import draw_seed
from hashmix.moves.tally import ACCEPTED, PROPOSED, SPLITS_ACCEPTED, SPLITS_PROPOSED, WORK
from hashmix.partition.collecting import cut_into_chunks, shared_out
from hashmix.partition.members import close_cluster, move_row, open_cluster
from hashmix.partition.state import SPARE_SLOTS, State

__all__ = ["ParallelSplitMerge"]

#: One pair of anchors is drawn per so many rows, and at least _FEWEST.
_ROWS_PER_PAIR, _FEWEST = 8, 64
#: How much less a density costs than a collapsed predictive.
_CHEAPER = 4
#: Share of merges among the pairs whose rows are drawn within clusters.
_MERGES = 0.1
#: Rows per cell that anchors are drawn from: those of a cell are near each other.
_NEAR = 64

#: Log odds beyond which a probability is 0 or 1 to float64.
_FAR = 40.0

# What a counter-based number is for. Passes take _PASS, _PASS + 1, …
_ANCHORS, _PASS = 1, 8


class Pairs(NamedTuple):
    """Pairs of anchors that are left, their clusters (the same for a split), and the log uniform numbers that decide."""

    u: np.ndarray
    v: np.ndarray
    of_u: np.ndarray
    of_v: np.ndarray
    log_uniform: np.ndarray

    @property
    def is_split(self) -> np.ndarray:
        return self.of_u == self.of_v

    def keep(self, which: np.ndarray) -> Pairs:
        return Pairs(*(part[which] for part in self))


class Segments(NamedTuple):
    """Rows of all proposals, one segment each without its anchors, and the side of each row: 0 for u's, 1 for v's."""

    rows: np.ndarray
    sides: np.ndarray
    starts: np.ndarray
    sizes: np.ndarray


class ParallelSplitMerge(Move):
    """Anchored splits and merges of many clusters at once.

    Pairs of anchors are drawn without looking at the partition. A pair proposes to split the cluster of both, or to merge their
    two clusters. A pair is dropped if one of its clusters is also that of an earlier pair. What remains is disjoint, and is the
    same set on the way back. Sides are found by a few passes over all rows: parameters of both sides are drawn, then every
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
        self.anchors = check_choice(owner, "anchors", anchors, ["within", "near", "uniform"])
        self.n_passes = check_integer(owner, "n_passes", n_passes, low=0)
        self.refresh = check_integer(owner, "refresh", refresh, low=1)

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
        pairs, gains = _without_hopeless_merges(state, pairs, self._log_anchors)
        if len(pairs.u) == 0:
            return
        segments = _list_rows(state, pairs)
        tally[WORK] += int(len(segments.rows) * 2 * (self.n_passes + 2) / _CHEAPER)
        sides, log_q = self._divide(state, seed, pairs, segments)
        log_sides = state.component.log_marginals(state.model, sides).reshape(-1, 2)
        sizes = np.rint(_sizes(sides)).astype(np.int64).reshape(-1, 2)
        split = pairs.is_split
        gains = np.where(split, log_sides.sum(axis=1) - gains, gains)
        log_q -= self._log_anchors(state.n_rows, sizes.sum(axis=1))
        accepted = _accept(state, pairs, sizes, gains, log_q) if commit else np.zeros(0, np.int64)
        tally[ACCEPTED] += len(accepted)
        tally[SPLITS_ACCEPTED] += int(split[accepted].sum())
        _commit(state, pairs, segments, sides, accepted)

    def _log_anchors(self, n: int, sizes: np.ndarray) -> np.ndarray:
        """Log g(u, v | split) − log g(u, v | together), for clusters of these sizes when they are together."""
        if self.anchors != "within":
            return np.zeros(len(sizes))
        return np.log(_MERGES / (1.0 - _MERGES) * (sizes - 1.0) / n)

    def _draw_pairs(self, state: State, seed: np.uint64) -> Pairs:
        n = state.n_rows
        n_pairs = min(n, max(_FEWEST, n // _ROWS_PER_PAIR))
        if self.anchors == "near":
            cells = state.hashed.tables(CellFamily(_NEAR), state.sweep, self.refresh).arrays
            cell, begins, order = cells.buckets[:, 0], cells.begins, cells.order
        else:
            cell, begins, order = np.zeros(0, np.int32), np.zeros(0, np.int64), np.zeros(0, np.int32)
        found, uniforms = _disjoint_pairs(seed, n_pairs, self.anchors == "within", cell, begins, order, state.partition)
        return Pairs(found[0], found[1], found[2], found[3], np.log(uniforms))

    def _divide(self, state: State, seed: np.uint64, pairs: Pairs, segments: Segments) -> tuple[Any, np.ndarray]:
        """Divide the rows of all proposals; return the statistics of the sides (u, v, u, v, …) and log q of each proposal."""
        forced = segments.sides.copy()
        passes = _Passes(state, seed, pairs, segments)
        passes.join_nearest()
        log_q = np.zeros(len(pairs.u))
        for number in range(self.n_passes + 1):
            last = number == self.n_passes
            log_q = passes.draw_sides(number, forced if last else None)
        return passes.statistics, log_q


# ---- anchors ---------------------------------------------------------------------------------------------------------------


@kernel
def _disjoint_pairs(seed, n_pairs, within, cell, begins, order, partition):
    """Draw pairs of rows, each with the uniform number that decides on it, and leave out those that meet a cluster of an
    earlier pair that was not left out.

    If rows are drawn ``within`` clusters, a coin decides between a split, for which v is a uniform member of u's cluster, and
    a merge, for which v is any row. The rows of clusters that earlier pairs met are the same on the way back. Given these,
    the choice of a pair depends on its own clusters alone, so that each proposal leaves the posterior of the rest as it is.
    """
    cell, begins, order, partition = borrowed(cell), borrowed(begins), borrowed(order), borrowed(partition)
    labels = partition.labels
    n, found = len(labels), 0
    touched = np.zeros(len(partition.sizes), np.bool_)
    out, uniforms = np.empty((4, n_pairs), np.int32), np.empty(n_pairs)
    for b in range(n_pairs):
        place = address(seed, _ANCHORS, b)
        u = int(uniform_at(place, 0) * n)
        of_u = labels[u]
        if touched[of_u]:
            continue
        merges = within and uniform_at(place, 3) < _MERGES
        if within and not merges:
            begin, last = partition.starts[of_u], partition.sizes[of_u] - 1
            v = partition.pool[begin + int(uniform_at(place, 1) * last)]
            v = partition.pool[begin + last] if v == u else v
        elif len(cell) > 0 and begins[cell[u] + 1] - begins[cell[u]] > 1:
            begin, end = begins[cell[u]], begins[cell[u] + 1]
            v = order[begin + int(uniform_at(place, 1) * (end - begin))]
        else:
            v = int(uniform_at(place, 1) * n)
        of_v = labels[v]
        if touched[of_v] or (u == v and not within):
            continue
        touched[of_u] = touched[of_v] = True
        if u == v or (merges and of_u == of_v):
            continue
        out[0, found], out[1, found], out[2, found], out[3, found] = u, v, of_u, of_v
        uniforms[found] = uniform_at(place, 2)
        found += 1
    return out[:, :found].copy(), uniforms[:found].copy()


def _make_room(state: State, n_splits: int) -> None:
    """Make sure that all splits find a free slot, and the prior's table a number for every K that may be reached."""
    needed = state.n_clusters + n_splits + SPARE_SLOTS
    if state.capacity < needed:
        state.grow(2 * needed)


# ---- ratios ----------------------------------------------------------------------------------------------------------------


def _sizes(stats: Any) -> np.ndarray:
    """Sizes of the clusters that a table of statistics describes."""
    first = stats[:, [0]]
    return np.asarray(first.toarray() if hasattr(first, "toarray") else first)[:, 0]


def _without_hopeless_merges(state: State, pairs: Pairs, log_anchors: Any) -> tuple[Pairs, np.ndarray]:
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
        sizes = _sizes(stats)
        k, change = state.n_clusters, len(split)
        log_v = state.target.prior.log_v
        least = np.diff(log_v[max(1, k - change) : k + change + 1]).min()
        bound = gains[merges] - least - _log_sizes_ratio(state, sizes[a], sizes[b])
        keep[merges] = pairs.log_uniform[merges] < bound - log_anchors(state.n_rows, sizes[a] + sizes[b])
    return pairs.keep(keep), gains[keep]


def _log_sizes_ratio(state: State, a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Log W(a) W(b) / W(a + b)."""
    prior = state.target.prior
    if prior.flat:
        return np.zeros(len(a))
    return gammaln(a + prior.shift) + gammaln(b + prior.shift) - gammaln(a + b + prior.shift)


def _accept(state: State, pairs: Pairs, sizes: np.ndarray, gains: np.ndarray, log_q: np.ndarray) -> np.ndarray:
    """Which proposals are accepted, one after the other: the prior looks at the number of clusters.

    ``gains`` are in log likelihood, and ``log_q`` is the log ratio of the probabilities to propose the split and the merge.
    """
    split = pairs.is_split
    ratios = _log_sizes_ratio(state, sizes[:, 0], sizes[:, 1])
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


# ---- passes over rows ------------------------------------------------------------------------------------------------------


def _list_rows(state: State, pairs: Pairs) -> Segments:
    p = state.partition
    sizes = p.sizes[pairs.of_u] + np.where(pairs.is_split, 0, p.sizes[pairs.of_v]) - 2
    starts = np.cumsum(sizes) - sizes
    rows, sides = np.empty(int(sizes.sum()), np.int32), np.empty(int(sizes.sum()), np.int8)
    _list_segments(p, pairs, starts, rows, sides)
    return Segments(rows, sides, starts, sizes)


@kernel
def _list_segments(partition, pairs, starts, rows, sides):
    partition, pairs, starts = borrowed(partition), borrowed(pairs), borrowed(starts)
    rows, sides = borrowed(rows), borrowed(sides)
    for b in range(len(starts)):
        at = starts[b]
        u, v = pairs.u[b], pairs.v[b]
        for side in range(2):
            slot = pairs.of_u[b] if side == 0 else pairs.of_v[b]
            if side == 1 and slot == pairs.of_u[b]:
                break
            for j in range(partition.starts[slot], partition.starts[slot] + partition.sizes[slot]):
                i = partition.pool[j]
                if i != u and i != v:
                    rows[at], sides[at] = i, side
                    at += 1


class _Passes:
    """Passes over the rows of all proposals: sides, and the statistics of the sides."""

    def __init__(self, state: State, seed: np.uint64, pairs: Pairs, segments: Segments) -> None:
        self.state, self.seed, self.pairs, self.segments = state, seed, pairs, segments
        self.chunks = cut_into_chunks(segments.starts, segments.sizes)
        self.tasks = shared_out(self.chunks[2] - self.chunks[1])
        self.dense = isinstance(state.slots, DenseSlots)
        self.sums: Any = state.slots
        if self.dense:
            count, width = 2 * len(self.chunks[0]), state.slots.stats.shape[1]
            self.sums = state.slots._replace(
                sizes=np.zeros(count, np.int64), stats=np.zeros((count, width)), derived=np.zeros((1, 1))
            )
        self.anchors = self._anchor_slots()
        self.statistics: Any = None

    def _anchor_slots(self) -> Any:
        """Slots 2b and 2b + 1 hold the anchors of proposal b, and nothing else."""
        state, n_pairs = self.state, len(self.pairs.u)
        slots, done = state.component.slots(state.model, 2 * n_pairs), 0
        while done < n_pairs:
            if slots.full:
                slots = slots.enlarged()
            done = _fill_anchors(slots, state.model, state.rows.arrays, self.pairs, done)
        return slots

    def join_nearest(self) -> None:
        """Assign each row to the anchor that alone predicts it better."""

        def work(span: tuple[int, int]) -> None:
            anchors = self.anchors.for_worker() if self.dense else self.anchors
            _nearest_chunks(self._sums(), anchors, self.state.model, self.state.rows.arrays, self.segments, *self.chunks, *span)

        self.state.threads.map(work, self.tasks)
        self._reduce()

    def draw_sides(self, number: int, forced: np.ndarray | None) -> np.ndarray:
        """Draw parameters of all sides, then the sides of all rows, or weigh the ``forced`` ones of merges; return log q."""
        state, pairs = self.state, self.pairs
        generator = numpy_generator(int(self.seed), 2 + number)
        density = state.component.draw_density(state.model, self.statistics, generator)
        sizes = _sizes(self.statistics)
        log_p = np.log(np.maximum(generator.standard_gamma(sizes), np.finfo(np.float64).tiny))
        odds = log_p[0::2] - log_p[1::2]
        is_forced = np.zeros(len(pairs.u), bool) if forced is None else ~pairs.is_split
        if forced is not None:
            for b in np.flatnonzero(is_forced):
                begin = self.segments.starts[b]
                span = slice(begin, begin + self.segments.sizes[b])
                self.segments.sides[span] = forced[span]
        log_q = np.zeros(len(self.chunks[0]))

        def work(span: tuple[int, int]) -> None:
            _draw_chunks(
                self.seed,
                _PASS + number,
                forced is not None,
                self._sums(),
                density,
                odds,
                is_forced,
                state.model,
                state.rows.arrays,
                self.segments,
                *self.chunks,
                *span,
                log_q,
            )

        state.threads.map(work, self.tasks)
        self._reduce()
        return np.bincount(self.chunks[0], log_q, len(pairs.u))

    def _sums(self) -> Any:
        return self.sums.for_worker() if self.dense else self.sums

    def _reduce(self) -> None:
        """Statistics of the sides, anchors included."""
        if not self.dense:
            self.statistics = self._statistics_of_rows()
            return
        firsts = np.flatnonzero(np.diff(self.chunks[0], prepend=-1))
        sums = np.column_stack([self.sums.sizes, self.sums.stats])
        width = sums.shape[1]
        total = np.add.reduceat(sums.reshape(-1, 2 * width), firsts, axis=0).reshape(-1, width)
        self.statistics = total + self.anchors.statistics(np.arange(len(total)))

    def _statistics_of_rows(self) -> Any:
        state, segments = self.state, self.segments
        proposal = np.repeat(np.arange(len(segments.sizes)), segments.sizes)
        rows = np.concatenate([segments.rows, self.pairs.u, self.pairs.v])
        n_pairs = len(self.pairs.u)
        labels = np.concatenate([2 * proposal + segments.sides, 2 * np.arange(n_pairs), 2 * np.arange(n_pairs) + 1])
        return state.component.statistics(state.model, state.rows.take(rows), labels, 2 * n_pairs)


@kernel
def _fill_anchors(slots, model, data, pairs, begin):
    slots, model, data, pairs = borrowed(slots), borrowed(model), borrowed(data), borrowed(pairs)
    for b in range(begin, len(pairs.u)):
        if is_full(model, slots):
            return b
        clear(model, slots, 2 * b)
        add(model, slots, 2 * b, load(model, slots, data, pairs.u[b]))
        clear(model, slots, 2 * b + 1)
        add(model, slots, 2 * b + 1, load(model, slots, data, pairs.v[b]))
    return len(pairs.u)


def _start_sums(sums, chunk):
    """Make the sums of both sides of a chunk zero."""


def _sum_up(sums, slot, model, row):
    """Add a row to the sums of a side."""


@implements(_start_sums, DenseSlots)
def _start_dense(sums, chunk):
    for slot in range(2 * chunk, 2 * chunk + 2):
        sums.sizes[slot] = 0
        for w in range(sums.stats.shape[1]):
            sums.stats[slot, w] = 0.0


@implements(_sum_up, DenseSlots, hot=True)
def _sum_up_dense(sums, slot, model, row):
    collect(model, sums, slot, row)


# Other slots have no fixed number of statistics: these are summed by array code after the pass.


@fallback(_start_sums)
def _start_none(sums, chunk):
    pass


@fallback(_sum_up, hot=True)
def _sum_up_none(sums, slot, model, row):
    pass


@kernel
def _nearest_chunks(sums, anchors, model, data, segments, proposals, begins, ends, first, last):
    sums, anchors, model, data = borrowed(sums), borrowed(anchors), borrowed(model), borrowed(data)
    segments, proposals, begins, ends = borrowed(segments), borrowed(proposals), borrowed(begins), borrowed(ends)
    for chunk in range(first, last):
        _start_sums(sums, chunk)
        b = proposals[chunk]
        for at in range(begins[chunk], ends[chunk]):
            row = load(model, anchors, data, segments.rows[at])
            of_u = log_predictive(model, anchors, 2 * b, row)
            side = 1 if log_predictive(model, anchors, 2 * b + 1, row) > of_u else 0
            segments.sides[at] = side
            _sum_up(sums, 2 * chunk + side, model, row)


@helper
def _sigmoid(x):
    """1/(1 + exp(−x)); far out without an exponential, which is slow where it under- or overflows."""
    if abs(x) > _FAR:
        return 1.0 if x > 0.0 else 0.0
    return 1.0 / (1.0 + math.exp(-x))


@helper
def _log_sigmoid(x):
    """Log of 1/(1 + exp(−x))."""
    if abs(x) > _FAR:
        return min(x, 0.0)
    return -math.log1p(math.exp(-x)) if x > 0.0 else x - math.log1p(math.exp(x))


@kernel
def _draw_chunks(
    seed, purpose, recorded, sums, density, odds, is_forced, model, data, segments, proposals, begins, ends, first, last, log_q
):
    sums, density, odds, is_forced = borrowed(sums), borrowed(density), borrowed(odds), borrowed(is_forced)
    model, data, segments, proposals = borrowed(model), borrowed(data), borrowed(segments), borrowed(proposals)
    begins, ends, log_q = borrowed(begins), borrowed(ends), borrowed(log_q)
    for chunk in range(first, last):
        _start_sums(sums, chunk)
        b = proposals[chunk]
        pair, total = pair_weights(density, 2 * b, 2 * b + 1), 0.0
        for at in range(begins[chunk], ends[chunk]):
            i = segments.rows[at]
            row = load(model, sums, data, i)
            for_u = odds[b] + log_odds(density, pair, data, i, row)
            if not is_forced[b]:
                uniform = uniform_at(address(seed, purpose, i), 0)
                segments.sides[at] = 0 if uniform < _sigmoid(for_u) else 1
            side = segments.sides[at]
            if recorded:
                total += _log_sigmoid(for_u if side == 0 else -for_u)
            _sum_up(sums, 2 * chunk + side, model, row)
        log_q[chunk] = total


# ---- commits ---------------------------------------------------------------------------------------------------------------


def _commit(state: State, pairs: Pairs, segments: Segments, sides: Any, accepted: np.ndarray) -> None:
    """Carry out the accepted proposals."""
    p, dense = state.partition, isinstance(state.slots, DenseSlots)
    no_rows = np.zeros(0, np.int32)
    _move_members(p, no_rows, 0)
    if not dense:
        _move_rows(p, state.slots, state.model, state.rows.arrays, no_rows, 0, 0)
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
            _move_with_statistics(state, rows, into)
        if p.sizes[source] == 0:
            _close(p, source)
    if changed:
        state.set_statistics(np.array(changed), np.array(stats))


def _move_with_statistics(state: State, rows: np.ndarray, into: int) -> None:
    done = 0
    while done < len(rows):
        state.ensure_spare()
        done = _move_rows(state.partition, state.slots, state.model, state.rows.arrays, rows, into, done)


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


@kernel
def _move_rows(partition, slots, model, data, rows, into, begin):
    """Move rows begin, begin + 1, … with their statistics; return where it stopped, before the last if slots were full."""
    partition, slots, model, data, rows = borrowed(partition), borrowed(slots), borrowed(model), borrowed(data), borrowed(rows)
    for at in range(begin, len(rows)):
        if is_full(model, slots):
            return at
        row = load(model, slots, data, rows[at])
        remove(model, slots, partition.labels[rows[at]], row)
        add(model, slots, into, row)
        move_row(partition, rows[at], into)
    return len(rows)
