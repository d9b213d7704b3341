"""A posterior in a notebook: the verdict, and how many clusters there are."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

from hashmix.core.wording import counted
from hashmix.report.numbers import shown_percent
from hashmix.report.style import MARKS

if TYPE_CHECKING:
    from hashmix.posterior import Posterior

__all__ = ["notebook_html"]

#: Numbers of clusters that are listed, at most.
_LISTED = 8
#: Colours of grades and of bars that are readable on light and on dark notebooks, which do not say which they are.
_COLOURS = {"good": "#2e9d55", "caution": "#c98a00", "bad": "#d9483f"}
_BAR = "#4477AA"


def notebook_html(posterior: Posterior, grade: str | None) -> str:
    """HTML with its styles inline, for any notebook.

    Parameters
    ----------
    posterior : Posterior
    grade : {"good", "caution", "bad"}, optional
        The verdict in one word; None leaves the verdict out, where computing it would take long.

    Examples
    --------
    >>> import numpy as np, hashmix as hm
    >>> from hashmix.report.notebook import notebook_html
    >>> "There are too few draws" in notebook_html(hm.sample(np.eye(4), n_draws=3, random_state=0), "caution")
    True
    """
    of = f"{counted(posterior.n_chains, 'chain')} of {counted(posterior.n_draws, 'draw')}"
    parts = [f"<b>Posterior</b> of the clusters of {counted(posterior.n_samples, 'row')}: {of}"]
    if grade is None:
        parts.append("<code>verdict()</code> says whether these draws can be trusted; on these data, that takes a moment.")
    else:
        style = f"border-left: 4px solid {_COLOURS[grade]}; padding: .3em .8em; margin: .4em 0"
        mark = f'<b style="color: {_COLOURS[grade]}">{MARKS[grade]}</b>'
        parts.append(f'<div style="{style}">{mark} {escape(posterior.verdict())}</div>')
    shares = posterior.n_clusters_probabilities()
    likely = sorted(sorted(shares, key=lambda k: -shares[k])[:_LISTED])
    lines = [_bar(counted(k, "cluster"), shares[k]) for k in likely]
    if len(shares) > len(likely):
        lines.append(_bar("others", 1.0 - sum(shares[k] for k in likely)))
    parts.append(
        f'<table style="border-collapse: collapse; color: inherit; font: inherit"><tbody>{"".join(lines)}</tbody></table>'
    )
    parts.append("<code>clusters(X)</code> describes the clusters; <code>report(path, X)</code> writes a page about them.")
    return "".join(f'<div style="margin: .2em 0">{part}</div>' for part in parts)


def _bar(name: str, share: float) -> str:
    cell = 'style="text-align: left; padding: 0 1em 0 0"'
    bar = f'<span style="display: inline-block; height: .7em; width: {10.0 * share:.2f}em; background: {_BAR}"></span>'
    return f"<tr><td {cell}>{name}</td><td {cell}>{shown_percent(share)}&nbsp;% {bar}</td></tr>"
