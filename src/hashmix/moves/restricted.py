"""Allocation passes: how the points of two clusters, or of one to be split, are dealt to two sides.

Anchors u and v start the sides; the other points are in ``scratch.points[:m]``. An allocation *law* deals them out and
returns log q of its recorded, final pass. *Forced*, it records the probability of dealing them as they are now (the side
of u's cluster, the side of v's), with the same randomness before the final pass. Nothing before the final pass may depend
on how the points are divided now.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from hashmix.compiling import hot_helper, inlined
from hashmix.components.contract import add, clear, load, log_predictive, log_predictive_without, remove
from hashmix.priors.contract import log_join_odds
from hashmix.rng import bernoulli, shuffle

__all__ = [
    "COINS",
    "SCANS_FROM_COINS",
    "SCANS_FROM_NEAREST",
    "SEQUENTIAL",
    "Law",
    "allocate",
    "gather",
    "restricted_scan",
    "sequential_pass",
    "toss_coins",
]

_LOG_2 = math.log(2.0)


class Law(NamedTuple):
    """An allocation law: its ``kind``, and how many restricted scans it makes before the recorded one."""

    kind: int
    n_scans: int


# Kinds of laws. One type for all of them, so that one compiled kernel serves every anchored move.
COINS = 0  # fair coins: q = (1/2)^m
SEQUENTIAL = 1  # one pass in a random order, each point joining a side with weight (prior weight) · (predictive)
SCANS_FROM_COINS = 2  # fair coins, then n_scans restricted Gibbs scans, then one more, recorded
SCANS_FROM_NEAREST = 3  # the same, from a launch where each point joins the anchor that alone predicts it better


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


@inlined
def toss_coins(rng, arrays, target, a, b, m):
    """Deal the points to sides a and b by fair coins."""
    table, model = arrays.table, target.model
    points, sides = arrays.scratch.points, arrays.scratch.sides
    for j in range(m):
        to_b = bernoulli(rng, 0.5)
        sides[j] = 1 if to_b else 0
        add(model, table, b if to_b else a, load(model, table, target.data, points[j]))


@inlined
def join_nearest(arrays, target, a, b, m):
    """Deal each point to the side whose anchor alone predicts it better."""
    table, model = arrays.table, target.model
    points, sides = arrays.scratch.points, arrays.scratch.sides
    for j in range(m):
        row = load(model, table, target.data, points[j])
        sides[j] = 1 if log_predictive(model, table, b, row) > log_predictive(model, table, a, row) else 0
    for j in range(m):
        add(model, table, b if sides[j] == 1 else a, load(model, table, target.data, points[j]))


# ---- laws ----------------------------------------------------------------------------------------------------------------


@inlined
def allocate(law, rng, arrays, target, u, v, a, b, m, forced):
    """Deal ``scratch.points[:m]`` to slots a (with u) and b (with v) by a law; return log q.

    Not forced, ``scratch.sides[:m]`` and the statistics of both slots describe the result.
    """
    if law.kind == COINS:
        if not forced:
            _begin(arrays, target, u, v, a, b)
            toss_coins(rng, arrays, target, a, b, m)
        return -m * _LOG_2
    if law.kind == SEQUENTIAL:
        shuffle(rng, arrays.scratch.points, m)
        _begin(arrays, target, u, v, a, b)
        return sequential_pass(rng, arrays, target, u, a, b, m, forced, True)
    _begin(arrays, target, u, v, a, b)
    if law.kind == SCANS_FROM_NEAREST:
        join_nearest(arrays, target, a, b, m)
    else:
        toss_coins(rng, arrays, target, a, b, m)
    log_q = 0.0
    for scan in range(law.n_scans + 1):
        log_q = restricted_scan(rng, arrays, target, u, a, b, m, forced and scan == law.n_scans)
    return log_q
