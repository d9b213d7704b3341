"""The verbs of Gaussian clusters with independent columns: what moves ask of them, compiled.

A row of ``stats`` is (Σ y, Σ y²); a row of ``derived`` is (posterior mean m, posterior rate b, S = Σ log b).
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
from hashmix.components.gaussian.shared import load_dense
from hashmix.core.compiling import helper, hot_helper, implements
from hashmix.core.special import log_gamma_ratio

__all__ = ["DiagonalModel", "marginal_constants", "predictive_constants", "with_constants"]

_LOG_2PI = math.log(2.0 * math.pi)


class DiagonalModel(NamedTuple):
    """Hyperparameters in internal units y = (x − origin) · inverse_scale, where the prior rate starts as 1."""

    origin: np.ndarray
    inverse_scale: np.ndarray
    mean: np.ndarray
    kappa: float
    shape: float
    rate: np.ndarray
    rate_floor: float
    log_jacobian: float
    log_rate_sum: float
    predictive_gammas: np.ndarray
    marginal_gammas: np.ndarray
    predictive_constants: np.ndarray
    marginal_constants: np.ndarray


def predictive_constants(model: DiagonalModel, n: np.ndarray, gammas: np.ndarray) -> np.ndarray:
    """The terms of a log predictive that depend on neither the row nor the posterior rates, for clusters of n rows."""
    d = len(model.mean)
    k = model.kappa + n
    return gammas + 0.5 * d * (np.log(k / (k + 1.0)) - _LOG_2PI) + model.log_jacobian


def marginal_constants(model: DiagonalModel, n: np.ndarray, gammas: np.ndarray) -> np.ndarray:
    """The terms of a log marginal likelihood that do not depend on the posterior rates, for clusters of n rows."""
    d = len(model.mean)
    spread = 0.5 * d * (np.log(model.kappa / (model.kappa + n)) - n * _LOG_2PI)
    return gammas + spread + n * model.log_jacobian + model.shape * model.log_rate_sum


def with_constants(model: DiagonalModel) -> DiagonalModel:
    """The model with look-up tables that fit its hyperparameters."""
    sizes = np.arange(len(model.predictive_gammas))
    return model._replace(
        predictive_constants=predictive_constants(model, sizes, model.predictive_gammas),
        marginal_constants=marginal_constants(model, sizes, model.marginal_gammas),
    )


@hot_helper
def _sum_log(values):
    """Σ log of positive values, taking one logarithm of a product of 8 columns.

    The columns of a product are an eighth of the row apart, so that neighbouring products are computed side by side. In
    internal units every value is at least about 1, and products stay far below overflow (values < 10³⁸).
    """
    d = len(values)
    eighth = d // 8
    total = 0.0
    for k in range(eighth):
        product = values[k]
        for j in range(1, 8):
            product *= values[k + j * eighth]
        total += math.log(product)
    if 8 * eighth < d:
        product = 1.0
        for k in range(8 * eighth, d):
            product *= values[k]
        total += math.log(product)
    return total


@hot_helper
def _sum_log_rates(derived, row, work, c, floor):
    """Σ log max(b + c (y − m)², floor)."""
    d = len(row)
    mean, rate = derived[:d], derived[d : 2 * d]
    for j in range(d):
        t = row[j] - mean[j]
        value = rate[j] + c * t * t
        work[j] = value if value > floor else floor
    return _sum_log(work)


@hot_helper
def _predictive_constant(model, n):
    if n < len(model.predictive_constants):
        return model.predictive_constants[n]
    a = model.shape + 0.5 * n
    k = model.kappa + n
    d = len(model.mean)
    return d * (log_gamma_ratio(a + 0.5, 0.5) + 0.5 * math.log(k / (k + 1.0)) - 0.5 * _LOG_2PI) + model.log_jacobian


@helper
def _marginal_constant(model, n):
    if n < len(model.marginal_constants):
        return model.marginal_constants[n]
    a = model.shape + 0.5 * n
    k = model.kappa + n
    d = len(model.mean)
    gammas = math.lgamma(a) - math.lgamma(model.shape)
    return (
        d * (gammas + 0.5 * math.log(model.kappa / k) - 0.5 * n * _LOG_2PI)
        + n * model.log_jacobian
        + model.shape * model.log_rate_sum
    )


implements(load, DiagonalModel, hot=True)(load_dense)


@implements(log_predictive, DiagonalModel, hot=True)
def _log_predictive(model, slots, slot, row):
    d = len(row)
    n = slots.sizes[slot]
    a = model.shape + 0.5 * n
    k = model.kappa + n
    derived = slots.derived[slot]
    grown = _sum_log_rates(derived, row, slots.work, 0.5 * k / (k + 1.0), model.rate_floor)
    return _predictive_constant(model, n) + a * derived[2 * d] - (a + 0.5) * grown


@implements(log_predictive_without, DiagonalModel, hot=True)
def _log_predictive_without(model, slots, slot, row):
    d = len(row)
    n = slots.sizes[slot]
    a = model.shape + 0.5 * n
    k = model.kappa + n
    derived = slots.derived[slot]
    shrunk = _sum_log_rates(derived, row, slots.work, -0.5 * k / (k - 1.0), model.rate_floor)
    return _predictive_constant(model, n - 1) + (a - 0.5) * shrunk - a * derived[2 * d]


@implements(add, DiagonalModel)
def _add(model, slots, slot, row):
    d = len(row)
    k = model.kappa + slots.sizes[slot]
    slots.sizes[slot] += 1
    stats, derived = slots.stats[slot], slots.derived[slot]
    step, c = 1.0 / (k + 1.0), 0.5 * k / (k + 1.0)
    sums, squares, mean, rate = stats[:d], stats[d:], derived[:d], derived[d : 2 * d]
    for j in range(d):
        y = row[j]
        sums[j] += y
        squares[j] += y * y
        t = y - mean[j]
        mean[j] += t * step
        rate[j] += c * t * t
    derived[2 * d] = _sum_log(rate)


@implements(collect, DiagonalModel, hot=True)
def _collect(model, slots, slot, row):
    d = len(row)
    slots.sizes[slot] += 1
    stats = slots.stats[slot]
    sums, squares = stats[:d], stats[d:]
    for j in range(d):
        y = row[j]
        sums[j] += y
        squares[j] += y * y


@implements(remove, DiagonalModel)
def _remove(model, slots, slot, row):
    d = len(row)
    k = model.kappa + slots.sizes[slot]
    slots.sizes[slot] -= 1
    stats, derived = slots.stats[slot], slots.derived[slot]
    step, c = 1.0 / (k - 1.0), 0.5 * k / (k - 1.0)
    sums, squares, mean, rate = stats[:d], stats[d:], derived[:d], derived[d : 2 * d]
    for j in range(d):
        y = row[j]
        sums[j] -= y
        squares[j] -= y * y
        t = y - mean[j]
        mean[j] -= t * step
        rate[j] = max(rate[j] - c * t * t, model.rate[j])
    derived[2 * d] = _sum_log(rate)


@implements(derive, DiagonalModel)
def _derive(model, slots, slot):
    d = len(model.mean)
    n = slots.sizes[slot]
    k = model.kappa + n
    stats, derived = slots.stats[slot], slots.derived[slot]
    per_point = 1.0 / max(n, 1)
    shrink = 0.5 * model.kappa * n / k
    for j in range(d):
        average = stats[j] * per_point
        offset = average - model.mean[j]
        derived[j] = (model.kappa * model.mean[j] + stats[j]) / k
        derived[d + j] = model.rate[j] + 0.5 * max(stats[d + j] - stats[j] * average, 0.0) + shrink * offset * offset
    derived[2 * d] = _sum_log(derived[d : 2 * d])


@implements(log_marginal, DiagonalModel)
def _log_marginal(model, slots, slot):
    n = slots.sizes[slot]
    return _marginal_constant(model, n) - (model.shape + 0.5 * n) * slots.derived[slot, 2 * len(model.mean)]
