"""Smart-dumb / dumb-smart split–merge (Wang and Russell 2015)."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from hashmix.compiling import borrowed, helper, inlined, kernel
from hashmix.components.contract import clear, log_marginal, log_union
from hashmix.moves.acceptance import accept
from hashmix.moves.anchored import (
    ACCEPTED,
    PROPOSED,
    SPLITS_ACCEPTED,
    SPLITS_PROPOSED,
    commit_merge,
    commit_split,
    merge_bound,
    split_gain,
)
from hashmix.moves.anchors import log_pair_probability, uniform_pair
from hashmix.moves.contract import Move
from hashmix.moves.gibbs import normalise
from hashmix.moves.restricted import fill_sides, gather, sequential_pass, toss_coins
from hashmix.moves.room import out_of_room
from hashmix.partition import n_clusters, spare
from hashmix.rng import bernoulli, categorical, integer
from hashmix.state import State
from hashmix.validation import check_choice

__all__ = ["SDDS"]

_LOG_2 = math.log(2.0)


@helper
def _log_choice_of_split(arrays, target, chosen, without, also_without):
    """Log of the chance that weights 1/m(c) choose slot ``chosen`` in the state where it replaces two others.

    Pass −1 twice for the current state, where ``chosen`` is a cluster already.
    """
    partition, table, model = arrays.partition, arrays.table, target.model
    mine = -log_marginal(model, table, chosen)
    total = 1.0  # in units of the chosen cluster's weight
    for c in range(n_clusters(partition)):
        slot = partition.active[c]
        if slot != chosen and slot != without and slot != also_without:
            total += math.exp(-log_marginal(model, table, slot) - mine)
    return -math.log(total)


@helper
def _log_merge_weight(arrays, target, first, second, union, bayes_factor):
    """Log weight with which ``second`` is chosen as the partner of ``first``; overwrites slot ``union``."""
    table, model = arrays.table, target.model
    weight = log_union(model, table, first, second, union)
    if bayes_factor:
        weight -= log_marginal(model, table, first) + log_marginal(model, table, second)
    return weight


@helper
def _log_choice_of_merge(arrays, target, first, second, not_this, union, bayes_factor):
    """Log of the chance that ``first`` chooses ``second`` among ``second`` and all clusters but ``not_this``."""
    partition = arrays.partition
    mine = _log_merge_weight(arrays, target, first, second, union, bayes_factor)
    total = 1.0
    for c in range(n_clusters(partition)):
        slot = partition.active[c]
        if slot != first and slot != second and slot != not_this:
            total += math.exp(_log_merge_weight(arrays, target, first, slot, union, bayes_factor) - mine)
    return -math.log(total)


@helper
def _log_both_orders(arrays, target, first, second, not_this, union, bayes_factor):
    """Log of Σ over both orders of (choice of the second given the first); the first is uniform."""
    x = _log_choice_of_merge(arrays, target, first, second, not_this, union, bayes_factor)
    y = _log_choice_of_merge(arrays, target, second, first, not_this, union, bayes_factor)
    return max(x, y) + math.log1p(math.exp(-abs(x - y)))


@inlined
def _choose_clusters(rng, arrays, target, smart_split, splits, union, bayes_factor):
    """The cluster to be split, given twice, or the two to be merged."""
    partition, weights = arrays.partition, arrays.scratch.weights
    k = n_clusters(partition)
    if smart_split and not splits:
        return uniform_pair(rng, partition)
    first = partition.active[0]
    if not smart_split:
        first = partition.active[integer(rng, k)]
        if splits:
            return first, first
    for c in range(k):
        slot = partition.active[c]
        if smart_split:
            weights[c] = -log_marginal(target.model, arrays.table, slot)
        elif slot == first:
            weights[c] = -np.inf
        else:
            weights[c] = _log_merge_weight(arrays, target, first, slot, union, bayes_factor)
    total, _ = normalise(weights, k)
    chosen = partition.active[categorical(rng, weights, k, total)]
    return (chosen, chosen) if smart_split else (first, chosen)


@kernel
def run_sdds(rng, bayes_factor, arrays, target, begin, end, counts):
    """Proposals number begin … end − 1; stops early when free slots run out.

    Both halves of both kernels go through the same lines, each of which is compiled once.
    """
    rng, arrays, target = borrowed(rng), borrowed(arrays), borrowed(target)
    partition, table, model = arrays.partition, arrays.table, target.model
    for step in range(begin, end):
        if out_of_room(arrays, target):
            return step
        counts[PROPOSED] += 1
        smart_split = bernoulli(rng, 0.5)  # smart split, dumb merge; else smart merge, dumb split
        splits = bernoulli(rng, 0.5)
        k = n_clusters(partition)
        a, b, union = spare(partition, 1), spare(partition, 0), spare(partition, 2)
        if k == 1 and not splits:
            continue
        first, second = _choose_clusters(rng, arrays, target, smart_split, splits, union, bayes_factor)
        bound = 0.0
        if not splits:
            if not smart_split:
                both = partition.sizes[first] + partition.sizes[second]
                bound = (1.0 - both) * _LOG_2 - math.log(k - 1.0) + math.log(k)
                bound -= _log_both_orders(arrays, target, first, second, -1, union, bayes_factor)
            bound += merge_bound(arrays, target, first, second, union)
            if smart_split:
                bound += _LOG_2 + _log_choice_of_split(arrays, target, union, first, second) - log_pair_probability(k)
            if not accept(rng, bound):
                continue
        m = 0
        if splits or smart_split:  # a smart merge is decided already
            clear(model, table, a)
            clear(model, table, b)
            m = gather(arrays, first, second, -1, -1)
            log_q = 0.0
            if smart_split:
                anchor = arrays.scratch.points[0]  # whose side is called a; either name gives the same probability
                log_q = sequential_pass(rng, arrays, target, anchor, a, b, m, not splits, False)
            else:
                toss_coins(rng, arrays, m)
                fill_sides(arrays, target, a, b, m)
            log_ratio = max(bound, 0.0) + log_q
            if splits:
                if table.sizes[a] == 0 or table.sizes[b] == 0:
                    continue  # a null move
                counts[SPLITS_PROPOSED] += 1
                log_ratio = split_gain(arrays, target, first, a, b)
                if smart_split:
                    log_q += _LOG_2 + _log_choice_of_split(arrays, target, first, -1, -1)  # two labellings of the sides
                    log_ratio += log_pair_probability(k + 1) - log_q
                else:
                    bound = log_ratio - math.log(k + 1.0) + (m - 1.0) * _LOG_2 + math.log(k) + _LOG_2
                    if not accept(rng, bound):  # the two orders sum to at most 2: rejected before any merge weight
                        continue
                    log_orders = _log_both_orders(arrays, target, a, b, first, union, bayes_factor)
                    log_ratio = max(bound, 0.0) + log_orders - _LOG_2
            if not accept(rng, log_ratio):
                continue
        if splits:
            commit_split(arrays, target, first, a, b, -1, m)
            counts[SPLITS_ACCEPTED] += 1
        else:
            commit_merge(arrays, target, first, second, union)
        counts[ACCEPTED] += 1
    return end


class SDDS(Move):
    """Smart-dumb / dumb-smart split–merge: informed splits reversed by blind merges, and the other way round.

    One kernel splits a cluster, chosen with weight 1/m(c), by a pass over its points, and merges a uniform pair; the
    other merges a uniform cluster with one chosen by weight, and splits a uniform cluster by coins. Which kernel, and
    which half of it, is decided by fair coins; an impossible choice is a null move.

    Parameters
    ----------
    merge_weight : {"marginal", "bayes-factor"}, default="marginal"
        Weight of c₂ as the partner of c₁: m(c₁ ∪ c₂) as published, or m(c₁ ∪ c₂)/(m(c₁) m(c₂)), which does not prefer
        small clusters for being small.

    Examples
    --------
    >>> import hashmix as hm
    >>> hm.moves.SDDS(merge_weight="bayes-factor")
    SDDS(merge_weight='bayes-factor')
    """

    def __init__(self, merge_weight: str = "marginal") -> None:
        self.merge_weight = check_choice("SDDS", "merge_weight", merge_weight, ["marginal", "bayes-factor"])

    def run_units(self, rng: Any, state: State, begin: int, end: int, counts: np.ndarray) -> int:
        return run_sdds(rng, self.merge_weight == "bayes-factor", state.arrays, state.target, begin, end, counts)
