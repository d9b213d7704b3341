"""
Write a component
=================

A component is the probability model of the rows of one cluster. In this example, the columns are waiting times: each
column of a cluster has an exponential distribution with its own rate. The example is complete: the model, array code
that is easy to check, and seven small functions that are compiled. All moves work with it. A test at the end verifies
by enumeration that a move leaves the posterior invariant.
"""

# %%
# The class
# ---------
# The class has the parameters, and plain array code for many clusters at once. A column of a cluster has a rate
# λ ~ Gamma(shape, rate). With n rows and sum s, its marginal likelihood is Γ(a + n) / Γ(a) · bᵃ / (b + s)ᵃ⁺ⁿ, where a is
# the shape and b the rate.

import math
from typing import NamedTuple

import matplotlib.pyplot as plt
import numpy as np
from scipy.special import gammaln

import hashmix as hm
from hashmix.components.contract import (
    Component,
    DenseSlots,
    collect,
    derive,
    load,
    log_marginal,
    log_predictive,
    log_predictive_without,
    remove,
)
from hashmix.core.compiling import implements
from hashmix.core.validation import check_number
from hashmix.testing import exact_posterior, transition_matrix


class WaitingModel(NamedTuple):
    """What kernels read."""

    shape: float
    rate: float
    n_features: int


class WaitingTimes(Component):
    """Exponential columns with Gamma(shape, rate) rates."""

    def __init__(self, shape=1.0, rate=1.0):
        self.shape = check_number("WaitingTimes", "shape", shape)
        self.rate = check_number("WaitingTimes", "rate", rate)

    @classmethod
    def from_data(cls, X, learn=False):
        """Defaults for these data, for use by name."""
        return cls(1.0, float(cls.rows(X).summary.mean.mean()))

    def model(self, X):
        """The numbers that kernels read."""
        return WaitingModel(self.shape, self.rate, self.rows(X).n_columns)

    def slots(self, model, capacity):
        """Additive statistics of clusters (sums of columns), and one derived number (the log marginal likelihood)."""
        return DenseSlots.empty(capacity, n_stats=model.n_features, n_derived=1, n_features=model.n_features)

    def statistics(self, model, X, labels, n_clusters):
        """Sizes and sums."""
        values, one_hot = self.rows(X).matrix(), np.eye(n_clusters)[labels]
        return np.column_stack([one_hot.sum(axis=0), one_hot.T @ values])

    def log_marginals(self, model, stats):
        """Log m(c) of every cluster."""
        a, b, n, sums = model.shape, model.rate, stats[:, :1], stats[:, 1:]
        return (gammaln(a + n) - gammaln(a) + a * np.log(b) - (a + n) * np.log(b + sums)).sum(axis=1)

    def log_predictives(self, model, stats, X):
        """Log density of every row in every cluster."""
        a, b = model.shape + stats[:, 0], model.rate + stats[:, 1:]
        x = self.rows(X).matrix()[:, None, :]
        return (np.log(a)[:, None] + a[:, None] * np.log(b) - (a[:, None] + 1.0) * np.log(b + x)).sum(axis=2)


# %%
# The verbs
# ---------
# *Verbs* are the functions that the compiled kernels call for one cluster and one row. ``implements`` compiles a function
# and registers it for our model.


@implements(load, WaitingModel)
def _load(model, slots, data, i):
    for j in range(model.n_features):
        slots.row[j] = data.values[i, j]
    return slots.row


@implements(log_predictive, WaitingModel)
def _log_predictive(model, slots, slot, row):
    a, total = model.shape + slots.sizes[slot], 0.0
    for j in range(model.n_features):
        b = model.rate + slots.stats[slot, j]
        total += math.log(a) + a * math.log(b) - (a + 1.0) * math.log(b + row[j])
    return total


@implements(log_predictive_without, WaitingModel)
def _log_predictive_without(model, slots, slot, row):
    a, total = model.shape + slots.sizes[slot] - 1, 0.0
    for j in range(model.n_features):
        b = model.rate + slots.stats[slot, j] - row[j]
        total += math.log(a) + a * math.log(b) - (a + 1.0) * math.log(b + row[j])
    return total


@implements(collect, WaitingModel)
def _collect(model, slots, slot, row):
    slots.sizes[slot] += 1
    for j in range(model.n_features):
        slots.stats[slot, j] += row[j]


@implements(remove, WaitingModel)
def _remove(model, slots, slot, row):
    slots.sizes[slot] -= 1
    for j in range(model.n_features):
        slots.stats[slot, j] -= row[j]
    derive(model, slots, slot)


@implements(derive, WaitingModel)
def _derive(model, slots, slot):
    n, total = slots.sizes[slot], 0.0
    for j in range(model.n_features):
        total += math.lgamma(model.shape + n) - math.lgamma(model.shape) + model.shape * math.log(model.rate)
        total -= (model.shape + n) * math.log(model.rate + slots.stats[slot, j])
    slots.derived[slot, 0] = total


@implements(log_marginal, WaitingModel)
def _log_marginal(model, slots, slot):
    return slots.derived[slot, 0]


# %%
# Verification
# ------------
# Four rows have 15 partitions. ``transition_matrix`` follows every path of the compiled move, for every outcome of its
# random choices. The exact posterior must be invariant: π P = π.

few = np.array([[0.1, 0.4], [0.2, 0.3], [1.9, 2.6], [0.9, 1.3]])
component, prior = WaitingTimes(2.0, 0.5), hm.priors.DirichletProcess(1.0)
pi = np.array(list(exact_posterior(few, component, prior).values()))
P = transition_matrix(hm.moves.SAMS(), few, component, prior)
print(f"largest error: {abs(pi @ P - pi).max():.0e}")

# %%
# In use
# ------

rng = np.random.default_rng(0)
rates = np.array([[1.0, 9.0], [40.0, 0.2]])
y = np.repeat([0, 1], 150)
waits = rng.exponential(rates[y])
moves = [(hm.moves.SAMS(), 20), (hm.moves.Gibbs(), 1)]
model = hm.SplitMergeMixture(WaitingTimes(1.0, 5.0), moves=moves, random_state=0).fit(waits)
ax = hm.plot.clusters(waits, model.labels_)
ax.set(xscale="log", yscale="log", xlabel="first wait", ylabel="second wait", title=f"{model.n_clusters_} clusters")
plt.show()

# %%
# :doc:`/extending` explains what else a component can do, and has examples of moves, priors, hash families and file
# readers.
