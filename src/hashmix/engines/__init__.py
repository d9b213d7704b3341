"""Engines: where rows are, and who works on them, behind one small contract (:mod:`hashmix.engines.shard`)."""

from __future__ import annotations

from typing import Any

from hashmix.core.registry import Registry
from hashmix.core.validation import bad_parameter
from hashmix.engines.contract import Engine
from hashmix.engines.cuda import Cuda
from hashmix.engines.dask import Dask, is_collection
from hashmix.engines.sources import is_files
from hashmix.engines.threads import Threads

__all__ = ["ENGINES", "Cuda", "Dask", "Engine", "Threads"]

#: The engines that have a name.
ENGINES: Registry[Engine] = Registry("engine", Engine)
ENGINES.add("threads", Threads)
ENGINES.add("dask", Dask)
ENGINES.add("cuda", Cuda)


def engine_for(X: Any, engine: str | Engine, owner: str) -> Engine | None:
    """The engine that rows X go to; None if they stay in this process, where every move can be had.

    Examples
    --------
    >>> import numpy as np, hashmix as hm
    >>> hm.engines.engine_for(np.eye(2), "dask", "sample")
    Dask(client=None, n_jobs=None)
    >>> hm.engines.engine_for(np.eye(2), "threads", "sample") is None
    True
    """
    if isinstance(engine, Engine):
        return engine
    name = ENGINES.check(engine, owner)
    if name == "threads":
        if is_files(X):
            what = "rows, or files with an engine, such as engine=hm.engines.Threads() or 'dask'"
            raise bad_parameter(owner, "X", what, X)
        return Dask() if is_collection(X) else None
    return ENGINES[name]()
