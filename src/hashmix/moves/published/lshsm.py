"""LSHSM as printed: anchors by sign projections, ratios by a sum over all pairs of points."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from hashmix.compiling import borrowed, helper, implements, kernel
from hashmix.components.contract import clear
from hashmix.hashing.rows import DenseRows, SparseRows
from hashmix.hashing.tables import another_from_bucket, filled_bucket, n_others, turned
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
from hashmix.moves.hashed import HashedMove
from hashmix.moves.restricted import fill_sides, gather
from hashmix.moves.room import out_of_room
from hashmix.partition import n_clusters, spare
from hashmix.rng import bernoulli, integer
from hashmix.state import State

__all__ = ["PublishedLSHSM"]

_LOG_2 = math.log(2.0)


def _centred_product(rows, features, of_origin, i, j):
    """The product of two rows seen from the origin; ``of_origin`` is that of two rows of zeros."""


@implements(_centred_product, DenseRows)
def _centred_product_dense(rows, features, of_origin, i, j):
    total = 0.0
    for k in range(rows.values.shape[1]):
        scale = features.scale[k] * features.scale[k]
        total += (rows.values[i, k] - features.origin[k]) * (rows.values[j, k] - features.origin[k]) * scale
    return total


@implements(_centred_product, SparseRows)
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
def _angle(rows, features, of_origin, lengths, i, j):
    """The angle between two rows seen from the mean; a right one if either is the mean itself."""
    if lengths[i] == 0.0 or lengths[j] == 0.0:
        return 0.5 * math.pi
    cosine = _centred_product(rows, features, of_origin, i, j) / (lengths[i] * lengths[j])
    return math.acos(min(1.0, max(-1.0, cosine)))


@helper
def _printed_sum(rows, features, of_origin, lengths, tables, n_bits, table, opposite, arrays, m):
    """Σ_{u∈C_u} Σ_{v∈C_v} (1/n) (1 − (1 − Pr^K)^L) |C_v ∩ S_u| / |S_u|, C_u being side 0 of the points and C_v side 1."""
    points, sides = arrays.scratch.points, arrays.scratch.sides
    n_tables = tables.buckets.shape[1]
    for j in range(m):
        i = points[j]
        lengths[i] = math.sqrt(max(_centred_product(rows, features, of_origin, i, i), 0.0))
    total = 0.0
    for j in range(m):
        if sides[j] == 1:
            continue
        u = points[j]
        bucket = turned(tables, tables.buckets[u, table], opposite)
        found = n_others(tables, bucket, opposite, u)
        if found == 0:
            continue
        of_v = 0
        chances = 0.0
        for k in range(m):
            if sides[k] == 0:
                continue
            v = points[k]
            of_v += 1 if tables.buckets[v, table] == bucket else 0
            share = _angle(rows, features, of_origin, lengths, u, v) / math.pi
            pr = share if opposite else 1.0 - share
            chances += 1.0 - (1.0 - pr**n_bits) ** n_tables
        total += chances * of_v / found
    return total / len(lengths)


@kernel
def run_published_lshsm(rng, rows, features, of_origin, lengths, tables, n_bits, arrays, target, begin, end, counts):
    """Proposals number begin … end − 1 with the printed ratios; stops early when free slots run out."""
    rng, arrays, target = borrowed(rng), borrowed(arrays), borrowed(target)
    rows, features, lengths, tables = borrowed(rows), borrowed(features), borrowed(lengths), borrowed(tables)
    partition, table, model = arrays.partition, arrays.table, target.model
    labels, sides, points = partition.labels, arrays.scratch.sides, arrays.scratch.points
    for step in range(begin, end):
        if out_of_room(arrays, target):
            return step
        k = n_clusters(partition)
        smart_split = bernoulli(rng, 0.5)
        u = integer(rng, len(labels))
        bucket = filled_bucket(rng, tables, tables.buckets[u], smart_split, u)
        if bucket < 0:
            continue
        v = another_from_bucket(rng, tables, bucket, smart_split, u)
        probed = 0  # the table that bucket is in
        for t in range(tables.buckets.shape[1]):
            if tables.buckets[v, t] == bucket:
                probed = t
        a, b, union = spare(partition, 1), spare(partition, 0), spare(partition, 2)
        splits = labels[u] == labels[v]
        first, second = labels[u], labels[v]
        if smart_split and not splits:
            first, second = uniform_pair(rng, partition)
        elif splits and not smart_split:
            first = second = partition.active[integer(rng, k)]
        m = gather(arrays, first, second, -1, -1)
        on_b = 0
        for j in range(m):
            if splits:
                sides[j] = 1 if bernoulli(rng, 0.5) else 0
                if smart_split and (points[j] == u or points[j] == v):
                    sides[j] = 0 if points[j] == u else 1
            else:
                sides[j] = 0 if labels[points[j]] == first else 1
            on_b += sides[j]
        if on_b == 0 or on_b == m:
            continue
        counts[PROPOSED] += 1
        log_sum = log_or_never(_printed_sum(rows, features, of_origin, lengths, tables, n_bits, probed, smart_split, arrays, m))
        if splits:
            counts[SPLITS_PROPOSED] += 1
            clear(model, table, a)
            clear(model, table, b)
            fill_sides(arrays, target, a, b, m)
            gain = split_gain(arrays, target, first, a, b)
            if smart_split:
                log_ratio = gain + log_pair_probability(k + 1) - (log_sum - (m - 2) * _LOG_2)
            else:
                log_ratio = gain + log_sum - (-math.log(k) - m * _LOG_2)
            if accept(rng, log_ratio):
                commit_split(arrays, target, first, a, b, -1, m)
                counts[ACCEPTED] += 1
                counts[SPLITS_ACCEPTED] += 1
        else:
            gain = merge_bound(arrays, target, first, second, union)
            if smart_split:
                log_ratio = gain + log_sum - (m - 2) * _LOG_2 - log_pair_probability(k)
            else:
                log_ratio = gain - math.log(k - 1.0) - m * _LOG_2 - log_sum
            if accept(rng, log_ratio):
                commit_merge(arrays, target, first, second, union)
                counts[ACCEPTED] += 1
    return end


class PublishedLSHSM(HashedMove):
    """LSHSM **as printed in the paper: not exact, for comparison only**. The exact move is :class:`hashmix.moves.LSHSM`.

    A fair coin chooses a kernel. *Smart split / dumb merge*: u uniform, v from the bucket of −u; together, their cluster is
    split by fair coins with u and v apart; apart, two uniform clusters are merged. *Smart merge / dumb split*: u uniform, v
    from the bucket of u; apart, their clusters are merged; together, a uniform cluster is split by fair coins. The ratio is
    L(x′) q(x|x′) / (L(x) q(x′|x)) with the printed q: a sum over all pairs of points of the two clusters, quadratic in
    their sizes. L is the marginal likelihood, times the prior of the run (:class:`hashmix.priors.Flat` unless another is
    given).

    Where the paper leaves a choice, this is the reading kept here: tables are built once. S_u is the bucket probed, without
    u, in the table that gave v, for every u of the sum; an empty one adds nothing. Pr is 1 − θ/π, angles being seen from the
    mean of the standardised columns. In the ratio of a dumb merge, C_u is the first cluster drawn; in that of a dumb split,
    the side of heads. A dumb split with an empty side, and a u whose buckets are all empty, are null moves. A sum that is
    zero in the way back rejects.

    Parameters
    ----------
    n_bits, n_tables : int, default=10
        K and L of the paper.

    Examples
    --------
    >>> import hashmix as hm
    >>> hm.moves.PublishedLSHSM()
    PublishedLSHSM(n_bits=10, n_tables=10, refresh=None, family='sign-projection')
    """

    exact = False

    def __init__(self, n_bits: int = 10, n_tables: int = 10) -> None:
        super().__init__(n_bits, n_tables, None, "sign-projection")

    def units_per_call(self, state: State) -> int:
        return 1  # quadratic in the clusters' sizes

    def run_units(self, rng: Any, state: State, begin: int, end: int, counts: np.ndarray) -> int:
        tables: Any = self.tables(state)
        features = tables.family.columns_
        lengths = np.empty(len(state.partition.labels))
        of_origin = float(np.square(features.origin * features.scale).sum())
        return run_published_lshsm(
            rng, state.hashed.rows, features, of_origin, lengths, tables.arrays, self.n_bits,
            state.arrays, state.target, begin, end, counts,
        )  # fmt: skip
