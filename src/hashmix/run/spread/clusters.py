"""The clusters of a chain whose rows are elsewhere: sizes, statistics, hyperparameters and concentration."""

from __future__ import annotations

from typing import Any

import numpy as np

from hashmix.core.threads import Threads
from hashmix.partition.collecting import derive_all
from hashmix.partition.target import TargetArrays
from hashmix.priors.contract import PartitionPrior, log_prior

__all__ = ["Clusters"]

#: Slots beyond those in use, and how many may be empty among these before clusters are numbered again.
_SPARE, _HOLES = 16, 1.25


class Clusters:
    """Clusters by label, as moves see those of a :class:`~hashmix.partition.state.State`, but without rows.

    A cluster's label is the number of its slot. Labels of clusters that were closed are free, and are given out again.

    Parameters
    ----------
    component, prior, model :
        What the chain samples.
    learner : callable or None
        The update of hyperparameters.
    n_rows : int
        Number of rows, wherever they are.
    table : array of shape (labels, 1 + W)
        Size and statistics of every label.
    """

    def __init__(self, component: Any, prior: PartitionPrior, model: Any, learner: Any, n_rows: int, table: np.ndarray) -> None:
        self.component, self.prior, self.model, self.learner, self.n_rows = component, prior, model, learner, n_rows
        self.concentration = prior.start_concentration
        self.slots = component.slots(model, 1)
        self._prior_weights: Any = None
        self.set_table(table)

    # ---- what moves ask ----------------------------------------------------------------------------------------------------

    @property
    def used(self) -> np.ndarray:
        """Labels of the clusters, increasing."""
        return np.flatnonzero(self.slots.sizes > 0).astype(np.int32)

    @property
    def n_clusters(self) -> int:
        """Number of clusters."""
        return int((self.slots.sizes > 0).sum())

    @property
    def capacity(self) -> int:
        """One more than the largest label in use."""
        return int(self.used[-1]) + 1

    @property
    def sizes(self) -> np.ndarray:
        """Sizes of the clusters, in the order of :attr:`used`."""
        return self.slots.sizes[self.used]

    @property
    def target(self) -> TargetArrays:
        """What moves leave invariant; there are no rows in it."""
        return TargetArrays(None, self.model, self._prior_weights)

    def statistics(self, slots: np.ndarray) -> np.ndarray:
        """Sizes and additive statistics of some clusters."""
        return self.slots.statistics(slots)

    def log_likelihood(self) -> float:
        """Σ log m(c) over the clusters."""
        return float(self.component.log_marginals(self.model, self.statistics(self.used)).sum())

    def log_joint(self) -> float:
        """Log p(ρ | concentration) + Σ log m(c)."""
        return log_prior(self._prior_weights, self.sizes) + self.log_likelihood()

    # ---- what happens to them ----------------------------------------------------------------------------------------------

    def set_table(self, table: np.ndarray) -> None:
        """Replace size and statistics of all labels."""
        self.ensure(len(table))
        self.slots.sizes[:] = 0
        self.slots.sizes[: len(table)] = np.rint(table[:, 0]).astype(np.int64)
        self.slots.stats[: len(table)] = table[:, 1:]
        if int(self.slots.sizes.sum()) != self.n_rows:
            raise RuntimeError(f"Clusters hold {self.slots.sizes.sum()} rows. There are {self.n_rows}: a shard is missing.")
        self.derive()

    def table(self) -> np.ndarray:
        """Size and statistics of all labels up to the largest in use."""
        return self.slots.statistics(np.arange(self.capacity))

    def set_some(self, labels: list[int], stats: list[np.ndarray]) -> None:
        """Replace size and statistics of some clusters."""
        if labels:
            found = np.array(stats)
            self.slots.sizes[labels], self.slots.stats[labels] = np.rint(found[:, 0]).astype(np.int64), found[:, 1:]
            self.derive()

    def derive(self) -> None:
        """Recompute what is derived from statistics, and clear free slots."""
        free = np.flatnonzero(self.slots.sizes == 0)
        self.slots.stats[free] = 0.0
        derive_all(self.slots, np.arange(len(self.slots.sizes), dtype=np.int32), self.model, Threads())

    def free(self, n: int) -> np.ndarray:
        """The n least labels that are free."""
        self.ensure(self.n_clusters + n)
        return np.flatnonzero(self.slots.sizes == 0)[:n]

    def ensure(self, n: int) -> None:
        """Make n slots and some more, and a prior for as many clusters."""
        have = len(self.slots.sizes)
        if have < n + _SPARE:
            self.slots = self.slots.grown(n + n // 4 + 2 * _SPARE)
            derive_all(self.slots, np.arange(have, len(self.slots.sizes), dtype=np.int32), self.model, Threads())
        if self._prior_weights is None or len(self._prior_weights.log_v) < len(self.slots.sizes):
            self._set_prior()

    def compact(self) -> np.ndarray | None:
        """Number the clusters 0, 1, … again if many labels are free; return the new label of every old one."""
        used = self.used
        if self.capacity <= _HOLES * len(used) + _SPARE:
            return None
        labels = np.zeros(self.capacity, np.int32)
        labels[used] = np.arange(len(used))
        table = self.statistics(used)
        self.slots = self.component.slots(self.model, 1)
        self.set_table(table)
        return labels

    def learn(self, rng: np.random.Generator) -> None:
        """Update the component's hyperparameters, if they are learned."""
        if self.learner is not None:
            self.model = self.learner(self.model, self.slots, self.used, rng)
            self.derive()

    def settle(self) -> None:
        """Go on with the component's hyperparameters for clusters that have formed."""
        self.model = self.component.settled(self.model)
        self.derive()

    def learn_concentration(self, rng: np.random.Generator) -> None:
        """Update the prior's concentration, if it is learned."""
        if self.prior.learns_concentration:
            self.concentration = self.prior.update_concentration(self.concentration, self.n_rows, self.n_clusters, rng)
            self._set_prior()

    def restore(self, model: Any, concentration: float, table: np.ndarray) -> None:
        """Go back to a snapshot."""
        self.model, self.concentration = model, concentration
        self.slots = self.component.slots(model, 1)
        self.set_table(table)
        self._set_prior()

    def _set_prior(self) -> None:
        self._prior_weights = self.prior.weights(self.n_rows, len(self.slots.sizes), self.concentration)
