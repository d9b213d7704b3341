"""Columns of categories: the one that tells most about each cluster, its share there, and its lift."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import betaincinv, rel_entr

from hashmix.data.table import Category
from hashmix.posterior.describe.intervals import interval, strata

__all__ = ["Matches", "shares_of_categories"]

#: For each draw, the estimate's clusters that have a match, and the draw's clusters that these are matched with.
Matches = list[tuple[np.ndarray, np.ndarray]]


def shares_of_categories(
    column: Category, estimate: np.ndarray, k: int, draws: np.ndarray, matches: Matches, level: float
) -> dict[str, Any]:
    """The most telling category of each cluster: the one that contributes most to how its shares differ from those of all rows.

    Parameters
    ----------
    column : Category
        Blank cells are left out.
    estimate : int array of shape (n_samples,)
        The clusters that are described.
    k : int
        Their number.
    draws : int array of shape (n_draws, n_samples)
    matches : list of pairs of arrays
        For each draw, the clusters of the estimate that have a match, and their matches.
    level : float
        Level of the intervals of the shares.

    Returns
    -------
    dict of sequences of length k
        ``NAME_typical``, missing for a cluster of blanks; ``NAME_share`` with its interval; and ``NAME_lift``, the ratio of the
        share to that of all rows.

    Examples
    --------
    >>> import numpy as np
    >>> from hashmix.data.table import Category
    >>> from hashmix.posterior.describe.categories import shares_of_categories
    >>> colour = Category("colour", np.array([1, 1, 1, 0]), ("blue", "red"))
    >>> labels, both = np.array([0, 0, 1, 1]), np.arange(2)
    >>> found = shares_of_categories(colour, labels, 2, labels[None], [(both, both)], 0.9)
    >>> found["colour_typical"], found["colour_share"], found["colour_lift"].round(2)
    (['red', 'blue'], array([1. , 0.5]), array([1.33, 2.  ]))
    """
    n_levels = len(column.levels)
    seen = column.codes >= 0
    codes = column.codes[seen]

    def counted(labels: np.ndarray, n_clusters: int) -> np.ndarray:
        cells = labels[seen].astype(np.int64) * n_levels + codes
        return np.bincount(cells, minlength=n_clusters * n_levels).reshape(n_clusters, n_levels)

    counts = counted(estimate, k)
    totals = counts.sum(axis=1)
    empty = totals == 0
    shares = counts / np.maximum(totals, 1)[:, None]
    overall = counts.sum(axis=0) / max(totals.sum(), 1)
    typical = rel_entr(shares, np.where(overall > 0, overall, 1.0)).argmax(axis=1)
    found, whole = np.full((2, len(draws), k), np.nan)
    for s, (draw, (mine, theirs)) in enumerate(zip(draws, matches, strict=True)):
        each = counted(draw, int(draw.max()) + 1)[theirs]
        found[s, mine], whole[s, mine] = each[np.arange(len(mine)), typical[mine]], each.sum(axis=1)
    whole[(whole == 0) | empty] = np.nan
    low, high = interval(betaincinv(found + 0.5, whole - found + 0.5, strata(found.shape)), level)
    share = np.where(empty, np.nan, shares[np.arange(k), typical])
    return {
        f"{column.name}_typical": [None if blank else column.levels[j] for j, blank in zip(typical, empty, strict=True)],
        f"{column.name}_share": share,
        f"{column.name}_share_low": low,
        f"{column.name}_share_high": high,
        f"{column.name}_lift": share / np.maximum(overall[typical], 1e-300),
    }
