"""Engines: where rows are, and who works on them, behind one small contract (:mod:`hashmix.engines.shard`)."""

from __future__ import annotations

from hashmix.core.registry import Registry
from hashmix.engines.contract import Engine
from hashmix.engines.cuda import Cuda
from hashmix.engines.dask import Dask
from hashmix.engines.threads import Threads

__all__ = ["ENGINES", "Cuda", "Dask", "Engine", "Threads"]

#: The engines that have a name.
ENGINES: Registry[Engine] = Registry("engine", Engine)
ENGINES.add("threads", Threads)
ENGINES.add("dask", Dask)
ENGINES.add("cuda", Cuda)
