"""Anchors: the two points u ≠ v that a split parts or a merge joins, and what their law adds to the ratio.

Anchors drawn without looking at the partition, whatever their law, add nothing: it is the same law before and after. Those
drawn within clusters do look at it, and the ratio carries g(u, v | ρ′) / g(u, v | ρ).
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from hashmix.compiling import helper, inlined
from hashmix.hashing.tables import TableArrays, bucket_mate
from hashmix.partition import n_clusters
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
    "uniform_pair",
]

# Kinds of anchors. One type for all of them, so that one compiled kernel serves every anchored move.
UNIFORM = 0  # two uniform points
SIMILAR = 1  # u uniform, v a mate of u in the tables; uniform if it has none
DISSIMILAR = 2  # u uniform, v from the buckets opposite to u's; uniform if they are empty
WITHIN = 3  # a fair coin: two points of one cluster, chosen by u; or two uniform clusters and a point of each


class Anchors(NamedTuple):
    """How anchors are drawn, and with what probability a split of their common cluster is attempted at all."""

    kind: int
    split_rate: float
    tables: TableArrays


_NO_TABLES = TableArrays(np.empty((0, 1), np.int32), np.zeros(1, np.int64), np.empty(0, np.int32), np.empty(0, np.int32))

UNIFORM_ANCHORS = Anchors(UNIFORM, 1.0, _NO_TABLES)


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
    """Two points, or −1 and −1 where the law's choice is impossible: a null move."""
    if anchors.kind == WITHIN:
        u, v = _within(rng, partition)
    else:
        n = len(partition.labels)
        u = integer(rng, n)
        v = -1
        if anchors.kind != UNIFORM:
            v = bucket_mate(rng, anchors.tables, anchors.tables.buckets[u], anchors.kind == DISSIMILAR, u)
        if v < 0:
            v = integer(rng, n - 1)
            if v >= u:
                v += 1
    return u, v


@helper
def log_anchors_gain(anchors, n, k, of_a, of_b):
    """Log g(u, v | split) − log g(u, v | together) when one of k clusters is split into these sizes, thinning included."""
    gain = -math.log(anchors.split_rate)
    if anchors.kind == WITHIN:
        gain += math.log(n * (of_a + of_b - 1.0)) - math.log((k + 1.0) * k * of_a * of_b)
    return gain
