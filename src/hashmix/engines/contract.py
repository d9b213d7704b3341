"""What a chain needs of an engine: rows that are spread over shards, told and asked all at once."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import numpy as np

from hashmix.core.declared import Declared
from hashmix.engines.blocks import total
from hashmix.engines.shard import Layout, SomeRows

__all__ = ["Engine", "LostShardError", "Spread"]


class LostShardError(Exception):
    """A worker died, or lost its shard: labels must be restored before the chain goes on."""


class Spread(ABC):
    """Rows that are spread over shards.

    All shards get the same messages, in the same order: a verb of :class:`~hashmix.engines.shard.Shard` and its arguments.

    Attributes
    ----------
    layout : Layout
        Number of rows, and rows per block.
    n_columns : int
    dtype : dtype
        float32 or float64.
    feature_names : list of str or None
        Names of the columns, if they have any.
    """

    def __init__(self, layout: Layout, n_columns: int, dtype: Any, feature_names: list[str] | None = None) -> None:
        self.layout, self.n_columns, self.dtype, self.feature_names = layout, n_columns, np.dtype(dtype), feature_names
        self._queue: list[tuple[str, dict[str, Any]]] = []
        self._held: Any = None

    @abstractmethod
    def perform(self, messages: list[tuple[str, dict[str, Any]]]) -> list[Any]:
        """Send messages to all shards; return every shard's answer to the last. Raise LostShardError if a shard is gone."""

    @abstractmethod
    def recover(self) -> None:
        """Replace what was lost: afterwards all shards hold their rows, prepared, and labels that mean nothing."""

    @abstractmethod
    def close(self) -> None:
        """Release the shards."""

    def later(self, verb: str, **arguments: Any) -> None:
        """Send a message together with the next that is asked."""
        self._queue.append((verb, arguments))

    def ask(self, verb: str, **arguments: Any) -> list[Any]:
        """Send a message; return the answers of all shards."""
        messages, self._queue = [*self._queue, (verb, arguments)], []
        return self.perform(messages)

    def hold(self, model: Any) -> None:
        """Send a model, unless it is the one that shards hold."""
        if model is not self._held:
            self.later("hold", model=model)
            self._held = model

    def forget(self) -> None:
        """Drop messages that were not sent yet: the labels they are about are no longer there, and models may not have come."""
        self._queue, self._held = [], None

    def sum(self, verb: str, **arguments: Any) -> np.ndarray:
        """Send a message whose answers are sums over blocks; return the sum over all blocks."""
        return total(self.ask(verb, **arguments), self.layout.n_blocks)

    def rows_of(self, numbers: np.ndarray, values: bool = True) -> SomeRows:
        """Labels and, if wanted, values of some rows, in the order asked for."""
        answers = self.ask("rows_of", numbers=numbers, values=values)
        places = np.concatenate([answer.places for answer in answers])
        if not np.array_equal(np.sort(places), np.arange(len(numbers))):
            raise LostShardError("Some rows are in no shard, or in two.")
        order = np.argsort(places)
        found = np.concatenate([answer.values.astype(self.dtype) for answer in answers if len(answer.values)] or [np.empty(0)])
        return SomeRows(
            places[order], np.concatenate([answer.labels for answer in answers])[order], found[order] if values else found
        )


class Engine(Declared, ABC):
    """Where rows are, and who works on them."""

    @abstractmethod
    def open(self, X: Any, owner: str) -> Spread:
        """Spread rows over shards."""
