"""What a shard does with its own rows that no move does: kernels over a block of consecutive rows."""

from __future__ import annotations

import numpy as np

from hashmix.components.contract import collect, load
from hashmix.core.compiling import borrowed, kernel
from hashmix.core.counter import address, uniform_at
from hashmix.moves.parallel.passes import start_sums, sum_up
from hashmix.partition.leaders import rank_of

__all__ = ["least_members", "list_block", "sum_block", "toss_chunks"]

_MOST = np.uint64(0xFFFFFFFFFFFFFFFF)


@kernel
def sum_block(labels, slots, model, data):
    """Add rows to the statistics of their labels, in the order of the rows."""
    labels, slots, model, data = borrowed(labels), borrowed(slots), borrowed(model), borrowed(data)
    for i in range(len(labels)):
        collect(model, slots, labels[i], load(model, slots, data, i))


@kernel
def least_members(seed, first, labels, wanted, without, n_wanted):
    """Of every wanted cluster the row of least rank, one row left out: ranks and local numbers (−1 if there is none).

    ``wanted[label]`` is the place of a cluster in the answer, or −1. ``without`` has the rows to leave out.
    """
    labels, wanted, without = borrowed(labels), borrowed(wanted), borrowed(without)
    ranks, members = np.full(n_wanted, _MOST, np.uint64), np.full(n_wanted, -1, np.int64)
    for i in range(len(labels)):
        place = wanted[labels[i]]
        if place >= 0 and without[place] != i:
            rank = rank_of(seed, first + i)
            if rank < ranks[place]:
                ranks[place], members[place] = rank, i
    return ranks, members


@kernel
def list_block(labels, pair_of, side_of, u, v, rows, sides, begins):
    """List the rows of a block that are in the clusters of some pairs, by pair, without the anchors; return how many.

    ``pair_of[label]`` and ``side_of[label]`` are the pair and the side of a cluster (−1 if it is in no pair); ``u`` and ``v``
    are the numbers of the anchors within the block. The rows of pair b are ``rows[begins[b] : begins[b + 1]]``.
    """
    labels, pair_of, side_of, u, v = borrowed(labels), borrowed(pair_of), borrowed(side_of), borrowed(u), borrowed(v)
    rows, sides, begins = borrowed(rows), borrowed(sides), borrowed(begins)
    n_pairs = len(u)
    for b in range(n_pairs + 1):
        begins[b] = 0
    for i in range(len(labels)):
        b = pair_of[labels[i]]
        if b >= 0 and i != u[b] and i != v[b]:
            begins[b + 1] += 1
    for b in range(n_pairs):
        begins[b + 1] += begins[b]
    at = begins[:n_pairs].copy()
    for i in range(len(labels)):
        b = pair_of[labels[i]]
        if b >= 0 and i != u[b] and i != v[b]:
            rows[at[b]], sides[at[b]] = i, side_of[labels[i]]
            at[b] += 1
    return begins[n_pairs]


@kernel
def toss_chunks(seed, purpose, sums, share, model, data, origin, segments, proposals, begins, ends):
    """Put every row on u's side with a probability that is the pair's own; sum up the sides."""
    sums, share, model, data, segments = borrowed(sums), borrowed(share), borrowed(model), borrowed(data), borrowed(segments)
    proposals, begins, ends = borrowed(proposals), borrowed(begins), borrowed(ends)
    for chunk in range(len(proposals)):
        start_sums(sums, chunk)
        for at in range(begins[chunk], ends[chunk]):
            i = segments.rows[at]
            side = 0 if uniform_at(address(seed, purpose, origin + i), 0) < share[proposals[chunk]] else 1
            segments.sides[at] = side
            sum_up(sums, 2 * chunk + side, model, load(model, sums, data, i))
