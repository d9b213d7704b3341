"""Anchors: the two points u ≠ v that a split parts or a merge joins, and what their law adds to the ratio.

Anchors drawn without looking at the partition, whatever their law, add nothing: it is the same law before and after. Those
drawn within clusters do look at it, and the ratio carries g(u, v | ρ′) / g(u, v | ρ).
"""

from __future__ import annotations

import math
from typing import NamedTuple

from hashmix.compiling import helper, inlined
from hashmix.hashing.tables import NO_TABLES, TableArrays, bucket_mate
from hashmix.partition import n_clusters, take_turn
from hashmix.rng import bernoulli, integer

__all__ = [
    "DISSIMILAR",
    "SIMILAR",
    "UNIFORM",
    "UNIFORM_ANCHORS",
    "WITHIN",
    "Anchors",
    "draw_anchors",
    "log_anchors_gain",
    "log_pair_probability",
    "split_rate",
    "uniform_pair",
]

# Kinds of anchors. One type for all of them, so that one compiled kernel serves every anchored move.
UNIFORM = 0  # two uniform points
SIMILAR = 1  # u each point in turn, v a mate of u in the tables; uniform if it has none
DISSIMILAR = 2  # u each point in turn, v from the buckets opposite to u's; uniform if they are empty
WITHIN = 3  # a fair coin: two points of one cluster, chosen by u; or two uniform clusters and a point of each


class Anchors(NamedTuple):
    """How anchors are drawn, and how many points a split of their common cluster may come to on average.

    A split is only attempted with such a probability that no more than ``split_points`` points are dealt on average,
    whatever the size of the cluster. Where splits are hopeless, this makes drawing anchors cost the same for all sizes.
    """

    kind: int
    split_points: float
    tables: TableArrays


UNIFORM_ANCHORS = Anchors(UNIFORM, math.inf, NO_TABLES)


@helper
def another_member(rng, partition, slot, but):
    """A uniform member of a cluster other than ``but``, one of at least two."""
    start, size = partition.starts[slot], partition.sizes[slot]
    member = partition.pool[start + integer(rng, size - 1)]
    return partition.pool[start + size - 1] if member == but else member


@helper
def log_pair_probability(k):
    """Log of one unordered pair out of k clusters."""
    return math.log(2.0 / (k * (k - 1.0)))


@helper
def uniform_pair(rng, partition):
    """Two different clusters, uniformly."""
    k = n_clusters(partition)
    c = integer(rng, k)
    other = integer(rng, k - 1)
    if other >= c:
        other += 1
    return partition.active[c], partition.active[other]


@helper
def _within(rng, partition):
    n, k = len(partition.labels), n_clusters(partition)
    if bernoulli(rng, 0.5):
        u = integer(rng, n)
        slot = partition.labels[u]
        if partition.sizes[slot] == 1:
            return -1, -1
        return u, another_member(rng, partition, slot, u)
    if k == 1:
        return -1, -1
    first, second = uniform_pair(rng, partition)
    u = partition.pool[partition.starts[first] + integer(rng, partition.sizes[first])]
    return u, partition.pool[partition.starts[second] + integer(rng, partition.sizes[second])]


@inlined
def draw_anchors(rng, anchors, partition):
    """Two points, or −1 and −1 where the law's choice is impossible: a null move.

    Of hashed anchors, the first is each point in turn: memory is read in its order.
    """
    if anchors.kind == WITHIN:
        u, v = _within(rng, partition)
    else:
        n = len(partition.labels)
        u = integer(rng, n) if anchors.kind == UNIFORM else take_turn(rng, partition)
        v = -1
        if anchors.kind != UNIFORM:
            v = bucket_mate(rng, anchors.tables, anchors.tables.buckets[u], anchors.kind == DISSIMILAR, u)
        if v < 0:
            v = integer(rng, n - 1)
            if v >= u:
                v += 1
    return u, v


@inlined
def split_rate(anchors, size):
    """The probability that a split of a cluster of this size is attempted when both anchors are in it."""
    return min(1.0, anchors.split_points / size)


@helper
def log_anchors_gain(anchors, n, k, of_a, of_b):
    """Log g(u, v | split) − log g(u, v | together) when one of k clusters is split into these sizes, thinning included."""
    gain = -math.log(split_rate(anchors, of_a + of_b))
    if anchors.kind == WITHIN:
        gain += math.log(n * (of_a + of_b - 1.0)) - math.log((k + 1.0) * k * of_a * of_b)
    return gain
