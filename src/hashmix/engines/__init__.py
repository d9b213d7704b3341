"""Engines: where rows are, and who works on them, behind one small contract (:mod:`hashmix.engines.shard`)."""

from __future__ import annotations

from hashmix.engines.contract import Engine
from hashmix.engines.dask import Dask
from hashmix.engines.threads import Threads

__all__ = ["Dask", "Engine", "Threads"]
