"""Array code over many clusters of mixed columns: the reference that kernels are tested against, and what is not hot.

``stats`` has one row per cluster: its size, then the statistics of every column (:mod:`hashmix.components.mixed.kernels`).
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy.special import gammaln, logsumexp

from hashmix.components.mixed.density import MixedParameters
from hashmix.components.mixed.kernels import CATEGORY, COUNT, NUMBER, MixedModel
from hashmix.core.special import log_gamma_ratios

__all__ = [
    "draw_parameters",
    "draw_rows",
    "expected_parameters",
    "log_densities",
    "log_marginals",
    "log_predictives",
    "numbers_posterior",
    "positions",
    "statistics",
]

_LOG_2PI = math.log(2.0 * math.pi)
_TINY = np.finfo(np.float64).tiny


def statistics(model: MixedModel, values: np.ndarray, labels: np.ndarray, n_clusters: int) -> np.ndarray:
    """Sufficient statistics of the rows of each label, (n_clusters, 1 + W)."""
    stats = np.zeros((n_clusters, 1 + int(model.begins[-1])))
    stats[:, 0] = np.bincount(labels, minlength=n_clusters)
    for j, at, seen, x in _observed(model, values):
        own = labels[seen]
        stats[:, 1 + at] = np.bincount(own, minlength=n_clusters)
        if model.kinds[j] == CATEGORY:
            levels = model.begins[j + 1] - at - 1
            counts = np.bincount(own * levels + x.astype(np.int64), minlength=n_clusters * levels)
            stats[:, 2 + at : 2 + at + levels] = counts.reshape(n_clusters, levels)
        else:
            stats[:, 2 + at] = np.bincount(own, x, minlength=n_clusters)
            last = x * x if model.kinds[j] == NUMBER else gammaln(x + 1.0)
            stats[:, 3 + at] = np.bincount(own, last, minlength=n_clusters)
    return stats


def _observed(model: MixedModel, values: np.ndarray) -> Iterator[tuple[int, int, np.ndarray, np.ndarray]]:
    """Every column: its number, where its statistics begin, its rows that are not blank, and their cells in internal units.

    A category that the model does not have, of a new row, counts as blank.
    """
    for j in range(values.shape[1]):
        column = values[:, j]
        seen = ~np.isnan(column)
        if model.kinds[j] == CATEGORY:
            seen &= column < model.begins[j + 1] - model.begins[j] - 1
        yield j, int(model.begins[j]), np.flatnonzero(seen), (column[seen] - model.origin[j]) * model.unit[j]


def numbers_posterior(model: Any, stats: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """kappa, shape, mean and rate of the posterior of numbers, from their (n, Σ y, Σ y²)."""
    n, s, q = stats
    k = model.kappa + n
    average = s / np.maximum(n, 1.0)
    scatter = np.maximum(q - s * average, 0.0)
    b = model.rate + 0.5 * scatter + 0.5 * model.kappa * n / k * (average - model.mean) ** 2
    return k, model.shape + 0.5 * n, (model.kappa * model.mean + s) / k, b


class _Column:
    """One number column of a model, as :func:`numbers_posterior` takes it."""

    def __init__(self, model: MixedModel, j: int) -> None:
        self.mean, self.kappa, self.shape, self.rate = (getattr(model, name)[j] for name in ("mean", "kappa", "shape", "rate"))


def _number(model: MixedModel, stats: np.ndarray, j: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    at = 1 + int(model.begins[j])
    return numbers_posterior(_Column(model, j), stats[:, at : at + 3].T)


def _pseudo_counts(model: MixedModel, stats: np.ndarray, j: int) -> np.ndarray:
    """Posterior pseudo-counts of the categories of a column, (K, L)."""
    first, last = int(model.begins[j]) + 1, int(model.begins[j + 1])
    return model.pseudo[first:last] + stats[:, 1 + first : 1 + last]


def log_marginals(model: MixedModel, stats: np.ndarray) -> np.ndarray:
    """Log m of each cluster, (K,)."""
    out = np.zeros(len(stats))
    for j, kind in enumerate(model.kinds):
        at = 1 + int(model.begins[j])
        n = stats[:, at]
        if kind == NUMBER:
            k, a, _, b = _number(model, stats, j)
            out += gammaln(a) - gammaln(model.shape[j]) + model.shape[j] * np.log(model.rate[j]) - a * np.log(b)
            out += 0.5 * np.log(model.kappa[j] / k) + n * (np.log(model.unit[j]) - 0.5 * _LOG_2PI)
        elif kind == CATEGORY:
            counts = stats[:, at + 1 : at + int(model.begins[j + 1] - model.begins[j])]
            out += log_gamma_ratios(_pseudo_counts(model, stats, j), counts).sum(axis=1)
            out -= log_gamma_ratios(model.totals[j] + n, n)
        else:
            s, r, x = model.shape[j], model.rate[j], stats[:, at + 1]
            out += log_gamma_ratios(s + x, x) - stats[:, at + 2] - s * np.log1p(n / r) - x * np.log(r + n)
    return out


def log_predictives(model: MixedModel, stats: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Log p(row | cluster), (n, K)."""
    out = np.zeros((len(values), len(stats)))
    for j, at, seen, x in _observed(model, values):
        n = stats[:, 1 + at]
        if model.kinds[j] == NUMBER:
            k, a, m, b = _number(model, stats, j)
            constant = log_gamma_ratios(a + 0.5, 0.5) + 0.5 * np.log(k / (k + 1.0)) + a * np.log(b)
            grown = np.log(b + 0.5 * k / (k + 1.0) * (x[:, None] - m) ** 2)
            out[seen] += constant + np.log(model.unit[j]) - 0.5 * _LOG_2PI - (a + 0.5) * grown
        elif model.kinds[j] == CATEGORY:
            shares = np.log(_pseudo_counts(model, stats, j)) - np.log(model.totals[j] + n)[:, None]
            out[seen] += shares.T[x.astype(np.int64)]
        else:
            s, r = model.shape[j] + stats[:, 2 + at], model.rate[j] + n
            rises = log_gamma_ratios(s + x[:, None], x[:, None]) - gammaln(x + 1.0)[:, None]
            out[seen] += rises - s * np.log1p(1.0 / r) - x[:, None] * np.log(r + 1.0)
    return out


def draw_parameters(model: MixedModel, stats: np.ndarray, rng: np.random.Generator) -> MixedParameters:
    """Draw every cluster's parameters from their posterior; a column without observed cells draws from the prior."""
    k, d = len(stats), len(model.kinds)
    means, precisions, logs = np.zeros((k, d)), np.ones((k, d)), np.zeros((k, int(model.begins[-1])))
    for j, kind in enumerate(model.kinds):
        at = 1 + int(model.begins[j])
        if kind == NUMBER:
            kappa, a, m, b = _number(model, stats, j)
            precisions[:, j] = rng.standard_gamma(a) / b
            means[:, j] = m + rng.standard_normal(k) / np.sqrt(kappa * precisions[:, j])
        elif kind == CATEGORY:
            shapes = _pseudo_counts(model, stats, j)
            # Γ(a) = Γ(a + 1) U^(1/a), as logarithms: a small shape would underflow.
            drawn = np.log(rng.standard_gamma(shapes + 1.0)) + np.log1p(-rng.random(shapes.shape)) / shapes
            logs[:, at : at + shapes.shape[1]] = drawn - logsumexp(drawn, axis=1, keepdims=True)
        else:
            means[:, j] = rng.standard_gamma(model.shape[j] + stats[:, at + 1]) / (model.rate[j] + stats[:, at])
    return MixedParameters(model, means, precisions, logs)


def expected_parameters(model: MixedModel, stats: np.ndarray) -> MixedParameters:
    """The posterior expectation of means, rates and probabilities, and of precisions."""
    k, d = len(stats), len(model.kinds)
    means, precisions, logs = np.zeros((k, d)), np.ones((k, d)), np.zeros((k, int(model.begins[-1])))
    for j, kind in enumerate(model.kinds):
        at = 1 + int(model.begins[j])
        if kind == NUMBER:
            _, a, means[:, j], b = _number(model, stats, j)
            precisions[:, j] = a / b
        elif kind == CATEGORY:
            shapes = _pseudo_counts(model, stats, j)
            logs[:, at : at + shapes.shape[1]] = np.log(shapes / shapes.sum(axis=1, keepdims=True))
        else:
            means[:, j] = (model.shape[j] + stats[:, at + 1]) / (model.rate[j] + stats[:, at])
    return MixedParameters(model, means, precisions, logs)


def log_densities(parameters: MixedParameters, values: np.ndarray) -> np.ndarray:
    """Log density of every row under every parameter set, (n, K)."""
    model, means, precisions, logs = parameters
    out = np.zeros((len(values), len(means)))
    for j, at, seen, x in _observed(model, values):
        if model.kinds[j] == NUMBER:
            constant = 0.5 * (np.log(precisions[:, j]) - _LOG_2PI) + np.log(model.unit[j])
            out[seen] += constant - 0.5 * precisions[:, j] * (x[:, None] - means[:, j]) ** 2
        elif model.kinds[j] == CATEGORY:
            out[seen] += logs.T[at + 1 + x.astype(np.int64)]
        else:
            rates = np.maximum(means[:, j], _TINY)
            out[seen] += x[:, None] * np.log(rates) - rates - gammaln(x + 1.0)[:, None]
    return out


def draw_rows(parameters: MixedParameters, labels: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """One row per label, drawn under that cluster's parameters, (len(labels), D); no cell is blank."""
    model, means, precisions, logs = parameters
    out = np.empty((len(labels), len(model.kinds)))
    for j, kind in enumerate(model.kinds):
        if kind == NUMBER:
            y = means[labels, j] + rng.standard_normal(len(labels)) / np.sqrt(precisions[labels, j])
            out[:, j] = model.origin[j] + y / model.unit[j]
        elif kind == COUNT:
            out[:, j] = rng.poisson(means[labels, j])
        else:
            first, last = int(model.begins[j]) + 1, int(model.begins[j + 1])
            steps = np.cumsum(np.exp(logs[labels, first:last]), axis=1)
            out[:, j] = np.minimum((steps < rng.random(len(labels))[:, None]).sum(axis=1), last - first - 1)
    return out


def positions(model: MixedModel, stats: np.ndarray) -> np.ndarray:
    """Where clusters are, in units of the spread within clusters: numbers, and roots of probabilities and rates.

    Twice the root of a probability or a rate varies by about 1 between rows of a cluster, whatever its value.
    """
    _, means, precisions, logs = expected_parameters(model, stats)
    parts = []
    for j, kind in enumerate(model.kinds):
        if kind == NUMBER:
            within = np.average(1.0 / precisions[:, j], weights=np.maximum(stats[:, 0], 1e-300))
            parts.append(means[:, [j]] / np.sqrt(within))
        elif kind == CATEGORY:
            parts.append(2.0 * np.exp(0.5 * logs[:, int(model.begins[j]) + 1 : int(model.begins[j + 1])]))
        else:
            parts.append(2.0 * np.sqrt(means[:, [j]]))
    return np.concatenate(parts, axis=1)
