"""Threads of one chain, for kernels that release the GIL."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

from threadpoolctl import ThreadpoolController

__all__ = ["Threads", "one_blas_thread"]


class Threads:
    """A pool of threads that runs kernels on parts of the data.

    Results must not depend on the number of threads: tasks are cut by the data alone, every task writes to a place of its
    own, and sums over tasks are taken in the order of the tasks.

    Parameters
    ----------
    n : int, default=1
        Number of threads. With one, tasks run in the caller's thread.

    Examples
    --------
    >>> from hashmix.core.threads import Threads
    >>> Threads(2).map(abs, [-1, 2, -3])
    [1, 2, 3]
    """

    def __init__(self, n: int = 1) -> None:
        self.n = n
        self._pool: ThreadPoolExecutor | None = None

    def map(self, work: Callable[[Any], Any], tasks: Iterable[Any]) -> list[Any]:
        """Run ``work`` on every task; return the results in the order of the tasks."""
        tasks = list(tasks)
        with one_blas_thread():
            if self.n == 1 or len(tasks) <= 1:
                return [work(task) for task in tasks]
            if self._pool is None:
                self._pool = ThreadPoolExecutor(self.n, thread_name_prefix="hashmix-rows")
            return list(self._pool.map(work, tasks))


_LOCK = threading.Lock()
_INSIDE = 0
_CONTROLLER: ThreadpoolController | None = None
_LIMITER: Any = None


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Let every call of BLAS use one thread: the callers are threads already.

    The limit holds for the process. Whoever is first to enter sets it, and whoever is last to leave removes it. Libraries
    take the limit from the thread that set it first, usually the main thread: sampling enters before it starts its threads.

    Examples
    --------
    >>> from hashmix.core.threads import one_blas_thread
    >>> with one_blas_thread():
    ...     pass
    """
    global _INSIDE, _CONTROLLER, _LIMITER
    with _LOCK:
        _INSIDE += 1
        if _INSIDE == 1:
            if _CONTROLLER is None:
                _CONTROLLER = ThreadpoolController()
            _LIMITER = _CONTROLLER.limit(limits=1, user_api="blas")
            _LIMITER.__enter__()
    try:
        yield
    finally:
        with _LOCK:
            _INSIDE -= 1
            if _INSIDE == 0:
                _LIMITER.__exit__(None, None, None)
