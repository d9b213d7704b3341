"""Rows in the memory of this process."""

from __future__ import annotations

from typing import Any

from hashmix.core.validation import check_n_jobs
from hashmix.engines.blocks import block_size
from hashmix.engines.contract import Engine, LostShardError, Spread
from hashmix.engines.shard import Layout, Shard
from hashmix.engines.sources import as_source

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
        return _InProcess(X, check_n_jobs("Threads", self.n_jobs), owner)


class _InProcess(Spread):
    def __init__(self, X: Any, n_threads: int, owner: str) -> None:
        source = as_source(X, owner)
        parts = source.describe(map)
        super().__init__(Layout(parts.n_rows, block_size(parts.n_rows)), parts.n_columns, parts.dtype, parts.names)
        self.shard = Shard(self.layout, [(0, source.span(parts, 0, parts.n_rows))], n_threads)

    def perform(self, messages: list[tuple[str, dict[str, Any]]]) -> list[Any]:
        answers = [self.shard.answer(verb, arguments) for verb, arguments in messages]
        return [answers[-1]]

    def recover(self) -> None:
        raise LostShardError("Rows in this process cannot be lost.")

    def close(self) -> None:
        self.shard.parts = []
