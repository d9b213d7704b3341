"""What runs on workers: a shard behind an actor, and errors that name the worker."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from hashmix.engines.kept import SHARE_OF_MEMORY
from hashmix.engines.shard import Layout, Shard

__all__ = ["RemoteShard", "WorkerError", "asking_for_version"]

#: Errors that are about what the user gave; others are raised as RuntimeError.
_KINDS: dict[str, type[Exception]] = {
    kind.__name__: kind for kind in (ValueError, TypeError, FileNotFoundError, OSError, MemoryError, ImportError)
}


class WorkerError(NamedTuple):
    """An error on a worker, as it travels: its kind, what it says and where it happened."""

    kind: str
    text: str
    worker: str

    @classmethod
    def instead_of(cls, work: Callable[[], Any]) -> Any:
        """The result of a function, or the error it raised."""
        from distributed import get_worker

        try:
            return work()
        except Exception as error:
            text = f"too little memory: {error}" if isinstance(error, MemoryError) else str(error)
            kind = next((one.__name__ for one in type(error).__mro__ if one.__name__ in _KINDS), type(error).__name__)
            return cls(kind, text, str(get_worker().address))

    def error(self) -> Exception:
        """The error, to be raised by the client."""
        text = f"{self.text.rstrip('.')} (on worker {self.worker})."
        return _KINDS[self.kind](text) if self.kind in _KINDS else RuntimeError(f"{self.kind}: {text}")


class RemoteShard:
    """A shard that a worker holds. Errors are answers: an actor that raises would not say where."""

    def __init__(self, layout: Layout, firsts: list[int], n_jobs: int | None, *sources: Any) -> None:
        from distributed import get_worker

        worker = get_worker()
        n_threads, limit = n_jobs or worker.state.nthreads, worker.memory_manager.memory_limit
        memory = SHARE_OF_MEMORY * limit if limit else float("inf")
        spans = zip(firsts, sources, strict=True)
        self._shard = WorkerError.instead_of(lambda: Shard(layout, spans, n_threads, memory, worker.local_directory))

    def opened(self) -> Any:
        """Nothing, or the error that reading the rows ended in."""
        return self._shard if isinstance(self._shard, WorkerError) else None

    def perform(self, messages: list[tuple[str, dict[str, Any]]]) -> Any:
        """Answer the last of some messages."""
        if isinstance(self._shard, WorkerError):
            return self._shard
        return WorkerError.instead_of(lambda: [self._shard.answer(verb, arguments) for verb, arguments in messages][-1])


def asking_for_version() -> Callable[[], tuple[str | None, str]]:
    """A function that says which version of hashmix a worker has, or why it has none.

    It is sent as it is, not by its name, because a worker without hashmix could not look that up.
    """

    def ask() -> tuple[str | None, str]:
        import importlib

        try:
            return str(importlib.import_module("hashmix").__version__), ""
        except Exception as error:
            return None, f"{type(error).__name__}: {error}"

    return ask
