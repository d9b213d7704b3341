"""Plots of one partition, and of how often draws agree with it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from hashmix.plot.style import axes_or_new, colour_of, plain, plain_numbers, whole_labels

if TYPE_CHECKING:
    from hashmix.posterior import Posterior

__all__ = ["co_clustering", "sizes"]

#: Up to so many clusters are drawn as bars, and up to so many are named beside a matrix.
_BARS, _NAMED = 40, 15


def sizes(labels: Any, ax: Any = None) -> Any:
    """Sizes of the clusters of a partition, the largest first: bars, or a line if there are many; returns the axes.

    Parameters
    ----------
    labels : array of shape (n_samples,), or Posterior
        The cluster of each row; the point estimate of a posterior.
    ax : matplotlib axes, optional

    Examples
    --------
    >>> import numpy as np, hashmix.plot
    >>> ax = hashmix.plot.sizes(np.arange(30) % 4)
    >>> [text.get_text() for text in ax.get_xticklabels()]
    ['0', '1', '2', '3']
    """
    names, counts = np.unique(whole_labels(labels, "sizes"), return_counts=True)
    ax = axes_or_new(ax, (6, 3))
    order = np.argsort(-counts, kind="stable")
    names, counts = names[order], counts[order]
    rank = np.arange(1, len(counts) + 1)
    if len(counts) <= _BARS:
        ax.bar(rank, counts, 0.85, color=[colour_of(int(name)) for name in names])
        ax.set_xticks(rank, [str(name) for name in names], fontsize="small" if len(counts) <= 25 else "x-small")
        ax.set_xlabel("cluster, the largest first")
        middle, half = (len(counts) + 1) / 2.0, max(len(counts) / 2.0 + 0.1, 2.5)  # a single bar is not as wide as the plot
        ax.set_xlim(middle - half, middle + half)
        if len(counts) <= 12:
            for x, count in zip(rank, counts, strict=True):
                ax.annotate(f"{count:,}", (x, count), ha="center", va="bottom", fontsize="small")
    else:
        ax.step(rank, counts, where="mid", color=colour_of(0))
        ax.set(xscale="log", yscale="log", xlabel=f"{len(counts):,} clusters, the largest first")
        plain_numbers(ax.xaxis)
        plain_numbers(ax.yaxis)
    ax.set_ylabel("rows")
    return plain(ax)


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
    ax = axes_or_new(ax, (5, 4.2))
    if isinstance(rows, (int, np.integer)):
        chosen = min(int(rows), posterior.n_samples)
        rows = np.sort(np.random.default_rng(seed).choice(posterior.n_samples, chosen, replace=False))
    names, labels, counts = np.unique(
        whole_labels(posterior if labels is None else labels, "co_clustering"), return_inverse=True, return_counts=True
    )
    rows = np.asarray(rows)
    rows = rows[np.lexsort((labels[rows], -counts[labels[rows]]))]
    image = ax.imshow(posterior.co_clustering(rows), cmap="cividis", vmin=0.0, vmax=1.0, interpolation="nearest")
    ax.figure.colorbar(image, ax=ax, label="share of the draws")
    shown = labels[rows]
    begins = np.append(np.flatnonzero(np.diff(shown, prepend=-1)), len(rows))
    middle, own = (begins[1:] + begins[:-1] - 1) / 2.0, names[shown[begins[:-1]]]
    large = np.argsort(-np.diff(begins), kind="stable")[:_NAMED]
    ax.set(xlabel=f"{len(rows)} rows, by cluster", xticks=[])
    ax.set_yticks(middle[large], [str(own[c]) for c in large], fontsize="small")
    ax.tick_params(axis="y", length=0)
    return ax
