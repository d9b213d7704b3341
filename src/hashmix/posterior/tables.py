"""Tables of a posterior: scalars with their diagnostics, and moves."""

from __future__ import annotations

from typing import Any

import numpy as np

from hashmix.posterior.diagnostics import ess, ess_tail, rhat

__all__ = ["move_table", "pandas", "summary_table"]


def pandas() -> Any:
    """The pandas module, or one clear sentence."""
    try:
        import pandas
    except ImportError:
        raise ImportError("Tables are pandas DataFrames; install it with: pip install 'hashmix[tables]'") from None
    return pandas


def summary_table(quantities: dict[str, np.ndarray], level: float) -> Any:
    """One line a scalar: mean, standard deviation, interval, effective sample sizes and R̂."""
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


def move_table(move_stats: dict[str, dict[str, np.ndarray]]) -> Any:
    """One line a move: what was proposed and accepted, and what it cost."""
    lines = {}
    for name, fields in move_stats.items():
        total = {field: values.sum() for field, values in fields.items()}
        lines[name] = {
            "proposed": int(total["proposed"]),
            "accepted": int(total["accepted"]),
            "acceptance": total["accepted"] / max(total["proposed"], 1),
            "splits_accepted": int(total["splits_accepted"]),
            "seconds": float(total["seconds"]),
            "µs_a_proposal": 1e6 * total["seconds"] / max(total["proposed"], 1),
            "accepted_a_second": total["accepted"] / max(total["seconds"], 1e-9),
        }
    return pandas().DataFrame.from_dict(lines, orient="index")
