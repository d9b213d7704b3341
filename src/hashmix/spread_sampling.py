"""Sampling with an engine: rows stay where they are, and chains talk to their shards."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from hashmix.components import Component
from hashmix.components.contract import DenseSlots
from hashmix.core.rng import numpy_generator
from hashmix.core.threads import one_blas_thread
from hashmix.core.validation import bad_parameter
from hashmix.data.dequantise import Lattice
from hashmix.data.rows import DenseRows
from hashmix.engines.contract import Spread
from hashmix.engines.shard import Preparation
from hashmix.posterior import Posterior
from hashmix.priors import PartitionPrior
from hashmix.problem import Problem
from hashmix.run.chain import Recorder
from hashmix.run.folder import RunFolder
from hashmix.run.settings import RunSettings
from hashmix.run.spread.chain import MOVES, DrawnClusters, SpreadChain
from hashmix.run.starts import clustered
from hashmix.run.together import finish, run_chains

__all__ = ["Sampled", "sample_spread"]

#: Rows that the client looks at: hyperparameters start from them, and their labels are what a posterior holds.
SAMPLE = 20_000


class Sampled(NamedTuple):
    """Draws of a chain on an engine.

    Attributes
    ----------
    posterior : Posterior
        Labels of a sample of the rows; everything else is of all rows.
    problem : Problem
        What was sampled; its rows are the sample.
    rows : array
        The numbers of the sampled rows.
    clusters : list of list of DrawnClusters
        For each chain and draw the clusters, with statistics of all rows, in the order of the labels.
    first : array
        The values of the first row, before columns were left out.
    """

    posterior: Posterior
    problem: Problem
    rows: np.ndarray
    clusters: list[list[DrawnClusters]]
    first: np.ndarray


def sample_spread(
    spread: Spread,
    component: str | Component,
    prior: str | PartitionPrior,
    moves: Any,
    settings: RunSettings,
    owner: str = "sample",
    sample_size: int = SAMPLE,
) -> Sampled:
    """Draw partitions of rows that are spread over shards; see :func:`hashmix.sample` for the parameters.

    The chain's moves are those of :mod:`hashmix.run.spread.moves`. The posterior holds the labels of ``sample_size`` rows,
    drawn once; numbers of clusters, log joints and the statistics of clusters are of all rows.

    Examples
    --------
    >>> import numpy as np, hashmix as hm
    >>> from hashmix.run.settings import RunSettings
    >>> from hashmix.spread_sampling import sample_spread
    >>> spread = hm.engines.Threads(1).open(np.random.default_rng(0).normal(size=(40, 1)), "sample")
    >>> component = hm.components.DiagonalGaussian(0.0, 0.1, 2.0, 1.0)
    >>> sampled = sample_spread(spread, component, "auto", "auto", RunSettings(n_draws=5, random_state=0))
    >>> sampled.posterior.labels.shape
    (1, 5, 40)
    """
    _check(moves, settings, owner)
    n = spread.layout.n_rows
    rows = np.arange(n) if n <= sample_size else np.sort(numpy_generator(0, n).choice(n, sample_size, replace=False))
    values = spread.rows_of(rows).values
    problem = Problem.resolve(values, component, prior, "auto", settings, owner)
    problem = _prepared(problem, spread, rows, isinstance(component, str), owner)
    settings, key = problem.settings, problem.keys[0]
    about = problem.describe() | {"moves": "engine", "n_rows": n}
    if len(rows) < n:
        about["labels_of"] = f"{len(rows)} of {n} rows"
    learned = problem.target.component.hyperparameters(problem.target.model)
    stored = settings.run_dir is not None
    record = Posterior.empty(settings.n_chains, settings.n_draws, len(rows), list(MOVES), about, learned, stored=stored)
    run = None
    if settings.run_dir is not None:
        identity = problem.identity(record)
        identity["settings"] |= {"moves": "engine", "n_rows": n}
        run = RunFolder(settings.run_dir, identity, record)
    try:
        with one_blas_thread():
            start = None if settings.init == "single" else clustered(problem.target, key, settings.n_jobs)
            begin = time.perf_counter()
            recorder = Recorder(record, begin, run)
            chains = [
                SpreadChain(c, chain_key, spread, problem.target, rows, settings, recorder, start)
                for c, chain_key in enumerate(problem.keys)
            ]
            stopped_by = None
            for chain in chains:  # one after the other: shards hold the labels of one chain
                kept = None if run is None else run.checkpoint(chain.number)
                if kept is not None:
                    chain.resume(kept)
                stopped_by = stopped_by or run_chains([chain], settings, begin)
    finally:
        if run is not None:
            run.close()
    record.settings["n_sweeps"] = max(chain.sweeps for chain in chains)
    posterior = finish(record, [chain for chain in chains if chain.sweeps], stopped_by)
    long_enough = [chain for chain in chains if chain.draws >= posterior.n_draws][: posterior.n_chains]
    drawn = [[chain.drawn[d] for d in range(posterior.n_draws)] for chain in long_enough]
    return Sampled(posterior, problem, rows, drawn, values[0].astype(np.float64))


def _check(moves: Any, settings: RunSettings, owner: str) -> None:
    if not isinstance(moves, str) or moves != "auto":
        raise bad_parameter(owner, "moves", "'auto' with an engine, which has a schedule of its own", moves)
    if not isinstance(settings.init, str) or settings.init not in ("auto", "single"):
        raise bad_parameter(owner, "init", "'auto' or 'single' with an engine", settings.init)
    if settings.callback is not None:
        raise bad_parameter(owner, "callback", "None with an engine", settings.callback)


def _prepared(problem: Problem, spread: Spread, rows: np.ndarray, named: bool, owner: str) -> Problem:
    """Have shards prepare their rows as those of the sample were, and take the sample from them."""
    target = problem.target
    slots = target.component.slots(target.model, 1)
    if not (isinstance(slots, DenseSlots) and type(target.rows) is DenseRows and target.component.moves_with_parameters):
        what = "a Gaussian ('gaussian' or 'gaussian-full') with an engine"
        raise bad_parameter(owner, "component", what, target.component)
    source: Any = problem.source
    lattice = Lattice.of(source) if named and problem.dequantised.any() else None
    spread.later("prepare", preparation=Preparation(target.component, problem.columns, lattice, problem.keys[0]))
    values = spread.rows_of(rows).values
    return replace(problem, target=replace(target, rows=DenseRows(values)))
