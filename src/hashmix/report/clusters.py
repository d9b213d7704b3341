"""The clusters of a page: what is typical of each first, everything else on demand."""

from __future__ import annotations

from html import escape
from typing import Any

import numpy as np

from hashmix.core.wording import counted
from hashmix.data.table import Table
from hashmix.plot.style import colour_of
from hashmix.report.numbers import shown_number, shown_percent, shown_with_interval
from hashmix.report.page import folded, scrolling_table
from hashmix.report.telling import divergences, mean_and_sd

__all__ = ["clusters_section"]

#: Clusters that are shown at once, and on demand; and columns named for each at once.
_FIRST, _MORE, _TYPICAL = 25, 200, 3
#: Letters of a name or a category that are shown.
_LETTERS = 60


def clusters_section(frame: Any, table: Table) -> str:
    """The clusters as HTML, the largest first.

    Parameters
    ----------
    frame : DataFrame
        What :meth:`hashmix.Posterior.clusters` returns for the columns of ``table``.
    table : Table
        The columns, to say what is usual.

    Examples
    --------
    >>> import numpy as np
    >>> from hashmix.data.table import as_table
    >>> from hashmix.posterior.describe.clusters import cluster_frame
    >>> from hashmix.report.clusters import clusters_section
    >>> X, draws = np.array([[1.0], [1.2], [9.0]]), np.array([[0, 0, 1]] * 5, np.int32)
    >>> html = clusters_section(cluster_frame(draws, draws[0], X, ["height"], 0.9), as_table(X, ["height"]))
    >>> "height <b>9</b>" in html
    True
    """
    usual = {name: mean_and_sd(column) for name, column in zip(table.numeric, table.numbers.T, strict=True)}
    categories = [category.name for category in table.categories]
    sizes = frame["size"].to_numpy()
    order = np.argsort(-sizes, kind="stable")
    lines = [_line(frame.iloc[c], frame.index[c], sizes.sum(), usual, categories) for c in order[: _FIRST + _MORE]]
    title = "Typical of it" if usual or categories or "top_words" in frame else "In the draws"
    parts = [_table(lines[:_FIRST], title)]
    if lines[_FIRST:]:
        parts.append(folded(f"{counted(len(lines) - _FIRST, 'smaller cluster')}", _table(lines[_FIRST:], title)))
    if len(sizes) > _FIRST + _MORE:
        parts.append(f'<p class="faint">The {_FIRST + _MORE:,} largest of {len(sizes):,} clusters.</p>')
    if usual or categories:
        parts.append(folded("Side by side", _side_by_side(frame.iloc[order[: _FIRST + _MORE]], [*usual], categories)))
    return "".join(parts)


def _table(lines: list[str], title: str) -> str:
    header = f'<th>Cluster</th><th class="rows">Rows</th><th class="text">{title}</th>'
    return f'<table class="clusters"><thead><tr>{header}</tr></thead><tbody>{"".join(lines)}</tbody></table>'


def _line(line: Any, number: int, n_rows: int, usual: dict[str, tuple[float, float]], categories: list[str]) -> str:
    """One cluster."""
    size = int(line["size"])
    cells = f'<td>{_key(number)}</td><td>{size:,}<br><span class="faint">{shown_percent(size / n_rows)}&nbsp;%</span></td>'
    low, high = line["size_low"], line["size_high"]
    sure = f"It has {shown_percent(line['agreement'])}&nbsp;% of its rows in common with its match in an average draw."
    if np.isfinite(low):
        rows = f"{low:,.0f}" if round(low) == round(high) else f"{low:,.0f} to {high:,.0f}"
        sure = f"{rows} rows in 90&nbsp;% of the draws. {sure}"
    if "top_words" in line:
        said, more = ", ".join(f"<b>{_text(word)}</b>" for word in line["top_words"]), _words(line)
    else:
        order = divergences(line, usual, categories)
        names = sorted(order, key=lambda name: -order[name])
        each = [(_number(line, name, usual[name][0]) if name in usual else _category(line, name)) for name in names[:_TYPICAL]]
        said = " ".join(f'<span class="said">{text}</span>' for text in each)
        more = _columns(line, names, usual)
    sure = f'<p class="faint">{sure}</p>'
    said = f"<details><summary>{said}</summary>{sure}{more}</details>" if said else sure
    return f'<tr>{cells}<td class="text">{said}</td></tr>'


def _key(number: int) -> str:
    """The number of a cluster, with its colour in the plots."""
    return f'<span class="key" style="background: {colour_of(int(number))}"></span>{number}'


def _text(text: str) -> str:
    """A name from the data, cut if it is long, as HTML."""
    return escape(text if len(text) <= _LETTERS else text[: _LETTERS - 1] + "…")


def _number(line: Any, name: str, usual: float) -> str:
    if np.isnan(line[f"{name}_mean"]):
        return f"{_text(name)} blank"
    mean, interval = _mean(line, name)
    return f'{_text(name)} <b>{mean}</b> <span class="faint">({interval}; all rows {_rounded(usual)})</span>'


def _rounded(value: float) -> str:
    return shown_number(float(f"{value:.3g}"))


def _mean(line: Any, name: str) -> tuple[str, str]:
    """The mean of a column and its interval."""
    return shown_with_interval(*(line[f"{name}_mean{end}"] for end in ("", "_low", "_high")))


def _category(line: Any, name: str) -> str:
    if np.isnan(line[f"{name}_share"]):
        return f"{_text(name)} blank"
    return (
        f"{_text(name)} <b>{_text(line[f'{name}_typical'])}</b> {shown_percent(line[f'{name}_share'])}&nbsp;% "
        f'<span class="faint">({_percents(line, name)}; {_lift(line[f"{name}_lift"])} as often as in all rows)</span>'
    )


def _share(line: Any, name: str) -> str:
    """The most telling category and its share."""
    if np.isnan(line[f"{name}_share"]):
        return "–"
    return f"{_text(line[f'{name}_typical'])} {shown_percent(line[f'{name}_share'])}&nbsp;%"


def _percents(line: Any, name: str) -> str:
    return " to ".join(shown_percent(line[f"{name}_share_{end}"]) for end in ("low", "high"))


def _lift(lift: float) -> str:
    return f"{shown_number(float(f'{lift:.2g}'))}&nbsp;×"


def _columns(line: Any, names: list[str], usual: dict[str, tuple[float, float]]) -> str:
    """All columns of a cluster, in the same order."""
    header = "<th>column</th><th>in the cluster</th><th>90&nbsp;% interval</th><th>spread (sd)</th><th>all rows</th>"
    rows = []
    for name in names:
        if name in usual:
            cells = [*_mean(line, name), _rounded(line[f"{name}_sd"]), _rounded(usual[name][0])]
        elif np.isnan(line[f"{name}_share"]):
            cells = ["–"] * 4
        else:
            share, lift = line[f"{name}_share"], line[f"{name}_lift"]
            cells = [_share(line, name), f"{_percents(line, name)}&nbsp;%", ""]
            cells.append(f"{shown_percent(share / lift)}&nbsp;%")
        rows.append(f"<tr><td>{_text(name)}</td>" + "".join(f"<td>{cell}</td>" for cell in cells) + "</tr>")
    return scrolling_table(header, rows, "Columns") if rows else ""


def _words(line: Any) -> str:
    """The words of a cluster, their shares of all its words, and how much more frequent they are than in all rows."""
    header = "<th>word</th><th>share</th><th>90&nbsp;% interval</th><th>against all rows</th>"
    fields = ("top_words", "word_shares", "word_shares_low", "word_shares_high", "word_lifts")
    rows = [
        f"<tr><td>{_text(word)}</td><td>{shown_percent(share)}&nbsp;%</td>"
        f"<td>{shown_percent(low)} to {shown_percent(high)}&nbsp;%</td><td>{_lift(lift)}</td></tr>"
        for word, share, low, high, lift in zip(*(line[field] for field in fields), strict=True)
    ]
    return scrolling_table(header, rows, "Words")


def _side_by_side(frame: Any, numeric: list[str], categories: list[str]) -> str:
    """One line per cluster, one column per column."""
    header = "<th>cluster</th><th>rows</th>" + "".join(f"<th>{_text(name)}</th>" for name in [*numeric, *categories])
    lines = []
    for number, line in frame.iterrows():
        cells = [_mean(line, name)[0] for name in numeric]
        cells += [_share(line, name) for name in categories]
        cells = [_key(number), f"{int(line['size']):,}", *cells]
        lines.append("<tr>" + "".join(f"<td>{cell}</td>" for cell in cells) + "</tr>")
    return scrolling_table(header, lines, "Clusters side by side")
