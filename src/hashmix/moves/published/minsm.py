"""MinSM as printed: cuts by a one-bit weighted MinHash, merges of clusters whose centres share a hash."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from hashmix.components.contract import clear
from hashmix.core.compiling import helper, implements
from hashmix.core.rng import bernoulli, integer
from hashmix.hashing.features import count_features, nonzeros
from hashmix.hashing.minhash import ICWS, ICWSWork, icws_codes
from hashmix.hashing.tables import TableArrays
from hashmix.moves.allocation import fill_sides, gather
from hashmix.moves.anchors import log_pair_probability, uniform_pair
from hashmix.moves.contract import Proposal
from hashmix.moves.driver import (
    MERGE,
    choose,
    divide,
    log_or_never,
    merge,
    nothing,
    prepare,
    sides_of,
    split,
    updated,
    weigh_merge,
)
from hashmix.moves.hashed.envelope_cut import Envelopes, cut_probability_of_sides
from hashmix.moves.hashed.tables import HashedMove
from hashmix.partition.members import n_clusters
from hashmix.partition.state import State

__all__ = ["PublishedMinSM"]

_LOG_2 = math.log(2.0)


class PrintedMinSM(NamedTuple):
    """Law of the printed move: the table, the hash function, and the centre of every cluster slot.

    ``means`` (slot, 2D) are centres in feature space, ``codes`` (1, slot) their hashes, ``work`` buffers to hash one centre,
    ``envelopes`` the rows' features with buffers.
    """

    tables: TableArrays
    function: ICWS
    envelopes: Envelopes
    means: np.ndarray
    codes: np.ndarray
    work: ICWSWork


@helper
def _hash_centre(law, slot):
    found = 0
    for f in range(law.means.shape[1]):
        if law.means[slot, f] > 0.0:
            law.work.columns[found] = f
            law.work.values[found] = law.means[slot, f]
            found += 1
    icws_codes(law.function, 1, law.work, found, law.codes, slot)


@helper
def _add_row(law, i, slot, weight):
    """Add the features of row i, times a weight, to a centre."""
    e = law.envelopes
    for k in range(nonzeros(e.rows, i, e.features, e.columns, e.row)):
        law.means[slot, e.columns[k]] += e.row[k] * weight


@helper
def _find_centre(law, partition, slot):
    """Compute the mean of a cluster's rows, and its hash."""
    size = partition.sizes[slot]
    for f in range(law.means.shape[1]):
        law.means[slot, f] = 0.0
    for place in range(partition.starts[slot], partition.starts[slot] + size):
        _add_row(law, partition.pool[place], slot, 1.0 / size)
    _hash_centre(law, slot)


@helper
def _find_centres_of_sides(law, arrays, sides):
    """The same for the two sides of a proposed split, in their slots."""
    for f in range(law.means.shape[1]):
        law.means[sides.a, f] = law.means[sides.b, f] = 0.0
    for j in range(sides.m):
        slot = sides.b if arrays.scratch.sides[j] == 1 else sides.a
        _add_row(law, arrays.scratch.rows[j], slot, 1.0 / arrays.slots.sizes[slot])
    _hash_centre(law, sides.a)
    _hash_centre(law, sides.b)


@helper
def _similarity(law, first, second):
    """The weighted Jaccard similarity of two centres."""
    least = most = 0.0
    for f in range(law.means.shape[1]):
        least += min(law.means[first, f], law.means[second, f])
        most += max(law.means[first, f], law.means[second, f])
    return least / most if most > 0.0 else 1.0


@helper
def _n_alike(law, partition, slot, but):
    """How many clusters other than ``slot`` and ``but`` have a centre with its hash."""
    alike = 0
    for c in range(n_clusters(partition)):
        other = partition.active[c]
        if other != slot and other != but and law.codes[0, other] == law.codes[0, slot]:
            alike += 1
    return alike


@helper
def _one_alike(law, partition, slot, number):
    """The cluster of that number among those counted by :func:`_n_alike`."""
    for c in range(n_clusters(partition)):
        other = partition.active[c]
        if other != slot and law.codes[0, other] == law.codes[0, slot]:
            if number == 0:
                return other
            number -= 1
    return -1


@implements(prepare, PrintedMinSM)
def _prepare(law, arrays, target):
    for c in range(n_clusters(arrays.partition)):
        _find_centre(law, arrays.partition, arrays.partition.active[c])


@implements(choose, PrintedMinSM, argument=1, inline=True)
def _choose(rng, law, arrays, target, tally):
    """Draw the kernel, the half and the clusters, and divide their rows.

    The note holds which kernel it is, and how many centres share the hash of the first cluster's.
    """
    partition, tables = arrays.partition, law.tables
    labels, sides, rows = partition.labels, arrays.scratch.sides, arrays.scratch.rows
    n, k = len(labels), n_clusters(partition)
    by_buckets = bernoulli(rng, 0.5)  # smart split / dumb merge; else smart merge / dumb split
    splits = bernoulli(rng, 0.5)
    if not splits and k == 1:
        return nothing()
    u = integer(rng, n) if by_buckets and splits else -1
    alike = 0
    if splits:
        first = labels[u] if by_buckets else partition.active[integer(rng, k)]
        second = first
    elif by_buckets:
        first, second = uniform_pair(rng, partition)
        u = partition.pool[partition.starts[first] + integer(rng, partition.sizes[first])]
    else:
        first = partition.active[integer(rng, k)]
        alike = _n_alike(law, partition, first, -1)
        if alike == 0:
            return nothing()
        second = _one_alike(law, partition, first, integer(rng, alike))
    m = gather(arrays, first, second, -1, -1)
    on_b = 0
    for j in range(m):
        if not splits:
            sides[j] = 0 if labels[rows[j]] == first else 1
        elif by_buckets:
            sides[j] = 0 if tables.buckets[rows[j], 0] == tables.buckets[u, 0] else 1
        else:
            sides[j] = 1 if bernoulli(rng, 0.5) else 0
        on_b += sides[j]
    if on_b == 0 or on_b == m:
        return nothing()
    note = 2 * alike + (1 if by_buckets else 0)
    return split(first, u, -1, note) if splits else merge(first, second, u, -1, note)


@helper
def _log_printed_cut(law, arrays, u, m):
    """Log of |S_u|/n · Prob, with side 0 inside."""
    tables = law.tables
    bucket = tables.buckets[u, 0]
    inside, _ = cut_probability_of_sides(law.envelopes, arrays, m)
    return log_or_never(inside * (tables.begins[bucket + 1] - tables.begins[bucket]) / len(tables.buckets))


@implements(divide, PrintedMinSM, argument=1, inline=True)
def _divide(rng, law, arrays, target, change, tally):
    partition = arrays.partition
    k, m = n_clusters(partition), partition.sizes[change.first]
    sides = sides_of(arrays, change, m)
    clear(target.model, arrays.slots, sides.a)
    clear(target.model, arrays.slots, sides.b)
    fill_sides(arrays, target, sides)
    if change.note % 2 == 1:
        log_smart = _log_printed_cut(law, arrays, change.u, m)
        # A Prob of zero is printed as impossible.
        return log_pair_probability(k + 1) - log_smart if log_smart > -math.inf else -math.inf
    _find_centres_of_sides(law, arrays, sides)
    alike = _n_alike(law, partition, sides.a, change.first)
    alike += 1 if law.codes[0, sides.a] == law.codes[0, sides.b] else 0
    log_smart = log_or_never(_similarity(law, sides.a, sides.b)) - math.log(max(alike, 1) * (k + 1))
    return log_smart + math.log(k) + m * _LOG_2


@implements(weigh_merge, PrintedMinSM, argument=1, inline=True)
def _weigh_merge(rng, law, arrays, target, change, tally):
    partition = arrays.partition
    k, m = n_clusters(partition), partition.sizes[change.first] + partition.sizes[change.second]
    if change.note % 2 == 1:
        return _log_printed_cut(law, arrays, change.u, m) - log_pair_probability(k)
    alike = change.note // 2
    log_smart = log_or_never(_similarity(law, change.first, change.second)) - math.log(alike * k)
    # A similarity of zero is printed as impossible.
    return -math.log(k - 1.0) - m * _LOG_2 - log_smart if log_smart > -math.inf else -math.inf


@implements(updated, PrintedMinSM)
def _updated(law, arrays, target, change):
    partition = arrays.partition
    if change.kind == MERGE:
        _find_centre(law, partition, partition.labels[arrays.scratch.rows[0]])
    else:
        _find_centre(law, partition, change.first)
        _find_centre(law, partition, partition.active[n_clusters(partition) - 1])


class PublishedMinSM(HashedMove, Proposal):
    """MinSM **as printed in the paper: not exact, for comparison only**. The exact move is :class:`hashmix.moves.MinSM`.

    A fair coin chooses a kernel, another one which half of it. *Smart split / dumb merge*: u is uniform and its cluster is
    cut by its bucket, with printed probability ``|S_u|/n · Prob``; or two uniform clusters are merged, 2/(M(M−1)). *Smart
    merge / dumb split*: a uniform cluster is merged with one whose centre shares the hash of its own, ``(1/M) J(u,
    v)/|S_u|``; or a uniform cluster is split by fair coins, (1/M)(1/2)^N. The ratio is ``L(x′) q(x|x′) / (L(x) q(x′|x))``;
    L is the marginal likelihood, times the prior of the run (:class:`hashmix.priors.Flat` unless another is given).

    Where the paper leaves a choice, this is our reading. The table is built once, on the sign split of the standardised
    columns. ``|S_u|`` counts the whole bucket, including u and rows of other clusters. In the ratio of a dumb merge, the
    first cluster drawn is the bucket's side, and S_u the bucket of a uniform row of it. A centre is the mean of its
    cluster's features; centres are hashed by the table's own function, again whenever a cluster changes; S_u, for centres,
    does not count u itself. In the ratio of a dumb split the side of heads is u, and ``|S_u|`` is at least 1; two centres
    of zeros have J = 1. A Prob or J of zero rejects. A cut or a split with an empty side, and a centre that shares its hash
    with no other, are null moves.

    Examples
    --------
    >>> import hashmix as hm
    >>> hm.moves.PublishedMinSM()
    PublishedMinSM()
    """

    exact = False

    def __init__(self) -> None:
        super().__init__(1, 1, None, "minhash")

    def units_per_call(self, state: State) -> int:
        return 200  # the centres are computed at the start of every call

    def law(self, state: State) -> PrintedMinSM:
        tables = self.tables(state)
        family = tables.family
        n_features = count_features(family.columns_)
        means, codes = np.empty((state.capacity, n_features)), np.empty((1, state.capacity), np.uint64)
        envelopes = Envelopes.of(state, family.columns_)
        work = ICWSWork.empty(n_features, 1)
        return PrintedMinSM(tables.arrays, family.functions_, envelopes, means, codes, work)
