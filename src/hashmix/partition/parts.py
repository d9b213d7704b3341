"""Parts of a partition: some clusters with all of their rows, changed by a worker of its own while others change other parts.

A part is a :class:`hashmix.partition.members.Partition` with the same slots and the same numbers of rows. Which slots are in
use or free, and where members are listed, is its own; what is kept by slot or by row is shared, and no two parts touch the
same entries. While it is changed, it reads labels in an array of the worker's, where rows of other parts have label −1.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from hashmix.components.contract import clear
from hashmix.core.compiling import borrowed, kernel
from hashmix.core.threads import Threads
from hashmix.partition.members import (
    MOVED,
    N_CLUSTERS,
    N_FREE,
    POOL_END,
    TURN,
    Partition,
    n_clusters,
    n_spare,
    regroup,
    spare,
)
from hashmix.partition.state import SPARE_SLOTS, State

__all__ = ["deal_slots", "enter", "leave", "part_of", "take_back"]

#: Clusters that may be opened in a part before it needs more slots: one, and one more for so many clusters that it has.
_CLUSTERS_PER_SLOT = 8


def part_of(partition: Partition, rows: np.ndarray, slots: np.ndarray) -> Partition:
    """The part with some clusters, and all of their rows in ascending order; it has no free slots yet.

    Examples
    --------
    >>> import numpy as np
    >>> from hashmix.partition.members import empty_partition, fill
    >>> from hashmix.partition.parts import part_of
    >>> partition = empty_partition(4, 5)
    >>> fill(partition, np.array([0, 0, 1, 2]), 3)
    >>> part_of(partition, np.array([2, 3]), np.array([1, 2])).active.tolist()
    [1, 2]
    """
    counters = np.zeros_like(partition.counters)
    counters[N_CLUSTERS], counters[POOL_END], counters[TURN] = len(slots), -1, -1
    partition.rank[slots] = np.arange(len(slots))
    return partition._replace(
        rows=rows,
        pool=np.empty(3 * len(rows) + 16, np.int32),
        active=np.array(slots, np.int32),
        free=np.empty(0, np.int32),
        counters=counters,
    )


def deal_slots(state: State, parts: Sequence[Partition]) -> list[Partition]:
    """The parts with more free slots each; the state grows if it has too few. Arrays over slots may be new ones."""
    wanted = [SPARE_SLOTS + 1 + int(part.counters[N_CLUSTERS]) // _CLUSTERS_PER_SLOT for part in parts]
    short = sum(wanted) - int(state.partition.counters[N_FREE])
    if short > 0:
        state.grow(state.capacity + max(short, state.capacity // 4))
    return [_with_slots(part, state.partition, n) for part, n in zip(parts, wanted, strict=True)]


def _with_slots(part: Partition, whole: Partition, n: int) -> Partition:
    k, n_free, left = part.counters[N_CLUSTERS], part.counters[N_FREE], whole.counters[N_FREE]
    active, free = np.empty((2, k + n_free + n), np.int32)
    active[:k] = part.active[:k]
    # New slots go below the old ones, which stay the next to be opened.
    free[:n], free[n : n + n_free] = whole.free[left - n : left], part.free[:n_free]
    whole.counters[N_FREE] -= n
    part.counters[N_FREE] += n
    return part._replace(
        active=active,
        free=free,
        starts=whole.starts,
        lengths=whole.lengths,
        sizes=whole.sizes,
        rank=whole.rank,
    )


def take_back(partition: Partition, parts: Sequence[Partition], threads: Threads) -> None:
    """Make one partition of its parts again. Clusters are listed in the order of the parts."""
    used = np.concatenate([part.active[: part.counters[N_CLUSTERS]] for part in parts])
    partition.active[: len(used)] = used
    partition.rank[used] = np.arange(len(used))
    freed = np.concatenate([part.free[: part.counters[N_FREE]] for part in parts])
    left = partition.counters[N_FREE]
    partition.free[left : left + len(freed)] = freed
    partition.counters[N_CLUSTERS] = len(used)
    partition.counters[N_FREE] += len(freed)
    partition.counters[MOVED] += sum(int(part.counters[MOVED]) for part in parts)
    regroup(partition, threads)


@kernel
def enter(part, labels):
    """Let a part's labels be those of its rows; the first time, list the members of its clusters."""
    part, labels = borrowed(part), borrowed(labels)
    for k in range(len(part.rows)):
        part.labels[part.rows[k]] = labels[part.rows[k]]
    if part.counters[POOL_END] >= 0:
        return
    end = 0
    for a in range(n_clusters(part)):
        slot = part.active[a]
        part.starts[slot] = end
        part.lengths[slot] = part.sizes[slot]
        end += part.sizes[slot]
        part.sizes[slot] = 0
    part.counters[POOL_END] = end
    for k in range(len(part.rows)):
        i = part.rows[k]
        slot = part.labels[i]
        place = part.starts[slot] + part.sizes[slot]
        part.pool[place] = i
        part.place[i] = place
        part.sizes[slot] += 1


@kernel
def leave(part, labels, slots, model):
    """Write the labels of a part's rows, forget them in the worker's array, and empty the slots that proposals used."""
    part, labels, slots, model = borrowed(part), borrowed(labels), borrowed(slots), borrowed(model)
    for k in range(len(part.rows)):
        i = part.rows[k]
        labels[i] = part.labels[i]
        part.labels[i] = -1
    for k in range(min(n_spare(part), SPARE_SLOTS)):
        clear(model, slots, spare(part, k))
