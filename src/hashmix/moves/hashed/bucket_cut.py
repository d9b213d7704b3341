"""Cuts of a cluster by a hash bucket."""

from __future__ import annotations

import math
from typing import NamedTuple

from hashmix.components.contract import UNION_WORK, clear, collect, derive, load
from hashmix.core.compiling import helper, implements
from hashmix.core.rng import categorical, integer
from hashmix.core.validation import check_integer
from hashmix.hashing import HashFamily
from hashmix.hashing.tables import TableArrays
from hashmix.moves.contract import Proposal
from hashmix.moves.driver import choose, cut, divide, merge, nothing, weigh_merge
from hashmix.moves.hashed.tables import HashedMove
from hashmix.moves.tally import WORK
from hashmix.partition.members import n_clusters, spare, uniform_row
from hashmix.partition.state import State

__all__ = ["BucketCut"]

#: Listing this many rows takes about as long as one predictive.
_ROWS_PER_PREDICTIVE = 8


class CutByBucket(NamedTuple):
    """Law of a cut: the tables, and how many steps from bucket to bucket a proposal may take."""

    tables: TableArrays
    hops: int


@helper
def _gather_bucket(law, scratch, u, t, hops):
    """List the rows of u's bucket in table t, then those of their buckets, and so on; return how many."""
    tables, rows, met = law.tables, scratch.rows, scratch.sides
    rows[0] = u
    m = 1
    for _ in range(hops):
        before = m
        for k in range(before):
            bucket = tables.buckets[rows[k], t]
            for place in range(tables.begins[bucket], tables.begins[bucket + 1]):
                met[tables.order[place]] = 0  # whatever an earlier proposal left there
        for k in range(before):
            met[rows[k]] = 1
        for k in range(before):
            bucket = tables.buckets[rows[k], t]
            for place in range(tables.begins[bucket], tables.begins[bucket + 1]):
                i = tables.order[place]
                if met[i] == 0:
                    met[i] = 1
                    rows[m] = i
                    m += 1
    return m


@helper
def _weigh_disjoint(arrays, m):
    """Weight 1 for every cluster without any of the m listed rows, 0 for the others; return how many have weight 1."""
    partition, weights = arrays.partition, arrays.scratch.weights
    k = n_clusters(partition)
    for c in range(k):
        weights[c] = 1.0
    for j in range(m):
        slot = partition.labels[arrays.scratch.rows[j]]
        if slot >= 0:  # else it is no row of this part
            weights[partition.rank[slot]] = 0.0
    total = 0
    for c in range(k):
        total += 1 if weights[c] > 0.0 else 0
    return total


@helper
def _keep_inside(arrays, whole, m):
    """Keep those of the m listed rows that are in a cluster; return how many they are."""
    rows, kept = arrays.scratch.rows, 0
    for j in range(m):
        if arrays.partition.labels[rows[j]] == whole:
            rows[kept] = rows[j]
            kept += 1
    return kept


@implements(choose, CutByBucket, argument=1, inline=True)
def _choose(rng, law, arrays, target, tally):
    """Draw a row u, a table and a number of hops, which give a set S around u.

    If part of u's cluster C lies outside S, propose the cut C∩S | C∖S. Otherwise propose to merge C with one of the clusters
    that S does not touch, each equally likely. After the cut, C∖S is one of these: that is the way back. What is outside S
    is known by subtraction, and its rows are not visited.
    """
    partition = arrays.partition
    u = uniform_row(rng, partition)
    t = integer(rng, law.tables.buckets.shape[1])
    whole = partition.labels[u]
    m = _gather_bucket(law, arrays.scratch, u, t, 1 + integer(rng, law.hops) if law.hops > 1 else 1)
    eligible = _weigh_disjoint(arrays, m)
    tally[WORK] += 1 + m // _ROWS_PER_PREDICTIVE
    m = _keep_inside(arrays, whole, m)
    if m < partition.sizes[whole]:
        return cut(whole, m, eligible)
    if eligible == 0:
        return nothing()
    other = partition.active[categorical(rng, arrays.scratch.weights, n_clusters(partition), float(eligible))]
    return merge(whole, other, -1, -1, eligible)


@implements(divide, CutByBucket, argument=1, inline=True)
def _divide(rng, law, arrays, target, change, tally):
    slots, model, part = arrays.slots, target.model, spare(arrays.partition, 0)
    clear(model, slots, part)
    for j in range(change.n_rows):
        collect(model, slots, part, load(model, slots, target.data, arrays.scratch.rows[j]))
    derive(model, slots, part)
    tally[WORK] += UNION_WORK + change.n_rows
    eligible = change.note
    return -math.log(eligible + 1.0)


@implements(weigh_merge, CutByBucket, argument=1, inline=True)
def _weigh_merge(rng, law, arrays, target, change, tally):
    eligible = change.note
    return math.log(eligible)


class BucketCut(HashedMove, Proposal):
    """Cut a cluster by the hash bucket of one of its rows; or merge it with a cluster that the bucket does not touch.

    A cut costs the rows in the bucket, whatever the size of the cluster. Given the bucket it is certain, so its probability
    is 1. Hash tables never separate identical rows: this move is not enough alone.

    Parameters
    ----------
    n_bits, n_tables : int, default=1 and 10
        Size and number of the hash tables.
    refresh : int or None, default=10
        Sweeps between fresh hash functions; None keeps the first ones.
    family : str or HashFamily, default="minhash"
        What rows in one bucket have in common; see :class:`hashmix.moves.hashed.tables.HashedMove`.
    hops : int, default=1
        Buckets of neighbours overlap: a bucket and the buckets of its rows make a wider neighbourhood, and so on. Each
        proposal draws how many such steps to take, from 1 to this many.

    Examples
    --------
    >>> import hashmix as hm
    >>> hm.moves.BucketCut(n_bits=2)
    BucketCut(n_bits=2, n_tables=10, refresh=10, family='minhash', hops=1)
    """

    works_in_parts = True

    def __init__(
        self,
        n_bits: int = 1,
        n_tables: int = 10,
        refresh: int | None = 10,
        family: str | HashFamily = "minhash",
        hops: int = 1,
    ) -> None:
        super().__init__(n_bits, n_tables, refresh, family)
        self.hops: int = check_integer("BucketCut", "hops", hops, low=1)

    def units_per_call(self, state: State) -> int:
        return min(10_000, max(50, 10_000_000 // state.n_rows))

    def law(self, state: State) -> CutByBucket:
        return CutByBucket(self.table_arrays(state), self.hops)
