"""Cuts of a cluster by one dart: the proposal whose exact law the paper's ``Prob`` is."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from hashmix.compiling import borrowed, helper, kernel
from hashmix.components.contract import clear
from hashmix.hashing.rows import FeatureMap, count_features, feature_value, nonzeros
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
from hashmix.moves.anchors import log_pair_probability, uniform_pair
from hashmix.moves.contract import Move
from hashmix.moves.restricted import fill_sides, gather
from hashmix.moves.room import out_of_room
from hashmix.partition import n_clusters, spare
from hashmix.rng import bernoulli, categorical, height, integer
from hashmix.state import State

__all__ = ["EnvelopeCut", "Envelopes", "cut_probability_of_sides"]


class Envelopes(NamedTuple):
    """Room for a row's non-zero features, the largest of a cluster's, and of its sides' the least, the largest and how many.

    And for one dart's values. Rows are gone through by what they have, not by what they could have: texts have few words.
    """

    columns: np.ndarray
    row: np.ndarray
    whole: np.ndarray
    least: np.ndarray  # (2, n_features)
    most: np.ndarray  # (2, n_features)
    have: np.ndarray  # (2, n_features)
    values: np.ndarray  # (n,)

    @classmethod
    def empty(cls, n: int, features: FeatureMap) -> Envelopes:
        """Room for n rows with these features."""
        n_features = count_features(features)
        row, whole = np.empty((2, n_features))
        least, most = np.empty((2, 2, n_features))
        have = np.empty((2, n_features), np.int64)
        return cls(np.empty(n_features, np.int64), row, whole, least, most, have, np.empty(n))


@helper
def _bound_sides(rows, features, work, arrays, m):
    """The least and largest features of both sides."""
    points, sides = arrays.scratch.points, arrays.scratch.sides
    for f in range(len(work.row)):
        work.least[0, f] = work.least[1, f] = np.inf
        work.most[0, f] = work.most[1, f] = 0.0
        work.have[0, f] = work.have[1, f] = 0
    on_b = 0
    for j in range(m):
        least, most, have = work.least[sides[j]], work.most[sides[j]], work.have[sides[j]]
        on_b += sides[j]
        for e in range(nonzeros(rows, points[j], features, work.columns, work.row)):
            f, x = work.columns[e], work.row[e]
            least[f] = min(least[f], x)
            most[f] = max(most[f], x)
            have[f] += 1
    for f in range(len(work.row)):
        if work.have[0, f] < m - on_b:
            work.least[0, f] = 0.0
        if work.have[1, f] < on_b:
            work.least[1, f] = 0.0


@helper
def cut_probability_of_sides(rows, features, work, arrays, m):
    """``Prob`` with side 0 inside, and with side 1 inside; zeros where the envelope is empty."""
    _bound_sides(rows, features, work, arrays, m)
    envelope = first = second = 0.0
    for f in range(len(work.row)):
        envelope += max(work.most[0, f], work.most[1, f])
        first += max(0.0, work.least[0, f] - work.most[1, f])
        second += max(0.0, work.least[1, f] - work.most[0, f])
    if envelope == 0.0:
        return 0.0, 0.0
    return first / envelope, second / envelope


@helper
def _throw_dart(rng, rows, features, work, arrays, m):
    """Throw a dart under the envelope of the points; those it falls under are side 0. How many it does not fall under."""
    points, sides = arrays.scratch.points, arrays.scratch.sides
    n_features = len(work.row)
    for f in range(n_features):
        work.whole[f] = 0.0
    for j in range(m):
        for e in range(nonzeros(rows, points[j], features, work.columns, work.row)):
            f = work.columns[e]
            work.whole[f] = max(work.whole[f], work.row[e])
    total = 0.0
    for f in range(n_features):
        total += work.whole[f]
    if total == 0.0:
        return 0
    f = categorical(rng, work.whole, n_features, total)
    for j in range(m):
        work.values[j] = feature_value(rows, points[j], features, f)
    level = height(rng, work.values, m, work.whole[f])
    beside = 0
    for j in range(m):
        sides[j] = 0 if work.values[j] >= level else 1
        beside += sides[j]
    return beside


@kernel
def run_envelope_cut(rng, rows, features, work, arrays, target, begin, end, counts):
    """Proposals number begin … end − 1; stops early when free slots run out."""
    rng, arrays, target = borrowed(rng), borrowed(arrays), borrowed(target)
    rows, features, work = borrowed(rows), borrowed(features), borrowed(work)
    partition, table, model = arrays.partition, arrays.table, target.model
    sides = arrays.scratch.sides
    n = len(partition.labels)
    for step in range(begin, end):
        if out_of_room(arrays, target):
            return step
        k = n_clusters(partition)
        a, b, union = spare(partition, 1), spare(partition, 0), spare(partition, 2)
        splits = bernoulli(rng, 0.5)
        bound = 0.0
        if splits:
            first = second = partition.labels[integer(rng, n)]
        elif k > 1:
            first, second = uniform_pair(rng, partition)
            counts[PROPOSED] += 1
            bound = merge_bound(arrays, target, first, second, union) - log_pair_probability(k)
            if not accept(rng, bound):  # the cut's probability is at most 1
                continue
        else:
            continue
        m = gather(arrays, first, second, -1, -1)
        if splits:
            if _throw_dart(rng, rows, features, work, arrays, m) == 0:
                continue  # one side is empty: a null move
            counts[PROPOSED] += 1
            counts[SPLITS_PROPOSED] += 1
        else:
            for j in range(m):
                sides[j] = 0 if partition.labels[arrays.scratch.points[j]] == first else 1
        one, other = cut_probability_of_sides(rows, features, work, arrays, m)
        if not one + other > 0.0:
            continue  # no dart makes this cut: nothing leads back
        log_q = math.log((one + other) * m / n)
        if splits:
            clear(model, table, a)
            clear(model, table, b)
            fill_sides(arrays, target, a, b, m)
            if accept(rng, split_gain(arrays, target, first, a, b) + log_pair_probability(k + 1) - log_q):
                commit_split(arrays, target, first, a, b, -1, m)
                counts[ACCEPTED] += 1
                counts[SPLITS_ACCEPTED] += 1
        elif accept(rng, max(bound, 0.0) + log_q):
            commit_merge(arrays, target, first, second, union)
            counts[ACCEPTED] += 1
    return end


class EnvelopeCut(Move):
    """Cut a cluster by a dart under its envelope; or merge two uniform clusters.

    Features are the sign split of the columns, standardised. A dart (feature j, height y) falls uniformly under the largest
    features of the cluster's rows; rows with x_j ≥ y are cut from the others. The paper's ``Prob``
    (:func:`hashmix.hashing.cut_probability`) is the exact probability of such a cut, and costs one pass over the cluster.

    Examples
    --------
    >>> import hashmix as hm
    >>> hm.moves.EnvelopeCut()
    EnvelopeCut()
    """

    def run_units(self, rng: Any, state: State, begin: int, end: int, counts: np.ndarray) -> int:
        features = state.hashed.features()
        work = Envelopes.empty(len(state.partition.labels), features)
        return run_envelope_cut(rng, state.hashed.rows, features, work, state.arrays, state.target, begin, end, counts)
