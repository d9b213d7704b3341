"""The partition itself: who is in which cluster. Knows nothing of data.

Clusters live in *slots* 0 … capacity−1; the slots in use are listed in ``active``, the others on the stack ``free``.
The members of a cluster are contiguous: a segment of ``pool`` with room to grow. A segment that is full moves to the
end of the pool with twice the room; when the pool is full, all segments are packed anew. So moving a point takes O(1)
amortised time, and a uniformly random member of a cluster takes O(1) too.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from hashmix.compiling import helper, inlined, kernel
from hashmix.rng import integer

__all__ = [
    "Partition",
    "canonical_labels",
    "close_cluster",
    "empty_partition",
    "move_point",
    "n_clusters",
    "n_spare",
    "open_cluster",
    "spare",
    "take_turn",
]

# Places in ``counters``.
_CLUSTERS, _FREE, _POOL_END, _MOVED, _TURN = 0, 1, 2, 3, 4


class Partition(NamedTuple):
    """Arrays of a partition of n points; changed in place."""

    labels: np.ndarray  # (n,) slot of each point
    place: np.ndarray  # (n,) where the point stands in the pool
    pool: np.ndarray  # (3n + 16,) members, segment by segment
    starts: np.ndarray  # (capacity,) first place of a cluster's segment
    rooms: np.ndarray  # (capacity,) length of the segment
    sizes: np.ndarray  # (capacity,) how much of it is in use
    active: np.ndarray  # (capacity,) slots in use, in no particular order
    rank: np.ndarray  # (capacity,) where a slot stands in ``active``
    free: np.ndarray  # (capacity,) stack of unused slots
    counters: np.ndarray  # clusters, free slots, end of the pool, points moved since the last refresh, whose turn it is


def empty_partition(n: int, capacity: int) -> Partition:
    """A partition whose points are in no cluster yet (label −1)."""
    return Partition(
        labels=np.full(n, -1, np.int32),
        place=np.zeros(n, np.int32),
        pool=np.zeros(3 * n + 16, np.int32),
        starts=np.zeros(capacity, np.int64),
        rooms=np.zeros(capacity, np.int64),
        sizes=np.zeros(capacity, np.int64),
        active=np.zeros(capacity, np.int32),
        rank=np.zeros(capacity, np.int32),
        free=np.arange(capacity, dtype=np.int32)[::-1].copy(),
        counters=np.array([0, capacity, 0, 0, -1], np.int64),
    )


def grown(partition: Partition, capacity: int) -> Partition:
    """The same partition with more slots; point arrays are shared, not copied."""
    old = len(partition.sizes)
    bigger = empty_partition(0, capacity)
    for name in ("starts", "rooms", "sizes", "active", "rank"):
        getattr(bigger, name)[:old] = getattr(partition, name)
    n_free = partition.counters[_FREE]
    added = capacity - old
    # New slots go below the old ones: the slots on top of the stack stay the next to be taken.
    bigger.free[:added] = np.arange(old, capacity)[::-1]
    bigger.free[added : added + n_free] = partition.free[:n_free]
    partition.counters[_FREE] += added
    return bigger._replace(labels=partition.labels, place=partition.place, pool=partition.pool, counters=partition.counters)


@inlined
def n_clusters(partition):
    """How many clusters there are."""
    return partition.counters[_CLUSTERS]


@inlined
def n_spare(partition):
    """How many slots are free."""
    return partition.counters[_FREE]


@inlined
def spare(partition, k):
    """The k-th free slot from the top of the stack: room for a proposal; ``spare(0)`` is the next to be opened."""
    return partition.free[partition.counters[_FREE] - 1 - k]


@inlined
def take_turn(rng, partition):
    """Points in their order, from a random one on: whose turn it is depends on how many have had theirs, and nothing else."""
    if partition.counters[_TURN] < 0:
        partition.counters[_TURN] = integer(rng, len(partition.labels))
    i = partition.counters[_TURN]
    partition.counters[_TURN] = (i + 1) % len(partition.labels)
    return i


@helper
def open_cluster(partition):
    """Take a free slot; the caller puts points into it."""
    counters = partition.counters
    counters[_FREE] -= 1
    slot = partition.free[counters[_FREE]]
    partition.sizes[slot] = 0
    partition.rooms[slot] = 0
    partition.rank[slot] = counters[_CLUSTERS]
    partition.active[counters[_CLUSTERS]] = slot
    counters[_CLUSTERS] += 1
    return slot


@helper
def close_cluster(partition, slot):
    """Give an empty cluster's slot back."""
    counters = partition.counters
    counters[_CLUSTERS] -= 1
    last = partition.active[counters[_CLUSTERS]]
    partition.active[partition.rank[slot]] = last
    partition.rank[last] = partition.rank[slot]
    partition.free[counters[_FREE]] = slot
    counters[_FREE] += 1


@helper
def _pack(partition, growing):
    """Rewrite the pool with a little room in every segment, and twice its size for the growing one."""
    old = partition.pool.copy()
    end = 0
    for a in range(partition.counters[_CLUSTERS]):
        slot = partition.active[a]
        size, start = partition.sizes[slot], partition.starts[slot]
        for j in range(size):
            member = old[start + j]
            partition.pool[end + j] = member
            partition.place[member] = end + j
        partition.starts[slot] = end
        partition.rooms[slot] = 2 * size + 2 if slot == growing else size + size // 4 + 1
        end += partition.rooms[slot]
    partition.counters[_POOL_END] = end


@helper
def _make_room(partition, slot):
    """Give a full segment room for at least one more member."""
    size, start = partition.sizes[slot], partition.starts[slot]
    room = max(4, 2 * size)
    end = partition.counters[_POOL_END]
    if end + room > len(partition.pool):
        _pack(partition, slot)
        return
    for j in range(size):
        member = partition.pool[start + j]
        partition.pool[end + j] = member
        partition.place[member] = end + j
    partition.starts[slot] = end
    partition.rooms[slot] = room
    partition.counters[_POOL_END] = end + room


@helper
def _append(partition, i, slot):
    if partition.sizes[slot] == partition.rooms[slot]:
        _make_room(partition, slot)
    place = partition.starts[slot] + partition.sizes[slot]
    partition.pool[place] = i
    partition.place[i] = place
    partition.labels[i] = slot
    partition.sizes[slot] += 1


@helper
def move_point(partition, i, slot):
    """Move point i to another cluster; a cluster left empty must be closed by the caller."""
    old = partition.labels[i]
    partition.sizes[old] -= 1
    last = partition.pool[partition.starts[old] + partition.sizes[old]]
    partition.pool[partition.place[i]] = last
    partition.place[last] = partition.place[i]
    _append(partition, i, slot)
    partition.counters[_MOVED] += 1


def fill(partition: Partition, labels: np.ndarray, n_labels: int) -> None:
    """Put every point of an empty partition into the cluster of its label (0 … n_labels − 1, none unused)."""
    sizes = np.bincount(labels, minlength=n_labels)
    order = np.argsort(labels, kind="stable")
    partition.labels[:] = labels
    partition.pool[: len(labels)] = order
    partition.place[order] = np.arange(len(labels))
    partition.sizes[:n_labels] = partition.rooms[:n_labels] = sizes
    partition.starts[:n_labels] = np.cumsum(sizes) - sizes
    partition.active[:n_labels] = partition.rank[:n_labels] = np.arange(n_labels)
    partition.counters[:3] = n_labels, partition.counters[_FREE] - n_labels, len(labels)


@kernel
def canonical_labels(labels, n_slots):
    """Labels renumbered 0, 1, … in the order of first appearance, and how many there are."""
    new = np.full(n_slots, -1, np.int32)
    out = np.empty(len(labels), np.int32)
    found = 0
    for i in range(len(labels)):
        label = labels[i]
        if new[label] < 0:
            new[label] = found
            found += 1
        out[i] = new[label]
    return out, found
