"""The verbs of Gaussian clusters with a full covariance: what moves ask of them, compiled.

A row of ``stats`` is (Σ y, the lower triangle of Σ y yᵀ, row by row).
A row of ``derived`` is (posterior mean m, P = Ψ⁻¹ row by row, log |Ψ|), Ψ the posterior scale. The inverse, not a
Cholesky factor: predicting is then a sum of independent dot products, five times faster than a substitution.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from scipy.special import gammaln

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

__all__ = ["FullModel", "marginal_constants", "predictive_constants", "with_constants"]

_LOG_PI = math.log(math.pi)


class FullModel(NamedTuple):
    """Hyperparameters in internal units y = (x − origin) · inverse_scale, where the prior scale has a unit diagonal."""

    origin: np.ndarray
    inverse_scale: np.ndarray
    mean: np.ndarray
    kappa: float
    dof: float
    scale: np.ndarray
    log_jacobian: float
    log_prior_determinant: float
    predictive_constants: np.ndarray
    marginal_constants: np.ndarray


def predictive_constants(model: FullModel, n: np.ndarray, gammas: np.ndarray) -> np.ndarray:
    """The terms of a log predictive that depend on neither the row nor the posterior scale, for clusters of n rows."""
    k = model.kappa + n
    return gammas + 0.5 * len(model.mean) * (np.log(k / (k + 1.0)) - _LOG_PI) + model.log_jacobian


def marginal_constants(model: FullModel, n: np.ndarray, gammas: np.ndarray) -> np.ndarray:
    """The terms of a log marginal likelihood that do not depend on the posterior scale, for clusters of n rows."""
    d = len(model.mean)
    spread = 0.5 * d * np.log(model.kappa / (model.kappa + n)) + n * (model.log_jacobian - 0.5 * d * _LOG_PI)
    return gammas + spread + 0.5 * model.dof * model.log_prior_determinant


def with_constants(model: FullModel) -> FullModel:
    """The model with look-up tables that fit its hyperparameters."""
    n, d = len(model.predictive_constants), len(model.mean)
    sizes = np.arange(n)
    # Both constants are made of log Γ at half-integer steps: those of the predictive D apart, those of the marginal D in a row.
    log_gammas = gammaln(0.5 * (model.dof - d + 1.0 + np.arange(n + d)))
    marginal_gammas = sum(log_gammas[j : j + n] for j in range(d))
    return model._replace(
        predictive_constants=predictive_constants(model, sizes, log_gammas[d:] - log_gammas[:n]),
        marginal_constants=marginal_constants(model, sizes, marginal_gammas - marginal_gammas[0]),
    )


#: If removing a row leaves less than this share of |Ψ|, digits would be lost: the cluster is derived again instead.
_TOO_LITTLE = 1e-4


@hot_helper
def _offset(derived, row, work, d):
    """Work = row − m."""
    for j in range(d):
        work[j] = row[j] - derived[j]


@hot_helper
def _quadratic_form(derived, row, work, d):
    """vᵀ P v with v = row − m."""
    _offset(derived, row, work, d)
    total = 0.0
    for j in range(d):
        p = derived[d + j * d : d + j * d + d]
        before = 0.0
        for i in range(j):
            before += p[i] * work[i]
        total += work[j] * (p[j] * work[j] + 2.0 * before)
    return total


@hot_helper
def _rank_one(derived, row, work, product, d, c):
    """Replace Ψ by Ψ + c v vᵀ, v = row − m (c may be negative), in P and log |Ψ|; False if too little would be left."""
    _offset(derived, row, work, d)
    total = 0.0
    for j in range(d):
        p = derived[d + j * d : d + j * d + d]
        dot = 0.0
        for i in range(d):
            dot += p[i] * work[i]
        product[j] = dot
        total += dot * work[j]
    ratio = 1.0 + c * total
    if ratio < _TOO_LITTLE:
        return False
    for j in range(d):
        p = derived[d + j * d : d + j * d + d]
        f = product[j] * c / ratio
        for i in range(d):
            p[i] -= f * product[i]
    derived[d + d * d] += math.log(ratio)
    return True


@hot_helper
def _move_mean(derived, work, d, step):
    for j in range(d):
        derived[j] += step * work[j]


@hot_helper
def _add_to_sums(stats, row, d, sign):
    place = d
    for j in range(d):
        y = sign * row[j]
        stats[j] += y
        products = stats[place : place + j + 1]
        for i in range(j + 1):
            products[i] += y * row[i]
        place += j + 1


@hot_helper
def _predictive_constant(model, n):
    if n < len(model.predictive_constants):
        return model.predictive_constants[n]
    d = len(model.mean)
    k = model.kappa + n
    gammas = log_gamma_ratio(0.5 * (model.dof + n + 1.0), 0.5 * d)
    return gammas + 0.5 * d * (math.log(k / (k + 1.0)) - _LOG_PI) + model.log_jacobian


@helper
def _marginal_constant(model, n):
    if n < len(model.marginal_constants):
        return model.marginal_constants[n]
    d = len(model.mean)
    gammas = 0.0
    for j in range(d):
        gammas += math.lgamma(0.5 * (model.dof + n - j)) - math.lgamma(0.5 * (model.dof - j))
    return (
        gammas
        + 0.5 * model.dof * model.log_prior_determinant
        + 0.5 * d * math.log(model.kappa / (model.kappa + n))
        + n * (model.log_jacobian - 0.5 * d * _LOG_PI)
    )


implements(load, FullModel, hot=True)(load_dense)


@implements(log_predictive, FullModel, hot=True)
def _log_predictive(model, slots, slot, row):
    d = len(row)
    n = slots.sizes[slot]
    k = model.kappa + n
    derived = slots.derived[slot]
    grown = math.log(1.0 + k / (k + 1.0) * _quadratic_form(derived, row, slots.work, d))
    log_determinant = derived[d + d * d]
    return _predictive_constant(model, n) - 0.5 * log_determinant - 0.5 * (model.dof + n + 1.0) * grown


@implements(log_predictive_without, FullModel, hot=True)
def _log_predictive_without(model, slots, slot, row):
    d = len(row)
    n = slots.sizes[slot]
    k = model.kappa + n
    derived = slots.derived[slot]
    left = 1.0 - k / (k - 1.0) * _quadratic_form(derived, row, slots.work, d)
    shrunk = math.log(max(left, 1e-14))
    log_determinant = derived[d + d * d]
    return _predictive_constant(model, n - 1) - 0.5 * log_determinant + 0.5 * (model.dof + n - 1.0) * shrunk


@implements(add, FullModel)
def _add(model, slots, slot, row):
    d = len(row)
    k = model.kappa + slots.sizes[slot]
    slots.sizes[slot] += 1
    derived = slots.derived[slot]
    _add_to_sums(slots.stats[slot], row, d, 1.0)
    _rank_one(derived, row, slots.work, slots.product, d, k / (k + 1.0))
    _move_mean(derived, slots.work, d, 1.0 / (k + 1.0))


@implements(collect, FullModel)
def _collect(model, slots, slot, row):
    slots.sizes[slot] += 1
    _add_to_sums(slots.stats[slot], row, len(row), 1.0)


@implements(remove, FullModel)
def _remove(model, slots, slot, row):
    d = len(row)
    k = model.kappa + slots.sizes[slot]
    slots.sizes[slot] -= 1
    derived = slots.derived[slot]
    _add_to_sums(slots.stats[slot], row, d, -1.0)
    if _rank_one(derived, row, slots.work, slots.product, d, -k / (k - 1.0)):
        _move_mean(derived, slots.work, d, -1.0 / (k - 1.0))
    else:
        derive(model, slots, slot)


@implements(derive, FullModel)
def _derive(model, slots, slot):
    d = len(model.mean)
    n = slots.sizes[slot]
    k = model.kappa + n
    stats, derived = slots.stats[slot], slots.derived[slot]
    per_point = 1.0 / max(n, 1)
    shrink = model.kappa * n / k
    place = d
    for j in range(d):
        derived[j] = (model.kappa * model.mean[j] + stats[j]) / k
        average = stats[j] * per_point
        offset = average - model.mean[j]
        for i in range(j + 1):
            scatter = stats[place + i] - average * stats[i]
            value = model.scale[j, i] + scatter + shrink * offset * (stats[i] * per_point - model.mean[i])
            derived[d + j * d + i] = value
            derived[d + i * d + j] = value
        place += j + 1
    derived[d + d * d] = _invert(derived[d : d + d * d], d)


@hot_helper
def _invert(matrix, d):
    """Invert a positive definite matrix in place by Gauss–Jordan elimination; return its log determinant."""
    log_determinant = 0.0
    for k in range(d):
        pivot_row = matrix[k * d : k * d + d]
        # In internal units the prior's part of a pivot is near 1: only rounding can take it this low.
        pivot = max(pivot_row[k], 1e-12)
        log_determinant += math.log(pivot)
        pivot_row[k] = 1.0
        for i in range(d):
            pivot_row[i] /= pivot
        for j in range(d):
            if j != k:
                other = matrix[j * d : j * d + d]
                f = other[k]
                other[k] = 0.0
                for i in range(d):
                    other[i] -= f * pivot_row[i]
    return log_determinant


@implements(log_marginal, FullModel)
def _log_marginal(model, slots, slot):
    d = len(model.mean)
    n = slots.sizes[slot]
    return _marginal_constant(model, n) - 0.5 * (model.dof + n) * slots.derived[slot, d + d * d]
