"""Plots of coarser partitions: the tree of clusters, and its levels."""

from __future__ import annotations

from typing import Any

import numpy as np

from hashmix.plot.style import axes_or_new, colour_of, plain, plain_numbers

__all__ = ["levels", "tree"]


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

    ax = axes_or_new(ax, (7, 4))
    k = len(sizes)
    if k < 2:
        ax.set_title("1 cluster: there is nothing to join", fontsize="medium")
        return plain(ax)
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
        drawn, ax=ax, leaf_label_func=name, leaf_rotation=90, color_threshold=0, above_threshold_color=colour_of(0), **truncated
    )
    ax.set(ylabel="√ height", xlabel="cluster: rows")
    ax.tick_params(axis="x", labelsize="small")
    return plain(ax)


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
    ax = axes_or_new(ax, (6, 3))
    ax.plot(compared.n_clusters, compared.agreement, color=colour_of(0), marker="o", ms=3, lw=1.2)
    ax.axvline(compared.reproducible, color=colour_of(1), lw=1.2, ls="--")
    ax.annotate(
        f"{compared.reproducible}", (compared.reproducible, 0.02), xytext=(4, 0), textcoords="offset points", color=colour_of(1)
    )
    if compared.n_clusters[-1] > 100:
        ax.set_xscale("log")
        plain_numbers(ax.xaxis)
    else:
        ax.xaxis.get_major_locator().set_params(integer=True)
    ax.set(xlabel="clusters", ylabel="agreement of two halves (ARI)", ylim=(0.0, 1.02))
    return plain(ax)
