"""A map of the rows, coloured by cluster."""

from __future__ import annotations

from typing import Any

import numpy as np

from hashmix.core.validation import bad_parameter
from hashmix.core.wording import counted
from hashmix.data.table import Category, Table, as_table, column_names
from hashmix.plot.style import axes_or_new, colour_of, marker_of, plain, whole_labels

__all__ = ["ClusterDisplay", "clusters"]

#: Clusters whose number is written on the map, at most: the largest.
_NAMED = 40
#: Rows of a cluster that are looked at to find a place for its number, and how far apart numbers should be (1 is the map).
_PLACES, _APART = 40, 0.05
#: Categories of a column that a map is computed from, at most: the most frequent.
_LEVELS = 20


def clusters(X: Any, labels: Any, ax: Any = None, max_points: int = 20_000, feature_names: Any = None) -> Any:
    """A map of the rows, coloured by cluster, with the numbers of the clusters; returns the axes.

    One column of numbers is drawn as a histogram, and two are drawn as they are. Otherwise rows are drawn on the first two
    principal components: every column is scaled to unit variance first, a column of categories has one indicator per category,
    and blanks are at the column's mean.

    Parameters
    ----------
    X : array or frame of shape (n_samples, n_features)
    labels : int array of shape (n_samples,), or Posterior
        The cluster of each row; the point estimate of a posterior.
    ax : matplotlib axes, optional
    max_points : int, default=20_000
        If there are more rows, an evenly spaced selection is drawn.
    feature_names : sequence of str, optional
        Names of the columns; by default those of a frame.

    Examples
    --------
    >>> import numpy as np, hashmix.plot
    >>> ax = hashmix.plot.clusters(np.random.default_rng(0).normal(size=(30, 5)), np.arange(30) % 3)
    """
    labels = whole_labels(labels, "clusters")
    table = as_table(X, column_names(X, feature_names, len(labels), "clusters"))
    if not table.numeric and not table.categories:
        raise bad_parameter("clusters", "X", "data with columns of numbers or categories", type(X))
    named = feature_names is not None or hasattr(X, "columns")
    ax = axes_or_new(ax, (6, 5.5))
    shown = np.unique(np.linspace(0, len(labels) - 1, min(len(labels), max_points)).astype(int))
    labels = labels[shown]
    if len(table.numeric) == 1 and not table.categories:
        return _histogram(ax, table.numbers[shown, 0], labels, table.numeric[0] if named else "value")
    if len(table.numeric) == 2 and not table.categories:
        points = np.asarray(table.numbers[shown], dtype=np.float64)
        if named:
            ax.set_xlabel(table.numeric[0], parse_math=False)
            ax.set_ylabel(table.numeric[1], parse_math=False)
    else:
        points, share = _principal_components(_standardised(table, shown))
        ax.set_xlabel(f"first principal component ({share[0]:.0%})")
        ax.set_ylabel(f"second principal component ({share[1]:.0%})")
    size = float(np.clip(6000 / len(shown), 2, 30))
    for c in np.unique(labels):
        mine = points[labels == c].T
        style = {"color": colour_of(int(c)), "marker": marker_of(int(c)), "linewidths": 0, "alpha": 0.8, "rasterized": True}
        ax.scatter(*mine, s=size, **style)
    _write_numbers(ax, points, labels)
    return plain(ax)


def _histogram(ax: Any, values: np.ndarray, labels: np.ndarray, name: str) -> Any:
    """One column: bars of the rows of each cluster, on top of each other."""
    seen = np.isfinite(values)
    values, labels = values[seen], labels[seen]
    edges = np.linspace(values.min(), values.max(), 61) if len(values) else np.array([0.0, 1.0])
    below = np.zeros(len(edges) - 1)
    found, sizes = np.unique(labels, return_counts=True)
    tops = np.histogram(values, edges)[0]
    for c in found:
        counts = np.histogram(values[labels == c], edges)[0]
        ax.bar(edges[:-1], counts, np.diff(edges), below, align="edge", color=colour_of(int(c)))
        below += counts
    for c in found[np.argsort(-sizes, kind="stable")[:_NAMED]]:
        x = float(np.median(values[labels == c]))
        top = tops[min(int(np.searchsorted(edges, x, "right")) - 1, len(tops) - 1)]
        _write_number(ax, c, (x, top), "bottom", "medium" if len(found) <= 12 else "small")
    ax.margins(y=0.12)
    ax.set_xlabel(name, parse_math=False)
    ax.set_ylabel("rows")
    return plain(ax)


def _write_numbers(ax: Any, points: np.ndarray, labels: np.ndarray) -> None:
    """Write the numbers of the largest clusters at their middle rows, or, if another number is there, at other rows."""
    seen = np.isfinite(points).all(axis=1)
    points, labels = points[seen], labels[seen]
    if not len(points):
        return
    extent = np.ptp(points, axis=0)
    extent[extent == 0.0] = 1.0
    found, sizes = np.unique(labels, return_counts=True)
    taken = np.empty((0, 2))
    for c in found[np.argsort(-sizes, kind="stable")[:_NAMED]]:
        mine = points[labels == c]
        some = mine[np.linspace(0, len(mine) - 1, min(len(mine), _PLACES)).astype(int)]
        middle = mine[np.linalg.norm((mine - np.median(mine, axis=0)) / extent, axis=1).argmin()]
        places = np.concatenate([middle[None], some]) / extent
        nearest = np.linalg.norm(places[:, None] - taken, axis=2).min(axis=1, initial=np.inf)
        best = 0 if nearest[0] >= _APART else int(nearest.argmax())
        taken = np.concatenate([taken, places[[best]]])
        _write_number(ax, c, places[best] * extent, "center", "medium" if len(found) <= 12 else "small")


def _write_number(ax: Any, number: Any, place: Any, vertical: str, size: str) -> None:
    """The number of a cluster, readable on any colour."""
    from matplotlib.patheffects import withStroke

    halo = [withStroke(linewidth=3, foreground=ax.get_facecolor())]
    ax.annotate(str(number), place, ha="center", va=vertical, fontsize=size, weight="bold", path_effects=halo)


class ClusterDisplay:
    """A map of clusters, in the manner of scikit-learn's displays.

    Parameters
    ----------
    X : array or frame of shape (n_samples, n_features)
    labels : int array of shape (n_samples,)
        Cluster of each row.

    Attributes
    ----------
    ax_, figure_ :
        The matplotlib axes and figure it was drawn on.

    Examples
    --------
    >>> import hashmix as hm, hashmix.plot
    >>> from sklearn.datasets import make_blobs
    >>> X, y = make_blobs(100, centers=3, random_state=0)
    >>> model = hm.SplitMergeMixture(random_state=0).fit(X)
    >>> display = hashmix.plot.ClusterDisplay.from_estimator(model, X)
    """

    def __init__(self, X: Any, labels: np.ndarray) -> None:
        self.X, self.labels = X, labels

    def plot(self, ax: Any = None) -> ClusterDisplay:
        """Draw the map; returns the display.

        Examples
        --------
        >>> import numpy as np, hashmix.plot
        >>> display = hashmix.plot.ClusterDisplay(np.eye(4), np.arange(4) % 2).plot()
        """
        self.ax_ = clusters(self.X, self.labels, ax)
        self.figure_ = self.ax_.figure
        self.ax_.set_title(counted(len(np.unique(self.labels)), "cluster"))
        return self

    @classmethod
    def from_estimator(cls, estimator: Any, X: Any, ax: Any = None) -> ClusterDisplay:
        """The rows of X, coloured by their clusters in a fitted model: ``labels_``, or ``predict`` for other numbers of rows.

        Examples
        --------
        >>> import numpy as np, hashmix as hm, hashmix.plot
        >>> X = np.random.default_rng(0).normal(size=(50, 2))
        >>> model = hm.SplitMergeMixture(random_state=0).fit(X)
        >>> display = hashmix.plot.ClusterDisplay.from_estimator(model, X[:20])
        """
        labels = estimator.labels_ if np.shape(X)[0] == len(estimator.labels_) else estimator.predict(X)
        return cls(X, labels).plot(ax)


def _standardised(table: Table, shown: np.ndarray) -> np.ndarray:
    """The chosen rows with every column centred and, if it varies, scaled to unit variance; blanks are 0."""
    rows = np.array(table.numbers[shown], dtype=np.float64)
    blank = np.isnan(rows)
    rows[blank] = 0.0
    rows -= rows.sum(axis=0) / np.maximum((~blank).sum(axis=0), 1)
    rows[blank] = 0.0
    spread = rows.std(axis=0)
    rows /= np.where(spread > 0, spread, 1.0)
    return np.concatenate([rows, *(_indicators(category, shown) for category in table.categories)], axis=1)


def _indicators(category: Category, shown: np.ndarray) -> np.ndarray:
    """One centred column per category, in units that give all of them together unit variance."""
    codes = category.codes[shown]
    counts = np.bincount(codes[codes >= 0], minlength=len(category.levels))
    used = np.argsort(-counts, kind="stable")[:_LEVELS]
    used = used[counts[used] > 0]
    share = counts[used] / max(counts.sum(), 1)
    columns = ((codes[:, None] == used) - share) / np.sqrt(np.maximum(share * max(len(used) - 1, 1), 1e-300))
    columns[codes < 0] = 0.0
    return columns


def _principal_components(rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Standardised rows on their first two components, and the share of variance of each."""
    values, vectors = np.linalg.eigh(rows.T @ rows)
    axes = [-1, -2] if len(values) > 1 else [-1, -1]
    return rows @ vectors[:, axes], values[axes] / max(values.sum(), 1e-300)
