"""Self-contained HTML pages: the parts that reports are made of."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from html import escape

from hashmix.report.style import MARKS, STYLE

__all__ = ["figure_tag", "folded", "page", "scrolling_table", "verdict_tag"]


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
        '<meta name="color-scheme" content="light dark"><link rel="icon" href="data:,">'
        f"<title>{escape(title)}</title><style>{STYLE}</style></head><body><main>"
    )
    return head + "\n".join(parts) + "</main></body></html>\n"


def verdict_tag(grade: str, text: str) -> str:
    """A verdict in the colour of its grade, with a sign.

    Parameters
    ----------
    grade : {"good", "caution", "bad"}
    text : str

    Examples
    --------
    >>> from hashmix.report.page import verdict_tag
    >>> verdict_tag("good", "The chains agree.")
    '<p class="verdict good" role="status"><b aria-hidden="true">✓</b> The chains agree.</p>'
    """
    return f'<p class="verdict {grade}" role="status"><b aria-hidden="true">{MARKS[grade]}</b> {escape(text)}</p>'


def folded(summary: str, content: str) -> str:
    """HTML that is shown on demand.

    Examples
    --------
    >>> from hashmix.report.page import folded
    >>> folded("More & more", "<p>text</p>")
    '<details><summary>More &amp; more</summary><p>text</p></details>'
    """
    return f"<details><summary>{escape(summary)}</summary>{content}</details>"


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


def figure_tag(image: bytes, caption: str, kind: str = "png") -> str:
    """An image with a caption, contained in the page.

    Parameters
    ----------
    image : bytes
        The file.
    caption : str
    kind : {"png", "svg+xml"}, default="png"

    Examples
    --------
    >>> from hashmix.report.page import figure_tag
    >>> figure_tag(b"", "A map.")[:24]
    '<figure><img alt="A map.'
    """
    data = base64.b64encode(image).decode()
    return (
        f'<figure><img alt="{escape(caption)}" src="data:image/{kind};base64,{data}"><figcaption>{escape(caption)}'
        "</figcaption></figure>"
    )
