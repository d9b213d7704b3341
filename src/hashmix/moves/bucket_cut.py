"""Cuts of a cluster by a hash bucket."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from hashmix.compiling import borrowed, helper, kernel
from hashmix.components.contract import clear, collect, derive, load, log_difference, log_marginal, separate
from hashmix.moves.acceptance import accept
from hashmix.moves.anchored import (
    ACCEPTED,
    MERGE_WORK,
    PROPOSED,
    SPLITS_ACCEPTED,
    SPLITS_PROPOSED,
    WORK,
    commit_merge,
    merge_bound,
)
from hashmix.moves.hashed import HashedMove
from hashmix.moves.room import out_of_room
from hashmix.partition import move_point, n_clusters, open_cluster, spare
from hashmix.priors.contract import log_split_ratio
from hashmix.rng import categorical, integer
from hashmix.state import State
from hashmix.validation import check_integer

__all__ = ["BucketCut"]

#: To gather so many points takes about as long as one predictive.
_POINTS_MET = 8


@helper
def _gather_bucket(scratch, tables, u, t, hops):
    """Put the points of u's bucket in table t into ``scratch.points``, then those of their buckets, and so on; how many."""
    points, met = scratch.points, scratch.sides
    points[0] = u
    m = 1
    for _ in range(hops):
        before = m
        for k in range(before):
            bucket = tables.buckets[points[k], t]
            for place in range(tables.begins[bucket], tables.begins[bucket + 1]):
                met[tables.order[place]] = 0  # whatever a proposal before this one left there
        for k in range(before):
            met[points[k]] = 1
        for k in range(before):
            bucket = tables.buckets[points[k], t]
            for place in range(tables.begins[bucket], tables.begins[bucket + 1]):
                i = tables.order[place]
                if met[i] == 0:
                    met[i] = 1
                    points[m] = i
                    m += 1
    return m


@helper
def _weigh_disjoint(arrays, m):
    """Weight 1 to every cluster without one of the m points gathered, 0 to the others; how many have 1."""
    partition, weights = arrays.partition, arrays.scratch.weights
    k = n_clusters(partition)
    for c in range(k):
        weights[c] = 1.0
    for j in range(m):
        weights[partition.rank[partition.labels[arrays.scratch.points[j]]]] = 0.0
    total = 0.0
    for c in range(k):
        total += weights[c]
    return total


@helper
def _keep_inside(arrays, whole, m):
    """Keep those of the m points gathered that are in a cluster; how many they are."""
    points, kept = arrays.scratch.points, 0
    for j in range(m):
        if arrays.partition.labels[points[j]] == whole:
            points[kept] = points[j]
            kept += 1
    return kept


@helper
def _cut_gain(arrays, target, whole, part, room, m):
    """Log π(ρ′) − log π(ρ) when the points gathered, of which slot ``part`` is to hold the statistics, leave their cluster."""
    table, model = arrays.table, target.model
    clear(model, table, part)
    for j in range(m):
        collect(model, table, part, load(model, table, target.data, arrays.scratch.points[j]))
    derive(model, table, part)
    rest = table.sizes[whole] - table.sizes[part]
    likelihood = log_marginal(model, table, part) + log_difference(model, table, whole, part, room)
    likelihood -= log_marginal(model, table, whole)
    return likelihood + log_split_ratio(target.prior, n_clusters(arrays.partition), table.sizes[part], rest)


@helper
def _commit_cut(arrays, target, whole, part, room, m):
    """Carry out a cut: slot ``part``, the next free one, gets the points gathered."""
    separate(target.model, arrays.table, whole, part, room)
    open_cluster(arrays.partition)
    for j in range(m):
        move_point(arrays.partition, arrays.scratch.points[j], part)


@kernel
def run_bucket_cut(rng, tables, hops, arrays, target, begin, end, counts):
    """Proposals number begin … end − 1; stops early when free slots run out.

    A point u, a table and a number of hops are drawn, which give a set S around u. Is some of u's cluster outside S, the
    cut C∩S | C∖S is proposed; else u's cluster is to be merged with one of the clusters that S does not touch, each equally
    likely. After the cut, C∖S is one of these: that is the way back. What is outside S is known by subtraction, and never
    gone through.
    """
    rng, tables, arrays, target = borrowed(rng), borrowed(tables), borrowed(arrays), borrowed(target)
    partition = arrays.partition
    for step in range(begin, end):
        if out_of_room(arrays, target):
            return step
        u = integer(rng, len(partition.labels))
        t = integer(rng, tables.buckets.shape[1])
        whole = partition.labels[u]
        part, room = spare(partition, 0), spare(partition, 1)
        m = _gather_bucket(arrays.scratch, tables, u, t, 1 + integer(rng, hops) if hops > 1 else 1)
        eligible = _weigh_disjoint(arrays, m)
        counts[WORK] += MERGE_WORK + m // _POINTS_MET
        m = _keep_inside(arrays, whole, m)
        if m < partition.sizes[whole]:
            counts[WORK] += m
            counts[PROPOSED] += 1
            counts[SPLITS_PROPOSED] += 1
            if accept(rng, _cut_gain(arrays, target, whole, part, room, m) - math.log(eligible + 1.0)):
                _commit_cut(arrays, target, whole, part, room, m)
                counts[ACCEPTED] += 1
                counts[SPLITS_ACCEPTED] += 1
        elif eligible > 0.0:
            counts[PROPOSED] += 1
            other = partition.active[categorical(rng, arrays.scratch.weights, n_clusters(partition), eligible)]
            if accept(rng, merge_bound(arrays, target, whole, other, room) + math.log(eligible)):
                commit_merge(arrays, target, whole, other, room)
                counts[ACCEPTED] += 1
    return end


class BucketCut(HashedMove):
    """Cut a cluster by the hash bucket of one of its points; or merge it with a cluster that the bucket does not touch.

    A cut costs what the bucket holds, whatever the size of the cluster. Given the bucket it is certain, so its probability
    is 1. Identical rows are never parted by hash tables: not enough alone.

    Parameters
    ----------
    n_bits, n_tables : int, default=1 and 10
        Of the hash tables.
    refresh : int or None, default=10
        Sweeps between fresh hash functions; None keeps the first ones.
    family : {"sign-projection", "minhash", "neighbours"}, default="minhash"
        What rows that share a bucket have in common: direction from the mean, weighted Jaccard of their sign split, or
        being neighbours (:class:`hashmix.hashing.Neighbours`).
    hops : int, default=1
        Neighbours' buckets overlap: a bucket with those of its points is a wider neighbourhood, and so on. Each proposal
        draws how often that is done, from one bucket alone to this many steps from the point.

    Examples
    --------
    >>> import hashmix as hm
    >>> hm.moves.BucketCut(n_bits=2)
    BucketCut(n_bits=2, n_tables=10, refresh=10, family='minhash', hops=1)
    """

    def __init__(
        self,
        n_bits: int = 1,
        n_tables: int = 10,
        refresh: int | None = 10,
        family: str = "minhash",
        hops: int = 1,
    ) -> None:
        super().__init__(n_bits, n_tables, refresh, family)
        self.hops = check_integer("BucketCut", "hops", hops, low=1)

    def units_per_call(self, state: State) -> int:
        return min(10_000, max(50, 10_000_000 // len(state.partition.labels)))

    def run_units(self, rng: Any, state: State, begin: int, end: int, counts: np.ndarray) -> int:
        tables = self.tables(state).arrays
        return run_bucket_cut(rng, tables, self.hops, state.arrays, state.target, begin, end, counts)
