"""Pictures of a posterior and of a partition, with matplotlib. Functions take ``ax`` and return axes."""

from __future__ import annotations

from typing import Any

import numpy as np

from hashmix.posterior import Posterior
from hashmix.words import Word

__all__ = ["clusters", "trace", "words"]

# Paul Tol's colour-blind safe sets, cycled with changing markers when there are more clusters than colours.
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

    Two columns are shown as they are. Columns of different units are scaled to unit variance first. With more than
    ``max_points`` rows, an evenly spaced selection is drawn.

    Examples
    --------
    >>> import numpy as np, hashmix.plot
    >>> ax = hashmix.plot.clusters(np.random.default_rng(0).normal(size=(30, 5)), np.arange(30) % 3)
    """
    if ax is None:
        _, ax = _pyplot().subplots(figsize=(6, 5.5), layout="constrained")
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
    ax.spines[["top", "right"]].set_visible(False)
    return ax


def words(top_words: list[list[Word]], sizes: np.ndarray, axes: Any = None, n_clusters: int = 12) -> Any:
    """The top words of the largest clusters, a panel each: bars are probabilities, darker the higher the lift.

    Parameters
    ----------
    top_words : list of lists of Word
        As :meth:`SplitMergeMixture.top_words` returns them.
    sizes : array of shape (n_clusters,)
        How many rows each cluster has.
    axes : array of axes, optional
        One for each cluster to be shown.
    n_clusters : int, default=12
        How many to show, if ``axes`` does not say.

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
    rows = np.asarray(X[shown], dtype=np.float64)
    spread = rows.std(axis=0)
    rows = (rows - rows.mean(axis=0)) / np.where(spread > 0, spread, 1.0)
    values, vectors = np.linalg.eigh(rows.T @ rows)
    return rows @ vectors[:, [-1, -2]], values[[-1, -2]] / max(values.sum(), 1e-300)
