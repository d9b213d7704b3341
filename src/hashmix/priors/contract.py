"""Priors on partitions as data.

Every prior here has the form p(ρ) = V(K) ∏ W(n_c) with W(m) = Γ(m + s), or W ≡ 1. Kernels read three things: the values
of log V, the shift s, and whether W is 1. So one compiled kernel serves all priors.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from typing import ClassVar, NamedTuple

import numpy as np
from scipy.special import gammaln

from hashmix.core.compiling import helper, hot_helper
from hashmix.core.declared import Declared

__all__ = [
    "PartitionPrior",
    "PriorWeights",
    "log_join_odds",
    "log_join_weight",
    "log_new_weight",
    "log_prior",
    "log_size_weight",
    "log_sizes_ratios",
    "log_split_ratio",
]


class PriorWeights(NamedTuple):
    """A prior on partitions of n rows, as kernels read it.

    ``log_v[K]`` for 0 < K < len(log_v); ``shift`` is s; ``flat`` means W ≡ 1. A constant in log V shifts reported log joints
    and changes nothing else; priors that can be normalised include it.
    """

    log_v: np.ndarray
    shift: float
    flat: bool


class PartitionPrior(Declared, ABC):
    """How clusters share rows. It knows the sizes of clusters and nothing else.

    A subclass provides :meth:`weights` and :attr:`start_concentration`; a prior that learns its concentration also
    :attr:`learns_concentration` and :meth:`update_concentration`.
    """

    #: Whether log V(K) is linear in K, so that clusters know nothing of how many others there are.
    linear_in_clusters: ClassVar[bool] = False

    @abstractmethod
    def weights(self, n: int, max_clusters: int, concentration: float) -> PriorWeights:
        """The prior on partitions of n rows as data, for up to ``max_clusters`` clusters."""

    @property
    @abstractmethod
    def start_concentration(self) -> float:
        """The concentration a chain starts from, and keeps unless it is learned."""

    def update_concentration(self, concentration: float, n: int, n_clusters: int, rng: np.random.Generator) -> float:
        """Draw the concentration given the partition; priors that do not learn it return it unchanged."""
        return concentration

    @property
    def learns_concentration(self) -> bool:
        """Whether the concentration is a random variable of the model."""
        return False


@helper
def log_size_weight(prior, size):
    """Log W(size)."""
    if prior.flat:
        return 0.0
    return math.lgamma(size + prior.shift)


@hot_helper
def log_join_weight(prior, size):
    """Log W(size + 1) − log W(size): the prior weight of a row joining a cluster of ``size`` others."""
    if prior.flat:
        return 0.0
    return math.log(size + prior.shift)


@hot_helper
def log_join_odds(prior, size, other):
    """log_join_weight of one size minus that of another, with one logarithm."""
    if prior.flat:
        return 0.0
    return math.log((size + prior.shift) / (other + prior.shift))


@helper
def log_new_weight(prior, n_clusters):
    """The prior weight of a row opening a cluster when there are ``n_clusters`` others."""
    return prior.log_v[n_clusters + 1] - prior.log_v[n_clusters] + log_size_weight(prior, 1)


@helper
def log_split_ratio(prior, n_clusters, a, b):
    """Log p(ρ′) − log p(ρ) when one of ``n_clusters`` clusters is split into sizes a and b."""
    sizes = log_size_weight(prior, a) + log_size_weight(prior, b) - log_size_weight(prior, a + b)
    return prior.log_v[n_clusters + 1] - prior.log_v[n_clusters] + sizes


def log_sizes_ratios(prior: PriorWeights, a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Log W(a) W(b) / W(a + b) of arrays of sizes: what the sizes contribute when clusters of a + b rows are split.

    Examples
    --------
    >>> import numpy as np
    >>> from hashmix.priors import DirichletProcess
    >>> from hashmix.priors.contract import log_sizes_ratios
    >>> log_sizes_ratios(DirichletProcess(1.0).weights(2, 2, 1.0), np.array([1]), np.array([1]))
    array([0.])
    """
    if prior.flat:
        return np.zeros(len(a))
    return gammaln(a + prior.shift) + gammaln(b + prior.shift) - gammaln(a + b + prior.shift)


def log_prior(prior: PriorWeights, sizes: np.ndarray) -> float:
    """Log p(ρ) of a partition with these cluster sizes.

    Examples
    --------
    >>> import numpy as np
    >>> from hashmix.priors import DirichletProcess
    >>> from hashmix.priors.contract import log_prior
    >>> prior = DirichletProcess(1.0)
    >>> round(log_prior(prior.weights(2, 2, 1.0), np.array([1, 1])), 6)  # log(1/2)
    -0.693147
    """
    weights = 0.0 if prior.flat else float(gammaln(np.asarray(sizes) + prior.shift).sum())
    return float(prior.log_v[len(sizes)]) + weights
