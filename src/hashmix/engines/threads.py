"""Rows in the memory of this process."""

from __future__ import annotations

from typing import Any

from hashmix.core.validation import check_n_jobs
from hashmix.engines.contract import Engine, Spread
from hashmix.engines.in_process import InProcess
from hashmix.engines.shard import Shard

__all__ = ["Threads"]


class Threads(Engine):
    """One shard in this process, worked on by some threads, through the same messages as shards on other machines.

    Draws are those of :class:`~hashmix.engines.Dask` for the same seed, to the last bit.

    Parameters
    ----------
    n_jobs : int, optional
        Threads; None or -1 for one per processor. Does not change the result.

    Examples
    --------
    >>> import numpy as np, hashmix as hm
    >>> X = np.concatenate([np.random.default_rng(0).normal(m, 1.0, (50, 2)) for m in (-6, 6)])
    >>> model = hm.SplitMergeMixture("gaussian", n_draws=20, engine=hm.engines.Threads(2), random_state=0).fit(X)
    >>> model.n_clusters_
    2
    """

    def __init__(self, n_jobs: int | None = None) -> None:
        self.n_jobs = n_jobs

    def open(self, X: Any, owner: str) -> Spread:
        """Make one shard of all rows."""
        n_threads = check_n_jobs("Threads", self.n_jobs)
        return InProcess(X, owner, lambda layout, spans: Shard(layout, spans, n_threads))
