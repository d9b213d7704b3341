"""One chain whose rows are spread over shards: sweeps, draws and checkpoints."""

from __future__ import annotations

import hashlib
import json
import shutil
import threading
import time
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from hashmix.core.files import write_atomically
from hashmix.core.rng import numpy_generator, stream
from hashmix.engines.checkpoints import LabelFile
from hashmix.engines.contract import LostShardError, Spread
from hashmix.moves.parallel.gibbs import offer_to_others
from hashmix.partition.members import canonical_labels
from hashmix.partition.target import Target
from hashmix.posterior import Posterior
from hashmix.run.chain import LOOSE_SWEEPS, Recorder, leaves, with_leaves
from hashmix.run.folder import SECONDS
from hashmix.run.settings import RunSettings
from hashmix.run.spread.clusters import Clusters
from hashmix.run.spread.moves import Done, draw_pool, gibbs, single_rows, split_merge, urn_merge
from hashmix.run.spread.singletons import singleton_merge

__all__ = ["MOVES", "DrawnClusters", "SpreadChain"]

#: The moves of a sweep, by name.
MOVES = ("ParallelGibbs", "ParallelSplitMerge", "UrnMerge", "Gibbs", "SingletonMerge")
#: How the anchors of splits and merges are drawn, sweep after sweep.
_ANCHORS = ("within", "near", "within", "uniform")
#: Pairs of anchors per cluster, in warm-up and after it: each takes as many statistics as a few clusters.
_PER_CLUSTER = (0.5, 0.125)
#: Least and largest number of pairs; rows of the pool per pair; single rows.
_LEAST_PAIRS, _MOST_PAIRS, _POOL, _SINGLE = 16, 4096, 4, 32
#: Proposals about clusters of one row: as many as pairs, but at most so many.
_MOST_SINGLETONS = 256
#: Losses without one sweep in between, after which a chain gives up.
_MOST_LOSSES = 10

# What numbers of a sweep are for, after the moves.
_LEARN, _CONCENTRATION, _START, _ROWS_OF_POOL = 10, 11, 12, 13


class DrawnClusters(NamedTuple):
    """The clusters of one draw: hyperparameters, concentration, and size and statistics of every cluster, over all rows."""

    model: Any
    concentration: float
    stats: np.ndarray


class SpreadChain:
    """One chain and what it has recorded so far.

    Parameters
    ----------
    number, key : int
        Its place among the chains, and the key of its random numbers.
    spread : Spread
        The rows.
    target : Target
        Component, prior and model, with the rows that the client has: a sample.
    sampled : array
        The numbers of these rows. Their labels are what is recorded.
    settings : RunSettings
    recorder : Recorder
    start : State or None
        A clustering of the sample to start from; None for one cluster.
    """

    def __init__(
        self,
        number: int,
        key: int,
        spread: Spread,
        target: Target,
        sampled: np.ndarray,
        settings: RunSettings,
        recorder: Recorder,
        start: Any = None,
    ) -> None:
        self.number, self.key, self.spread, self.target, self.sampled = number, key, spread, target, sampled
        self.settings, self.recorder, self.first = settings, recorder, start
        self.learner = target.component.learner(target.model, target.rows)
        self.begin = recorder.begin
        self.drawn: dict[int, DrawnClusters] = {}
        self.sums: dict[int, str] = {}
        self.kept: dict[str, np.ndarray] = {}
        self.files: list[LabelFile] = []
        self.sweeps = self.draws = self.held = self.n_pairs = 0
        self.since_draw = np.zeros((len(MOVES), len(Posterior.MOVE_FIELDS)))
        self.seen = (1, 0.0)
        self._last, self._losses = time.perf_counter(), 0
        self.clusters: Clusters | None = None

    @property
    def finished(self) -> bool:
        """Whether all sweeps are done."""
        return self.sweeps >= self.settings.total_sweeps

    # ---- sweeps ------------------------------------------------------------------------------------------------------------

    def sweep(self, stop: threading.Event) -> None:
        """Make one sweep, and record the draw it may end in. If a shard is lost, the next call goes back to a checkpoint."""
        try:
            if self._losses:
                self._go_back()
            self._sweep()
            self._losses = 0
        except LostShardError:
            self._losses += 1
            if self._losses > _MOST_LOSSES:
                raise

    def _sweep(self) -> None:
        if self.clusters is None:
            self._start()
        clusters, spread, n_warmup = self.clusters, self.spread, self.settings.n_warmup
        assert clusters is not None
        if self.sweeps == n_warmup:
            self.since_draw[:] = 0
        if self.sweeps == min(LOOSE_SWEEPS, 2 * n_warmup // 3):
            clusters.settle()
        if self.sweeps >= self.held:
            clusters.learn(self._generator(_LEARN))
        if self.sweeps <= n_warmup:  # afterwards the number must not depend on where the chain is
            share = _PER_CLUSTER[self.sweeps == n_warmup]
            self.n_pairs = int(np.clip(share * clusters.n_clusters, _LEAST_PAIRS, _MOST_PAIRS))
        anchors, pool = _ANCHORS[self.sweeps % len(_ANCHORS)], None
        for m in range(len(MOVES)):
            began, seed = time.perf_counter(), self._seed(m)
            if m == 1:
                pool = draw_pool(spread, self._seed(_ROWS_OF_POOL), _POOL * self.n_pairs)
            done = self._move(m, seed, anchors, pool)
            self.since_draw[m, [0, 1, 2, 3]] += done
            self.since_draw[m, 5] += time.perf_counter() - began
        clusters.learn_concentration(self._generator(_CONCENTRATION))
        if (labels := clusters.compact()) is not None:
            spread.later("relabel", labels=labels)
        self.sweeps += 1
        self.seen = clusters.n_clusters, clusters.log_joint()
        after = self.sweeps - n_warmup
        if after > 0 and after % self.settings.thin == 0:
            self.write_draw()
        self._checkpoint(now=self.finished)

    def _move(self, m: int, seed: int, anchors: str, pool: Any) -> Done:
        spread, clusters = self.spread, self.clusters
        assert clusters is not None
        if m == 0:
            return gibbs(spread, clusters, seed)
        if m == 1:
            return split_merge(spread, clusters, seed, anchors, self.n_pairs, pool)
        if m == 2:
            return urn_merge(spread, clusters, seed, self.n_pairs, pool)
        if m == 3:
            return single_rows(spread, clusters, seed, _SINGLE)
        return singleton_merge(spread, clusters, seed, min(self.n_pairs, _MOST_SINGLETONS))

    def _seed(self, purpose: int) -> int:
        return int(stream(self.key, self.sweeps, purpose).state[0])

    def _generator(self, purpose: int) -> np.random.Generator:
        return numpy_generator(self.key, self.sweeps, purpose)

    def _start(self) -> None:
        """Label all rows by the clusters of the sample, or put them into one cluster."""
        component, model, spread = self.target.component, self.target.model, self.spread
        self.sweeps = self.draws = self.n_pairs = 0
        self.since_draw = np.zeros((len(MOVES), len(Posterior.MOVE_FIELDS)))
        held = max(component.sweeps_held, component.sweeps_held_from_one if self.first is None else 0)
        self.held = min(held, self.settings.n_warmup // 3)
        spread.later("start")
        if self.first is None:
            capacity = 1
            spread.hold(model)
            found = spread.sum("statistics", capacity=1)
        else:
            model, seed = self.first.model, int(stream(self.key, _START).state[0])
            offer = offer_to_others(self.first, np.uint64(seed))
            capacity = len(offer.slots)
            spread.hold(model)
            found = spread.sum("assign", seed=seed, offer=offer)[:-1]
        table = found.reshape(capacity, -1)
        self.clusters = Clusters(component, self.target.prior, model, self.learner, spread.layout.n_rows, table)
        if self.first is not None:
            self.clusters.concentration = self.first.concentration
            self.clusters.restore(model, self.first.concentration, table)
        self._checkpoint(now=True)

    # ---- draws -------------------------------------------------------------------------------------------------------------

    def write_draw(self) -> None:
        """Record the labels of the sample, and what there is to know about the clusters."""
        clusters, record, here = self.clusters, self.recorder.record, (self.number, self.draws)
        assert clusters is not None
        labels = self.spread.rows_of(self.sampled, values=False).labels
        record.labels[here] = canonical_labels(labels, clusters.capacity)[0]
        # Clusters are numbered as the labels are; those without a sampled row come last.
        seen = labels[np.sort(np.unique(labels, return_index=True)[1])]
        order = np.append(seen, np.setdiff1d(clusters.used, seen))
        record.n_clusters[here], record.log_joint[here] = self.seen
        record.log_likelihood[here] = clusters.log_likelihood()
        record.concentration[here] = clusters.concentration
        for name, value in clusters.component.hyperparameters(clusters.model).items():
            record.hyperparameters[name][here] = value
        record.seconds[here] = time.perf_counter() - self.begin
        for name, values in zip(MOVES, self.since_draw, strict=True):
            for field, value in zip(Posterior.MOVE_FIELDS, values, strict=True):
                record.move_stats[name][field][here] = value
        self.since_draw[:] = 0
        self.drawn[self.draws] = DrawnClusters(clusters.model, clusters.concentration, clusters.statistics(order))
        self.draws += 1

    # ---- checkpoints -------------------------------------------------------------------------------------------------------

    @property
    def _folder(self) -> Path:
        assert self.recorder.run is not None
        return self.recorder.run.chain_folder(self.number)

    def _checkpoint(self, now: bool) -> None:
        """Have all labels written, and then, last, the manifest: what is needed to go on from here."""
        if self.recorder.run is None or not (now or time.perf_counter() - self._last >= SECONDS):
            return
        clusters = self.clusters
        assert clusters is not None
        labels = self._folder / f"rows-{self.sweeps:06d}"
        labels.mkdir(parents=True, exist_ok=True)
        files = [file for answer in self.spread.ask("save", folder=str(labels.absolute())) for file in answer]
        for draw in range(len(self.sums), self.draws):
            self._write_statistics(draw)
        about = {"sweeps": self.sweeps, "files": files, "statistics": [self.sums[d] for d in range(self.draws)]}
        self.kept = {
            "manifest": np.array(json.dumps(about)),
            "sweeps": np.array(self.sweeps),
            "draws": np.array(self.draws),
            "held": np.array(self.held),
            "n_pairs": np.array(self.n_pairs),
            "concentration": np.array(clusters.concentration),
            "table": clusters.table(),
            "since_draw": self.since_draw.copy(),
            "seconds": np.array(time.perf_counter() - self.begin),
            **{f"model_{k}": np.asarray(leaf) for k, leaf in enumerate(leaves(clusters.model))},
        }
        self.recorder.run.write(self.number, self.kept, [self.draws], now=True)
        for other in self._folder.glob("rows-*"):
            if other != labels:
                shutil.rmtree(other)
        self._last = time.perf_counter()

    def restore(self, kept: dict[str, Any]) -> None:
        """Go on from a checkpoint, whose draws are in the record."""
        target, about = self.target, json.loads(str(kept["manifest"]))
        model = self._model(kept, target.model)
        self.sweeps, self.draws, self.held = int(kept["sweeps"]), int(kept["draws"]), int(kept["held"])
        self.n_pairs, self.since_draw = int(kept["n_pairs"]), kept["since_draw"].copy()
        self.clusters = Clusters(target.component, target.prior, model, self.learner, self.spread.layout.n_rows, kept["table"])
        self.clusters.restore(model, float(kept["concentration"]), kept["table"])
        self.seen = self.clusters.n_clusters, self.clusters.log_joint()
        files = [LabelFile(int(first), int(n), str(name), str(sha)) for first, n, name, sha in about["files"]]
        folder = self._folder / f"rows-{int(about['sweeps']):06d}"
        self.spread.ask("restore", folder=str(folder.absolute()), files=files)
        self.sums = dict(enumerate(about["statistics"]))
        self.drawn = {draw: self.drawn.get(draw) or self._read_statistics(draw) for draw in range(self.draws)}
        self.kept = kept

    def resume(self, kept: dict[str, Any]) -> None:
        """Go on where an earlier process stopped."""
        self.restore(kept)
        self.begin -= float(kept["seconds"])
        if kept["finished"]:
            self.sweeps, self.draws = self.settings.total_sweeps, self.settings.n_draws

    def _go_back(self) -> None:
        """Replace lost shards, and go back to the last checkpoint, or to the start if there is none."""
        self.spread.forget()
        self.spread.recover()
        if self.kept:
            self.restore(self.kept)
        else:
            self.drawn, self.clusters = {}, None

    def _model(self, kept: dict[str, Any], like: Any) -> Any:
        n = sum(1 for _ in leaves(like))
        return with_leaves(like, iter([kept[f"model_{k}"] for k in range(n)]))

    def _write_statistics(self, draw: int) -> None:
        clusters = self.drawn[draw]
        arrays: Any = {f"model_{k}": np.asarray(leaf) for k, leaf in enumerate(leaves(clusters.model))}
        path = self._folder / f"clusters-{draw:06d}.npz"
        write_atomically(
            path, lambda file: np.savez(file, stats=clusters.stats, concentration=clusters.concentration, **arrays)
        )
        self.sums[draw] = hashlib.sha256(path.read_bytes()).hexdigest()

    def _read_statistics(self, draw: int) -> DrawnClusters:
        path = self._folder / f"clusters-{draw:06d}.npz"
        if not path.is_file() or hashlib.sha256(path.read_bytes()).hexdigest() != self.sums[draw]:
            raise ValueError(f"The run is damaged: {path.name} of {path.parent} is missing, or not what was written.")
        with np.load(path, allow_pickle=False) as file:
            kept = {name: file[name] for name in file.files}
        return DrawnClusters(self._model(kept, self.target.model), float(kept["concentration"]), kept["stats"])
