"""Rows in the memory of this process."""

from __future__ import annotations

import os
from typing import Any

from hashmix.core.validation import check_n_jobs, check_number
from hashmix.engines.contract import Engine, Spread
from hashmix.engines.in_process import InProcess
from hashmix.engines.kept import SHARE_OF_MEMORY
from hashmix.engines.shard import Shard

__all__ = ["Threads"]


class Threads(Engine):
    """One shard in this process, worked on by some threads, through the same messages as shards on other machines.

    Draws are those of :class:`~hashmix.engines.Dask` for the same seed, to the last bit.

    Parameters
    ----------
    n_jobs : int, optional
        Threads; None or -1 for one per processor. Does not change the result.
    memory : float, optional
        Bytes that rows read from files may take. If they take more, they are written once to a temporary file, and each pass
        reads it block by block. By default a third of this machine's memory. Does not change the result.

    Examples
    --------
    >>> import numpy as np, hashmix as hm
    >>> X = np.concatenate([np.random.default_rng(0).normal(m, 1.0, (50, 2)) for m in (-6, 6)])
    >>> model = hm.SplitMergeMixture("gaussian", n_draws=20, engine=hm.engines.Threads(2), random_state=0).fit(X)
    >>> model.n_clusters_
    2
    """

    def __init__(self, n_jobs: int | None = None, memory: float | None = None) -> None:
        self.n_jobs, self.memory = n_jobs, memory

    def open(self, X: Any, owner: str) -> Spread:
        """Make one shard of all rows."""
        n_threads = check_n_jobs("Threads", self.n_jobs)
        given = self.memory is not None
        memory = check_number("Threads", "memory", self.memory) if given else SHARE_OF_MEMORY * _memory_of_this_machine()
        return InProcess(X, owner, lambda layout, spans: Shard(layout, spans, n_threads, memory))


def _memory_of_this_machine() -> float:
    """Bytes of memory, if the system says so."""
    try:
        return float(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))
    except (AttributeError, ValueError, OSError):  # as on Windows
        return float("inf")
