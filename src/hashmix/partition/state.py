"""The state of one chain: a partition, the statistics of its clusters, and buffers for proposals."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from hashmix.components.contract import (
    DenseSlots,
    add,
    check_component,
    clear,
    collect,
    derive,
    is_full,
    load,
    log_marginal,
    remove,
)
from hashmix.core.compiling import borrowed, kernel
from hashmix.core.threads import Threads
from hashmix.data.rows import Rows
from hashmix.hashing.chain_tables import ChainTables
from hashmix.partition.collecting import collect_statistics, derive_all
from hashmix.partition.members import (
    MOVED,
    N_CLUSTERS,
    N_FREE,
    Partition,
    canonical_labels,
    empty_partition,
    fill,
    grown,
    move_row,
)
from hashmix.partition.target import Target, TargetArrays
from hashmix.priors.contract import log_prior

__all__ = ["Arrays", "Scratch", "State"]

#: Free slots that every proposal may use: two sides and a union.
SPARE_SLOTS = 3
#: Statistics are recomputed from the data when this many rows have moved, per row of the data.
MOVES_PER_REFRESH = 10


class Scratch(NamedTuple):
    """Buffers for one proposal.

    ``rows`` of the clusters at hand and their ``sides``; ``candidates`` are slots to choose from, with their ``weights``.
    """

    rows: np.ndarray
    sides: np.ndarray
    candidates: np.ndarray
    weights: np.ndarray

    @classmethod
    def empty(cls, n: int, capacity: int) -> Scratch:
        return cls(np.empty(n, np.int32), np.empty(n, np.int8), np.empty(capacity, np.int32), np.empty(capacity))


class Arrays(NamedTuple):
    """Everything a kernel changes."""

    partition: Partition
    slots: Any
    scratch: Scratch


@kernel
def _log_marginals(partition, slots, model, rederive):
    """Log m of every cluster; with ``rederive``, first recompute what is derived from its statistics."""
    partition, slots, model = borrowed(partition), borrowed(slots), borrowed(model)
    out = np.empty(partition.counters[N_CLUSTERS])
    for a in range(len(out)):
        slot = partition.active[a]
        if rederive:
            derive(model, slots, slot)
        out[a] = log_marginal(model, slots, slot)
    return out


@kernel
def _refill(partition, slots, model, data, begin):
    """Collect rows begin, begin + 1, … into their clusters; return where it stopped, before the last if slots were full."""
    partition, slots, model, data = borrowed(partition), borrowed(slots), borrowed(model), borrowed(data)
    if begin == 0:
        for a in range(partition.counters[N_CLUSTERS]):
            clear(model, slots, partition.active[a])
    for i in range(begin, len(partition.labels)):
        if is_full(model, slots):
            return i
        collect(model, slots, partition.labels[i], load(model, slots, data, i))
    return len(partition.labels)


@kernel
def _move_rows(partition, slots, model, data, rows, into, begin):
    """Move rows begin, begin + 1, … of a list; return where it stopped, before the last if slots were full."""
    partition, slots, model, data = borrowed(partition), borrowed(slots), borrowed(model), borrowed(data)
    rows, into = borrowed(rows), borrowed(into)
    for at in range(begin, len(rows)):
        if is_full(model, slots):
            return at
        row = load(model, slots, data, rows[at])
        remove(model, slots, partition.labels[rows[at]], row)
        add(model, slots, into[at], row)
        move_row(partition, rows[at], into[at])
    return len(rows)


class State:
    """Labels, statistics and concentration of one chain: what moves change.

    Parameters
    ----------
    target : Target
        What the chain samples.
    labels : array of shape (n_samples,)
        Where the chain starts.
    hashed : ChainTables, optional
        The chain's hash tables, if they exist already.
    key : int, default=0
        Names the chain: hash functions are drawn from it.
    threads : Threads, optional
        The threads that moves share their rows out to; one by default.

    Attributes
    ----------
    rows : Rows
        The data; ``rows.matrix()`` is the array or sparse matrix.
    component, prior, model :
        Those of the target; the model changes if hyperparameters are learned.
    partition, slots, scratch :
        What kernels change, together :attr:`arrays`.
    hashed : ChainTables
        The chain's hash tables.
    sweep : int
        Number of sweeps so far.

    Examples
    --------
    >>> import numpy as np, hashmix as hm
    >>> from hashmix.partition.state import State
    >>> from hashmix.partition.target import Target
    >>> X = np.array([[0.0], [0.1], [5.0]])
    >>> component, prior = hm.components.DiagonalGaussian(0.0, 0.1, 2.0, 0.1), hm.priors.DirichletProcess(1.0)
    >>> state = State(Target.of(X, component, prior), [0, 0, 1])
    >>> state.n_clusters, state.labels().tolist()
    (2, [0, 0, 1])
    >>> state.check()
    """

    rows: Rows
    component: Any
    prior: Any
    model: Any
    learner: Any
    hashed: ChainTables
    threads: Threads
    concentration: float
    partition: Partition
    slots: Any
    scratch: Scratch

    def __init__(
        self,
        target: Target,
        labels: Any,
        hashed: ChainTables | None = None,
        key: int = 0,
        threads: Threads | None = None,
    ) -> None:
        self.rows, self.component, self.prior, self.model = target.rows, target.component, target.prior, target.model
        self.learner = self.component.learner(self.model, self.rows)
        self.hashed = ChainTables(self.component.hashed(self.rows), key) if hashed is None else hashed
        self.threads = Threads() if threads is None else threads
        self.sweep = 0  # number of sweeps so far: hash tables are refreshed by it
        self.concentration = self.prior.start_concentration
        self._build(np.asarray(labels, dtype=np.int32))

    def _build(self, labels: np.ndarray) -> None:
        labels, found = canonical_labels(labels, int(labels.max()) + 1)
        capacity = found + max(16, found // 4) + SPARE_SLOTS
        self.partition = empty_partition(len(labels), capacity)
        fill(self.partition, labels, found)
        self.slots = self.component.slots(self.model, capacity)
        check_component(self.component, self.model, self.slots)
        self.scratch = Scratch.empty(len(labels), capacity)
        self._set_prior()
        self.refresh()

    # ---- what kernels take ----

    @property
    def arrays(self) -> Arrays:
        """The arrays that moves change."""
        return Arrays(self.partition, self.slots, self.scratch)

    @property
    def target(self) -> TargetArrays:
        """What moves leave invariant."""
        return TargetArrays(self.rows.arrays, self.model, self._prior_weights)

    # ---- what it holds ----

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return len(self.partition.labels)

    @property
    def capacity(self) -> int:
        """Number of clusters that fit before arrays must grow."""
        return len(self.partition.sizes)

    @property
    def n_clusters(self) -> int:
        """Number of clusters."""
        return int(self.partition.counters[N_CLUSTERS])

    @property
    def used(self) -> np.ndarray:
        """Slots of the clusters."""
        return self.partition.active[: self.n_clusters]

    @property
    def sizes(self) -> np.ndarray:
        """Sizes of the clusters, in the order of :attr:`used`."""
        return self.partition.sizes[self.used]

    def labels(self) -> np.ndarray:
        """Labels of the rows, 0, 1, … in the order of first appearance."""
        return canonical_labels(self.partition.labels, self.capacity)[0]

    def statistics(self, slots: np.ndarray) -> Any:
        """Sizes and additive statistics of all clusters, in the order of ``slots``, as array code takes them."""
        if isinstance(self.slots, DenseSlots):
            return self.slots.statistics(slots)
        place = np.empty(self.capacity, np.int32)
        place[slots] = np.arange(len(slots))
        return self.component.statistics(self.model, self.rows, place[self.partition.labels], len(slots))

    def set_statistics(self, slots: np.ndarray, stats: np.ndarray) -> None:
        """Replace sizes and additive statistics of some clusters, one row each as in :meth:`statistics`."""
        self.slots.sizes[slots] = np.rint(stats[:, 0]).astype(np.int64)
        self.slots.stats[slots] = stats[:, 1:]
        derive_all(self.slots, slots.astype(np.int32), self.model, self.threads)

    def log_likelihood(self) -> float:
        """Σ log m(c) over the clusters."""
        return float(_log_marginals(self.partition, self.slots, self.model, False).sum())

    def log_joint(self) -> float:
        """Log p(ρ | concentration) + Σ log m(c)."""
        return log_prior(self._prior_weights, self.sizes) + self.log_likelihood()

    # ---- what happens to it ----

    def _set_prior(self) -> None:
        self._prior_weights = self.prior.weights(self.n_rows, self.capacity, self.concentration)

    def learn(self, rng: np.random.Generator) -> None:
        """Update the component's hyperparameters, if they are learned."""
        if self.learner is not None:
            self.model = self.learner(self.model, self.slots, self.used, rng)
            _log_marginals(self.partition, self.slots, self.model, True)

    def settle(self) -> None:
        """Go on with the component's hyperparameters for clusters that have formed."""
        settled = self.component.settled(self.model)
        if settled is not self.model:
            self.model = settled
            _log_marginals(self.partition, self.slots, self.model, True)

    def set_concentration(self, concentration: float) -> None:
        """Change the prior's concentration."""
        if concentration != self.concentration:
            self.concentration = concentration
            self._set_prior()

    def move_rows(self, rows: np.ndarray, into: np.ndarray) -> None:
        """Move rows, with their statistics, into other open slots; the caller closes clusters that are left empty."""
        done = -1
        while done < len(rows):
            self.ensure_spare()
            done = _move_rows(self.partition, self.slots, self.model, self.rows.arrays, rows, into, max(0, done))

    def ensure_spare(self) -> None:
        """Grow the arrays if a proposal might not find free slots, or a cluster the memory it needs."""
        if self.partition.counters[N_FREE] < SPARE_SLOTS:
            self.grow(2 * self.capacity)
        if self.slots.full:
            self.slots = self.slots.enlarged()

    def grow(self, capacity: int) -> None:
        """Make ``capacity`` slots."""
        self.partition = grown(self.partition, capacity)
        self.slots = self.slots.grown(capacity)
        self.scratch = self.scratch._replace(candidates=np.empty(capacity, np.int32), weights=np.empty(capacity))
        self._set_prior()

    def refresh(self) -> None:
        """Recompute all statistics from the data, so that rounding errors of adding and removing rows do not accumulate."""
        self.partition.counters[MOVED] = 0
        if isinstance(self.slots, DenseSlots):
            collect_statistics(self.component, self.model, self.rows.arrays, self.partition, self.slots, self.threads)
            return
        done = 0
        while done < self.n_rows:
            self.ensure_spare()
            done = _refill(self.partition, self.slots, self.model, self.rows.arrays, done)
        _log_marginals(self.partition, self.slots, self.model, True)

    def rebuild(self) -> None:
        """Forget everything but labels, hyperparameters and concentration, and rebuild the rest from them.

        A chain that goes on and one that is resumed from a checkpoint are then the same to the last bit.
        """
        self._build(self.labels())

    def restore(self, labels: np.ndarray, concentration: float, model: Any) -> None:
        """Restore a snapshot taken right after :meth:`rebuild`."""
        self.model, self.concentration = model, concentration
        self._build(labels)

    def refresh_if_due(self) -> None:
        """Refresh if enough rows have moved since the last time."""
        if self.partition.counters[MOVED] >= MOVES_PER_REFRESH * self.n_rows:
            self.refresh()

    def check(self, tolerance: float = 1e-6) -> None:
        """Recompute everything from the labels and compare; raise AssertionError at the first difference."""
        p, used = self.partition, self.used
        n_free = p.counters[N_FREE]
        assert len(set(used.tolist())) == len(used), "a slot is listed twice"
        assert len(used) + n_free == self.capacity, "slots are lost"
        assert not set(used.tolist()) & set(p.free[:n_free].tolist()), "a used slot is free"
        assert set(np.unique(p.labels).tolist()) == set(used.tolist()), "labels and clusters in use differ"
        for rank, slot in enumerate(used):
            assert p.rank[slot] == rank, "rank does not match active"
            members = p.pool[p.starts[slot] : p.starts[slot] + p.sizes[slot]]
            assert np.array_equal(np.sort(members), np.flatnonzero(p.labels == slot)), "members do not match labels"
            assert np.array_equal(p.place[members], p.starts[slot] + np.arange(len(members))), "places do not match"
            assert self.slots.sizes[slot] == p.sizes[slot], "statistics count other rows"
        stats = self.component.statistics(self.model, self.rows, p.rank[p.labels], len(used))
        expected = self.component.log_marginals(self.model, stats)
        kept = _log_marginals(p, self.slots, self.model, False)
        scale = np.maximum(1.0, np.abs(expected))
        worst = float((np.abs(kept - expected) / scale).max())
        assert worst <= tolerance, f"log marginals are off by a relative {worst:.1e}"
