"""What all plots share: colours, axes, and the partition that is drawn."""

from __future__ import annotations

from typing import Any

import numpy as np

from hashmix.core.validation import bad_parameter

__all__ = ["axes_or_new", "colour_of", "marker_of", "plain", "plain_numbers", "pyplot", "whole_labels"]

# Paul Tol's colour-blind safe set first. Then the colours that differ most from all before them, also as people with
# protanopia and deuteranopia see them, and that are neither too light for white paper nor too dark for a dark screen.
_COLOURS = (
    *("#4477AA", "#EE6677", "#228833", "#CCBB44", "#66CCEE", "#AA3377", "#EE7733", "#009988", "#F300FF", "#610CFF"),
    *("#F392FF", "#AA5500", "#9279FF", "#18B600", "#9E00C2", "#00DB92", "#E7AAAA", "#F318AA", "#9E92B6", "#006DF3"),
    *("#00AAFF", "#9E9E61", "#E70031", "#AA61B6", "#9E6D79", "#24DB00", "#55B6AA", "#AA31FF", "#496D55", "#6155C2"),
)
_MARKERS = ("o", "s", "^", "D", "v", "P")
_GREY = "#888888"


def colour_of(number: int) -> str:
    """The colour of a cluster or of a chain: thirty different ones, then the same again; grey for negative numbers.

    Examples
    --------
    >>> from hashmix.plot.style import colour_of
    >>> colour_of(0), colour_of(30)
    ('#4477AA', '#4477AA')
    """
    return _COLOURS[number % len(_COLOURS)] if number >= 0 else _GREY


def marker_of(number: int) -> str:
    """The marker of a cluster's rows: another one for every ten clusters.

    Examples
    --------
    >>> from hashmix.plot.style import marker_of
    >>> marker_of(0), marker_of(30)
    ('o', 'D')
    """
    return _MARKERS[number // 10 % len(_MARKERS)]


def pyplot() -> Any:
    """Import matplotlib's pyplot; if it is not installed, the error says how to install it.

    Examples
    --------
    >>> from hashmix.plot.style import pyplot
    >>> pyplot().__name__
    'matplotlib.pyplot'
    """
    try:
        import matplotlib.pyplot as plt
    except ImportError:
        raise ImportError("Plots need matplotlib: pip install 'hashmix[plots]'.") from None
    return plt


def axes_or_new(ax: Any, size: tuple[float, float]) -> Any:
    """The axes that were given, or those of a new figure of this size in inches.

    Examples
    --------
    >>> from hashmix.plot.style import axes_or_new
    >>> ax = axes_or_new(None, (4, 3))
    >>> axes_or_new(ax, (4, 3)) is ax
    True
    """
    return pyplot().subplots(figsize=size, layout="constrained")[1] if ax is None else ax


def plain(ax: Any) -> Any:
    """The axes, without lines at the top and on the right.

    Examples
    --------
    >>> from hashmix.plot.style import axes_or_new, plain
    >>> plain(axes_or_new(None, (4, 3))).spines["top"].get_visible()
    False
    """
    ax.spines[["top", "right"]].set_visible(False)
    return ax


def plain_numbers(axis: Any) -> None:
    """Write the ticks of a logarithmic axis as numbers: 1, 10 and 100.

    Examples
    --------
    >>> from hashmix.plot.style import axes_or_new, plain_numbers
    >>> ax = axes_or_new(None, (4, 3))
    >>> ax.set_xscale("log")
    >>> plain_numbers(ax.xaxis)
    """
    from matplotlib.ticker import NullFormatter

    axis.set_major_formatter("{x:,.0f}")
    axis.set_minor_formatter(NullFormatter())


def whole_labels(partition: Any, owner: str) -> np.ndarray:
    """The labels of a partition: those given, or those of a posterior's point estimate.

    Examples
    --------
    >>> from hashmix.plot.style import whole_labels
    >>> whole_labels([0, 0, 1], "sizes")
    array([0, 0, 1])
    """
    labels = np.asarray(partition.point_estimate() if hasattr(partition, "point_estimate") else partition)
    if labels.ndim != 1 or not len(labels) or labels.dtype.kind not in "iu":
        raise bad_parameter(owner, "labels", "the label of every row, or a Posterior", partition)
    return labels
