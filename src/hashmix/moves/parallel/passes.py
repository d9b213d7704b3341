"""Passes over the rows of many proposals at once: every row chooses one of two sides."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from hashmix.components.contract import DenseSlots, add, clear, collect, is_full, load, log_predictive
from hashmix.components.densities import log_odds, pair_weights
from hashmix.core.compiling import borrowed, fallback, helper, implements, kernel
from hashmix.core.counter import address, uniform_at
from hashmix.core.rng import log_gammas, numpy_generator
from hashmix.data.rows import fetch_row_ahead
from hashmix.moves.parallel.pairs import Pairs
from hashmix.partition.collecting import cut_into_chunks, shared_out
from hashmix.partition.state import State

__all__ = [
    "PASS",
    "Passes",
    "Segments",
    "draw_chunks",
    "fill_anchors",
    "list_rows",
    "nearest_chunks",
    "sizes_of",
    "start_sums",
    "sum_up",
]

#: Log odds beyond which a probability is 0 or 1 to float64.
_FAR = 40.0

# What a counter-based number is for: a pass takes the next number after those before it.
PASS = 8


class Segments(NamedTuple):
    """Rows of all proposals, one segment each without its anchors, and the side of each row: 0 for u's, 1 for v's."""

    rows: np.ndarray
    sides: np.ndarray
    starts: np.ndarray
    sizes: np.ndarray


def sizes_of(stats: Any) -> np.ndarray:
    """Sizes of the clusters that a table of statistics describes."""
    first = stats[:, [0]]
    return np.asarray(first.toarray() if hasattr(first, "toarray") else first)[:, 0]


def list_rows(state: State, pairs: Pairs) -> Segments:
    """The rows of all proposals, each on the side it is on if its pair proposes a merge."""
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


class Passes:
    """Passes over the rows of all proposals: sides, and the statistics of the sides."""

    state: State
    seed: Any
    pairs: Pairs
    segments: Segments
    chunks: tuple[np.ndarray, np.ndarray, np.ndarray]
    tasks: list[tuple[int, int]]
    anchors: Any

    def __init__(self, state: State, seed: np.uint64, pairs: Pairs, segments: Segments) -> None:
        self.state, self.seed, self.pairs, self.segments = state, seed, pairs, segments
        self.chunks = cut_into_chunks(segments.starts, segments.sizes)
        self.tasks = shared_out(self.chunks[2] - self.chunks[1])
        self.dense: bool = isinstance(state.slots, DenseSlots)
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
            done = fill_anchors(slots, state.model, state.rows.arrays, self.pairs, done)
        return slots

    def join_nearest(self) -> None:
        """Assign each row to the anchor that alone predicts it better."""

        def work(span: tuple[int, int]) -> None:
            anchors = self.anchors.for_worker() if self.dense else self.anchors
            nearest_chunks(self._sums(), anchors, self.state.model, self.state.rows.arrays, self.segments, *self.chunks, *span)

        self.state.threads.map(work, self.tasks)
        self._reduce()

    def draw_sides(self, number: int, forced: np.ndarray | None) -> np.ndarray:
        """Draw parameters of all sides, then the sides of all rows, or weigh the ``forced`` ones of merges; return log q."""
        state, pairs = self.state, self.pairs
        generator = numpy_generator(int(self.seed), 2 + number)
        density = state.component.draw_density(state.model, self.statistics, generator)
        log_p = log_gammas(sizes_of(self.statistics), generator)
        odds = log_p[0::2] - log_p[1::2]
        is_forced = np.zeros(len(pairs.u), bool) if forced is None else ~pairs.is_split
        if forced is not None:
            for b in np.flatnonzero(is_forced):
                begin = self.segments.starts[b]
                span = slice(begin, begin + self.segments.sizes[b])
                self.segments.sides[span] = forced[span]
        log_q = np.zeros(len(self.chunks[0]))

        def work(span: tuple[int, int]) -> None:
            draw_chunks(
                self.seed,
                PASS + number,
                forced is not None,
                self._sums(),
                density,
                odds,
                is_forced,
                state.model,
                state.rows.arrays,
                0,
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
def fill_anchors(slots, model, data, pairs, begin):
    """Let slots 2b and 2b + 1 hold the anchors of pair b, from ``begin`` on; return where it stopped."""
    slots, model, data, pairs = borrowed(slots), borrowed(model), borrowed(data), borrowed(pairs)
    for b in range(begin, len(pairs.u)):
        if is_full(model, slots):
            return b
        clear(model, slots, 2 * b)
        add(model, slots, 2 * b, load(model, slots, data, pairs.u[b]))
        clear(model, slots, 2 * b + 1)
        add(model, slots, 2 * b + 1, load(model, slots, data, pairs.v[b]))
    return len(pairs.u)


def start_sums(sums, chunk):
    """Make the sums of both sides of a chunk zero."""


def sum_up(sums, slot, model, row):
    """Add a row to the sums of a side."""


@implements(start_sums, DenseSlots)
def _start_dense(sums, chunk):
    for slot in range(2 * chunk, 2 * chunk + 2):
        sums.sizes[slot] = 0
        for w in range(sums.stats.shape[1]):
            sums.stats[slot, w] = 0.0


@implements(sum_up, DenseSlots, hot=True)
def _sum_up_dense(sums, slot, model, row):
    collect(model, sums, slot, row)


# Other slots have no fixed number of statistics: these are summed by array code after the pass.


@fallback(start_sums)
def _start_none(sums, chunk):
    pass


@fallback(sum_up, hot=True)
def _sum_up_none(sums, slot, model, row):
    pass


@kernel
def nearest_chunks(sums, anchors, model, data, segments, proposals, begins, ends, first, last):
    """Assign the rows of some chunks to the anchor that alone predicts them better; sum up the sides."""
    sums, anchors, model, data = borrowed(sums), borrowed(anchors), borrowed(model), borrowed(data)
    segments, proposals, begins, ends = borrowed(segments), borrowed(proposals), borrowed(begins), borrowed(ends)
    for chunk in range(first, last):
        start_sums(sums, chunk)
        b = proposals[chunk]
        for at in range(begins[chunk], ends[chunk]):
            fetch_row_ahead(data, segments.rows, at)
            row = load(model, anchors, data, segments.rows[at])
            of_u = log_predictive(model, anchors, 2 * b, row)
            side = 1 if log_predictive(model, anchors, 2 * b + 1, row) > of_u else 0
            segments.sides[at] = side
            sum_up(sums, 2 * chunk + side, model, row)


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
def draw_chunks(
    seed,
    purpose,
    recorded,
    sums,
    density,
    odds,
    is_forced,
    model,
    data,
    origin,
    segments,
    proposals,
    begins,
    ends,
    first,
    last,
    log_q,
):
    """Draw the sides of the rows of some chunks, or weigh those of forced proposals; sum up sides, and log q if it counts.

    Row i of the data has the number ``origin + i`` in everything that is random.
    """
    sums, density, odds, is_forced = borrowed(sums), borrowed(density), borrowed(odds), borrowed(is_forced)
    model, data, segments, proposals = borrowed(model), borrowed(data), borrowed(segments), borrowed(proposals)
    begins, ends, log_q = borrowed(begins), borrowed(ends), borrowed(log_q)
    for chunk in range(first, last):
        start_sums(sums, chunk)
        b = proposals[chunk]
        pair, total = pair_weights(density, 2 * b, 2 * b + 1), 0.0
        for at in range(begins[chunk], ends[chunk]):
            i = segments.rows[at]
            fetch_row_ahead(data, segments.rows, at)
            row = load(model, sums, data, i)
            for_u = odds[b] + log_odds(density, pair, data, i, row)
            if not is_forced[b]:
                uniform = uniform_at(address(seed, purpose, origin + i), 0)
                segments.sides[at] = 0 if uniform < _sigmoid(for_u) else 1
            side = segments.sides[at]
            if recorded:
                total += _log_sigmoid(for_u if side == 0 else -for_u)
            sum_up(sums, 2 * chunk + side, model, row)
        log_q[chunk] = total
