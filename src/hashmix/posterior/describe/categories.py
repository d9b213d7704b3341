"""What categories are typical of a cluster, and rows of different kinds as the description of clusters takes them."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import betaincinv

from hashmix.data.encode import encode
from hashmix.data.frames import raw_columns
from hashmix.data.kinds import is_plain, recognise
from hashmix.data.mixed import MixedRows

__all__ = ["as_described", "category_counts", "describe_categories", "typical_columns"]


def as_described(X: Any, names: Any) -> tuple[Any, Any]:
    """Data as clusters are described by them, and the names of their columns: frames with categories become mixed rows.

    Examples
    --------
    >>> from hashmix.posterior.describe.categories import as_described
    >>> as_described({"age": [31, 45, 28], "colour": ["red", "blue", "red"]}, None)[1]
    ['age', 'colour']
    """
    raw = None if isinstance(X, MixedRows) else raw_columns(X)
    if raw is not None:
        columns = recognise(raw).columns
        if is_plain(raw, columns):
            return X, list(raw) if names is None else names
        X = encode(raw, columns)
    if isinstance(X, MixedRows) and (names is None or len(names) != X.n_columns):
        names = [column.name for column in X.columns]
    return X, names


def category_counts(codes: np.ndarray, n_categories: int, labels: np.ndarray, k: int) -> np.ndarray:
    """How often each cluster has each category, (k, n_categories); blanks are left out.

    Examples
    --------
    >>> import numpy as np
    >>> from hashmix.posterior.describe.categories import category_counts
    >>> category_counts(np.array([0.0, 1.0, np.nan]), 2, np.array([0, 0, 1]), 2).tolist()
    [[1, 1], [0, 0]]
    """
    seen = ~np.isnan(codes)
    places = labels[seen].astype(np.int64) * n_categories + codes[seen].astype(np.int64)
    return np.bincount(places, minlength=k * n_categories).reshape(k, n_categories)


def describe_categories(
    name: str,
    codes: np.ndarray,
    categories: tuple[str, ...],
    estimate: np.ndarray,
    k: int,
    draws: np.ndarray,
    matches: list[tuple[np.ndarray, np.ndarray]],
    quantiles: tuple[float, float],
) -> dict[str, Any]:
    """The category that is most typical of each cluster, its share, the interval of that, and its lift over all rows.

    Typical is what contributes most to the divergence of the cluster's shares from those of all rows.

    Examples
    --------
    >>> import numpy as np
    >>> from hashmix.posterior.describe.categories import describe_categories
    >>> labels = np.array([0, 0, 1, 1])
    >>> same = [(np.arange(2), np.arange(2))]
    >>> codes = np.array([0.0, 0.0, 1.0, 1.0])
    >>> found = describe_categories("colour", codes, ("blue", "red"), labels, 2, labels[None], same, (0.05, 0.95))
    >>> found["colour_typical"], found["colour_lift"].tolist()
    (['blue', 'red'], [2.0, 2.0])
    """
    n_categories = len(categories)
    counts = category_counts(codes, n_categories, estimate, k)
    overall = counts.sum(axis=0) / max(counts.sum(), 1)
    shares = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1)
    with np.errstate(divide="ignore", invalid="ignore"):
        lifts = shares / overall
        top = np.where(shares > 0, shares * np.log(lifts), -np.inf).argmax(axis=1)
    found, whole = np.full((2, len(draws), k), np.nan)
    for s, (draw, (mine, theirs)) in enumerate(zip(draws, matches, strict=True)):
        theirs_counts = category_counts(codes, n_categories, draw, int(draw.max()) + 1)[theirs]
        found[s, mine] = theirs_counts[np.arange(len(mine)), top[mine]]
        whole[s, mine] = theirs_counts.sum(axis=1)
    # Stratified draws of the share given the rows, so that intervals are the same every time.
    order = np.random.default_rng(0).random(found.shape).argsort(axis=0)
    drawn = betaincinv(found + 0.5, whole - found + 0.5, (order + 0.5) / len(draws))
    bounds = np.full((2, k), np.nan)
    some = np.isfinite(drawn).any(axis=0)
    bounds[:, some] = np.nanquantile(drawn[:, some], quantiles, axis=0)
    rows = np.arange(k)
    empty = counts.sum(axis=1) == 0
    return {
        f"{name}_typical": ["–" if blank else categories[j] for j, blank in zip(top, empty, strict=True)],
        f"{name}_share": np.where(empty, np.nan, shares[rows, top]),
        f"{name}_share_low": bounds[0],
        f"{name}_share_high": bounds[1],
        f"{name}_lift": np.where(empty, np.nan, lifts[rows, top]),
    }


def typical_columns(X: MixedRows, labels: np.ndarray, k: int) -> list[list[dict[str, Any]]]:
    """For each cluster, what its columns are like there; those that differ most from all rows come first.

    A number or count has a mean and a standard deviation; a category has its share and its lift. Columns are ordered by the
    Kullback–Leibler divergence of the cluster from all rows, for numbers that of Gaussians.

    Examples
    --------
    >>> import numpy as np
    >>> from hashmix.data.mixed import Column, MixedRows
    >>> from hashmix.posterior.describe.categories import typical_columns
    >>> columns = Column("age", "numeric"), Column("colour", "categorical", ("blue", "red"))
    >>> rows = MixedRows(np.array([[30.0, 0.0], [34.0, 0.0], [31.0, 1.0], [33.0, 1.0]]), columns)
    >>> [found[0]["typical"] for found in typical_columns(rows, np.array([0, 0, 1, 1]), 2)]
    ['blue', 'red']
    """
    scores = np.zeros((X.n_columns, k))
    found: list[list[dict[str, Any]]] = []
    same = [(np.arange(k), np.arange(k))]
    for j, column in enumerate(X.columns):
        values = X.values[:, j]
        if column.categories:
            counts = category_counts(values, len(column.categories), labels, k)
            shares = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1)
            overall = counts.sum(axis=0) / max(counts.sum(), 1)
            ratios = np.where(shares > 0, shares, 1.0) / np.where(shares > 0, overall, 1.0)
            scores[j] = (shares * np.log(ratios)).sum(axis=1)
            each = describe_categories("", values, column.categories, labels, k, labels[None], same, (0.05, 0.95))
            found.append(
                [
                    {"column": column.name, "typical": name, "share": share, "lift": lift}
                    for name, share, lift in zip(each["_typical"], each["_share"].tolist(), each["_lift"].tolist(), strict=True)
                ]
            )
            continue
        seen = ~np.isnan(values)
        x, own = values[seen], labels[seen]
        n = np.bincount(own, minlength=k)
        centre, spread = (x.mean(), max(x.std(), 1e-300)) if len(x) else (0.0, 1.0)
        mean = np.bincount(own, x - centre, k) / np.maximum(n, 1)
        sd = np.sqrt(np.maximum(np.bincount(own, (x - centre) ** 2, k) / np.maximum(n, 1) - mean**2, 0.0))
        ratio = np.maximum(sd / spread, 1e-3)
        scores[j] = np.where(n > 0, -np.log(ratio) + 0.5 * (ratio**2 + (mean / spread) ** 2 - 1.0), 0.0)
        found.append(
            [
                {"column": column.name, "mean": float(mean[c] + centre) if n[c] else None, "sd": float(sd[c]) if n[c] else None}
                for c in range(k)
            ]
        )
    return [[found[j][c] for j in np.argsort(-scores[:, c], kind="stable")] for c in range(k)]
