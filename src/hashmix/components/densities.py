"""Densities of clusters whose parameters were drawn: what lets all rows be weighed at once.

A *density* is a ``NamedTuple`` made by :meth:`hashmix.components.contract.Component.draw_density`, one column per cluster, with
the verbs of this file. The log density of a row x in column c is

    intercepts[c] + φ(x) · weights[c],

so that a block of rows takes one matrix product, in float32. Terms of the sum may be large and cancel. :func:`rounding` bounds
the error that this leaves for a row; where it is too large, :func:`log_density` computes the few densities that matter in
float64, from differences that do not cancel.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from hashmix.core.compiling import helper, hot_helper, implements
from hashmix.data.rows import fetch_row_ahead

__all__ = [
    "EPS",
    "CountDensity",
    "DiagonalDensity",
    "FullDensity",
    "gathered",
    "log_densities",
    "log_density",
    "log_odds",
    "pair_weights",
    "rounding",
]

#: Error of a sum of products in float32, relative to the sum of their magnitudes: inputs, products and sums round.
EPS = 4.0 * 2.0**-24


# ---- the verbs -------------------------------------------------------------------------------------------------------------


def log_densities(density: Any, weights: Any, data: Any, rows: Any, begin: Any, end: Any, features: Any, out: Any) -> Any:
    """φ(x) · weights of rows ``rows[begin:end]``, in float32, written to the first rows of ``out``.

    ``weights`` are those of all columns, or of some (:func:`gathered`); ``features`` is a buffer with ``n_terms`` columns.
    """


def gathered(density: Any, columns: Any) -> Any:
    """The weights of some columns."""


def log_density(density: Any, data: Any, i: Any, c: Any) -> Any:
    """Log density of row i in column c, in float64, with the intercept; up to a term that depends on the row alone."""


def pair_weights(density: Any, a: Any, b: Any) -> Any:
    """What :func:`log_odds` of column a against column b takes."""


def log_odds(density: Any, pair: Any, data: Any, i: Any, row: Any) -> Any:
    """Log density of row i in one column minus that in another, in float64; ``row`` is what ``load`` made of it."""


def rounding(density: Any, data: Any, i: Any) -> Any:
    """A bound on the error of :func:`log_densities` for row i."""


# ---- Gaussian --------------------------------------------------------------------------------------------------------------


class DiagonalDensity(NamedTuple):
    """Gaussians with independent columns; φ(x) = (y, y²), y the row in internal units.

    ``magnitude`` (D + 1,) bounds the terms of a sum: those of y² in every column, and the rest; times a factor for long sums,
    whose errors grow like the square root of the number of terms.
    """

    intercepts: np.ndarray
    constants: np.ndarray
    origin: np.ndarray
    unit: np.ndarray
    means: np.ndarray
    precisions: np.ndarray
    weights: np.ndarray
    magnitude: np.ndarray

    @property
    def n_terms(self) -> int:
        """Length of φ(x)."""
        return self.weights.shape[1]

    @classmethod
    def of(cls, origin: Any, unit: Any, means: Any, precisions: Any, constants: Any) -> DiagonalDensity:
        """Means and precisions (K, D) in internal units, and the constants of the log densities (K,)."""
        linear = precisions * means
        squares = (linear * means).sum(axis=1)
        weights = np.concatenate([linear, -0.5 * precisions], axis=1).astype(np.float32)
        return cls(
            constants - 0.5 * squares,
            constants,
            origin,
            unit,
            means,
            precisions,
            weights,
            np.append(precisions.max(axis=0), squares.max()) * max(1.0, math.sqrt(means.shape[1] / 8.0)),
        )


class FullDensity(NamedTuple):
    """Gaussians with full covariances; φ(x) = (y, lower triangle of y yᵀ row by row)."""

    intercepts: np.ndarray
    constants: np.ndarray
    origin: np.ndarray
    unit: np.ndarray
    means: np.ndarray
    precisions: np.ndarray
    weights: np.ndarray
    magnitude: np.ndarray

    @property
    def n_terms(self) -> int:
        """Length of φ(x)."""
        return self.weights.shape[1]

    @classmethod
    def of(cls, origin: Any, unit: Any, means: Any, precisions: Any, constants: Any) -> FullDensity:
        """Means (K, D) and precision matrices (K, D, D) in internal units, and the constants of the log densities (K,)."""
        d = means.shape[1]
        rows, columns = np.tril_indices(d)
        linear = np.einsum("kij,kj->ki", precisions, means)
        products = precisions[:, rows, columns] * np.where(rows == columns, -0.5, -1.0)
        # Σ|Λ_jk y_j y_k| ≤ D Σ Λ_jj y_j², because |Λ_jk| ≤ √(Λ_jj Λ_kk).
        diagonal = d * np.diagonal(precisions, axis1=1, axis2=2)
        return cls(
            constants - 0.5 * (linear * means).sum(axis=1),
            constants,
            origin,
            unit,
            means,
            precisions,
            np.concatenate([linear, products], axis=1).astype(np.float32),
            np.append(diagonal.max(axis=0), (diagonal * means * means).sum(axis=1).max()),
        )


@hot_helper
def _internal(density, data, i, j):
    return (data.values[i, j] - density.origin[j]) * density.unit[j]


@implements(log_densities, DiagonalDensity)
def _diagonal_log_densities(density, weights, data, rows, begin, end, features, out):
    d = len(density.origin)
    for r in range(end - begin):
        i = rows[begin + r]
        fetch_row_ahead(data, rows, begin + r)
        for j in range(d):
            y = np.float32(_internal(density, data, i, j))
            features[r, j] = y
            features[r, d + j] = y * y
    m = end - begin
    np.dot(features[:m], weights.T, out[:m])


@implements(log_densities, FullDensity)
def _full_log_densities(density, weights, data, rows, begin, end, features, out):
    d = len(density.origin)
    for r in range(end - begin):
        i = rows[begin + r]
        fetch_row_ahead(data, rows, begin + r)
        at = d
        for j in range(d):
            y = np.float32(_internal(density, data, i, j))
            features[r, j] = y
            for k in range(j + 1):
                features[r, at + k] = y * features[r, k]
            at += j + 1
    m = end - begin
    np.dot(features[:m], weights.T, out[:m])


@implements(log_density, DiagonalDensity, hot=True)
def _diagonal_log_density(density, data, i, c):
    total = 0.0
    means, precisions = density.means[c], density.precisions[c]
    for j in range(len(means)):
        t = _internal(density, data, i, j) - means[j]
        total += precisions[j] * t * t
    return density.constants[c] - 0.5 * total


@implements(pair_weights, DiagonalDensity)
def _diagonal_pair(density, a, b):
    # The difference of two parabolas: cheaper than two, and float64 has digits enough.
    d = len(density.origin)
    pair = np.empty(2 * d + 1)
    constant = density.constants[a] - density.constants[b]
    for j in range(d):
        of_a, of_b = density.precisions[a, j] * density.means[a, j], density.precisions[b, j] * density.means[b, j]
        pair[j] = of_a - of_b
        pair[d + j] = 0.5 * (density.precisions[b, j] - density.precisions[a, j])
        constant -= 0.5 * (of_a * density.means[a, j] - of_b * density.means[b, j])
    pair[2 * d] = constant
    return pair


@implements(log_odds, DiagonalDensity, hot=True)
def _diagonal_log_odds(density, pair, data, i, row):
    d = len(row)
    linear, squares = pair[:d], pair[d : 2 * d]
    total = 0.0
    for j in range(d):
        total += row[j] * (linear[j] + row[j] * squares[j])
    return pair[2 * d] + total


@implements(pair_weights, FullDensity)
def _full_pair(density, a, b):
    d = len(density.origin)
    pair = np.zeros((d + 1, d + 1))
    constant = density.constants[a] - density.constants[b]
    for j in range(d):
        for k in range(d):
            of_a, of_b = density.precisions[a, j, k] * density.means[a, k], density.precisions[b, j, k] * density.means[b, k]
            pair[d, j] += of_a - of_b
            constant -= 0.5 * (density.means[a, j] * of_a - density.means[b, j] * of_b)
            if k <= j:
                half = 0.5 if k == j else 1.0
                pair[j, k] = half * (density.precisions[b, j, k] - density.precisions[a, j, k])
    pair[d, d] = constant
    return pair


@implements(log_odds, FullDensity, hot=True)
def _full_log_odds(density, pair, data, i, row):
    d = len(row)
    total = pair[d, d]
    for j in range(d):
        products = pair[j]
        inner = pair[d, j]
        for k in range(j + 1):
            inner += products[k] * row[k]
        total += row[j] * inner
    return total


@implements(log_density, FullDensity, hot=True)
def _full_log_density(density, data, i, c):
    total = 0.0
    means, precisions = density.means[c], density.precisions[c]
    for j in range(len(means)):
        t = _internal(density, data, i, j) - means[j]
        half = 0.5 * precisions[j, j] * t
        for k in range(j):
            half += precisions[j, k] * (_internal(density, data, i, k) - means[k])
        total += t * half
    return density.constants[c] - total


@implements(gathered, DiagonalDensity)
def _diagonal_gathered(density, columns):
    return _rows_of(density.weights, columns)


@implements(gathered, FullDensity)
def _full_gathered(density, columns):
    return _rows_of(density.weights, columns)


@helper
def _rows_of(weights, columns):
    out = np.empty((len(columns), weights.shape[1]), np.float32)
    for k in range(len(columns)):
        for j in range(weights.shape[1]):
            out[k, j] = weights[columns[k], j]
    return out


@hot_helper
def _gaussian_rounding(density, data, i):
    d = len(density.origin)
    total = density.magnitude[d]
    for j in range(d):
        y = _internal(density, data, i, j)
        total += density.magnitude[j] * y * y
    return EPS * total


@implements(rounding, DiagonalDensity, hot=True)
def _diagonal_rounding(density, data, i):
    return _gaussian_rounding(density, data, i)


@implements(rounding, FullDensity, hot=True)
def _full_rounding(density, data, i):
    return _gaussian_rounding(density, data, i)


# ---- counts ----------------------------------------------------------------------------------------------------------------


class CountDensity(NamedTuple):
    """Sparse counts x with log density Σ x_j · weights[j, c] + intercepts[c]: multinomial, Poisson and Bernoulli columns."""

    intercepts: np.ndarray
    weights: np.ndarray  # (D, K)

    @property
    def n_terms(self) -> int:
        """Length of φ(x) in the buffer: none is needed."""
        return 1


@implements(log_densities, CountDensity)
def _count_log_densities(density, weights, data, rows, begin, end, features, out):
    k = weights.shape[1]
    for r in range(end - begin):
        i = rows[begin + r]
        row = out[r]
        for c in range(k):
            row[c] = 0.0
        for at in range(data.begins[i], data.begins[i + 1]):
            count, word = np.float32(data.values[at]), weights[data.columns[at]]
            for c in range(k):
                row[c] += count * word[c]


@implements(gathered, CountDensity)
def _count_gathered(density, columns):
    out = np.empty((density.weights.shape[0], len(columns)), np.float32)
    for j in range(len(out)):
        for k in range(len(columns)):
            out[j, k] = density.weights[j, columns[k]]
    return out


@implements(log_density, CountDensity, hot=True)
def _count_log_density(density, data, i, c):
    total = density.intercepts[c]
    for at in range(data.begins[i], data.begins[i + 1]):
        total += data.values[at] * density.weights[data.columns[at], c]
    return total


@implements(rounding, CountDensity, hot=True)
def _count_rounding(density, data, i):
    # A drawn log probability of an absent word is at least −745; those of words that matter are of order ten.
    total = 0.0
    for at in range(data.begins[i], data.begins[i + 1]):
        total += data.values[at]
    return 32.0 * EPS * total


@implements(pair_weights, CountDensity)
def _count_pair(density, a, b):
    return np.array([a, b])


@implements(log_odds, CountDensity, hot=True)
def _count_log_odds(density, pair, data, i, row):
    return log_density(density, data, i, pair[0]) - log_density(density, data, i, pair[1])
