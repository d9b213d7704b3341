"""Tables of a posterior: scalars with their diagnostics, moves, and the clusters of an estimate with intervals."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.sparse import csr_array, issparse

from hashmix.posterior.diagnostics import ess, ess_tail, rhat
from hashmix.posterior.matching import match_clusters, table_of

__all__ = ["cluster_table", "move_table", "pandas", "summary_table"]

#: Draws that cluster tables look at, at most, spread evenly over all.
DRAWS_FOR_CLUSTERS = 100
#: Words of a cluster of counts that are named.
_WORDS = 5


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


def cluster_table(draws: Any, estimate: np.ndarray, X: Any, names: list[str], level: float) -> Any:
    """One line a cluster of the estimate: its size, how much of it other draws agree on, and what is in it.

    Every draw's clusters are matched with the estimate's. Intervals are over draws in which a cluster has a match.
    """
    k, n = int(estimate.max()) + 1, len(estimate)
    sizes = np.bincount(estimate, minlength=k)
    found = np.full((len(draws), k), np.nan)
    agreement = np.zeros((len(draws), k))
    dense = X is not None and not issparse(X)
    means = np.full((len(draws) if dense else 0, k, len(names)), np.nan)
    for s, draw in enumerate(draws):
        table = table_of(estimate, draw, (k, int(draw.max()) + 1))
        match = match_clusters(table)
        theirs = np.flatnonzero(match >= 0)
        mine, count = match[theirs], table.sum(axis=0)[theirs]
        found[s, mine] = count
        shared = table[mine, theirs]
        agreement[s, mine] = shared / (sizes[mine] + count - shared)
        if dense:
            one_hot = csr_array((np.ones(n), draw, np.arange(n + 1)), shape=(n, table.shape[1])).T
            means[s, mine] = (one_hot @ X)[theirs] / count[:, None]
    low, high = (1.0 - level) / 2.0, (1.0 + level) / 2.0
    columns: dict[str, Any] = {
        "size": sizes,
        "size_low": _quantile(found, low),
        "size_high": _quantile(found, high),
        "weight": sizes / n,
        "weight_low": _quantile(found, low) / n,
        "weight_high": _quantile(found, high) / n,
        "matched": np.isfinite(found).mean(axis=0),
        "agreement": agreement.mean(axis=0),
    }
    if X is not None:
        one_hot = csr_array((np.ones(n), estimate, np.arange(n + 1)), shape=(n, k)).T
        if issparse(X):
            columns["top_words"] = _top_words(one_hot @ X, names)
        else:
            mean = (one_hot @ X) / sizes[:, None]
            spread = np.sqrt(np.maximum((one_hot @ np.square(X)) / sizes[:, None] - mean**2, 0.0))
            lower, upper = _quantile(means, low), _quantile(means, high)
            for j, name in enumerate(names):
                columns |= {f"{name}": mean[:, j], f"{name}_low": lower[:, j], f"{name}_high": upper[:, j]}
                columns[f"{name}_sd"] = spread[:, j]
    return pandas().DataFrame(columns, index=pandas().RangeIndex(k, name="cluster"))


def _quantile(values: np.ndarray, q: float) -> np.ndarray:
    """Quantiles over draws, those without a match left out; NaN where none has one."""
    out = np.full(values.shape[1:], np.nan)
    some = np.isfinite(values).any(axis=0)
    out[some] = np.nanquantile(values[:, some], q, axis=0)
    return out


def _top_words(words: Any, names: list[str]) -> list[str]:
    """The words each cluster has most of beyond what all rows have."""
    counts = csr_array(words)
    share_of_all = np.asarray(counts.sum(axis=0)).ravel() / max(counts.sum(), 1)
    out = []
    for c in range(counts.shape[0]):
        row = counts[[c]]
        mine = row.data / max(row.data.sum(), 1)
        score = mine * np.log(mine / share_of_all[row.indices])
        out.append(", ".join(names[j] for j in row.indices[np.argsort(-score, kind="stable")[:_WORDS]]))
    return out
