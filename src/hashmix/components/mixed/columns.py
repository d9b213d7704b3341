"""Columns of different kinds: numbers, categories, yes/no and counts, independent given the cluster."""

from __future__ import annotations

from typing import Any

import numpy as np

from hashmix.components.contract import Component
from hashmix.components.counts.bernoulli import BetaBernoulli
from hashmix.components.counts.poisson import GammaPoisson
from hashmix.components.gaussian.diagonal import DiagonalGaussian
from hashmix.components.mixed.base import ColumnComponent, Part
from hashmix.components.mixed.categorical import Categorical
from hashmix.core.validation import bad_parameter

__all__ = ["MixedColumns"]

_FAMILIES = (DiagonalGaussian, Categorical, BetaBernoulli, GammaPoisson)


class MixedColumns(ColumnComponent):
    """Clusters of rows whose columns are of different kinds, independent given the cluster.

    Blank cells are left out of the likelihood.

    Parameters
    ----------
    columns : dict
        A component for every column: keys are the number of a column from 0 or a tuple of such numbers, values are
        :class:`DiagonalGaussian` (numbers; at most one), :class:`Categorical` (categories, given by their positions 0, 1, …),
        :class:`BetaBernoulli` (0 and 1) or :class:`GammaPoisson` (counts). A blank is NaN.

    Examples
    --------
    >>> import numpy as np, hashmix as hm
    >>> nan = float("nan")
    >>> X = np.array([[0.1, 0], [0.2, nan], [nan, 0], [0.0, 0], [7.1, 1], [nan, 1], [6.9, nan], [7.2, 1]])
    >>> numbers = hm.components.DiagonalGaussian(mean=3.0, kappa=0.01, shape=2.0, rate=0.1)
    >>> component = hm.components.MixedColumns({0: numbers, 1: hm.components.Categorical(0.3)})
    >>> hm.SplitMergeMixture(component, random_state=0).fit(X).labels_
    array([0, 0, 0, 0, 1, 1, 1, 1])
    """

    def __init__(self, columns: dict[Any, Component]) -> None:
        self.columns = columns
        self._parts = _parts_of(columns)

    @classmethod
    def from_data(cls, X: Any, learn: bool = False) -> MixedColumns:
        """Choose defaults for every column by its kind; columns of a plain matrix are numbers.

        Numbers have the defaults of :class:`DiagonalGaussian`. Categories have a concentration of 1/2, yes/no columns expect
        as many ones as there are, and the rates of counts have a shape of 1. With ``learn``, hyperparameters are learned in
        every column.

        Examples
        --------
        >>> import numpy as np, hashmix as hm
        >>> hm.components.MixedColumns.from_data(np.array([[0.0], [float("nan")], [2.0]])).columns[(0,)].mean
        array([1.])
        """
        rows = cls.rows(X)
        kinds = np.array([column.kind for column in rows.columns])
        columns: dict[Any, Component] = {}
        if (kinds == "numeric").any():
            numbers = rows.select_columns(kinds == "numeric")
            columns[tuple(np.flatnonzero(kinds == "numeric").tolist())] = DiagonalGaussian._from_rows(numbers, learn)
        for j in np.flatnonzero(kinds != "numeric").tolist():
            columns[(j,)] = _default(kinds[j], float(rows.summary.mean[j]), rows.n_rows, learn)
        return cls(columns)

    def parts(self, n_columns: int) -> list[Part]:
        given = np.concatenate([part.columns for part in self._parts])
        if len(given) != n_columns or given.max() != n_columns - 1:
            shown = ", ".join(map(str, np.sort(given)[:20]))
            raise bad_parameter("MixedColumns", "columns", f"a component for each of {n_columns} columns", f"columns {shown}")
        return self._parts

    def with_hyperparameters(self, values: dict[str, Any]) -> MixedColumns:
        if not values:
            return self
        columns: dict[Any, Component] = {}
        taken: dict[type, int] = dict.fromkeys(_FAMILIES, 0)
        for numbers, component in self._parts:
            if component.learn:
                begin = taken[type(component)]
                taken[type(component)] += len(numbers)
                component = _fixed(component, values, slice(begin, begin + len(numbers)))
            columns[tuple(numbers.tolist())] = component
        return MixedColumns(columns)


def _default(kind: str, mean: float, n_rows: int, learn: bool) -> Component:
    """The default component of a column that is not numeric."""
    if kind == "categorical":
        return Categorical(0.5, learn=learn)
    if kind == "binary":
        share = (mean * n_rows + 0.5) / (n_rows + 1.0)
        return BetaBernoulli(share, 1.0 - share, learn=learn)
    return GammaPoisson(1.0, 1.0 / max(mean, 1e-3), learn=learn)


def _fixed(component: Any, values: dict[str, Any], own: slice) -> Component:
    """A learned component with the values of its columns."""
    if isinstance(component, DiagonalGaussian):
        return DiagonalGaussian(values["mean"], float(values["kappa"]), component.shape, values["rate"])
    if isinstance(component, Categorical):
        return Categorical(values["concentration"][own])
    if isinstance(component, BetaBernoulli):
        return BetaBernoulli(float(values["alpha"][own][0]), float(values["beta"][own][0]))
    return GammaPoisson(values["count_shape"][own], float(values["count_rate"][own][0]))


def _parts_of(columns: Any) -> list[Part]:
    """The parts of a ``columns`` parameter, checked."""
    owner = "MixedColumns"
    if not isinstance(columns, dict) or not columns:
        raise bad_parameter(owner, "columns", "a dict of columns and components", columns)
    parts = []
    for key, component in columns.items():
        numbers = np.asarray(key if isinstance(key, tuple) else (key,))
        if numbers.dtype.kind not in "iu" or numbers.ndim != 1 or len(numbers) == 0 or numbers.min() < 0:
            raise bad_parameter(owner, "columns", "keys that are numbers of columns from 0, or tuples of them", key)
        if not isinstance(component, _FAMILIES):
            names = ", ".join(family.__name__ for family in _FAMILIES)
            raise bad_parameter(owner, "columns", f"components among {names}", component)
        parts.append(Part(numbers.astype(np.int64), component))
    numbers, counts = np.unique(np.concatenate([part.columns for part in parts]), return_counts=True)
    if (counts > 1).any():
        raise bad_parameter(owner, "columns", "every column once", f"column {numbers[counts > 1][0]} twice")
    if sum(isinstance(part.component, DiagonalGaussian) for part in parts) > 1:
        raise bad_parameter(owner, "columns", "one DiagonalGaussian for all numbers", "several")
    return parts
