"""MinSM as printed: cuts by a one-bit weighted MinHash, merges of clusters whose centres share a hash."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from hashmix.compiling import borrowed, helper, inlined, kernel
from hashmix.components.contract import clear
from hashmix.hashing.minhash import ICWSWork, icws_codes
from hashmix.hashing.rows import count_features, nonzeros
from hashmix.moves.acceptance import accept, log_or_never
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
from hashmix.moves.anchors import log_pair_probability, uniform_pair
from hashmix.moves.envelope_cut import Envelopes, cut_probability_of_sides
from hashmix.moves.hashed import HashedMove
from hashmix.moves.restricted import fill_sides, gather
from hashmix.moves.room import out_of_room
from hashmix.partition import n_clusters, spare
from hashmix.rng import bernoulli, integer
from hashmix.state import State

__all__ = ["PublishedMinSM"]

_LOG_2 = math.log(2.0)


class Centres(NamedTuple):
    """The centre of every cluster slot in feature space, (slot, 2D), and its hash, (1, slot); room to hash one."""

    means: np.ndarray
    codes: np.ndarray
    work: ICWSWork


@helper
def _hash_centre(centres, samplers, slot):
    found = 0
    for f in range(centres.means.shape[1]):
        if centres.means[slot, f] > 0.0:
            centres.work.columns[found] = f
            centres.work.values[found] = centres.means[slot, f]
            found += 1
    icws_codes(samplers, 1, centres.work, found, centres.codes, slot)


@helper
def _find_centre(rows, features, envelopes, centres, samplers, partition, slot):
    """The mean of a cluster's rows, and its hash."""
    means = centres.means[slot]
    size = partition.sizes[slot]
    for f in range(len(means)):
        means[f] = 0.0
    for place in range(partition.starts[slot], partition.starts[slot] + size):
        for e in range(nonzeros(rows, partition.pool[place], features, envelopes.columns, envelopes.row)):
            means[envelopes.columns[e]] += envelopes.row[e] / size
    _hash_centre(centres, samplers, slot)


@helper
def _find_centres_of_sides(rows, features, envelopes, centres, samplers, arrays, a, b, m):
    """The same for the two sides of a proposed split, in their slots."""
    for f in range(centres.means.shape[1]):
        centres.means[a, f] = centres.means[b, f] = 0.0
    for j in range(m):
        slot = b if arrays.scratch.sides[j] == 1 else a
        for e in range(nonzeros(rows, arrays.scratch.points[j], features, envelopes.columns, envelopes.row)):
            centres.means[slot, envelopes.columns[e]] += envelopes.row[e] / arrays.table.sizes[slot]
    _hash_centre(centres, samplers, a)
    _hash_centre(centres, samplers, b)


@helper
def _similarity(centres, first, second):
    """The weighted Jaccard similarity of two centres."""
    least = most = 0.0
    for f in range(centres.means.shape[1]):
        least += min(centres.means[first, f], centres.means[second, f])
        most += max(centres.means[first, f], centres.means[second, f])
    return least / most if most > 0.0 else 1.0


@helper
def _n_alike(partition, centres, slot, but):
    """How many clusters other than ``slot`` and ``but`` have a centre with its hash."""
    alike = 0
    for c in range(n_clusters(partition)):
        other = partition.active[c]
        if other != slot and other != but and centres.codes[0, other] == centres.codes[0, slot]:
            alike += 1
    return alike


@helper
def _one_alike(partition, centres, slot, number):
    """The cluster of that number among those counted by :func:`_n_alike`."""
    for c in range(n_clusters(partition)):
        other = partition.active[c]
        if other != slot and centres.codes[0, other] == centres.codes[0, slot]:
            if number == 0:
                return other
            number -= 1
    return -1


@inlined
def _fill_proposal(arrays, target, a, b, m):
    clear(target.model, arrays.table, a)
    clear(target.model, arrays.table, b)
    fill_sides(arrays, target, a, b, m)


@kernel
def run_published_minsm(rng, rows, features, tables, samplers, envelopes, centres, arrays, target, begin, end, counts):
    """Proposals number begin … end − 1 with the printed ratios; stops early when free slots run out."""
    rng, arrays, target = borrowed(rng), borrowed(arrays), borrowed(target)
    rows, features, tables, samplers = borrowed(rows), borrowed(features), borrowed(tables), borrowed(samplers)
    envelopes, centres = borrowed(envelopes), borrowed(centres)
    partition = arrays.partition
    labels, sides, points = partition.labels, arrays.scratch.sides, arrays.scratch.points
    n = len(labels)
    for c in range(n_clusters(partition) if end > begin else 0):
        _find_centre(rows, features, envelopes, centres, samplers, partition, partition.active[c])
    for step in range(begin, end):
        if out_of_room(arrays, target):
            return step
        k = n_clusters(partition)
        a, b, union = spare(partition, 1), spare(partition, 0), spare(partition, 2)
        by_buckets = bernoulli(rng, 0.5)  # smart split / dumb merge; else smart merge / dumb split
        splits = bernoulli(rng, 0.5)
        if not splits and k == 1:
            continue
        # Which clusters.
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
            alike = _n_alike(partition, centres, first, -1)
            if alike == 0:
                continue
            second = _one_alike(partition, centres, first, integer(rng, alike))
        # Which sides.
        m = gather(arrays, first, second, -1, -1)
        on_b = 0
        for j in range(m):
            if not splits:
                sides[j] = 0 if labels[points[j]] == first else 1
            elif by_buckets:
                sides[j] = 0 if tables.buckets[points[j], 0] == tables.buckets[u, 0] else 1
            else:
                sides[j] = 1 if bernoulli(rng, 0.5) else 0
            on_b += sides[j]
        if on_b == 0 or on_b == m:
            continue
        counts[PROPOSED] += 1
        # The printed probabilities of the smart half and of the dumb half, and the ratio.
        if splits:
            counts[SPLITS_PROPOSED] += 1
            _fill_proposal(arrays, target, a, b, m)
            gain = split_gain(arrays, target, first, a, b)
        else:
            gain = merge_bound(arrays, target, first, second, union)
        after = k + 1 if splits else k - 1
        if by_buckets:
            bucket = tables.buckets[u, 0]
            inside, _ = cut_probability_of_sides(rows, features, envelopes, arrays, m)
            log_smart = log_or_never(inside * (tables.begins[bucket + 1] - tables.begins[bucket]) / n)
            log_dumb = log_pair_probability(max(k, after))
        else:
            if splits:
                _find_centres_of_sides(rows, features, envelopes, centres, samplers, arrays, a, b, m)
                alike = _n_alike(partition, centres, a, first) + (1 if centres.codes[0, a] == centres.codes[0, b] else 0)
                log_smart = log_or_never(_similarity(centres, a, b)) - math.log(max(alike, 1) * after)
            else:
                log_smart = log_or_never(_similarity(centres, first, second)) - math.log(alike * k)
            log_dumb = -math.log(min(k, after)) - m * _LOG_2
        if log_smart == -np.inf:
            continue  # printed as impossible
        if not accept(rng, gain + (log_dumb - log_smart if by_buckets == splits else log_smart - log_dumb)):
            continue
        counts[ACCEPTED] += 1
        if splits:
            commit_split(arrays, target, first, a, b, -1, m)
            counts[SPLITS_ACCEPTED] += 1
            _find_centre(rows, features, envelopes, centres, samplers, partition, b)
        else:
            commit_merge(arrays, target, first, second, union)
        kept = labels[points[0]] if not splits else first
        _find_centre(rows, features, envelopes, centres, samplers, partition, kept)
    return end


class PublishedMinSM(HashedMove):
    """MinSM **as printed in the paper: not exact, for comparison only**. The exact move is :class:`hashmix.moves.MinSM`.

    A fair coin chooses a kernel, another which half of it. *Smart split / dumb merge*: u uniform, its cluster is cut by its
    bucket, with printed probability |S_u|/n · Prob; or two uniform clusters are merged, 2/(M(M−1)). *Smart merge / dumb
    split*: a uniform cluster is merged with one whose centre shares the hash of its own, (1/M) J(u, v)/|S_u|; or a uniform
    cluster is split by fair coins, (1/M)(1/2)^N. The ratio is L(x′) q(x|x′) / (L(x) q(x′|x)); L is the marginal
    likelihood, times the prior of the run (:class:`hashmix.priors.Flat` unless another is given).

    Where the paper leaves a choice, this is the reading kept here: the table is built once, on the sign split of the
    standardised columns. |S_u| counts the whole bucket, u and points of other clusters included. In the ratio of a dumb merge,
    the first cluster drawn is the bucket's side, and S_u the bucket of a uniform point of it. A centre is the mean of its
    cluster's features; centres are hashed by the table's own function, anew whenever a cluster changes; S_u, for centres, does
    not count u itself. In the ratio of a dumb split the side of heads is u, and |S_u| is at least 1; two centres of zeros
    have J = 1. A Prob or J of zero
    rejects; a cut or a split with an empty side, and a centre that shares its hash with no other, are null moves.

    Examples
    --------
    >>> import hashmix as hm
    >>> hm.moves.PublishedMinSM()
    PublishedMinSM(n_bits=1, n_tables=1, refresh=None, family='minhash')
    """

    exact = False

    def __init__(self) -> None:
        super().__init__(1, 1, None, "minhash")

    def units_per_call(self, state: State) -> int:
        return 200  # the centres are found anew in every call

    def run_units(self, rng: Any, state: State, begin: int, end: int, counts: np.ndarray) -> int:
        tables: Any = self.tables(state)
        family = tables.family
        n_features = count_features(family.columns_)
        centres = Centres(
            np.empty((state.capacity, n_features)), np.empty((1, state.capacity), np.uint64), ICWSWork.empty(n_features, 1)
        )
        envelopes = Envelopes.empty(len(state.partition.labels), family.columns_)
        return run_published_minsm(
            rng, state.hashed.rows, family.columns_, tables.arrays, family.functions_, envelopes, centres,
            state.arrays, state.target, begin, end, counts,
        )  # fmt: skip
