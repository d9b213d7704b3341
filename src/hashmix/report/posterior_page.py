"""One page about a posterior: a self-contained HTML file, the verdict first."""

from __future__ import annotations

import os
from html import escape
from typing import TYPE_CHECKING, Any

import numpy as np

from hashmix import plot
from hashmix.core.files import write_atomically
from hashmix.core.wording import counted
from hashmix.data.table import Table, as_table, column_names
from hashmix.report.clusters import clusters_section
from hashmix.report.figures import drawn_figure
from hashmix.report.numbers import shown_number, shown_percent, shown_rhat
from hashmix.report.page import folded, page, scrolling_table, verdict_tag
from hashmix.report.telling import rows_of, telling_columns

if TYPE_CHECKING:
    from hashmix.posterior import Posterior

__all__ = ["write_report"]

#: Columns that clusters are described by, and quantities whose convergence is listed, at most.
_COLUMNS, _QUANTITIES = 8, 20
#: A row is in doubt if fewer of the draws than this have it in its cluster.
_SURE = 0.9


def write_report(
    posterior: Posterior,
    path: str | os.PathLike[str],
    X: Any,
    feature_names: Any,
    labels: np.ndarray,
    title: str,
    grade: str,
    coarser: tuple[Any, Any] = (None, None),
) -> None:
    """Write the page; see :meth:`hashmix.Posterior.report`. ``grade`` is that of the verdict; ``coarser`` is (tree, levels)."""
    table, names = Table(np.empty((posterior.n_samples, 0)), [], []), None
    if X is not None:
        names = column_names(X, feature_names, posterior.n_samples, "report")
        if feature_names is None and not hasattr(X, "columns"):
            names = [f"column {name}" for name in names]
        table = as_table(X, names)
    described = telling_columns(table, labels, _COLUMNS)
    if described.numeric or described.categories:
        shown = [*described.numeric, *(category.name for category in described.categories)]
        frame = posterior.clusters(rows_of(described), labels, shown)
    else:
        frame = posterior.clusters(X if hasattr(X, "tocsr") else None, labels, names if hasattr(X, "tocsr") else None)
    parts = [
        _head(posterior, labels, title, grade),
        _pictures(posterior, table, labels),
        "<h2>Clusters</h2>",
        clusters_section(frame, described),
        _coarser(labels, *coarser),
        _why_this_component(posterior.settings.get("evidence", {})),
        "<h2>The draws</h2>",
        _draws(posterior, labels),
    ]
    write_atomically(path, page(title, parts).encode())


def _head(posterior: Posterior, labels: np.ndarray, title: str, grade: str) -> str:
    low, high = (int(value) for value in np.quantile(posterior.n_clusters, [0.05, 0.95], method="nearest"))
    found = len(np.unique(labels))
    certain = posterior.certainty(labels)[0]
    numbers = {
        "cluster" + "s" * (found != 1): f"{found:,}",
        "is the number of clusters in 90 % of the draws": f"{low:,}" if low == high else f"{low:,} to {high:,}",
        "of the draws agree on the cluster of an average row": f"{shown_percent(float(certain.mean()))} %",
        f"rows in doubt: fewer than {100 * _SURE:.0f}\N{NO-BREAK SPACE}% of the draws agree": f"{(certain < _SURE).sum():,}",
    }
    draws = f"{counted(posterior.n_chains, 'chain')} of {counted(posterior.n_draws, 'draw')}"
    wanted = posterior.settings.get("n_draws", 0)
    if wanted > posterior.n_draws:
        draws += f", unfinished: {wanted:,} draws per chain were asked for"
    return (
        f'<h1 id="top">{escape(title)}</h1>'
        f'<p class="faint">{counted(len(labels), "row")}. {draws}. Clusters have the same numbers and colours everywhere.</p>'
        + verdict_tag(grade, posterior.verdict())
        + '<div class="numbers">'
        + "".join(f"<div><b>{value}</b>{escape(what)}</div>" for what, value in numbers.items())
        + "</div>"
    )


def _pictures(posterior: Posterior, table: Table, labels: np.ndarray) -> str:
    drawn = [
        drawn_figure(lambda ax: plot.n_clusters(posterior, ax), "How many clusters the draws have."),
        drawn_figure(lambda ax: plot.sizes(labels, ax), "Sizes of the clusters."),
    ]
    if table.numeric or table.categories:
        names = [*table.numeric, *(category.name for category in table.categories)]
        caption = "The rows, coloured by cluster."
        draw = lambda ax: plot.clusters(rows_of(table), labels, ax, feature_names=names)  # noqa: E731
        drawn.insert(0, f'<div class="tall">{drawn_figure(draw, caption, height=6.4)}</div>')
    return f'<div class="figures">{"".join(drawn)}</div>'


def _coarser(labels: np.ndarray, tree: Any, levels: Any) -> str:
    """Which clusters another sample would show, and the tree of the clusters."""
    text = ""
    if levels is not None:
        best = float(levels.agreement[levels.n_clusters == levels.reproducible].max(initial=0.0))
        answer = (
            f"<b>{counted(levels.reproducible, 'cluster')}.</b> The rows were divided into two halves, which were clustered by "
            f"themselves. Cut at this level, the two results agree (adjusted Rand index {best:.2f}, where 1 is complete "
            "agreement and 0 is chance). It is the finest level at which they agree about as well as at any."
            if levels.reproducible > 1
            else "<b>None for certain.</b> The rows were divided into two halves, which were clustered by themselves: the two "
            "results do not agree at any level."
        )
        caption = "How well the two halves agree, by the number of clusters."
        figure = drawn_figure(lambda ax: plot.levels(levels, ax), caption)
        text += f'<h2>How many clusters would another sample show?</h2><p>{answer}</p><div class="figures">{figure}</div>'
    if tree is not None and len(tree):
        sizes = np.unique(labels, return_counts=True)[1]
        caption = "Similar clusters are joined low, different ones high. Each end has a cluster's number and rows."
        figure = drawn_figure(lambda ax: plot.tree(tree, sizes, ax), caption, height=4.0)
        text += f'<h2>Which clusters belong together</h2><div class="figures">{figure}</div>'
    return text


def _why_this_component(evidence: dict[str, float]) -> str:
    """The evidence of the components that were tried, the best first; empty if there was no choice."""
    if not evidence:
        return ""
    names = sorted(evidence, key=lambda name: -evidence[name])
    best = evidence[names[0]]
    text = (
        f"<b>{escape(names[0])}</b> is what the clusters are made of. {escape(' and '.join(names))} were tried on the same "
        "rows, and it explains them best."
    )
    about = (
        '<p class="faint">The evidence is the log probability of the rows that were tried. Of hundreds of rows, 0.1 nats per '
        "row are much.</p>"
    )
    lines = [
        f"<tr><td>{escape(name)}</td><td>{evidence[name]:.2f}</td><td>{best - evidence[name]:.2f}</td></tr>" for name in names
    ]
    header = "<th>component</th><th>evidence, nats per row</th><th>less than the best</th>"
    table = scrolling_table(header, lines, "evidence of the components")
    return f"<h2>Why this component</h2><p>{text}</p>" + folded("The evidence in numbers", about + table)


def _draws(posterior: Posterior, labels: np.ndarray) -> str:
    """The chains, and on demand what only those need who know what it means."""
    ball = posterior.credible_ball(labels)
    drawn = [
        drawn_figure(lambda axes: plot.trace(posterior, axes), "Every draw of every chain.", rows=2),
        drawn_figure(lambda ax: plot.co_clustering(posterior, 200, labels, ax), "How often two rows are in the same cluster."),
    ]
    about = (
        '<p class="faint">R̂ near 1 means that chains agree; ess is the effective sample size of the draws. 95 % of the draws '
        f"are within {ball.radius:.3g} nats of the clusters shown (variation of information: 0 for the same clusters, "
        f"{np.log(len(labels)):.3g} at most).</p>"
    )
    moved = drawn_figure(lambda ax: plot.moves(posterior, ax), "How often the proposals of each move were accepted.")
    settings = "\n".join(f"{name}: {value}" for name, value in posterior.settings.items())
    return (
        f'<div class="figures">{"".join(drawn)}</div>'
        + folded("Convergence in numbers", about + _lines_of(_judged_first(posterior.summary()), "quantity"))
        + folded("Moves of the sampler", moved + _lines_of(posterior.moves(), "move"))
        + folded("Settings", f"<pre>{escape(settings)}</pre>")
    )


def _judged_first(summary: Any) -> Any:
    """The quantities that every posterior has, then the others, those with the largest R̂ first."""
    worst = summary["rhat"].fillna(-1.0).to_numpy()
    others = np.array(["[" in name for name in summary.index])
    return summary.iloc[np.lexsort((np.where(others, -worst, 0.0), others))[:_QUANTITIES]]


def _lines_of(frame: Any, what: str) -> str:
    """A DataFrame of numbers as HTML."""
    header = f"<th>{escape(what)}</th>" + "".join(f"<th>{escape(str(name).replace('_', ' '))}</th>" for name in frame.columns)
    lines = []
    for name, values in zip(frame.index, frame.to_numpy(), strict=True):
        shown = [
            shown_rhat(value) if column == "rhat" else shown_number(value)
            for column, value in zip(frame.columns, values, strict=True)
        ]
        cells = "".join(f"<td>{text}</td>" for text in shown)
        lines.append(f"<tr><td>{escape(str(name).replace('_', ' '))}</td>{cells}</tr>")
    return scrolling_table(header, lines, what)
