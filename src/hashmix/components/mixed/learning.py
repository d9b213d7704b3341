"""Learning the hyperparameters of mixed columns: exact updates, given the statistics of all clusters.

Numbers are learned as in :mod:`hashmix.components.gaussian.learning`. The other hyperparameters are updated by slice sampling
with the clusters' parameters integrated out, all columns at once: given the partition, columns have nothing to do with each
other. The concentration of a categorical column is log-uniform between 10⁻³ and 10³; those of yes/no columns and counts have
the bounds of :class:`~hashmix.components.BetaBernoulli` and :class:`~hashmix.components.GammaPoisson`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from hashmix.components.counts import bernoulli, poisson
from hashmix.components.counts.bernoulli import BetaBernoulli
from hashmix.components.counts.poisson import GammaPoisson
from hashmix.components.gaussian.diagonal import DiagonalGaussian
from hashmix.components.gaussian.learning import Hyperprior, learn
from hashmix.components.gaussian.shared import column_spread
from hashmix.components.mixed.clusters import numbers_posterior
from hashmix.components.mixed.kernels import MixedModel
from hashmix.core.slice_sampling import slice_pair, slice_within
from hashmix.core.special import log_gamma_ratios
from hashmix.data.mixed import MixedRows

__all__ = ["learned_values", "set_totals", "updater"]

#: Bounds of the concentration of a categorical column.
LEAST, MOST = 1e-3, 1e3

#: An update takes the model, the statistics of all clusters and a generator, and returns the new model.
Update = Callable[[MixedModel, np.ndarray, np.random.Generator], MixedModel]


def updater(parts: Sequence[Any], model: MixedModel, rows: MixedRows) -> Update:
    """The update of parts that have the same family."""
    columns = np.concatenate([part.columns for part in parts])
    groups = np.repeat(np.arange(len(parts)), [len(part.columns) for part in parts])
    family = type(parts[0].component)
    if family is DiagonalGaussian:
        return _numbers(columns, parts[0].component, model, rows)
    if family is BetaBernoulli:
        return _yes_no(columns, groups)
    if family is GammaPoisson:
        return _counts(columns, groups, rows)
    return _categories(columns)


def learned_values(family: type, columns: np.ndarray, model: MixedModel) -> dict[str, np.ndarray]:
    """The hyperparameters that were learned, in the user's units, one per column except kappa."""
    at = model.begins[columns]
    if family is DiagonalGaussian:
        unit = model.unit[columns]
        mean = model.origin[columns] + model.mean[columns] / unit
        return {"mean": mean, "kappa": model.kappa[columns[0]], "rate": model.rate[columns] / unit**2}
    if family is BetaBernoulli:
        return {"alpha": model.pseudo[at + 2], "beta": model.pseudo[at + 1]}
    if family is GammaPoisson:
        return {"count_shape": model.shape[columns], "count_rate": model.rate[columns]}
    return {"concentration": model.pseudo[at + 1]}


def set_totals(model: MixedModel) -> None:
    """Sum the pseudo-counts of every column."""
    sums = np.concatenate([[0.0], np.cumsum(model.pseudo)])
    model.totals[:] = sums[model.begins[1:]] - sums[model.begins[:-1]]


def _with_pseudo(model: MixedModel, places: np.ndarray, values: np.ndarray) -> MixedModel:
    model = model._replace(pseudo=model.pseudo.copy(), totals=model.totals.copy())
    model.pseudo[places] = values
    set_totals(model)
    return model


# ---- categories ------------------------------------------------------------------------------------------------------------


def _categories(columns: np.ndarray) -> Update:
    low, high = np.full(len(columns), np.log(LEAST)), np.full(len(columns), np.log(MOST))

    def update(model: MixedModel, stats: np.ndarray, rng: np.random.Generator) -> MixedModel:
        first, last = model.begins[columns] + 1, model.begins[columns + 1]
        levels = last - first
        places = np.concatenate([np.arange(a, b) for a, b in zip(first, last, strict=True)])
        owner = np.repeat(np.arange(len(columns)), levels)
        seen = stats[:, 1 + model.begins[columns]]
        counts, times, owners = _distinct(stats[:, 1 + places], owner)

        def log_density(t: np.ndarray) -> np.ndarray:
            concentration = np.exp(t)
            rises = times * log_gamma_ratios(concentration[owners] + counts, counts)
            totals = log_gamma_ratios(levels * concentration + seen, seen).sum(axis=0)
            return np.bincount(owners, rises, minlength=len(columns)) - totals

        drawn = slice_within(log_density, np.log(model.pseudo[first]), low, high, rng)
        return _with_pseudo(model, places, np.exp(drawn)[owner])

    return update


def _distinct(values: np.ndarray, owner: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Distinct counts above 0 of every column, how often each occurs, and the column."""
    clusters, at = np.nonzero(values)
    pairs, times = np.unique(np.stack([owner[at].astype(np.float64), values[clusters, at]]), axis=1, return_counts=True)
    return pairs[1], times, pairs[0].astype(np.intp)


# ---- yes/no and counts -----------------------------------------------------------------------------------------------------


def _yes_no(columns: np.ndarray, groups: np.ndarray) -> Update:
    n_groups = groups[-1] + 1
    bounds = np.full(n_groups, np.log(bernoulli.LEAST)), np.full(n_groups, np.log(bernoulli.MOST))

    def update(model: MixedModel, stats: np.ndarray, rng: np.random.Generator) -> MixedModel:
        at = model.begins[columns]
        n, zeros, ones = stats[:, 1 + at], stats[:, 2 + at], stats[:, 3 + at]
        beta, alpha = (np.log(model.pseudo[at + k][np.unique(groups, return_index=True)[1]]) for k in (1, 2))

        def log_density(log_alpha: np.ndarray, log_beta: np.ndarray) -> np.ndarray:
            a, b = np.exp(log_alpha)[groups], np.exp(log_beta)[groups]
            terms = log_gamma_ratios(a + ones, ones) + log_gamma_ratios(b + zeros, zeros) - log_gamma_ratios(a + b + n, n)
            return np.bincount(groups, terms.sum(axis=0))

        alpha, beta = slice_pair(log_density, alpha, beta, bounds, bounds, rng)
        values = np.concatenate([np.exp(beta)[groups], np.exp(alpha)[groups]])
        return _with_pseudo(model, np.concatenate([at + 1, at + 2]), values)

    return update


def _counts(columns: np.ndarray, groups: np.ndarray, rows: MixedRows) -> Update:
    sizes = np.bincount(groups)
    mean = np.maximum(np.bincount(groups, rows.summary.mean[columns]) / sizes, 1e-3)
    low, high = np.full(len(sizes), np.log(poisson.LEAST)), np.full(len(sizes), np.log(poisson.MOST))

    def update(model: MixedModel, stats: np.ndarray, rng: np.random.Generator) -> MixedModel:
        at = model.begins[columns]
        n, sums = stats[:, 1 + at], stats[:, 2 + at]
        shape = model.shape[columns]
        rate = np.log(model.rate[columns][np.unique(groups, return_index=True)[1]])
        average = np.log(np.bincount(groups, shape) / sizes)

        def log_density(log_average: np.ndarray, log_rate: np.ndarray) -> np.ndarray:
            s, r = shape * np.exp(log_average - average)[groups], np.exp(log_rate)[groups]
            terms = log_gamma_ratios(s + sums, sums) - s * np.log1p(n / r) - sums * np.log(r + n)
            return np.bincount(groups, terms.sum(axis=0))

        shifted = low - np.log(mean), high - np.log(mean)
        drawn, rate = slice_pair(log_density, average, rate, (low, high), shifted, rng)
        model = model._replace(shape=model.shape.copy(), rate=model.rate.copy())
        model.shape[columns] = shape * np.exp(drawn - average)[groups]
        model.rate[columns] = np.exp(rate)[groups]
        return model

    return update


# ---- numbers ---------------------------------------------------------------------------------------------------------------


class NumberModel(NamedTuple):
    """What :func:`hashmix.components.gaussian.learning.learn` reads of the numbers of a model."""

    mean: np.ndarray
    kappa: float
    shape: float
    rate: np.ndarray


class Numbers:
    """The numbers of a mixed model, as a diagonal Gaussian whose columns have counts of their own."""

    def _draw_precisions(
        self, model: NumberModel, stats: np.ndarray, rng: np.random.Generator
    ) -> tuple[np.ndarray, np.ndarray]:
        k, a, m, b = numbers_posterior(model, stats)
        precisions = rng.standard_gamma(a) / b
        return m + rng.standard_normal(m.shape) / np.sqrt(k * precisions), precisions

    def _factor_terms(self, model: NumberModel, stats: np.ndarray) -> tuple[float, np.ndarray, np.ndarray]:
        _, a, _, b = numbers_posterior(model, stats)
        return model.shape * b.size, a, (b - model.rate) / model.rate

    def _with_hyperparameters(
        self, model: NumberModel, mean: np.ndarray, kappa: float, rate: np.ndarray, constants: bool = True
    ) -> NumberModel:
        return model._replace(mean=mean, kappa=kappa, rate=rate)


def _numbers(columns: np.ndarray, component: DiagonalGaussian, model: MixedModel, rows: MixedRows) -> Update:
    variance = column_spread(rows)[1][columns] * model.unit[columns] ** 2
    hyperprior = Hyperprior.weak(variance, max(component.shape - 1.0, 0.5))

    def update(model: MixedModel, stats: np.ndarray, rng: np.random.Generator) -> MixedModel:
        places = model.begins[columns]
        own = np.stack([stats[:, 1 + places + k] for k in range(3)])
        numbers = NumberModel(model.mean[columns], float(model.kappa[columns[0]]), component.shape, model.rate[columns])
        numbers = learn(Numbers(), numbers, hyperprior, own, rng)
        model = model._replace(mean=model.mean.copy(), kappa=model.kappa.copy(), rate=model.rate.copy())
        model.mean[columns], model.kappa[columns], model.rate[columns] = numbers.mean, numbers.kappa, numbers.rate
        return model

    return update
