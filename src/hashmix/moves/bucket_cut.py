"""Cuts of a cluster by a hash bucket."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from hashmix.compiling import borrowed, helper, kernel
from hashmix.components.contract import clear
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
from hashmix.moves.hashed import HashedMove
from hashmix.moves.restricted import fill_sides, gather
from hashmix.moves.room import out_of_room
from hashmix.partition import n_clusters, spare
from hashmix.rng import categorical, integer
from hashmix.state import State

__all__ = ["BucketCut"]


@helper
def _weigh_disjoint(arrays, tables, bucket):
    """Weight 1 to every cluster without a point in the bucket, 0 to the others; how many have 1."""
    partition, weights = arrays.partition, arrays.scratch.weights
    k = n_clusters(partition)
    for c in range(k):
        weights[c] = 1.0
    for place in range(tables.begins[bucket], tables.begins[bucket + 1]):
        weights[partition.rank[partition.labels[tables.order[place]]]] = 0.0
    total = 0.0
    for c in range(k):
        total += weights[c]
    return total


@kernel
def run_bucket_cut(rng, tables, arrays, target, begin, end, counts):
    """Proposals number begin … end − 1; stops early when free slots run out.

    A point u and a table are drawn, which give a bucket S. Is some of u's cluster outside S, the cut C∩S | C∖S is
    proposed; else u's cluster is to be merged with one of the clusters that S does not touch, each equally likely. After
    the cut, C∖S is one of these: that is the way back.
    """
    rng, tables, arrays, target = borrowed(rng), borrowed(tables), borrowed(arrays), borrowed(target)
    partition, table, model = arrays.partition, arrays.table, target.model
    points, sides = arrays.scratch.points, arrays.scratch.sides
    for step in range(begin, end):
        if out_of_room(arrays, target):
            return step
        u = integer(rng, len(partition.labels))
        t = integer(rng, tables.buckets.shape[1])
        bucket = tables.buckets[u, t]
        whole = partition.labels[u]
        a, b, union = spare(partition, 1), spare(partition, 0), spare(partition, 2)
        m = gather(arrays, whole, whole, -1, -1)
        outside = 0
        for j in range(m):
            sides[j] = 0 if tables.buckets[points[j], t] == bucket else 1
            outside += sides[j]
        eligible = _weigh_disjoint(arrays, tables, bucket)
        if outside > 0:
            counts[PROPOSED] += 1
            counts[SPLITS_PROPOSED] += 1
            clear(model, table, a)
            clear(model, table, b)
            fill_sides(arrays, target, a, b, m)
            if accept(rng, split_gain(arrays, target, whole, a, b) - math.log(eligible + 1.0)):
                commit_split(arrays, target, whole, a, b, -1, m)
                counts[ACCEPTED] += 1
                counts[SPLITS_ACCEPTED] += 1
        elif eligible > 0.0:
            counts[PROPOSED] += 1
            other = partition.active[categorical(rng, arrays.scratch.weights, n_clusters(partition), eligible)]
            if accept(rng, merge_bound(arrays, target, whole, other, union) + math.log(eligible)):
                commit_merge(arrays, target, whole, other, union)
                counts[ACCEPTED] += 1
    return end


class BucketCut(HashedMove):
    """Cut a cluster by the hash bucket of one of its points; or merge it with a cluster that the bucket does not touch.

    Given the bucket the cut is certain, so its probability is 1. Identical rows are never parted: not enough alone.

    Parameters
    ----------
    n_bits, n_tables : int, default=1 and 10
        Of the hash tables.
    refresh : int or None, default=10
        Sweeps between fresh hash functions; None keeps the first ones.
    family : {"sign-projection", "minhash"}, default="minhash"
        What rows that share a bucket have in common: direction from the mean, or weighted Jaccard of their sign split.

    Examples
    --------
    >>> import hashmix as hm
    >>> hm.moves.BucketCut(n_bits=2)
    BucketCut(n_bits=2, n_tables=10, refresh=10, family='minhash')
    """

    def __init__(self, n_bits: int = 1, n_tables: int = 10, refresh: int | None = 10, family: str = "minhash") -> None:
        super().__init__(n_bits, n_tables, refresh, family)

    def run_units(self, rng: Any, state: State, begin: int, end: int, counts: np.ndarray) -> int:
        tables = self.tables(state).arrays
        return run_bucket_cut(rng, tables, state.arrays, state.target, begin, end, counts)
