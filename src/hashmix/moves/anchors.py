"""Anchors: the two rows u ≠ v that a split separates or a merge joins, and what their law adds to the ratio.

Anchors drawn without looking at the partition add nothing, whatever their law: it is the same before and after. Anchors
drawn within clusters do look at it, and the ratio has the factor g(u, v | ρ′) / g(u, v | ρ).
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from hashmix.core.compiling import fallback, helper, implements
from hashmix.core.rng import bernoulli, integer
from hashmix.hashing.tables import NO_TABLES, TableArrays, bucket_mate
from hashmix.partition.members import n_clusters, n_rows, take_turn, uniform_row

__all__ = [
    "DISSIMILAR",
    "SIMILAR",
    "UNIFORM",
    "UNIFORM_ANCHORS",
    "WITHIN",
    "Anchors",
    "draw_anchors",
    "log_anchors_ratio",
    "log_pair_probability",
    "split_rate",
    "uniform_pair",
]


# ---- the verbs of a law of anchors -----------------------------------------------------------------------------------------


def draw_anchors(rng, anchors, partition):
    """Draw two rows u ≠ v, or return −1 and −1 for a null move. Rows of other parts of a partition make a null move, too."""


def split_rate(anchors, size):
    """Probability that a split is attempted if both anchors are in one cluster of this size; 1 by default."""


def log_anchors_ratio(anchors, n, k, of_a, of_b):
    """Log g(u, v | split) − log g(u, v | together) when one of k clusters of n rows in all is split into these sizes.

    0 by default, which is right for anchors drawn without looking at the partition. :func:`split_rate` is not part of it.
    """


@fallback(split_rate, hot=True)
def _split_rate(anchors, size):
    return 1.0


@fallback(log_anchors_ratio, hot=True)
def _log_anchors_ratio(anchors, n, k, of_a, of_b):
    return 0.0


# ---- the laws there are ----------------------------------------------------------------------------------------------------

# Kinds of anchors. One type for all of them, so that one compiled kernel serves every anchored move.
UNIFORM = 0  # two uniform rows
SIMILAR = 1  # u each row in turn, v a mate of u in the hash tables; uniform if it has none
DISSIMILAR = 2  # u each row in turn, v from the buckets opposite to u's; uniform if they are empty
WITHIN = 3  # a fair coin: two rows of one cluster, chosen by u; or two uniform clusters and a row of each
OF_CLUSTERS = 4  # u a uniform row of a uniform cluster, v a mate of u in the hash tables; uniform if it has none


class Anchors(NamedTuple):
    """How anchors are drawn, and an upper bound on the expected number of rows that a split reallocates.

    A split of a cluster of m rows is attempted with probability min(1, ``split_rows`` / m). If splits are hopeless, this
    makes drawing anchors cost the same for all sizes.
    """

    kind: int
    split_rows: float
    tables: TableArrays


UNIFORM_ANCHORS = Anchors(UNIFORM, math.inf, NO_TABLES)


@helper
def another_member(rng, partition, slot, but):
    """A uniform member other than ``but`` of a cluster of at least two rows."""
    start, size = partition.starts[slot], partition.sizes[slot]
    member = partition.pool[start + integer(rng, size - 1)]
    return partition.pool[start + size - 1] if member == but else member


@helper
def log_pair_probability(k):
    """Log probability of one unordered pair out of k clusters."""
    return math.log(2.0 / (k * (k - 1.0)))


@helper
def uniform_pair(rng, partition):
    """Two different clusters, drawn uniformly."""
    k = n_clusters(partition)
    c = integer(rng, k)
    other = integer(rng, k - 1)
    if other >= c:
        other += 1
    return partition.active[c], partition.active[other]


@helper
def _within(rng, partition):
    k = n_clusters(partition)
    if bernoulli(rng, 0.5):
        u = uniform_row(rng, partition)
        slot = partition.labels[u]
        if partition.sizes[slot] == 1:
            return -1, -1
        return u, another_member(rng, partition, slot, u)
    if k == 1:
        return -1, -1
    first, second = uniform_pair(rng, partition)
    u = partition.pool[partition.starts[first] + integer(rng, partition.sizes[first])]
    return u, partition.pool[partition.starts[second] + integer(rng, partition.sizes[second])]


@implements(draw_anchors, Anchors, argument=1, inline=True)
def _draw_anchors(rng, anchors, partition):
    # The first of two hashed anchors is each row in turn: memory is then read in order.
    if anchors.kind == WITHIN:
        u, v = _within(rng, partition)
    else:
        if anchors.kind == OF_CLUSTERS:
            slot = partition.active[integer(rng, n_clusters(partition))]
            u = np.int64(partition.pool[partition.starts[slot] + integer(rng, partition.sizes[slot])])
        else:
            u = uniform_row(rng, partition) if anchors.kind == UNIFORM else take_turn(rng, partition)
        v = -1
        if anchors.kind != UNIFORM:
            v = bucket_mate(rng, anchors.tables, anchors.tables.buckets[u], anchors.kind == DISSIMILAR, u)
        if v < 0:
            place = integer(rng, n_rows(partition) - 1)
            v = np.int64(partition.rows[place])
            if v >= u:
                v = np.int64(partition.rows[place + 1])
    return u, v


@implements(split_rate, Anchors, inline=True)
def _thinned(anchors, size):
    return min(1.0, anchors.split_rows / size)


@implements(log_anchors_ratio, Anchors)
def _log_ratio_of_kind(anchors, n, k, of_a, of_b):
    if anchors.kind == OF_CLUSTERS:
        return math.log(k * (of_a + of_b)) - math.log((k + 1.0) * of_a)
    if anchors.kind != WITHIN:
        return 0.0
    return math.log(n * (of_a + of_b - 1.0)) - math.log((k + 1.0) * k * of_a * of_b)
