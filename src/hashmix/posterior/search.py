"""The partition with the least expected loss: a greedy search over partitions, not only over the draws.

Rows are gone through one by one, each moving to the cluster that lowers the expected loss most (in the manner of SALSO: Dahl,
Johnson and Müller 2022). What a move changes is read off the contingency tables of the estimate with every draw. A table is
kept as short lists, for each of a draw's clusters the estimate's clusters it overlaps: a row costs the entries of its lists,
not draws × clusters, and an n × n matrix is never made.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from hashmix.compiling import borrowed, helper, kernel

__all__ = ["least_expected_loss"]

#: Runs from random orders beside the one from the best draw, at most, and how many clusters each takes apart and rebuilds.
_RUNS, _REBUILT = 8, 10
#: Labels (rows × draws) all runs from random orders may go through; beyond, only the best draw is improved.
_LABELS_FOR_RUNS = 30_000_000
#: A row stays unless its move gains more than this; and what marks a cluster as seen, where an overlap gains nothing.
_STAY, _TIE = 1e-9, 1e-12
#: Entries a list has room for at first.
_ROOM = 4
#: Times all rows are gone through, at most.
_SWEEPS = 20

# Places in ``counters``.
_N_CLUSTERS, _END = 0, 1


class Tables(NamedTuple):
    """The contingency tables of an estimate with every draw.

    ``lists`` (n, S): for each row and draw, the number of the list of the draw's cluster it is in. List r begins at
    ``heads[r, 0]`` in ``entries`` (cluster, count), and has ``heads[r, 1]`` of them and room for ``heads[r, 2]``. ``counters``
    holds the number of clusters and the end of the pool. ``sizes`` are those of the estimate's ``labels`` (−1: nowhere yet).
    """

    lists: np.ndarray
    heads: np.ndarray
    entries: np.ndarray
    labels: np.ndarray
    sizes: np.ndarray
    counters: np.ndarray


@helper
def _change(t, r, cluster, by):
    """Add to the count of a cluster in list r; an entry that falls to zero goes."""
    begin, length = t.heads[r, 0], t.heads[r, 1]
    entries = t.entries
    at = begin
    while at < begin + length and entries[at, 0] != cluster:
        at += 1
    if at < begin + length:
        entries[at, 1] += by
        if entries[at, 1] == 0:
            last = begin + length - 1
            entries[at, 0], entries[at, 1] = entries[last, 0], entries[last, 1]
            t.heads[r, 1] -= 1
        return
    if length == t.heads[r, 2]:  # moves to the end of the pool, with room for twice as many
        new = t.counters[_END]
        for k in range(length):
            entries[new + k, 0], entries[new + k, 1] = entries[begin + k, 0], entries[begin + k, 1]
        t.counters[_END] += 2 * length
        t.heads[r, 0] = begin = new
        t.heads[r, 2] = 2 * length
    entries[begin + length, 0], entries[begin + length, 1] = cluster, by
    t.heads[r, 1] += 1


@helper
def _is_full(t, i):
    """Whether the pool might have no room for one more entry in all lists of row i."""
    needed = 0
    for s in range(t.lists.shape[1]):
        needed += 2 * t.heads[t.lists[i, s], 2]
    return t.counters[_END] + needed > len(t.entries)


@helper
def _move(t, i, cluster):
    """Put row i, wherever it is, into a cluster, or nowhere (−1)."""
    before = t.labels[i]
    for s in range(t.lists.shape[1]):
        r = t.lists[i, s]
        if before >= 0:
            _change(t, r, before, -1)
        if cluster >= 0:
            _change(t, r, cluster, 1)
    if before >= 0:
        t.sizes[before] -= 1
    if cluster >= 0:
        t.sizes[cluster] += 1
    t.labels[i] = cluster


@helper
def _best(t, i, steps, gains, touched):
    """The cluster in which row i adds least to the loss, all others being where they are; −1: a new one.

    ``steps[x]`` is f(x + 1) − f(x) of the loss's function f; the loss is S Σ f(sizes) − 2 Σ f(cells) and what does not change.
    """
    n_draws = t.lists.shape[1]
    own = t.labels[i]
    found = 0
    for s in range(n_draws):
        r = t.lists[i, s]
        begin = t.heads[r, 0]
        for at in range(begin, begin + t.heads[r, 1]):
            c, count = t.entries[at, 0], t.entries[at, 1]
            if gains[c] == 0.0:
                touched[found] = c
                found += 1
            gains[c] += steps[count - (c == own)] - steps[0] + _TIE
    best, least = -1, 0.0  # a new cluster, which adds what all others add too
    for k in range(found):
        c = touched[k]
        change = n_draws * (steps[t.sizes[c] - (c == own)] - steps[0]) - 2.0 * gains[c]
        gains[c] = 0.0
        if c == own:
            change -= _STAY
        if change < least:
            best, least = c, change
    return best


@helper
def _vacant(t):
    """A number that no cluster has."""
    c = 0
    while c < t.counters[_N_CLUSTERS] and t.sizes[c] > 0:
        c += 1
    if c == t.counters[_N_CLUSTERS]:
        t.counters[_N_CLUSTERS] += 1
    return c


@kernel
def _allocate(t, order, steps, gains, touched, begin):
    """Place the rows of an order, from place ``begin`` on, one by one where they add least.

    Returns how many changed their cluster, and the place to go on from: the pool may need room, or there may be no number
    left for a new cluster.
    """
    t, order, steps = borrowed(t), borrowed(order), borrowed(steps)
    gains, touched = borrowed(gains), borrowed(touched)
    changed = 0
    for place in range(begin, len(order)):
        i = order[place]
        before = t.labels[i]
        best = _best(t, i, steps, gains, touched)
        if before >= 0 and (best == before or (best < 0 and t.sizes[before] == 1)):
            continue
        if _is_full(t, i) or t.counters[_N_CLUSTERS] >= len(t.sizes) - 1:
            return changed, place
        _move(t, i, best if best >= 0 else _vacant(t))
        changed += 1
    return changed, len(order)


@kernel
def _loss_that_varies(t, values):
    """S Σ f(sizes) − 2 Σ f(cells), f given by its values."""
    t = borrowed(t)
    total = 0.0
    for c in range(t.counters[_N_CLUSTERS]):
        total += t.lists.shape[1] * values[t.sizes[c]]
    for r in range(len(t.heads)):
        for at in range(t.heads[r, 0], t.heads[r, 0] + t.heads[r, 1]):
            total -= 2.0 * values[t.entries[at, 1]]
    return total


@kernel
def _put(t, rows, clusters, begin):
    """Move rows to given clusters, or nowhere (−1); returns where to go on, when the pool needs room."""
    t, rows, clusters = borrowed(t), borrowed(rows), borrowed(clusters)
    for place in range(begin, len(rows)):
        i = rows[place]
        if _is_full(t, i):
            return place
        _move(t, i, clusters[place])
    return len(rows)


class _Search:
    """An estimate that is being improved, and the tables that say how."""

    def __init__(self, draws: np.ndarray, values: np.ndarray) -> None:
        n_draws, n = draws.shape
        n_labels = draws.max(axis=1).astype(np.int64) + 1
        first = np.concatenate([[0], np.cumsum(n_labels)])
        lists = np.empty((n, n_draws), np.int32)
        for s in range(n_draws):
            lists[:, s] = draws[s] + first[s]
        self.n, self.n_lists = n, int(first[-1])
        self.values, self.steps = values, np.diff(values)
        self.tables = self._empty(lists, int(n_labels.max()) + 1)

    def _empty(self, lists: np.ndarray, capacity: int) -> Tables:
        r = self.n_lists
        self.gains, self.touched = np.zeros(capacity), np.empty(capacity, np.int64)
        heads = np.column_stack([np.arange(r, dtype=np.int64) * _ROOM, np.zeros(r, np.int64), np.full(r, _ROOM)])
        return Tables(
            lists,
            np.ascontiguousarray(heads),
            np.zeros((2 * _ROOM * (r + 2 * lists.shape[1]), 2), np.int32),
            np.full(self.n, -1, np.int32),
            np.zeros(capacity, np.int64),
            np.array([0, _ROOM * r], np.int64),
        )

    def clear(self) -> None:
        """Take all rows out."""
        self.tables = self._empty(self.tables.lists, len(self.tables.sizes))

    def _more_clusters(self) -> None:
        capacity = 2 * len(self.tables.sizes)
        self.gains, self.touched = np.zeros(capacity), np.empty(capacity, np.int64)
        self.tables = self.tables._replace(sizes=np.concatenate([self.tables.sizes, np.zeros_like(self.tables.sizes)]))

    def _grow(self) -> None:
        t = self.tables
        if t.counters[_N_CLUSTERS] >= len(t.sizes) - 1:
            self._more_clusters()
        else:
            self.tables = t._replace(entries=np.concatenate([t.entries, np.zeros_like(t.entries)]))

    def put(self, rows: np.ndarray, clusters: np.ndarray) -> None:
        """Move rows to given clusters, or nowhere (−1)."""
        n_clusters = int(clusters.max()) + 1
        while n_clusters >= len(self.tables.sizes):
            self._more_clusters()
        self.tables.counters[_N_CLUSTERS] = max(n_clusters, self.tables.counters[_N_CLUSTERS])
        done = 0
        while done < len(rows):
            done = _put(self.tables, rows, clusters, done)
            if done < len(rows):
                self._grow()

    def allocate(self, order: np.ndarray) -> int:
        """Place rows one by one where they add least to the loss; how many changed their cluster."""
        changed = done = 0
        while done < len(order):
            more, done = _allocate(self.tables, order, self.steps, self.gains, self.touched, done)
            changed += more
            if done < len(order):
                self._grow()
        return changed

    def settle(self, rng: np.random.Generator, few: int) -> None:
        """Go through all rows, in random orders, until few of them change their cluster."""
        for _ in range(_SWEEPS):
            if self.allocate(rng.permutation(self.n).astype(np.int32)) <= few:
                return

    def rebuild(self, rng: np.random.Generator) -> None:
        """Take a cluster apart and allocate its rows anew; undone if that does not help."""
        before, labels = self.loss(), self.tables.labels.copy()
        chosen = rng.choice(np.flatnonzero(self.tables.sizes))
        members = rng.permutation(np.flatnonzero(labels == chosen)).astype(np.int32)
        self.put(members, np.full(len(members), -1))
        self.allocate(members)
        self.allocate(members)
        if self.loss() > before:
            self.put(members, labels[members].astype(np.int64))

    def loss(self) -> float:
        """The expected loss, less what is the same for all estimates."""
        return float(_loss_that_varies(self.tables, self.values))


def least_expected_loss(draws: np.ndarray, best_draw: np.ndarray, by_information: bool, seed: Any = 0) -> np.ndarray:
    """Labels with a small expected loss to the draws: no larger than that of the draw the search starts from.

    Parameters
    ----------
    draws : int array of shape (n_draws, n_samples)
    best_draw : int array of shape (n_samples,)
        Where one of the runs starts; the only one for many rows and draws.
    by_information : bool
        Variation of information; otherwise Binder's loss.
    seed : int
        For the orders in which rows are gone through.

    Examples
    --------
    >>> import numpy as np
    >>> from hashmix.posterior.search import least_expected_loss
    >>> draws = np.array([[0, 0, 1, 1], [0, 0, 1, 1], [0, 0, 0, 1]])
    >>> least_expected_loss(draws, draws[2], True).tolist()
    [0, 0, 1, 1]
    """
    n = draws.shape[1]
    x = np.arange(n + 1.0)
    # n times the loss: what one row changes is then of the same size for any n, and ties can be told.
    values = x * np.log(np.maximum(x, 1.0)) if by_information else x * x / n
    rng = np.random.default_rng(seed)
    search = _Search(draws, values)
    everyone = np.arange(n, dtype=np.int32)
    n_runs = min(_RUNS, _LABELS_FOR_RUNS // draws.size)
    best, least = np.asarray(best_draw, np.int64), np.inf
    for run in range(1 + n_runs):
        search.clear()
        if run == 0:
            search.put(everyone, best)
        else:
            search.allocate(rng.permutation(everyone))
        search.settle(rng, n // 10_000)
        for _ in range(_REBUILT if n_runs else 0):
            search.rebuild(rng)
        if search.loss() < least - _STAY:
            best, least = search.tables.labels.astype(np.int64), search.loss()
    return best
