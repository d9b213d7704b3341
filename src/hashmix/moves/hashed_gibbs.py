"""Gibbs updates over the clusters found in a point's hash bucket."""

from __future__ import annotations

from typing import Any

import numpy as np

from hashmix.compiling import borrowed, helper, kernel
from hashmix.components.contract import clear, load, log_predictive, log_predictive_without
from hashmix.moves.anchored import ACCEPTED, PROPOSED
from hashmix.moves.gibbs import normalise, relocate
from hashmix.moves.hashed import HashedMove
from hashmix.partition import n_clusters, n_spare, spare
from hashmix.priors.contract import log_join_weight, log_new_weight
from hashmix.rng import categorical, integer
from hashmix.state import State
from hashmix.validation import check_integer

__all__ = ["HashedGibbs"]


@helper
def _clusters_of_mates(rng, tables, labels, i, found):
    """The clusters of some of i's mates in a random table, without repeats, into ``found``; how many.

    The mates are as many as ``found`` holds, from a random place in the bucket on: a choice that no label enters. Point i
    is not its own mate.
    """
    bucket = tables.buckets[i, integer(rng, tables.buckets.shape[1])]
    begin, size = tables.begins[bucket], tables.begins[bucket + 1] - tables.begins[bucket]
    if size == 1:
        return 0
    looked_at = min(size, len(found) + 1)
    start = integer(rng, size) if looked_at < size else 0
    k = 0
    seen = 0
    for w in range(looked_at):
        place = start + w
        mate = tables.order[begin + (place if place < size else place - size)]
        if mate == i or seen == len(found):
            continue
        seen += 1
        slot = labels[mate]
        known = False
        for c in range(k):
            known = known or found[c] == slot
        if not known:
            found[k] = slot
            k += 1
    return k


@kernel
def run_hashed_gibbs(rng, tables, found, arrays, target, begin, end, counts):
    """Offers to points begin … end − 1 (modulo n); stops early when free slots run out.

    The choice is among the clusters of the point's mates and a new one. It is the same choice whichever of these the point
    is in, so drawing from the full conditional restricted to them is exact; a point that is in none of them stays.
    """
    rng, arrays, target = borrowed(rng), borrowed(arrays), borrowed(target)
    tables, found = borrowed(tables), borrowed(found)
    partition, table, model, prior = arrays.partition, arrays.table, target.model, target.prior
    weights = arrays.scratch.weights
    n = len(partition.labels)
    clear(model, table, spare(partition, 0))
    for step in range(begin, end):
        if n_spare(partition) < 3:
            return step
        i = step % n
        here = partition.labels[i]
        alone = partition.sizes[here] == 1
        k = _clusters_of_mates(rng, tables, partition.labels, i, found)
        among = alone
        for c in range(k):
            among = among or found[c] == here
        if k == 0 or not among:
            continue
        row = load(model, table, target.data, i)
        for c in range(k):
            slot = found[c]
            if slot != here:
                weights[c] = log_predictive(model, table, slot, row) + log_join_weight(prior, table.sizes[slot])
            else:
                weights[c] = log_predictive_without(model, table, slot, row) + log_join_weight(prior, table.sizes[slot] - 1)
        others = n_clusters(partition) - (1 if alone else 0)
        weights[k] = log_predictive(model, table, spare(partition, 0), row) + log_new_weight(prior, others)
        total = normalise(weights, k + 1)
        c = categorical(rng, weights, k + 1, total)
        slot = spare(partition, 0)
        if c < k:
            slot = found[c]
        elif alone:
            slot = here
        counts[PROPOSED] += 1
        if slot != here:
            relocate(arrays, target, i, slot, row)
            counts[ACCEPTED] += 1
    return end


class HashedGibbs(HashedMove):
    """Gibbs updates that cost a point its bucket, not all K clusters.

    Every point is offered the clusters of its mates in one of the hash tables, or a new one, by its full conditional
    restricted to these. Exact, but not enough alone: two clusters whose points never share a bucket exchange none, so mix
    it with full :class:`Gibbs` updates or split–merge moves.

    Parameters
    ----------
    n_bits, n_tables : int, default=10
        Of the hash tables.
    n_mates : int, default=16
        Mates looked at, from a random place in the bucket on.
    refresh : int or None, default=10
        Sweeps between fresh hash functions; None keeps the first ones.
    family : {"sign-projection", "minhash"}, default="sign-projection"
        What rows that share a bucket have in common: direction from the mean, or weighted Jaccard of their sign split.

    Examples
    --------
    >>> import hashmix as hm
    >>> hm.moves.HashedGibbs(n_bits=8)
    HashedGibbs(n_bits=8, n_tables=10, refresh=10, family='sign-projection', n_mates=16)
    """

    def __init__(
        self,
        n_bits: int = 10,
        n_tables: int = 10,
        n_mates: int = 16,
        refresh: int | None = 10,
        family: str = "sign-projection",
    ) -> None:
        super().__init__(n_bits, n_tables, refresh, family)
        self.n_mates = check_integer("HashedGibbs", "n_mates", n_mates, low=1)

    def units(self, state: State) -> int:
        return len(state.partition.labels)

    def units_per_call(self, state: State) -> int:
        return 100_000

    def run_units(self, rng: Any, state: State, begin: int, end: int, counts: np.ndarray) -> int:
        tables, found = self.tables(state).arrays, np.empty(self.n_mates, np.int32)
        return run_hashed_gibbs(rng, tables, found, state.arrays, state.target, begin, end, counts)
