"""Which columns tell clusters apart, over all of them and for each."""

from __future__ import annotations

from typing import Any

import numpy as np

from hashmix.data.mixed import Column, MixedRows
from hashmix.data.table import Table

__all__ = ["divergences", "mean_and_sd", "rows_of", "telling_columns"]

#: Rows that are looked at to choose the columns, at most.
_ROWS = 50_000


def telling_columns(table: Table, labels: np.ndarray, most: int) -> Table:
    """The columns in which clusters differ most, in the order of the data; all columns if there are few.

    Columns are compared by the share of their variance that is between clusters, for categories that of their indicators.

    Examples
    --------
    >>> import numpy as np
    >>> from hashmix.data.table import as_table
    >>> from hashmix.report.telling import telling_columns
    >>> table = as_table(np.array([[1.0, 5.0], [2.0, 5.1], [1.0, 9.0], [2.0, 9.1]]), ["a", "b"])
    >>> telling_columns(table, np.array([0, 0, 1, 1]), 1).numeric
    ['b']
    """
    n_numeric = len(table.numeric)
    if n_numeric + len(table.categories) <= most:
        return table
    rows = np.unique(np.linspace(0, len(labels) - 1, min(len(labels), _ROWS)).astype(int))
    own = np.unique(labels[rows], return_inverse=True)[1]
    shares = [_between(np.asarray(column, np.float64)[:, None], ~np.isnan(column), own) for column in table.numbers[rows].T]
    for category in table.categories:
        codes = category.codes[rows]
        shares.append(_between(codes[:, None] == np.unique(codes[codes >= 0]), codes >= 0, own))
    best = np.sort(np.argsort(-np.array(shares), kind="stable")[:most])
    numeric = best[best < n_numeric]
    return Table(
        table.numbers[:, numeric],
        [table.numeric[j] for j in numeric],
        [table.categories[j - n_numeric] for j in best[best >= n_numeric]],
    )


def _between(values: np.ndarray, seen: np.ndarray, own: np.ndarray) -> float:
    """The share of the variance of some columns, all together, that is between clusters, among the rows that are seen."""
    values, own = values[seen].astype(np.float64), own[seen]
    total = values.var(axis=0).sum() if len(values) else 0.0
    if not total > 0.0:
        return 0.0
    sizes = np.maximum(np.bincount(own), 1)
    between = sum((np.bincount(own, column) / sizes)[own].var() for column in values.T)
    return float(between / total)


def rows_of(table: Table) -> Any:
    """The columns of a table as rows: a matrix if all are numbers.

    Examples
    --------
    >>> import numpy as np
    >>> from hashmix.data.table import Category, Table
    >>> from hashmix.report.telling import rows_of
    >>> rows_of(Table(np.array([[1.0], [2.0]]), ["a"], [Category("b", np.array([0, -1]), ("x",))])).values.tolist()
    [[1.0, 0.0], [2.0, nan]]
    """
    if not table.categories:
        return table.numbers
    codes = [np.where(category.codes < 0, np.nan, category.codes) for category in table.categories]
    columns = [Column(name, "numeric") for name in table.numeric]
    columns += [Column(category.name, "categorical", category.levels) for category in table.categories]
    return MixedRows(np.column_stack([table.numbers, *codes]), columns, "report")


def mean_and_sd(column: np.ndarray) -> tuple[float, float]:
    """Mean and standard deviation of a column without its blanks; NaN if there is nothing else.

    Examples
    --------
    >>> import numpy as np
    >>> from hashmix.report.telling import mean_and_sd
    >>> mean, sd = mean_and_sd(np.array([1.0, np.nan, 3.0]))
    >>> float(mean), float(sd)
    (2.0, 1.0)
    """
    seen = column[~np.isnan(column)].astype(np.float64)
    return (seen.mean(), seen.std()) if len(seen) else (np.nan, np.nan)


def divergences(line: Any, numeric: dict[str, tuple[float, float]], categories: list[str]) -> dict[str, float]:
    """How much each column of a cluster differs from that of all rows: what a row of the cluster tells, in nats.

    Parameters
    ----------
    line : Series
        The cluster in the frame of :meth:`hashmix.Posterior.clusters`.
    numeric : dict
        Mean and standard deviation over all rows, by column.
    categories : list of str

    Examples
    --------
    >>> import pandas as pd
    >>> from hashmix.report.telling import divergences
    >>> found = divergences(pd.Series({"a_mean": 5.0, "a_sd": 1.0, "b_share": 0.5, "b_lift": 1.0}), {"a": (0.0, 1.0)}, ["b"])
    >>> {name: round(float(value), 2) for name, value in found.items()}
    {'a': 12.5, 'b': 0.0}
    """
    found = {}
    for name, (mean, sd) in numeric.items():
        ratio = max(line[f"{name}_sd"] / sd, 1e-3) if sd > 0 else 1.0
        away = (line[f"{name}_mean"] - mean) / sd if sd > 0 else 0.0
        found[name] = -np.log(ratio) + (ratio**2 + away**2 - 1.0) / 2.0
    for name in categories:
        found[name] = line[f"{name}_share"] * np.log(max(line[f"{name}_lift"], 1e-300))
    return {name: 0.0 if np.isnan(value) else float(value) for name, value in found.items()}
