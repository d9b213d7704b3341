"""The collapsed Gibbs scan (Neal's Algorithm 3)."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from hashmix.compiling import borrowed, helper, kernel
from hashmix.components.contract import add, clear, load, log_predictive, log_predictive_without, remove
from hashmix.moves.anchored import ACCEPTED, PROPOSED
from hashmix.moves.contract import Move
from hashmix.partition import close_cluster, move_point, n_clusters, n_spare, open_cluster, spare
from hashmix.priors.contract import log_join_weight, log_new_weight
from hashmix.rng import categorical
from hashmix.state import State

__all__ = ["Gibbs"]


@helper
def normalise(log_weights, k):
    """Replace log weights by weights whose largest is 1; return their sum."""
    top = log_weights[0]
    for c in range(1, k):
        top = max(top, log_weights[c])
    total = 0.0
    for c in range(k):
        x = log_weights[c] - top
        weight = math.exp(x) if x > -40.0 else 0.0  # below rounding of the sum
        log_weights[c] = weight
        total += weight
    return total


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


@kernel
def run_gibbs(rng, arrays, target, begin, end, counts):
    """Full conditionals of points begin … end − 1 (modulo n); stops early when free slots run out.

    The slot ``spare(0)`` is kept empty: predicting from it gives the weight of a new cluster.
    """
    rng, arrays, target = borrowed(rng), borrowed(arrays), borrowed(target)
    partition, table, model, prior = arrays.partition, arrays.table, target.model, target.prior
    weights = arrays.scratch.weights
    n = len(partition.labels)
    clear(model, table, spare(partition, 0))
    for step in range(begin, end):
        if n_spare(partition) < 3:
            return step
        i = step % n
        row = load(model, table, target.data, i)
        here = partition.labels[i]
        alone = partition.sizes[here] == 1
        k = n_clusters(partition)
        others = k - 1 if alone else k  # without the point, a cluster of its own is gone
        log_new = log_predictive(model, table, spare(partition, 0), row) + log_new_weight(prior, others)
        for c in range(k):
            slot = partition.active[c]
            if slot != here:
                weights[c] = log_predictive(model, table, slot, row) + log_join_weight(prior, table.sizes[slot])
            elif not alone:
                weights[c] = log_predictive_without(model, table, slot, row) + log_join_weight(prior, table.sizes[slot] - 1)
            else:  # staying is opening a new one
                weights[c] = log_new
        weights[k] = log_new
        options = k if alone else k + 1
        total = normalise(weights, options)
        c = categorical(rng, weights, options, total)
        slot = partition.active[c] if c < k else spare(partition, 0)
        counts[PROPOSED] += 1
        if slot != here:
            relocate(arrays, target, i, slot, row)
            counts[ACCEPTED] += 1
    return end


class Gibbs(Move):
    """Collapsed Gibbs: one scan gives every point a new cluster from its full conditional.

    Costs n (K + 1) predictives. "Accepted" counts the points that changed cluster.

    Examples
    --------
    >>> import hashmix as hm
    >>> hm.moves.Gibbs()
    Gibbs()
    """

    def units(self, state: State) -> int:
        return len(state.partition.labels)

    def units_per_call(self, state: State) -> int:
        return max(100, 2_000_000 // (state.n_clusters + 1))

    def run_units(self, rng: Any, state: State, begin: int, end: int, counts: np.ndarray) -> int:
        return run_gibbs(rng, state.arrays, state.target, begin, end, counts)
