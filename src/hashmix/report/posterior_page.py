"""One page about a posterior: a self-contained HTML file, the verdict first."""

from __future__ import annotations

import os
from html import escape
from typing import TYPE_CHECKING, Any

import numpy as np

from hashmix import plot
from hashmix.core.files import write_atomically
from hashmix.report.columns import column_names, numeric_columns
from hashmix.report.numbers import shown_number, shown_rhat
from hashmix.report.page import drawn_figure, page, scrolling_table

if TYPE_CHECKING:
    from hashmix.posterior import Posterior

__all__ = ["write_report"]

#: Clusters that are listed, columns shown for each, and quantities whose convergence is listed, at most.
_CLUSTERS, _COLUMNS, _QUANTITIES = 60, 8, 20
#: Rows that are looked at to choose the columns, at most.
_ROWS_FOR_COLUMNS = 50_000


def write_report(
    posterior: Posterior,
    path: str | os.PathLike[str],
    X: Any,
    feature_names: Any,
    labels: np.ndarray,
    title: str,
    coarser: tuple[Any, Any] = (None, None),
) -> None:
    """Write the page; see :meth:`hashmix.Posterior.report`. ``labels`` are numbered 0, 1, …; ``coarser`` is (tree, levels)."""
    names: list[str] = []
    numbers = np.empty((posterior.n_samples, 0))
    numeric: list[str] = []
    if X is not None:
        names = column_names(X, feature_names, posterior.n_samples, "report")
        if feature_names is None and not hasattr(X, "columns"):
            names = [f"column {name}" for name in names]
        numbers, numeric = numeric_columns(X, names)
    if numeric:
        chosen = _telling_columns(numbers, labels)
        frame = posterior.clusters(numbers[:, chosen], labels, [numeric[j] for j in chosen])
    else:
        frame = posterior.clusters(X, labels, names or None)
    parts = [
        _head(posterior, labels, title),
        _figures(posterior, numbers, labels),
        "<h2>Clusters</h2>",
        _clusters(frame, names),
        _coarser(labels, *coarser),
        "<h2>Convergence</h2>",
        _lines_of(posterior.summary().iloc[:_QUANTITIES], "quantity"),
        '<p class="faint">R̂ near 1 means that chains agree; ess is the effective sample size of the draws.</p>',
        "<h2>Moves</h2>",
        _lines_of(posterior.moves(), "move"),
        "<details><summary>Settings</summary><pre>"
        + escape("\n".join(f"{name}: {value}" for name, value in posterior.settings.items()))
        + "</pre></details>",
    ]
    write_atomically(path, page(title, parts).encode())


def _head(posterior: Posterior, labels: np.ndarray, title: str) -> str:
    ball = posterior.credible_ball(labels)
    low, high = np.quantile(posterior.n_clusters, [0.05, 0.95], method="nearest")
    numbers = {
        "clusters in the estimate": f"{int(labels.max()) + 1:,}",
        "in 90 % of the draws": f"{low:,}" if low == high else f"{low:,} to {high:,}",
        "rows": f"{len(labels):,}",
        "chains × draws": f"{posterior.n_chains} × {posterior.n_draws:,}",
        "95 % of the draws are within": f"{ball.radius:.3g} nats",
    }
    return (
        f'<h1 id="top">{escape(title)}</h1>'
        '<p class="faint">A posterior over partitions, sampled by hashmix.</p>'
        f'<p class="verdict" role="status">{escape(posterior.verdict())}</p>'
        '<div class="numbers">' + "".join(f"<div><b>{v}</b>{escape(what)}</div>" for what, v in numbers.items()) + "</div>"
    )


def _figures(posterior: Posterior, numbers: np.ndarray, labels: np.ndarray) -> str:
    drawn = [
        drawn_figure(lambda ax: plot.n_clusters(posterior, ax), "Posterior of the number of clusters."),
        drawn_figure(lambda ax: plot.sizes(labels, ax), "Sizes of the clusters of the estimate."),
        drawn_figure(lambda axes: plot.trace(posterior, axes), "Every draw of every chain.", rows=2),
        drawn_figure(lambda ax: plot.co_clustering(posterior, 200, labels, ax), "How often two rows are in the same cluster."),
        drawn_figure(lambda ax: plot.moves(posterior, ax), "How often the proposals of each move were accepted."),
    ]
    if numbers.shape[1]:
        caption = "The rows, coloured by cluster."
        drawn.insert(0, drawn_figure(lambda ax: plot.clusters(numbers, labels, ax), caption, height=4.4))
    return '<div class="figures">' + "".join(drawn) + "</div>"


def _coarser(labels: np.ndarray, tree: Any, levels: Any) -> str:
    """The tree of the clusters, and which of its levels another sample would show."""
    drawn = []
    if tree is not None and len(tree):
        caption = "Which clusters belong together. Branches are labelled with their rows."
        drawn.append(drawn_figure(lambda ax: plot.tree(tree, np.bincount(labels), ax), caption, height=4.0))
    if levels is not None:
        caption = "How well two halves of the rows agree when both trees are cut at a level."
        drawn.append(drawn_figure(lambda ax: plot.levels(levels, ax), caption))
    if not drawn:
        return ""
    text = "<h2>Fewer clusters</h2>"
    if levels is not None:
        found = "1 cluster" if levels.reproducible == 1 else f"{levels.reproducible} clusters"
        text += f"<p>How many clusters would another sample show? Two halves of the rows agree best down to {found}.</p>"
    return text + '<div class="figures">' + "".join(drawn) + "</div>"


def _clusters(frame: Any, names: list[str]) -> str:
    """The largest clusters, with what the frame says about them."""
    sizes = frame["size"].to_numpy()
    order = np.argsort(-sizes, kind="stable")[:_CLUSTERS]
    has_words = "top_words" in frame
    shown = [name for name in names if f"{name}_mean" in frame]
    head = ["cluster", "rows", "90 % interval", "agreement", *(["most telling words"] if has_words else shown)]
    lines = []
    for c in order:
        line = frame.loc[int(c)]
        interval = "–" if np.isnan(line["size_low"]) else f"{line['size_low']:,.0f} – {line['size_high']:,.0f}"
        cells = [f"{c}", f"{int(line['size']):,}", interval, f"{line['agreement']:.0%}"]
        row = "".join(f"<td>{cell}</td>" for cell in cells)
        if has_words:
            row += f'<td class="text">{_words(line)}</td>'
        row += "".join(f"<td>{_mean_and_sd(line, name)}</td>" for name in shown)
        lines.append(f"<tr>{row}</tr>")
    more = f'<p class="faint">The {len(order)} largest of {len(sizes):,}.</p>' if len(sizes) > len(order) else ""
    what = "Agreement is the mean share of rows that a cluster has in common with its match in other draws."
    if has_words:
        what += " For words: shares of the cluster's counts, with 90 % intervals over the draws."
    elif shown:
        what += " For columns: means and standard deviations, with 90 % intervals over the draws."
    header = "".join(f"<th>{escape(name)}</th>" for name in head)
    return f'<p class="faint">{what}</p>{scrolling_table(header, lines, "Clusters")}{more}'


def _mean_and_sd(line: Any, name: str) -> str:
    """A column in a cluster: its mean and, below, its standard deviation, with intervals."""
    if np.isnan(line[f"{name}_mean"]):  # all values are blank
        return "–"
    mean, sd = (
        f"{line[what]:.4g} ({line[f'{what}_low']:.4g} – {line[f'{what}_high']:.4g})" for what in (f"{name}_mean", f"{name}_sd")
    )
    return f'{mean}<br><span class="faint">sd {sd}</span>'


def _words(line: Any) -> str:
    """The words of a cluster with their shares, in percent, and intervals of these."""
    parts = []
    for word, *shares in zip(line["top_words"], *(line[f"word_shares{end}"] for end in ("", "_low", "_high")), strict=True):
        share, low, high = (f"{100.0 * value:.2g}" for value in shares)
        parts.append(f'{escape(word)} <span class="faint">{share}&nbsp;% ({low}&nbsp;–&nbsp;{high})</span>')
    return ", ".join(parts)


def _telling_columns(X: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """The columns in which clusters differ most, in the order of the data; all columns if there are few."""
    if X.shape[1] <= _COLUMNS:
        return np.arange(X.shape[1])
    rows = np.unique(np.linspace(0, len(X) - 1, min(len(X), _ROWS_FOR_COLUMNS)).astype(int))
    part, cluster = np.asarray(X[rows], dtype=np.float64), labels[rows]
    share = np.zeros(part.shape[1])
    for j, column in enumerate(part.T):
        values, of = column[~np.isnan(column)], cluster[~np.isnan(column)]
        if len(values):
            means = np.bincount(of, values) / np.maximum(np.bincount(of), 1)
            share[j] = means[of].var() / max(values.var(), 1e-300)
    return np.sort(np.argsort(-share, kind="stable")[:_COLUMNS])


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
