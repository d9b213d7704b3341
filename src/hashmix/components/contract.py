"""The contract between components and everything else.

A component says how one cluster makes data. It is conjugate and known by additive sufficient statistics; it knows
nothing of partitions, priors on them, or moves. It consists of

* a Python class derived from :class:`Component`: hyperparameters in the user's units, data-driven defaults, and the
  array forms below;
* a *model*, a ``NamedTuple`` made by :meth:`Component.model` for given data: the hyperparameters in internal units
  (about a fixed origin, in units of the prior's scale), with look-up tables;
* a *table*, a ``NamedTuple`` with one row ("slot") per cluster: its size, its additive statistics and what is derived
  from them. Tables belong to one chain and are changed in place;
* the *verbs*: the functions of this file without a body, implemented for the model with :func:`hashmix.compiling.implements`.

A *row* is what :func:`load` makes of data row ``i``; moves only pass it on. ``log_marginal`` takes O(1) time, whatever
the cluster's size. Densities are in the user's units: internal scaling is undone by a constant.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from hashmix.compiling import implements
from hashmix.validation import as_rows

__all__ = [
    "Component",
    "DenseTable",
    "Learner",
    "add",
    "clear",
    "collect",
    "derive",
    "is_full",
    "load",
    "log_difference",
    "log_marginal",
    "log_predictive",
    "log_predictive_without",
    "log_union",
    "remove",
    "separate",
    "take",
    "unite",
]


# ---- the verbs -----------------------------------------------------------------------------------------------------


def load(model, table, data, i):
    """Row i of the data, in the form the other verbs take."""


def log_predictive(model, table, slot, row):
    """Log p(row | cluster); an empty slot gives the prior predictive."""


def log_predictive_without(model, table, slot, row):
    """Log p(row | cluster without the row), for a row the cluster contains; nothing is written."""


def add(model, table, slot, row):
    """Add a row to a cluster's statistics, and bring what is derived from them up to date."""


def collect(model, table, slot, row):
    """Add a row to a cluster's additive statistics alone; :func:`derive` must follow before anything else is asked."""


def remove(model, table, slot, row):
    """Take a row out of a cluster's statistics, and bring what is derived from them up to date."""


def log_marginal(model, table, slot):
    """Log m(cluster): the marginal likelihood of its rows."""


def clear(model, table, slot):
    """Make a slot empty."""


def derive(model, table, slot):
    """Recompute, from size and additive statistics, everything that is derived from them."""


def log_union(model, table, a, b, room):
    """Log m(a ∪ b), which :func:`log_marginal` of slot ``room`` also says from then on."""


def unite(model, table, a, b, room):
    """Make slot a the union of clusters a and b, and b no cluster; :func:`log_union` was asked just before."""


def log_difference(model, table, whole, part, room):
    """Log m(whole ∖ part), part being some rows of a cluster; :func:`log_marginal` of slot ``room`` says it from then on."""


def separate(model, table, whole, part, room):
    """Take what slot ``part`` holds out of cluster ``whole``; :func:`log_difference` was asked just before."""


def take(model, table, source, into):
    """Let slot ``into`` hold what slot ``source`` holds, which is not a cluster any more."""


def is_full(model, table):
    """Whether a proposal might not find the room it needs, so that kernels must return for the table to grow."""


# ---- the table most components use -----------------------------------------------------------------------------------


class DenseTable(NamedTuple):
    """One row of float64 numbers per cluster.

    ``sizes`` (slot,), ``stats`` (slot, W) additive statistics, ``derived`` (slot, C) what kernels read; ``row``, ``work``
    and ``product`` are buffers of one row's length.
    """

    sizes: np.ndarray
    stats: np.ndarray
    derived: np.ndarray
    row: np.ndarray
    work: np.ndarray
    product: np.ndarray

    @classmethod
    def empty(cls, capacity: int, n_stats: int, n_derived: int, n_features: int) -> DenseTable:
        """A table of ``capacity`` slots, not yet cleared."""
        return cls(
            np.zeros(capacity, np.int64),
            np.zeros((capacity, n_stats)),
            np.zeros((capacity, n_derived)),
            *np.zeros((3, n_features)),
        )

    @property
    def full(self) -> bool:
        """Whether there might be no room for a proposal: never, only slots can be short."""
        return False

    def statistics(self, slots: np.ndarray) -> np.ndarray:
        """Size and additive statistics of the clusters in some slots."""
        return np.column_stack([self.sizes[slots], self.stats[slots]])

    def grown(self, capacity: int) -> DenseTable:
        """The same clusters in a table of more slots."""
        bigger = self.empty(capacity, self.stats.shape[1], self.derived.shape[1], len(self.row))
        for old, new in zip(self[:3], bigger[:3], strict=True):
            new[: len(old)] = old
        return bigger


@implements(log_union, DenseTable, argument=1)
def _log_union(model, table, a, b, room):
    table.sizes[room] = table.sizes[a] + table.sizes[b]
    for w in range(table.stats.shape[1]):
        table.stats[room, w] = table.stats[a, w] + table.stats[b, w]
    derive(model, table, room)
    return log_marginal(model, table, room)


@implements(unite, DenseTable, argument=1)
def _unite(model, table, a, b, room):
    take(model, table, room, a)


@implements(log_difference, DenseTable, argument=1)
def _log_difference(model, table, whole, part, room):
    table.sizes[room] = table.sizes[whole] - table.sizes[part]
    for w in range(table.stats.shape[1]):
        table.stats[room, w] = table.stats[whole, w] - table.stats[part, w]
    derive(model, table, room)
    return log_marginal(model, table, room)


@implements(separate, DenseTable, argument=1)
def _separate(model, table, whole, part, room):
    take(model, table, room, whole)


@implements(is_full, DenseTable, argument=1)
def _is_full(model, table):
    return False


@implements(take, DenseTable, argument=1)
def _take(model, table, source, into):
    # Loops, not array assignments: these take Numba seconds to compile.
    table.sizes[into] = table.sizes[source]
    for w in range(table.stats.shape[1]):
        table.stats[into, w] = table.stats[source, w]
    for w in range(table.derived.shape[1]):
        table.derived[into, w] = table.derived[source, w]


@implements(clear, DenseTable, argument=1)
def _clear(model, table, slot):
    table.sizes[slot] = 0
    for w in range(table.stats.shape[1]):
        table.stats[slot, w] = 0.0
    derive(model, table, slot)


#: Takes a model, a chain's table, the slots in use and a generator; returns the model with other hyperparameters.
Learner = Callable[[Any, Any, np.ndarray, np.random.Generator], Any]


# ---- the Python side ---------------------------------------------------------------------------------------------------


class Component(ABC):
    """How one cluster makes data: hyperparameters, and plain array code over many clusters at once.

    In the array forms, ``stats`` has one row per cluster: its size, then its additive statistics in the model's units.
    Everything else is in the user's units.
    """

    #: Whether large data start from a clustered sample of the rows (:mod:`hashmix.first_states`).
    starts_from_sample = True
    #: For how many sweeps of warm-up hyperparameters that are learned keep the values they start from.
    sweeps_held = 0

    @classmethod
    @abstractmethod
    def from_data(cls, X: Any, learn: bool = False) -> Component:
        """The component with hyperparameters chosen from the data; or learned, from there on."""

    def rows(self, X: Any, owner: str = "sample") -> Any:
        """Data as kernels take them, checked: a matrix of numbers, unless a component knows better."""
        return as_rows(X, owner)

    @abstractmethod
    def model(self, X: Any) -> Any:
        """The model for these data: internal units, look-up tables."""

    def learner(self, model: Any, X: Any) -> Learner | None:
        """An exact update of the model's hyperparameters, or None where they are fixed.

        The update takes the model, the chain's table, the slots of its clusters and a generator, and returns the model with
        other hyperparameters, in the same internal units.
        """
        return None

    def hyperparameters(self, model: Any) -> dict[str, np.ndarray]:
        """What is learned, by name, as a model has it; nothing where all is fixed."""
        return {}

    def with_hyperparameters(self, values: dict[str, Any]) -> Component:
        """The component with these values of what is learned, fixed."""
        return self

    @abstractmethod
    def table(self, model: Any, capacity: int) -> Any:
        """A table of ``capacity`` cluster slots; slots are cleared by whoever takes them."""

    @abstractmethod
    def statistics(self, model: Any, X: Any, labels: np.ndarray, n_clusters: int) -> Any:
        """Sufficient statistics of the rows of each label, (n_clusters, 1 + W)."""

    @abstractmethod
    def log_marginals(self, model: Any, stats: Any) -> np.ndarray:
        """Log m of each cluster, (K,)."""

    @abstractmethod
    def log_predictives(self, model: Any, stats: Any, X: Any) -> np.ndarray:
        """Log p(row | cluster), (n, K)."""

    @abstractmethod
    def draw_parameters(self, model: Any, stats: Any, rng: np.random.Generator) -> Any:
        """One draw of every cluster's parameters from their posterior; rows of size 0 draw from the prior."""

    @abstractmethod
    def expected_parameters(self, model: Any, stats: Any) -> Any:
        """The posterior expectation of every cluster's parameters."""

    @abstractmethod
    def log_densities(self, parameters: Any, X: Any) -> np.ndarray:
        """Log density of every row under every parameter set, (n, K)."""

    @abstractmethod
    def draw_rows(self, parameters: Any, labels: np.ndarray, rng: np.random.Generator) -> Any:
        """One row for each label, drawn under that cluster's parameters, (len(labels), D)."""
