"""Summaries of the chains: one line per sampler and data set, and sentences that compare them with the paper."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from hashmix.paper.datasets import NAMES
from hashmix.paper.measures import reached
from hashmix.paper.methods import BASELINES, METHODS, OURS

__all__ = ["PAPER", "Level", "Line", "claims", "compare", "data_names", "differences", "levels", "shown_seconds"]

#: NMI and accuracy as the paper reports them.
PAPER = {
    "RGSM": {"S1": (0.96, 0.95), "S2": (0.93, 0.92), "S3": (0.88, 0.87), "KDD": (0.74, 0.68), "PubMed": (0.63, 0.62)},
    "SDDS": {"S1": (0.97, 0.98), "S2": (0.96, 0.97), "S3": (0.95, 0.94), "KDD": (0.86, 0.85), "PubMed": (0.80, 0.77)},
    "LSHSM": {"S1": (0.96, 0.97), "S2": (0.95, 0.94), "S3": (0.96, 0.96), "KDD": (0.84, 0.83), "PubMed": (0.77, 0.75)},
    "MinSM": {"S1": (0.96, 0.97), "S2": (0.94, 0.94), "S3": (0.96, 0.97), "KDD": (0.83, 0.84), "PubMed": (0.75, 0.74)},
}
#: Differences in NMI up to this size count as reproduced.
_SAME = 0.03


class Level(NamedTuple):
    """The log joint to which samplers are timed: the median at which the better baseline ends.

    Attributes
    ----------
    method : str
        The baseline.
    log_joint : float
        Median of its last log joint.
    seconds : float
        Median of the time at which its chains first reached their last log joint.

    Examples
    --------
    >>> from hashmix.paper.comparison import Level
    >>> Level("rgsm", -100.0, 2.5).seconds
    2.5
    """

    method: str
    log_joint: float
    seconds: float


class Line(NamedTuple):
    """Summary of one sampler on one data set: medians over the seeds, and None where there is no value.

    Attributes
    ----------
    data, method : str
    seeds : int
        Number of chains.
    proposals : int
    acceptance : float or None
        Accepted proposals per proposal.
    seconds_per_proposal : float or None
    n_clusters, log_joint, log_likelihood : float
        Of the last state.
    nmi, accuracy : float or None
        Of the last state.
    nmi_range : (float, float) or None
        Smallest and largest NMI over the seeds.
    seconds_to_level : float or None
        Time to reach the :class:`Level` of the data set.
    speedup : float or None
        Time of the baseline divided by ``seconds_to_level``.
    speedup_range : (float, float) or None
        Smallest and largest speed-up over the seeds; None if a chain never reached the level.

    Examples
    --------
    >>> from hashmix.paper.comparison import Line
    >>> Line._fields[:3]
    ('data', 'method', 'seeds')
    """

    data: str
    method: str
    seeds: int
    proposals: int
    acceptance: float | None
    seconds_per_proposal: float | None
    n_clusters: float
    log_joint: float
    log_likelihood: float
    nmi: float | None
    accuracy: float | None
    nmi_range: tuple[float, float] | None
    seconds_to_level: float | None
    speedup: float | None
    speedup_range: tuple[float, float] | None


def _median(values: list[Any]) -> float | None:
    known = [value for value in values if value is not None]
    return float(np.median(known)) if known else None


def _range(values: list[Any]) -> tuple[float, float] | None:
    """Return the smallest and the largest value, if there are at least two."""
    known = [value for value in values if value is not None]
    return (float(min(known)), float(max(known))) if len(known) > 1 else None


def levels(results: list[dict[str, Any]]) -> dict[str, Level]:
    """Find the level of every data set: which baseline ends higher, at which log joint, and when it got there.

    Parameters
    ----------
    results : list of dict
        One dictionary per chain, as :func:`hashmix.paper.experiment.run_all` passes them on.

    Examples
    --------
    >>> from hashmix.paper.comparison import levels
    >>> curve = {"seconds": [0.0, 1.0, 2.0], "log_joint": [-9.0, -5.0, -5.0]}
    >>> levels([{"data": "S1", "method": "rgsm", "curve": curve}])
    {'S1': Level(method='rgsm', log_joint=-5.0, seconds=1.0)}
    """
    out = {}
    for data in data_names(results):
        ends = {}
        for method in BASELINES:
            curves = [r["curve"] for r in results if r["data"] == data and r["method"] == method]
            if curves:
                ends[method] = float(np.median([curve["log_joint"][-1] for curve in curves])), curves
        if ends:
            best = max(ends, key=lambda method: ends[method][0])
            log_joint, curves = ends[best]
            times = [reached(curve, curve["log_joint"][-1]) for curve in curves]
            out[data] = Level(best, log_joint, float(np.median([t for t in times if t is not None])))
    return out


def compare(results: list[dict[str, Any]], known_levels: dict[str, Level]) -> list[Line]:
    """Summarise the chains of every sampler on every data set.

    Parameters
    ----------
    results : list of dict
        One dictionary per chain, as :func:`hashmix.paper.experiment.run_all` passes them on.
    known_levels : dict
        The result of :func:`levels`.

    Examples
    --------
    >>> from hashmix.paper.comparison import compare, levels
    >>> curve = {"seconds": [0.0, 2.0], "n_clusters": [1, 3], "log_joint": [-9.0, -5.0], "log_likelihood": [-8.0, -4.0]}
    >>> chain = {"data": "S1", "method": "rgsm", "proposals": 10, "accepted": 4, "nmi": 0.9, "accuracy": 0.8, "curve": curve}
    >>> (line,) = compare([chain], levels([chain]))
    >>> line.acceptance, line.seconds_per_proposal, line.speedup
    (0.4, 0.2, 1.0)
    """
    lines = []
    for data in data_names(results):
        for method in METHODS:
            mine = [r for r in results if r["data"] == data and r["method"] == method]
            if mine:
                lines.append(_line(data, method, mine, known_levels.get(data)))
    return lines


def _line(data: str, method: str, chains: list[dict[str, Any]], level: Level | None) -> Line:
    curves = [chain["curve"] for chain in chains]
    found = [None if level is None else reached(curve, level.log_joint) for curve in curves]
    # A chain that never reached the level counts as slower than all others, not as missing.
    times = [math.inf if seconds is None else seconds for seconds in found]
    median = float(np.median(times))
    speedups = [level.seconds / t for t in times if 0 < t < math.inf] if level is not None else []
    moved = [chain for chain in chains if chain["proposals"]]
    return Line(
        data=data,
        method=method,
        seeds=len(chains),
        proposals=int(np.median([chain["proposals"] for chain in chains])),
        acceptance=_median([chain["accepted"] / chain["proposals"] for chain in moved]),
        seconds_per_proposal=_median([chain["curve"]["seconds"][-1] / chain["proposals"] for chain in moved]),
        n_clusters=float(np.median([curve["n_clusters"][-1] for curve in curves])),
        log_joint=float(np.median([curve["log_joint"][-1] for curve in curves])),
        log_likelihood=float(np.median([curve["log_likelihood"][-1] for curve in curves])),
        nmi=_median([chain["nmi"] for chain in moved]),
        accuracy=_median([chain["accuracy"] for chain in moved]),
        nmi_range=_range([chain["nmi"] for chain in moved]),
        seconds_to_level=median if np.isfinite(median) else None,
        speedup=level.seconds / median if level is not None and np.isfinite(median) and median > 0 else None,
        speedup_range=_range(speedups) if len(speedups) == len(times) else None,
    )


def data_names(results: list[dict[str, Any]]) -> list[str]:
    """Return the data sets that have results, in the paper's order.

    Examples
    --------
    >>> from hashmix.paper.comparison import data_names
    >>> data_names([{"data": "KDD"}, {"data": "S1"}, {"data": "S1"}])
    ['S1', 'KDD']
    """
    return [name for name in NAMES if any(r["data"] == name for r in results)]


# ---- sentences -------------------------------------------------------------------------------------------------------------


def differences(lines: list[Line], about: dict[str, dict[str, Any]]) -> list[str]:
    """Write a sentence for every number of the paper: reproduced or not, and why.

    Parameters
    ----------
    lines : list of Line
    about : dict
        For every data set a dictionary whose ``about`` says where it comes from.

    Examples
    --------
    >>> from hashmix.paper.comparison import compare, differences
    >>> curve = {"seconds": [0.0, 2.0], "n_clusters": [1, 3], "log_joint": [-9.0, -5.0], "log_likelihood": [-8.0, -4.0]}
    >>> chain = {"data": "S1", "method": "rgsm", "proposals": 10, "accepted": 4, "nmi": 0.97, "accuracy": 0.9, "curve": curve}
    >>> differences(compare([chain], {}), {})
    ['RGSM on S1: reproduced, NMI 0.97 (paper: 0.96).']
    """
    out = []
    for line in lines:
        method = METHODS[line.method]
        if method.in_paper is None:
            continue
        theirs = PAPER[method.in_paper][line.data][0]
        where = f"{method.title} on {line.data}"
        if line.proposals == 0:
            out.append(f"{where}: no proposal finished in the given time (paper: NMI {theirs:.2f}).")
        elif line.data == "KDD":
            continue
        elif line.nmi is None:
            out.append(f"{where}: there are no labels to compare with (paper: NMI {theirs:.2f}).")
        elif abs(line.nmi - theirs) <= _SAME:
            out.append(f"{where}: reproduced, NMI {line.nmi:.2f} (paper: {theirs:.2f}).")
        else:
            out.append(f"{where}: not reproduced, NMI {line.nmi:.2f} (paper: {theirs:.2f}). {_why(line, theirs)}")
    if any(line.data == "KDD" for line in lines):
        out.append(
            "KDD: there is no NMI or accuracy. The file has no cluster labels: its first three columns are a block, an example "
            "and a homology class. The 2,000 clusters that the paper scores against are not published."
        )
    if "stand-in" in about.get("PubMed", {}).get("about", ""):
        out.append("PubMed: the documents are a synthetic stand-in, so the paper's numbers are for other data.")
    return out


def _why(line: Line, theirs: float) -> str:
    """Name the likely reason for an NMI that differs from the paper's."""
    if line.acceptance == 0.0:
        return f"None of its {line.proposals:,} proposals was accepted."
    if not METHODS[line.method].exact:
        return "As printed, its acceptance ratio is that of no posterior, and its errors determine where the chain ends."
    if line.nmi is not None and line.nmi > theirs:
        return "Our data may be easier: the paper does not state how far apart its Gaussians are, or its topics."
    return "Its chains had probably not converged when their time was over."


def claims(lines: list[Line], known_levels: dict[str, Level]) -> list[str]:
    """Write a sentence per data set on speed: how much faster hashmix and MinSM reach the level of the better baseline.

    The paper claims that MinSM is at least 6 × faster.

    Parameters
    ----------
    lines : list of Line
    known_levels : dict
        The result of :func:`levels`.

    Examples
    --------
    >>> from hashmix.paper.comparison import Level, claims
    >>> claims([], {"S1": Level("rgsm", -1234.5, 2.0)})
    ['S1: RGSM ends at a log joint of -1,234, first reached after 2 s.']
    """
    out = []
    for data, level in known_levels.items():
        parts = []
        for method in (*OURS, "minsm", "published-minsm"):
            for line in lines:
                if (line.data, line.method) != (data, method):
                    continue
                title = METHODS[method].title
                if line.proposals == 0:
                    parts.append(f"{title}: no proposal finished")
                elif line.speedup is None:
                    parts.append(f"{title}: not reached")
                else:
                    parts.append(f"{title}: {line.speedup:.3g} × faster ({shown_seconds(line.seconds_to_level)})")
        where = f"{METHODS[level.method].title} ends at a log joint of {level.log_joint:,.0f}"
        sentence = f"{data}: {where}, first reached after {shown_seconds(level.seconds)}."
        out.append(f"{sentence} {'; '.join(parts)}." if parts else sentence)
    return out


def shown_seconds(value: float | None) -> str:
    """Format a time for people; a dash stands for None.

    Examples
    --------
    >>> from hashmix.paper.comparison import shown_seconds
    >>> shown_seconds(0.12345), shown_seconds(298.4), shown_seconds(None)
    ('0.123 s', '298 s', '–')
    """
    if value is None:
        return "–"
    return f"{value:.0f} s" if value >= 100 else f"{value:.3g} s"
