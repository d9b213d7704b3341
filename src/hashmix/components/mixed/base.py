"""What components of independent columns share: every column has a kind, and blanks are simply not there."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, NamedTuple

import numpy as np

from hashmix.components.contract import Component, DenseSlots, Learner
from hashmix.components.counts.bernoulli import BetaBernoulli
from hashmix.components.counts.poisson import GammaPoisson
from hashmix.components.gaussian.diagonal import DiagonalGaussian
from hashmix.components.gaussian.shared import column_spread
from hashmix.components.mixed import clusters
from hashmix.components.mixed.density import MixedDensity, MixedParameters
from hashmix.components.mixed.hashed import hashed_columns
from hashmix.components.mixed.kernels import CATEGORY, COUNT, NUMBER, MixedModel
from hashmix.components.mixed.learning import learned_values, set_totals, updater
from hashmix.core.validation import bad_parameter, check_vector
from hashmix.data.mixed import MixedRows, as_mixed
from hashmix.data.rows import DenseRows, Rows

__all__ = ["ColumnComponent", "Part", "kind_of"]


class Part(NamedTuple):
    """Columns that share a component."""

    columns: np.ndarray
    component: Any


def kind_of(component: Any) -> int:
    """How kernels see a column with this component."""
    if isinstance(component, DiagonalGaussian):
        return NUMBER
    return COUNT if isinstance(component, GammaPoisson) else CATEGORY


class ColumnComponent(Component):
    """Columns that are independent given the cluster, each with a component of its own. A subclass says which."""

    takes_blanks = True
    drops_constant_columns = True
    draws_parameters = True
    moves_with_parameters = True
    sweeps_held_from_one = 15

    @abstractmethod
    def parts(self, n_columns: int) -> list[Part]:
        """The columns by component; every column is in one part."""

    @classmethod
    def rows(cls, X: Any, owner: str = "sample") -> MixedRows:
        return as_mixed(X, owner)

    def hashed(self, rows: Rows) -> DenseRows:
        return hashed_columns(as_mixed(rows), self._kinds(rows.n_columns))

    def _kinds(self, n_columns: int) -> np.ndarray:
        kinds = np.empty(n_columns, np.int8)
        for part in self.parts(n_columns):
            kinds[part.columns] = kind_of(part.component)
        return kinds

    def model(self, X: Any) -> MixedModel:
        rows = self.rows(X)
        d = rows.n_columns
        kinds, levels = self._kinds(d), rows.levels.copy()
        _check_whole(rows, np.flatnonzero(kinds != NUMBER))
        for part in self.parts(d):
            if isinstance(part.component, BetaBernoulli):
                if (levels[part.columns] > 2).any():
                    raise bad_parameter("MixedColumns", "X", "0 or 1 in columns of BetaBernoulli", "larger numbers")
                levels[part.columns] = 2
        begins = np.concatenate([[0], np.cumsum(np.where(kinds == CATEGORY, 1 + levels, 3))])
        zeros, ones = np.zeros((3, d)), np.ones((4, d))
        names = ("origin", "mean", "totals", "unit", "kappa", "shape", "rate")
        fields = dict(zip(names, [*zeros, *ones], strict=True))
        model = MixedModel(kinds, begins, pseudo=np.zeros(begins[-1]), **fields)
        for part in self.parts(d):
            _write_part(model, part, rows)
        set_totals(model)
        return model

    def slots(self, model: MixedModel, capacity: int) -> DenseSlots:
        width = int(model.begins[-1])
        return DenseSlots.empty(capacity, width, width, len(model.kinds))

    # ---- learned hyperparameters ----

    def _learned(self, n_columns: int) -> dict[type, list[Part]]:
        """Parts whose hyperparameters are learned, by family."""
        found: dict[type, list[Part]] = {}
        for part in self.parts(n_columns):
            if part.component.learn:
                found.setdefault(type(part.component), []).append(part)
        return found

    def learner(self, model: MixedModel, X: Any) -> Learner | None:
        rows = self.rows(X)
        learned = self._learned(rows.n_columns)
        if not learned:
            return None
        updates = [updater(parts, model, rows) for parts in learned.values()]

        def update(model: MixedModel, slots: DenseSlots, used: np.ndarray, rng: np.random.Generator) -> MixedModel:
            stats = slots.statistics(used)
            for each in updates:
                model = each(model, stats, rng)
            return model

        return update

    def hyperparameters(self, model: MixedModel) -> dict[str, np.ndarray]:
        found: dict[str, np.ndarray] = {}
        for family, parts in self._learned(len(model.kinds)).items():
            found |= learned_values(family, np.concatenate([part.columns for part in parts]), model)
        return found

    def hyperparameter_columns(self, model: MixedModel) -> dict[str, np.ndarray]:
        found: dict[str, np.ndarray] = {}
        for family, parts in self._learned(len(model.kinds)).items():
            columns = np.concatenate([part.columns for part in parts])
            found |= {name: columns for name, value in learned_values(family, columns, model).items() if np.ndim(value) > 0}
        return found

    # ---- array code over many clusters ----

    def statistics(self, model: MixedModel, X: Any, labels: np.ndarray, n_clusters: int) -> np.ndarray:
        return clusters.statistics(model, self.rows(X).values, labels, n_clusters)

    def log_marginals(self, model: MixedModel, stats: np.ndarray) -> np.ndarray:
        return clusters.log_marginals(model, stats)

    def log_predictives(self, model: MixedModel, stats: np.ndarray, X: Any) -> np.ndarray:
        return clusters.log_predictives(model, stats, self.rows(X).values)

    def draw_parameters(self, model: MixedModel, stats: np.ndarray, rng: np.random.Generator) -> MixedParameters:
        return clusters.draw_parameters(model, stats, rng)

    def draw_density(self, model: MixedModel, stats: np.ndarray, rng: np.random.Generator) -> MixedDensity:
        return MixedDensity.of(clusters.draw_parameters(model, stats, rng))

    def expected_parameters(self, model: MixedModel, stats: np.ndarray) -> MixedParameters:
        return clusters.expected_parameters(model, stats)

    def log_densities(self, parameters: MixedParameters, X: Any) -> np.ndarray:
        return clusters.log_densities(parameters, self.rows(X).values)

    def draw_rows(self, parameters: MixedParameters, labels: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        return clusters.draw_rows(parameters, labels, rng)

    def positions(self, model: MixedModel, stats: np.ndarray) -> np.ndarray:
        return clusters.positions(model, stats)


def _write_part(model: MixedModel, part: Part, rows: MixedRows) -> None:
    """Write the hyperparameters of some columns into the model's arrays."""
    columns, component = part
    owner, d = type(component).__name__, len(columns)
    kind = kind_of(component)
    if kind == NUMBER:
        rate = check_vector(owner, "rate", component.rate, d, positive=True)
        model.origin[columns] = column_spread(rows)[0][columns]
        model.unit[columns] = 1.0 / np.sqrt(rate)
        mean = check_vector(owner, "mean", component.mean, d)
        model.mean[columns] = (mean - model.origin[columns]) * model.unit[columns]
        model.kappa[columns], model.shape[columns] = component.kappa, component.shape
    elif kind == COUNT:
        model.shape[columns] = check_vector(owner, "shape", component.shape, d, positive=True)
        model.rate[columns] = component.rate
    elif isinstance(component, BetaBernoulli):
        for j in columns:
            model.pseudo[model.begins[j] + 1 : model.begins[j + 1]] = component.beta, component.alpha
    else:
        for j, value in zip(columns, check_vector(owner, "concentration", component.concentration, d), strict=True):
            model.pseudo[model.begins[j] + 1 : model.begins[j + 1]] = value


def _check_whole(rows: MixedRows, columns: np.ndarray) -> None:
    values = rows.values[:, columns]
    wrong = (values < 0) | (values != np.floor(values))
    if (wrong & ~np.isnan(values)).any():
        found = values[wrong & ~np.isnan(values)][0]
        raise bad_parameter("MixedColumns", "X", "whole numbers ≥ 0 in columns of categories and counts", f"{found:g}")
