"""Smart-dumb / dumb-smart split–merge (Wang and Russell 2015)."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from hashmix.components.contract import clear, log_marginal, log_union
from hashmix.core.compiling import helper, implements
from hashmix.core.rng import bernoulli, categorical, integer
from hashmix.core.validation import check_choice
from hashmix.moves.allocation import fill_sides, gather, sequential_pass, toss_coins
from hashmix.moves.anchors import log_pair_probability, uniform_pair
from hashmix.moves.conditional import normalise
from hashmix.moves.contract import Proposal
from hashmix.moves.driver import MERGE, Sides, choose, complete, divide, merge, nothing, split, weigh_merge
from hashmix.partition.members import n_clusters, spare
from hashmix.partition.state import State

__all__ = ["SDDS"]

_LOG_2 = math.log(2.0)
# The two kernels, as the change's note.
SMART_SPLIT = 1  # smart split, dumb merge
SMART_MERGE = 0  # smart merge, dumb split


class SmartDumb(NamedTuple):
    """The law of SDDS: whether a merge's partner is chosen by Bayes factor rather than by marginal likelihood."""

    bayes_factor: bool


@helper
def _log_choice_of_split(arrays, target, chosen, without, also_without):
    """Log probability that weights 1/m(c) choose slot ``chosen`` in the state where it replaces two others.

    Pass −1 twice for the current state, where ``chosen`` is a cluster already.
    """
    partition, slots, model = arrays.partition, arrays.slots, target.model
    mine = -log_marginal(model, slots, chosen)
    total = 1.0  # in units of the chosen cluster's weight
    for c in range(n_clusters(partition)):
        slot = partition.active[c]
        if slot != chosen and slot != without and slot != also_without:
            total += math.exp(-log_marginal(model, slots, slot) - mine)
    return -math.log(total)


@helper
def _log_merge_weight(law, arrays, target, first, second):
    """Log weight with which ``second`` is chosen as the partner of ``first``; overwrites the slot of the union."""
    slots, model = arrays.slots, target.model
    weight = log_union(model, slots, first, second, spare(arrays.partition, 2))
    if law.bayes_factor:
        weight -= log_marginal(model, slots, first) + log_marginal(model, slots, second)
    return weight


@helper
def _log_choice_of_merge(law, arrays, target, first, second, not_this):
    """Log probability that ``first`` chooses ``second`` among ``second`` and all clusters but ``not_this``."""
    partition = arrays.partition
    mine = _log_merge_weight(law, arrays, target, first, second)
    total = 1.0
    for c in range(n_clusters(partition)):
        slot = partition.active[c]
        if slot != first and slot != second and slot != not_this:
            total += math.exp(_log_merge_weight(law, arrays, target, first, slot) - mine)
    return -math.log(total)


@helper
def _log_both_orders(law, arrays, target, first, second, not_this):
    """Log of Σ over both orders of (choice of the second given the first); the first is uniform."""
    x = _log_choice_of_merge(law, arrays, target, first, second, not_this)
    y = _log_choice_of_merge(law, arrays, target, second, first, not_this)
    return max(x, y) + math.log1p(math.exp(-abs(x - y)))


@helper
def _draw_by_weight(rng, arrays, k):
    """Draw one of the k clusters whose log weights are in ``scratch.weights``."""
    weights = arrays.scratch.weights
    total, _ = normalise(weights, k)
    return arrays.partition.active[categorical(rng, weights, k, total)]


@implements(choose, SmartDumb, argument=1, inline=True)
def _choose(rng, law, arrays, target, tally):
    partition, weights = arrays.partition, arrays.scratch.weights
    k = n_clusters(partition)
    smart_split = bernoulli(rng, 0.5)
    splits = bernoulli(rng, 0.5)
    if k == 1 and not splits:
        return nothing()
    if smart_split and not splits:
        first, second = uniform_pair(rng, partition)
        return merge(first, second, -1, -1, SMART_SPLIT)
    if smart_split:
        for c in range(k):
            weights[c] = -log_marginal(target.model, arrays.slots, partition.active[c])
        return split(_draw_by_weight(rng, arrays, k), -1, -1, SMART_SPLIT)
    first = partition.active[integer(rng, k)]
    if splits:
        return split(first, -1, -1, SMART_MERGE)
    for c in range(k):
        slot = partition.active[c]
        weights[c] = -np.inf if slot == first else _log_merge_weight(law, arrays, target, first, slot)
    return merge(first, _draw_by_weight(rng, arrays, k), -1, -1, SMART_MERGE)


@helper
def _smart_pass(rng, arrays, target, sides, forced):
    """Log probability of dividing the rows by a pass that ignores sizes. Compiled once for splits and merges."""
    return sequential_pass(rng, arrays, target, sides, forced, False)


@helper
def _empty_sides(arrays, target, change):
    """List all rows of the change, and clear the slots of its sides. The first row names side a: either name would do."""
    partition = arrays.partition
    a, b = spare(partition, 1), spare(partition, 0)
    clear(target.model, arrays.slots, a)
    clear(target.model, arrays.slots, b)
    m = gather(arrays, change.first, change.second, -1, -1)
    return Sides(arrays.scratch.rows[0], np.int64(-1), a, b, m)


@implements(divide, SmartDumb, argument=1, inline=True)
def _divide(rng, law, arrays, target, change, tally):
    slots, k = arrays.slots, n_clusters(arrays.partition)
    sides = _empty_sides(arrays, target, change)
    log_q = 0.0
    if change.note == SMART_SPLIT:
        log_q = _smart_pass(rng, arrays, target, sides, False)
    else:
        toss_coins(rng, arrays, sides.m)
        fill_sides(arrays, target, sides)
    if slots.sizes[sides.a] == 0 or slots.sizes[sides.b] == 0:
        return -math.inf
    if change.note == SMART_SPLIT:
        log_q += _LOG_2 + _log_choice_of_split(arrays, target, change.first, -1, -1)  # two labellings of the sides
        return log_pair_probability(k + 1) - log_q
    # The two orders of the merge sum to at most 2: most splits are rejected before any merge weight is computed.
    return -math.log(k + 1.0) + (sides.m - 1.0) * _LOG_2 + math.log(k) + _LOG_2


@implements(weigh_merge, SmartDumb, argument=1, inline=True)
def _weigh_merge(rng, law, arrays, target, change, tally):
    partition, first, second = arrays.partition, change.first, change.second
    union, k = spare(partition, 2), n_clusters(partition)
    if change.note == SMART_SPLIT:
        return _LOG_2 + _log_choice_of_split(arrays, target, union, first, second) - log_pair_probability(k)
    both = partition.sizes[first] + partition.sizes[second]
    log_orders = _log_both_orders(law, arrays, target, first, second, -1)
    log_union(target.model, arrays.slots, first, second, union)  # the weights of other pairs overwrote it
    return (1.0 - both) * _LOG_2 - math.log(k - 1.0) + math.log(k) - log_orders


@implements(complete, SmartDumb, argument=1, inline=True)
def _complete(rng, law, arrays, target, change, tally):
    merges = change.kind == MERGE
    if merges and change.note == SMART_SPLIT:
        return _smart_pass(rng, arrays, target, _empty_sides(arrays, target, change), True)
    if not merges and change.note == SMART_MERGE:
        a, b = spare(arrays.partition, 1), spare(arrays.partition, 0)
        return _log_both_orders(law, arrays, target, a, b, change.first) - _LOG_2
    return 0.0


class SDDS(Proposal):
    """Smart-dumb / dumb-smart split–merge: informed splits reversed by blind merges, and the other way round.

    One kernel splits a cluster, chosen with weight 1/m(c), by a pass over its rows, and merges a uniform pair. The other
    merges a uniform cluster with one chosen by weight, and splits a uniform cluster by coins. Fair coins decide which
    kernel, and which half of it; an impossible choice is a null move.

    Parameters
    ----------
    merge_weight : {"marginal", "bayes-factor"}, default="marginal"
        Weight of c₂ as the partner of c₁: m(c₁ ∪ c₂) as published, or m(c₁ ∪ c₂)/(m(c₁) m(c₂)), which does not prefer
        clusters for being small.

    Examples
    --------
    >>> import hashmix as hm
    >>> hm.moves.SDDS(merge_weight="bayes-factor")
    SDDS(merge_weight='bayes-factor')
    """

    works_in_parts = True

    def __init__(self, merge_weight: str = "marginal") -> None:
        self.merge_weight: str = check_choice("SDDS", "merge_weight", merge_weight, ["marginal", "bayes-factor"])

    def law(self, state: State) -> SmartDumb:
        return SmartDumb(self.merge_weight == "bayes-factor")
