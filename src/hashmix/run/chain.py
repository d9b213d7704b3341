"""One chain: sweeps of a schedule, tuned during warm-up, and the draws they end in."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from hashmix.core.rng import numpy_generator, stream
from hashmix.moves import Schedule
from hashmix.moves.tally import FIELDS
from hashmix.moves.tuning import Tuner
from hashmix.partition.state import State
from hashmix.posterior import Posterior
from hashmix.run.folder import RunFolder
from hashmix.run.settings import RunSettings

__all__ = ["LOOSE_SWEEPS", "Chain", "Recorder", "Sweep", "leaves", "move_names", "with_leaves"]

#: Sweeps of warm-up, at most, in which clusters form with hyperparameters that let them change freely.
LOOSE_SWEEPS = 25
#: With more rows, a copy of the data in other coordinates would take too much memory.
_MOST_ROWS_IN_METRIC = 1_000_000
#: Sweeps after which a chain rebuilds its state from its labels. There it can be resumed.
_SWEEPS_PER_REBUILD = 20


class Sweep(NamedTuple):
    """Summary of one sweep, for callbacks.

    ``number`` counts from 1, warm-up included; ``seconds`` is the time since sampling began. ``tallies`` has one row per move
    of the schedule and the columns of ``Posterior.MOVE_FIELDS``. ``state`` must not be changed; its ``labels()`` are the
    partition.
    """

    chain: int
    number: int
    seconds: float
    n_clusters: int
    log_joint: float
    tallies: np.ndarray
    state: State

    def total(self, field: str) -> float:
        """Sum over moves of one of ``Posterior.MOVE_FIELDS``."""
        return float(self.tallies[:, Posterior.MOVE_FIELDS.index(field)].sum())


@dataclass
class Recorder:
    """Where chains write: the record of draws, the run folder if there is one, and who is told of every sweep."""

    record: Posterior
    begin: float
    run: RunFolder | None = None
    callback: Callable[[Sweep], Any] | None = None


class Chain:
    """One chain and what it has recorded so far.

    Parameters
    ----------
    number, key : int
        Its place among the chains, and the key of its random numbers.
    state : State
        Where it starts.
    schedule : Schedule
    settings : RunSettings
    recorder : Recorder, optional
        Where draws go; a chain without one only runs.
    """

    number: int
    key: int
    state: State
    schedule: Schedule
    settings: RunSettings
    begin: float
    sweeps: int
    draws: int
    names: list[str]
    held: int
    tuner: Tuner
    since_draw: np.ndarray
    seen: tuple[int, float]

    def __init__(
        self,
        number: int,
        key: int,
        state: State,
        schedule: Schedule,
        settings: RunSettings,
        recorder: Recorder | None = None,
    ) -> None:
        self.number, self.key, self.state, self.schedule, self.settings = number, key, state, schedule, settings
        self.recorder = recorder
        self.begin = time.perf_counter() if recorder is None else recorder.begin
        self.sweeps = 0
        self.draws = 0
        self.names = move_names(schedule)
        component = state.component
        held = max(component.sweeps_held, component.sweeps_held_from_one if state.n_clusters == 1 else 0)
        self.held = min(held, settings.n_warmup // 3)
        self.tuner = Tuner(schedule, state)
        self.since_draw = np.zeros((len(schedule), len(FIELDS) + 1))  # tallies and seconds
        self.seen = state.n_clusters, state.log_joint()  # for those who watch while the state is being changed
        self.kept: dict[str, np.ndarray] = {}

    @property
    def _sweep_of_metric(self) -> int:
        """The sweep of warm-up from which rows are hashed in the coordinates learned so far; −1 if there is none."""
        return self.settings.n_warmup // 2 if self.settings.n_warmup >= 2 else -1

    @property
    def finished(self) -> bool:
        """Whether all sweeps are done."""
        return self.sweeps >= self.settings.total_sweeps

    def sweep(self, stop: threading.Event) -> None:
        """Make one sweep, and record the draw it may end in; return early if told to stop."""
        state, n_warmup = self.state, self.settings.n_warmup
        state.sweep = self.sweeps
        warming_up = self.sweeps < n_warmup
        if self.sweeps == n_warmup:
            self.since_draw[:] = 0  # what happened during warm-up is not counted
        if self.sweeps == self._sweep_of_metric and state.n_rows <= _MOST_ROWS_IN_METRIC:
            metric = state.component.hash_metric(state.model)
            if metric is not None:
                state.hashed.use_metric(metric)
        if self.sweeps == min(LOOSE_SWEEPS, 2 * n_warmup // 3):
            state.settle()
        if self.sweeps >= self.held:
            state.learn(numpy_generator(self.key, self.sweeps, len(self.schedule) + 1))
        tallies = self._apply_moves(stop, warming_up)
        self.since_draw += tallies
        if stop.is_set():
            return
        if warming_up:
            self.tuner.share_out()
        if state.prior.learns_concentration:
            generator = numpy_generator(self.key, self.sweeps, len(self.schedule))
            drawn = state.prior.update_concentration(state.concentration, state.n_rows, state.n_clusters, generator)
            state.set_concentration(drawn)
        state.refresh_if_due()
        self.sweeps += 1
        self.seen = state.n_clusters, state.log_joint()
        if self.recorder is not None:
            self._record(self.recorder, tallies, stop)
        elif self.sweeps % _SWEEPS_PER_REBUILD == 0:
            state.rebuild()

    def _apply_moves(self, stop: threading.Event, warming_up: bool) -> np.ndarray:
        """Apply every move of the schedule; return the tallies and seconds of each."""
        tallies = np.zeros_like(self.since_draw)
        for m, (move, _) in enumerate(self.schedule):
            started = time.perf_counter()
            rng = stream(self.key, self.sweeps, m)
            if warming_up and self.tuner.is_work[m]:
                tally = self.tuner.warm_up(m, self.state, rng, stop.is_set)
            else:
                tally = move.apply(self.state, rng, self.tuner.times(m, self.key, self.sweeps), stop.is_set)
            tallies[m, :-1], tallies[m, -1] = tally, time.perf_counter() - started
        return tallies

    def _record(self, recorder: Recorder, tallies: np.ndarray, stop: threading.Event) -> None:
        """Tell the callback, write the draw that may be due, rebuild and checkpoint."""
        if recorder.callback is not None:
            seconds = time.perf_counter() - self.begin
            if recorder.callback(Sweep(self.number, self.sweeps, seconds, *self.seen, tallies, self.state)):
                stop.set()
        after = self.sweeps - self.settings.n_warmup
        if after > 0 and after % self.settings.thin == 0:
            self.write_draw()
        if self.sweeps % _SWEEPS_PER_REBUILD == 0:
            self.state.rebuild()
            self._checkpoint(now=False)
        if recorder.run is not None and self.finished:
            recorder.run.write(self.number, self.kept, [int(self.kept["draws"]), self.draws], now=True)

    def _checkpoint(self, now: bool) -> None:
        if self.recorder is not None and self.recorder.run is not None:
            self.kept = self.snapshot()
            self.recorder.run.write(self.number, self.kept, [self.draws], now)

    def snapshot(self) -> dict[str, np.ndarray]:
        """Everything that is needed to resume the chain here."""
        return {
            "labels": self.state.labels(),
            "concentration": np.array(self.state.concentration),
            "sweeps": np.array(self.sweeps),
            "held": np.array(self.held),
            "draws": np.array(self.draws),
            "tuner": self.tuner.snapshot(),
            "since_draw": self.since_draw.copy(),
            "seconds": np.array(time.perf_counter() - self.begin),
            "metric": np.empty(0) if self.state.hashed.metric is None else self.state.hashed.metric,
            **{f"model_{k}": np.asarray(leaf) for k, leaf in enumerate(leaves(self.state.model))},
        }

    def restore(self, kept: dict[str, Any] | None) -> None:
        """Resume from a checkpoint, whose draws are in the record; without one, write the first."""
        if kept is None:
            self._checkpoint(now=True)
            return
        n_leaves = sum(1 for _ in leaves(self.state.model))
        model = with_leaves(self.state.model, iter([kept[f"model_{k}"] for k in range(n_leaves)]))
        self.state.restore(kept["labels"], float(kept["concentration"]), model)
        self.sweeps, self.draws, self.held = int(kept["sweeps"]), int(kept["draws"]), int(kept["held"])
        if kept["metric"].size:
            self.state.hashed.use_metric(kept["metric"])
        self.tuner.restore(kept["tuner"])
        self.since_draw[:] = kept["since_draw"]
        self.begin -= float(kept["seconds"])
        self.kept = self.snapshot()
        if kept["finished"]:
            self.sweeps, self.draws = self.settings.total_sweeps, self.settings.n_draws

    def write_draw(self) -> None:
        """Record the current state as a draw."""
        assert self.recorder is not None
        here, record, state = (self.number, self.draws), self.recorder.record, self.state
        record.labels[here] = state.labels()
        record.n_clusters[here] = state.n_clusters
        record.log_likelihood[here] = state.log_likelihood()
        record.log_joint[here] = state.log_joint()
        record.concentration[here] = state.concentration
        for name, value in state.component.hyperparameters(state.model).items():
            record.hyperparameters[name][here] = value
        record.seconds[here] = time.perf_counter() - self.begin
        for name, values in zip(self.names, self.since_draw, strict=True):
            for field, value in zip(Posterior.MOVE_FIELDS, values, strict=True):
                record.move_stats[name][field][here] = value
        self.since_draw[:] = 0
        self.draws += 1


def leaves(model: Any) -> Iterator[Any]:
    """The arrays and numbers in a model: a tuple of them, and of tuples like it.

    Examples
    --------
    >>> from hashmix.run.chain import leaves
    >>> list(leaves((1.0, (2, 3.0))))
    [1.0, 2, 3.0]
    """
    for part in model:
        if isinstance(part, tuple):
            yield from leaves(part)
        else:
            yield part


def with_leaves(model: Any, values: Iterator[np.ndarray]) -> Any:
    """A model like this one with other arrays and numbers."""
    parts = []
    for part in model:
        if isinstance(part, tuple):
            parts.append(with_leaves(part, values))
        else:
            leaf = next(values)
            parts.append(leaf.astype(part.dtype) if isinstance(part, np.ndarray) else type(part)(leaf))
    return type(model)(*parts)


def move_names(schedule: Schedule) -> list[str]:
    """One name per move; a second move of the same name becomes "Name-2"."""
    names: list[str] = []
    for move, _ in schedule:
        same = sum(name.split("-")[0] == move.name for name in names)
        names.append(move.name if same == 0 else f"{move.name}-{same + 1}")
    return names
