"""What `hashmix paper` writes: curves as CSV and JSON, a picture a data set, and a report as Markdown and as a page."""

from __future__ import annotations

import csv
import io
import json
from html import escape
from pathlib import Path
from typing import Any

import numpy as np

from hashmix.files import write_atomically
from hashmix.page import figure_tag, page, scrolling_table
from hashmix.paper.comparison import PAPER, Line, claims, data_names, differences, levels, shown_seconds, table
from hashmix.paper.experiment import CURVE
from hashmix.paper.methods import METHODS

__all__ = ["write_report"]

#: Colours that tell samplers apart without red and green, and dashes that do without colour.
_LOOK = {
    "rgsm": ("#CCBB44", "-"),
    "sdds": ("#228833", "-"),
    "published-lshsm": ("#AA3377", ":"),
    "published-minsm": ("#EE6677", ":"),
    "lshsm": ("#AA3377", "--"),
    "minsm": ("#EE6677", "--"),
    "lss": ("#4477AA", "-"),
    "lss-start": ("#4477AA", "--"),
}


def write_report(folder: Path, results: list[dict[str, Any]], settings: dict[str, Any]) -> list[Path]:
    """Write curves.csv, results.json, one PNG a data set, report.md and report.html; returns their paths.

    ``settings`` has ``about`` (by data set: ``about``, and the oracle's ``nmi`` and ``accuracy``), ``seconds`` and ``gibbs``.
    """
    settings = settings | {"levels": levels(results)}
    lines = table(results, settings["levels"])
    files: dict[str, bytes] = {
        "curves.csv": _csv(results),
        "results.json": json.dumps(
            {"settings": settings, "table": [line._asdict() for line in lines], "runs": results}
        ).encode(),
    }
    for data in data_names(results):
        files[f"{data}.png"] = _picture(data, results, settings)
    files["report.md"] = _markdown(lines, settings).encode()
    files["report.html"] = _html(lines, settings, files).encode()
    for name, content in files.items():
        write_atomically(folder / name, content)
    return [folder / name for name in files]


def _csv(results: list[dict[str, Any]]) -> bytes:
    text = io.StringIO()
    writer = csv.writer(text)
    writer.writerow(["data", "method", "seed", *CURVE])
    for result in results:
        for values in zip(*(result["curve"][name] for name in CURVE), strict=True):
            writer.writerow([result["data"], result["method"], result["seed"], *values])
    return text.getvalue().encode()


def _picture(data: str, results: list[dict[str, Any]], settings: dict[str, Any]) -> bytes:
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(11, 7.6), layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.subplots(2, 2, sharey="row", sharex="col")
    rows = (("log_likelihood", "log likelihood"), ("log_joint", "log joint"))
    columns = (("proposals", "proposals"), ("seconds", "seconds"))
    for method, look in _LOOK.items():
        curves = [r["curve"] for r in results if r["data"] == data and r["method"] == method and r["proposals"]]
        for i, (quantity, _) in enumerate(rows):
            for j, (against, _) in enumerate(columns):
                _draw(axes[i, j], curves, against, quantity, METHODS[method].title, look)
    for i, (_, word) in enumerate(rows):
        axes[i, 0].set_ylabel(word)
    for j, (_, word) in enumerate(columns):
        axes[1, j].set_xlabel(f"{word} (log scale)")
    for ax in axes.ravel():
        ax.set_xscale("log")
        ax.grid(alpha=0.25)
        ax.spines[["top", "right"]].set_visible(False)
        ax.yaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")
    if data in settings["levels"]:
        best, level, _ = settings["levels"][data]
        for ax in axes[1]:
            ax.axhline(level, color="0.4", lw=0.9)
        axes[1, 1].annotate(
            f"where {METHODS[best].title} ends",
            (0.01, level),
            xycoords=("axes fraction", "data"),
            va="bottom",
            fontsize=9,
            color="0.3",
        )
    missing = [METHODS[r["method"]].title for r in results if r["data"] == data and r["seed"] == 0 and not r["proposals"]]
    seeds = max(sum(r["method"] == method for r in results if r["data"] == data) for method in METHODS)
    title = f"{data}: {settings['about'][data]['about']}"
    title += "" if seeds == 1 else f"\nlines: medians of {seeds} seeds; bands: from the lowest to the highest"
    figure.suptitle(title + (f"\nno proposal finished: {', '.join(missing)}" if missing else ""), fontsize=11)
    handles, labels = axes[0, 1].get_legend_handles_labels()
    figure.legend(handles, labels, frameon=False, fontsize=9, loc="outside lower center", ncols=4)
    png = io.BytesIO()
    figure.savefig(png, format="png", dpi=110)
    return png.getvalue()


def _draw(ax: Any, curves: list[dict[str, list]], against: str, quantity: str, title: str, look: tuple[str, str]) -> None:
    """The median over seeds, and all between the lowest and the highest."""
    if not curves:
        return
    first = max(min(x for x in curve[against] if x > 0) for curve in curves)
    last = min(curve[against][-1] for curve in curves)
    grid = np.geomspace(first, max(last, first), 200)
    colour, dashes = look
    # What a chain is at is where it was after its last sweep: steps, not slopes.
    heights = np.array(
        [np.asarray(curve[quantity])[np.searchsorted(curve[against], grid, side="right") - 1] for curve in curves]
    )
    ax.plot(grid, np.median(heights, axis=0), color=colour, ls=dashes, lw=2.0, label=title)
    ax.fill_between(grid, heights.min(axis=0), heights.max(axis=0), color=colour, alpha=0.18, lw=0)


def _score(line: Line) -> str:
    if line.proposals == 0:
        return "no proposal finished"
    return "–" if line.nmi is None or line.accuracy is None else f"{line.nmi:.3f} / {line.accuracy:.3f}"


def _score_table(lines: list[Line], settings: dict[str, Any]) -> tuple[list[str], list[list[str]]]:
    names = list(settings["about"])
    header = ["NMI / accuracy", *(name for name in names), *(f"paper: {name}" for name in names)]
    found = {(line.method, line.data): line for line in lines}
    rows = []
    for key, method in METHODS.items():
        if not any(line.method == key for line in lines):
            continue
        mine = [_score(found[key, name]) if (key, name) in found else "" for name in names]
        theirs = ["" if method.in_paper is None else "{:.2f} / {:.2f}".format(*PAPER[method.in_paper][name]) for name in names]
        rows.append([method.title, *mine, *theirs])
    oracle = [settings["about"][name] for name in names]
    rows.append(
        ["oracle (true densities)"]
        + ["–" if each["nmi"] is None else f"{each['nmi']:.3f} / {each['accuracy']:.3f}" for each in oracle]
        + ["" for _ in names]
    )
    return header, rows


def _speed_table(lines: list[Line]) -> tuple[list[str], list[list[str]]]:
    header = ["data", "sampler", "seeds", "proposals", "accepted", "cost of one", "clusters", "log likelihood", "log joint"]
    header += ["to the level", "sooner", "NMI over seeds"]
    rows = []
    for line in lines:
        cost = line.seconds_a_proposal
        rows.append(
            [
                line.data,
                METHODS[line.method].title,
                f"{line.seeds}",
                f"{line.proposals:,}",
                "–" if line.acceptance is None else f"{line.acceptance:.3%}",
                "–" if cost is None else f"{1e6 * cost:,.0f} µs" if cost < 0.01 else f"{cost:.2g} s",
                f"{line.n_clusters:,.0f}",
                f"{line.log_likelihood:,.0f}",
                f"{line.log_joint:,.0f}",
                shown_seconds(line.to_level),
                "–"
                if line.sooner is None
                else f"{line.sooner:.3g} ×"
                + ("" if line.sooner_spread is None else " ({:.3g} – {:.3g})".format(*line.sooner_spread)),
                "–" if line.nmi_spread is None else "{:.3f} – {:.3f}".format(*line.nmi_spread),
            ]
        )
    return header, rows


def _texts(lines: list[Line], settings: dict[str, Any]) -> dict[str, list[str]]:
    """The report's paragraphs, by heading."""
    seconds = ", ".join(f"{name} {value:g} s" for name, value in settings["seconds"].items() if name in settings["about"])
    scan = (
        "A Gibbs scan follows every sweep of proposals."
        if settings["gibbs"]
        else "There is no Gibbs scan over all clusters but in hashmix's own schedule."
    )
    made_of = [f"{name}: {each['about']}." for name, each in settings["about"].items()]
    made_of += [f"{name} was left out: {reason}" for name, reason in settings.get("left_out", {}).items()]
    return {
        "What was done": [
            "Every sampler starts from one cluster (hashmix also from a start of its own, the time for which counts), "
            "with the same data in the same order, the same seeds and the same fixed "
            f"hyperparameters. Each chain has one thread and so much time: {seconds}; {settings['jobs']} at a time. {scan}",
            "The exact samplers draw from the posterior under a Dirichlet process with concentration 1, and all log joints are "
            "under it. LSHSM and MinSM as printed have acceptance ratios of likelihoods alone, so they run without a prior; "
            "what they draw from is no posterior. Settings are the paper's: 10 bits and 10 tables for LSHSM, 1 and 1 for "
            "MinSM, 5 scans for RGSM; the exact ones draw fresh hash functions now and then, and exact MinSM lets the rows of "
            "two clusters that meet in a bucket choose anew between the two. NMI and accuracy are of the last state of a "
            "chain; numbers are medians over seeds.",
            *made_of,
        ],
        "How soon": claims(lines, settings),
        "What reproduced, what did not, and why": differences(lines, settings["about"]),
    }


def _markdown(lines: list[Line], settings: dict[str, Any]) -> str:
    texts = _texts(lines, settings)

    def grid(header: list[str], rows: list[list[str]]) -> str:
        return "\n".join([f"| {' | '.join(header)} |", f"|{'---|' * len(header)}", *(f"| {' | '.join(row)} |" for row in rows)])

    parts = ["# The paper's comparison", *texts["What was done"], "## How good", grid(*_score_table(lines, settings))]
    parts += ["## How soon", "\n".join(f"- {text}" for text in texts["How soon"])]
    parts += [f"![{name}: likelihood and log joint]({name}.png)" for name in settings["about"]]
    parts += ["## All measures", grid(*_speed_table(lines))]
    heading = "What reproduced, what did not, and why"
    parts += [f"## {heading}", "\n".join(f"- {text}" for text in texts[heading])]
    return "\n\n".join(parts) + "\n"


def _html(lines: list[Line], settings: dict[str, Any], files: dict[str, bytes]) -> str:
    texts = _texts(lines, settings)

    def grid(content: tuple[list[str], list[list[str]]], name: str) -> str:
        header, rows = content
        return scrolling_table(
            "".join(f"<th>{escape(cell)}</th>" for cell in header),
            ["<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>" for row in rows],
            name,
        )

    def listed(sentences: list[str]) -> str:
        return "<ul>" + "".join(f"<li>{escape(text)}</li>" for text in sentences) + "</ul>"

    heading = "What reproduced, what did not, and why"
    parts = [
        "<h1>The paper's comparison</h1>",
        '<p class="faint">Split–merge samplers with locality-sensitive hashing: likelihood against proposals and against time, '
        "and how good the clusters are.</p>",
        '<div class="verdict">' + "".join(f"<p>{escape(text)}</p>" for text in texts["How soon"]) + "</div>",
        '<p class="faint">Where the better of RGSM and SDDS ends, in log joint, when it first was there, and how much sooner '
        "others are.</p>",
        "<h2>How good</h2>",
        grid(_score_table(lines, settings), "NMI and accuracy"),
        "<h2>Likelihood against proposals and time</h2>",
        '<p class="faint">Lines are medians over seeds, bands go from the lowest to the highest.</p>',
        "".join(figure_tag(files[f"{name}.png"], f"{name}: likelihood and log joint.") for name in settings["about"]),
        f"<h2>{heading}</h2>",
        listed(texts[heading]),
        "<h2>All measures</h2>",
        grid(_speed_table(lines), "All measures"),
        "<h2>What was done</h2>",
        *(f"<p>{escape(text)}</p>" for text in texts["What was done"]),
    ]
    return page("The paper's comparison", parts)
