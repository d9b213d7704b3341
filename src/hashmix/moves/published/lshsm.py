"""LSHSM as printed: anchors by sign projections, ratios by a sum over all pairs of rows."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from hashmix.components.contract import clear
from hashmix.core.compiling import helper, implements
from hashmix.core.rng import bernoulli, integer
from hashmix.data.rows import DenseArrays, SparseArrays
from hashmix.hashing.features import FeatureMap
from hashmix.hashing.tables import TableArrays, another_from_bucket, filled_bucket, n_others, turned
from hashmix.moves.allocation import fill_sides, gather
from hashmix.moves.anchors import log_pair_probability, uniform_pair
from hashmix.moves.contract import Proposal
from hashmix.moves.driver import choose, divide, log_or_never, merge, nothing, sides_of, split, weigh_merge
from hashmix.moves.hashed.tables import HashedMove
from hashmix.partition.members import n_clusters
from hashmix.partition.state import State

__all__ = ["PublishedLSHSM"]

_LOG_2 = math.log(2.0)


class PrintedLSHSM(NamedTuple):
    """Law of the printed move: rows and their features, the tables, and buffers.

    ``of_origin`` is the product of two rows of zeros seen from the origin; ``lengths`` is a buffer for the rows' lengths.
    """

    rows: Any
    features: FeatureMap
    of_origin: float
    lengths: np.ndarray
    tables: TableArrays
    n_bits: int


def _centred_product(rows, features, of_origin, i, j):
    """The product of two rows seen from the origin; ``of_origin`` is that of two rows of zeros."""


@implements(_centred_product, DenseArrays)
def _centred_product_dense(rows, features, of_origin, i, j):
    total = 0.0
    for k in range(rows.values.shape[1]):
        scale = features.scale[k] * features.scale[k]
        total += (rows.values[i, k] - features.origin[k]) * (rows.values[j, k] - features.origin[k]) * scale
    return total


@implements(_centred_product, SparseArrays)
def _centred_product_sparse(rows, features, of_origin, i, j):
    total = of_origin
    a, b = rows.begins[i], rows.begins[j]
    while a < rows.begins[i + 1] or b < rows.begins[j + 1]:
        in_i = a < rows.begins[i + 1] and (b == rows.begins[j + 1] or rows.columns[a] <= rows.columns[b])
        in_j = b < rows.begins[j + 1] and (a == rows.begins[i + 1] or rows.columns[b] <= rows.columns[a])
        k = rows.columns[a] if in_i else rows.columns[b]
        x, y, origin = float(rows.values[a]) if in_i else 0.0, float(rows.values[b]) if in_j else 0.0, features.origin[k]
        total += ((x - origin) * (y - origin) - origin * origin) * features.scale[k] * features.scale[k]
        a += in_i
        b += in_j
    return total


@helper
def _angle(law, i, j):
    """The angle between two rows seen from the mean; a right angle if either row is the mean itself."""
    lengths = law.lengths
    if lengths[i] == 0.0 or lengths[j] == 0.0:
        return 0.5 * math.pi
    cosine = _centred_product(law.rows, law.features, law.of_origin, i, j) / (lengths[i] * lengths[j])
    return math.acos(min(1.0, max(-1.0, cosine)))


@helper
def _printed_sum(law, t, opposite, arrays, m):
    """Σ_{u∈C_u} Σ_{v∈C_v} (1/n) (1 − (1 − Pr^K)^L) |C_v ∩ S_u| / |S_u|, where C_u is side 0 of the rows and C_v side 1.

    S_u is u's bucket in table t, or the opposite one.
    """
    rows, sides, tables = arrays.scratch.rows, arrays.scratch.sides, law.tables
    n_tables = tables.buckets.shape[1]
    for j in range(m):
        i = rows[j]
        law.lengths[i] = math.sqrt(max(_centred_product(law.rows, law.features, law.of_origin, i, i), 0.0))
    total = 0.0
    for j in range(m):
        if sides[j] == 1:
            continue
        u = rows[j]
        bucket = turned(tables, tables.buckets[u, t], opposite)
        found = n_others(tables, bucket, opposite, u)
        if found == 0:
            continue
        of_v = 0
        chances = 0.0
        for k in range(m):
            if sides[k] == 0:
                continue
            v = rows[k]
            of_v += 1 if tables.buckets[v, t] == bucket else 0
            share = _angle(law, u, v) / math.pi
            pr = share if opposite else 1.0 - share
            chances += 1.0 - (1.0 - pr**law.n_bits) ** n_tables
        total += chances * of_v / found
    return total / len(law.lengths)


@implements(choose, PrintedLSHSM, argument=1, inline=True)
def _choose(rng, law, arrays, target, tally):
    """Draw the anchors and the clusters, and divide their rows. The note holds the table probed, and which kernel it is."""
    partition, tables = arrays.partition, law.tables
    labels, sides, rows = partition.labels, arrays.scratch.sides, arrays.scratch.rows
    smart_split = bernoulli(rng, 0.5)
    u = integer(rng, len(labels))
    bucket = filled_bucket(rng, tables, tables.buckets[u], smart_split, u)
    if bucket < 0:
        return nothing()
    v = another_from_bucket(rng, tables, bucket, smart_split, u)
    probed = 0
    for t in range(tables.buckets.shape[1]):
        if tables.buckets[v, t] == bucket:
            probed = t
    splits = labels[u] == labels[v]
    first, second = labels[u], labels[v]
    if smart_split and not splits:
        first, second = uniform_pair(rng, partition)
    elif splits and not smart_split:
        first = second = partition.active[integer(rng, n_clusters(partition))]
    m = gather(arrays, first, second, -1, -1)
    on_b = 0
    for j in range(m):
        if splits:
            sides[j] = 1 if bernoulli(rng, 0.5) else 0
            if smart_split and (rows[j] == u or rows[j] == v):
                sides[j] = 0 if rows[j] == u else 1
        else:
            sides[j] = 0 if labels[rows[j]] == first else 1
        on_b += sides[j]
    if on_b == 0 or on_b == m:
        return nothing()
    note = 2 * probed + (1 if smart_split else 0)
    return split(first, -1, -1, note) if splits else merge(first, second, -1, -1, note)


@implements(divide, PrintedLSHSM, argument=1, inline=True)
def _divide(rng, law, arrays, target, change, tally):
    k, m = n_clusters(arrays.partition), arrays.partition.sizes[change.first]
    smart_split = change.note % 2 == 1
    log_sum = log_or_never(_printed_sum(law, change.note // 2, smart_split, arrays, m))
    sides = sides_of(arrays, change, m)
    clear(target.model, arrays.slots, sides.a)
    clear(target.model, arrays.slots, sides.b)
    fill_sides(arrays, target, sides)
    if smart_split:
        return log_pair_probability(k + 1) - (log_sum - (m - 2) * _LOG_2)
    return log_sum - (-math.log(k) - m * _LOG_2)


@implements(weigh_merge, PrintedLSHSM, argument=1, inline=True)
def _weigh_merge(rng, law, arrays, target, change, tally):
    partition = arrays.partition
    k, m = n_clusters(partition), partition.sizes[change.first] + partition.sizes[change.second]
    smart_split = change.note % 2 == 1
    log_sum = log_or_never(_printed_sum(law, change.note // 2, smart_split, arrays, m))
    if smart_split:
        return log_sum - (m - 2) * _LOG_2 - log_pair_probability(k)
    return -math.log(k - 1.0) - m * _LOG_2 - log_sum


class PublishedLSHSM(HashedMove, Proposal):
    """LSHSM **as printed in the paper: not exact, for comparison only**. The exact move is :class:`hashmix.moves.LSHSM`.

    A fair coin chooses a kernel. *Smart split / dumb merge*: u is uniform, v from the bucket of −u. If they are together,
    their cluster is split by fair coins with u and v apart; if they are apart, two uniform clusters are merged. *Smart merge
    / dumb split*: u is uniform, v from the bucket of u. If they are apart, their clusters are merged; if they are together, a
    uniform cluster is split by fair coins. The ratio is ``L(x′) q(x|x′) / (L(x) q(x′|x))`` with the printed q: a sum over all
    pairs of rows of the two clusters, quadratic in their sizes. L is the marginal likelihood, times the prior of the run
    (:class:`hashmix.priors.Flat` unless another is given).

    Where the paper leaves a choice, this is our reading. Tables are built once. S_u is the bucket probed, without u, in the
    table that gave v, for every u of the sum; an empty one adds nothing. Pr is 1 − θ/π, with angles seen from the mean of
    the standardised columns. In the ratio of a dumb merge, C_u is the first cluster drawn; in that of a dumb split, the side
    of heads. A dumb split with an empty side, and a u whose buckets are all empty, are null moves. A sum of zero on the way
    back rejects.

    Parameters
    ----------
    n_bits, n_tables : int, default=10
        K and L of the paper.

    Examples
    --------
    >>> import hashmix as hm
    >>> hm.moves.PublishedLSHSM()
    PublishedLSHSM(n_bits=10, n_tables=10)
    """

    exact = False

    def __init__(self, n_bits: int = 10, n_tables: int = 10) -> None:
        super().__init__(n_bits, n_tables, None, "sign-projection")

    def units_per_call(self, state: State) -> int:
        return 1  # quadratic in the clusters' sizes

    def law(self, state: State) -> PrintedLSHSM:
        tables = self.tables(state)
        features = tables.family.columns_
        of_origin = float(np.square(features.origin * features.scale).sum())
        rows, lengths = state.hashed.rows.arrays, np.empty(state.n_rows)
        return PrintedLSHSM(rows, features, of_origin, lengths, tables.arrays, self.n_bits)
