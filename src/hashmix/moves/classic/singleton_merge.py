"""Merges of clusters of one row, at the cost of that row's full conditional."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from hashmix.components.contract import add, clear, load
from hashmix.core.compiling import helper, implements, inlined
from hashmix.core.rng import bernoulli, categorical, integer
from hashmix.moves.conditional import log_weight, normalise
from hashmix.moves.contract import Proposal
from hashmix.moves.driver import CUT, choose, complete, cut, divide, log_or_never, merge, nothing, reads_union, weigh_merge
from hashmix.moves.tally import WORK
from hashmix.partition.members import n_clusters, n_rows, spare, uniform_row
from hashmix.partition.state import State

__all__ = ["SingletonMerge", "log_choice", "log_rate_of_cut", "singletons_after_cut"]

#: Proposals that a schedule may make per sweep, however few the clusters.
_LEAST = 20


# ---- the ratio: used by chains over shards, too -----------------------------------------------------------------------------


@helper
def log_choice(weights, candidates, k, slot):
    """Log probability with which the weights of k candidates choose a cluster."""
    total, mine = 0.0, 0.0
    for c in range(k):
        total += weights[c]
        if candidates[c] == slot:
            mine = weights[c]
    return log_or_never(mine / total)


@inlined
def log_rate_of_cut(n_rows, n_singletons):
    """Log of what the ratio of a cut has besides the choice of a partner: 1/S on the way back, 1/n on the way there.

    S is the number of clusters of one row after the cut. A merge has the inverse, with the S before it.
    """
    return math.log(n_rows) - math.log(n_singletons)


@inlined
def singletons_after_cut(n_singletons, size):
    """How many clusters of one row there are when a row has left a cluster of some size."""
    return n_singletons + (2 if size == 2 else 1)


# ---- the law ----------------------------------------------------------------------------------------------------------------


class Singletons(NamedTuple):
    """Law of SingletonMerge; it has nothing to choose."""

    kernel: bool = True


@helper
def _n_singletons(partition):
    found = 0
    for c in range(n_clusters(partition)):
        found += partition.sizes[partition.active[c]] == 1
    return found


@helper
def _uniform_singleton(rng, partition, n_singletons):
    left = integer(rng, n_singletons)
    for c in range(n_clusters(partition)):
        slot = partition.active[c]
        if partition.sizes[slot] == 1:
            if left == 0:
                return slot
            left -= 1
    return partition.active[0]  # not reached


@helper
def _weigh_partners(arrays, target, i, alone, tally):
    """Weights with which row i chooses a cluster: all but slot ``alone`` (−1: none); return how many there are.

    ``alone`` must be an int64 in every call, so that this is compiled once.
    """
    partition, scratch = arrays.partition, arrays.scratch
    here = partition.labels[i]
    row = load(target.model, arrays.slots, target.data, i)
    k = 0
    for c in range(n_clusters(partition)):
        slot = partition.active[c]
        if slot != alone:
            scratch.candidates[k] = slot
            scratch.weights[k] = log_weight(arrays, target, slot, here, -1, 0, row)
            k += 1
    tally[WORK] += k
    normalise(scratch.weights, k)
    return k


@implements(reads_union, Singletons)
def _reads_union(law):
    return False


@implements(choose, Singletons, argument=1, inline=True)
def _choose(rng, law, arrays, target, tally):
    partition, scratch = arrays.partition, arrays.scratch
    if bernoulli(rng, 0.5):
        i = uniform_row(rng, partition)
        if partition.sizes[partition.labels[i]] == 1:
            return nothing()
        scratch.rows[0] = i
        return cut(partition.labels[i], 1, 0)
    n_singletons = _n_singletons(partition)
    if n_singletons == 0 or n_clusters(partition) == 1:
        return nothing()
    alone = _uniform_singleton(rng, partition, n_singletons)
    k = _weigh_partners(arrays, target, partition.pool[partition.starts[alone]], np.int64(alone), tally)
    partner = scratch.candidates[categorical(rng, scratch.weights, k, scratch.weights[:k].sum())]
    return merge(alone, partner, -1, -1, n_singletons)


@implements(weigh_merge, Singletons, argument=1, inline=True)
def _weigh_merge(rng, law, arrays, target, change, tally):
    """1/n of choosing the row for a cut, against 1/S of choosing the cluster and the weight of its partner."""
    partition, scratch = arrays.partition, arrays.scratch
    chosen = log_choice(scratch.weights, scratch.candidates, n_clusters(partition) - 1, change.second)
    return -log_rate_of_cut(n_rows(partition), change.note) - chosen


@implements(divide, Singletons, argument=1, inline=True)
def _divide(rng, law, arrays, target, change, tally):
    partition, model, slots = arrays.partition, target.model, arrays.slots
    part = spare(partition, 0)
    clear(model, slots, part)
    add(model, slots, part, load(model, slots, target.data, arrays.scratch.rows[0]))
    tally[WORK] += 2
    n_after = singletons_after_cut(_n_singletons(partition), partition.sizes[change.first])
    return log_rate_of_cut(n_rows(partition), n_after)


@implements(complete, Singletons, argument=1, inline=True)
def _complete(rng, law, arrays, target, change, tally):
    if change.kind != CUT:
        return 0.0
    scratch = arrays.scratch
    k = _weigh_partners(arrays, target, scratch.rows[0], np.int64(-1), tally)
    return log_choice(scratch.weights, scratch.candidates, k, change.first)


class SingletonMerge(Proposal):
    """Smart merge, dumb cut: a cluster of one row joins a cluster chosen by that row's full conditional; a row is cut out.

    A row that is alone by accident, in none of whose hashed cells its cluster has a row, would wait until a Gibbs update draws
    it among all rows. This move finds it at once: a fair coin decides whether a uniform cluster of one row is merged, or a
    uniform row is cut out of its cluster. A cut is nearly always rejected before any full conditional is computed.

    Examples
    --------
    >>> import hashmix as hm
    >>> hm.moves.SingletonMerge()
    SingletonMerge()
    """

    works_in_parts = True

    def expected_work(self, state: State) -> float:
        # Half of the proposals are cuts; the others take a full conditional, if there is a cluster of one row.
        return 1.0 + (state.n_clusters if (state.sizes == 1).any() else 0.0)

    def most_times(self, state: State) -> int:
        # Clusters of one row are few: more proposals than there are clusters would nearly all be cuts in vain.
        return max(_LEAST, state.n_clusters)

    def law(self, state: State) -> Singletons:
        return Singletons()
