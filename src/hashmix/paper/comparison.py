"""What the chains came to: a line for every sampler on every data set, and sentences that say what to make of them."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from hashmix.paper.datasets import NAMES
from hashmix.paper.measures import reached
from hashmix.paper.methods import BASELINES, METHODS, OURS

__all__ = ["PAPER", "Line", "claims", "data_names", "differences", "levels", "shown_seconds", "table"]

#: The paper's own table: NMI and accuracy.
PAPER = {
    "RGSM": {"S1": (0.96, 0.95), "S2": (0.93, 0.92), "S3": (0.88, 0.87), "KDD": (0.74, 0.68), "PubMed": (0.63, 0.62)},
    "SDDS": {"S1": (0.97, 0.98), "S2": (0.96, 0.97), "S3": (0.95, 0.94), "KDD": (0.86, 0.85), "PubMed": (0.80, 0.77)},
    "LSHSM": {"S1": (0.96, 0.97), "S2": (0.95, 0.94), "S3": (0.96, 0.96), "KDD": (0.84, 0.83), "PubMed": (0.77, 0.75)},
    "MinSM": {"S1": (0.96, 0.97), "S2": (0.94, 0.94), "S3": (0.96, 0.97), "KDD": (0.83, 0.84), "PubMed": (0.75, 0.74)},
}
#: How far from the paper's NMI counts as the same.
_SAME = 0.03


class Line(NamedTuple):
    """A sampler on a data set: medians over the seeds (None where there is none), and what they come from."""

    data: str
    method: str
    seeds: int
    proposals: int
    acceptance: float | None
    seconds_a_proposal: float | None
    n_clusters: float
    log_joint: float
    log_likelihood: float
    nmi: float | None
    accuracy: float | None
    nmi_spread: tuple[float, float] | None
    to_level: float | None
    sooner: float | None
    sooner_spread: tuple[float, float] | None


def _median(values: list[Any]) -> float | None:
    known = [value for value in values if value is not None]
    return float(np.median(known)) if known else None


def _spread(values: list[Any]) -> tuple[float, float] | None:
    """From the least to the most, if there are several."""
    known = [value for value in values if value is not None]
    return (float(min(known)), float(max(known))) if len(known) > 1 else None


def levels(results: list[dict[str, Any]]) -> dict[str, tuple[str, float, float]]:
    """For every data set, which of the baselines ended higher, on what log joint, and when it first was there: medians."""
    out = {}
    for data in data_names(results):
        ends = {}
        for method in BASELINES:
            chains = [r["curve"] for r in results if r["data"] == data and r["method"] == method]
            if chains:
                ends[method] = float(np.median([curve["log_joint"][-1] for curve in chains])), chains
        if ends:
            best = max(ends, key=lambda method: ends[method][0])
            times = [reached(curve, curve["log_joint"][-1]) for curve in ends[best][1]]
            out[data] = best, ends[best][0], float(np.median([t for t in times if t is not None]))
    return out


def table(results: list[dict[str, Any]], known_levels: dict[str, tuple[str, float, float]]) -> list[Line]:
    """One line for every sampler on every data set; ``known_levels`` are what :func:`levels` found."""
    lines = []
    for data in data_names(results):
        level = known_levels.get(data)
        for method in METHODS:
            mine = [r for r in results if r["data"] == data and r["method"] == method]
            if not mine:
                continue
            curves = [r["curve"] for r in mine]
            # Chains that never got there take longer than those that did: a median over all of them must know.
            found = [None if level is None else reached(curve, level[1]) for curve in curves]
            late = [float("inf") if seconds is None else seconds for seconds in found]
            median = float(np.median(late))
            sooner = [level[2] / t for t in late if 0 < t < float("inf")] if level is not None else []
            tried = [r for r in mine if r["proposals"]]
            lines.append(
                Line(
                    data,
                    method,
                    len(mine),
                    int(np.median([r["proposals"] for r in mine])),
                    _median([r["accepted"] / r["proposals"] for r in tried]),
                    _median([r["curve"]["seconds"][-1] / r["proposals"] for r in tried]),
                    float(np.median([curve["n_clusters"][-1] for curve in curves])),
                    float(np.median([curve["log_joint"][-1] for curve in curves])),
                    float(np.median([curve["log_likelihood"][-1] for curve in curves])),
                    _median([r["nmi"] for r in tried]),
                    _median([r["accuracy"] for r in tried]),
                    _spread([r["nmi"] for r in tried]),
                    median if np.isfinite(median) else None,
                    level[2] / median if level is not None and np.isfinite(median) and median > 0 else None,
                    _spread(sooner) if len(sooner) == len(late) else None,
                )
            )
    return lines


def data_names(results: list[dict[str, Any]]) -> list[str]:
    """The data sets there are results of, in the paper's order."""
    return [name for name in NAMES if any(r["data"] == name for r in results)]


# ---- sentences -------------------------------------------------------------------------------------------------------------


def differences(lines: list[Line], about: dict[str, dict[str, Any]]) -> list[str]:
    """A sentence on every cell of the paper's table that can be compared, and on the cells that cannot."""
    out = []
    for line in lines:
        method = METHODS[line.method]
        if method.in_paper is None:
            continue
        theirs = PAPER[method.in_paper][line.data]
        where = f"{method.title} on {line.data}"
        if line.proposals == 0:
            out.append(f"{where}: no proposal finished in the time given; the paper has NMI {theirs[0]:.2f}.")
        elif line.data == "KDD":
            continue
        elif line.nmi is None:
            out.append(f"{where}: no labels to compare with; the paper has NMI {theirs[0]:.2f}.")
        elif abs(line.nmi - theirs[0]) <= _SAME:
            out.append(f"{where}: reproduced, NMI {line.nmi:.2f} against {theirs[0]:.2f}.")
        else:
            out.append(f"{where}: NMI {line.nmi:.2f}, not {theirs[0]:.2f}; {_why(line, theirs[0])}.")
    if any(line.data == "KDD" for line in lines):
        out.append(
            "KDD: NMI and accuracy stay blank. The file has no cluster labels: its three first columns are a block, an example "
            "and a class of homology, and the 2,000 clusters the paper scores against are not published."
        )
    if "stand-in" in about.get("PubMed", {}).get("about", ""):
        out.append("PubMed: the documents are a stand-in, so the paper's numbers are of other data, and have no true labels.")
    return out


def _why(line: Line, theirs: float) -> str:
    if line.acceptance == 0.0:
        return f"none of its {line.proposals:,} proposals was accepted"
    if not METHODS[line.method].exact:
        return "as printed, its acceptance ratio belongs to no posterior, and where it ends depends on the ratio's errors"
    if line.nmi is not None and line.nmi > theirs:
        return "our data may be easier than the paper's: it does not say how far apart its Gaussians are, or what its topics"
    return "it is still on its way when its time is over"


def claims(lines: list[Line], settings: dict[str, Any]) -> list[str]:
    """What came of the paper's claim about speed (MinSM, 6 × and more), and of ours: a sentence a data set."""
    out = []
    for data, (best, level, when) in settings["levels"].items():
        parts = []
        for method in (*OURS, "minsm", "published-minsm"):
            for line in lines:
                if (line.data, line.method) != (data, method):
                    continue
                title = METHODS[method].title
                if line.proposals == 0:
                    parts.append(f"{title}: no proposal finished")
                elif line.sooner is None:
                    parts.append(f"{title}: never")
                else:
                    parts.append(f"{title}: {line.sooner:.3g} × sooner ({shown_seconds(line.to_level)})")
        out.append(
            f"{data}: to where {METHODS[best].title} ends ({level:,.0f}, after {shown_seconds(when)}). {'; '.join(parts)}."
        )
    return out


def shown_seconds(value: float | None) -> str:
    """A time for people; a dash for none."""
    if value is None:
        return "–"
    return f"{value:.0f} s" if value >= 100 else f"{value:.3g} s"
