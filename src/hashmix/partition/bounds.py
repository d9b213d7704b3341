"""Bounds of a part of a partition: every cluster is led by a row of one colour.

The leader of a cluster is its row of least rank. Splits, new clusters and rows that move may give a cluster another leader. If
that has another colour, the change is not permitted. Ranks and colours do not depend on the partition, so a change is permitted
if and only if the change back is. What is permitted is carried out at once: the ranks of leaders are changed here.
"""

from __future__ import annotations

import numpy as np

from hashmix.core.compiling import helper, inlined
from hashmix.partition.leaders import rank_of
from hashmix.partition.members import spare

__all__ = ["is_bounded", "permits_cut", "permits_move", "permits_split", "unite_leaders"]

_MOST = np.uint64(0xFFFFFFFFFFFFFFFF)


@inlined
def is_bounded(partition):
    """Whether there are bounds; else everything is permitted, and the functions below must not be called."""
    return len(partition.bounds.colours) > 0


@inlined
def _may_lead(bounds, i):
    return bounds.colours[i] == bounds.colour


@helper
def unite_leaders(partition, first, second):
    """Two clusters become one, whose leader is one of theirs."""
    ranks = partition.bounds.ranks
    ranks[first] = ranks[second] = min(ranks[first], ranks[second])


@inlined
def _permits_sides(partition, slot, least_a, leader_a, least_b, leader_b):
    """One of the two sides has the old leader. Side b gets the next free slot."""
    bounds = partition.bounds
    if not _may_lead(bounds, leader_b if least_a < least_b else leader_a):
        return False
    bounds.ranks[slot], bounds.ranks[spare(partition, 0)] = least_a, least_b
    return True


@helper
def permits_split(partition, slot, u, v, rows, sides, m):
    """Whether a cluster may be split: u and the listed rows of side 0, v and those of side 1 (−1: no rows start the sides)."""
    seed = partition.bounds.seed
    least_a = rank_of(seed, u) if u >= 0 else _MOST
    least_b = rank_of(seed, v) if v >= 0 else _MOST
    leader_a, leader_b = u, v
    for j in range(m):
        i = np.int64(rows[j])
        rank = rank_of(seed, i)
        if sides[j] == 0:
            if rank < least_a:
                least_a, leader_a = rank, i
        elif rank < least_b:
            least_b, leader_b = rank, i
    return _permits_sides(partition, slot, least_a, leader_a, least_b, leader_b)


@helper
def permits_cut(partition, slot, rows, m, marks):
    """Whether the first m listed rows may leave a cluster together; ``marks``, one per row of the data, are overwritten."""
    seed, start, size = partition.bounds.seed, partition.starts[slot], partition.sizes[slot]
    for place in range(start, start + size):
        marks[partition.pool[place]] = 0
    for j in range(m):
        marks[rows[j]] = 1
    least_a, least_b, leader_a, leader_b = _MOST, _MOST, np.int64(-1), np.int64(-1)
    for place in range(start, start + size):
        i = np.int64(partition.pool[place])
        rank = rank_of(seed, i)
        if marks[i] == 0:
            if rank < least_a:
                least_a, leader_a = rank, i
        elif rank < least_b:
            least_b, leader_b = rank, i
    return _permits_sides(partition, slot, least_a, leader_a, least_b, leader_b)


@helper
def _heir(partition, slot, leader):
    """The row of a cluster of least rank but the leader."""
    seed, start = partition.bounds.seed, partition.starts[slot]
    least, heir = _MOST, np.int64(-1)
    for place in range(start, start + partition.sizes[slot]):
        i = np.int64(partition.pool[place])
        rank = rank_of(seed, i)
        if i != leader and rank < least:
            least, heir = rank, i
    return heir


@helper
def permits_move(partition, i, slot):
    """Whether row i may move to another cluster, or to the slot ``spare(partition, 0)`` as a new one."""
    bounds, here = partition.bounds, partition.labels[i]
    ranks, rank = bounds.ranks, rank_of(bounds.seed, i)
    opens, leads = slot == spare(partition, 0), ranks[here] == rank
    if (opens or rank < ranks[slot]) and not _may_lead(bounds, i):
        return False
    if leads and partition.sizes[here] > 1:
        heir = _heir(partition, here, i)
        if not _may_lead(bounds, heir):
            return False
        ranks[here] = rank_of(bounds.seed, heir)
    ranks[slot] = rank if opens else min(rank, ranks[slot])
    return True
