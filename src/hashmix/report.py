"""One page about a posterior: a self-contained HTML file, the verdict first."""

from __future__ import annotations

import os
from html import escape
from typing import Any

import numpy as np
from scipy.sparse import issparse

from hashmix import plot
from hashmix.files import write_atomically
from hashmix.page import drawn_figure, page, scrolling_table
from hashmix.posterior import Posterior

__all__ = ["write_report"]

#: Clusters in the table, at most; columns shown of each; labels (rows × draws) up to which an estimate is searched for.
_CLUSTERS, _COLUMNS, _LABELS = 60, 8, 30_000_000


def write_report(posterior: Posterior, path: str | os.PathLike, X: Any, feature_names: Any, labels: Any, title: str) -> None:
    """Write the page; see :meth:`hashmix.Posterior.report`."""
    if labels is None:
        large = posterior.n_samples * posterior.n_chains * posterior.n_draws > _LABELS
        labels = posterior.labels[posterior.point_estimate_draw()] if large else posterior.point_estimate()
    labels = np.unique(np.asarray(labels), return_inverse=True)[1].astype(np.int32)
    text = _page(posterior, X, feature_names, labels, title)
    write_atomically(path, text.encode())


def _page(posterior: Posterior, X: Any, feature_names: Any, labels: np.ndarray, title: str) -> str:
    n, k = len(labels), int(labels.max()) + 1
    ball = posterior.credible_ball(labels)
    low, high = np.quantile(posterior.n_clusters, [0.05, 0.95], method="nearest")
    numbers = {
        "clusters in the estimate": f"{k:,}",
        "90 % of the draws have": f"{low:,}" if low == high else f"{low:,} to {high:,}",
        "rows": f"{n:,}",
        "chains × draws": f"{posterior.n_chains} × {posterior.n_draws:,}",
        "95 % of the draws are within": f"{ball.radius:.3g} nats",
    }
    parts = [
        f'<h1 id="top">{escape(title)}</h1>',
        '<p class="faint">A posterior over partitions, sampled by hashmix.</p>',
        f'<p class="verdict" role="status">{escape(posterior.verdict())}</p>',
        '<div class="numbers">' + "".join(f"<div><b>{v}</b>{escape(what)}</div>" for what, v in numbers.items()) + "</div>",
        _figures(posterior, X, labels),
        "<h2>Clusters</h2>",
        _clusters(posterior, X, feature_names, labels),
        "<h2>Convergence</h2>",
        _table(posterior.summary().iloc[:20], "quantity"),
        '<p class="faint">R̂ near 1 means that chains agree; ess is the number of independent draws these are worth.</p>',
        "<h2>Moves</h2>",
        _table(posterior.moves(), "move"),
        "<details><summary>Settings</summary><pre>"
        + escape("\n".join(f"{name}: {value}" for name, value in posterior.settings.items()))
        + "</pre></details>",
    ]
    return page(title, parts)


def _figures(posterior: Posterior, X: Any, labels: np.ndarray) -> str:
    drawn = [
        drawn_figure(lambda ax: plot.n_clusters(posterior, ax), "Posterior of the number of clusters."),
        drawn_figure(lambda ax: plot.sizes(labels, ax), "Sizes of the clusters of the estimate."),
        drawn_figure(lambda axes: plot.trace(posterior, axes), "Every draw of every chain.", rows=2),
        drawn_figure(lambda ax: plot.co_clustering(posterior, 200, labels, ax), "How often two rows are in one cluster."),
        drawn_figure(lambda ax: plot.moves(posterior, ax), "What the moves achieved."),
    ]
    if X is not None and not issparse(X):
        shown = np.asarray(X)
        drawn.insert(0, drawn_figure(lambda ax: plot.clusters(shown, labels, ax), "The rows, coloured by cluster.", height=4.4))
    return '<div class="figures">' + "".join(drawn) + "</div>"


def _clusters(posterior: Posterior, X: Any, feature_names: Any, labels: np.ndarray) -> str:
    sizes = np.bincount(labels)
    if X is not None and not issparse(X):
        # Of many columns, those in which clusters differ most.
        X = np.asarray(X)
        names = [str(name) for name in (range(X.shape[1]) if feature_names is None else feature_names)]
        names = [f"column {name}" for name in names] if feature_names is None else names
        chosen = _telling_columns(X, labels)
        X, feature_names = X[:, chosen], [names[j] for j in chosen]
    table = posterior.clusters(X, labels, feature_names)
    order = np.argsort(-sizes, kind="stable")[:_CLUSTERS]
    head = ["cluster", "rows", "90 % interval", "agreement"]
    has_words = "top_words" in table
    names = [] if X is None or has_words else list(feature_names)
    head += ["words that tell most"] if has_words else list(names)
    lines = []
    for c in order:
        line = table.loc[int(c)]
        interval = "–" if np.isnan(line["size_low"]) else f"{line['size_low']:,.0f} – {line['size_high']:,.0f}"
        cells = [f"{c}", f"{int(line['size']):,}", interval, f"{line['agreement']:.0%}"]
        row = "".join(f"<td>{cell}</td>" for cell in cells)
        if has_words:
            row += f'<td class="text">{_words(line)}</td>'
        row += "".join(f"<td>{_mean_and_sd(line, name)}</td>" for name in names)
        lines.append(f"<tr>{row}</tr>")
    more = f'<p class="faint">The {len(order)} largest of {len(sizes):,}.</p>' if len(sizes) > len(order) else ""
    what = "Agreement is the share of rows a cluster has in common with its match in other draws, on average."
    if names or has_words:
        shown = "shares of the cluster's counts" if has_words else "means and standard deviations"
        what += f" Of {'words' if has_words else 'columns'}: {shown}, with 90 % intervals over the draws."
    header = "".join(f"<th>{escape(name)}</th>" for name in head)
    return f'<p class="faint">{what}</p>{scrolling_table(header, lines, "Clusters")}{more}'


def _mean_and_sd(line: Any, name: str) -> str:
    """A column in a cluster: its mean and, below, its standard deviation, with intervals."""
    mean, sd = (
        f"{line[what]:.4g} ({line[f'{what}_low']:.4g} – {line[f'{what}_high']:.4g})" for what in (f"{name}_mean", f"{name}_sd")
    )
    return f'{mean}<br><span class="faint">sd {sd}</span>'


def _words(line: Any) -> str:
    """The words of a cluster, with what share of it they are, in percent, and the interval of that."""
    parts = []
    for word, *shares in zip(line["top_words"], *(line[f"word_shares{end}"] for end in ("", "_low", "_high")), strict=True):
        share, low, high = (f"{100.0 * value:.2g}" for value in shares)
        parts.append(f'{escape(word)} <span class="faint">{share}&nbsp;% ({low}&nbsp;–&nbsp;{high})</span>')
    return ", ".join(parts)


def _telling_columns(X: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """The columns in which clusters differ most, in the data's order; all, if there are few."""
    if X.shape[1] <= _COLUMNS:
        return np.arange(X.shape[1])
    rows = np.unique(np.linspace(0, len(X) - 1, min(len(X), 50_000)).astype(int))
    part, mine = np.asarray(X[rows], dtype=np.float64), labels[rows]
    counts = np.maximum(np.bincount(mine, minlength=labels.max() + 1), 1)
    means = np.stack([np.bincount(mine, part[:, j], labels.max() + 1) / counts for j in range(part.shape[1])], axis=1)
    between = means[mine].var(axis=0) / np.maximum(part.var(axis=0), 1e-300)
    return np.sort(np.argsort(-between, kind="stable")[:_COLUMNS])


def _table(frame: Any, what: str) -> str:
    header = f"<th>{escape(what)}</th>" + "".join(f"<th>{escape(str(name).replace('_', ' '))}</th>" for name in frame.columns)
    lines = []
    for name, values in zip(frame.index, frame.to_numpy(), strict=True):
        cells = "".join(f"<td>{_shown(value)}</td>" for value in values)
        lines.append(f"<tr><td>{escape(str(name).replace('_', ' '))}</td>{cells}</tr>")
    return scrolling_table(header, lines, what)


def _shown(value: float) -> str:
    if not np.isfinite(value):
        return "–"
    return f"{value:,.0f}" if abs(value) >= 1000 or value == int(value) else f"{value:.4g}"
