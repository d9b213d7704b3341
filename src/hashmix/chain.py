"""One chain: sweeps of a schedule, tuned during warm-up, and the draws they end in."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from hashmix.moves import Schedule
from hashmix.moves.tuning import Tuner
from hashmix.posterior import Posterior
from hashmix.rng import numpy_generator, stream
from hashmix.state import State

if TYPE_CHECKING:
    from hashmix.runs import RunFolder

__all__ = ["Chain", "Sweep", "leaves", "move_names"]


#: A chain's state is built anew from its labels whenever it has made so many sweeps: there, it can be taken up again.
_SWEEPS_PER_REBUILD = 20


class Sweep(NamedTuple):
    """What one sweep came to.

    ``number`` counts from 1, warm-up included; ``seconds`` since sampling began; ``counts`` has a line a move of the schedule
    and the columns of ``Posterior.MOVE_FIELDS``. ``state`` must not be changed: its ``labels()`` are the partition.
    """

    chain: int
    number: int
    seconds: float
    n_clusters: int
    log_joint: float
    counts: np.ndarray
    state: State


class Chain:
    """One chain and what it has recorded so far."""

    def __init__(
        self,
        number: int,
        key: int,
        state: State,
        schedule: Schedule,
        record: Posterior,
        n_warmup: int,
        thin: int,
        begin: float,
        run: RunFolder | None = None,
        callback: Callable[[Sweep], Any] | None = None,
    ) -> None:
        self.number, self.key, self.state, self.schedule = number, key, state, schedule
        self.record, self.n_warmup, self.thin, self.begin = record, n_warmup, thin, begin
        self.sweeps = 0
        self.draws = 0
        self.names = move_names(schedule)
        self.held = min(state.component.sweeps_held, n_warmup // 2)
        self.tuner = Tuner(schedule, state)
        self.since_draw = np.zeros((len(schedule), len(Posterior.MOVE_FIELDS)))
        self.total_sweeps = n_warmup + thin * record.n_draws
        self.run, self.callback = run, callback
        self.seen = state.n_clusters, state.log_joint()  # for those who watch, while the state is being changed

    def sweep(self, stop: threading.Event) -> None:
        """One sweep, and the draw it may end in; left in the middle when told to stop."""
        state = self.state
        state.sweep = self.sweeps
        warming_up = self.sweeps < self.n_warmup
        if self.sweeps == self.n_warmup:
            self.since_draw[:] = 0  # what happened during warm-up is not counted
        made = np.zeros_like(self.since_draw)
        if self.sweeps >= self.held:
            state.learn(numpy_generator(self.key, self.sweeps, len(self.schedule) + 1))
        for m, (move, _) in enumerate(self.schedule):
            started = time.perf_counter()
            rng = stream(self.key, self.sweeps, m)
            if warming_up and self.tuner.is_work[m]:
                counts = self.tuner.warm_up(m, state, rng, stop.is_set)
            else:
                counts = move.apply(state, rng, self.tuner.times(m, self.key, self.sweeps), stop.is_set)
            made[m, :-1], made[m, -1] = counts, time.perf_counter() - started
        self.since_draw += made
        if stop.is_set():
            return
        if warming_up:
            self.tuner.share_out()
        if state.prior.learns_concentration:
            generator = numpy_generator(self.key, self.sweeps, len(self.schedule))
            n = len(state.partition.labels)
            state.set_concentration(state.prior.update_concentration(state.concentration, n, state.n_clusters, generator))
        state.refresh_if_due()
        self.sweeps += 1
        self.seen = state.n_clusters, state.log_joint()
        if self.callback is not None and self.callback(
            Sweep(self.number, self.sweeps, time.perf_counter() - self.begin, *self.seen, made, state)
        ):
            stop.set()
        if self.sweeps > self.n_warmup and (self.sweeps - self.n_warmup) % self.thin == 0:
            self.write_draw()
        if self.sweeps % _SWEEPS_PER_REBUILD == 0:
            state.rebuild()
            self._checkpoint(now=False)
        if self.run is not None and self.sweeps >= self.total_sweeps:
            self.run.write(self.number, self.kept, [int(self.kept["draws"]), self.draws], now=True)

    def _checkpoint(self, now: bool) -> None:
        if self.run is not None:
            self.kept = self.snapshot()
            self.run.write(self.number, self.kept, [self.draws], now)

    def snapshot(self) -> dict[str, np.ndarray]:
        """What a chain that goes on from here must know."""
        return {
            "labels": self.state.labels(),
            "concentration": np.array(self.state.concentration),
            "sweeps": np.array(self.sweeps),
            "draws": np.array(self.draws),
            "tuner": self.tuner.snapshot(),
            "since_draw": self.since_draw.copy(),
            "seconds": np.array(time.perf_counter() - self.begin),
            **{f"model_{k}": np.asarray(leaf) for k, leaf in enumerate(leaves(self.state.model))},
        }

    def restore(self, kept: dict[str, Any] | None) -> None:
        """Go on from a checkpoint of the run folder, whose draws are in the record; without one, write the first."""
        if kept is None:
            self._checkpoint(now=True)
            return
        n_leaves = sum(1 for _ in leaves(self.state.model))
        model = _with_leaves(self.state.model, iter([kept[f"model_{k}"] for k in range(n_leaves)]))
        self.state.restore(kept["labels"], float(kept["concentration"]), model)
        self.sweeps, self.draws = int(kept["sweeps"]), int(kept["draws"])
        self.tuner.restore(kept["tuner"])
        self.since_draw[:] = kept["since_draw"]
        self.begin -= float(kept["seconds"])
        self.kept = self.snapshot()
        if kept["finished"]:
            self.sweeps, self.draws = self.total_sweeps, self.record.n_draws

    def write_draw(self) -> None:
        """Record the state as it is."""
        here, record, state = (self.number, self.draws), self.record, self.state
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
    """The arrays and numbers in a model: a tuple of these, and of tuples like it.

    Examples
    --------
    >>> from hashmix.chain import leaves
    >>> list(leaves((1.0, (2, 3.0))))
    [1.0, 2, 3.0]
    """
    for part in model:
        if isinstance(part, tuple):
            yield from leaves(part)
        else:
            yield part


def _with_leaves(model: Any, leaves: Iterator[np.ndarray]) -> Any:
    """A model like this one with other arrays and numbers."""
    parts = []
    for part in model:
        if isinstance(part, tuple):
            parts.append(_with_leaves(part, leaves))
        else:
            leaf = next(leaves)
            parts.append(leaf.astype(part.dtype) if isinstance(part, np.ndarray) else type(part)(leaf))
    return type(model)(*parts)


def move_names(schedule: Schedule) -> list[str]:
    """One name per move; a second move of the same name becomes "Name-2"."""
    names: list[str] = []
    for move, _ in schedule:
        same = sum(name.split("-")[0] == move.name for name in names)
        names.append(move.name if same == 0 else f"{move.name}-{same + 1}")
    return names
