"""Allocation: how the rows of two clusters, or of one to be split, are assigned to two sides.

Anchors u and v start the sides; ``scratch.rows[:m]`` lists the other rows. An allocation assigns them and returns log q of
its recorded, final pass. If *forced*, it records the probability of the current division (u's cluster and v's), with the
same randomness before the final pass. Nothing before the final pass may depend on the current division.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from hashmix.components.contract import add, clear, collect, derive, load, log_predictive, log_predictive_without, remove
from hashmix.core.compiling import fallback, helper, hot_helper, implements, inlined
from hashmix.core.counter import address
from hashmix.core.rng import bernoulli, integer, shuffle
from hashmix.data.rows import fetch_row_ahead
from hashmix.priors.contract import log_join_odds

__all__ = [
    "COINS",
    "SCANS_FROM_BUCKETS",
    "SCANS_FROM_COINS",
    "SCANS_FROM_NEAREST",
    "SEQUENTIAL",
    "URN",
    "Allocation",
    "allocate",
    "fill_sides",
    "gather",
    "is_blind",
    "log_blind",
    "sequential_pass",
    "start_sides",
    "toss_coins",
    "work_per_row",
]

_LOG_2 = math.log(2.0)
#: Number of ways to toss coins for buckets: few, so that all can be enumerated.
_COINS = 8
_NO_BUCKETS = np.empty((0, 1), np.int32)


# ---- the verbs of an allocation --------------------------------------------------------------------------------------------


def allocate(rng: Any, allocation: Any, arrays: Any, target: Any, sides: Any, forced: Any) -> Any:
    """Assign ``scratch.rows[:m]`` to side a (with u) or b (with v); return log q of the final pass.

    ``sides`` is a :class:`hashmix.moves.driver.Sides`: u, v, a, b, m. On entry, slots a and b hold their anchors alone. If not
    forced, write 0 (side a) or 1 (side b) to ``scratch.sides[:m]`` and add every row to the statistics of its side, as
    :func:`fill_sides` does. If forced, return the log q of the current division: row i is on side a if
    ``partition.labels[i] == partition.labels[u]``; sides and statistics then do not matter. A blind allocation is never
    forced.
    """


def is_blind(allocation: Any) -> Any:
    """Whether q depends on the sizes of the sides alone, so that :func:`log_blind` gives it; False by default."""


def log_blind(allocation: Any, of_a: Any, of_b: Any) -> Any:
    """Log q of a blind allocation with sides of these sizes, anchors included."""


def work_per_row(allocation: Any) -> Any:
    """Roughly how many predictives a row costs; by default 3: two for a pass, one to be assigned at first."""


@fallback(is_blind, hot=True)
def _is_blind(allocation):
    return False


@fallback(log_blind, hot=True)
def _log_blind(allocation, of_a, of_b):
    return 0.0


@fallback(work_per_row, hot=True)
def _work_per_row(allocation):
    return 3


# ---- listing rows ----------------------------------------------------------------------------------------------------------


@helper
def gather(arrays, first, second, u, v):
    """List the members of two clusters (or of one, given twice) other than u and v by increasing index; return how many.

    The order does not depend on how the rows are divided, and reads the data in one direction.
    """
    partition, rows = arrays.partition, arrays.scratch.rows
    labels, sizes = partition.labels, partition.sizes
    m = 0
    both = sizes[first] + (sizes[second] if second != first else 0)
    if 8 * both > len(partition.rows):
        for place in range(len(partition.rows)):
            i = partition.rows[place]
            if (labels[i] == first or labels[i] == second) and i != u and i != v:
                rows[m] = i
                m += 1
        return m
    for which in range(1 if second == first else 2):
        slot = first if which == 0 else second
        start = partition.starts[slot]
        for place in range(start, start + sizes[slot]):
            i = partition.pool[place]
            if i != u and i != v:
                rows[m] = i
                m += 1
    rows[:m].sort()
    return m


# ---- passes ----------------------------------------------------------------------------------------------------------------


@hot_helper
def _decide(rng, log_odds, forced, wanted):
    """A binary choice with these log odds of True, or the wanted one if forced; and its log probability."""
    e = math.exp(-abs(log_odds))
    if forced:
        choice = wanted
    else:
        choice = bernoulli(rng, (1.0 if log_odds > 0.0 else e) / (1.0 + e))
    log_likelier = -math.log1p(e) if e > 1e-17 else 0.0
    return choice, log_likelier if choice == (log_odds > 0.0) else log_likelier - abs(log_odds)


@helper
def start_sides(arrays, target, sides):
    """Let slots a and b hold their anchors alone."""
    slots, model = arrays.slots, target.model
    clear(model, slots, sides.a)
    clear(model, slots, sides.b)
    add(model, slots, sides.a, load(model, slots, target.data, sides.u))
    add(model, slots, sides.b, load(model, slots, target.data, sides.v))


@inlined
def _restricted_scan(rng, arrays, target, sides, forced):
    """Restricted Gibbs scan: each row in turn moves between sides a and b by its full conditional; return log q.

    A row that stays writes nothing. If forced, rows go where their labels say: with u, or not.
    """
    slots, model, prior = arrays.slots, target.model, target.prior
    rows, side_of, labels = arrays.scratch.rows[: sides.m], arrays.scratch.sides, arrays.partition.labels
    a, b, u = sides.a, sides.b, sides.u
    log_q = 0.0
    for j in range(sides.m):
        i = rows[j]
        fetch_row_ahead(target.data, rows, j)
        row = load(model, slots, target.data, i)
        here, there = (a, b) if side_of[j] == 0 else (b, a)
        log_odds = log_predictive(model, slots, there, row) - log_predictive_without(model, slots, here, row)
        log_odds += log_join_odds(prior, slots.sizes[there], slots.sizes[here] - 1)
        moves, log_p = _decide(rng, log_odds, forced, (labels[i] != labels[u]) != (side_of[j] == 1))
        log_q += log_p
        if moves:
            remove(model, slots, here, row)
            add(model, slots, there, row)
            side_of[j] = 1 - side_of[j]
    return log_q


@inlined
def sequential_pass(rng, arrays, target, sides, forced, by_size):
    """Each row in turn joins side a or b by predictive, times prior weight if ``by_size``; return log q."""
    slots, model, prior = arrays.slots, target.model, target.prior
    rows, side_of, labels = arrays.scratch.rows[: sides.m], arrays.scratch.sides, arrays.partition.labels
    a, b, u = sides.a, sides.b, sides.u
    log_q = 0.0
    for j in range(sides.m):
        i = rows[j]
        fetch_row_ahead(target.data, rows, j)
        row = load(model, slots, target.data, i)
        log_odds = log_predictive(model, slots, b, row) - log_predictive(model, slots, a, row)
        if by_size:
            log_odds += log_join_odds(prior, slots.sizes[b], slots.sizes[a])
        to_b, log_p = _decide(rng, log_odds, forced, labels[i] != labels[u])
        log_q += log_p
        side_of[j] = 1 if to_b else 0
        add(model, slots, b if to_b else a, row)
    return log_q


@helper
def fill_sides(arrays, target, sides):
    """Add every listed row to the statistics of its side. Slots are not cleared: they may hold the anchors already."""
    slots, model = arrays.slots, target.model
    rows, side_of = arrays.scratch.rows[: sides.m], arrays.scratch.sides
    for j in range(sides.m):
        fetch_row_ahead(target.data, rows, j)
        slot = sides.b if side_of[j] == 1 else sides.a
        collect(model, slots, slot, load(model, slots, target.data, rows[j]))
    derive(model, slots, sides.a)
    derive(model, slots, sides.b)


# ---- launches --------------------------------------------------------------------------------------------------------------


@inlined
def toss_coins(rng, arrays, m):
    """Assign the listed rows to two sides by fair coins."""
    for j in range(m):
        arrays.scratch.sides[j] = 1 if bernoulli(rng, 0.5) else 0


@inlined
def _draw_from_urn(rng, arrays, m):
    """Assign the listed rows by a Pólya urn: sides start with one row each; a side's chance is its share of the rows so far."""
    of_a = of_b = 1
    for j in range(m):
        to_b = bernoulli(rng, of_b / (of_a + of_b))
        arrays.scratch.sides[j] = 1 if to_b else 0
        if to_b:
            of_b += 1
        else:
            of_a += 1


@hot_helper
def _coin(coins, bucket):
    """The coin of a bucket: 0 or 1, the same at every call."""
    return np.int8(address(coins, 0, bucket) & np.uint64(1))


@inlined
def _join_buckets(rng, allocation, arrays, sides):
    """Assign whole buckets of a random table: u's bucket to side a, v's to b, every other one by a coin.

    Similar rows start on one side, and the sides are about equally large.
    """
    t = integer(rng, allocation.buckets.shape[1])
    coins = np.uint64(integer(rng, _COINS))
    of_u, of_v = allocation.buckets[sides.u, t], allocation.buckets[sides.v, t]
    for j in range(sides.m):
        bucket = allocation.buckets[arrays.scratch.rows[j], t]
        if bucket == of_u:
            arrays.scratch.sides[j] = 0
        elif bucket == of_v:
            arrays.scratch.sides[j] = 1
        else:
            arrays.scratch.sides[j] = _coin(coins, bucket)


@inlined
def _join_nearest(arrays, target, sides):
    """Assign each row to the side whose anchor alone predicts it better."""
    slots, model = arrays.slots, target.model
    for j in range(sides.m):
        row = load(model, slots, target.data, arrays.scratch.rows[j])
        nearer_v = log_predictive(model, slots, sides.b, row) > log_predictive(model, slots, sides.a, row)
        arrays.scratch.sides[j] = 1 if nearer_v else 0


# ---- the allocations there are ---------------------------------------------------------------------------------------------

# Kinds of allocations. One type for all of them, so that one compiled kernel serves every anchored move.
COINS = 0  # fair coins: q = (1/2)^m
SEQUENTIAL = 1  # one pass in a random order; a row joins a side with weight (prior weight) · (predictive)
SCANS_FROM_COINS = 2  # fair coins, then n_scans restricted Gibbs scans, then one more, recorded
SCANS_FROM_NEAREST = 3  # the same, from a launch in which each row joins the anchor that alone predicts it better
SCANS_FROM_BUCKETS = 4  # the same, from a launch in which whole buckets of a random table join u or v
URN = 5  # each row joins a side with probability proportional to its size: q = Γ(a) Γ(b) / Γ(a + b)


class Allocation(NamedTuple):
    """An allocation: its ``kind``, the number of restricted scans before the recorded one, and hash buckets.

    ``buckets`` (n, n_tables) holds the bucket of every row, for a launch from buckets.
    """

    kind: int
    n_scans: int = 0
    buckets: np.ndarray = _NO_BUCKETS


@implements(is_blind, Allocation, inline=True)
def _sizes_alone(allocation):
    return allocation.kind == COINS or allocation.kind == URN


@implements(work_per_row, Allocation, inline=True)
def _count_passes(allocation):
    if is_blind(allocation):
        return 1
    if allocation.kind == SEQUENTIAL:
        return 3
    return 3 + 2 * allocation.n_scans + (2 if allocation.kind == SCANS_FROM_NEAREST else 0)


@implements(log_blind, Allocation)
def _log_of_sizes(allocation, of_a, of_b):
    if allocation.kind == COINS:
        return -(of_a + of_b - 2) * _LOG_2
    return math.lgamma(of_a) + math.lgamma(of_b) - math.lgamma(of_a + of_b)


# Inlined: a call with all its arrays takes longer than some rows do, and what is inlined need not be optimised on its own.
@implements(allocate, Allocation, argument=1, inline=True)
def _allocate(rng, allocation, arrays, target, sides, forced):
    if allocation.kind == SEQUENTIAL:
        shuffle(rng, arrays.scratch.rows, sides.m)
        return sequential_pass(rng, arrays, target, sides, forced, True)
    if allocation.kind == URN:
        _draw_from_urn(rng, arrays, sides.m)
    elif allocation.kind == SCANS_FROM_NEAREST:
        _join_nearest(arrays, target, sides)
    elif allocation.kind == SCANS_FROM_BUCKETS:
        _join_buckets(rng, allocation, arrays, sides)
    else:
        toss_coins(rng, arrays, sides.m)
    fill_sides(arrays, target, sides)
    if is_blind(allocation):
        return log_blind(allocation, arrays.slots.sizes[sides.a], arrays.slots.sizes[sides.b])
    log_q = 0.0
    for scan in range(allocation.n_scans + 1):
        log_q = _restricted_scan(rng, arrays, target, sides, forced and scan == allocation.n_scans)
    return log_q
