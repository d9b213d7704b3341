"""Allocation passes: how the points of two clusters, or of one to be split, are dealt to two sides.

Anchors u and v start the sides; the other points are in ``scratch.points[:m]``. An allocation *law* deals them out and
returns log q of its recorded, final pass. *Forced*, it records the probability of dealing them as they are now (the side
of u's cluster, the side of v's), with the same randomness before the final pass. Nothing before the final pass may depend
on how the points are divided now.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from hashmix.compiling import helper, hot_helper, inlined
from hashmix.components.contract import add, clear, collect, derive, load, log_predictive, log_predictive_without, remove
from hashmix.hashing.counter import address
from hashmix.priors.contract import log_join_odds
from hashmix.rng import bernoulli, integer, shuffle

__all__ = [
    "COINS",
    "SCANS_FROM_BUCKETS",
    "SCANS_FROM_COINS",
    "SCANS_FROM_NEAREST",
    "SEQUENTIAL",
    "URN",
    "Law",
    "allocate",
    "blind",
    "fill_sides",
    "gather",
    "log_blind",
    "restricted_scan",
    "sequential_pass",
    "toss_coins",
    "work_per_point",
]

_LOG_2 = math.log(2.0)
#: How many ways there are to toss coins for buckets: few, so that all can be enumerated.
_COINS = 8


_NO_BUCKETS = np.empty((0, 1), np.int32)


class Law(NamedTuple):
    """An allocation law: its ``kind``, how many restricted scans it makes before the recorded one, and hash buckets.

    ``buckets`` (n, n_tables) has the bucket of every point, for a launch from buckets.
    """

    kind: int
    n_scans: int = 0
    buckets: np.ndarray = _NO_BUCKETS


# Kinds of laws. One type for all of them, so that one compiled kernel serves every anchored move.
COINS = 0  # fair coins: q = (1/2)^m
SEQUENTIAL = 1  # one pass in a random order, each point joining a side with weight (prior weight) · (predictive)
SCANS_FROM_COINS = 2  # fair coins, then n_scans restricted Gibbs scans, then one more, recorded
SCANS_FROM_NEAREST = 3  # the same, from a launch where each point joins the anchor that alone predicts it better
SCANS_FROM_BUCKETS = 4  # the same, from a launch where whole buckets of a random table join u, or v
URN = 5  # each point joins a side with probability proportional to its size: q = Γ(a) Γ(b) / Γ(a + b)


# ---- gathering -----------------------------------------------------------------------------------------------------------


@inlined
def gather(arrays, first, second, u, v):
    """List the members of two clusters (or of one, given twice) other than u and v by increasing index; how many.

    An order that does not depend on how the points are divided, and that walks through the data in one direction.
    """
    partition, points = arrays.partition, arrays.scratch.points
    labels, sizes = partition.labels, partition.sizes
    m = 0
    both = sizes[first] + (sizes[second] if second != first else 0)
    if 8 * both > len(labels):
        for i in range(len(labels)):
            if (labels[i] == first or labels[i] == second) and i != u and i != v:
                points[m] = i
                m += 1
        return m
    for which in range(1 if second == first else 2):
        slot = first if which == 0 else second
        start = partition.starts[slot]
        for place in range(start, start + sizes[slot]):
            i = partition.pool[place]
            if i != u and i != v:
                points[m] = i
                m += 1
    points[:m].sort()
    return m


# ---- passes --------------------------------------------------------------------------------------------------------------


@hot_helper
def _choose(rng, log_odds, forced, wanted):
    """A binary choice with these log odds of True, or the wanted one if forced; and its log probability."""
    e = math.exp(-abs(log_odds))
    if forced:
        choice = wanted
    else:
        choice = bernoulli(rng, (1.0 if log_odds > 0.0 else e) / (1.0 + e))
    log_likelier = -math.log1p(e) if e > 1e-17 else 0.0
    return choice, log_likelier if choice == (log_odds > 0.0) else log_likelier - abs(log_odds)


@inlined
def _begin(arrays, target, u, v, a, b):
    """Slots a and b hold their anchors alone."""
    table, model = arrays.table, target.model
    clear(model, table, a)
    clear(model, table, b)
    add(model, table, a, load(model, table, target.data, u))
    add(model, table, b, load(model, table, target.data, v))


@inlined
def restricted_scan(rng, arrays, target, u, a, b, m, forced):
    """Each point in turn moves between sides a and b by its full conditional; return log q.

    A point that stays writes nothing. Forced, points go where their labels say: with u, or not.
    """
    table, model, prior = arrays.table, target.model, target.prior
    points, sides, labels = arrays.scratch.points, arrays.scratch.sides, arrays.partition.labels
    log_q = 0.0
    for j in range(m):
        i = points[j]
        row = load(model, table, target.data, i)
        here, there = (a, b) if sides[j] == 0 else (b, a)
        log_odds = log_predictive(model, table, there, row) - log_predictive_without(model, table, here, row)
        log_odds += log_join_odds(prior, table.sizes[there], table.sizes[here] - 1)
        moves, log_p = _choose(rng, log_odds, forced, (labels[i] != labels[u]) != (sides[j] == 1))
        log_q += log_p
        if moves:
            remove(model, table, here, row)
            add(model, table, there, row)
            sides[j] = 1 - sides[j]
    return log_q


@inlined
def sequential_pass(rng, arrays, target, u, a, b, m, forced, by_size):
    """Each point in turn joins side a or b by predictive, times prior weight if ``by_size``; return log q."""
    table, model, prior = arrays.table, target.model, target.prior
    points, sides, labels = arrays.scratch.points, arrays.scratch.sides, arrays.partition.labels
    log_q = 0.0
    for j in range(m):
        i = points[j]
        row = load(model, table, target.data, i)
        log_odds = log_predictive(model, table, b, row) - log_predictive(model, table, a, row)
        if by_size:
            log_odds += log_join_odds(prior, table.sizes[b], table.sizes[a])
        to_b, log_p = _choose(rng, log_odds, forced, labels[i] != labels[u])
        log_q += log_p
        sides[j] = 1 if to_b else 0
        add(model, table, b if to_b else a, row)
    return log_q


@helper
def fill_sides(arrays, target, a, b, m):
    """Put every point into the statistics of its side."""
    table, model = arrays.table, target.model
    points, sides = arrays.scratch.points, arrays.scratch.sides
    for j in range(m):
        collect(model, table, b if sides[j] == 1 else a, load(model, table, target.data, points[j]))
    derive(model, table, a)
    derive(model, table, b)


@inlined
def toss_coins(rng, arrays, m):
    """Deal the points to two sides by fair coins."""
    for j in range(m):
        arrays.scratch.sides[j] = 1 if bernoulli(rng, 0.5) else 0


@inlined
def draw_from_urn(rng, arrays, m):
    """Deal the points to two sides that begin with a point each, a side's chance being its share of the points so far."""
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
    """Heads or tails of a bucket: 0 or 1, the same whenever it is asked for."""
    return np.int8(address(coins, 0, bucket) & np.uint64(1))


@inlined
def join_buckets(rng, law, arrays, u, v, m):
    """Deal the points bucket by bucket, in a random table: u's bucket to side a, v's to b, the others by a coin each.

    Points that are alike start on one side, and the sides are about as large as each other.
    """
    t = integer(rng, law.buckets.shape[1])
    coins = np.uint64(integer(rng, _COINS))
    of_u, of_v = law.buckets[u, t], law.buckets[v, t]
    for j in range(m):
        bucket = law.buckets[arrays.scratch.points[j], t]
        if bucket == of_u:
            arrays.scratch.sides[j] = 0
        elif bucket == of_v:
            arrays.scratch.sides[j] = 1
        else:
            arrays.scratch.sides[j] = _coin(coins, bucket)


@inlined
def join_nearest(arrays, target, a, b, m):
    """Deal each point to the side whose anchor alone predicts it better."""
    table, model = arrays.table, target.model
    points, sides = arrays.scratch.points, arrays.scratch.sides
    for j in range(m):
        row = load(model, table, target.data, points[j])
        sides[j] = 1 if log_predictive(model, table, b, row) > log_predictive(model, table, a, row) else 0


# ---- laws ----------------------------------------------------------------------------------------------------------------


@inlined
def blind(law):
    """Whether a law looks at sizes alone, so that :func:`log_blind` tells log q without a pass."""
    return law.kind == COINS or law.kind == URN


@inlined
def work_per_point(law):
    """Predictives a point takes in an allocation, roughly: two a pass, one to be dealt to a side at first."""
    if blind(law):
        return 1
    if law.kind == SEQUENTIAL:
        return 3
    return 3 + 2 * law.n_scans + (2 if law.kind == SCANS_FROM_NEAREST else 0)


@helper
def log_blind(law, of_a, of_b):
    """Log q of a blind law that ends in sides of these sizes, anchors included."""
    if law.kind == COINS:
        return -(of_a + of_b - 2) * _LOG_2
    return math.lgamma(of_a) + math.lgamma(of_b) - math.lgamma(of_a + of_b)


@inlined
def allocate(law, rng, arrays, target, u, v, a, b, m, forced):
    """Deal ``scratch.points[:m]`` to slots a (with u) and b (with v) by a law; return log q.

    Not forced, ``scratch.sides[:m]`` and the statistics of both slots describe the result. A blind law is never forced.
    """
    _begin(arrays, target, u, v, a, b)
    if law.kind == SEQUENTIAL:
        shuffle(rng, arrays.scratch.points, m)
        return sequential_pass(rng, arrays, target, u, a, b, m, forced, True)
    if law.kind == URN:
        draw_from_urn(rng, arrays, m)
    elif law.kind == SCANS_FROM_NEAREST:
        join_nearest(arrays, target, a, b, m)
    elif law.kind == SCANS_FROM_BUCKETS:
        join_buckets(rng, law, arrays, u, v, m)
    else:
        toss_coins(rng, arrays, m)
    fill_sides(arrays, target, a, b, m)
    if blind(law):
        return log_blind(law, arrays.table.sizes[a], arrays.table.sizes[b])
    log_q = 0.0
    for scan in range(law.n_scans + 1):
        log_q = restricted_scan(rng, arrays, target, u, a, b, m, forced and scan == law.n_scans)
    return log_q
