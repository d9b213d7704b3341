"""Collapsed Gibbs updates (Neal's Algorithm 3), over all clusters or some of them."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from hashmix.compiling import borrowed, helper, hot_helper, kernel
from hashmix.components.contract import add, clear, load, log_predictive, log_predictive_without, remove
from hashmix.hashing.tables import NO_TABLES
from hashmix.moves.acceptance import accept
from hashmix.moves.anchored import ACCEPTED, PROPOSED, WORK
from hashmix.moves.contract import Move
from hashmix.moves.room import out_of_room
from hashmix.partition import close_cluster, move_point, n_clusters, open_cluster, spare
from hashmix.priors.contract import log_join_weight, log_new_weight
from hashmix.rng import bernoulli, categorical, integer
from hashmix.state import State
from hashmix.validation import check_integer

__all__ = ["Gibbs", "Offer", "run_gibbs"]


@helper
def normalise(log_weights, k):
    """Replace log weights by weights whose largest is 1; return their sum, and the log of what they were divided by."""
    top = log_weights[0]
    for c in range(1, k):
        top = max(top, log_weights[c])
    total = 0.0
    for c in range(k):
        x = log_weights[c] - top
        weight = math.exp(x) if x > -40.0 else 0.0  # below rounding of the sum
        log_weights[c] = weight
        total += weight
    return total, top


@helper
def largest(weights, k):
    """Where the largest weight is."""
    at = 0
    for c in range(1, k):
        if weights[c] > weights[at]:
            at = c
    return at


@helper
def relocate(arrays, target, i, slot, row):
    """Move point i to another cluster, statistics and all; the free slot on top is kept empty for the next point."""
    partition, table, model = arrays.partition, arrays.table, target.model
    old = partition.labels[i]
    opens = slot == spare(partition, 0)
    remove(model, table, old, row)
    add(model, table, slot, row)
    if opens:
        open_cluster(partition)
    move_point(partition, i, slot)
    closes = partition.sizes[old] == 0
    if closes:
        close_cluster(partition, old)
    if opens or closes:
        clear(model, table, spare(partition, 0))


@helper
def _all_clusters(partition, here, alone, found):
    """All clusters there are without the point that is in ``here``, into ``found``; how many."""
    k = 0
    for c in range(n_clusters(partition)):
        slot = partition.active[c]
        if slot != here or not alone:
            found[k] = slot
            k += 1
    return k


@helper
def _clusters_of_mates(rng, tables, labels, i, n_mates, found):
    """The clusters of some of i's mates in a random table, without repeats, into ``found``; how many.

    The mates are ``n_mates``, from a random place in the bucket on: a choice that no label enters. Point i is not its own
    mate.
    """
    bucket = tables.buckets[i, integer(rng, tables.buckets.shape[1])]
    begin, size = tables.begins[bucket], tables.begins[bucket + 1] - tables.begins[bucket]
    if size == 1:
        return 0
    looked_at = min(size, n_mates + 1)
    start = integer(rng, size) if looked_at < size else 0
    k = 0
    seen = 0
    for w in range(looked_at):
        place = start + w
        mate = tables.order[begin + (place if place < size else place - size)]
        if mate == i or seen == n_mates:
            continue
        seen += 1
        slot = labels[mate]
        if not _contains(found, k, slot):
            found[k] = slot
            k += 1
    return k


@helper
def _contains(found, k, slot):
    known = False
    for c in range(k):
        known = known or found[c] == slot
    return known


@hot_helper
def _log_weight(arrays, target, slot, here, new, others, row):
    """Log of prior weight times predictive of a cluster for a row taken out of cluster ``here``, beside ``others``."""
    table, model, prior = arrays.table, target.model, target.prior
    if slot == new:
        return log_predictive(model, table, spare(arrays.partition, 0), row) + log_new_weight(prior, others)
    if slot != here:
        return log_predictive(model, table, slot, row) + log_join_weight(prior, table.sizes[slot])
    return log_predictive_without(model, table, slot, row) + log_join_weight(prior, table.sizes[slot] - 1)


@kernel
def run_gibbs(rng, offer, tables, arrays, target, begin, end, counts):
    """Offers to points begin … end − 1 (modulo n), or to random ones; stops early when free slots run out.

    Full conditionals (``n_mates`` is 0) weigh all clusters and a new one. Otherwise let T be the clusters of the point's
    mates; T does not depend on where the point itself is. From within T, the point draws from its full conditional
    restricted to T, but now and then it is offered a place e outside instead: with probability r_e a new cluster, or one of
    the others. A point at e outside T is offered the draw from T. With p the full conditional and Z its sum over T, both are
    accepted by Metropolis–Hastings: p_d · r_e · α(d → e) = p_e · p_d/Z · α(e → d), where r_e is ``opening`` for a new cluster
    and the same small number for all others.

    The slot ``spare(0)`` is kept empty: predicting from it gives the weight of a new cluster.
    """
    rng, arrays, target, tables = borrowed(rng), borrowed(arrays), borrowed(target), borrowed(tables)
    partition, table, model = arrays.partition, arrays.table, target.model
    found, weights = arrays.scratch.slots, arrays.scratch.weights
    n = len(partition.labels)
    clear(model, table, spare(partition, 0))
    for step in range(begin, end):
        if out_of_room(arrays, target):
            return step
        i = integer(rng, n) if offer.at_random else step % n
        here = partition.labels[i]
        alone = partition.sizes[here] == 1
        others = n_clusters(partition) - (1 if alone else 0)
        new = here if alone else spare(partition, 0)  # the slot of a new cluster
        outside = False
        elsewhere = -1  # the place outside T that is at stake, if any
        rate = 1.0
        if offer.n_mates == 0:
            k = _all_clusters(partition, here, alone, found)
            found[k] = new
            k += 1
        else:
            k = _clusters_of_mates(rng, tables, partition.labels, i, offer.n_mates, found)
            if k == 0:
                continue
            outside = alone or not _contains(found, k, here)
            rate = (1.0 - offer.opening) * offer.stray / others
            if outside:
                if offer.greedy:
                    continue
                elsewhere = here
                if alone:
                    rate = offer.opening
            elif bernoulli(rng, offer.opening):
                elsewhere = new
                rate = offer.opening
            elif bernoulli(rng, offer.stray):
                elsewhere = partition.active[integer(rng, others)]
                if _contains(found, k, elsewhere):
                    elsewhere = -1
            if elsewhere < 0 and k == 1:
                continue  # nothing to choose from
        row = load(model, table, target.data, i)
        for c in range(k):
            weights[c] = _log_weight(arrays, target, found[c], here, new, others, row)
        total, top = normalise(weights, k)
        counts[PROPOSED] += 1
        counts[WORK] += k
        slot = elsewhere
        if elsewhere >= 0:
            counts[WORK] += 1
            log_odds = _log_weight(arrays, target, elsewhere, here, new, others, row)
            log_odds -= math.log(rate * total) + top
            if not accept(rng, -log_odds if outside else log_odds):
                continue
        if offer.greedy:
            slot = found[largest(weights, k)]
        elif outside or elsewhere < 0:
            slot = found[categorical(rng, weights, k, total)]
        if slot != here:
            relocate(arrays, target, i, slot, row)
            counts[ACCEPTED] += 1
    return end


class Offer(NamedTuple):
    """What points are offered, and which points.

    ``n_mates``: the clusters of so many mates in the tables; 0: all clusters. ``opening`` and ``stray``: how often a point is
    offered a new cluster, or any other, instead. ``at_random``: to uniform points, not to one after the other. ``greedy``: a
    point takes the most probable of its mates' clusters, if its own is among them; this is not for sampling.
    """

    n_mates: int
    opening: float
    stray: float
    at_random: bool
    greedy: bool = False


class Gibbs(Move):
    """Collapsed Gibbs: points get a new cluster from their full conditional.

    Costs K + 1 predictives a point. "Accepted" counts the points that changed cluster.

    Parameters
    ----------
    n_points : int, optional
        How many points, drawn at random, get one in an application; None: all of them, one after the other (a scan).

    Examples
    --------
    >>> import hashmix as hm
    >>> hm.moves.Gibbs()
    Gibbs(n_points=None)
    """

    def __init__(self, n_points: int | None = None) -> None:
        self.n_points = None if n_points is None else check_integer("Gibbs", "n_points", n_points, low=1)

    def units(self, state: State) -> int:
        return len(state.partition.labels) if self.n_points is None else self.n_points

    def expected_work(self, state: State) -> float:
        return float(self.units(state) * (state.n_clusters + 1))

    def units_per_call(self, state: State) -> int:
        return max(100, 2_000_000 // (state.n_clusters + 1))

    def run_units(self, rng: Any, state: State, begin: int, end: int, counts: np.ndarray) -> int:
        offer = Offer(n_mates=0, opening=1.0, stray=0.0, at_random=self.n_points is not None)
        return run_gibbs(rng, offer, NO_TABLES, state.arrays, state.target, begin, end, counts)
