"""One chain, observed after every sweep: what convergence.py, scaling.py, peers.py and memory.py measure with."""

from __future__ import annotations

import time
from types import SimpleNamespace

import numpy as np
from sklearn.metrics import normalized_mutual_info_score

import hashmix as hm
from hashmix.moves.tally import PROPOSED
from hashmix.problem import Problem
from hashmix.run.chain import Chain
from hashmix.run.settings import RunSettings
from hashmix.run.starts import first_states

#: Rows of the run that compiles.
FEW = 2000


def trace(
    X,
    y=None,
    *,
    component="auto",
    prior="auto",
    moves="lss",
    init="auto",
    n_warmup=50,
    n_sweeps=100,
    max_seconds=600.0,
    seed=0,
    n_jobs=None,
    stop=None,
):
    """Run a chain of n_warmup + n_sweeps sweeps, or shorter: until max_seconds, or until ``stop(entry)`` is true.

    Returns lists ``seconds``, ``proposals``, ``log_joint``, ``n_clusters`` and, given y, ``nmi`` (rows with y < 0 left
    out): first of the start, then one entry per sweep; max_seconds may cut the last one short. Seconds and
    proposals count from the beginning; the Gibbs update of a row is a proposal. Seconds are of checking, hashing, start
    and sweeps, not of compiling or observing. ``labels`` are those at the end.
    """
    n = X.shape[0]
    few = np.linspace(0, n - 1, min(n, FEW)).astype(int)
    few_init = init if isinstance(init, str) else np.asarray(init)[few]
    few_settings = {"n_draws": 1, "n_warmup": 1, "init": few_init, "random_state": seed, "n_jobs": n_jobs}
    hm.sample(X[few], component, prior, moves, **few_settings)  # compiles

    aside = 0.0  # seconds spent observing
    begin = time.perf_counter()
    clock = lambda: time.perf_counter() - begin - aside  # noqa: E731
    settings = RunSettings(1, n_warmup, random_state=seed, init=init, n_jobs=n_jobs)
    problem = Problem.resolve(X, component, prior, moves, settings, "trace")
    state = first_states(problem.target, problem.starts, problem.keys, n_jobs)[0]
    chain = Chain(0, problem.keys[0], state, problem.schedule, problem.settings)

    scored = None if y is None else np.flatnonzero(np.asarray(y) >= 0)
    out = {name: [] for name in ("seconds", "proposals", "log_joint", "n_clusters") + (() if y is None else ("nmi",))}
    proposals = 0
    while True:
        entry = {"seconds": clock()}
        paused = time.perf_counter()
        proposals += int(chain.since_draw[:, PROPOSED].sum())
        chain.since_draw[:] = 0
        entry |= {
            "proposals": proposals,
            "log_joint": state.log_joint(),
            "n_clusters": state.n_clusters,
        }
        if y is not None:
            entry["nmi"] = float(normalized_mutual_info_score(y[scored], state.labels()[scored]))
        for name, value in entry.items():
            out[name].append(value)
        enough = chain.sweeps >= n_warmup + n_sweeps or entry["seconds"] >= max_seconds
        if enough or (stop is not None and stop(entry)):
            out["labels"] = state.labels()
            return out
        aside += time.perf_counter() - paused
        chain.sweep(SimpleNamespace(is_set=lambda: clock() >= max_seconds))
