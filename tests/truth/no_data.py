"""A component without data, m ≡ 1: every exact sampler must then return the prior.

It is also the smallest component there is, written outside the package as a user would.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from hashmix.compiling import implements
from hashmix.components.contract import (
    Component,
    DenseTable,
    add,
    collect,
    derive,
    load,
    log_marginal,
    log_predictive,
    log_predictive_without,
    remove,
)


class NoDataModel(NamedTuple):
    nothing: float


class NoData(Component):
    @classmethod
    def from_data(cls, X):
        return cls()

    def model(self, X):
        return NoDataModel(0.0)

    def table(self, model, capacity):
        return DenseTable.empty(capacity, 1, 1, 1)

    def statistics(self, model, X, labels, n_clusters):
        return np.column_stack([np.bincount(labels, minlength=n_clusters), np.zeros(n_clusters)])

    def log_marginals(self, model, stats):
        return np.zeros(len(stats))

    def log_predictives(self, model, stats, X):
        return np.zeros((len(X), len(stats)))

    def draw_parameters(self, model, stats, rng):
        return None

    def expected_parameters(self, model, stats):
        return None

    def log_densities(self, parameters, X):
        return np.zeros((len(X), 1))

    def draw_rows(self, parameters, labels, rng):
        return np.zeros((len(labels), 1))


@implements(log_marginal, NoDataModel)
@implements(derive, NoDataModel)
def _nothing_of_a_cluster(model, table, slot):
    return 0.0


@implements(log_predictive, NoDataModel)
@implements(log_predictive_without, NoDataModel)
def _nothing_of_a_row(model, table, slot, row):
    return 0.0


@implements(load, NoDataModel)
def _load(model, table, data, i):
    return table.row


@implements(add, NoDataModel)
@implements(collect, NoDataModel)
def _add(model, table, slot, row):
    table.sizes[slot] += 1


@implements(remove, NoDataModel)
def _remove(model, table, slot, row):
    table.sizes[slot] -= 1
