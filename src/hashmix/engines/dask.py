"""Rows in the memory of the workers of a Dask cluster."""

from __future__ import annotations

import contextlib
import itertools
import time
from collections.abc import Callable, Iterable, Iterator
from importlib.metadata import version
from typing import Any

import numpy as np

from hashmix.core.validation import bad_parameter, check_integer
from hashmix.engines.blocks import block_size, share_out
from hashmix.engines.contract import Engine, LostShardError, Spread
from hashmix.engines.remote import RemoteShard, WorkerError, asking_for_version
from hashmix.engines.shard import Layout, Preparation
from hashmix.engines.sources import ArraySource, Part, Parts, Source, as_source, common_parts

__all__ = ["Dask", "is_collection"]

#: Seconds between looks whether a worker that was asked is still there, and to wait for one that replaces a dead one.
_LOOK, _PATIENCE = 2.0, 60.0
#: Seconds from a loss until workers are counted.
_PAUSE = 0.5
#: How often spreading rows is tried while workers die.
_TRIES = 3
#: Numbers of the shards that were made in this process: their names must differ.
_NUMBERS = itertools.count()


class Dask(Engine):
    """One shard on each worker of a Dask cluster.

    Rows are a Dask array or DataFrame, whose chunks are computed where they are needed; files (a pattern or a list of .npy or
    .parquet) that workers read; or an array, which is sent once. Afterwards only statistics, parameters and anchors travel.
    Draws are those of :class:`~hashmix.engines.Threads` for the same seed, to the last bit, for any number of workers.

    Parameters
    ----------
    client : distributed.Client, optional
        A client of the cluster; by default the one that was made last in this process.
    n_jobs : int, optional
        Threads per worker; by default as many as the worker has.

    Examples
    --------
    >>> import hashmix as hm
    >>> hm.engines.Dask(n_jobs=2)
    Dask(client=None, n_jobs=2)
    """

    def __init__(self, client: Any = None, n_jobs: int | None = None) -> None:
        self.client = client
        self.n_jobs = None if n_jobs is None else check_integer("Dask", "n_jobs", n_jobs, low=1)

    def open(self, X: Any, owner: str) -> Spread:
        """Make a shard on every worker."""
        client = self.client if self.client is not None else _default_client()
        source = CollectionSource(X, owner, client) if is_collection(X) else as_source(X, owner)
        for _ in range(_TRIES - 1):
            with contextlib.suppress(LostShardError):  # a worker died meanwhile: others take its rows
                return _OnWorkers(client, source, self.n_jobs, owner)
        return _OnWorkers(client, source, self.n_jobs, owner)


@contextlib.contextmanager
def _noticing_losses() -> Iterator[None]:
    """Raise LostShardError instead of what Dask raises if a worker goes away."""
    try:
        yield
    except Exception as error:
        if isinstance(error, TimeoutError) or type(error).__module__.split(".")[0] == "distributed":
            raise LostShardError(f"A worker is gone ({error}).") from error
        raise


def _default_client() -> Any:
    try:
        from distributed import default_client
    except ImportError:
        raise ImportError("engine='dask' needs Dask: pip install 'hashmix[dask]'.") from None
    try:
        return default_client()
    except ValueError:
        raise ValueError("engine='dask' needs a client: make a distributed.Client, or pass engines.Dask(client).") from None


def is_collection(X: Any) -> bool:
    """Whether X is a Dask array or DataFrame.

    Examples
    --------
    >>> import numpy as np
    >>> from hashmix.engines.dask import is_collection
    >>> is_collection(np.eye(2))
    False
    """
    return hasattr(X, "__dask_graph__") and hasattr(X, "shape")


class CollectionSource(Source):
    """A Dask array or DataFrame: spans are futures of blocks of rows."""

    def __init__(self, X: Any, owner: str, client: Any) -> None:
        self.owner, self.client = owner, client
        self.names = [str(name) for name in X.columns] if hasattr(X, "columns") else None
        array = X.to_dask_array() if self.names is not None else X
        if array.ndim != 2 or array.dtype.kind not in "fbui":
            what = "a Dask array or DataFrame of numbers with two dimensions"
            raise bad_parameter(owner, "X", what, f"{array.dtype} with {array.ndim} dimensions")
        if np.isnan(np.array([size for sizes in array.chunks for size in sizes], float)).any():
            array = array.compute_chunk_sizes()
        self.array = array

    def describe(self, each: Callable[..., Iterable[Part]]) -> Parts:
        n, d = self.array.shape
        dtype = "float32" if self.array.dtype == np.float32 else "float64"
        return common_parts([Part("X", int(n), int(d), self.names, dtype)], self.owner)

    def span(self, parts: Parts, begin: int, end: int) -> Any:
        return self.array[begin:end].rechunk((end - begin, -1)).to_delayed()[0, 0]


class _OnWorkers(Spread):
    """Shards as actors, one on each worker."""

    def __init__(self, client: Any, source: Source, n_jobs: int | None, owner: str) -> None:
        self.client, self.source, self.n_jobs, self.owner = client, source, n_jobs, owner
        with _noticing_losses():
            self._check_workers()
            self.parts = source.describe(self._each)
        n = self.parts.n_rows
        super().__init__(Layout(n, block_size(n)), self.parts.n_columns, self.parts.dtype, self.parts.names)
        self.preparation: Preparation | None = None
        self.actors: dict[str, Any] = {}
        self.spans: dict[str, list[tuple[int, int]]] = {}
        self._futures: dict[str, Any] = {}
        workers = self._workers()
        shares = share_out(self.layout.n_blocks, len(workers))
        block = self.layout.block
        spans = {w: [(a * block, min(b * block, n))] for w, (a, b) in zip(workers, shares, strict=True) if a < b}
        self._all_spans = [span for theirs in spans.values() for span in theirs]
        self._settle(spans)

    # ---- workers -----------------------------------------------------------------------------------------------------------

    def _workers(self) -> list[str]:
        """Addresses of the workers, in the order in which they joined."""
        return list(self.client.scheduler_info(n_workers=-1)["workers"])

    def _check_workers(self) -> None:
        """Check that all workers have this version of hashmix."""
        if not self._workers():
            self.client.wait_for_workers(1, timeout=_PATIENCE)
        mine = version("hashmix")
        for worker, (theirs, why) in self.client.run(asking_for_version()).items():
            if theirs != mine:
                what = f"has no hashmix ({why})" if theirs is None else f"has hashmix {theirs}"
                raise RuntimeError(f"Worker {worker} {what}, the client {mine}: install the same version everywhere.")

    def _each(self, function: Callable[[Any], Part], arguments: list[Any]) -> list[Part]:
        """Describe parts on the workers."""
        if not arguments:
            return []
        futures = self.client.map(_described, [function] * len(arguments), arguments, pure=False)
        return [_value(found) for found in self.client.gather(futures)]

    def _settle(self, spans: dict[str, list[tuple[int, int]]]) -> None:
        """Make shards of spans of rows on workers."""
        with _noticing_losses():
            self._submit(spans)

    def _submit(self, spans: dict[str, list[tuple[int, int]]]) -> None:
        waiting = {}
        for worker, theirs in spans.items():
            sources = []
            for begin, end in theirs:
                span = self.source.span(self.parts, begin, end)
                if isinstance(self.source, ArraySource):
                    span = self.client.scatter(np.ascontiguousarray(span), workers=[worker], hash=False)
                elif isinstance(self.source, CollectionSource):
                    span = self.client.compute(span, workers=[worker], allow_other_workers=True)
                sources.append(span)
            key = f"hashmix-shard-{next(_NUMBERS)}-{time.time_ns()}"
            firsts = [begin for begin, _ in theirs]
            waiting[worker] = self.client.submit(
                RemoteShard, self.layout, firsts, self.n_jobs, *sources, key=key, workers=[worker], actor=True
            )
        for worker, future in waiting.items():
            self.actors[worker] = self._wait(worker, future)
            self.spans[worker] = spans[worker]
            self._futures[worker] = future
        opened = {worker: self.actors[worker].opened() for worker in waiting}
        for worker, answer in opened.items():
            _value(self._wait(worker, answer))

    def _wait(self, worker: str, future: Any) -> Any:
        """The result of a future; LostShardError if its worker goes away meanwhile."""
        while True:
            try:
                return future.result(timeout=_LOOK)
            except TimeoutError:
                if worker not in self._workers():
                    raise LostShardError(f"Worker {worker} is gone.") from None
            except Exception as error:  # errors of shards are answers: this is one of the connection
                raise LostShardError(f"Worker {worker} is gone ({type(error).__name__}: {error}).") from error

    # ---- messages ----------------------------------------------------------------------------------------------------------

    def perform(self, messages: list[tuple[str, dict[str, Any]]]) -> list[Any]:
        for verb, arguments in messages:
            if verb == "prepare":
                self.preparation = arguments["preparation"]
        try:
            pending = {worker: actor.perform(messages) for worker, actor in self.actors.items()}
        except RuntimeError as error:  # what an actor says whose worker is known to be gone
            raise LostShardError(str(error)) from error
        return [_value(self._wait(worker, answer)) for worker, answer in pending.items()]

    def recover(self) -> None:
        time.sleep(_PAUSE)  # until the scheduler knows who is gone
        deadline = time.monotonic() + _PATIENCE
        wanted = len(self.actors)
        while len(self._workers()) < wanted and time.monotonic() < deadline:
            time.sleep(0.1)
        there = self._workers()
        if not there:
            raise LostShardError("All workers are gone, and none came back.")
        alive = {worker for worker in self.actors if worker in there and self._answers(worker)}
        with contextlib.suppress(Exception):  # what was on dead workers must not be made again by the scheduler
            self.client.cancel([future for worker, future in self._futures.items() if worker not in alive])
        held = {span for worker in alive for span in self.spans[worker]}
        lost = [span for span in self._all_spans if span not in held]
        self.actors = {worker: self.actors[worker] for worker in alive}
        self.spans = {worker: self.spans[worker] for worker in alive}
        free = [worker for worker in there if worker not in alive] or sorted(alive)
        shares: dict[str, list[tuple[int, int]]] = {}
        for k, span in enumerate(lost):
            shares.setdefault(free[k % len(free)], []).append(span)
        for worker in shares.keys() & alive:  # no worker came back: some get more rows, and a new shard
            shares[worker] += self.spans.pop(worker)
            del self.actors[worker]
        new = list(shares)
        self._settle(shares)
        if self.preparation is not None:
            messages = [("prepare", {"preparation": self.preparation})]
            for worker, answer in {worker: self.actors[worker].perform(messages) for worker in new}.items():
                _value(self._wait(worker, answer))

    def _answers(self, worker: str) -> bool:
        """Whether a shard is still there."""
        try:
            _value(self._wait(worker, self.actors[worker].opened()))
        except (LostShardError, RuntimeError):
            return False
        return True

    def close(self) -> None:
        self.actors = {}
        with contextlib.suppress(Exception):  # a cluster that is gone has nothing to release
            self.client.cancel(list(self._futures.values()))
        self._futures = {}


def _described(function: Callable[[Any], Part], argument: Any) -> Any:
    return WorkerError.instead_of(lambda: function(argument)._replace(where=f"worker {_address()}"))


def _address() -> str:
    from distributed import get_worker

    return str(get_worker().address)


def _value(answer: Any) -> Any:
    """What a worker answered; its error is raised here."""
    if isinstance(answer, WorkerError):
        raise answer.error()
    return answer
