"""The verbs of mixed columns: what moves ask of them, compiled.

Columns are independent given the cluster, and a blank cell adds nothing to its column. So every column has statistics of its
own, beginning with how many of the cluster's rows it was observed in. Three kinds of columns are enough (yes/no is a category
of two):

=========  ======================  ================================================================
kind       statistics              derived
=========  ======================  ================================================================
NUMBER     n, Σ y, Σ y²            constant of the log predictive, posterior mean m, posterior rate b
CATEGORY   n, count of each        log(n + total pseudo-count), log(count + pseudo-count) of each
COUNT      n, Σ x, Σ log x!        constant of the log predictive, posterior shape s, log(1 + posterior rate)
=========  ======================  ================================================================

A row has numbers in internal units y, categories by their position, counts as they are, and NaN where a cell is blank.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from hashmix.components.contract import (
    add,
    collect,
    derive,
    load,
    log_marginal,
    log_predictive,
    log_predictive_without,
    remove,
)
from hashmix.core.compiling import helper, hot_helper, implements
from hashmix.core.special import log_gamma_ratio

__all__ = ["CATEGORY", "COUNT", "NUMBER", "MixedModel"]

NUMBER, CATEGORY, COUNT = 0, 1, 2
_LOG_2PI = math.log(2.0 * math.pi)


class MixedModel(NamedTuple):
    """Hyperparameters of every column; those that its kind does not have are 0, or 1 where they are divided by.

    Numbers are in internal units y = (x − origin) · unit; mean, kappa, shape and rate are those of a normal–inverse-gamma
    prior. Counts have rates ~ Gamma(shape, rate). Categories have pseudo-counts, at the places of their statistics.
    """

    kinds: np.ndarray  # (D,)
    begins: np.ndarray  # (D + 1,) where the statistics of a column begin
    origin: np.ndarray
    unit: np.ndarray
    mean: np.ndarray
    kappa: np.ndarray
    shape: np.ndarray
    rate: np.ndarray
    pseudo: np.ndarray  # (W,)
    totals: np.ndarray  # (D,) sum of a column's pseudo-counts


@implements(load, MixedModel, hot=True)
def _load(model, slots, data, i):
    row = slots.row
    for j in range(len(row)):
        row[j] = (data.values[i, j] - model.origin[j]) * model.unit[j]
    return row


# ---- one column ------------------------------------------------------------------------------------------------------------


@hot_helper
def _column_predictive(model, stats, derived, j, x):
    """Log p(x | cluster) of one cell that is not blank."""
    at = model.begins[j]
    if model.kinds[j] == NUMBER:
        n = stats[at]
        k = model.kappa[j] + n
        t = x - derived[at + 1]
        return derived[at] - (model.shape[j] + 0.5 * n + 0.5) * math.log(derived[at + 2] + 0.5 * k / (k + 1.0) * t * t)
    if model.kinds[j] == CATEGORY:
        return derived[at + 1 + int(x)] - derived[at]
    s = derived[at + 1]
    return derived[at] + log_gamma_ratio(s + x, x) - math.lgamma(x + 1.0) - x * derived[at + 2]


@hot_helper
def _column_predictive_without(model, stats, derived, j, x):
    """The same, given the cluster without that cell."""
    at = model.begins[j]
    n = stats[at]
    if model.kinds[j] == NUMBER:
        a, k = model.shape[j] + 0.5 * n, model.kappa[j] + n
        t = x - derived[at + 1]
        b = derived[at + 2]
        less = max(b - 0.5 * k / (k - 1.0) * t * t, model.rate[j])
        constant = log_gamma_ratio(a, 0.5) + 0.5 * math.log((k - 1.0) / k) - 0.5 * _LOG_2PI + math.log(model.unit[j])
        return constant + (a - 0.5) * math.log(less) - a * math.log(b)
    if model.kinds[j] == CATEGORY:
        own = at + 1 + int(x)
        return math.log((stats[own] - 1.0 + model.pseudo[own]) / (n - 1.0 + model.totals[j]))
    s, r = derived[at + 1] - x, model.rate[j] + n - 1.0
    return log_gamma_ratio(s + x, x) - math.lgamma(x + 1.0) - s * math.log1p(1.0 / r) - x * math.log(r + 1.0)


@helper
def _derive_column(model, stats, derived, j):
    """Recompute what is derived from the statistics of a number or a count."""
    at = model.begins[j]
    n = stats[at]
    if model.kinds[j] == NUMBER:
        a, k = model.shape[j] + 0.5 * n, model.kappa[j] + n
        average = stats[at + 1] / max(n, 1.0)
        offset = average - model.mean[j]
        scatter = max(stats[at + 2] - stats[at + 1] * average, 0.0)
        b = model.rate[j] + 0.5 * scatter + 0.5 * model.kappa[j] * n / k * offset * offset
        constant = log_gamma_ratio(a + 0.5, 0.5) + 0.5 * math.log(k / (k + 1.0)) - 0.5 * _LOG_2PI + math.log(model.unit[j])
        derived[at] = constant + a * math.log(b)
        derived[at + 1] = (model.kappa[j] * model.mean[j] + stats[at + 1]) / k
        derived[at + 2] = b
    else:
        s, r = model.shape[j] + stats[at + 1], model.rate[j] + n
        derived[at] = -s * math.log1p(1.0 / r)
        derived[at + 1] = s
        derived[at + 2] = math.log(r + 1.0)


@hot_helper
def _derive_category(model, stats, derived, j, own):
    derived[model.begins[j]] = math.log(stats[model.begins[j]] + model.totals[j])
    derived[own] = math.log(stats[own] + model.pseudo[own])


@helper
def _column_marginal(model, stats, derived, j):
    """Log m of the observed cells of one column."""
    at = model.begins[j]
    n = stats[at]
    if n == 0.0:
        return 0.0
    if model.kinds[j] == NUMBER:
        a, k = model.shape[j] + 0.5 * n, model.kappa[j] + n
        gammas = math.lgamma(a) - math.lgamma(model.shape[j]) + 0.5 * math.log(model.kappa[j] / k)
        rates = model.shape[j] * math.log(model.rate[j]) - a * math.log(derived[at + 2])
        return gammas + rates + n * (math.log(model.unit[j]) - 0.5 * _LOG_2PI)
    if model.kinds[j] == CATEGORY:
        total = -log_gamma_ratio(model.totals[j] + n, n)
        for own in range(at + 1, model.begins[j + 1]):
            if stats[own] > 0.0:
                total += log_gamma_ratio(model.pseudo[own] + stats[own], stats[own])
        return total
    s, r = model.shape[j], model.rate[j]
    x = stats[at + 1]
    return log_gamma_ratio(s + x, x) - stats[at + 2] - s * math.log1p(n / r) - x * math.log(r + n)


@hot_helper
def _change(model, stats, j, x, sign):
    """Add a cell to the statistics of its column, or take it away."""
    at = model.begins[j]
    stats[at] += sign
    if model.kinds[j] == CATEGORY:
        stats[at + 1 + int(x)] += sign
    elif model.kinds[j] == NUMBER:
        stats[at + 1] += sign * x
        stats[at + 2] += sign * x * x
    else:
        stats[at + 1] += sign * x
        stats[at + 2] += sign * math.lgamma(x + 1.0)


@helper
def _change_row(model, slots, slot, row, sign):
    """Add a row or take it away, and update what is derived."""
    slots.sizes[slot] += sign
    stats, derived = slots.stats[slot], slots.derived[slot]
    for j in range(len(row)):
        x = row[j]
        if x == x:
            _change(model, stats, j, x, sign)
            if model.kinds[j] == CATEGORY:
                _derive_category(model, stats, derived, j, model.begins[j] + 1 + int(x))
            else:
                _derive_column(model, stats, derived, j)


# ---- the verbs -------------------------------------------------------------------------------------------------------------


@implements(log_predictive, MixedModel, hot=True)
def _log_predictive(model, slots, slot, row):
    stats, derived = slots.stats[slot], slots.derived[slot]
    total = 0.0
    for j in range(len(row)):
        if row[j] == row[j]:
            total += _column_predictive(model, stats, derived, j, row[j])
    return total


@implements(log_predictive_without, MixedModel, hot=True)
def _log_predictive_without(model, slots, slot, row):
    stats, derived = slots.stats[slot], slots.derived[slot]
    total = 0.0
    for j in range(len(row)):
        if row[j] == row[j]:
            total += _column_predictive_without(model, stats, derived, j, row[j])
    return total


@implements(add, MixedModel)
def _add(model, slots, slot, row):
    _change_row(model, slots, slot, row, 1)


@implements(remove, MixedModel)
def _remove(model, slots, slot, row):
    _change_row(model, slots, slot, row, -1)


@implements(collect, MixedModel, hot=True)
def _collect(model, slots, slot, row):
    slots.sizes[slot] += 1
    for j in range(len(row)):
        if row[j] == row[j]:
            _change(model, slots.stats[slot], j, row[j], 1)


@implements(derive, MixedModel)
def _derive(model, slots, slot):
    stats, derived = slots.stats[slot], slots.derived[slot]
    for j in range(len(model.kinds)):
        if model.kinds[j] == CATEGORY:
            for own in range(model.begins[j] + 1, model.begins[j + 1]):
                _derive_category(model, stats, derived, j, own)
        else:
            _derive_column(model, stats, derived, j)


@implements(log_marginal, MixedModel)
def _log_marginal(model, slots, slot):
    total = 0.0
    for j in range(len(model.kinds)):
        total += _column_marginal(model, slots.stats[slot], slots.derived[slot], j)
    return total
