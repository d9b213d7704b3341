"""Where every benchmark leaves its figures and its pictures."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent / "results"


def write_results(name: str, results: dict[str, Any]) -> None:
    _write(name, "json").write_text(json.dumps(results, indent=2) + "\n")


def write_picture(name: str, figure: Any) -> None:
    for axis in figure.axes:
        axis.spines[["top", "right"]].set_visible(False)
    figure.savefig(_write(name, "png"), dpi=150)


def shown(value: float | None, form: str) -> str:
    """A number for a table, or a dash of the same width where there is none."""
    return "–".rjust(int(form.rstrip("dfg").split(".")[0])) if value is None else f"{value:{form}}"


def _write(name: str, ending: str) -> Path:
    FOLDER.mkdir(exist_ok=True)
    path = FOLDER / f"{name}.{ending}"
    print(f"writing {path}")
    return path
