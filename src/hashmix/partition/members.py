"""Who is in which cluster. Knows nothing of data.

Clusters live in *slots* 0 … capacity − 1. The slots in use are listed in ``active``, the others on the stack ``free``.
The members of a cluster are contiguous: a segment of ``pool`` with some spare length. A full segment moves to the end of
the pool with twice the length; when the pool is full, all segments are packed. So moving a row takes O(1) amortised time,
and drawing a uniform member of a cluster takes O(1) time.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from hashmix.core.compiling import borrowed, helper, inlined, kernel
from hashmix.core.rng import integer
from hashmix.core.threads import Threads

__all__ = [
    "MOVED",
    "NO_BOUNDS",
    "N_CLUSTERS",
    "N_FREE",
    "POOL_END",
    "TURN",
    "Bounds",
    "Partition",
    "canonical_labels",
    "close_cluster",
    "empty_partition",
    "fill",
    "grown",
    "move_row",
    "n_clusters",
    "n_rows",
    "n_spare",
    "open_cluster",
    "regroup",
    "spare",
    "take_turn",
    "uniform_row",
]

# Entries of ``Partition.counters``: clusters, free slots, end of the used part of the pool, rows moved since statistics
# were last recomputed, and whose turn it is (−1: not drawn yet).
N_CLUSTERS, N_FREE, POOL_END, MOVED, TURN = range(5)


class Bounds(NamedTuple):
    """Which rows may lead clusters (:mod:`hashmix.partition.bounds`): those of a colour; any, if there are no colours.

    ``seed`` gives the ranks of rows, and ``ranks`` has those of leaders by slot.
    """

    seed: np.uint64
    colours: np.ndarray
    colour: int
    ranks: np.ndarray


NO_BOUNDS = Bounds(np.uint64(0), np.empty(0, np.int32), 0, np.empty(0, np.uint64))


class Partition(NamedTuple):
    """Arrays of a partition of n rows, changed in place.

    The members of the cluster in slot s are ``pool[starts[s] : starts[s] + sizes[s]]``; the clusters are the slots
    ``active[:n_clusters(partition)]``; row i is in slot ``labels[i]``. A part of a partition (:mod:`hashmix.partition.parts`)
    has some of the rows and all rows of its clusters; rows of other parts have label −1. Its ``bounds`` say which rows may lead
    its clusters.
    """

    rows: np.ndarray  # (m,) the rows there are, in ascending order
    bounds: Bounds
    labels: np.ndarray  # (n,) slot of each row
    place: np.ndarray  # (n,) where the row stands in the pool
    pool: np.ndarray  # (3n + 16,) members, segment by segment
    starts: np.ndarray  # (capacity,) where a cluster's segment starts
    lengths: np.ndarray  # (capacity,) length of the segment
    sizes: np.ndarray  # (capacity,) how much of it is in use
    active: np.ndarray  # (capacity,) slots in use, in no particular order
    rank: np.ndarray  # (capacity,) where a slot stands in ``active``
    free: np.ndarray  # (capacity,) stack of unused slots
    counters: np.ndarray  # see above


def empty_partition(n: int, capacity: int) -> Partition:
    """A partition whose rows are in no cluster yet (label −1)."""
    counters = np.zeros(5, np.int64)
    counters[N_FREE], counters[TURN] = capacity, -1
    return Partition(
        rows=np.arange(n, dtype=np.int32),
        bounds=NO_BOUNDS,
        labels=np.full(n, -1, np.int32),
        place=np.zeros(n, np.int32),
        pool=np.zeros(3 * n + 16, np.int32),
        starts=np.zeros(capacity, np.int64),
        lengths=np.zeros(capacity, np.int64),
        sizes=np.zeros(capacity, np.int64),
        active=np.zeros(capacity, np.int32),
        rank=np.zeros(capacity, np.int32),
        free=np.arange(capacity, dtype=np.int32)[::-1].copy(),
        counters=counters,
    )


def grown(partition: Partition, capacity: int) -> Partition:
    """The same partition with more slots; arrays over rows are shared, not copied."""
    old = len(partition.sizes)
    bigger = empty_partition(0, capacity)
    for name in ("starts", "lengths", "sizes", "active", "rank"):
        getattr(bigger, name)[:old] = getattr(partition, name)
    n_free = partition.counters[N_FREE]
    added = capacity - old
    # New slots go below the old ones: the slots on top of the stack stay the next to be opened.
    bigger.free[:added] = np.arange(old, capacity)[::-1]
    bigger.free[added : added + n_free] = partition.free[:n_free]
    partition.counters[N_FREE] += added
    kept = {name: getattr(partition, name) for name in ("rows", "bounds", "labels", "place", "pool", "counters")}
    return bigger._replace(**kept)


@inlined
def n_clusters(partition):
    """Number of clusters."""
    return partition.counters[N_CLUSTERS]


@inlined
def n_rows(partition):
    """Number of rows: all, or those of a part."""
    return len(partition.rows)


@inlined
def uniform_row(rng, partition):
    """A uniform row."""
    return np.int64(partition.rows[integer(rng, len(partition.rows))])


@inlined
def n_spare(partition):
    """Number of free slots."""
    return partition.counters[N_FREE]


@inlined
def spare(partition, k):
    """The k-th free slot from the top of the stack, for a proposal to use; ``spare(0)`` is the next to be opened.

    An int64 like other numbers of slots, so that what takes one is compiled once.
    """
    return np.int64(partition.free[partition.counters[N_FREE] - 1 - k])


@inlined
def take_turn(rng, partition):
    """Visit rows in order, starting at a random one: whose turn it is depends on the number of turns so far alone."""
    if partition.counters[TURN] < 0:
        partition.counters[TURN] = integer(rng, len(partition.rows))
    turn = partition.counters[TURN]
    partition.counters[TURN] = (turn + 1) % len(partition.rows)
    return np.int64(partition.rows[turn])


@helper
def open_cluster(partition):
    """Open the next free slot; the caller moves rows into it."""
    counters = partition.counters
    counters[N_FREE] -= 1
    slot = partition.free[counters[N_FREE]]
    partition.sizes[slot] = 0
    partition.lengths[slot] = 0
    partition.rank[slot] = counters[N_CLUSTERS]
    partition.active[counters[N_CLUSTERS]] = slot
    counters[N_CLUSTERS] += 1
    return slot


@helper
def close_cluster(partition, slot):
    """Free the slot of an empty cluster."""
    counters = partition.counters
    counters[N_CLUSTERS] -= 1
    last = partition.active[counters[N_CLUSTERS]]
    partition.active[partition.rank[slot]] = last
    partition.rank[last] = partition.rank[slot]
    partition.free[counters[N_FREE]] = slot
    counters[N_FREE] += 1


@helper
def _pack(partition, growing):
    """Rewrite the pool with a little spare length in every segment, and twice its size for the growing one."""
    old = partition.pool.copy()
    end = 0
    for a in range(partition.counters[N_CLUSTERS]):
        slot = partition.active[a]
        size, start = partition.sizes[slot], partition.starts[slot]
        for j in range(size):
            member = old[start + j]
            partition.pool[end + j] = member
            partition.place[member] = end + j
        partition.starts[slot] = end
        partition.lengths[slot] = 2 * size + 2 if slot == growing else size + size // 4 + 1
        end += partition.lengths[slot]
    partition.counters[POOL_END] = end


@helper
def _lengthen(partition, slot):
    """Make a full segment long enough for at least one more member."""
    size, start = partition.sizes[slot], partition.starts[slot]
    length = max(4, 2 * size)
    end = partition.counters[POOL_END]
    if end + length > len(partition.pool):
        _pack(partition, slot)
        return
    for j in range(size):
        member = partition.pool[start + j]
        partition.pool[end + j] = member
        partition.place[member] = end + j
    partition.starts[slot] = end
    partition.lengths[slot] = length
    partition.counters[POOL_END] = end + length


@helper
def _append(partition, i, slot):
    if partition.sizes[slot] == partition.lengths[slot]:
        _lengthen(partition, slot)
    place = partition.starts[slot] + partition.sizes[slot]
    partition.pool[place] = i
    partition.place[i] = place
    partition.labels[i] = slot
    partition.sizes[slot] += 1


@helper
def move_row(partition, i, slot):
    """Move row i to another cluster; the caller closes a cluster that is left empty."""
    old = partition.labels[i]
    partition.sizes[old] -= 1
    last = partition.pool[partition.starts[old] + partition.sizes[old]]
    partition.pool[partition.place[i]] = last
    partition.place[last] = partition.place[i]
    _append(partition, i, slot)
    partition.counters[MOVED] += 1


def fill(partition: Partition, labels: np.ndarray, n_labels: int) -> None:
    """Put every row of an empty partition into the cluster of its label (0 … n_labels − 1, each used)."""
    sizes = np.bincount(labels, minlength=n_labels)
    order = np.argsort(labels, kind="stable")
    partition.labels[:] = labels
    partition.pool[: len(labels)] = order
    partition.place[order] = np.arange(len(labels))
    partition.sizes[:n_labels] = partition.lengths[:n_labels] = sizes
    partition.starts[:n_labels] = np.cumsum(sizes) - sizes
    partition.active[:n_labels] = partition.rank[:n_labels] = np.arange(n_labels)
    counters = partition.counters
    counters[N_CLUSTERS], counters[POOL_END] = n_labels, len(labels)
    counters[N_FREE] -= n_labels


#: Rows per task when members are listed again.
_REGROUP_BLOCK = 65_536


@kernel
def _count_block(partition, counts, begin, end):
    labels, counts = borrowed(partition.labels), borrowed(counts)
    for i in range(begin, end):
        counts[labels[i]] += 1


@kernel
def _list_block(partition, places, begin, end):
    labels, pool, place, places = (
        borrowed(partition.labels),
        borrowed(partition.pool),
        borrowed(partition.place),
        borrowed(places),
    )
    for i in range(begin, end):
        at = places[labels[i]]
        places[labels[i]] = at + 1
        pool[at] = i
        place[i] = at


def regroup(partition: Partition, threads: Threads) -> None:
    """List the members of all clusters again, after labels were changed among the clusters there are.

    A cluster must not have been emptied or opened. Rows are listed in ascending order, whatever the number of threads.
    """
    n, capacity = len(partition.labels), len(partition.sizes)
    begins = np.arange(0, n, _REGROUP_BLOCK)
    counts = np.zeros((len(begins), capacity), np.int64)
    spans = [(b, begin, min(begin + _REGROUP_BLOCK, n)) for b, begin in enumerate(begins.tolist())]
    threads.map(lambda span: _count_block(partition, counts[span[0]], span[1], span[2]), spans)
    used = partition.active[: partition.counters[N_CLUSTERS]]
    sizes = counts.sum(axis=0)
    partition.sizes[used] = partition.lengths[used] = sizes[used]
    partition.starts[used] = np.cumsum(sizes[used]) - sizes[used]
    partition.counters[POOL_END] = n
    places = partition.starts + np.cumsum(counts, axis=0) - counts
    threads.map(lambda span: _list_block(partition, places[span[0]], span[1], span[2]), spans)


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
