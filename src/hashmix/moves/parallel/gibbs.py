"""Parallel Gibbs: given drawn parameters, all rows choose their clusters at once."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from hashmix.components.contract import DenseSlots, add, is_full, load, remove
from hashmix.components.densities import gathered, log_densities, log_density, n_terms, rounding
from hashmix.core.compiling import borrowed, finite_helper, helper, hot_helper, kernel
from hashmix.core.counter import address, uniform_at
from hashmix.core.rng import numpy_generator
from hashmix.core.threads import Threads
from hashmix.core.validation import check_integer
from hashmix.data.rows import Rows
from hashmix.hashing.cells import CellFamily, Cells
from hashmix.moves.contract import Move
from hashmix.moves.parallel.seeds import draw_seed
from hashmix.moves.tally import ACCEPTED, PROPOSED, WORK
from hashmix.partition.leaders import Leaders, find_leaders, rank_of
from hashmix.partition.members import move_row, regroup
from hashmix.partition.state import State

__all__ = ["ParallelGibbs", "assign_rows"]

#: Rows per matrix product: fewer if there are many clusters, so that the products stay in the cache.
_BLOCK, _LOGITS = 512, 131_072
#: Columns whose largest log weight is kept, so that far ones are passed over together.
_STRETCH = 16
#: Rows per task.
_TASK = 8192
#: A cluster whose log weight is this far below the largest is left out: its probability is below 1e-13.
_FAR = 30.0
#: Largest error of a log density, in nats, that float32 may leave; else the densities that matter are computed in float64.
_PRECISION = 0.005
#: A bound of the error so large that a sum may overflow float32.
_OVERFLOW = 1e24
#: If less than one row in so many moved, statistics are updated instead of being collected again.
_FEW = 20
#: Rows of a cell that choose its candidates, and candidates that are drawn at random.
_CHOOSERS, _STRAYS = 4, 2
#: Work in collapsed predictives: what a row costs however few the clusters, and how many clusters cost as much as one.
_PER_ROW, _CHEAPER = 2.0, 16

# What a counter-based number is for.
_DRAW, _CHOOSE, _STRAY = 1, 2, 3


class Offer(NamedTuple):
    """What rows choose from, one column per cluster in the order of its leader's rank."""

    density: Any
    log_weights: np.ndarray  # (K,) log w, float64
    intercepts: np.ndarray  # (K,) the density's plus log w, float32
    ranks: np.ndarray  # (K,) ranks of the leaders, increasing
    slots: np.ndarray  # (K,) the clusters
    columns: np.ndarray  # (capacity,) the column of each cluster


class Room(NamedTuple):
    """Buffers of one thread: a block of rows as features, their log weights, the largest of every stretch of columns, and the
    columns near the best with their weights.
    """

    features: np.ndarray
    logits: np.ndarray
    tops: np.ndarray
    near: np.ndarray
    weights: np.ndarray

    @classmethod
    def of(cls, offer: Offer) -> Room:
        density, k = offer.density, len(offer.slots)
        block = min(_BLOCK, max(64, _LOGITS // k))
        features, logits = np.empty((block, n_terms(density)), np.float32), np.empty(block * k, np.float32)
        return cls(features, logits, np.empty(k // _STRETCH + 1, np.float32), np.empty(k, np.int32), np.empty(k))


class ParallelGibbs(Move):
    """Draw the parameters of all clusters, then a new cluster for every row, all rows at once.

    Every cluster has a leader, its row of least rank, which stays. A row chooses among the clusters whose leader ranks before
    it. So no cluster is emptied and the leaders remain leaders. Given the parameters, the weights and the leaders, rows are
    independent, and drawing them all leaves the posterior invariant, for every prior. The move opens no clusters and closes
    none; combine it with splits and merges.

    Parameters
    ----------
    candidates : int or None, default=None
        Clusters that a row chooses from; None for all. Rows are grouped into cells by where they are, and a few rows of a
        cell, drawn at random, choose the likeliest clusters for all of them. A row whose cluster is not among the
        candidates stays. Candidates depend on rows and parameters, never on labels.
    refresh : int, default=50
        Sweeps between fresh cells.

    Examples
    --------
    >>> import numpy as np, hashmix as hm
    >>> X = np.concatenate([np.random.default_rng(0).normal(m, 1.0, (50, 2)) for m in (-5, 5)])
    >>> moves = [(hm.moves.ParallelGibbs(), 1), (hm.moves.SAMS(), 10)]
    >>> posterior = hm.sample(X, moves=moves, n_draws=50, n_warmup=50, random_state=0)
    >>> int(np.median(posterior.n_clusters))
    2
    """

    def __init__(self, candidates: int | None = None, refresh: int = 50) -> None:
        owner = type(self).__name__
        self.candidates = None if candidates is None else check_integer(owner, "candidates", candidates, low=2)
        self.refresh = check_integer(owner, "refresh", refresh, low=1)

    def expected_work(self, state: State) -> float:
        k = state.n_clusters if self.candidates is None else min(self.candidates, state.n_clusters)
        return state.n_rows * (_PER_ROW + k / _CHEAPER)

    def most_times(self, state: State) -> int:
        return 1

    def units_per_call(self, state: State) -> int:
        return 1

    def compile(self, state: State) -> None:
        scans = (_Scan.among_all,) if self.candidates is None else (_Scan.among_all, _Scan.among_candidates)
        before = state.partition.labels.copy()
        for scan in scans:
            self._scan(state, np.uint64(0), scan)
        state.partition.labels[:] = before
        _follow_labels(state, before, 0)

    def run_units(self, rng: Any, state: State, begin: int, end: int, tally: np.ndarray) -> int:
        few = self.candidates is not None and self.candidates < state.n_clusters
        scan, before = _Scan.among_candidates if few else _Scan.among_all, state.partition.labels.copy()
        moved = self._scan(state, np.uint64(draw_seed(rng)), scan)
        if moved:
            _follow_labels(state, before, moved)
        tally[PROPOSED] += state.n_rows
        tally[ACCEPTED] += moved
        tally[WORK] += int(self.expected_work(state))
        return begin + 1

    def _scan(self, state: State, seed: np.uint64, scan: Callable[[_Scan, Any, int], int]) -> int:
        """Draw parameters and labels; return the number of rows that moved."""
        leaders = find_leaders(seed, state.partition)
        generator = numpy_generator(int(seed), 1)
        density = state.component.draw_density(state.model, state.statistics(leaders.order), generator)
        sizes, prior = state.partition.sizes[leaders.order], state.target.prior
        weights = np.zeros(len(sizes)) if prior.flat else _log_gammas(sizes + prior.shift, generator)
        offer = make_offer(leaders, density, weights, state.capacity)
        return scan(_Scan(state, seed, offer), self.candidates, self.refresh)


class _Scan(NamedTuple):
    """One draw of all rows' labels, given ranks, parameters and weights."""

    state: State
    seed: np.uint64
    offer: Offer

    def among_all(self, candidates: int | None = None, refresh: int | None = None) -> int:
        """Let rows choose among all clusters; return the number of rows that moved."""
        state, offer = self.state, self.offer
        labels, data = state.partition.labels, state.rows.arrays

        def work(begin: int) -> int:
            rows = np.arange(begin, min(begin + _TASK, len(labels)), dtype=np.int32)
            return _choose_among_all(self.seed, offer, data, rows, labels, Room.of(offer))

        return sum(state.threads.map(work, range(0, len(labels), _TASK)))

    def among_candidates(self, candidates: int, refresh: int) -> int:
        """Let rows choose among the candidates of their cells; return the number of rows that moved."""
        state, offer = self.state, self.offer
        labels, data, n_candidates = state.partition.labels, state.rows.arrays, min(candidates, len(offer.slots))
        cells: Cells = state.hashed.tables(CellFamily(), state.sweep, refresh)

        def work(span: tuple[int, int]) -> int:
            return _choose_among_candidates(
                self.seed, offer, data, cells.order, cells.begins, *span, n_candidates, labels, Room.of(offer)
            )

        return sum(state.threads.map(work, _spans(np.diff(cells.begins))))


def make_offer(leaders: Leaders, density: Any, log_weights: np.ndarray, capacity: int) -> Offer:
    """What rows choose from, given the leaders, and the density and weights of the clusters in their order."""
    columns = np.full(capacity, -1, np.int32)
    columns[leaders.order] = np.arange(len(leaders.order))
    intercepts = (density.intercepts + log_weights).astype(np.float32)
    return Offer(density, log_weights, intercepts, leaders.ranks[leaders.order], leaders.order, columns)


def assign_rows(state: State, rows: Rows, seed: np.uint64, threads: Threads) -> np.ndarray:
    """Draw a cluster of a state for every one of other rows, given drawn parameters: where a chain on more rows may start."""
    generator = numpy_generator(int(seed), 1)
    density = state.component.draw_density(state.model, state.statistics(state.used), generator)
    k = state.n_clusters
    anyone = Leaders(np.zeros(k, np.uint64), np.arange(k, dtype=np.int32))
    offer = make_offer(anyone, density, np.log(state.sizes), k)
    labels = np.zeros(rows.n_rows, np.int32)

    def work(begin: int) -> int:
        chosen = np.arange(begin, min(begin + _TASK, rows.n_rows), dtype=np.int32)
        return _choose_among_all(seed, offer, rows.arrays, chosen, labels, Room.of(offer))

    threads.map(work, range(0, rows.n_rows, _TASK))
    return labels


def _log_gammas(shapes: np.ndarray, generator: np.random.Generator) -> np.ndarray:
    """Logarithms of gamma variables; finite, even if one is too small for a float."""
    return np.log(np.maximum(generator.standard_gamma(shapes), np.finfo(np.float64).tiny))


def _spans(sizes: np.ndarray) -> list[tuple[int, int]]:
    """Spans of cells with about as many rows as a task."""
    task = (np.cumsum(sizes) - sizes) // _TASK
    firsts = np.flatnonzero(np.diff(task, prepend=-1))
    return list(zip(firsts.tolist(), [*firsts[1:].tolist(), len(sizes)], strict=True))


def _follow_labels(state: State, before: np.ndarray, moved: int) -> None:
    """Let members and statistics follow the labels: all of them again, or if few rows moved, those of the rows that did."""
    labels = state.partition.labels
    if isinstance(state.slots, DenseSlots) and moved > len(labels) // _FEW:
        regroup(state.partition, state.threads)
        state.refresh()
        return
    after, done = labels.copy(), 0
    labels[:] = before
    while done < len(labels):
        state.ensure_spare()
        done = _follow(state.arrays, state.target, after, done)


@kernel
def _follow(arrays, target, after, begin):
    """Move rows begin, begin + 1, … to other clusters; return where it stopped, before the last if slots were full."""
    arrays, target, after = borrowed(arrays), borrowed(target), borrowed(after)
    partition, slots, model = arrays.partition, arrays.slots, target.model
    for i in range(begin, len(after)):
        if partition.labels[i] != after[i]:
            if is_full(model, slots):
                return i
            row = load(model, slots, target.data, i)
            remove(model, slots, partition.labels[i], row)
            add(model, slots, after[i], row)
            move_row(partition, i, after[i])
    return len(after)


# ---- the kernels -----------------------------------------------------------------------------------------------------------


@finite_helper
def _shifted_top(logits, intercepts, tops, m):
    """Add the intercepts of the first m columns; return the largest sum, and leave that of every stretch in ``tops``."""
    top = np.float32(-3.0e38)
    for stretch in range(m // _STRETCH):
        begin = stretch * _STRETCH
        part = np.float32(-3.0e38)
        for c in range(_STRETCH):
            value = logits[begin + c] + intercepts[begin + c]
            logits[begin + c] = value
            part = value if value > part else part
        tops[stretch] = part
        top = part if part > top else top
    part = np.float32(-3.0e38)
    for c in range(m // _STRETCH * _STRETCH, m):
        value = logits[c] + intercepts[c]
        logits[c] = value
        part = value if value > part else part
    tops[m // _STRETCH] = part
    return part if part > top else top


@hot_helper
def _n_before(ranks, rank):
    """How many of the increasing ranks are less than a rank."""
    low, high = 0, len(ranks)
    if rank > ranks[high - 1]:
        return high
    while low < high:
        middle = (low + high) // 2
        if ranks[middle] < rank:
            low = middle + 1
        else:
            high = middle
    return low


@hot_helper
def _choose(seed, offer, data, i, own, columns, intercepts, logits, m, room):
    """Draw one of the first m columns for row i; its ``own`` if no density is a positive number."""
    near, weights, tops = room.near, room.weights, room.tops
    error, top, found = rounding(offer.density, data, i), np.float32(0.0), 0
    if error < _OVERFLOW:
        top = _shifted_top(logits, intercepts, tops, m)
        limit = np.float32(top - (_FAR + 2.0 * error))
        for stretch in range(m // _STRETCH + 1):
            if tops[stretch] > limit:
                for c in range(stretch * _STRETCH, min((stretch + 1) * _STRETCH, m)):
                    if logits[c] > limit:
                        near[found] = c
                        found += 1
    else:
        for c in range(m):
            near[c] = c
        found = m
    if found == 1:
        return np.int64(near[0])
    if error <= _PRECISION:
        for k in range(found):
            weights[k] = logits[near[k]] - top
    else:
        best = -math.inf
        for k in range(found):
            column = columns[near[k]]
            weights[k] = log_density(offer.density, data, i, column) + offer.log_weights[column]
            best = max(best, weights[k]) if weights[k] == weights[k] else best
        for k in range(found):
            weights[k] = weights[k] - best if best > -math.inf else -math.inf
    total = 0.0
    for k in range(found):
        weights[k] = math.exp(weights[k]) if weights[k] > -_FAR - 2.0 * _PRECISION else 0.0
        total += weights[k]
    left = uniform_at(address(seed, _DRAW, i), 0) * total
    chosen = own
    for k in range(found):
        if weights[k] > 0.0:
            chosen = np.int64(near[k])
            left -= weights[k]
            if left < 0.0:
                break
    return chosen


@helper
def _choose_rows(seed, offer, data, rows, begin, end, columns, own_columns, weights, ranks, intercepts, labels, room):
    """Draw the clusters of rows ``rows[begin:end]`` among some columns; return how many rows moved."""
    block, k, moved = len(room.features), len(columns), 0
    logits = room.logits[: block * k].reshape(block, k)
    for start in range(begin, end, block):
        stop = min(start + block, end)
        log_densities(offer.density, weights, data, rows, start, stop, room.features, logits)
        for r in range(stop - start):
            i = rows[start + r]
            own = own_columns[offer.columns[labels[i]]]
            if own < 0:
                continue  # its cluster is no candidate
            rank = rank_of(seed, i)
            if rank == ranks[own]:
                continue  # a leader
            m = _n_before(ranks, rank)
            chosen = _choose(seed, offer, data, i, np.int64(own), columns, intercepts, logits[r], m, room)
            if chosen != own:
                labels[i] = offer.slots[columns[chosen]]
                moved += 1
    return moved


@kernel
def _choose_among_all(seed, offer, data, rows, labels, room):
    offer, data, rows, labels, room = borrowed(offer), borrowed(data), borrowed(rows), borrowed(labels), borrowed(room)
    columns = np.arange(len(offer.slots)).astype(np.int32)
    weights, ranks = offer.density.weights, offer.ranks
    return _choose_rows(seed, offer, data, rows, 0, len(rows), columns, columns, weights, ranks, offer.intercepts, labels, room)


@helper
def _pick_candidates(seed, offer, data, order, begin, end, cell, n_candidates, room, scores):
    """Columns that some rows of a cell find likeliest, and a few at random, in increasing order."""
    k = len(scores)
    choosers = np.empty(_CHOOSERS, order.dtype)
    for r in range(_CHOOSERS):
        u = uniform_at(address(seed, _CHOOSE, cell), r)
        choosers[r] = order[begin + int(u * (end - begin))]
    logits = room.logits[: _CHOOSERS * k].reshape(_CHOOSERS, k)
    log_densities(offer.density, offer.density.weights, data, choosers, 0, _CHOOSERS, room.features, logits)
    for r in range(_CHOOSERS):
        top = _shifted_top(logits[r], offer.intercepts, room.tops, k)
        for c in range(k):
            score = logits[r, c] - top
            scores[c] = score if r == 0 or score > scores[c] else scores[c]
    for r in range(_STRAYS):
        scores[int(uniform_at(address(seed, _STRAY, cell), r) * k)] = 1.0
    least = np.partition(scores, k - n_candidates)[k - n_candidates]
    columns = np.empty(n_candidates, np.int32)
    found = 0
    for c in range(k):
        if scores[c] >= least and found < n_candidates:
            columns[found] = c
            found += 1
    if found < n_candidates:  # densities that are no numbers: any columns will do
        for c in range(n_candidates):
            columns[c] = c
    return columns


@kernel
def _choose_among_candidates(seed, offer, data, order, begins, first, last, n_candidates, labels, room):
    offer, data, order, begins = borrowed(offer), borrowed(data), borrowed(order), borrowed(begins)
    labels, room = borrowed(labels), borrowed(room)
    k, moved = len(offer.slots), 0
    scores, own_columns = np.empty(k, np.float32), np.full(k, -1, np.int32)
    ranks, intercepts = np.empty(n_candidates, np.uint64), np.empty(n_candidates, np.float32)
    for cell in range(first, last):
        begin, end = begins[cell], begins[cell + 1]
        if begin == end:
            continue
        columns = _pick_candidates(seed, offer, data, order, begin, end, cell, n_candidates, room, scores)
        for at in range(n_candidates):
            own_columns[columns[at]] = at
            ranks[at], intercepts[at] = offer.ranks[columns[at]], offer.intercepts[columns[at]]
        weights = gathered(offer.density, columns)
        moved += _choose_rows(
            seed, offer, data, order, begin, end, columns, own_columns, weights, ranks, intercepts, labels, room
        )
        for at in range(n_candidates):
            own_columns[columns[at]] = -1
    return moved
