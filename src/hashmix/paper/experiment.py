"""The comparison itself: every sampler on every data set from the same start, in processes of their own, kept as they end."""

from __future__ import annotations

import hashlib
import json
import multiprocessing
import os
import signal
import threading
import time
import warnings
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from importlib.metadata import version
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import issparse

from hashmix.components import informative_columns, resolve_component
from hashmix.files import write_atomically
from hashmix.paper.datasets import PaperData, read_data, write_data
from hashmix.paper.measures import accuracy, nmi
from hashmix.paper.methods import METHODS
from hashmix.priors import DirichletProcess, Flat
from hashmix.priors.contract import log_prior
from hashmix.sampling import sample
from hashmix.state import State

__all__ = ["CURVE", "Settings", "run_all"]

#: What is recorded of a chain as it goes on: of its start first, then after sweeps.
CURVE = ("seconds", "proposals", "accepted", "n_clusters", "log_likelihood", "log_joint")
#: The prior of the exact samplers, and the one all log joints are of.
_PRIOR = DirichletProcess(1.0)
#: After the first of them, a sweep is recorded if this share more time has passed than when the last one was.
_ALL_SWEEPS, _NEXT = 20, 1.02
#: Sweeps in which our schedule is tuned; they count as all others do.
_TUNING = 50
#: Seconds a proposal may overrun its time before its process is ended.
_GRACE = 15.0


@dataclass(frozen=True)
class Settings:
    """Seconds a chain has on each data set, its seeds, and whether a Gibbs scan follows every sweep of proposals."""

    seconds: dict[str, float]
    seeds: int = 3
    gibbs: bool = False


def _fixed_component(X: Any) -> Any:
    """The component of the data's kind with hyperparameters from the data, not learned: one target for all."""
    return type(resolve_component("auto", X)).from_data(X)


def _numbers(data: PaperData) -> Any:
    """The rows without columns that have a single value."""
    return data.X if issparse(data.X) else np.ascontiguousarray(data.X[:, informative_columns(data.X)])


def _key(data: PaperData, method: str, settings: Settings) -> str:
    """What a kept result must have been made with, to be taken for this one."""
    X = data.X
    digest = hashlib.sha256()
    for part in (X.data, X.indices, X.indptr) if issparse(X) else (X,):
        digest.update(np.ascontiguousarray(part).data)
    schedule = METHODS[method].schedule(settings.gibbs)
    about = [digest.hexdigest(), repr(schedule), METHODS[method].init, settings.seconds[data.name], repr(_PRIOR)]
    about.append(version("hashmix"))
    return hashlib.sha256(json.dumps(about).encode()).hexdigest()


# ---- one chain, in its own process ---------------------------------------------------------------------------------------


def _end_with_parent() -> None:
    """A proposal may take an hour, and would go on if who waits for it were killed."""
    parent: Any = multiprocessing.parent_process()
    parent.join()
    os._exit(1)


def _run_chains(path: Path, method: str, seeds: list[int], seconds: float, gibbs: bool, answers: Connection) -> None:
    """Run a chain for every seed, and send ("begin", seed), ("point", values) … and ("end", measures)."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # a chain cut short would pass for a whole one; who started this ends it
    threading.Thread(target=_end_with_parent, daemon=True).start()
    data = read_data(path)
    X = _numbers(data)
    component, schedule = _fixed_component(X), METHODS[method].schedule(gibbs)
    exact = METHODS[method].exact
    n = X.shape[0]
    table = _PRIOR.table(n, n, _PRIOR.start_concentration)
    start = State(X, component, _PRIOR, np.zeros(n, np.int64))
    settings: Any = {"n_draws": 1, "thin": 10**9, "n_warmup": _TUNING, "n_jobs": 1, "init": METHODS[method].init}
    prior = _PRIOR if exact else Flat()
    few = np.unique(np.linspace(0, n - 1, 100).astype(int))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that moves are published ones, and that time is over, is known here
        sample(X[few], component, prior, schedule, **settings, random_state=0, max_seconds=0.2)  # compiles
        for seed in seeds:
            answers.send(("begin", seed))
            answers.send(("point", (0.0, 0, 0, 1, start.log_likelihood(), start.log_joint())))
            seen = {"proposals": 0, "accepted": 0, "next": 0.0}

            def record(sweep: Any, seen: dict[str, Any] = seen) -> None:
                seen["proposals"] += int(sweep.counts[:, 0].sum())
                seen["accepted"] += int(sweep.counts[:, 1].sum())
                if sweep.number > _ALL_SWEEPS and sweep.seconds < seen["next"]:
                    return
                seen["next"] = sweep.seconds * _NEXT
                state = sweep.state
                likelihood = state.log_likelihood()
                joint = likelihood + log_prior(table, state.sizes)
                point = sweep.seconds, seen["proposals"], seen["accepted"], sweep.n_clusters, likelihood, joint
                answers.send(("point", point))

            posterior = sample(
                X, component, prior, schedule, **settings, random_state=seed, max_seconds=seconds, callback=record
            )
            labels = posterior.labels[0, -1]
            scores: dict[str, Any] = {"nmi": None, "accuracy": None}
            if data.y is not None:
                scores = {"nmi": nmi(data.y, labels), "accuracy": accuracy(data.y, labels)}
            # Where time was over before the first sweep was, its proposals are in the only draw there is.
            for field, name in (("proposed", "proposals"), ("accepted", "accepted")):
                seen[name] = max(seen[name], sum(int(counts[field].sum()) for counts in posterior.move_stats.values()))
            answers.send(("end", scores | {"proposals": seen["proposals"], "accepted": seen["accepted"]}))
    answers.close()


# ---- all of them -----------------------------------------------------------------------------------------------------------


class _Worker:
    """A process that runs one sampler on one data set, and what it has sent."""

    def __init__(self, path: Path, data: str, method: str, seeds: list[int], seconds: float, gibbs: bool) -> None:
        self.data, self.method, self.seconds, self.left = data, method, seconds, list(seeds)
        context = multiprocessing.get_context("spawn")
        self.answers, theirs = context.Pipe(duplex=False)
        arguments = path, method, seeds, seconds, gibbs, theirs
        self.process = context.Process(target=_run_chains, args=arguments, daemon=True)
        self.process.start()
        theirs.close()
        self.began = float("inf")
        self.points: list[tuple] = []

    def receive(self) -> dict[str, Any] | None:
        """Take one message; the result of a chain if it was its last."""
        kind, content = self.answers.recv()
        if kind == "begin":
            self.began, self.points = time.monotonic(), []
        elif kind == "point":
            self.points.append(content)
        else:
            return self.result(content)
        return None

    def result(self, end: dict[str, Any] | None) -> dict[str, Any]:
        """What is kept of the chain at hand, which may have been ended by force (``end`` is None)."""
        if end is None:
            end = {"nmi": None, "accuracy": None, "proposals": self.points[-1][1], "accepted": self.points[-1][2]}
        curve = {name: list(values) for name, values in zip(CURVE, zip(*self.points, strict=True), strict=True)}
        self.began = float("inf")
        return {"data": self.data, "method": self.method, "seed": self.left.pop(0), **end, "curve": curve}

    @property
    def overdue(self) -> bool:
        return time.monotonic() > self.began + self.seconds + _GRACE

    def kill(self) -> None:
        self.process.kill()
        self.process.join()


def run_all(
    datasets: Iterable[PaperData],
    methods: list[str],
    settings: Settings,
    folder: Path,
    jobs: int = 1,
    tell: Callable[[dict[str, Any] | None, str], Any] = lambda result, text: None,
) -> None:
    """Run every sampler on every data set for every seed; what was run before, with the same settings, is not run again.

    Each chain's result is written to ``folder`` when it ends. Where the first chain of a sampler did not finish a single
    proposal, its other seeds are not tried.

    Parameters
    ----------
    datasets : iterable of PaperData
    methods : list of str
    settings : Settings
    folder : Path
    jobs : int, default=1
        Processes at a time, of one thread each.
    tell : callable, optional
        Called with a result (``data``, ``method``, ``seed``, ``nmi``, ``accuracy``, ``proposals``, ``accepted`` and ``curve``)
        and "kept", "run" or "not tried"; with None and a name when a sampler begins.
    """
    written: dict[str, Path] = {}
    running: list[_Worker] = []
    keys: dict[tuple[str, str], str] = {}

    def keep(result: dict[str, Any], how: str = "run") -> None:
        result["key"] = keys[result["data"], result["method"]]
        text = json.dumps(result)
        write_atomically(_place(folder, result["data"], result["method"], result["seed"]), text.encode())
        tell(result, how)

    def finish(worker: _Worker, result: dict[str, Any]) -> None:
        keep(result)
        if result["proposals"] == 0:
            worker.kill()
            while worker.left:
                keep(result | {"seed": worker.left.pop(0)}, "not tried")

    def attend() -> None:
        """Wait a moment for the processes at work, and take what they have sent."""
        wait([worker.answers for worker in running], timeout=0.5)
        for worker in list(running):
            try:
                while worker.answers.poll():
                    if (result := worker.receive()) is not None:
                        finish(worker, result)
            except EOFError:
                worker.process.join()
                running.remove(worker)
                if worker.left:
                    raise ChildProcessError(
                        f"{worker.method} on {worker.data} ended with exit code {worker.process.exitcode}."
                    ) from None
                continue
            if worker.overdue:
                worker.kill()
                finish(worker, worker.result(None))
                running.remove(worker)
                if worker.left:
                    start(worker.data, worker.method, worker.left)

    def start(data: str, method: str, seeds: list[int]) -> None:
        tell(None, f"{METHODS[method].title} on {data}")
        running.append(_Worker(written[data], data, method, seeds, settings.seconds[data], settings.gibbs))

    try:
        for data in datasets:
            for method in methods:
                key = keys[data.name, method] = _key(data, method, settings)
                kept = [(seed, _kept(folder, data.name, method, seed, key)) for seed in range(settings.seeds)]
                for _, result in kept:
                    if result is not None:
                        tell(result, "kept")
                missing = [seed for seed, result in kept if result is None]
                if not missing:
                    continue
                if data.name not in written:
                    folder.mkdir(parents=True, exist_ok=True)
                    written[data.name] = folder / f".{data.name}.npz"
                    write_data(written[data.name], data)
                start(data.name, method, missing)
                while len(running) >= jobs:
                    attend()
        while running:
            attend()
    finally:
        for worker in running:
            worker.kill()
        for path in written.values():
            path.unlink(missing_ok=True)


def _place(folder: Path, data: str, method: str, seed: int) -> Path:
    return folder / f"{data}-{method}-{seed}.json"


def _kept(folder: Path, data: str, method: str, seed: int, key: str) -> dict[str, Any] | None:
    """A result of before, if it was made with the same data and settings."""
    try:
        result = json.loads(_place(folder, data, method, seed).read_text(encoding="utf-8"))
        return result if result["key"] == key else None
    except (FileNotFoundError, ValueError, KeyError):
        return None
