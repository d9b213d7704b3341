"""Cuts of a cluster by one dart: the proposal of which the paper's ``Prob`` is the exact law."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from hashmix.components.contract import clear
from hashmix.core.compiling import helper, implements
from hashmix.core.rng import bernoulli, categorical, height
from hashmix.hashing.features import FeatureMap, count_features, feature_value, nonzeros
from hashmix.moves.allocation import fill_sides, gather
from hashmix.moves.anchors import log_pair_probability, uniform_pair
from hashmix.moves.contract import Proposal
from hashmix.moves.driver import MERGE, choose, complete, divide, log_or_never, merge, nothing, sides_of, split, weigh_merge
from hashmix.partition.members import n_clusters, n_rows, uniform_row
from hashmix.partition.state import State

__all__ = ["EnvelopeCut", "Envelopes", "cut_probability_of_sides"]


class Envelopes(NamedTuple):
    """Rows' features, and buffers: for one row's non-zero features, the largest of a cluster's, the least, the largest and the
    number of non-zero ones of two sides, and one feature of every row.

    Loops visit the features that rows have, not those they could have: texts have few words.
    """

    rows: Any
    features: FeatureMap
    columns: np.ndarray
    row: np.ndarray
    whole: np.ndarray
    least: np.ndarray  # (2, n_features)
    most: np.ndarray  # (2, n_features)
    have: np.ndarray  # (2, n_features)
    values: np.ndarray  # (n,)

    @classmethod
    def of(cls, state: State, features: FeatureMap) -> Envelopes:
        """Buffers for a state's rows with these features."""
        n_features = count_features(features)
        row, whole = np.empty((2, n_features))
        least, most = np.empty((2, 2, n_features))
        have = np.empty((2, n_features), np.int64)
        buffers = np.empty(n_features, np.int64), row, whole, least, most, have, np.empty(state.n_rows)
        return cls(state.hashed.rows.arrays, features, *buffers)


@helper
def _bound_sides(law, arrays, m):
    """The least and largest features of both sides."""
    rows, sides = arrays.scratch.rows, arrays.scratch.sides
    for f in range(len(law.row)):
        law.least[0, f] = law.least[1, f] = np.inf
        law.most[0, f] = law.most[1, f] = 0.0
        law.have[0, f] = law.have[1, f] = 0
    on_b = 0
    for j in range(m):
        least, most, have = law.least[sides[j]], law.most[sides[j]], law.have[sides[j]]
        on_b += sides[j]
        for e in range(nonzeros(law.rows, rows[j], law.features, law.columns, law.row)):
            f, x = law.columns[e], law.row[e]
            least[f] = min(least[f], x)
            most[f] = max(most[f], x)
            have[f] += 1
    for f in range(len(law.row)):
        if law.have[0, f] < m - on_b:
            law.least[0, f] = 0.0
        if law.have[1, f] < on_b:
            law.least[1, f] = 0.0


@helper
def cut_probability_of_sides(law, arrays, m):
    """``Prob`` with side 0 inside, and with side 1 inside; zeros if the envelope is empty."""
    _bound_sides(law, arrays, m)
    envelope = first = second = 0.0
    for f in range(len(law.row)):
        envelope += max(law.most[0, f], law.most[1, f])
        first += max(0.0, law.least[0, f] - law.most[1, f])
        second += max(0.0, law.least[1, f] - law.most[0, f])
    if envelope == 0.0:
        return 0.0, 0.0
    return first / envelope, second / envelope


@helper
def _log_cut_probability(law, arrays, m):
    """Log q of the current sides: the cluster is chosen through a uniform row, and either side may be under the dart."""
    one, other = cut_probability_of_sides(law, arrays, m)
    return log_or_never((one + other) * m / n_rows(arrays.partition))


@helper
def _throw_dart(rng, law, arrays, m):
    """Throw a dart under the envelope of the listed rows: rows above it are side 0. Return how many are below it."""
    rows, sides = arrays.scratch.rows, arrays.scratch.sides
    n_features = len(law.row)
    for f in range(n_features):
        law.whole[f] = 0.0
    for j in range(m):
        for e in range(nonzeros(law.rows, rows[j], law.features, law.columns, law.row)):
            f = law.columns[e]
            law.whole[f] = max(law.whole[f], law.row[e])
    total = 0.0
    for f in range(n_features):
        total += law.whole[f]
    if total == 0.0:
        return 0
    f = categorical(rng, law.whole, n_features, total)
    for j in range(m):
        law.values[j] = feature_value(law.rows, rows[j], law.features, f)
    level = height(rng, law.values, m, law.whole[f])
    below = 0
    for j in range(m):
        sides[j] = 0 if law.values[j] >= level else 1
        below += sides[j]
    return below


@implements(choose, Envelopes, argument=1, inline=True)
def _choose(rng, law, arrays, target, tally):
    partition = arrays.partition
    if bernoulli(rng, 0.5):
        return split(partition.labels[uniform_row(rng, partition)], -1, -1, 0)
    if n_clusters(partition) == 1:
        return nothing()
    first, second = uniform_pair(rng, partition)
    return merge(first, second, -1, -1, 0)


@implements(divide, Envelopes, argument=1, inline=True)
def _divide(rng, law, arrays, target, change, tally):
    m = gather(arrays, change.first, change.first, -1, -1)
    if _throw_dart(rng, law, arrays, m) == 0:
        return -math.inf  # one side is empty
    log_q = _log_cut_probability(law, arrays, m)
    if log_q == -math.inf:
        return -math.inf  # by rounding alone
    sides = sides_of(arrays, change, m)
    clear(target.model, arrays.slots, sides.a)
    clear(target.model, arrays.slots, sides.b)
    fill_sides(arrays, target, sides)
    return log_pair_probability(n_clusters(arrays.partition) + 1) - log_q


@implements(weigh_merge, Envelopes, argument=1, inline=True)
def _weigh_merge(rng, law, arrays, target, change, tally):
    return -log_pair_probability(n_clusters(arrays.partition))  # the cut's probability is at most 1


@implements(complete, Envelopes, argument=1, inline=True)
def _complete(rng, law, arrays, target, change, tally):
    if change.kind != MERGE:
        return 0.0
    m = gather(arrays, change.first, change.second, -1, -1)
    for j in range(m):
        arrays.scratch.sides[j] = 0 if arrays.partition.labels[arrays.scratch.rows[j]] == change.first else 1
    return _log_cut_probability(law, arrays, m)  # −∞ if no dart makes this cut: there is no way back


class EnvelopeCut(Proposal):
    """Cut a cluster by a dart under its envelope; or merge two uniform clusters.

    Features are the sign split of the standardised columns. A dart (feature j, height y) falls uniformly under the largest
    features of the cluster's rows; rows with x_j ≥ y are cut from the others. The paper's ``Prob``
    (:func:`hashmix.hashing.cut_probability`) is the exact probability of such a cut, and costs one pass over the cluster.

    Examples
    --------
    >>> import hashmix as hm
    >>> hm.moves.EnvelopeCut()
    EnvelopeCut()
    """

    works_in_parts = True

    def law(self, state: State) -> Envelopes:
        return Envelopes.of(state, state.hashed.features())
