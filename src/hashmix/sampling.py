"""sample(): runs a problem's chains and makes a Posterior."""

from __future__ import annotations

import os
import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from hashmix.components import Component
from hashmix.core.threads import one_blas_thread
from hashmix.engines import Engine, engine_for
from hashmix.moves import Move, Work
from hashmix.posterior import Posterior
from hashmix.priors import PartitionPrior
from hashmix.problem import Problem
from hashmix.run.chain import Chain, Recorder, Sweep
from hashmix.run.folder import RunFolder
from hashmix.run.settings import RunSettings
from hashmix.run.starts import first_states
from hashmix.run.together import finish, run_chains
from hashmix.spread_sampling import sample_spread

__all__ = ["run_problem", "sample"]


def sample(
    X: Any,
    component: str | Component = "auto",
    prior: str | PartitionPrior = "auto",
    moves: str | Move | Sequence[tuple[Move, float | Work]] = "auto",
    *,
    n_draws: int | str,
    n_warmup: int | str = 0,
    thin: int = 1,
    n_chains: int = 1,
    random_state: Any = None,
    init: Any = "single",
    max_seconds: float | None = None,
    engine: str | Engine = "threads",
    n_jobs: int | None = None,
    progress: bool = False,
    run_dir: str | os.PathLike[str] | None = None,
    callback: Callable[[Sweep], Any] | None = None,
) -> Posterior:
    """Draw partitions of the rows of X from their posterior.

    A draw is recorded every ``thin`` sweeps after ``n_warmup`` sweeps. A sweep updates the component's hyperparameters if
    they are learned, applies each move of the schedule as often as its weight says, and updates the concentration if the
    prior learns it. Tuning happens during warm-up only. The same seed gives the same draws for any number of threads.

    Parameters
    ----------
    X : array, sparse matrix, Dask array or DataFrame of shape (n_samples, n_features), or files with an engine
        Finite numbers, not copied if they are C-contiguous float32 or float64; or counts, dense or sparse. The column
        indices of a CSR matrix with sorted indices are not copied.
    component : str or Component, default="auto"
        The distribution of the rows of a cluster; see :func:`hashmix.components.resolve_component`. For a string,
        hyperparameters are learned, and constant columns are left out: they carry no information about clusters.
    prior : str or PartitionPrior, default="auto"
        The distribution of partitions; see :func:`hashmix.priors.resolve_prior`. "auto" is a Dirichlet process (flat for the
        published moves, whose ratio has no prior).
    moves : str, Move or list of (Move, weight), default="auto"
        The schedule; see :func:`hashmix.moves.resolve_moves`.
    n_draws : int or "auto"
        Draws to record per chain. "auto": 200 up to 1,500 rows, 40 from 7,500 rows.
    n_warmup : int or "auto", default=0
        Sweeps before the first draw. "auto": 200 up to 1,500 rows, 20 from 15,000 rows, in between as many as visit 300,000
        rows.
    thin : int, default=1
        Sweeps per draw.
    n_chains : int, default=1
        Independent chains.
    random_state : None, int, SeedSequence, Generator or RandomState
        Source of randomness.
    init : str, array of labels, a sequence of these with one entry per chain, or Posterior
        Where chains start: "single" (one cluster, the default), "singletons", "buckets" (hashed neighbourhoods), "auto" (for
        Gaussians, the better of short trial chains from "single" and from "buckets"; for short texts, "buckets" relabelled by
        the words that rows share; else "buckets"), labels of shape (n_samples,), or the last draws of the chains of a
        posterior of the same rows.
    max_seconds : float, optional
        Stop after this time (compilation not counted) and return the draws so far.
    engine : str or Engine, default="threads"
        Where rows are: "threads" (here), "dask", "cuda" or an object of :mod:`hashmix.engines`; Dask collections imply "dask".
    n_jobs : int, optional
        Threads that run chains and hash rows; None or -1 for one per processor. Does not change the result.
    progress : bool, default=False
        Show a progress bar in a terminal or a notebook (needs tqdm): clusters, log joint, sweeps per second and time left.
    run_dir : path, optional
        A folder that draws are written to, about every ten seconds (at least 20 sweeps), with the state of the chains. A
        call with the same data and settings (``n_draws`` may be larger) resumes from there and gives the same draws, to the
        last bit, as an uninterrupted run. Labels then stay on disk; see :meth:`Posterior.load`.
    callback : callable, optional
        Called after every sweep of every chain, warm-up included, with a :class:`hashmix.run.chain.Sweep`, in the thread of
        the chain. If it returns something true, sampling stops with the draws so far.

    Returns
    -------
    Posterior
        The draws. Ctrl-C also returns the draws so far (a second Ctrl-C, while chains stop, aborts). If chains were stopped
        at different lengths, the largest rectangle of chains × draws is kept.

    Examples
    --------
    >>> import numpy as np, hashmix as hm
    >>> rng = np.random.default_rng(0)
    >>> X = np.concatenate([rng.normal(-4, 1, (50, 2)), rng.normal(4, 1, (50, 2))])
    >>> posterior = hm.sample(X, n_draws=50, n_warmup=50, random_state=0)
    >>> posterior.labels.shape
    (1, 50, 100)
    >>> int(np.median(posterior.n_clusters))
    2
    """
    settings = RunSettings(
        n_draws, n_warmup, thin, n_chains, random_state, init, max_seconds, n_jobs, progress, run_dir, callback
    )
    where = engine_for(X, engine, "sample")
    if where is None:
        return run_problem(Problem.resolve(X, component, prior, moves, settings))
    spread = where.open(X, "sample")
    try:
        return sample_spread(spread, component, prior, moves, settings).posterior
    finally:
        spread.close()


def run_problem(problem: Problem) -> Posterior:
    """Run a problem's chains; see :func:`sample`.

    Examples
    --------
    >>> import numpy as np
    >>> from hashmix.problem import Problem
    >>> from hashmix.run.settings import RunSettings
    >>> from hashmix.sampling import run_problem
    >>> settings = RunSettings(n_draws=10, random_state=0)
    >>> run_problem(Problem.resolve(np.eye(5), "gaussian", "auto", "lss", settings)).n_draws
    10
    """
    settings, record = problem.settings, problem.empty_record()
    run = None if settings.run_dir is None else RunFolder(settings.run_dir, problem.identity(record), record)
    try:
        with one_blas_thread():
            _warn_if_published(problem)
            _compile(problem)
            begin = time.perf_counter()
            chains = _start_chains(problem, Recorder(record, begin, run, settings.callback), run)
            stopped_by = run_chains(chains, settings, begin)
    finally:
        if run is not None:
            run.close()
    record.settings["n_sweeps"] = max(chain.sweeps for chain in chains)
    record.settings["tuned_moves"] = [repr(chain.tuner.frozen()) for chain in chains]
    return finish(record, chains, stopped_by)


def _compile(problem: Problem) -> None:
    """Compile the kernels on two rows, so that max_seconds counts sampling only."""
    rows = problem.target.rows
    few = replace(problem.target, rows=rows.take(np.arange(min(2, rows.n_rows))))
    state = first_states(few, ["buckets"], problem.keys[:1], problem.settings.n_jobs)[0]
    for move, _ in problem.schedule:
        move.compile(state)


def _start_chains(problem: Problem, recorder: Recorder, run: RunFolder | None) -> list[Chain]:
    """Chains in their first states, or where the run folder's checkpoints left them."""
    kept = [None if run is None else run.checkpoint(c) for c in range(problem.settings.n_chains)]
    starts = [start if known is None else known["labels"] for start, known in zip(problem.starts, kept, strict=True)]
    tried = {} if problem.choice is None else {problem.keys[0]: problem.choice.trial}
    states = first_states(problem.target, starts, problem.keys, problem.settings.n_jobs, tried)
    if not np.isfinite([state.log_joint() for state in states]).all():
        raise ValueError("The start has no finite log joint: X lies too far outside what the component expects.")
    chains = [
        Chain(number, key, state, problem.schedule, problem.settings, recorder)
        for number, (key, state) in enumerate(zip(problem.keys, states, strict=True))
    ]
    if run is not None:
        for chain, known in zip(chains, kept, strict=True):
            chain.restore(known)
    return chains


def _warn_if_published(problem: Problem) -> None:
    published = [move.name for move, _ in problem.schedule if not move.exact]
    if published:
        warnings.warn(
            f"{' and '.join(published)} follows the paper as printed: the draws are not from the posterior, and are for "
            "comparison only.",
            UserWarning,
            stacklevel=4,
        )
