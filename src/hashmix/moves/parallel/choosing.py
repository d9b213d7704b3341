"""How a row chooses its cluster in a parallel Gibbs update: among all clusters, or among the candidates of its cell."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from hashmix.components.densities import gathered, log_densities, log_density, rounding
from hashmix.core.compiling import borrowed, finite_helper, helper, hot_helper, kernel
from hashmix.core.counter import address, uniform_at
from hashmix.core.prefetching import fetch_ahead
from hashmix.partition.leaders import Leaders, rank_of

__all__ = [
    "DRAW",
    "FAR",
    "OVERFLOW",
    "PRECISION",
    "Offer",
    "Room",
    "choose_among_all",
    "choose_among_candidates",
    "make_offer",
]

#: Rows per matrix product: fewer if there are many clusters, so that the products stay in the cache.
_BLOCK, _LOGITS = 512, 131_072
#: Columns whose largest log weight is kept, so that far ones are passed over together.
_STRETCH = 16
#: A cluster whose log weight is this far below the largest is left out: its probability is below 1e-13.
FAR = 30.0
#: Largest error of a log density, in nats, that float32 may leave; else the densities that matter are computed in float64.
PRECISION = 0.005
#: A bound of the error so large that a sum may overflow float32.
OVERFLOW = 1e24
#: Rows of a cell that choose its candidates, and candidates that are drawn at random.
_CHOOSERS, _STRAYS = 4, 2

# What a counter-based number is for.
DRAW, _CHOOSE, _STRAY = 1, 2, 3


class Offer(NamedTuple):
    """What rows choose from, one column per cluster in the order of its leader's rank."""

    density: Any
    log_weights: np.ndarray  # (K,) log w, float64
    intercepts: np.ndarray  # (K,) the density's plus log w, float32
    ranks: np.ndarray  # (K,) ranks of the leaders, increasing
    slots: np.ndarray  # (K,) the clusters
    columns: np.ndarray  # (capacity,) the column of each cluster


class Room(NamedTuple):
    """Buffers of one thread: a block of rows as features, their log weights, the largest of every stretch of columns, and the
    columns near the best with their weights.
    """

    features: np.ndarray
    logits: np.ndarray
    tops: np.ndarray
    near: np.ndarray
    weights: np.ndarray

    @classmethod
    def of(cls, offer: Offer) -> Room:
        density, k = offer.density, len(offer.slots)
        block = min(_BLOCK, max(64, _LOGITS // k))
        features, logits = np.empty((block, density.n_terms), np.float32), np.empty(block * k, np.float32)
        return cls(features, logits, np.empty(k // _STRETCH + 1, np.float32), np.empty(k, np.int32), np.empty(k))


def make_offer(leaders: Leaders, density: Any, log_weights: np.ndarray, capacity: int) -> Offer:
    """What rows choose from, given the leaders, and the density and weights of the clusters in their order."""
    columns = np.full(capacity, -1, np.int32)
    columns[leaders.order] = np.arange(len(leaders.order))
    intercepts = (density.intercepts + log_weights).astype(np.float32)
    return Offer(density, log_weights, intercepts, leaders.ranks[leaders.order], leaders.order, columns)


@finite_helper
def _shifted_top(logits, intercepts, tops, m):
    """Add the intercepts of the first m columns; return the largest sum, and leave that of every stretch in ``tops``."""
    top = np.float32(-3.0e38)
    for stretch in range(m // _STRETCH):
        begin = stretch * _STRETCH
        part = np.float32(-3.0e38)
        for c in range(_STRETCH):
            value = logits[begin + c] + intercepts[begin + c]
            logits[begin + c] = value
            part = value if value > part else part
        tops[stretch] = part
        top = part if part > top else top
    part = np.float32(-3.0e38)
    for c in range(m // _STRETCH * _STRETCH, m):
        value = logits[c] + intercepts[c]
        logits[c] = value
        part = value if value > part else part
    tops[m // _STRETCH] = part
    return part if part > top else top


@hot_helper
def _n_before(ranks, rank):
    """How many of the increasing ranks are less than a rank."""
    low, high = 0, len(ranks)
    if rank > ranks[high - 1]:
        return high
    while low < high:
        middle = (low + high) // 2
        if ranks[middle] < rank:
            low = middle + 1
        else:
            high = middle
    return low


@hot_helper
def _choose(seed, offer, data, first, i, own, columns, intercepts, logits, m, room):
    """Draw one of the first m columns for row i; its ``own`` if no density is a positive number."""
    near, weights, tops = room.near, room.weights, room.tops
    error, top, found = rounding(offer.density, data, i), np.float32(0.0), 0
    if error < OVERFLOW:
        top = _shifted_top(logits, intercepts, tops, m)
        limit = np.float32(top - (FAR + 2.0 * error))
        for stretch in range(m // _STRETCH + 1):
            if tops[stretch] > limit:
                for c in range(stretch * _STRETCH, min((stretch + 1) * _STRETCH, m)):
                    if logits[c] > limit:
                        near[found] = c
                        found += 1
    else:
        for c in range(m):
            near[c] = c
        found = m
    if found == 1:
        return np.int64(near[0])
    if error <= PRECISION:
        for k in range(found):
            weights[k] = logits[near[k]] - top
    else:
        best = -math.inf
        for k in range(found):
            column = columns[near[k]]
            weights[k] = log_density(offer.density, data, i, column) + offer.log_weights[column]
            best = max(best, weights[k]) if weights[k] == weights[k] else best
        for k in range(found):
            weights[k] = weights[k] - best if best > -math.inf else -math.inf
    total = 0.0
    for k in range(found):
        weights[k] = math.exp(weights[k]) if weights[k] > -FAR - 2.0 * PRECISION else 0.0
        total += weights[k]
    left = uniform_at(address(seed, DRAW, first + i), 0) * total
    chosen = own
    for k in range(found):
        if weights[k] > 0.0:
            chosen = np.int64(near[k])
            left -= weights[k]
            if left < 0.0:
                break
    return chosen


@helper
def _choose_rows(seed, offer, data, first, rows, begin, end, columns, own_columns, weights, ranks, intercepts, labels, room):
    """Draw the clusters of rows ``rows[begin:end]`` among some columns; return how many rows moved."""
    block, k, moved = len(room.features), len(columns), 0
    logits = room.logits[: block * k].reshape(block, k)
    for start in range(begin, end, block):
        stop = min(start + block, end)
        log_densities(offer.density, weights, data, rows, start, stop, room.features, logits)
        for r in range(stop - start):
            i = rows[start + r]
            fetch_ahead(labels, rows, start + r)
            own = own_columns[offer.columns[labels[i]]]
            if own < 0:
                continue  # its cluster is no candidate
            rank = rank_of(seed, first + i)
            if rank == ranks[own]:
                continue  # a leader
            m = _n_before(ranks, rank)
            chosen = _choose(seed, offer, data, first, i, np.int64(own), columns, intercepts, logits[r], m, room)
            if chosen != own:
                labels[i] = offer.slots[columns[chosen]]
                moved += 1
    return moved


@kernel
def choose_among_all(seed, offer, data, first, rows, labels, room):
    """Draw the clusters of rows among all clusters; return how many rows moved.

    Row i of the data has the number ``first + i`` in everything that is random.
    """
    offer, data, rows, labels, room = borrowed(offer), borrowed(data), borrowed(rows), borrowed(labels), borrowed(room)
    columns = np.arange(len(offer.slots)).astype(np.int32)
    weights, ranks = offer.density.weights, offer.ranks
    intercepts = offer.intercepts
    return _choose_rows(
        seed, offer, data, first, rows, 0, len(rows), columns, columns, weights, ranks, intercepts, labels, room
    )


@helper
def _pick_candidates(seed, offer, data, order, begin, end, cell, n_candidates, room, scores):
    """Columns that some rows of a cell find likeliest, and a few at random, in increasing order."""
    k = len(scores)
    choosers = np.empty(_CHOOSERS, order.dtype)
    for r in range(_CHOOSERS):
        u = uniform_at(address(seed, _CHOOSE, cell), r)
        choosers[r] = order[begin + int(u * (end - begin))]
    logits = room.logits[: _CHOOSERS * k].reshape(_CHOOSERS, k)
    log_densities(offer.density, offer.density.weights, data, choosers, 0, _CHOOSERS, room.features, logits)
    for r in range(_CHOOSERS):
        top = _shifted_top(logits[r], offer.intercepts, room.tops, k)
        for c in range(k):
            score = logits[r, c] - top
            scores[c] = score if r == 0 or score > scores[c] else scores[c]
    for r in range(_STRAYS):
        scores[int(uniform_at(address(seed, _STRAY, cell), r) * k)] = 1.0
    least = np.partition(scores, k - n_candidates)[k - n_candidates]
    columns = np.empty(n_candidates, np.int32)
    found = 0
    for c in range(k):
        if scores[c] >= least and found < n_candidates:
            columns[found] = c
            found += 1
    if found < n_candidates:  # densities that are no numbers: any columns will do
        for c in range(n_candidates):
            columns[c] = c
    return columns


@kernel
def choose_among_candidates(seed, offer, data, order, begins, first, last, n_candidates, labels, room):
    """Draw the clusters of all rows of some cells among the candidates of their cell; return how many rows moved."""
    offer, data, order, begins = borrowed(offer), borrowed(data), borrowed(order), borrowed(begins)
    labels, room = borrowed(labels), borrowed(room)
    k, moved = len(offer.slots), 0
    scores, own_columns = np.empty(k, np.float32), np.full(k, -1, np.int32)
    ranks, intercepts = np.empty(n_candidates, np.uint64), np.empty(n_candidates, np.float32)
    for cell in range(first, last):
        begin, end = begins[cell], begins[cell + 1]
        if begin == end:
            continue
        columns = _pick_candidates(seed, offer, data, order, begin, end, cell, n_candidates, room, scores)
        for at in range(n_candidates):
            own_columns[columns[at]] = at
            ranks[at], intercepts[at] = offer.ranks[columns[at]], offer.intercepts[columns[at]]
        weights = gathered(offer.density, columns)
        moved += _choose_rows(
            seed, offer, data, 0, order, begin, end, columns, own_columns, weights, ranks, intercepts, labels, room
        )
        for at in range(n_candidates):
            own_columns[columns[at]] = -1
    return moved
