"""Self-contained HTML pages: the parts that reports are made of."""

from __future__ import annotations

import base64
import io
from collections.abc import Callable, Sequence
from html import escape
from typing import Any

__all__ = ["drawn_figure", "figure_tag", "page", "scrolling_table"]

_STYLE = """
:root { --ink: #1d2433; --faint: #5b6475; --line: #dfe3ea; --accent: #2a5d9f; }
* { box-sizing: border-box; }
body { margin: 0 auto; padding: 1.2rem 1rem 3rem; max-width: 72rem; color: var(--ink); background: #fff;
  font: 16px/1.5 system-ui, -apple-system, "Segoe UI", sans-serif; }
h1 { font-size: 1.5rem; margin: 0 0 .2rem; } h2 { font-size: 1.15rem; margin: 2.2rem 0 .6rem; }
p { margin: .4rem 0; } .faint { color: var(--faint); font-size: .92rem; }
.verdict { border-left: 4px solid var(--accent); background: #f3f6fb; padding: .7rem 1rem; margin: 1rem 0; font-size: 1.08rem; }
.numbers { display: flex; flex-wrap: wrap; gap: .4rem 2rem; margin: 1rem 0; }
.numbers div { min-width: 7rem; } .numbers b { display: block; font-size: 1.5rem; line-height: 1.2; }
.figures { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 26rem), 1fr)); gap: 1rem; }
figure { margin: 0; } figure img { max-width: 100%; height: auto; } figcaption { color: var(--faint); font-size: .92rem; }
.scroll { overflow-x: auto; } .scroll:focus { outline: 2px solid var(--accent); }
table { border-collapse: collapse; font-size: .92rem; font-variant-numeric: tabular-nums; }
th, td { padding: .25rem .7rem .25rem 0; text-align: right; border-bottom: 1px solid var(--line); white-space: nowrap; }
th:first-child, td:first-child, td.text { text-align: left; } td.text { white-space: normal; min-width: 16rem; }
th { color: var(--faint); font-weight: 600; } pre { overflow-x: auto; white-space: pre-wrap; font-size: .85rem; }
summary { cursor: pointer; color: var(--accent); }
@media print { body { max-width: none; font-size: 11pt; } details { display: block; } figure, tr { break-inside: avoid; } }
"""


def page(title: str, parts: Sequence[str]) -> str:
    """A page with these parts, which are HTML, one below the other; the browser loads nothing else.

    Examples
    --------
    >>> from hashmix.report.page import page
    >>> page("A & B", ["<p>text</p>"])[:15]
    '<!doctype html>'
    """
    head = (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        '<link rel="icon" href="data:,">'
        f"<title>{escape(title)}</title><style>{_STYLE}</style></head><body><main>"
    )
    return head + "\n".join(parts) + "</main></body></html>\n"


def scrolling_table(header: str, lines: Sequence[str], name: str) -> str:
    """An HTML table that scrolls on its own, also by keyboard, where it is wider than the screen.

    Parameters
    ----------
    header : str
        Cells of the header, as HTML.
    lines : sequence of str
        The other lines, as HTML.
    name : str
        What a screen reader calls it.

    Examples
    --------
    >>> from hashmix.report.page import scrolling_table
    >>> scrolling_table("<th>move</th>", ["<tr><td>Gibbs</td></tr>"], "moves")[:39]
    '<div class="scroll" tabindex="0" role="'
    """
    body = f"<table><thead><tr>{header}</tr></thead><tbody>{''.join(lines)}</tbody></table>"
    return f'<div class="scroll" tabindex="0" role="region" aria-label="{escape(name)}">{body}</div>'


def figure_tag(png: bytes, caption: str) -> str:
    """A PNG image with a caption, contained in the page.

    Examples
    --------
    >>> from hashmix.report.page import figure_tag
    >>> figure_tag(b"", "A map.")[:24]
    '<figure><img alt="A map.'
    """
    data = base64.b64encode(png).decode()
    return (
        f'<figure><img alt="{escape(caption)}" src="data:image/png;base64,{data}"><figcaption>{escape(caption)}'
        "</figcaption></figure>"
    )


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
    >>> from hashmix.report.page import drawn_figure
    >>> drawn_figure(lambda ax: ax.plot([1, 2]), "A line.")[:25]
    '<figure><img alt="A line.'
    """
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(6.2, height), layout="constrained")
    FigureCanvasAgg(figure)
    draw(figure.subplots(rows, 1, sharex=True))
    png = io.BytesIO()
    figure.savefig(png, format="png", dpi=130)
    return figure_tag(png.getvalue(), caption)
