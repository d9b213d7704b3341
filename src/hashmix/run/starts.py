"""Where chains start: one cluster, singletons, hashed neighbourhoods (of texts: relabelled), or given labels."""

from __future__ import annotations

import math
import threading
import warnings
from dataclasses import replace
from typing import Any, NamedTuple, cast

import numpy as np

from hashmix.components.contract import Component
from hashmix.core.compiling import borrowed, kernel
from hashmix.core.rng import numpy_generator, stream
from hashmix.core.threads import Threads
from hashmix.core.validation import bad_parameter, check_n_jobs
from hashmix.core.wording import counted
from hashmix.data.rows import SparseRows
from hashmix.hashing import NeighbourLists
from hashmix.hashing.chain_tables import ChainTables
from hashmix.moves import resolve_moves
from hashmix.moves.parallel.gibbs import assign_rows
from hashmix.partition.state import State
from hashmix.partition.target import Target
from hashmix.posterior import Posterior
from hashmix.run.chain import Chain
from hashmix.run.settings import RunSettings
from hashmix.run.shared_words import n_looked_up, relabelled

__all__ = ["Trial", "check_starts", "clustered", "first_states", "n_learned", "neighbourhoods", "try_starts"]

_NAMES = ("auto", "buckets", "single", "singletons")
#: Components are tried on about this many entries of the rows, and on a number of rows between these, in so many sweeps.
_ENTRIES_TRIED, _LEAST_TRIED, _MOST_TRIED, _SWEEPS_TRIED = 60_000, 2_500, 10_000, 30
#: Up to this many rows, both starts are tried twice: it costs little.
_TRIED_TWICE = 500
#: A trial from neighbourhoods is given up, in its first sweeps, if so many gains like its last ones would leave it behind.
#: Gains shrink from sweep to sweep: on seventeen data sets, no trial that would have won was given up.
_GAINS_TO_COME, _SWEEPS_TO_CONVINCE = 15, 10
#: A start on many rows grows from the rows that were tried: samples have this many times as many rows, one after the other, and
#: are clustered in so many sweeps each.
_GROWTH, _SWEEPS_OF_SAMPLE = 8, 10
#: Other components: up to this many rows, a chain starts from neighbourhoods. Of more rows, one in _SAMPLED is clustered first.
_FEW_ROWS, _SAMPLED, _SWEEPS = 20_000, 8, 30
#: Components that do not start from a sample: beyond this many rows, rows left over between neighbourhoods join one
#: instead of opening clusters, which would take too much memory.
_ROWS_FOR_MANY_CLUSTERS = 200_000
#: Neighbourhoods are relabelled by shared words if that looks up no more entries of lists per row and round: texts are short.
#: With long texts, lists are so long that relabelling takes longer than the chain, for little or no gain.
_MOST_LOOKED_UP = 5_000


def check_starts(init: Any, n: int, n_chains: int, owner: str) -> list[Any]:
    """Validate an ``init`` parameter: where each chain starts, by name, as labels, or where the chains of a posterior ended.

    Examples
    --------
    >>> from hashmix.run.starts import check_starts
    >>> check_starts("single", 3, 2, "sample")
    ['single', 'single']
    """
    allowed = f"one of {', '.join(map(repr, _NAMES))}, {n} labels (integers ≥ 0), one of these for each chain, or a Posterior"

    def one(start: Any) -> Any:
        if isinstance(start, str):
            if start not in _NAMES:
                raise bad_parameter(owner, "init", allowed, start)
            return start
        labels = np.asarray(start)
        if labels.shape != (n,) or labels.dtype.kind not in "iu" or labels.min() < 0:
            raise bad_parameter(owner, "init", allowed, start)
        return np.unique(labels, return_inverse=True)[1]

    if isinstance(init, Posterior):
        if init.n_chains < n_chains:
            raise bad_parameter(owner, "init", f"a Posterior with at least {n_chains} chains", counted(init.n_chains, "chain"))
        return [one(init.labels[chain, -1]) for chain in range(n_chains)]
    per_chain = isinstance(init, (list, tuple)) and any(isinstance(start, str) or np.ndim(start) == 1 for start in init)
    if per_chain or (not isinstance(init, str) and np.ndim(init) == 2):
        if len(init) != n_chains:
            raise bad_parameter(owner, "init", allowed, init)
        return [one(start) for start in init]
    return [one(init)] * n_chains


def first_states(
    target: Target, starts: list[Any], keys: list[int], n_jobs: int | None, tried: dict[int, Trial] | None = None
) -> list[State]:
    """The states chains start in. Lists of neighbours are found once for all chains, and threads are shared out to them.

    ``tried`` are trials that were made before, by the key of their chain.
    """
    rows = target.component.hashed(target.rows)
    workers = check_n_jobs("sample", n_jobs)
    per_chain = max(1, workers // min(len(keys), workers))
    first = ChainTables(rows, keys[0], n_jobs)
    hashed = [first] + [ChainTables(rows, key, n_jobs, first) for key in keys[1:]]
    trials = dict(tried or {})
    for start, key, tables in zip(starts, keys, hashed, strict=True):
        if _is_tried(start, target) and key not in trials:
            trials[key] = try_starts(target, key, tables.n_jobs, like=next(iter(trials.values()), None))

    def state(chain: int) -> State:
        labels = _start_labels(starts[chain], target, keys[chain], hashed[chain], trials)
        return State(target, labels, hashed[chain], threads=Threads(per_chain))

    return Threads(min(len(keys), workers)).map(state, range(len(keys)))


def _is_tried(start: Any, target: Target) -> bool:
    """Whether a start takes a trial."""
    return isinstance(start, str) and start == "auto" and target.component.moves_with_parameters


def _start_labels(start: Any, target: Target, key: int, tables: ChainTables, trials: dict[int, Trial]) -> np.ndarray:
    """Labels of all rows."""
    if not isinstance(start, str):
        return start
    n = target.rows.n_rows
    if _is_tried(start, target):
        return _labels_from_trial(target, trials[key], key, tables.n_jobs)
    concentration = target.component.word_concentration(target.model)
    if start == "auto" and concentration is not None:
        return _labels_by_words(cast(SparseRows, target.rows), concentration, key, tables)
    if start in ("auto", "buckets"):
        return _hashed_labels(target, key, tables)
    return np.zeros(n, np.int64) if start == "single" else np.arange(n)


def _labels_from_trial(target: Target, trial: Trial, key: int, n_jobs: int | None) -> np.ndarray:
    """Labels of all rows, given the clusters of the rows that were tried.

    A sweep of a sample costs a fraction of a sweep of all rows, and most clusters can be seen in it. So larger and larger
    samples are clustered, each from the labels that the clusters of the one before give its rows.
    """
    n, state, threads = target.rows.n_rows, trial.state, Threads(check_n_jobs("sample", n_jobs))
    if n == state.n_rows:
        return state.labels()
    seed = stream(key, 1).state[0]
    while _GROWTH * state.n_rows < n:
        chosen = _chosen_rows(n, _GROWTH * state.n_rows, key)
        labels = assign_rows(state, target.rows.take(chosen), seed, threads)
        state = _clustered_sample(target, chosen, labels, key, n_jobs, "auto", _SWEEPS_OF_SAMPLE)
    return assign_rows(state, target.rows, seed, threads)


def _chosen_rows(n: int, m: int, key: int) -> np.ndarray:
    """A random sample of m rows, in increasing order; all rows if there are no more."""
    return np.arange(n) if m >= n else np.sort(numpy_generator(key, 0).choice(n, m, replace=False))


class Trial(NamedTuple):
    """A short chain on some rows: where it started, where it is, and the mean log joint of its last sweeps."""

    start: str
    state: State
    log_joint: float

    @property
    def evidence(self) -> float:
        """The log joint, less half the logarithm of the number of clusters for every hyperparameter that was learned.

        Clusters are what hyperparameters are learned from. If every row is a cluster, they describe the rows as well as the
        parameters of one cluster would; the log joint charges for these, but not for hyperparameters.
        """
        return self.log_joint - 0.5 * n_learned(self.state.component, self.state.model) * math.log(self.state.n_clusters)


def try_starts(target: Target, key: int, n_jobs: int | None, at_least: float = -math.inf, like: Trial | None = None) -> Trial:
    """The better of two short chains on a sample of the rows, one from one cluster and one from neighbourhoods.

    From one cluster, a chain finds few large clusters and may miss that they consist of many. From neighbourhoods it finds
    many, and pieces of large clusters may persist. The higher evidence decides. Components whose parameters stay integrated
    out start from neighbourhoods.

    Trials that will not reach the log joint ``at_least`` need not be finished. If another chain was tried already, and rows are
    many, only the start that was the better one there is tried.
    """
    most = min(max(_LEAST_TRIED, _ENTRIES_TRIED // target.rows.n_columns), _MOST_TRIED)
    chosen = _chosen_rows(target.rows.n_rows, most, key)
    starts: tuple[str, ...] = ("single", "buckets") if target.component.moves_with_parameters else ("buckets",)
    if target.rows.n_columns > target.component.most_columns_from_neighbourhoods:
        starts = ("single",)
    keys = (key, key + 1) if len(chosen) <= _TRIED_TWICE else (key,)
    if like is not None and len(keys) == 1:
        starts = (like.start,)
    trials: list[Trial] = []
    # What a sample might warn of, all rows do.
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for k in keys:
            for start in starts:
                trials.append(_trial(target, chosen, start, k, n_jobs, at_least))
                at_least = max(at_least, trials[-1].log_joint)
    return max(trials, key=lambda trial: trial.evidence)


def n_learned(component: Component, model: Any) -> int:
    """The number of hyperparameters that are learned; a matrix is symmetric.

    Examples
    --------
    >>> import numpy as np, hashmix as hm
    >>> from hashmix.data.rows import as_dense
    >>> from hashmix.run.starts import n_learned
    >>> rows = as_dense(np.eye(3))
    >>> component = hm.components.DiagonalGaussian.from_data(rows, learn=True)
    >>> n_learned(component, component.model(rows))  # three means, three rates, and kappa
    7
    """
    values = map(np.asarray, component.hyperparameters(model).values())
    return sum(len(value) * (len(value) + 1) // 2 if value.ndim == 2 else value.size for value in values)


def clustered(target: Target, key: int, n_jobs: int | None) -> State:
    """A chain on the rows after some sweeps, from the better start: what more rows may start from."""
    trial = try_starts(target, key, n_jobs)
    if trial.state.n_rows == target.rows.n_rows:
        return trial.state
    labels = _labels_from_trial(target, trial, key, n_jobs)
    return _clustered_sample(target, np.arange(target.rows.n_rows), labels, key, n_jobs, "auto", _SWEEPS_OF_SAMPLE)


def _trial(target: Target, chosen: np.ndarray, start: str, key: int, n_jobs: int | None, at_least: float) -> Trial:
    """A short chain on the chosen rows, given up early if it is hopeless; the mean log joint is that of five sweeps."""
    chain = _chain_on(target, chosen, start, key, n_jobs, "auto", _SWEEPS_TRIED)
    log_joints: list[float] = []
    while len(log_joints) < _SWEEPS_TRIED:
        chain.sweep(threading.Event())
        log_joints.append(chain.seen[1])
        if start == "buckets" and len(chosen) > _TRIED_TWICE and _is_hopeless(log_joints, at_least):
            break
    return Trial(start, chain.state, float(np.mean(log_joints[-5:])))


def _is_hopeless(log_joints: list[float], at_least: float) -> bool:
    """Whether a trial would stay below a log joint even if it gained far more than can be expected."""
    if not 2 <= len(log_joints) <= _SWEEPS_TO_CONVINCE:
        return False
    last_gains = np.diff(log_joints[-3:])
    return log_joints[-1] + _GAINS_TO_COME * max(0.0, float(np.mean(last_gains))) < at_least


def _hashed_labels(target: Target, key: int, tables: ChainTables) -> np.ndarray:
    """Labels from neighbourhoods, joined if their rows are in one cluster of a sample that was clustered first.

    Neighbourhoods alone are many and small. If clusters are not what the component assumes, pieces of them persist for
    long; a sample has less evidence for pieces.
    """
    n, from_sample = target.rows.n_rows, target.component.starts_from_sample
    pieces = _pieces(key, tables, n > (_FEW_ROWS if from_sample else _ROWS_FOR_MANY_CLUSTERS))
    if n <= _FEW_ROWS or not from_sample:
        return pieces
    chosen = np.sort(_visits(n, key)[: max(n // _SAMPLED, _FEW_ROWS // 2)])
    labels = _clustered_sample(target, chosen, "auto", key, tables.n_jobs, "lss", _SWEEPS).labels()
    # A piece joins the cluster that most of its chosen rows are in: of its pairs, sorted by count, the last one stays.
    n_pieces, k = int(pieces.max()) + 1, int(labels.max()) + 1
    pairs, counts = np.unique(pieces[chosen].astype(np.int64) * k + labels, return_counts=True)
    pairs = pairs[np.argsort(counts, kind="stable")]
    joined = k + np.arange(n_pieces)
    joined[pairs // k] = pairs % k
    return joined[pieces]


def _visits(n: int, key: int) -> np.ndarray:
    """The order in which rows open neighbourhoods."""
    return numpy_generator(key, 0).permutation(n).astype(np.int32)


def _pieces(key: int, tables: ChainTables, few: bool) -> np.ndarray:
    """Labels from neighbourhoods."""
    return neighbourhoods(tables.tables(NeighbourLists(), 0, None).lists, _visits(tables.rows.n_rows, key), few)


def _labels_by_words(rows: SparseRows, concentration: float, key: int, tables: ChainTables) -> np.ndarray:
    """Labels from neighbourhoods, relabelled by the words that rows share unless that takes too long."""
    pieces = _pieces(key, tables, rows.n_rows > _ROWS_FOR_MANY_CLUSTERS)
    if n_looked_up(rows, int(pieces.max()) + 1) > _MOST_LOOKED_UP * rows.n_rows:
        return pieces
    return relabelled(rows, pieces, concentration, key, Threads(check_n_jobs("sample", tables.n_jobs)))


def _clustered_sample(
    target: Target, chosen: np.ndarray, start: Any, key: int, n_jobs: int | None, moves: str, n_sweeps: int
) -> State:
    """The state of a chain on the chosen rows after some sweeps."""
    chain = _chain_on(target, chosen, start, key, n_jobs, moves, n_sweeps)
    for _ in range(n_sweeps):
        chain.sweep(threading.Event())
    return chain.state


def _chain_on(target: Target, chosen: np.ndarray, start: Any, key: int, n_jobs: int | None, moves: str, n_sweeps: int) -> Chain:
    """A chain on the chosen rows that will make some sweeps."""
    rows = target.rows if len(chosen) == target.rows.n_rows else target.rows.take(chosen)
    sample = replace(target, rows=rows, model=target.component.model(rows))
    state = first_states(sample, [start], [key], n_jobs)[0]
    schedule = resolve_moves(moves, "sample", target.component)
    return Chain(0, key, state, schedule, RunSettings(n_draws=1, n_warmup=n_sweeps + 1))


@kernel
def neighbourhoods(lists, order, few):
    """Visit rows in an order; each that is in no cluster yet opens one with those of its neighbours that are in none.

    If there are to be ``few`` clusters, a row instead joins the cluster of its nearest neighbour that is in one, if any is.
    """
    lists, order = borrowed(lists), borrowed(order)
    labels = np.full(len(lists), -1, np.int32)
    found = 0
    for i in order:
        at = lists.shape[1] - 1
        while few and labels[i] < 0 and at > 0:
            labels[i] = labels[lists[i, at]]
            at -= 1
        if labels[i] < 0:
            for at in range(lists.shape[1]):
                if labels[lists[i, at]] < 0:
                    labels[lists[i, at]] = found
            found += 1
    return labels
