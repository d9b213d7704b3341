"""Ranks of rows and leaders of clusters: what lets all rows move at once.

A row's rank is a hash of a seed and its number, so it is never stored and never depends on a label. The *leader* of a cluster
is its row of least rank. A parallel move keeps leaders where they are, and lets a row join a cluster only if the leader's rank
is less than its own. So the leaders are the same before and after, no cluster is emptied, and none is opened.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from hashmix.core.compiling import borrowed, hot_helper, kernel
from hashmix.core.rng import mix
from hashmix.partition.members import N_CLUSTERS

__all__ = ["Leaders", "find_leaders", "least_ranks", "rank_of"]

_STEP = np.uint64(0x9E3779B97F4A7C15)
_MOST = np.uint64(0xFFFFFFFFFFFFFFFF)
_ONE = np.uint64(1)


class Leaders(NamedTuple):
    """``ranks`` of the leaders by slot, and the ``order`` of the slots in use by them, least first."""

    ranks: np.ndarray  # (capacity,)
    order: np.ndarray  # (K,)


@hot_helper
def rank_of(seed, i):
    """The rank of row i: a bijection of 64-bit words, so that no two rows have the same."""
    return mix(seed + (np.uint64(i) + _ONE) * _STEP)


@kernel
def least_ranks(seed, first, labels, capacity):
    """The least rank in every cluster of some consecutive rows, ``first`` and those after it."""
    labels = borrowed(labels)
    ranks = np.full(capacity, _MOST, np.uint64)
    for i in range(len(labels)):
        rank = rank_of(seed, first + i)
        if rank < ranks[labels[i]]:
            ranks[labels[i]] = rank
    return ranks


def find_leaders(seed: np.uint64, partition: Any) -> Leaders:
    """The leaders of all clusters under the ranks of a seed.

    Examples
    --------
    >>> import numpy as np
    >>> from hashmix.partition.leaders import find_leaders
    >>> from hashmix.partition.members import empty_partition, fill
    >>> partition = empty_partition(4, 3)
    >>> fill(partition, np.array([0, 0, 1, 0]), 2)
    >>> sorted(find_leaders(np.uint64(7), partition).order.tolist())
    [0, 1]
    """
    ranks = least_ranks(seed, 0, partition.labels, len(partition.sizes))
    used = partition.active[: partition.counters[N_CLUSTERS]]
    return Leaders(ranks, used[np.argsort(ranks[used])])
