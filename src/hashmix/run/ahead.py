"""Compile kernels ahead: other processes compile what a fit will need while it compiles what it needs first.

Numba compiles in one thread per process. Kernels are compiled once per machine, and whoever needs one that another process
compiles waits for it (:mod:`hashmix.core.compiling`). Helpers take components and the moves of a schedule from the end, and the
fit from the beginning, so that they share the work. What the estimate of a fit takes comes last.
"""

from __future__ import annotations

import atexit
import hashlib
import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from hashmix.components import COMPONENTS
from hashmix.core.compiling import cache_folder
from hashmix.core.sources import SOURCES
from hashmix.moves import default_prior, resolve_moves
from hashmix.partition.target import Target
from hashmix.posterior.estimate.point import best_draw, group_draws, point_estimate
from hashmix.priors import resolve_prior
from hashmix.run.starts import first_states

__all__ = ["compile_ahead", "compile_kernels", "main"]

#: At most so many helpers: beyond that, they wait for each other.
_MOST_HELPERS = 3
_MESSAGE = "hashmix: compiling for this machine, half a minute to two minutes, once"


def compile_ahead(names: Sequence[str], moves: str, dtype: str, say: bool) -> None:
    """Start processes that compile the kernels of some components, unless that was done before.

    Parameters
    ----------
    names : sequence of str
        Names of :data:`hashmix.components.COMPONENTS`.
    moves : str
        Name of a schedule.
    dtype : str
        Type of the rows' entries.
    say : bool
        Whether to say so on stderr.

    Examples
    --------
    >>> from hashmix.run.ahead import compile_ahead
    >>> compile_ahead([], "auto", "float64", say=False)
    """
    folder, n_helpers = cache_folder(), min(_MOST_HELPERS, (os.cpu_count() or 1) - 1)
    wanted = [name for name in names if folder is not None and not _marker(folder, name, moves, dtype).exists()]
    if not wanted or os.environ.get("HASHMIX_COMPILE_AHEAD", "1") == "0":
        return
    if say:
        print(_MESSAGE, file=sys.stderr, flush=True)
    for helper in range(n_helpers):
        task = json.dumps([wanted, moves, dtype, helper, n_helpers])
        command = [sys.executable, "-c", "from hashmix.run.ahead import main; main()", task]
        try:
            process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        except OSError:  # no process to be had: the fit compiles everything itself
            return
        atexit.register(process.terminate)
    if n_helpers < 1:
        _mark(wanted, moves, dtype)


def main() -> None:
    """Compile one helper's share; its command line says which."""
    names, moves, dtype, helper, n_helpers = json.loads(sys.argv[1])
    for name in reversed(names):
        compile_kernels(name, moves, dtype, helper, n_helpers)
    if helper == 0:
        _compile_estimate()
    _mark(names, moves, dtype)


def compile_kernels(name: str, moves: str, dtype: str, helper: int = 0, n_helpers: int = 1) -> None:
    """Compile a component's kernels for every ``n_helpers``-th move of a schedule, from its end.

    Examples
    --------
    >>> from hashmix.run.ahead import compile_kernels
    >>> compile_kernels("gaussian", "gibbs", "float64")
    """
    rng = np.random.default_rng(0)
    family: Any = COMPONENTS[name]
    X = rng.integers(0, 2, (20, 3)) if family.takes_counts else rng.normal(size=(20, 2)).astype(dtype)
    rows = family.rows(X, "compile_kernels")
    component = family.from_data(rows, learn=True)
    schedule = resolve_moves(moves, "compile_kernels", component)
    prior = resolve_prior("auto", "compile_kernels", default_prior(schedule))
    state = first_states(Target(rows, component, prior, component.model(rows)), ["single"], [0], 1)[0]
    state.log_joint()
    for move, _ in schedule[::-1][helper::n_helpers]:
        move.compile(state)
    state.rebuild()


def _compile_estimate() -> None:
    draws = np.random.default_rng(0).integers(0, 3, (4, 12)).astype(np.int32)
    grouped = group_draws(lambda: iter(draws))
    point_estimate(grouped, best_draw(grouped, True, np.zeros(len(draws))), True, 0)


def _marker(folder: Path, name: str, moves: str, dtype: str) -> Path:
    """The file that says that a component's kernels were compiled, from these sources."""
    digest = hashlib.sha256(repr((sorted(SOURCES.items()), name, moves, dtype)).encode()).hexdigest()[:16]
    return folder / f"compiled-{digest}"


def _mark(names: Sequence[str], moves: str, dtype: str) -> None:
    if (folder := cache_folder()) is not None:
        for name in names:
            _marker(folder, name, moves, dtype).touch()
