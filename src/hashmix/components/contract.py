"""The contract between components and everything else.

A component says how one cluster makes data. It is conjugate, has additive sufficient statistics, and knows nothing of
partitions, their priors or moves. It consists of

* a class derived from :class:`Component`: hyperparameters in the user's units, defaults chosen from data, and plain array
  code over many clusters at once. The array code is the reference that kernels are tested against;
* a *model*, a ``NamedTuple`` made by :meth:`Component.model` for given data: hyperparameters in internal units (about a
  fixed origin, in units of the prior's scale) and precomputed constants;
* *slots*, a ``NamedTuple`` with one entry per cluster: its size, its additive statistics and what is derived from them.
  Slots belong to one chain and are changed in place;
* the *verbs*: the functions of this file without a body, implemented for the model with
  :func:`hashmix.core.compiling.implements`.

A *row* is what :func:`load` makes of data row ``i``; moves only pass it on. ``log_marginal`` takes O(1) time, whatever
the size of the cluster. Densities are in the user's units: a constant undoes the internal scaling.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, ClassVar, NamedTuple

import numpy as np

from hashmix.core.compiling import check_verbs, fallback, implements
from hashmix.core.declared import Declared
from hashmix.core.sources import IMPLEMENTATIONS
from hashmix.data.rows import Rows, as_dense

__all__ = [
    "UNION_WORK",
    "Component",
    "DenseSlots",
    "Learner",
    "add",
    "check_component",
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
    "union_work",
    "unite",
]

#: The marginal likelihood of a union, or of a difference, costs about as much as this many predictives.
UNION_WORK = 4


# ---- the verbs -----------------------------------------------------------------------------------------------------------


def load(model: Any, slots: Any, data: Any, i: Any) -> Any:
    """Row i of the data, in the form the other verbs take."""


def log_predictive(model: Any, slots: Any, slot: Any, row: Any) -> Any:
    """Log p(row | cluster); an empty slot gives the prior predictive."""


def log_predictive_without(model: Any, slots: Any, slot: Any, row: Any) -> Any:
    """Log p(row | cluster without the row), for a row the cluster contains. Nothing is written."""


def add(model: Any, slots: Any, slot: Any, row: Any) -> Any:
    """Add a row to a cluster's statistics and update what is derived from them."""


def collect(model: Any, slots: Any, slot: Any, row: Any) -> Any:
    """Add a row to a cluster's additive statistics only; :func:`derive` must follow before any other verb."""


def remove(model: Any, slots: Any, slot: Any, row: Any) -> Any:
    """Remove a row from a cluster's statistics and update what is derived from them."""


def log_marginal(model: Any, slots: Any, slot: Any) -> Any:
    """Log m(cluster): the marginal likelihood of its rows."""


def clear(model: Any, slots: Any, slot: Any) -> Any:
    """Make a slot empty."""


def derive(model: Any, slots: Any, slot: Any) -> Any:
    """Recompute everything that is derived from a cluster's size and additive statistics."""


def log_union(model: Any, slots: Any, a: Any, b: Any, into: Any) -> Any:
    """Log m(a ∪ b). Slot ``into`` is overwritten; :func:`log_marginal` of it then gives the same number."""


def union_work(model: Any, slots: Any, a: Any, b: Any) -> Any:
    """Roughly how many predictives :func:`log_union` of two clusters costs; by default 4."""


def unite(model: Any, slots: Any, a: Any, b: Any, into: Any) -> Any:
    """Make slot a the union of clusters a and b, and b empty; :func:`log_union` of them was called just before."""


def log_difference(model: Any, slots: Any, whole: Any, part: Any, into: Any) -> Any:
    """Log m(whole ∖ part), where slot ``part`` holds some rows of a cluster. Slot ``into`` is overwritten with the rest."""


def separate(model: Any, slots: Any, whole: Any, part: Any, into: Any) -> Any:
    """Remove what slot ``part`` holds from cluster ``whole``; :func:`log_difference` was called just before."""


def take(model: Any, slots: Any, source: Any, into: Any) -> Any:
    """Let slot ``into`` hold what slot ``source`` holds; ``source`` is not a cluster any more."""


def is_full(model: Any, slots: Any) -> Any:
    """Whether the slots might be too small for another proposal. The driver then returns, and they grow."""


@fallback(add)
def _add(model, slots, slot, row):
    collect(model, slots, slot, row)
    derive(model, slots, slot)


@fallback(union_work, hot=True)
def _union_work(model, slots, a, b):
    return UNION_WORK


def check_component(component: Component, model: Any, slots: Any) -> None:
    """Raise a TypeError that names the verbs a component lacks."""
    owner, cls = type(component).__name__, type(model)
    if not (isinstance(model, tuple) and hasattr(model, "_fields")):
        raise TypeError(f"model() of {owner} must return a NamedTuple. Got {model!r} instead.")
    check_verbs(owner, cls, [load, log_predictive, log_predictive_without, collect, remove, derive, log_marginal])
    if not isinstance(slots, DenseSlots):
        verbs = (log_union, unite, log_difference, separate, take, clear, is_full)
        of_slots = {entry.verb for entry in IMPLEMENTATIONS if entry.cls is type(slots)}
        check_verbs(owner, cls, [verb for verb in verbs if verb not in of_slots])


# ---- the slots most components use -----------------------------------------------------------------------------------------


class DenseSlots(NamedTuple):
    """Slots with a fixed number of float64 statistics per cluster.

    ``sizes`` (slot,), ``stats`` (slot, W) additive statistics, ``derived`` (slot, C) what kernels read; ``row``, ``work``
    and ``product`` are buffers as long as a row.
    """

    sizes: np.ndarray
    stats: np.ndarray
    derived: np.ndarray
    row: np.ndarray
    work: np.ndarray
    product: np.ndarray

    @classmethod
    def empty(cls, capacity: int, n_stats: int, n_derived: int, n_features: int) -> DenseSlots:
        """Make ``capacity`` slots, not yet cleared."""
        return cls(
            np.zeros(capacity, np.int64),
            np.zeros((capacity, n_stats)),
            np.zeros((capacity, n_derived)),
            *np.zeros((3, n_features)),
        )

    @property
    def full(self) -> bool:
        """Whether a proposal might need more memory than there is: never, the number of statistics is fixed."""
        return False

    def statistics(self, used: np.ndarray) -> np.ndarray:
        """Size and additive statistics of the clusters in the slots ``used``."""
        return np.column_stack([self.sizes[used], self.stats[used]])

    def for_worker(self) -> DenseSlots:
        """The same clusters with buffers of its own, for a thread that changes clusters no other thread touches."""
        return self._replace(row=np.empty_like(self.row), work=np.empty_like(self.work), product=np.empty_like(self.product))

    def grown(self, capacity: int) -> DenseSlots:
        """The same clusters with more slots."""
        bigger = self.empty(capacity, self.stats.shape[1], self.derived.shape[1], len(self.row))
        for name in ("sizes", "stats", "derived"):
            getattr(bigger, name)[: len(self.sizes)] = getattr(self, name)
        return bigger

    def for_workers(self, n: int, proposals: bool = False) -> tuple[DenseSlots, list[DenseSlots]]:
        """The slots to go on with, and n views of them that add and remove rows in threads of their own, or make proposals.

        No two threads may touch one cluster or free slot. Call :meth:`after_workers` when all are done.
        """
        return self, [self.for_worker() for _ in range(n)]

    def after_workers(self, views: list[DenseSlots]) -> None:
        """Take back what the workers were given: nothing, buffers are all they had."""


@implements(log_union, DenseSlots, argument=1)
def _log_union(model, slots, a, b, into):
    slots.sizes[into] = slots.sizes[a] + slots.sizes[b]
    for w in range(slots.stats.shape[1]):
        slots.stats[into, w] = slots.stats[a, w] + slots.stats[b, w]
    derive(model, slots, into)
    return log_marginal(model, slots, into)


@implements(unite, DenseSlots, argument=1)
def _unite(model, slots, a, b, into):
    take(model, slots, into, a)


@implements(log_difference, DenseSlots, argument=1)
def _log_difference(model, slots, whole, part, into):
    slots.sizes[into] = slots.sizes[whole] - slots.sizes[part]
    for w in range(slots.stats.shape[1]):
        slots.stats[into, w] = slots.stats[whole, w] - slots.stats[part, w]
    derive(model, slots, into)
    return log_marginal(model, slots, into)


@implements(separate, DenseSlots, argument=1)
def _separate(model, slots, whole, part, into):
    take(model, slots, into, whole)


@implements(is_full, DenseSlots, argument=1)
def _is_full(model, slots):
    return False


@implements(take, DenseSlots, argument=1)
def _take(model, slots, source, into):
    # Loops, not array assignments: Numba takes seconds to compile the latter.
    slots.sizes[into] = slots.sizes[source]
    for w in range(slots.stats.shape[1]):
        slots.stats[into, w] = slots.stats[source, w]
    for w in range(slots.derived.shape[1]):
        slots.derived[into, w] = slots.derived[source, w]


@implements(clear, DenseSlots, argument=1)
def _clear(model, slots, slot):
    slots.sizes[slot] = 0
    for w in range(slots.stats.shape[1]):
        slots.stats[slot, w] = 0.0
    derive(model, slots, slot)


#: An update of hyperparameters: takes the model, a chain's slots, the slots in use and a generator; returns the new model.
Learner = Callable[[Any, Any, np.ndarray, np.random.Generator], Any]


# ---- the Python side -------------------------------------------------------------------------------------------------------


class Component(Declared, ABC):
    """How one cluster makes data: hyperparameters, what the family can do, and array code over many clusters at once.

    A subclass must provide :meth:`from_data`, :meth:`model`, :meth:`slots`, :meth:`statistics`, :meth:`log_marginals` and
    :meth:`log_predictives`. In these, ``stats`` has one row per cluster: its size, then its additive statistics in the
    model's units. Everything else is in the user's units. ``X`` may be an array, a sparse matrix or
    :class:`~hashmix.data.rows.Rows`; ``self.rows(X)`` makes Rows of each.

    The class attributes declare what the family can do. Estimator, command line and report ask them.
    """

    #: Whether sparse matrices are accepted.
    takes_sparse: ClassVar[bool] = False
    #: Whether cells may be blank (NaN), and columns may be of different kinds.
    takes_blanks: ClassVar[bool] = False
    #: Whether entries must be counts: whole numbers of at least 0.
    takes_counts: ClassVar[bool] = False
    #: Whether it only has probabilities of rows given their sums.
    given_sums: ClassVar[bool] = False
    #: Whether :meth:`expected_parameters` returns an object with ``means`` (K, D) and ``covariances``, (K, D) or (K, D, D).
    has_means: ClassVar[bool] = False
    #: Whether columns are words, with a probability or rate in every cluster (:meth:`word_profile`).
    has_words: ClassVar[bool] = False
    #: Whether :meth:`draw_parameters`, :meth:`log_densities` and :meth:`draw_rows` are there, to draw new rows.
    draws_parameters: ClassVar[bool] = False
    #: Whether rows find their clusters with parameters drawn (:meth:`draw_density`), which needs tight posteriors; else moves
    #: of the default schedule keep parameters integrated out.
    moves_with_parameters: ClassVar[bool] = False
    #: Whether constant columns are left out when the component was chosen by name.
    drops_constant_columns: ClassVar[bool] = False
    #: Whether chains on large data start from a clustered sample of the rows (:mod:`hashmix.run.starts`).
    starts_from_sample: ClassVar[bool] = True
    #: With more columns, starts from hashed neighbourhoods are not tried: a few rows do not tell so many parameters, and sweeps
    #: of hundreds of such clusters take minutes.
    most_columns_from_neighbourhoods: ClassVar[float] = math.inf
    #: For how many sweeps of warm-up learned hyperparameters keep their starting values.
    sweeps_held: ClassVar[int] = 0
    #: The same, for chains that start from one cluster.
    sweeps_held_from_one: ClassVar[int] = 0

    # ---- data and model ----

    @classmethod
    @abstractmethod
    def from_data(cls, X: Any, learn: bool = False) -> Component:
        """Choose hyperparameters from the data; with ``learn``, they are starting values and are learned."""

    @classmethod
    def rows(cls, X: Any, owner: str = "sample") -> Any:
        """Validate data and return them as kernels take them: dense numbers, unless a component overrides this."""
        return as_dense(X, owner)

    def settled(self, model: Any) -> Any:
        """The model to go on with once clusters have formed, some sweeps into warm-up; the same by default.

        Until then a chain may use hyperparameters that let clusters change more freely.
        """
        return model

    def hash_metric(self, model: Any) -> np.ndarray | None:
        """Coordinates in which rows of one cluster are near each other, (D, P), as far as they were learned; None by default.

        Rows are hashed as X @ metric from the middle of warm-up on.
        """
        return None

    def word_concentration(self, model: Any) -> float | None:
        """What a word counts in a cluster that does not have it, if rows find their cluster by words that they share.

        Then the start is improved by shared words (:mod:`hashmix.run.shared_words`); rows are sparse. None by default.
        """
        return None

    def hashed(self, rows: Rows) -> Rows:
        """The rows as hashing sees them: the same, unless a component overrides this."""
        return rows

    @abstractmethod
    def model(self, X: Any) -> Any:
        """The model for these data: a NamedTuple of what kernels read."""

    @abstractmethod
    def slots(self, model: Any, capacity: int) -> Any:
        """``capacity`` cluster slots; a slot is cleared by whoever uses it first."""

    # ---- learned hyperparameters ----

    def learner(self, model: Any, X: Any) -> Learner | None:
        """An exact update of the model's hyperparameters, or None if they are fixed.

        The update takes the model, the chain's slots, the numbers of the slots in use and a generator. It returns the model
        with new hyperparameters, in the same internal units.
        """
        return None

    def hyperparameters(self, model: Any) -> dict[str, np.ndarray]:
        """The learned hyperparameters of a model, by name; empty if all are fixed."""
        return {}

    def hyperparameter_columns(self, model: Any) -> dict[str, np.ndarray]:
        """Which column each entry of a hyperparameter is about; hyperparameters that are about none are left out."""
        values = self.hyperparameters(model)
        return {name: np.arange(len(each)) for name, each in values.items() if np.ndim(each) > 0}

    def with_hyperparameters(self, values: dict[str, Any]) -> Component:
        """The component with the learned hyperparameters fixed at these values."""
        return self

    # ---- array code over many clusters ----

    @abstractmethod
    def statistics(self, model: Any, X: Any, labels: np.ndarray, n_clusters: int) -> Any:
        """Sufficient statistics of the rows of each label, (n_clusters, 1 + W)."""

    @abstractmethod
    def log_marginals(self, model: Any, stats: Any) -> np.ndarray:
        """Log m of each cluster, (K,)."""

    @abstractmethod
    def log_predictives(self, model: Any, stats: Any, X: Any) -> np.ndarray:
        """Log p(row | cluster), (n, K)."""

    def draw_parameters(self, model: Any, stats: Any, rng: np.random.Generator) -> Any:
        """Draw every cluster's parameters from their posterior; a cluster of size 0 draws from the prior."""
        raise self._cannot("draw_parameters")

    def expected_parameters(self, model: Any, stats: Any) -> Any:
        """The posterior expectation of every cluster's parameters."""
        raise self._cannot("expected_parameters")

    def log_densities(self, parameters: Any, X: Any) -> np.ndarray:
        """Log density of every row under every parameter set, (n, K)."""
        raise self._cannot("log_densities")

    def draw_rows(self, parameters: Any, labels: np.ndarray, rng: np.random.Generator) -> Any:
        """One row per label, drawn under that cluster's parameters, (len(labels), D)."""
        raise self._cannot("draw_rows")

    def draw_density(self, model: Any, stats: Any, rng: np.random.Generator) -> Any:
        """Draw every cluster's parameters, and return what weighs all rows at once (:mod:`hashmix.components.densities`)."""
        raise self._cannot("draw_density")

    def positions(self, model: Any, stats: Any) -> np.ndarray:
        """Where clusters are, (K, P), in coordinates whose distances say how different they are; for the tree of clusters."""
        raise self._cannot("positions")

    def word_profile(self, model: Any, stats: Any) -> np.ndarray:
        """Expected probability or rate of every word in every cluster, (K, D); for components that have words."""
        raise self._cannot("word_profile")

    def _cannot(self, method: str) -> TypeError:
        return TypeError(f"{type(self).__name__} does not provide {method}: see hashmix.components.contract.Component.")
