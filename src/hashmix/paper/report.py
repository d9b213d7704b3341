"""The output of ``hashmix paper``: curves as CSV and JSON, a figure per data set, and a report in Markdown and HTML."""

from __future__ import annotations

import csv
import io
import json
from html import escape
from pathlib import Path
from typing import Any

import numpy as np

from hashmix.core.files import write_atomically
from hashmix.paper.comparison import PAPER, Line, claims, compare, data_names, differences, levels, shown_seconds
from hashmix.paper.experiment import CURVE
from hashmix.paper.methods import METHODS
from hashmix.report.page import figure_tag, page, scrolling_table

__all__ = ["write_report"]

#: Colours that the colour-blind can tell apart, and dashes for prints without colour.
_LOOK = {
    "rgsm": ("#CCBB44", "-"),
    "sdds": ("#228833", "-"),
    "published-lshsm": ("#AA3377", ":"),
    "published-minsm": ("#EE6677", ":"),
    "lshsm": ("#AA3377", "--"),
    "minsm": ("#EE6677", "--"),
    "auto": ("#000000", "-"),
    "lss": ("#4477AA", "-"),
    "lss-start": ("#4477AA", "--"),
}


#: Headings of the report.
_METHOD, _QUALITY, _SPEED, _MEASURES = "Method", "Cluster quality", "Speed", "All measures"
_REPRODUCTION = "Which of the paper's numbers reproduce"


def write_report(folder: Path, results: list[dict[str, Any]], settings: dict[str, Any]) -> list[Path]:
    """Write curves.csv, results.json, one PNG per data set, report.md and report.html; return their paths.

    Parameters
    ----------
    folder : Path
        An existing folder.
    results : list of dict
        One dictionary per chain, as :func:`hashmix.paper.experiment.run_all` passes them on.
    settings : dict
        ``about`` (by data set: ``about``, and ``nmi`` and ``accuracy`` of the oracle), ``seconds``, ``gibbs``, ``jobs``, and
        optionally ``left_out`` (reasons, by data set).

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from hashmix.paper.report import write_report
    >>> curve = {"seconds": [0.0, 2.0], "proposals": [0, 10], "accepted": [0, 4], "n_clusters": [1, 3]}
    >>> curve |= {"log_likelihood": [-8.0, -4.0], "log_joint": [-9.0, -5.0]}
    >>> chain = {"data": "S1", "method": "rgsm", "seed": 0, "proposals": 10, "accepted": 4, "nmi": 0.9, "accuracy": 0.8}
    >>> about = {"S1": {"about": "synthetic", "nmi": 1.0, "accuracy": 1.0}}
    >>> settings = {"about": about, "seconds": {"S1": 2.0}, "gibbs": False, "jobs": 1}
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     [path.name for path in write_report(Path(folder), [chain | {"curve": curve}], settings)]
    ['curves.csv', 'results.json', 'S1.png', 'report.md', 'report.html']
    """
    settings = settings | {"levels": levels(results)}
    lines = compare(results, settings["levels"])
    everything = {"settings": settings, "comparison": [line._asdict() for line in lines], "runs": results}
    files: dict[str, bytes] = {"curves.csv": _csv(results), "results.json": json.dumps(everything).encode()}
    for data in data_names(results):
        files[f"{data}.png"] = _figure(data, results, settings)
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


def _figure(data: str, results: list[dict[str, Any]], settings: dict[str, Any]) -> bytes:
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
        level = settings["levels"][data]
        for ax in axes[1]:
            ax.axhline(level.log_joint, color="0.4", lw=0.9)
        axes[1, 1].annotate(
            f"where {METHODS[level.method].title} ends",
            (0.01, level.log_joint),
            xycoords=("axes fraction", "data"),
            va="bottom",
            fontsize=9,
            color="0.3",
        )
    missing = [METHODS[r["method"]].title for r in results if r["data"] == data and r["seed"] == 0 and not r["proposals"]]
    seeds = max(sum(r["method"] == method for r in results if r["data"] == data) for method in METHODS)
    title = f"{data}: {settings['about'][data]['about']}"
    title += "" if seeds == 1 else f"\nlines: medians of {seeds} seeds; bands: lowest to highest"
    figure.suptitle(title + (f"\nno proposal finished: {', '.join(missing)}" if missing else ""), fontsize=11)
    handles, labels = axes[0, 1].get_legend_handles_labels()
    figure.legend(handles, labels, frameon=False, fontsize=9, loc="outside lower center", ncols=4)
    png = io.BytesIO()
    figure.savefig(png, format="png", dpi=110)
    return png.getvalue()


def _draw(ax: Any, curves: list[dict[str, list]], against: str, quantity: str, title: str, look: tuple[str, str]) -> None:
    """Draw the median over seeds, and a band from the lowest to the highest."""
    if not curves:
        return
    first = max(min(x for x in curve[against] if x > 0) for curve in curves)
    last = min(curve[against][-1] for curve in curves)
    grid = np.geomspace(first, max(last, first), 200)
    colour, dashes = look
    # Between two records a chain is where it was at the first of them: a step function, no interpolation.
    heights = np.array(
        [np.asarray(curve[quantity])[np.searchsorted(curve[against], grid, side="right") - 1] for curve in curves]
    )
    ax.plot(grid, np.median(heights, axis=0), color=colour, ls=dashes, lw=2.0, label=title)
    ax.fill_between(grid, heights.min(axis=0), heights.max(axis=0), color=colour, alpha=0.18, lw=0)


def _score(line: Line) -> str:
    if line.proposals == 0:
        return "no proposal finished"
    return "–" if line.nmi is None or line.accuracy is None else f"{line.nmi:.3f} / {line.accuracy:.3f}"


def _scores(lines: list[Line], settings: dict[str, Any]) -> tuple[list[str], list[list[str]]]:
    """Return header and rows of NMI and accuracy: samplers by data sets, ours and the paper's."""
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


def _measures(lines: list[Line]) -> tuple[list[str], list[list[str]]]:
    """Return header and rows of all measures: one row per sampler and data set."""
    header = ["data", "sampler", "seeds", "proposals", "accepted", "time per proposal", "clusters", "log likelihood"]
    header += ["log joint", "time to level", "speed-up", "NMI over seeds"]
    rows = []
    for line in lines:
        cost = line.seconds_per_proposal
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
                shown_seconds(line.seconds_to_level),
                _speedup(line),
                "–" if line.nmi_range is None else "{:.3f} – {:.3f}".format(*line.nmi_range),
            ]
        )
    return header, rows


def _speedup(line: Line) -> str:
    if line.speedup is None:
        return "–"
    return f"{line.speedup:.3g} ×" + ("" if line.speedup_range is None else " ({:.3g} – {:.3g})".format(*line.speedup_range))


def _texts(lines: list[Line], settings: dict[str, Any]) -> dict[str, list[str]]:
    """Return the paragraphs of the report, by heading."""
    seconds = ", ".join(f"{name} {value:g} s" for name, value in settings["seconds"].items() if name in settings["about"])
    scan = (
        "A Gibbs scan follows every sweep of proposals."
        if settings["gibbs"]
        else "Only hashmix's own schedule has Gibbs scans over all clusters."
    )
    sources = [f"{name}: {each['about']}." for name, each in settings["about"].items()]
    sources += [f"{name} was left out: {reason}" for name, reason in settings.get("left_out", {}).items()]
    return {
        _METHOD: [
            "Every sampler starts from one cluster; hashmix also from a start of its own, the time for which counts. All have "
            "the same data in the same order, the same seeds and the same fixed hyperparameters. Every chain has one thread. "
            f"Time per chain: {seconds}. Chains at a time: {settings['jobs']}. {scan}",
            "The exact samplers draw from the posterior under a Dirichlet process with concentration 1; all log joints are "
            "computed with this prior. The acceptance ratios of LSHSM and MinSM as printed contain likelihoods only, so they "
            "run without a prior, and they do not sample a posterior. Settings are the paper's: 10 bits and 10 tables for "
            "LSHSM, 1 and 1 for MinSM, 5 scans for RGSM. The exact versions draw new hash functions from time to time. Exact "
            "MinSM also reallocates the rows of two clusters that share a bucket between the two. NMI and accuracy are those "
            "of the last state of a chain. Numbers are medians over seeds.",
            *sources,
        ],
        _SPEED: claims(lines, settings["levels"]),
        _REPRODUCTION: differences(lines, settings["about"]),
    }


def _markdown(lines: list[Line], settings: dict[str, Any]) -> str:
    texts = _texts(lines, settings)

    def grid(header: list[str], rows: list[list[str]]) -> str:
        return "\n".join([f"| {' | '.join(header)} |", f"|{'---|' * len(header)}", *(f"| {' | '.join(row)} |" for row in rows)])

    def listed(sentences: list[str]) -> str:
        return "\n".join(f"- {text}" for text in sentences)

    parts = ["# The paper's comparison", *texts[_METHOD], f"## {_QUALITY}", grid(*_scores(lines, settings))]
    parts += [f"## {_SPEED}", listed(texts[_SPEED])]
    parts += [f"![{name}: likelihood and log joint]({name}.png)" for name in settings["about"]]
    parts += [f"## {_MEASURES}", grid(*_measures(lines))]
    parts += [f"## {_REPRODUCTION}", listed(texts[_REPRODUCTION])]
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

    parts = [
        "<h1>The paper's comparison</h1>",
        '<p class="faint">Split–merge samplers with locality-sensitive hashing: likelihood against proposals and against time, '
        "and the quality of the clusters.</p>",
        '<div class="verdict">' + "".join(f"<p>{escape(text)}</p>" for text in texts[_SPEED]) + "</div>",
        '<p class="faint">The log joint at which the better of RGSM and SDDS ends, when it first reached it, and how much '
        "faster other samplers reach it.</p>",
        f"<h2>{_QUALITY}</h2>",
        grid(_scores(lines, settings), "NMI and accuracy"),
        "<h2>Likelihood against proposals and time</h2>",
        '<p class="faint">Lines are medians over seeds; bands show the range from the lowest to the highest.</p>',
        "".join(figure_tag(files[f"{name}.png"], f"{name}: likelihood and log joint.") for name in settings["about"]),
        f"<h2>{escape(_REPRODUCTION)}</h2>",
        listed(texts[_REPRODUCTION]),
        f"<h2>{_MEASURES}</h2>",
        grid(_measures(lines), _MEASURES),
        f"<h2>{_METHOD}</h2>",
        *(f"<p>{escape(text)}</p>" for text in texts[_METHOD]),
    ]
    return page("The paper's comparison", parts)
