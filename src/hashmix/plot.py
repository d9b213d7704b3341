"""Plots of a posterior and of a partition, with matplotlib. Functions take ``ax`` and return axes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from hashmix.posterior import Posterior
    from hashmix.posterior.describe.words import Word

__all__ = [
    "ClusterDisplay",
    "clusters",
    "co_clustering",
    "levels",
    "moves",
    "n_clusters",
    "sizes",
    "trace",
    "tree",
    "words",
]

# Paul Tol's colour-blind safe sets; with more clusters than colours, these repeat with other markers.
_COLOURS = ["#4477AA", "#EE6677", "#228833", "#CCBB44", "#66CCEE", "#AA3377", "#EE7733", "#009988", "#332288", "#882255"]
_MARKERS = ["o", "s", "^", "D", "v", "P"]


def _pyplot() -> Any:
    try:
        import matplotlib.pyplot as plt
    except ImportError:
        raise ImportError("Plots need matplotlib: pip install 'hashmix[plots]'.") from None
    return plt


def trace(posterior: Posterior, axes: Any = None) -> Any:
    """Number of clusters and log joint of every draw, one line per chain; returns both axes.

    Parameters
    ----------
    posterior : Posterior
    axes : two matplotlib axes, optional

    Examples
    --------
    >>> import numpy as np, hashmix as hm, hashmix.plot
    >>> posterior = hm.sample(np.eye(5), n_draws=20, n_chains=2, random_state=0)
    >>> axes = hashmix.plot.trace(posterior)
    """
    if axes is None:
        _, axes = _pyplot().subplots(2, 1, sharex=True, figsize=(7, 4.5), layout="constrained")
    for axis, values, name in zip(axes, (posterior.n_clusters, posterior.log_joint), ("clusters", "log joint"), strict=True):
        for c, chain in enumerate(values):
            axis.plot(np.arange(1, len(chain) + 1), chain, color=_COLOURS[c % len(_COLOURS)], lw=1.2, label=f"chain {c + 1}")
        axis.set_ylabel(name)
        axis.spines[["top", "right"]].set_visible(False)
    axes[0].yaxis.get_major_locator().set_params(integer=True)
    axes[-1].set_xlabel("draw")
    if posterior.n_chains > 1:
        axes[0].legend(frameon=False, ncols=min(posterior.n_chains, 6), fontsize="small")
    return axes


def clusters(X: np.ndarray, labels: np.ndarray, ax: Any = None, max_points: int = 20_000) -> Any:
    """Scatter of the rows on their first two principal components, coloured by cluster; returns the axes.

    Two columns are shown as they are; more columns are first scaled to unit variance, and blanks (NaN) replaced by the column's
    mean.

    Parameters
    ----------
    X : array of shape (n_samples, n_features)
    labels : int array of shape (n_samples,)
        Cluster of each row.
    ax : matplotlib axes, optional
    max_points : int, default=20_000
        If there are more rows, an evenly spaced selection is drawn.

    Examples
    --------
    >>> import numpy as np, hashmix.plot
    >>> ax = hashmix.plot.clusters(np.random.default_rng(0).normal(size=(30, 5)), np.arange(30) % 3)
    """
    ax = _axes(ax, (6, 5.5))
    n, d = X.shape
    shown = np.unique(np.linspace(0, n - 1, min(n, max_points)).astype(int))
    if d == 1:
        points = np.column_stack([X[shown, 0], shown])
        ax.set_xlabel("value")
        ax.set_ylabel("row")
    elif d == 2:
        points = np.asarray(X[shown], dtype=np.float64)
    else:
        points, share = _principal_components(X, shown)
        ax.set_xlabel(f"first principal component ({share[0]:.0%})")
        ax.set_ylabel(f"second principal component ({share[1]:.0%})")
    labels = np.asarray(labels)[shown]
    size = float(np.clip(6000 / len(shown), 2, 30))
    for c in np.unique(labels):
        mine = labels == c
        ax.scatter(
            *points[mine].T,
            s=size,
            color=_COLOURS[c % len(_COLOURS)],
            marker=_MARKERS[c // len(_COLOURS) % len(_MARKERS)],
            linewidths=0,
            alpha=0.8,
        )
    return _plain(ax)


def tree(linkage: np.ndarray, sizes: np.ndarray, ax: Any = None, max_leaves: int = 30) -> Any:
    """The tree of clusters as a dendrogram, with the number of rows of every branch; returns the axes.

    Parameters
    ----------
    linkage : array of shape (n_clusters - 1, 4)
        ``tree_`` of a fitted model.
    sizes : int array of shape (n_clusters,)
        Rows of every cluster, ``np.bincount(labels_)``.
    ax : matplotlib axes, optional
    max_leaves : int, default=30
        If there are more clusters, only the top of the tree is drawn.

    Examples
    --------
    >>> import numpy as np, hashmix.plot
    >>> from hashmix.posterior.tree import join_clusters
    >>> sizes = np.array([5, 5, 10])
    >>> ax = hashmix.plot.tree(join_clusters(np.array([[0.0], [1.0], [9.0]]), sizes), sizes)
    """
    from scipy.cluster.hierarchy import dendrogram

    ax = _axes(ax, (7, 4))
    k = len(sizes)
    if k < 2:
        ax.set_title("1 cluster: there is nothing to join", fontsize="medium")
        return _plain(ax)
    rows = np.concatenate([np.asarray(sizes, np.float64), np.zeros(k - 1)])
    for step, (a, b) in enumerate(linkage[:, :2].astype(int)):
        rows[k + step] = rows[a] + rows[b]

    def name(node: int) -> str:
        return f"{node}: {rows[node]:,.0f}" if node < k else f"{rows[node]:,.0f}"

    # Heights span orders of magnitude: their roots show the lower levels, too.
    drawn = linkage.copy()
    drawn[:, 2] = np.sqrt(drawn[:, 2])
    truncated = {"truncate_mode": "lastp", "p": max_leaves} if k > max_leaves else {}
    dendrogram(
        drawn, ax=ax, leaf_label_func=name, leaf_rotation=90, color_threshold=0, above_threshold_color=_COLOURS[0], **truncated
    )
    ax.set(ylabel="√ height", xlabel="cluster: rows")
    ax.tick_params(axis="x", labelsize="small")
    return _plain(ax)


def levels(compared: Any, ax: Any = None) -> Any:
    """How well two halves of the rows agree at every level, with the reproducible one marked; returns the axes.

    Parameters
    ----------
    compared : Levels
        ``model.levels()``.
    ax : matplotlib axes, optional

    Examples
    --------
    >>> import numpy as np, hashmix.plot
    >>> from hashmix.posterior.tree import Levels
    >>> ax = hashmix.plot.levels(Levels(np.arange(2, 6), np.array([0.7, 0.9, 0.8, 0.6]), 3))
    """
    ax = _axes(ax, (6, 3))
    ax.plot(compared.n_clusters, compared.agreement, color=_COLOURS[0], marker="o", ms=3, lw=1.2)
    ax.axvline(compared.reproducible, color=_COLOURS[1], lw=1.2, ls="--")
    ax.annotate(
        f"{compared.reproducible}", (compared.reproducible, 0.02), xytext=(4, 0), textcoords="offset points", color=_COLOURS[1]
    )
    if compared.n_clusters[-1] > 100:
        ax.set_xscale("log")
    else:
        ax.xaxis.get_major_locator().set_params(integer=True)
    ax.set(xlabel="clusters", ylabel="agreement of two halves (ARI)", ylim=(0.0, 1.02))
    return _plain(ax)


def n_clusters(posterior: Posterior, ax: Any = None) -> Any:
    """The posterior of the number of clusters as bars, in bins if there are many values; returns the axes.

    Examples
    --------
    >>> import numpy as np, hashmix as hm, hashmix.plot
    >>> ax = hashmix.plot.n_clusters(hm.sample(np.eye(5), n_draws=20, random_state=0))
    """
    ax = _axes(ax, (6, 3))
    values = posterior.n_clusters.ravel()
    low, high = int(values.min()), int(values.max())
    step = max(1, -(-(high - low + 1) // 50))
    edges = np.arange(low, high + step + 1, step) - 0.5
    shares = np.histogram(values, edges)[0] / len(values)
    ax.bar((edges[1:] + edges[:-1]) / 2, shares, 0.85 * step, color=_COLOURS[0])
    ax.set(xlabel="clusters", ylabel="share of the draws", xlim=(min(edges[0], low - 2.5), max(edges[-1], high + 2.5)))
    ax.xaxis.get_major_locator().set_params(integer=True)
    return _plain(ax)


def sizes(labels: Any, ax: Any = None) -> Any:
    """Sizes of the clusters of a partition, the largest first: bars, or a line if there are many; returns the axes.

    Examples
    --------
    >>> import numpy as np, hashmix.plot
    >>> ax = hashmix.plot.sizes(np.arange(30) % 4)
    """
    ax = _axes(ax, (6, 3))
    counts = np.sort(np.unique(np.asarray(labels), return_counts=True)[1])[::-1]
    rank = np.arange(1, len(counts) + 1)
    if len(counts) <= 40:
        ax.bar(rank, counts, 0.85, color=_COLOURS[0])
        ax.xaxis.get_major_locator().set_params(integer=True)
        if len(counts) <= 12:
            for x, count in zip(rank, counts, strict=True):
                ax.annotate(f"{count:,}", (x, count), ha="center", va="bottom", fontsize="small")
    else:
        ax.step(rank, counts, where="mid", color=_COLOURS[0])
        ax.set(xscale="log", yscale="log")
    ax.set(xlabel="cluster, by size", ylabel="rows")
    return _plain(ax)


def co_clustering(posterior: Posterior, rows: Any = 200, labels: Any = None, ax: Any = None, seed: int = 0) -> Any:
    """How often two rows are in the same cluster, for some rows, ordered by the clusters of a partition; returns the axes.

    Parameters
    ----------
    posterior : Posterior
    rows : int or array of int, default=200
        The rows, or how many to choose at random.
    labels : array of shape (n_samples,), optional
        The partition they are ordered by; the point estimate by default.
    ax : matplotlib axes, optional
    seed : int, default=0
        Seed of the choice.

    Examples
    --------
    >>> import numpy as np, hashmix as hm, hashmix.plot
    >>> ax = hashmix.plot.co_clustering(hm.sample(np.eye(5), n_draws=20, random_state=0))
    """
    ax = _axes(ax, (5, 4.2))
    if isinstance(rows, (int, np.integer)):
        chosen = min(int(rows), posterior.n_samples)
        rows = np.sort(np.random.default_rng(seed).choice(posterior.n_samples, chosen, replace=False))
    labels = posterior.point_estimate() if labels is None else np.asarray(labels)
    rows = np.asarray(rows)
    size = np.bincount(labels)[labels[rows]]
    rows = rows[np.lexsort((labels[rows], -size))]
    image = ax.imshow(posterior.co_clustering(rows), cmap="cividis", vmin=0.0, vmax=1.0, interpolation="nearest")
    ax.figure.colorbar(image, ax=ax, label="share of the draws")
    ax.set(xlabel=f"{len(rows)} rows, by cluster", xticks=[], yticks=[])
    return ax


def moves(posterior: Posterior, ax: Any = None) -> Any:
    """How often the proposals of each move were accepted, and how long it took; returns the axes.

    Examples
    --------
    >>> import numpy as np, hashmix as hm, hashmix.plot
    >>> ax = hashmix.plot.moves(hm.sample(np.eye(5), n_draws=20, random_state=0))
    """
    ax = _axes(ax, (6, 0.8 + 0.35 * len(posterior.move_stats)))
    names = list(posterior.move_stats)[::-1]
    totals = [{what: float(values.sum()) for what, values in posterior.move_stats[name].items()} for name in names]
    shares = [total["accepted"] / max(total["proposed"], 1.0) for total in totals]
    least = min([share for share in shares if share > 0.0], default=1.0) / 5.0
    ax.set(xscale="log", xlim=(least, 40.0), xlabel="share of proposals accepted (log scale)")
    ax.barh(names, np.maximum(shares, least) - least, left=least, color=_COLOURS[0])
    for y, (total, share) in enumerate(zip(totals, shares, strict=True)):
        text = f"{share:.2%} of {total['proposed']:,.0f}, {total['seconds']:.2g} s"
        ax.annotate(text, (max(share, least), y), xytext=(4, 0), textcoords="offset points", va="center", fontsize="small")
    ax.set_xticks([tick for tick in 10.0 ** np.arange(-8, 1) if tick >= least])
    return _plain(ax)


class ClusterDisplay:
    """A map of clusters, in the manner of scikit-learn's displays.

    Parameters
    ----------
    X : array of shape (n_samples, n_features)
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

    labels: np.ndarray
    ax_: Any
    figure_: Any

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
        count = len(np.unique(self.labels))
        self.ax_.set_title(f"{count:,} cluster{'s' * (count != 1)}")
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
        X = np.asarray(X)
        labels = estimator.labels_ if len(X) == len(estimator.labels_) else estimator.predict(X)
        return cls(X, labels).plot(ax)


def _axes(ax: Any, size: tuple[float, float]) -> Any:
    return _pyplot().subplots(figsize=size, layout="constrained")[1] if ax is None else ax


def _plain(ax: Any) -> Any:
    ax.spines[["top", "right"]].set_visible(False)
    return ax


def words(top_words: list[list[Word]], sizes: np.ndarray, axes: Any = None, n_clusters: int = 12) -> Any:
    """The top words of the largest clusters, one panel per cluster: bars are probabilities, and darker for higher lift.

    Parameters
    ----------
    top_words : list of lists of Word
        As :meth:`SplitMergeMixture.top_words` returns them.
    sizes : array of shape (n_clusters,)
        Number of rows of each cluster.
    axes : array of axes, optional
        One for each cluster to show.
    n_clusters : int, default=12
        Number of clusters to show if ``axes`` is not given.

    Examples
    --------
    >>> import numpy as np, hashmix as hm, hashmix.plot
    >>> X = [[3, 1, 0, 0], [2, 2, 0, 0], [0, 0, 1, 4], [0, 0, 3, 2]]
    >>> model = hm.SplitMergeMixture("multinomial", random_state=0).fit(X)
    >>> axes = hashmix.plot.words(model.top_words(), np.bincount(model.labels_))
    """
    order = np.argsort(-np.asarray(sizes), kind="stable")[: n_clusters if axes is None else len(axes)]
    if axes is None:
        wide = min(4, len(order))
        tall = -(-len(order) // wide)
        figure, grid = _pyplot().subplots(
            tall, wide, figsize=(3.1 * wide, 0.6 + 1.9 * tall), layout="constrained", squeeze=False
        )
        axes = grid.ravel()
        for ax in axes[len(order) :]:
            ax.set_axis_off()
        axes = axes[: len(order)]
        figure.suptitle(f"{len(sizes)} clusters" + (f", the {len(order)} largest" if len(sizes) > len(order) else ""))
    for ax, c in zip(axes, order, strict=True):
        shown = top_words[c][::-1]
        strength = [float(np.clip(0.3 + 0.4 * np.log10(max(word.lift, 1e-3)), 0.3, 1.0)) for word in shown]
        bars = ax.barh([word.name for word in shown], [word.probability for word in shown], color=_COLOURS[0])
        for bar, alpha in zip(bars, strength, strict=True):
            bar.set_alpha(alpha)
        ax.set_title(f"cluster {c}: {sizes[c]:,} rows", fontsize="medium", loc="left")
        ax.tick_params(labelsize="small")
        ax.spines[["top", "right"]].set_visible(False)
    return axes


def _principal_components(X: np.ndarray, shown: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The chosen rows on the first two components of the standardised columns, and the share of variance of each."""
    rows = np.array(X[shown], dtype=np.float64)
    blank = np.isnan(rows)
    rows[blank] = 0.0
    rows -= rows.sum(axis=0) / np.maximum((~blank).sum(axis=0), 1)
    rows[blank] = 0.0
    spread = rows.std(axis=0)
    rows /= np.where(spread > 0, spread, 1.0)
    values, vectors = np.linalg.eigh(rows.T @ rows)
    return rows @ vectors[:, [-1, -2]], values[[-1, -2]] / max(values.sum(), 1e-300)
