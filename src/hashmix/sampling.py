"""sample(): runs a schedule of moves over chains and makes a Posterior."""

from __future__ import annotations

import hashlib
import os
import threading
import time
import warnings
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from importlib.metadata import version
from typing import Any

import numpy as np

from hashmix.chain import Chain, Sweep, leaves, move_names
from hashmix.components import Component, prepare
from hashmix.first_states import first_states
from hashmix.hashing.chain_tables import ChainTables
from hashmix.hashing.rows import first_rows, n_rows
from hashmix.moves import Move, Schedule, Work, default_prior, resolve_moves
from hashmix.posterior import Posterior
from hashmix.priors import PartitionPrior, resolve_prior
from hashmix.progress import progress_bar
from hashmix.rng import chain_keys
from hashmix.runs import RunFolder, fingerprint, known_keys
from hashmix.starts import check_starts
from hashmix.validation import check_integer, check_n_jobs, check_number

__all__ = ["sample"]


def sample(
    X: Any,
    component: str | Component = "auto",
    prior: str | PartitionPrior = "auto",
    moves: str | Move | Sequence[tuple[Move, float | Work]] = "lss",
    *,
    n_draws: int,
    n_warmup: int = 0,
    thin: int = 1,
    n_chains: int = 1,
    random_state: Any = None,
    init: Any = "single",
    max_seconds: float | None = None,
    n_jobs: int | None = None,
    progress: bool = False,
    run_dir: str | os.PathLike | None = None,
    callback: Callable[[Sweep], Any] | None = None,
) -> Posterior:
    """Draw partitions of the rows of X from their posterior.

    A draw is recorded every ``thin`` sweeps after ``n_warmup`` sweeps. A sweep updates the component's hyperparameters if
    they are learned, applies each move of the schedule as often as its weight says, then updates the concentration if
    the prior learns it. What is tuned is tuned during warm-up, and then frozen. The same seed gives the same draws for any
    number of workers.

    Parameters
    ----------
    X : array or sparse matrix of shape (n_samples, n_features)
        Finite numbers, not copied when they are C-contiguous float32 or float64; or counts, dense or sparse, of which the
        columns' indices are not copied when X is in CSR format with sorted indices.
    component : str or Component, default="auto"
        How a cluster makes data; see :func:`hashmix.components.resolve_component`. For a string, hyperparameters are
        learned, and columns with a single value are left out: they say nothing about clusters.
    prior : str or PartitionPrior, default="auto"
        How clusters share points; see :func:`hashmix.priors.resolve_prior`. "auto" is a Dirichlet process (and flat for the
        published moves, whose ratio knows no prior).
    moves : str, Move or list of (Move, weight), default="lss"
        The schedule; see :func:`hashmix.moves.resolve_moves`.
    n_draws : int
        Draws to record in each chain.
    n_warmup : int, default=0
        Sweeps before the first.
    thin : int, default=1
        Sweeps per draw.
    n_chains : int, default=1
        Independent chains.
    random_state : None, int, SeedSequence, Generator or RandomState
        Where randomness comes from.
    init : str, array of labels, or a sequence of these with one entry per chain
        Where chains start: "single" (one cluster), "singletons", "buckets" (hashed neighbourhoods; also "auto"), or labels
        of shape (n_samples,).
    max_seconds : float, optional
        Stop after this time (compilation not counted) with the draws so far.
    n_jobs : int, optional
        Threads to run chains, and to hash, in; None or -1 for one per processor. Does not change the result.
    progress : bool, default=False
        Show a progress bar in a terminal or a notebook (needs tqdm): clusters, log joint, sweeps a second and time left.
    run_dir : path, optional
        A folder that draws are written to as they come, every ten seconds or so (at least 20 sweeps), with the state of the
        chains. A call with the same data and settings (``n_draws`` may have grown) goes on from there, to the same draws to
        the last bit as if it had never been interrupted. Labels then stay on disk; see :meth:`Posterior.load`.
    callback : callable, optional
        Called after every sweep of every chain, warm-up included, with a :class:`hashmix.chain.Sweep`, in the thread of the
        chain. If it returns something true, sampling stops with the draws so far.

    Returns
    -------
    Posterior
        The draws. Ctrl-C also returns the draws so far (a second one, while chains stop, aborts). When chains were
        stopped at different lengths, the longest rectangle of chains and draws is kept.

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
    return sample_and_tables(
        X,
        component,
        prior,
        moves,
        n_draws=n_draws,
        n_warmup=n_warmup,
        thin=thin,
        n_chains=n_chains,
        random_state=random_state,
        init=init,
        max_seconds=max_seconds,
        n_jobs=n_jobs,
        progress=progress,
        run_dir=run_dir,
        callback=callback,
    )[0]


def sample_and_tables(
    X: Any,
    component: str | Component,
    prior: str | PartitionPrior,
    moves: str | Move | Sequence[tuple[Move, float | Work]],
    *,
    n_draws: int,
    n_warmup: int,
    thin: int,
    n_chains: int,
    random_state: Any,
    init: Any,
    max_seconds: float | None,
    n_jobs: int | None,
    progress: bool,
    run_dir: str | os.PathLike | None,
    callback: Callable[[Sweep], Any] | None = None,
) -> tuple[Posterior, ChainTables]:
    """What :func:`sample` returns, and the hash tables of the first chain."""
    owner = "sample"
    component, X, _ = prepare(component, X, owner)
    n = n_rows(X)
    n_draws = check_integer(owner, "n_draws", n_draws, low=1)
    n_warmup = check_integer(owner, "n_warmup", n_warmup, low=0)
    thin = check_integer(owner, "thin", thin, low=1)
    n_chains = check_integer(owner, "n_chains", n_chains, low=1)
    n_workers = min(check_n_jobs(owner, n_jobs), n_chains)
    if max_seconds is not None:
        max_seconds = check_number(owner, "max_seconds", max_seconds)
    schedule = resolve_moves(moves, owner)
    prior = resolve_prior(prior, owner, default_prior(schedule))
    starts = check_starts(init, n, n_chains, owner)
    keys = chain_keys(random_state, n_chains)
    if run_dir is not None and random_state is None:
        keys = known_keys(run_dir) or keys

    settings = {
        "component": repr(component),
        "prior": repr(prior),
        "moves": repr(schedule),
        "exact": all(move.exact for move, _ in schedule),
        "n_warmup": n_warmup,
        "thin": thin,
        "random_state": int(random_state) if isinstance(random_state, (int, np.integer)) else None,
        "hashmix_version": version("hashmix"),
    }
    model = component.model(X)
    learned = component.hyperparameters(model)
    record = Posterior.empty(n_chains, n_draws, n, move_names(schedule), settings, learned, stored=run_dir is not None)
    run = None if run_dir is None else RunFolder(run_dir, _about(settings, X, model, keys, starts, record), record)
    try:
        _warn_if_published(schedule)
        # No work, but compiled, and on two rows, so that hashing counts as the work it is: max_seconds is for sampling.
        few = first_states(first_rows(X, 2), component, prior, ["auto"], keys[:1], model, n_jobs)[0]
        for move, _ in schedule:
            move.compile(few)
        begin = time.perf_counter()
        kept = [None if run is None else run.checkpoint(c) for c in range(n_chains)]
        starts = [start if known is None else known["labels"] for start, known in zip(starts, kept, strict=True)]
        states = first_states(X, component, prior, starts, keys, model, n_jobs)
        if not np.isfinite([state.log_joint() for state in states]).all():
            raise ValueError("The start has no finite log joint: X lies too far outside what the component expects.")
        chains = [
            Chain(c, key, state, schedule, record, n_warmup, thin, begin, run, callback)
            for c, (key, state) in enumerate(zip(keys, states, strict=True))
        ]
        if run is not None:
            for chain, known in zip(chains, kept, strict=True):
                chain.restore(known)
        deadline = None if max_seconds is None else begin + max_seconds
        stopped_by = _run(chains, n_workers, deadline, progress)
    finally:
        if run is not None:
            run.close()
    settings["n_sweeps"] = max(chain.sweeps for chain in chains)
    settings["tuned_moves"] = [repr(chain.tuner.frozen()) for chain in chains]
    return _finish(record, chains, stopped_by), states[0].hashed


def _about(settings: dict[str, Any], X: Any, model: Any, keys: list[int], init: Any, record: Posterior) -> dict[str, Any]:
    """What a run folder must know to refuse other data or settings, and to be read."""
    digest = hashlib.sha256()
    for leaf in leaves(model):
        digest.update(np.ascontiguousarray(leaf).data)
    if not isinstance(init, str):
        init = [start if isinstance(start, str) else hashlib.sha256(np.asarray(start).data).hexdigest() for start in init]
    mine = {name: value for name, value in settings.items() if name != "hashmix_version" and value is not None}
    return {
        "settings": mine
        | {"n_chains": record.n_chains, "keys": [str(key) for key in keys], "init": init, "model": digest.hexdigest()},
        "data": fingerprint(X),
        "recorded": {
            "n_samples": record.n_samples,
            "moves": list(record.move_stats),
            "hyperparameters": {name: list(values.shape[2:]) for name, values in record.hyperparameters.items()},
        },
    }


def _run(chains: list[Chain], n_workers: int, deadline: float | None, progress: bool) -> str | None:
    """Run all chains to their end; say what stopped them earlier, if anything did."""
    stop = threading.Event()
    stopped_by = None

    def work(mine: list[Chain]) -> None:
        # Chains of one worker take turns, so that being stopped leaves them equally long.
        while mine := [chain for chain in mine if chain.sweeps < chain.total_sweeps]:
            for chain in mine:
                if stop.is_set():
                    return
                chain.sweep(stop)

    with (
        progress_bar(sum(c.total_sweeps for c in chains), sum(c.sweeps for c in chains), progress) as show,
        ThreadPoolExecutor(n_workers, thread_name_prefix="hashmix") as pool,
    ):
        pending = {pool.submit(work, chains[w::n_workers]) for w in range(n_workers)}
        try:
            while pending:
                left = 0.1 if deadline is None else min(0.1, max(0.0, deadline - time.perf_counter()))
                done, pending = wait(pending, timeout=left, return_when=FIRST_EXCEPTION)
                for future in done:
                    future.result()
                show(sum(chain.sweeps for chain in chains), *chains[0].seen)
                if stop.is_set() and stopped_by is None:
                    stopped_by = "callback"
                if pending and not stop.is_set() and deadline is not None and time.perf_counter() >= deadline:
                    stopped_by = "max_seconds"
                    stop.set()
        except KeyboardInterrupt:
            stopped_by = "interrupt"
        finally:
            stop.set()
    return stopped_by


def _finish(record: Posterior, chains: list[Chain], stopped_by: str | None) -> Posterior:
    """The draws that were made; a stop during warm-up keeps the state it was in."""
    if stopped_by is None or all(chain.sweeps >= chain.total_sweeps for chain in chains):
        return record
    word = {"interrupt": "Interrupted", "max_seconds": "Out of time (max_seconds)", "callback": "Stopped by the callback"}[
        stopped_by
    ]
    if not any(chain.draws for chain in chains):
        for chain in chains:
            chain.write_draw()
        warnings.warn(
            f"{word} after {chains[0].sweeps} sweeps, before the first draw: the state reached is returned as the only draw, "
            "and is not a sample from the posterior.",
            UserWarning,
            stacklevel=3,
        )
        return record.rectangle(range(len(chains)), 1)
    lengths = sorted((chain.draws for chain in chains), reverse=True)
    # The rectangle (chains × draws) that keeps the most.
    n_kept = max(range(1, len(lengths) + 1), key=lambda k: k * lengths[k - 1])
    shortest = lengths[n_kept - 1]
    kept = [chain.number for chain in chains if chain.draws >= shortest][:n_kept]
    warnings.warn(
        f"{word}: {shortest} of {record.n_draws} draws in {n_kept} of {len(chains)} chains are returned.",
        UserWarning,
        stacklevel=3,
    )
    return record.rectangle(kept, shortest)


def _warn_if_published(schedule: Schedule) -> None:
    published = [move.name for move, _ in schedule if not move.exact]
    if published:
        warnings.warn(
            f"{' and '.join(published)} follows the paper as printed: the draws are not from the posterior, and are for "
            "comparison only.",
            UserWarning,
            stacklevel=3,
        )
