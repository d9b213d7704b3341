"""What the columns of mixed rows are like in a cluster, the most telling first."""

from __future__ import annotations

from typing import Any

import numpy as np

from hashmix.data.mixed import Column, MixedRows

__all__ = ["typical_columns"]

#: A standard deviation in a cluster counts as at least this share of that of all rows.
_LEAST_RATIO = 1e-3


def typical_columns(X: MixedRows, labels: np.ndarray, k: int) -> list[list[dict[str, Any]]]:
    """For each cluster, what its columns are like there; those that differ most from all rows come first.

    A number or count has a mean and a standard deviation; a category has its share and its lift. Columns are ordered by the
    Kullback–Leibler divergence of the cluster from all rows, for numbers that of Gaussians.

    Examples
    --------
    >>> import numpy as np
    >>> from hashmix.data.mixed import Column, MixedRows
    >>> from hashmix.posterior.describe.typical import typical_columns
    >>> columns = Column("age", "numeric"), Column("colour", "categorical", ("blue", "red"))
    >>> rows = MixedRows(np.array([[30.0, 0.0], [34.0, 0.0], [31.0, 1.0], [33.0, 1.0]]), columns)
    >>> [found[0]["typical"] for found in typical_columns(rows, np.array([0, 0, 1, 1]), 2)]
    ['blue', 'red']
    """
    described = [
        _categories(column, X.values[:, j], labels, k) if column.categories else _numbers(column, X.values[:, j], labels, k)
        for j, column in enumerate(X.columns)
    ]
    scores = np.array([score for _, score in described])
    return [[described[j][0][c] for j in np.argsort(-scores[:, c], kind="stable")] for c in range(k)]


def _numbers(column: Column, values: np.ndarray, labels: np.ndarray, k: int) -> tuple[list[dict[str, Any]], np.ndarray]:
    """Mean and standard deviation in every cluster, and the divergence from all rows."""
    seen = ~np.isnan(values)
    x, own = values[seen], labels[seen]
    n = np.bincount(own, minlength=k)
    centre, spread = (x.mean(), x.std()) if len(x) else (0.0, 0.0)
    mean = np.bincount(own, x - centre, k) / np.maximum(n, 1)
    sd = np.sqrt(np.maximum(np.bincount(own, (x - centre) ** 2, k) / np.maximum(n, 1) - mean**2, 0.0))
    score = np.zeros(k)
    if spread > 0.0:
        ratio = np.maximum(sd / spread, _LEAST_RATIO)
        score = np.where(n > 0, -np.log(ratio) + 0.5 * (ratio**2 + (mean / spread) ** 2 - 1.0), 0.0)
    moments = ((float(mean[c] + centre), float(sd[c])) if n[c] else (None, None) for c in range(k))
    return [{"column": column.name, "mean": m, "sd": s} for m, s in moments], score


def _categories(column: Column, codes: np.ndarray, labels: np.ndarray, k: int) -> tuple[list[dict[str, Any]], np.ndarray]:
    """The category that contributes most to the divergence of every cluster from all rows, and that divergence."""
    seen = ~np.isnan(codes)
    n_categories = len(column.categories)
    places = labels[seen].astype(np.int64) * n_categories + codes[seen].astype(np.int64)
    counts = np.bincount(places, minlength=k * n_categories).reshape(k, n_categories)
    shares = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1)
    overall = counts.sum(axis=0) / max(counts.sum(), 1)
    lifts = shares / np.where(overall > 0, overall, 1.0)
    terms = np.where(shares > 0, shares * np.log(np.where(shares > 0, lifts, 1.0)), -np.inf)
    found: list[dict[str, Any]] = []
    for c, top in enumerate(terms.argmax(axis=1)):
        known = {"typical": column.categories[top], "share": float(shares[c, top]), "lift": float(lifts[c, top])}
        found.append({"column": column.name} | (known if counts[c].any() else dict.fromkeys(known)))
    return found, np.where(shares > 0, terms, 0.0).sum(axis=1)
