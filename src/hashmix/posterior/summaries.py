"""Summaries of a posterior as pandas DataFrames: scalars with their diagnostics, and moves."""

from __future__ import annotations

from typing import Any

import numpy as np

from hashmix.posterior.diagnostics import ess, ess_tail, rhat

__all__ = ["move_frame", "pandas", "summary_frame"]


def pandas() -> Any:
    """The pandas module; if it is not installed, an error that says how to install it.

    Examples
    --------
    >>> from hashmix.posterior.summaries import pandas
    >>> pandas().__name__
    'pandas'
    """
    try:
        import pandas
    except ImportError:
        raise ImportError("Summaries are pandas DataFrames; install pandas with: pip install 'hashmix[tables]'") from None
    return pandas


def summary_frame(quantities: dict[str, np.ndarray], level: float) -> Any:
    """One line per scalar: mean, standard deviation, interval, effective sample sizes and R̂.

    Examples
    --------
    >>> import numpy as np
    >>> from hashmix.posterior.summaries import summary_frame
    >>> summary_frame({"entropy": np.array([[0.0, 1.0, 2.0]])}, 0.9).loc["entropy", ["mean", "sd"]].tolist()
    [1.0, 1.0]
    """
    low, high = (1.0 - level) / 2.0, (1.0 + level) / 2.0
    lines = {
        name: {
            "mean": values.mean(),
            "sd": values.std(ddof=1) if values.size > 1 else 0.0,
            f"{low:.1%}": np.quantile(values, low),
            f"{high:.1%}": np.quantile(values, high),
            "ess_bulk": ess(values),
            "ess_tail": ess_tail(values),
            "rhat": rhat(values),
        }
        for name, values in quantities.items()
    }
    return pandas().DataFrame.from_dict(lines, orient="index")


def move_frame(move_stats: dict[str, dict[str, np.ndarray]]) -> Any:
    """One line per move: what was proposed and accepted, and what it cost.

    Examples
    --------
    >>> import numpy as np
    >>> from hashmix.posterior.summaries import move_frame
    >>> counts = {"proposed": 8, "accepted": 2, "splits_accepted": 1, "seconds": 0.5}
    >>> frame = move_frame({"SAMS": {name: np.array([[count]]) for name, count in counts.items()}})
    >>> frame.loc["SAMS", ["acceptance", "accepted_per_second"]].tolist()
    [0.25, 4.0]
    """
    lines = {}
    for name, fields in move_stats.items():
        total = {field: values.sum() for field, values in fields.items()}
        lines[name] = {
            "proposed": int(total["proposed"]),
            "accepted": int(total["accepted"]),
            "acceptance": total["accepted"] / max(total["proposed"], 1),
            "splits_accepted": int(total["splits_accepted"]),
            "seconds": float(total["seconds"]),
            "µs_per_proposal": 1e6 * total["seconds"] / max(total["proposed"], 1),
            "accepted_per_second": total["accepted"] / max(total["seconds"], 1e-9),
        }
    return pandas().DataFrame.from_dict(lines, orient="index")
