"""Merges of clusters of one row, at the cost of that row's full conditional."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from hashmix.components.contract import add, clear, load, log_predictive, log_predictive_without, remove
from hashmix.core.compiling import helper, implements, inlined
from hashmix.core.rng import bernoulli, categorical, integer
from hashmix.core.validation import check_integer
from hashmix.moves.conditional import log_weight, normalise
from hashmix.moves.contract import Proposal
from hashmix.moves.driver import CUT, choose, complete, cut, divide, log_or_never, merge, nothing, reads_union, weigh_merge
from hashmix.moves.tally import WORK
from hashmix.partition.members import n_clusters, n_rows, spare, uniform_row
from hashmix.partition.state import State
from hashmix.priors.contract import log_join_weight

__all__ = ["SingletonMerge", "log_choice", "log_rate_of_cut", "singletons_after_cut"]

#: Proposals that a schedule may make per sweep, however few the clusters.
_LEAST = 20
#: Rows that a cut chooses from by default: one in so many, and at most so many.
_ONE_IN, _MOST_ROWS = 128, 128


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
    """Law of SingletonMerge: the number of random rows that a cut chooses from."""

    n_rows: np.int64


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
def _log_odds_alone(arrays, target, i):
    """Log odds, up to a constant, that row i is alone rather than in its cluster; −∞ if it is alone."""
    slots, model = arrays.slots, target.model
    slot = np.int64(arrays.partition.labels[i])
    if slots.sizes[slot] == 1:
        return -math.inf
    row = load(model, slots, target.data, i)
    together = log_predictive_without(model, slots, slot, row) + log_join_weight(target.prior, slots.sizes[slot] - 1)
    return log_predictive(model, slots, spare(arrays.partition, 0), row) - together


@inlined
def _with_weight(top, total, log_weight):
    """A sum of weights with another one; ``total`` is relative to the largest, whose log is ``top``."""
    if log_weight > top:
        return log_weight, total * math.exp(top - log_weight) + 1.0
    return top, total + math.exp(log_weight - top)


@helper
def _row_to_cut(rng, law, arrays, target):
    """One of some uniform rows, chosen by its odds of being alone (−1: all of them are), and the log probability."""
    chosen, log_odds, top, total = np.int64(-1), 0.0, -math.inf, 0.0
    for _ in range(law.n_rows):
        i = uniform_row(rng, arrays.partition)
        mine = _log_odds_alone(arrays, target, i)
        if mine > -math.inf:
            top, total = _with_weight(top, total, mine)
            if bernoulli(rng, math.exp(mine - top) / total):
                chosen, log_odds = i, mine
    return chosen, (log_odds - top - math.log(total) if chosen >= 0 else -math.inf)


@helper
def _log_choice_of_row(rng, law, arrays, target, i, partner):
    """Log probability with which a cut, once row i is in cluster ``partner``, chooses it among itself and uniform rows."""
    slots, model = arrays.slots, target.model
    row = load(model, slots, target.data, i)
    together = log_predictive(model, slots, partner, row) + log_join_weight(target.prior, slots.sizes[partner])
    mine = log_predictive(model, slots, spare(arrays.partition, 0), row) - together
    if not mine > -math.inf:
        return -math.inf
    top, total = mine, 1.0
    add(model, slots, partner, row)
    for _ in range(law.n_rows - 1):
        other = uniform_row(rng, arrays.partition)
        log_odds = mine if other == i else _log_odds_alone(arrays, target, other)
        if log_odds > -math.inf:
            top, total = _with_weight(top, total, log_odds)
    remove(model, slots, partner, load(model, slots, target.data, i))
    return mine - top - math.log(total)


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
    clear(target.model, arrays.slots, spare(partition, 0))
    if bernoulli(rng, 0.5):
        tally[WORK] += 2 * law.n_rows
        i, log_chosen = _row_to_cut(rng, law, arrays, target)
        if i < 0:
            return nothing()
        scratch.rows[0], scratch.weights[0] = i, log_chosen
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
    """The choice of the row for a cut, against 1/S of choosing the cluster and the weight of its partner."""
    partition, scratch = arrays.partition, arrays.scratch
    chosen = log_choice(scratch.weights, scratch.candidates, n_clusters(partition) - 1, change.second)
    tally[WORK] += 2 * law.n_rows
    i = np.int64(partition.pool[partition.starts[change.first]])
    chosen_back = _log_choice_of_row(rng, law, arrays, target, i, change.second) + math.log(law.n_rows)
    return chosen_back - log_rate_of_cut(n_rows(partition), change.note) - chosen


@implements(divide, Singletons, argument=1, inline=True)
def _divide(rng, law, arrays, target, change, tally):
    partition, model, slots = arrays.partition, target.model, arrays.slots
    part = spare(partition, 0)
    clear(model, slots, part)
    add(model, slots, part, load(model, slots, target.data, arrays.scratch.rows[0]))
    tally[WORK] += 2
    n_after = singletons_after_cut(_n_singletons(partition), partition.sizes[change.first])
    # As one of the rows that a cut chooses from, the row might have been the first, the second, …
    chosen = arrays.scratch.weights[0] + math.log(law.n_rows)
    return log_rate_of_cut(n_rows(partition), n_after) - chosen


@implements(complete, Singletons, argument=1, inline=True)
def _complete(rng, law, arrays, target, change, tally):
    if change.kind != CUT:
        return 0.0
    scratch = arrays.scratch
    k = _weigh_partners(arrays, target, scratch.rows[0], np.int64(-1), tally)
    return log_choice(scratch.weights, scratch.candidates, k, change.first)


class SingletonMerge(Proposal):
    """Merge a cluster of one row with one chosen by that row's full conditional, or cut such a row out.

    A row that is alone by accident, in none of whose hashed cells its cluster has a row, would wait until a Gibbs update draws
    it among all rows. This move finds it at once: a fair coin decides whether a uniform cluster of one row is merged, or a row
    is cut out of its cluster. That row is one of some random rows, chosen by the odds that it is alone: the way back of a merge
    would hardly ever be proposed if it were uniform, and merges would hardly ever be accepted.

    Parameters
    ----------
    n_rows : int, optional
        Number of random rows that a cut chooses from. None: one row in 128, between 1 and 128.

    Examples
    --------
    >>> import hashmix as hm
    >>> hm.moves.SingletonMerge()
    SingletonMerge(n_rows=None)
    """

    works_in_parts = True

    def __init__(self, n_rows: int | None = None) -> None:
        self.n_rows: int | None = None if n_rows is None else check_integer(type(self).__name__, "n_rows", n_rows, low=1)

    def expected_work(self, state: State) -> float:
        # Half of the proposals are cuts; the others take a full conditional, if there is a cluster of one row.
        n_rows = float(self.law(state).n_rows)
        return n_rows + (0.5 * state.n_clusters + n_rows if (state.sizes == 1).any() else 0.0)

    def most_times(self, state: State) -> int:
        # Clusters of one row are few: more proposals than there are clusters would nearly all be cuts in vain.
        return max(_LEAST, state.n_clusters)

    def law(self, state: State) -> Singletons:
        n_rows = max(1, min(state.n_rows // _ONE_IN, _MOST_ROWS)) if self.n_rows is None else self.n_rows
        return Singletons(np.int64(n_rows))
