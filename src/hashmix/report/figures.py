"""Figures of pages: drawings that take the colours of the reader's theme."""

from __future__ import annotations

import io
from collections.abc import Callable
from typing import Any

from hashmix.report.page import figure_tag
from hashmix.report.style import INK, PAPER, THEME

__all__ = ["drawn_figure"]

#: How matplotlib draws: text as shapes, so that it looks the same everywhere, and the same file every time.
_DRAWN: Any = {
    "text.parse_math": False,
    "svg.fonttype": "path",
    "svg.hashsalt": "hashmix",
    "savefig.facecolor": "auto",
    **dict.fromkeys(("text.color", "axes.edgecolor", "axes.labelcolor", "axes.titlecolor", "xtick.color", "ytick.color"), INK),
    **dict.fromkeys(("figure.facecolor", "axes.facecolor"), PAPER),
}


def drawn_figure(draw: Callable[[Any], Any], caption: str, rows: int = 1, height: float = 3.4) -> str:
    """A figure with a caption, drawn by ``draw``, which is given the axes.

    Parameters
    ----------
    draw : callable
        Draws on what it is given: axes, or an array of axes if there are several rows.
    caption : str
    rows : int, default=1
        Number of axes, one below the other.
    height : float, default=3.4
        In inches.

    Examples
    --------
    >>> from hashmix.report.figures import drawn_figure
    >>> drawn_figure(lambda ax: ax.plot([1, 2]), "A line.")[:25]
    '<figure><img alt="A line.'
    """
    import matplotlib
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    with matplotlib.rc_context(_DRAWN):
        figure = Figure(figsize=(6.2, height), layout="constrained")
        FigureCanvasAgg(figure)
        draw(figure.subplots(rows, 1, sharex=True))
        svg = io.StringIO()
        figure.savefig(svg, format="svg", dpi=150, metadata={"Date": None})
    return figure_tag(_themed(svg.getvalue()).encode(), caption, "svg+xml")


def _themed(svg: str) -> str:
    """The drawing with the colours of the theme in place of ink and paper."""
    svg = svg[svg.index("<svg") :].replace(INK, "var(--ink)").replace(PAPER, "var(--paper)")
    end = svg.index(">") + 1
    return f"{svg[:end]}<style>{THEME}</style>{svg[end:]}"
