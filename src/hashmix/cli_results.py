"""What ``hashmix fit`` leaves in its folder: labels, a summary, pictures and a report."""

from __future__ import annotations

import csv
import json
import os
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from hashmix import plot
from hashmix.core.wording import counted
from hashmix.data.ingest import Ingested
from hashmix.data.mixed import MixedRows
from hashmix.estimator_input import some_rows
from hashmix.posterior.describe.typical import typical_columns

__all__ = ["summarise", "write_results"]


def summarise(model: Any, data: str, X: Any, names: list[str], seconds: float) -> dict[str, Any]:
    """Return what summary.json holds: the verdict, the number of clusters, diagnostics, and each cluster.

    Examples
    --------
    >>> import numpy as np, hashmix as hm
    >>> from hashmix.cli_results import summarise
    >>> X = np.array([[1.0], [1.1], [0.9], [7.0], [7.1], [6.9]])
    >>> component = hm.components.DiagonalGaussian(mean=4.0, kappa=0.1, shape=2.0, rate=0.1)
    >>> model = hm.SplitMergeMixture(component, random_state=0).fit(X)
    >>> [cluster["size"] for cluster in summarise(model, "heights.csv", X, ["metres"], 0.1)["clusters"]]
    [3, 3]
    """
    posterior = model.posterior_
    return {
        "verdict": posterior.verdict(),
        "data": Path(data).name,
        "n_rows": len(model.labels_),
        **({"n_columns": len(names)} if model.component_.has_words else {"columns": names}),
        "component": {"name": type(model.component_).__name__, "evidence": posterior.settings.get("evidence")},
        "n_clusters": model.n_clusters_,
        "n_clusters_probabilities": {str(k): p for k, p in posterior.n_clusters_probabilities().items()},
        "seconds": round(seconds, 3),
        "log_joint": {"mean": float(posterior.log_joint.mean()), "sd": float(posterior.log_joint.std())},
        "rhat": _finite(posterior.rhat()),
        "ess": _finite(posterior.ess()),
        "moves": {
            name: {field: _plain(values.sum()) for field, values in fields.items()}
            for name, fields in posterior.move_stats.items()
        },
        "clusters": _clusters(model, X, names),
        "settings": posterior.settings,
    }


def _clusters(model: Any, X: Any, names: list[str]) -> list[dict[str, Any]]:
    """Size and weight of each cluster, and what its component can say of it: its mean, its words, typical rows."""
    sizes = np.bincount(model.labels_, minlength=model.n_clusters_)
    weights = model.weights_.tolist()
    out: list[dict[str, Any]] = [{"label": c, "size": int(sizes[c]), "weight": weights[c]} for c in range(model.n_clusters_)]
    if model.component_.has_means:
        for cluster, mean in zip(out, model.means_, strict=True):
            cluster["mean"] = mean.tolist()
    if isinstance(X, MixedRows):
        for cluster, columns in zip(out, typical_columns(X, model.labels_, model.n_clusters_), strict=True):
            cluster["columns"] = columns
    if not model.component_.has_words:
        return out
    by_lift = model.top_words(10, "lift", names)
    rows = model.representatives(X)
    for cluster, words, lifted, chosen in zip(out, model.top_words(10, feature_names=names), by_lift, rows, strict=True):
        cluster["top_words"] = [word._asdict() for word in words]
        cluster["top_words_by_lift"] = [word._asdict() for word in lifted]
        cluster["representative_rows"] = chosen.tolist()
    return out


def _plain(value: Any) -> float | int:
    return value.item()


def _finite(values: dict[str, float]) -> dict[str, float | None]:
    """Replace NaN by None: JSON has no NaN, and a diagnostic that does not exist is null."""
    return {name: value if np.isfinite(value) else None for name, value in values.items()}


def write_results(
    folder: Path, model: Any, data: Ingested, summary: dict[str, Any], title: str, cuts: dict[str, np.ndarray]
) -> list[str]:
    """Write all results to a temporary folder first, then move them: results are never incomplete."""
    temporary = Path(tempfile.mkdtemp(dir=folder.resolve().parent, prefix=f".{folder.name}-"))
    try:
        _write_labels(temporary / "labels.csv", model, data, cuts)
        (temporary / "summary.json").write_text(json.dumps(summary, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
        _pictures(temporary, model, data.X, data.names, title, "level_reproducible" in cuts)
        written = sorted(path.name for path in temporary.iterdir())
        folder.mkdir(exist_ok=True)
        for name in written:
            os.replace(temporary / name, folder / name)
    finally:
        shutil.rmtree(temporary)
    return written


def _write_labels(path: Path, model: Any, data: Ingested, cuts: dict[str, np.ndarray]) -> None:
    """Write the name or number of every row, its label, the probability of that label, and the levels."""
    rows = range(len(model.labels_)) if data.ids is None else data.ids
    certain = (f"{p:.4f}" for p in model.probabilities_)
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow([data.id_name, "label", "probability", *cuts])
        writer.writerows(zip(rows, model.labels_, certain, *cuts.values(), strict=True))


def _pictures(folder: Path, model: Any, X: Any, names: list[str], title: str, levels: bool) -> None:
    """Write the plots, and the report, which also has plots."""
    try:
        import matplotlib
    except ImportError:
        print("hashmix: plots skipped: matplotlib is not installed (pip install 'hashmix[plots]').", file=sys.stderr)
        return
    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    axes = plot.trace(model.posterior_)
    axes[0].figure.savefig(folder / "trace.png", dpi=120)
    if model.component_.has_words:
        axes = plot.words(model.top_words(8, feature_names=names), np.bincount(model.labels_))
        axes[0].figure.savefig(folder / "words.png", dpi=120)
    else:
        ax = plot.clusters(X, model.labels_, feature_names=names)
        ax.set_title(counted(model.n_clusters_, "cluster"))
        ax.figure.savefig(folder / "clusters.png", dpi=120)
    plt.close("all")
    try:
        rows, coarser = model.sample_indices_, {"tree": model.tree_, "levels": model.levels() if levels else None}
        shown = X if len(rows) == X.shape[0] else some_rows(X, rows)
        model.posterior_.report(folder / "report.html", shown, names, model.posterior_.point_estimate(), title, **coarser)
    except ImportError as error:
        print(f"hashmix: report skipped: {error}", file=sys.stderr)
