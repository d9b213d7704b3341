"""A component without data, m ≡ 1: every exact sampler must then return the prior.

It is also the smallest component there is, written outside the package as a user would.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

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


class NoDataModel(NamedTuple):
    nothing: float


class NoData(Component):
    @classmethod
    def from_data(cls, X, learn=False):
        return cls()

    def model(self, X):
        return NoDataModel(0.0)

    def slots(self, model, capacity):
        return DenseSlots.empty(capacity, 1, 1, 1)

    def statistics(self, model, X, labels, n_clusters):
        return np.column_stack([np.bincount(labels, minlength=n_clusters), np.zeros(n_clusters)])

    def log_marginals(self, model, stats):
        return np.zeros(len(stats))

    def log_predictives(self, model, stats, X):
        return np.zeros((len(self.rows(X)), len(stats)))


@implements(log_marginal, NoDataModel)
@implements(derive, NoDataModel)
def _nothing_of_a_cluster(model, slots, slot):
    return 0.0


@implements(log_predictive, NoDataModel)
@implements(log_predictive_without, NoDataModel)
def _nothing_of_a_row(model, slots, slot, row):
    return 0.0


@implements(load, NoDataModel)
def _load(model, slots, data, i):
    return slots.row


@implements(collect, NoDataModel)
def _collect(model, slots, slot, row):
    slots.sizes[slot] += 1


@implements(remove, NoDataModel)
def _remove(model, slots, slot, row):
    slots.sizes[slot] -= 1
