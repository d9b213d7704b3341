"""Run the comparison: every sampler on every data set from the same start.

Each sampler runs in its own process, and the result of each chain is saved when the chain ends.
"""

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
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import issparse

from hashmix.components import Component, resolve_component
from hashmix.core.files import write_atomically
from hashmix.paper.datasets import PaperData, read_data, write_data
from hashmix.paper.measures import accuracy, nmi
from hashmix.paper.methods import METHODS
from hashmix.partition.state import State
from hashmix.partition.target import Target
from hashmix.priors import DirichletProcess, Flat
from hashmix.priors.contract import log_prior
from hashmix.sampling import sample

__all__ = ["CURVE", "Settings", "run_all"]

#: Quantities recorded at the start of a chain and after sweeps.
CURVE = ("seconds", "proposals", "accepted", "n_clusters", "log_likelihood", "log_joint")
#: The prior of the exact samplers; all log joints are computed with it.
_PRIOR = DirichletProcess(1.0)
#: Each of the first sweeps is recorded; later ones only when the time has grown by this factor since the last record.
_ALL_SWEEPS, _NEXT = 20, 1.02
#: Sweeps in which hashmix tunes its schedule; their time counts.
_TUNING = 50
#: Seconds that a chain may exceed its time before its process is killed.
_GRACE = 15.0


@dataclass(frozen=True)
class Settings:
    """Settings of the comparison.

    Parameters
    ----------
    seconds : dict
        Seconds per chain, by data set.
    seeds : int, default=3
        Number of chains of each sampler.
    gibbs : bool, default=False
        Whether a Gibbs scan follows every sweep of proposals.

    Examples
    --------
    >>> from hashmix.paper.experiment import Settings
    >>> Settings({"S1": 5.0})
    Settings(seconds={'S1': 5.0}, seeds=3, gibbs=False)
    """

    seconds: dict[str, float]
    seeds: int = 3
    gibbs: bool = False


#: Data with more columns get a diagonal covariance.
_MOST_FULL = 16


def _prepare(X: Any) -> tuple[Any, Component]:
    """Return the rows without constant columns, and a component for them.

    Hyperparameters are chosen from the data and not learned, so that all samplers have the same target.
    """
    name = "multinomial" if issparse(X) else "gaussian" if X.shape[1] > _MOST_FULL else "gaussian-full"
    resolved = resolve_component(name, X, "hashmix paper")
    return resolved.source.matrix(), type(resolved.component).from_data(resolved.source)


def _key(data: PaperData, method: str, settings: Settings) -> str:
    """Hash everything that a chain depends on except its seed. A saved result is used again only if its key is the same."""
    X = data.X
    digest = hashlib.sha256()
    for part in (X.data, X.indices, X.indptr) if issparse(X) else (X,):
        digest.update(np.ascontiguousarray(part).data)
    schedule = METHODS[method].schedule(settings.gibbs)
    about = [digest.hexdigest(), repr(schedule), METHODS[method].init, settings.seconds[data.name], repr(_PRIOR)]
    about.append(version("hashmix"))
    return hashlib.sha256(json.dumps(about).encode()).hexdigest()


# ---- one chain, in its own process ---------------------------------------------------------------------------------------


class _Task(NamedTuple):
    """The chains that one process runs."""

    path: Path
    data: str
    method: str
    seeds: list[int]
    seconds: float
    gibbs: bool


def _end_with_parent() -> None:
    """End this process when its parent ends; otherwise a proposal that takes an hour would outlive a killed parent."""
    parent: Any = multiprocessing.parent_process()
    parent.join()
    os._exit(1)


def _run_chains(task: _Task, answers: Connection) -> None:
    """Run a chain per seed; for each, send ("begin", seed), then ("point", values) repeatedly, then ("end", measures)."""
    # After Ctrl-C the parent kills this process. Stopping here instead would send an incomplete chain as if it were complete.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, daemon=True).start()
    data, method = read_data(task.path), METHODS[task.method]
    X, component = _prepare(data.X)
    n = X.shape[0]
    prior_weights = _PRIOR.weights(n, n, _PRIOR.start_concentration)
    start = State(Target.of(X, component, _PRIOR), np.zeros(n, np.int64))
    prior = _PRIOR if method.exact else Flat()
    schedule = method.schedule(task.gibbs, component)
    settings: Any = {"n_draws": 1, "thin": 10**9, "n_warmup": _TUNING, "n_jobs": 1, "init": method.init}
    few = np.unique(np.linspace(0, n - 1, 100).astype(int))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # published moves warn that they are not exact, and chains that their time is over
        sample(X[few], component, prior, schedule, **settings, random_state=0, max_seconds=0.2)  # compiles the kernels
        for seed in task.seeds:
            answers.send(("begin", seed))
            answers.send(("point", (0.0, 0, 0, 1, start.log_likelihood(), start.log_joint())))
            seen = {"proposals": 0, "accepted": 0, "next": 0.0}

            def record(sweep: Any, seen: dict[str, Any] = seen) -> None:
                seen["proposals"] += int(sweep.total("proposed"))
                seen["accepted"] += int(sweep.total("accepted"))
                if sweep.number > _ALL_SWEEPS and sweep.seconds < seen["next"]:
                    return
                seen["next"] = sweep.seconds * _NEXT
                state = sweep.state
                likelihood = state.log_likelihood()
                joint = likelihood + log_prior(prior_weights, state.sizes)
                point = sweep.seconds, seen["proposals"], seen["accepted"], sweep.n_clusters, likelihood, joint
                answers.send(("point", point))

            posterior = sample(
                X, component, prior, schedule, **settings, random_state=seed, max_seconds=task.seconds, callback=record
            )
            labels = posterior.labels[0, -1]
            scores: dict[str, Any] = {"nmi": None, "accuracy": None}
            if data.y is not None:
                known = data.y >= 0
                scores = {"nmi": nmi(data.y[known], labels[known]), "accuracy": accuracy(data.y[known], labels[known])}
            # If the time was over before the first sweep was complete, only the draw has counted its proposals.
            for field, name in (("proposed", "proposals"), ("accepted", "accepted")):
                seen[name] = max(seen[name], sum(int(counts[field].sum()) for counts in posterior.move_stats.values()))
            answers.send(("end", scores | {"proposals": seen["proposals"], "accepted": seen["accepted"]}))
    answers.close()


# ---- all chains ------------------------------------------------------------------------------------------------------------


class _Worker:
    """A process that runs one sampler on one data set, and what it has sent of the current chain."""

    def __init__(self, task: _Task) -> None:
        self.task, self.left = task, list(task.seeds)
        context = multiprocessing.get_context("spawn")
        self.answers, theirs = context.Pipe(duplex=False)
        self.process = context.Process(target=_run_chains, args=(task, theirs), daemon=True)
        self.process.start()
        theirs.close()
        self.began = float("inf")
        self.points: list[tuple] = []

    def receive(self) -> dict[str, Any] | None:
        """Receive one message; return the result of the chain if it was the last message of one."""
        kind, content = self.answers.recv()
        if kind == "begin":
            self.began, self.points = time.monotonic(), []
        elif kind == "point":
            self.points.append(content)
        else:
            return self.result(content)
        return None

    def result(self, end: dict[str, Any] | None) -> dict[str, Any]:
        """Return the result of the current chain; ``end`` is None if its process was killed."""
        if end is None:
            end = {"nmi": None, "accuracy": None, "proposals": self.points[-1][1], "accepted": self.points[-1][2]}
        curve = {name: list(values) for name, values in zip(CURVE, zip(*self.points, strict=True), strict=True)}
        self.began = float("inf")
        return {"data": self.task.data, "method": self.task.method, "seed": self.left.pop(0), **end, "curve": curve}

    @property
    def overdue(self) -> bool:
        """Whether the current chain has exceeded its time."""
        return time.monotonic() > self.began + self.task.seconds + _GRACE

    def kill(self) -> None:
        """End the process."""
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
    """Run every sampler on every data set for every seed, except chains that were run before with the same settings.

    The result of a chain is written to ``folder`` when the chain ends. If the first chain of a sampler finished no proposal,
    its other seeds are not tried.

    Parameters
    ----------
    datasets : iterable of PaperData
        The data sets; each is requested when the one before it has been started.
    methods : list of str
        Names of samplers in :data:`hashmix.paper.methods.METHODS`.
    settings : Settings
    folder : Path
        Where results are saved.
    jobs : int, default=1
        Number of processes at a time, with one thread each.
    tell : callable, optional
        Called with the result of a chain (``data``, ``method``, ``seed``, ``nmi``, ``accuracy``, ``proposals``, ``accepted``
        and ``curve``) and "kept", "run" or "not tried"; and with None and a title when a sampler starts.

    Examples
    --------
    >>> from pathlib import Path
    >>> from hashmix.paper.experiment import Settings, run_all
    >>> run_all([], ["rgsm", "lss"], Settings({"S1": 5.0}), Path("runs"))  # without a data set there is nothing to do
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
        """Wait for messages for up to half a second, and process them."""
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
                        f"{worker.task.method} on {worker.task.data} ended with exit code {worker.process.exitcode}."
                    ) from None
                continue
            if worker.overdue:
                worker.kill()
                finish(worker, worker.result(None))
                running.remove(worker)
                if worker.left:
                    start(worker.task.data, worker.task.method, worker.left)

    def start(data: str, method: str, seeds: list[int]) -> None:
        tell(None, f"{METHODS[method].title} on {data}")
        running.append(_Worker(_Task(written[data], data, method, seeds, settings.seconds[data], settings.gibbs)))

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
    """Return the saved result of a chain, if it was made with the same data and settings."""
    try:
        result = json.loads(_place(folder, data, method, seed).read_text(encoding="utf-8"))
        return result if result["key"] == key else None
    except (FileNotFoundError, ValueError, KeyError):
        return None
