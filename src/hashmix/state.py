"""The state of one chain: a partition, its clusters' statistics, and room for proposals."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from hashmix.compiling import borrowed, kernel
from hashmix.components.contract import Component, clear, collect, derive, is_full, load, log_marginal
from hashmix.hashing.chain_tables import ChainTables
from hashmix.partition import Partition, canonical_labels, empty_partition, fill, grown
from hashmix.priors.contract import PartitionPrior, PriorTable, log_prior

__all__ = ["Arrays", "Scratch", "State", "Target"]

#: Free slots every proposal may count on: two sides and a union.
SPARE_SLOTS = 3
#: Statistics are recomputed from the data when this many points have moved, per point of the data.
MOVES_PER_REFRESH = 10


class Target(NamedTuple):
    """What the chain samples: data, model and prior."""

    data: Any
    model: Any
    prior: PriorTable


class Scratch(NamedTuple):
    """Room for one proposal.

    ``points`` of the clusters at hand and their ``sides``; ``slots`` and ``weights`` of clusters to choose from.
    """

    points: np.ndarray
    sides: np.ndarray
    slots: np.ndarray
    weights: np.ndarray

    @classmethod
    def empty(cls, n: int, capacity: int) -> Scratch:
        return cls(np.empty(n, np.int32), np.empty(n, np.int8), np.empty(capacity, np.int32), np.empty(capacity))


class Arrays(NamedTuple):
    """Everything a kernel changes."""

    partition: Partition
    table: Any
    scratch: Scratch


@kernel
def _log_marginals(partition, table, model, anew):
    """Log m of every cluster; if ``anew``, after deriving all there is to derive from its statistics."""
    partition, table, model = borrowed(partition), borrowed(table), borrowed(model)
    out = np.empty(partition.counters[0])
    for a in range(len(out)):
        slot = partition.active[a]
        if anew:
            derive(model, table, slot)
        out[a] = log_marginal(model, table, slot)
    return out


@kernel
def _refill(partition, table, model, data, begin):
    """Collect rows begin, begin + 1, … in their clusters; return where it stopped, before the last when the table was full."""
    partition, table, model, data = borrowed(partition), borrowed(table), borrowed(model), borrowed(data)
    if begin == 0:
        for a in range(partition.counters[0]):
            clear(model, table, partition.active[a])
    for i in range(begin, len(partition.labels)):
        if is_full(model, table):
            return i
        collect(model, table, partition.labels[i], load(model, table, data, i))
    return len(partition.labels)


class State:
    """Labels, statistics and concentration of one chain; what moves change.

    Parameters
    ----------
    data : ndarray or sparse matrix
        Rows, or what the component's ``rows`` made of them.
    component : Component
    prior : PartitionPrior
    labels : array of shape (n_samples,)
        Where the chain starts.
    model : optional
        ``component.model(data)``, when it is already there to be shared between chains.
    hashed : ChainTables, optional
        Hash tables to use, when they are already there.
    key : int, default=0
        Names the chain: hash functions are drawn from it.
    n_jobs : int, optional
        Threads to hash in.

    Examples
    --------
    >>> import numpy as np
    >>> from hashmix.components import DiagonalGaussian
    >>> from hashmix.priors import DirichletProcess
    >>> from hashmix.state import State
    >>> X = np.array([[0.0], [0.1], [5.0]])
    >>> state = State(X, DiagonalGaussian(0.0, 0.1, 2.0, 0.1), DirichletProcess(1.0), [0, 0, 1])
    >>> state.n_clusters, state.labels().tolist()
    (2, [0, 0, 1])
    >>> state.check()
    """

    def __init__(
        self,
        data: Any,
        component: Component,
        prior: PartitionPrior,
        labels: Any,
        model: Any = None,
        hashed: ChainTables | None = None,
        key: int = 0,
        n_jobs: int | None = None,
    ) -> None:
        self.data = component.rows(data)
        self.component = component
        self.model = component.model(self.data) if model is None else model
        self.learner = component.learner(self.model, self.data)
        self.hashed = ChainTables(self.data, key, n_jobs) if hashed is None else hashed
        self.sweep = 0  # how many sweeps the sampler has made: what tables are refreshed by
        self.prior = prior
        self.concentration = prior.start_concentration
        self._build(np.asarray(labels, dtype=np.int32))

    def _build(self, labels: np.ndarray) -> None:
        labels, found = canonical_labels(labels, int(labels.max()) + 1)
        capacity = found + max(16, found // 4) + SPARE_SLOTS
        self.partition = empty_partition(len(labels), capacity)
        fill(self.partition, labels, found)
        self.table = self.component.table(self.model, capacity)
        self.scratch = Scratch.empty(len(labels), capacity)
        self._set_prior()
        self.refresh()

    # ---- what kernels take ----

    @property
    def arrays(self) -> Arrays:
        """The arrays moves change."""
        return Arrays(self.partition, self.table, self.scratch)

    @property
    def target(self) -> Target:
        """What moves leave invariant."""
        return Target(self.data, self.model, self._prior_table)

    # ---- what it holds ----

    @property
    def capacity(self) -> int:
        """How many clusters fit before arrays must grow."""
        return len(self.partition.sizes)

    @property
    def n_clusters(self) -> int:
        """How many clusters there are."""
        return int(self.partition.counters[0])

    @property
    def sizes(self) -> np.ndarray:
        """Sizes of the clusters, in the order of ``partition.active``."""
        return self.partition.sizes[self.partition.active[: self.n_clusters]]

    def labels(self) -> np.ndarray:
        """Labels of the points, 0, 1, … in the order of first appearance."""
        return canonical_labels(self.partition.labels, self.capacity)[0]

    def log_likelihood(self) -> float:
        """Σ log m(c) over the clusters."""
        return float(_log_marginals(self.partition, self.table, self.model, False).sum())

    def log_joint(self) -> float:
        """Log p(ρ | concentration) + Σ log m(c)."""
        return log_prior(self._prior_table, self.sizes) + self.log_likelihood()

    # ---- what happens to it ----

    def _set_prior(self) -> None:
        self._prior_table = self.prior.table(len(self.partition.labels), self.capacity, self.concentration)

    def learn(self, rng: np.random.Generator) -> None:
        """Update the component's hyperparameters, if they are learned."""
        if self.learner is not None:
            self.model = self.learner(self.model, self.table, self.partition.active[: self.n_clusters], rng)
            _log_marginals(self.partition, self.table, self.model, True)

    def set_concentration(self, concentration: float) -> None:
        """Change the prior's concentration."""
        if concentration != self.concentration:
            self.concentration = concentration
            self._set_prior()

    def ensure_spare(self) -> None:
        """Grow the arrays when a proposal might not find its free slots, or a cluster room to grow."""
        if self.partition.counters[1] < SPARE_SLOTS:
            self.grow(2 * self.capacity)
        if self.table.full:
            self.table = self.table.roomier()

    def grow(self, capacity: int) -> None:
        """Make room for ``capacity`` clusters."""
        self.partition = grown(self.partition, capacity)
        self.table = self.table.grown(capacity)
        self.scratch = self.scratch._replace(slots=np.empty(capacity, np.int32), weights=np.empty(capacity))
        self._set_prior()

    def refresh(self) -> None:
        """Recompute all statistics from the data: rounding errors of adding and removing points do not pile up."""
        done = 0
        while done < len(self.partition.labels):
            self.ensure_spare()
            done = _refill(self.partition, self.table, self.model, self.data, done)
        _log_marginals(self.partition, self.table, self.model, True)
        self.partition.counters[3] = 0

    def rebuild(self) -> None:
        """Forget everything but labels, hyperparameters and concentration, and build the rest from them.

        So a chain that goes on and one that is taken up from a checkpoint are the same to the last bit.
        """
        self._build(self.labels())

    def restore(self, labels: np.ndarray, concentration: float, model: Any) -> None:
        """Be where a chain was when it was rebuilt."""
        self.model, self.concentration = model, concentration
        self._build(labels)

    def refresh_if_due(self) -> None:
        """Refresh when enough points have moved since the last time."""
        if self.partition.counters[3] >= MOVES_PER_REFRESH * len(self.partition.labels):
            self.refresh()

    def check(self, tolerance: float = 1e-6) -> None:
        """Recompute everything from the labels and compare; raise AssertionError at the first difference."""
        p = self.partition
        used = p.active[: self.n_clusters]
        assert len(set(used.tolist())) == len(used), "a slot is listed twice"
        assert p.counters[0] + p.counters[1] == self.capacity, "slots are lost"
        assert not set(used.tolist()) & set(p.free[: p.counters[1]].tolist()), "a used slot is free"
        assert set(np.unique(p.labels).tolist()) == set(used.tolist()), "labels and clusters in use differ"
        for rank, slot in enumerate(used):
            assert p.rank[slot] == rank, "rank does not match active"
            members = p.pool[p.starts[slot] : p.starts[slot] + p.sizes[slot]]
            assert np.array_equal(np.sort(members), np.flatnonzero(p.labels == slot)), "members do not match labels"
            assert np.array_equal(p.place[members], p.starts[slot] + np.arange(len(members))), "places do not match"
            assert self.table.sizes[slot] == p.sizes[slot], "statistics count other points"
        labels = p.rank[p.labels]
        stats = self.component.statistics(self.model, self.data, labels, len(used))
        expected = self.component.log_marginals(self.model, stats)
        kept = _log_marginals(p, self.table, self.model, False)
        scale = np.maximum(1.0, np.abs(expected))
        worst = float((np.abs(kept - expected) / scale).max())
        assert worst <= tolerance, f"log marginals are off by a relative {worst:.1e}"
