"""Densities of mixed columns with drawn parameters: numbers and counts by matrix products, categories by look-up."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from hashmix.components.densities import gathered, log_densities, log_density, log_odds, pair_weights, rounding
from hashmix.components.mixed.kernels import CATEGORY, COUNT, NUMBER, MixedModel
from hashmix.core.compiling import hot_helper, implements

__all__ = ["MixedDensity", "MixedParameters"]

#: Error of a sum of products in float32, relative to the sum of their magnitudes.
_EPS = 4.0 * 2.0**-24
_LOG_2PI = math.log(2.0 * math.pi)


class MixedParameters(NamedTuple):
    """Parameters of every cluster and column, (K, D) in internal units, and log probabilities of categories.

    ``means`` are those of numbers, and the rates of counts; ``precisions`` are those of numbers. ``log_probabilities`` (K, W)
    has those of categories at the places of their statistics.
    """

    model: MixedModel
    means: np.ndarray
    precisions: np.ndarray
    log_probabilities: np.ndarray


class MixedWeights(NamedTuple):
    """What multiplies the features of numbers and counts, (K, T), and the log probabilities of categories, (W, K)."""

    products: np.ndarray
    entries: np.ndarray


class MixedDensity(NamedTuple):
    """Mixed columns; the features of an observed number are (1, y, y²), those of a count (1, x), those of a blank 0.

    ``places`` says where the features of a column begin. ``terms`` (K, W) are the same weights in float64, at the places of the
    statistics. ``magnitude`` (W,) bounds them over all clusters, times a factor for long sums, whose errors grow like the
    square root of the number of terms.
    """

    intercepts: np.ndarray
    kinds: np.ndarray
    begins: np.ndarray
    places: np.ndarray
    origin: np.ndarray
    unit: np.ndarray
    weights: MixedWeights
    terms: np.ndarray
    magnitude: np.ndarray

    @classmethod
    def of(cls, parameters: MixedParameters) -> MixedDensity:
        """The density for drawn parameters."""
        model, means, precisions, logs = parameters
        k, at = len(means), model.begins[:-1]
        numbers, counts = model.kinds == NUMBER, model.kinds == COUNT
        terms = np.where(np.isfinite(logs), logs, 0.0)
        mean, precision = means[:, numbers], precisions[:, numbers]
        constant = 0.5 * (np.log(precision) - _LOG_2PI) + np.log(model.unit[numbers])
        terms[:, at[numbers]] = constant - 0.5 * precision * mean**2
        terms[:, at[numbers] + 1] = precision * mean
        terms[:, at[numbers] + 2] = -0.5 * precision
        rates = np.maximum(means[:, counts], np.finfo(np.float64).tiny)
        terms[:, at[counts]] = -rates
        terms[:, at[counts] + 1] = np.log(rates)
        used = np.zeros(terms.shape[1], bool)
        for j in np.flatnonzero(numbers | counts):
            used[at[j] : at[j] + (3 if numbers[j] else 2)] = True
        widths = np.where(numbers, 3, np.where(counts, 2, 0))
        products = np.ascontiguousarray(terms[:, used], np.float32)
        entries = np.ascontiguousarray(terms.T, np.float32)
        places = np.concatenate([[0], np.cumsum(widths)])
        weights = MixedWeights(products, entries)
        magnitude = np.abs(terms).max(axis=0) * max(1.0, math.sqrt(len(model.kinds) / 8.0))
        return cls(np.zeros(k), model.kinds, model.begins, places, model.origin, model.unit, weights, terms, magnitude)

    @property
    def n_terms(self) -> int:
        """Length of a row's features."""
        return max(1, self.weights.products.shape[1])


@hot_helper
def _internal(density, data, i, j):
    return (data.values[i, j] - density.origin[j]) * density.unit[j]


@implements(log_densities, MixedDensity)
def _log_densities(density, weights, data, rows, begin, end, features, out):
    m = end - begin
    t = weights.products.shape[1]
    for r in range(m):
        i = rows[begin + r]
        for j in range(len(density.kinds)):
            at = density.places[j]
            x = _internal(density, data, i, j)
            blank = x != x
            if density.kinds[j] != CATEGORY:
                y = np.float32(0.0) if blank else np.float32(x)
                features[r, at] = np.float32(0.0) if blank else np.float32(1.0)
                features[r, at + 1] = y
                if density.kinds[j] == NUMBER:
                    features[r, at + 2] = y * y
    if t > 0:
        np.dot(features[:m], weights.products.T, out[:m])
    else:
        out[:m] = np.float32(0.0)
    for r in range(m):
        i = rows[begin + r]
        row = out[r]
        for j in range(len(density.kinds)):
            x = data.values[i, j]
            if density.kinds[j] == CATEGORY and x == x:
                entry = weights.entries[density.begins[j] + 1 + int(x)]
                for c in range(len(row)):
                    row[c] += entry[c]


@implements(gathered, MixedDensity)
def _gathered(density, columns):
    products, entries = density.weights.products, density.weights.entries
    some = np.empty((len(columns), products.shape[1]), np.float32)
    for k in range(len(columns)):
        for t in range(products.shape[1]):
            some[k, t] = products[columns[k], t]
    few = np.empty((entries.shape[0], len(columns)), np.float32)
    for w in range(entries.shape[0]):
        for k in range(len(columns)):
            few[w, k] = entries[w, columns[k]]
    return MixedWeights(some, few)


@hot_helper
def _summed(density, terms, j, x):
    """What an observed cell adds, given weights at the places of the statistics."""
    at = density.begins[j]
    if density.kinds[j] == CATEGORY:
        return terms[at + 1 + int(x)]
    if density.kinds[j] == NUMBER:
        return terms[at] + x * (terms[at + 1] + x * terms[at + 2])
    return terms[at] + x * terms[at + 1]


@implements(log_density, MixedDensity, hot=True)
def _log_density(density, data, i, c):
    total = 0.0
    terms = density.terms[c]
    for j in range(len(density.kinds)):
        x = _internal(density, data, i, j)
        if x == x:
            total += _summed(density, terms, j, x)
    return total


@implements(rounding, MixedDensity, hot=True)
def _rounding(density, data, i):
    total = 0.0
    for j in range(len(density.kinds)):
        x = abs(_internal(density, data, i, j))
        if x == x:
            total += _summed(density, density.magnitude, j, x)
    return _EPS * total


@implements(pair_weights, MixedDensity)
def _pair_weights(density, a, b):
    pair = np.empty(density.terms.shape[1])
    for w in range(len(pair)):
        pair[w] = density.terms[a, w] - density.terms[b, w]
    return pair


@implements(log_odds, MixedDensity, hot=True)
def _log_odds(density, pair, data, i, row):
    total = 0.0
    for j in range(len(row)):
        if row[j] == row[j]:
            total += _summed(density, pair, j, row[j])
    return total
