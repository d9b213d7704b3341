"""Regions of a partition: clusters, and all of their rows, by the colours of their leaders."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from hashmix.core.compiling import borrowed, kernel
from hashmix.partition.leaders import find_leaders, rank_of
from hashmix.partition.state import State

__all__ = ["Regions", "share_out"]

#: Rows per task while regions are found.
_BLOCK = 16_384


class Regions(NamedTuple):
    """All rows by region; ``ranks`` are those of leaders, by slot.

    Region r has the rows ``order[begins[r] : begins[r + 1]]``, in ascending order, and the slots
    ``clusters[firsts[r] : firsts[r + 1]]``, in the order of their leaders' ranks. Row i is in region ``of_rows[i]``.
    """

    ranks: np.ndarray
    of_rows: np.ndarray
    order: np.ndarray
    begins: np.ndarray
    clusters: np.ndarray
    firsts: np.ndarray

    def rows(self, r: int) -> np.ndarray:
        """The rows of a region."""
        return self.order[self.begins[r] : self.begins[r + 1]]

    def slots(self, r: int) -> np.ndarray:
        """The slots of a region's clusters."""
        return self.clusters[self.firsts[r] : self.firsts[r + 1]]


@kernel
def _leader_rows(seed, labels, ranks, rows, begin, end):
    """Write the row that leads each cluster; every leader is in one block."""
    labels, ranks, rows = borrowed(labels), borrowed(ranks), borrowed(rows)
    for i in range(begin, end):
        if rank_of(seed, i) == ranks[labels[i]]:
            rows[labels[i]] = i


@kernel
def _count_rows(labels, of_slots, regions, counts, begin, end):
    labels, of_slots, regions, counts = borrowed(labels), borrowed(of_slots), borrowed(regions), borrowed(counts)
    for i in range(begin, end):
        regions[i] = of_slots[labels[i]]
        counts[regions[i]] += 1


@kernel
def _list_rows(regions, places, order, begin, end):
    regions, places, order = borrowed(regions), borrowed(places), borrowed(order)
    for i in range(begin, end):
        order[places[regions[i]]] = i
        places[regions[i]] += 1


def share_out(state: State, seed: np.uint64, colours: Callable[[np.ndarray], np.ndarray]) -> Regions:
    """Share all clusters and their rows out to regions, with a function that gives the colours 0, 1, … of some rows.

    Regions depend on the seed, the colours and the set of leaders alone. The rows are listed in ``state.scratch.rows``.

    Examples
    --------
    >>> import numpy as np, hashmix as hm
    >>> from hashmix.moves.parallel.regions_sharing import share_out
    >>> from hashmix.partition.state import State
    >>> from hashmix.partition.target import Target
    >>> component, prior = hm.components.DiagonalGaussian(5.0, 0.1, 2.0, 0.1), hm.priors.DirichletProcess(1.0)
    >>> state = State(Target.of(np.array([[0.0], [0.1], [9.0]]), component, prior), [0, 0, 1])
    >>> share_out(state, np.uint64(1), np.zeros_like).rows(0).tolist()
    [0, 1, 2]
    """
    partition, threads, n = state.partition, state.threads, state.n_rows
    blocks = [(b, begin, min(begin + _BLOCK, n)) for b, begin in enumerate(range(0, n, _BLOCK))]
    leaders = find_leaders(seed, partition)
    rows = np.empty(state.capacity, np.int32)
    threads.map(lambda at: _leader_rows(seed, partition.labels, leaders.ranks, rows, at[1], at[2]), blocks)
    of_leaders = colours(rows[leaders.order])
    of_slots = np.empty(state.capacity, np.int32)
    of_slots[leaders.order] = of_leaders

    n_regions = int(of_leaders.max()) + 1
    regions, counts = np.empty(n, np.int32), np.zeros((len(blocks), n_regions), np.int64)
    threads.map(lambda at: _count_rows(partition.labels, of_slots, regions, counts[at[0]], at[1], at[2]), blocks)
    begins = np.concatenate([[0], np.cumsum(counts.sum(axis=0))])
    places = begins[:-1] + np.cumsum(counts, axis=0) - counts
    order = state.scratch.rows
    threads.map(lambda at: _list_rows(regions, places[at[0]], order, at[1], at[2]), blocks)

    clusters = leaders.order[np.argsort(of_leaders, kind="stable")]
    firsts = np.concatenate([[0], np.cumsum(np.bincount(of_leaders, minlength=n_regions))])
    return Regions(leaders.ranks, regions, order, begins, clusters, firsts)
