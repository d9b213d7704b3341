"""Plots of the draws of a posterior."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from hashmix.plot.style import axes_or_new, colour_of, plain, pyplot

if TYPE_CHECKING:
    from hashmix.posterior import Posterior

__all__ = ["moves", "n_clusters", "trace"]

#: Draws of a chain below which each has a marker, and above which its line is stored as pixels.
_FEW, _MANY = 3, 5000
#: The least height of the axis of the number of clusters.
_LEAST = 2.4


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
        _, axes = pyplot().subplots(2, 1, sharex=True, figsize=(7, 4.5), layout="constrained")
    for axis, values, name in zip(axes, (posterior.n_clusters, posterior.log_joint), ("clusters", "log joint"), strict=True):
        for c, chain in enumerate(values):
            style = {"lw": 1.2, "marker": "o" if len(chain) < _FEW else None, "rasterized": len(chain) > _MANY}
            axis.plot(np.arange(1, len(chain) + 1), chain, color=colour_of(c), label=f"chain {c + 1}", **style)
        axis.set_ylabel(name)
        plain(axis)
    axes[0].yaxis.get_major_locator().set_params(integer=True)
    low, high = axes[0].get_ylim()
    if high - low < _LEAST:  # less has no two whole numbers to write
        axes[0].set_ylim((low + high - _LEAST) / 2.0, (low + high + _LEAST) / 2.0)
    axes[-1].set_xlabel("draw")
    if posterior.n_chains > 1:
        axes[0].legend(frameon=False, ncols=min(posterior.n_chains, 6), fontsize="small")
    return axes


def n_clusters(posterior: Posterior, ax: Any = None) -> Any:
    """The posterior of the number of clusters as bars, in bins if there are many values; returns the axes.

    Examples
    --------
    >>> import numpy as np, hashmix as hm, hashmix.plot
    >>> ax = hashmix.plot.n_clusters(hm.sample(np.eye(5), n_draws=20, random_state=0))
    """
    ax = axes_or_new(ax, (6, 3))
    values = posterior.n_clusters.ravel()
    low, high = int(values.min()), int(values.max())
    step = max(1, -(-(high - low + 1) // 50))
    edges = np.arange(low, high + step + 1, step) - 0.5
    shares = np.histogram(values, edges)[0] / len(values)
    ax.bar((edges[1:] + edges[:-1]) / 2, shares, 0.85 * step, color=colour_of(0))
    ax.set(xlabel="clusters", ylabel="share of the draws")
    ax.set_xlim(max(min(edges[0], low - 2.5), 0.0), max(edges[-1], high + 2.5))
    ax.xaxis.get_major_locator().set_params(integer=True)
    return plain(ax)


def moves(posterior: Posterior, ax: Any = None) -> Any:
    """How often the proposals of each move were accepted, and how long it took; returns the axes.

    Examples
    --------
    >>> import numpy as np, hashmix as hm, hashmix.plot
    >>> ax = hashmix.plot.moves(hm.sample(np.eye(5), n_draws=20, random_state=0))
    """
    ax = axes_or_new(ax, (6, 0.8 + 0.35 * len(posterior.move_stats)))
    names = list(posterior.move_stats)[::-1]
    totals = [{what: float(values.sum()) for what, values in posterior.move_stats[name].items()} for name in names]
    shares = [total["accepted"] / max(total["proposed"], 1.0) for total in totals]
    least = min([share for share in shares if share > 0.0], default=1.0) / 5.0
    ax.set(xscale="log", xlim=(least, 40.0), xlabel="share of proposals accepted (log scale)")
    ax.barh(names, np.maximum(shares, least) - least, left=least, color=colour_of(0))
    for y, (total, share) in enumerate(zip(totals, shares, strict=True)):
        text = f"{share:.2%} of {total['proposed']:,.0f}, {total['seconds']:.2g} s"
        ax.annotate(text, (max(share, least), y), xytext=(4, 0), textcoords="offset points", va="center", fontsize="small")
    ticks = [tick for tick in 10.0 ** np.arange(-8, 1) if tick >= least]
    ax.set_xticks(ticks, [f"{100.0 * tick:g} %" for tick in ticks])
    return plain(ax)
