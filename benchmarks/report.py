"""Where every benchmark leaves its figures and its pictures, and what they were measured with."""

from __future__ import annotations

import ast
import hashlib
import json
import os
import platform
import subprocess
import time
from importlib.metadata import version
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent / "results"
_PACKAGE = Path(__file__).parent.parent / "src" / "hashmix"
#: Parts of the package that no fit runs: a change of these leaves all figures as they are.
_NOT_MEASURED = ("cli", "paper", "plot", "report", "testing")


def write_results(name: str, results: dict[str, Any]) -> None:
    """Write the figures of a benchmark, and under "measured" what they were measured with."""
    _write(name, "json").write_text(json.dumps({"measured": measured_with()} | results, indent=2) + "\n", encoding="utf-8")


def write_picture(name: str, figure: Any) -> None:
    for axis in figure.axes:
        axis.spines[["top", "right"]].set_visible(False)
    figure.savefig(_write(name, "png"), dpi=150)


def shown(value: float | None, form: str) -> str:
    """A number for a table, or a dash of the same width where there is none."""
    return "–".rjust(int(form.rstrip("dfg").split(".")[0])) if value is None else f"{value:{form}}"


def measured_with() -> dict[str, Any]:
    """Version, commit, date, machine, versions of libraries, and a hash of the sources that a fit runs."""
    return {
        "version": version("hashmix"),
        "commit": _git("rev-parse", "--short=12", "HEAD") + (" with changes" if _git("status", "--porcelain", "src") else ""),
        "date": time.strftime("%Y-%m-%d"),
        "machine": f"{os.cpu_count()} cores, {platform.machine()}",
        "versions": {"python": platform.python_version()}
        | {name: version(name) for name in ("numpy", "scipy", "scikit-learn", "numba")},
        "sources": _MEASURED_SOURCES,
    }


def hash_of_sources() -> str:
    """Hash of all code of the package that a fit may run: comments and docstrings do not count."""
    digest = hashlib.sha256()
    for path in sorted(_PACKAGE.rglob("*.py")):
        inside = path.relative_to(_PACKAGE).as_posix()
        if not inside.startswith(_NOT_MEASURED):
            digest.update(repr((inside, _code(path.read_text(encoding="utf-8")))).encode())
    return digest.hexdigest()[:16]


def _code(source: str) -> list[str]:
    """The lines of a module that are neither in a docstring nor comments."""
    told = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef)) and ast.get_docstring(node, clean=False) is not None:
            told.update(range(node.body[0].lineno, (node.body[0].end_lineno or 0) + 1))
    lines = enumerate(source.splitlines(), 1)
    return [line for number, line in lines if number not in told and line.strip() and not line.lstrip().startswith("#")]


# Taken at the start: files that are changed while a benchmark runs are not what it measures.
_MEASURED_SOURCES = hash_of_sources()


def _git(*arguments: str) -> str:
    """What git says, or nothing where there is no repository."""
    try:
        ran = subprocess.run(["git", *arguments], cwd=_PACKAGE.parents[1], capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return ""
    return ran.stdout.strip()


def _write(name: str, ending: str) -> Path:
    FOLDER.mkdir(exist_ok=True)
    path = FOLDER / f"{name}.{ending}"
    print(f"writing {path}")
    return path
