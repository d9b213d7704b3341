"""Anchored split–merge: two rows; a split if they are in one cluster, a merge if they are in two.

Moves differ in how the anchors are drawn (:mod:`hashmix.moves.anchors`) and how rows are assigned to their sides
(:mod:`hashmix.moves.allocation`). A new law of either kind needs no change here.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from hashmix.core.compiling import implements
from hashmix.core.rng import bernoulli
from hashmix.moves.allocation import allocate, gather, is_blind, log_blind, start_sides, work_per_row
from hashmix.moves.anchors import draw_anchors, log_anchors_ratio, split_rate
from hashmix.moves.driver import choose, complete, divide, merge, nothing, reads_union, sides_of, split, weigh_merge
from hashmix.moves.tally import WORK
from hashmix.partition.members import n_clusters, n_rows

__all__ = ["Anchored"]


class Anchored(NamedTuple):
    """The law of an anchored move: a law of anchors, and an allocation."""

    anchors: Any
    allocation: Any


@implements(choose, Anchored, argument=1, inline=True)
def _choose(rng, law, arrays, target, tally):
    partition = arrays.partition
    if n_rows(partition) < 2:
        return nothing()
    u, v = draw_anchors(rng, law.anchors, partition)
    tally[WORK] += 1
    if u < 0:
        return nothing()
    first, second = partition.labels[u], partition.labels[v]
    if first < 0 or second < 0:
        return nothing()  # not both are rows of this part, whatever its partition
    if first != second:
        return merge(first, second, u, v, 0)
    rate = split_rate(law.anchors, partition.sizes[first])
    if rate < 1.0 and not bernoulli(rng, rate):
        return nothing()  # thinned out
    return split(first, u, v, 0)


@implements(divide, Anchored, argument=1, inline=True)
def _divide(rng, law, arrays, target, change, tally):
    n, k = n_rows(arrays.partition), n_clusters(arrays.partition)
    sides = sides_of(arrays, change, gather(arrays, change.first, change.second, change.u, change.v))
    tally[WORK] += sides.m * work_per_row(law.allocation)
    start_sides(arrays, target, sides)
    log_q = allocate(rng, law.allocation, arrays, target, sides, False)
    of_a, of_b = arrays.slots.sizes[sides.a], arrays.slots.sizes[sides.b]
    return log_anchors_ratio(law.anchors, n, k, of_a, of_b) - math.log(split_rate(law.anchors, of_a + of_b)) - log_q


@implements(weigh_merge, Anchored, argument=1, inline=True)
def _weigh_merge(rng, law, arrays, target, change, tally):
    # q ≤ 1, so that a merge can be rejected without the forced pass. Only a blind q is known already.
    partition = arrays.partition
    of_a, of_b = partition.sizes[change.first], partition.sizes[change.second]
    n, k = n_rows(partition), n_clusters(partition)
    bound = math.log(split_rate(law.anchors, of_a + of_b)) - log_anchors_ratio(law.anchors, n, k - 1, of_a, of_b)
    return bound + log_blind(law.allocation, of_a, of_b) if is_blind(law.allocation) else bound


@implements(reads_union, Anchored, inline=True)
def _reads_union(law):
    return False


@implements(complete, Anchored, argument=1, inline=True)
def _complete(rng, law, arrays, target, change, tally):
    if change.first == change.second or is_blind(law.allocation):
        return 0.0
    sides = sides_of(arrays, change, gather(arrays, change.first, change.second, change.u, change.v))
    tally[WORK] += sides.m * work_per_row(law.allocation)
    start_sides(arrays, target, sides)
    return allocate(rng, law.allocation, arrays, target, sides, True)
