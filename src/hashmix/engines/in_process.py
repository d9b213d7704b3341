"""All rows in one shard of this process."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from hashmix.engines.blocks import block_size
from hashmix.engines.contract import LostShardError, Spread
from hashmix.engines.shard import Layout, Shard
from hashmix.engines.sources import as_source

__all__ = ["InProcess"]


class InProcess(Spread):
    """One shard, called instead of sent messages.

    Parameters
    ----------
    X : array or files
    owner : str
        Who asks, as error messages name it.
    make : callable
        Makes the shard from the layout and the spans of rows.
    """

    def __init__(self, X: Any, owner: str, make: Callable[[Layout, Iterable[tuple[int, Any]]], Shard]) -> None:
        source = as_source(X, owner)
        parts = source.describe(map)
        super().__init__(Layout(parts.n_rows, block_size(parts.n_rows)), parts.n_columns, parts.dtype, parts.names)
        self.shard: Shard | None = make(self.layout, [(0, source.span(parts, 0, parts.n_rows))])

    def perform(self, messages: list[tuple[str, dict[str, Any]]]) -> list[Any]:
        assert self.shard is not None
        answers = [self.shard.answer(verb, arguments) for verb, arguments in messages]
        return [answers[-1]]

    def recover(self) -> None:
        raise LostShardError("Rows in this process cannot be lost.")

    def close(self) -> None:
        self.shard = None
