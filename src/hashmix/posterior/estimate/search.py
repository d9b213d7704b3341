"""The partition with the least expected loss: a greedy search over partitions, not only over the draws.

Groups of rows (:mod:`hashmix.posterior.estimate.groups`) are visited one by one, and each moves to the cluster that lowers
the expected loss most (in the manner of SALSO: Dahl, Johnson and Müller 2022). What a move changes is read off the
contingency tables of the estimate with every draw. A contingency table is kept as short lists, one for each cluster of the
draw, of the estimate's clusters it overlaps (:mod:`hashmix.posterior.estimate.overlaps`): a visit costs at most the entries
of the group's lists, not draws × clusters, and no n × n matrix is ever made.

The work is bounded in units that do not depend on the machine: the same seed gives the same estimate everywhere.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from hashmix.posterior.estimate import overlaps
from hashmix.posterior.estimate.losses import loss_values, sorted_by_label
from hashmix.posterior.estimate.overlaps import INDEX, NOWHERE, Overlaps

__all__ = ["least_expected_loss"]

#: Runs that start from random orders, at most, beside the one that starts from a draw; and how many clusters each run rebuilds.
RUNS, REBUILDS = 8, 10
#: Largest number of sweeps over all groups per run. A run ends earlier if a sweep moves at most one group in this many.
SWEEPS, STABLE = 20, 10_000
#: Work that the search may do, in entries read. Runs from random orders are started only if all runs are likely to need less
#: than the second number.
WORK, WORK_FOR_RUNS = 3_000_000_000, 200_000_000
#: Blocks of adjacent groups that are visited in random order: neighbours share lists, which then are in the cache.
BLOCKS = 4096
#: A group stays unless a move gains more than this, and more than the rounding errors of the sums that are compared.
_LEAST_GAIN, _ROUNDING = 1e-9, 1e-14
#: Entries that a list has memory for at first, at most.
_FIRST_CAPACITY = 4


class _Search:
    """An estimate that is being improved.

    ``draws`` (draw, group) and ``weights`` are those of :func:`least_expected_loss`; ``start`` is the estimate at first.
    """

    def __init__(self, draws: np.ndarray, weights: np.ndarray, start: np.ndarray, values: np.ndarray) -> None:
        n_draws, self.n_groups = draws.shape
        self.values = values
        self.least_gain = _LEAST_GAIN + _ROUNDING * n_draws * float(values[-1])
        self.counters = np.zeros(overlaps.N_COUNTERS, np.int64)
        n_clusters = int(start.max()) + 1
        by_cluster = [sorted_by_label(draw, int(draw.max()) + 1) for draw in draws]
        self.members = np.concatenate([np.diff(starts) for _, starts in by_cluster])
        first = np.cumsum([0, *(len(starts) - 1 for _, starts in by_cluster)])
        lists = np.empty((self.n_groups, n_draws), INDEX)
        overlaps.number_lists(draws, first, lists)
        needed = np.concatenate([overlaps.list_lengths(order, starts, start, n_clusters) for order, starts in by_cluster])
        capacities = np.minimum(needed + needed // 4 + 1, self.members)
        self.marks, self.mark = np.zeros(len(needed), np.int32), 0
        self.t = self._empty(lists, weights.astype(INDEX), max(n_clusters, int(draws.max()) + 1), capacities)
        self.t.labels[:] = start
        self.t.sizes[:n_clusters] = np.bincount(start, weights, n_clusters)
        for s, (order, starts) in enumerate(by_cluster):
            overlaps.fill_lists(self.t, order, starts, first[s])
        self._list_vacant(n_clusters)

    def _empty(self, lists: np.ndarray, weights: np.ndarray, capacity: int, capacities: np.ndarray) -> Overlaps:
        ends = np.cumsum(capacities)
        heads = np.zeros((len(ends), 3), INDEX)
        heads[:, overlaps.START], heads[:, overlaps.CAPACITY] = ends - capacities, capacities
        n_entries = int(ends[-1]) + max(int(ends[-1]) // 4, 4 * lists.shape[1])
        self.counters[[overlaps.NUMBERED, overlaps.VACANT, overlaps.END]] = 0, 0, ends[-1]
        self.gains, self.seen = np.zeros(capacity), np.empty(capacity, INDEX)
        return Overlaps(
            lists=lists,
            heads=heads,
            entries=np.zeros((n_entries, 2), INDEX),
            weights=weights,
            labels=np.full(self.n_groups, NOWHERE, np.int32),
            sizes=np.zeros(capacity, np.int64),
            vacant=np.zeros(capacity, np.int32),
            counters=self.counters,
        )

    def clear(self) -> None:
        """Take all groups out of their clusters."""
        self.t = self._empty(self.t.lists, self.t.weights, len(self.t.sizes), np.minimum(self.members, _FIRST_CAPACITY))

    @property
    def work(self) -> int:
        """Work done so far."""
        return int(self.counters[overlaps.WORK])

    def _list_vacant(self, numbered: int) -> None:
        """Find the numbers below ``numbered`` that no cluster has."""
        vacant = np.flatnonzero(self.t.sizes[:numbered] == 0)
        self.t.vacant[: len(vacant)] = vacant
        self.counters[overlaps.NUMBERED], self.counters[overlaps.VACANT] = numbered, len(vacant)

    def _grow(self) -> None:
        t = self.t
        if self.counters[overlaps.NUMBERED] == len(t.sizes):
            capacity = 2 * len(t.sizes)
            self.gains, self.seen = np.zeros(capacity), np.empty(capacity, INDEX)
            self.t = t._replace(sizes=_doubled(t.sizes), vacant=_doubled(t.vacant))
        else:
            self.t = t._replace(entries=_doubled(t.entries))

    def put(self, groups: np.ndarray, clusters: np.ndarray) -> None:
        """Put groups into given clusters, which have their numbers already, or nowhere (−1)."""
        done = 0
        while done < len(groups):
            done = overlaps.put(self.t, groups, clusters, done)
            if done < len(groups):
                self._grow()
        self._list_vacant(int(self.counters[overlaps.NUMBERED]))

    def allocate(self, order: np.ndarray) -> int:
        """Put groups one by one where they add least to the loss; returns how many changed their cluster."""
        changed = done = 0
        while done < len(order):
            more, done = overlaps.allocate(self.t, order, self.values, self.gains, self.seen, self.least_gain, done, WORK)
            changed += more
            if done < len(order):
                if self.work >= WORK and self.t.labels[order[done]] != NOWHERE:
                    break
                self._grow()
        return changed

    def order(self, rng: np.random.Generator) -> np.ndarray:
        """All groups in random order, adjacent ones together if there are many."""
        size = -(-self.n_groups // BLOCKS)
        starts = rng.permutation(np.arange(0, self.n_groups, size, dtype=np.int32))
        order = (starts[:, None] + np.arange(size, dtype=np.int32)).ravel()
        return order[order < self.n_groups]

    def sweep_until_stable(self, rng: np.random.Generator) -> None:
        """Visit all groups, in random orders, until few of them change their cluster."""
        for _ in range(SWEEPS):
            changed = self.allocate(self.order(rng))
            if changed <= self.n_groups // STABLE or self.work >= WORK:
                return

    def rebuild(self, rng: np.random.Generator) -> None:
        """Take a cluster apart and allocate its groups again; undo it unless the loss is lower."""
        labels = self.t.labels.copy()
        chosen = rng.choice(np.flatnonzero(self.t.sizes))
        members = rng.permutation(np.flatnonzero(labels == chosen)).astype(np.int32)
        before = self.loss(members)
        self.put(members, np.full(len(members), NOWHERE, np.int32))
        self.allocate(members)
        self.allocate(members)
        if self.loss(members) > before:
            self.put(members, labels[members])

    def loss(self, groups: np.ndarray) -> float:
        """The expected loss times rows and draws, up to a constant as long as only these groups move."""
        self.mark += 1
        return float(overlaps.varying_loss(self.t, groups, self.values, self.marks, self.mark))


def _doubled(array: np.ndarray) -> np.ndarray:
    return np.concatenate([array, np.zeros_like(array)])


def least_expected_loss(
    draws: np.ndarray, weights: np.ndarray, start: np.ndarray, by_information: bool, seed: Any = 0
) -> np.ndarray:
    """Labels of groups with a small expected loss to the draws: no larger than that of the partition the search starts from.

    Parameters
    ----------
    draws : int array of shape (n_draws, n_groups)
        The draws' labels of groups of rows.
    weights : int array of shape (n_groups,)
        Number of rows of each group.
    start : int array of shape (n_groups,)
        Where the first run starts: a good draw.
    by_information : bool
        Variation of information; otherwise Binder's loss.
    seed : int
        For the orders in which groups are visited.

    Examples
    --------
    >>> import numpy as np
    >>> from hashmix.posterior.estimate.search import least_expected_loss
    >>> draws = np.array([[0, 0, 1, 1], [0, 0, 1, 1], [0, 0, 0, 1]])
    >>> least_expected_loss(draws, np.ones(4, int), draws[2], True).tolist()
    [0, 0, 1, 1]
    """
    rng = np.random.default_rng(seed)
    start = np.asarray(start, np.int32)
    search = _Search(draws, weights, start, loss_values(int(weights.sum()), by_information))
    everything = np.arange(len(weights), dtype=np.int32)
    best, least = start, search.loss(everything)
    for run in range(1 + RUNS):
        if run > 0:
            if search.work * (run + 1) / run >= WORK_FOR_RUNS:  # if this run takes as much as each of the others
                break
            search.clear()
            search.allocate(search.order(rng))
        search.sweep_until_stable(rng)
        for _ in range(REBUILDS):
            if search.work < WORK:
                search.rebuild(rng)
        loss = search.loss(everything)
        if loss < least - search.least_gain:
            best, least = search.t.labels.copy(), loss
    return best
