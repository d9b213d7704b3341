"""Gibbs updates over the clusters found in a row's hash bucket."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from hashmix.components.contract import load
from hashmix.core.compiling import helper, implements
from hashmix.core.rng import bernoulli, categorical, integer
from hashmix.core.validation import check_integer
from hashmix.hashing import HashFamily
from hashmix.hashing.tables import TableArrays, row_of_window, window_of_mates
from hashmix.moves.conditional import contains, keep_spare_empty, log_weight, normalise, reassign
from hashmix.moves.contract import Update
from hashmix.moves.driver import accept, prepare, update
from hashmix.moves.hashed.tables import HashedMove
from hashmix.moves.tally import ACCEPTED, PROPOSED, WORK
from hashmix.partition.members import n_clusters, n_rows, spare
from hashmix.partition.state import State

__all__ = ["HashedGibbs"]

#: How often a row whose cluster is among those of its mates is offered a new one, or any other, instead. This is what
#: allows a row that is alone, or in a cluster that none of its mates are in, to join them: its ratio has a factor of
#: OPENING, or about STRAY / K.
OPENING, STRAY = 0.1, 0.1


class MatesConditional(NamedTuple):
    """Law of a hashed Gibbs scan: the tables, and how many mates of a row are looked at."""

    tables: TableArrays
    n_mates: int


@helper
def _clusters_of_mates(rng, law, labels, i, found):
    """List the clusters of some of row i's mates in a random table, without repeats; return how many.

    The mates are ``n_mates`` rows of the bucket, starting at a random place: a choice that no label enters. Row i is not
    its own mate.
    """
    begin, size, start, length = window_of_mates(rng, law.tables, i, law.n_mates)
    k, seen = 0, 0
    for place in range(start, start + length):
        mate = row_of_window(law.tables, begin, size, place)
        if mate == i or seen == law.n_mates:
            continue
        seen += 1
        slot = labels[mate]
        if slot >= 0 and not contains(found, k, slot):  # else the mate is no row of this part
            found[k] = slot
            k += 1
    return k


@implements(prepare, MatesConditional)
def _prepare(law, arrays, target):
    keep_spare_empty(arrays, target)


@implements(update, MatesConditional, argument=1, inline=True)
def _update(rng, law, arrays, target, step, tally):
    """Update row ``step``. Let T be the clusters of its mates; T does not depend on where the row itself is.

    From within T, the row draws from its full conditional restricted to T. Sometimes it is offered a place e outside T
    instead: with probability r_e a new cluster, or one of the others. A row at e outside T is offered the draw from T. With
    p the full conditional and Z its sum over T, both are accepted by Metropolis–Hastings:
    p_d · r_e · α(d → e) = p_e · p_d/Z · α(e → d), where r_e is OPENING for a new cluster and the same small number for all
    others.
    """
    partition = arrays.partition
    found, weights = arrays.scratch.candidates, arrays.scratch.weights
    i = np.int64(partition.rows[step % n_rows(partition)])
    k = _clusters_of_mates(rng, law, partition.labels, i, found)
    if k == 0:
        return
    here = partition.labels[i]
    alone = partition.sizes[here] == 1
    others = n_clusters(partition) - (1 if alone else 0)
    new = here if alone else spare(partition, 0)  # the slot of a new cluster
    outside = alone or not contains(found, k, here)
    elsewhere = -1  # the place outside T that is at stake, if any
    rate = (1.0 - OPENING) * STRAY / others
    if outside:
        elsewhere = here
        if alone:
            rate = OPENING
    elif bernoulli(rng, OPENING):
        elsewhere = new
        rate = OPENING
    elif bernoulli(rng, STRAY):
        elsewhere = partition.active[integer(rng, others)]
        if contains(found, k, elsewhere):
            elsewhere = -1
    if elsewhere < 0 and k == 1:
        return  # nothing to choose from
    row = load(target.model, arrays.slots, target.data, i)
    for c in range(k):
        weights[c] = log_weight(arrays, target, found[c], here, new, others, row)
    total, top = normalise(weights, k)
    tally[PROPOSED] += 1
    tally[WORK] += k
    slot = elsewhere
    if elsewhere >= 0:
        tally[WORK] += 1
        log_odds = log_weight(arrays, target, elsewhere, here, new, others, row) - math.log(rate * total) - top
        if not accept(rng, -log_odds if outside else log_odds):
            return
    if outside or elsewhere < 0:
        slot = found[categorical(rng, weights, k, total)]
    if slot != here and reassign(arrays, target, i, slot, row):
        tally[ACCEPTED] += 1


class HashedGibbs(HashedMove, Update):
    """Gibbs updates that cost a row its bucket, not all K clusters.

    Every row is offered the clusters of its mates in one of the hash tables, by its full conditional restricted to them. A
    row whose own cluster is not among them may join them, and sometimes a row is offered a new cluster or any other. Both
    are accepted by Metropolis–Hastings: each is the other's way back.

    Parameters
    ----------
    n_bits, n_tables : int, default=10
        Size and number of the hash tables.
    n_mates : int, default=16
        Number of mates looked at, starting at a random place in the bucket.
    refresh : int or None, default=10
        Sweeps between fresh hash functions; None keeps the first ones.
    family : str or HashFamily, default="sign-projection"
        What rows in one bucket have in common; see :class:`hashmix.moves.hashed.tables.HashedMove`.

    Examples
    --------
    >>> import hashmix as hm
    >>> hm.moves.HashedGibbs(n_bits=8)
    HashedGibbs(n_bits=8, n_tables=10, n_mates=16, refresh=10, family='sign-projection')
    """

    works_in_parts = True

    def __init__(
        self,
        n_bits: int = 10,
        n_tables: int = 10,
        n_mates: int = 16,
        refresh: int | None = 10,
        family: str | HashFamily = "sign-projection",
    ) -> None:
        super().__init__(n_bits, n_tables, refresh, family)
        self.n_mates: int = check_integer("HashedGibbs", "n_mates", n_mates, low=1)

    def units(self, state: State) -> int:
        return state.n_rows

    def units_per_call(self, state: State) -> int:
        return 100_000

    def law(self, state: State) -> MatesConditional:
        return MatesConditional(self.table_arrays(state), self.n_mates)
