"""A shard: rows and their labels, wherever they are, and the few things a chain asks of them.

A shard never sees the rows of another. What it is told (parameters, anchors, seeds) and what it answers (sums over blocks of
rows, ranks of leaders, a few rows) does not grow with the number of rows. All that is random is keyed by the seed it is told
and by the *global* number of a row.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

import numpy as np

from hashmix.components.contract import Component, DenseSlots
from hashmix.core.threads import Threads
from hashmix.data.dequantise import Lattice, spread
from hashmix.data.rows import DenseArrays, DenseRows
from hashmix.engines.blocks import Sums, climb
from hashmix.engines.checkpoints import LabelFile, read_labels, write_labels
from hashmix.engines.kept import Kept, keep_all
from hashmix.engines.kernels import least_members, list_block, sum_block, toss_chunks
from hashmix.moves.parallel.choosing import Offer, Room, choose_among_all
from hashmix.moves.parallel.pairs import Pairs
from hashmix.moves.parallel.passes import PASS, Segments, draw_chunks, fill_anchors, nearest_chunks
from hashmix.partition.leaders import least_ranks

__all__ = ["Layout", "Preparation", "SentPairs", "Shard", "SomeRows", "anchor_slots", "no_ranks"]

#: Blocks that are summed before their sums are added up, per thread.
_AT_ONCE = 4


class Layout(NamedTuple):
    """How all rows are cut into blocks: the same for every shard."""

    n_rows: int
    block: int

    @property
    def n_blocks(self) -> int:
        """Number of blocks."""
        return -(-self.n_rows // self.block)


class Preparation(NamedTuple):
    """What becomes of rows as they were read: the columns that are left, and the cells that values are spread in."""

    component: Component
    columns: np.ndarray
    lattice: Lattice | None
    key: int

    def of(self, first: int, begin: int, values: np.ndarray) -> np.ndarray:
        """Rows from ``first + begin`` on, prepared."""
        rows = DenseRows(np.ascontiguousarray(values[:, self.columns]))
        return (rows if self.lattice is None else spread(rows, self.lattice, self.key, first + begin)).values


class SentPairs(NamedTuple):
    """Pairs of anchors as shards are told of them: of every label its pair and side (−1 for none), and the anchors."""

    pair_of: np.ndarray  # (labels,)
    side_of: np.ndarray  # (labels,)
    u: np.ndarray  # (P,) global numbers
    v: np.ndarray
    anchors: np.ndarray  # (2P, D) rows u, v, u, v, …
    is_split: np.ndarray  # (P,)


class SomeRows(NamedTuple):
    """Rows that were asked for by number: their places in the question, their labels and, if wanted, their values."""

    places: np.ndarray
    labels: np.ndarray
    values: np.ndarray


@dataclass
class _Part:
    """Consecutive rows, from a global number that begins a block."""

    first: int
    rows: Kept
    labels: np.ndarray

    @property
    def end(self) -> int:
        return self.first + len(self.labels)

    def local(self, numbers: np.ndarray) -> np.ndarray:
        """Local numbers of rows; −1 for those that are elsewhere."""
        return _local(numbers, self.first, self.end)


class _Block(NamedTuple):
    """Rows ``begin`` to ``end`` of a part, and the block's number; kernels number its rows from 0."""

    part: _Part
    number: int
    begin: int
    end: int

    @property
    def first(self) -> int:
        """The number of the first row among all rows."""
        return self.part.first + self.begin

    @property
    def labels(self) -> np.ndarray:
        """The labels themselves: what is written to them stays."""
        return self.part.labels[self.begin : self.end]

    def data(self) -> DenseArrays:
        """The rows, read if they are on disk: to be asked for once for each pass."""
        return DenseRows(self.part.rows.block(self.begin, self.end)).arrays

    def local(self, numbers: np.ndarray) -> np.ndarray:
        """Numbers of rows within the block; −1 for those that are elsewhere."""
        return _local(numbers, self.first, self.part.first + self.end)


class _Listed(NamedTuple):
    """The rows of pairs in a block: a chunk for each pair that has some. As small as can be: it may be about all rows."""

    block: _Block
    rows: np.ndarray  # within the block, in so few bytes as their number allows
    sides: np.ndarray
    forced: np.ndarray  # the sides at first of the rows of merges
    proposals: np.ndarray
    begins: np.ndarray
    ends: np.ndarray

    def of_pairs(self, values: np.ndarray) -> np.ndarray:
        """For every row what belongs to its pair."""
        return np.repeat(values[self.proposals], self.ends - self.begins)

    def segments(self) -> Segments:
        """The chunks as kernels take them; what is written to the sides stays."""
        return Segments(self.rows.astype(np.int32), self.sides, self.begins, self.ends - self.begins)


class Shard:
    """Rows of some blocks, and their labels.

    The methods without underscore are the *verbs* of an engine. A verb that sums over rows returns the sums of complete
    subtrees of blocks (:mod:`hashmix.engines.blocks`).

    Parameters
    ----------
    layout : Layout
    spans : list of (first, rows)
        The global number of a first row, and an array, or an object whose ``chunks(n_rows)`` are read.
    n_threads : int, default=1
    memory : float, optional
        Bytes that rows which are read may take. If they take more, they are written to a temporary file, and read from there
        block by block. Does not change what a shard answers.
    folder : str, optional
        The folder of this file.

    Examples
    --------
    >>> import numpy as np
    >>> from hashmix.engines.shard import Layout, Shard
    >>> shard = Shard(Layout(4, 2), [(2, np.array([[5.0], [6.0]]))])
    >>> shard.rows_of(np.array([0, 3])).values
    array([[6.]])
    """

    #: What a shard can be asked.
    VERBS: ClassVar = frozenset(
        [
            "prepare",
            "hold",
            "start",
            "rows_of",
            "write",
            "relabel",
            "save",
            "restore",
            "statistics",
            "leaders",
            "assign",
            "members",
            "divide",
            "nearest",
            "draw",
            "toss",
            "commit",
        ]
    )

    def __init__(
        self,
        layout: Layout,
        spans: Iterable[tuple[int, Any]],
        n_threads: int = 1,
        memory: float = np.inf,
        folder: str | None = None,
    ) -> None:
        self.layout, self.threads = layout, Threads(n_threads)
        kept = keep_all(spans, memory, folder)
        self.parts = [_Part(first, rows, np.zeros(rows.n_rows, np.int32)) for first, rows in kept]
        self.blocks = [block for part in self.parts for block in _blocks_of(part, layout)]
        self.component: Any = None
        self.model: Any = None
        self.pairs: Any = None
        self.listed: list[_Listed] = []

    def answer(self, verb: str, arguments: dict[str, Any]) -> Any:
        """Call a verb by name."""
        if verb not in self.VERBS:
            raise ValueError(f"A shard has no verb {verb!r}.")
        return getattr(self, verb)(**arguments)

    # ---- rows and labels ---------------------------------------------------------------------------------------------------

    def prepare(self, preparation: Preparation) -> None:
        """Leave out columns, and spread the values of the others within their cells."""
        self.component = preparation.component
        if preparation.columns.all() and preparation.lattice is None:
            return
        for part in self.parts:
            part.rows = part.rows.change(int(preparation.columns.sum()), partial(preparation.of, part.first))

    def hold(self, model: Any) -> None:
        """Keep the model, with its hyperparameters, for the messages that follow."""
        self.model = model

    def start(self) -> None:
        """Give all rows the label 0."""
        for part in self.parts:
            part.labels[:] = 0

    def rows_of(self, numbers: np.ndarray, values: bool = True) -> SomeRows:
        """Those of some rows that are here."""
        here = [(part, part.local(numbers)) for part in self.parts]
        places = [np.flatnonzero(local >= 0) for _, local in here]
        chosen = [(part, local[place]) for (part, local), place in zip(here, places, strict=True)]
        width, dtype = (self.parts[0].rows.n_columns, self.parts[0].rows.dtype) if self.parts else (0, np.float64)
        return SomeRows(
            np.concatenate([np.zeros(0, np.int64), *places]),
            np.concatenate([np.zeros(0, np.int32), *(part.labels[local] for part, local in chosen)]),
            np.concatenate([np.zeros((0, width), dtype), *(part.rows.take(local) for part, local in chosen if values)]),
        )

    def write(self, numbers: np.ndarray, labels: np.ndarray) -> None:
        """Change the labels of those of some rows that are here."""
        for part in self.parts:
            local = part.local(numbers)
            part.labels[local[local >= 0]] = labels[local >= 0]

    def relabel(self, labels: np.ndarray) -> None:
        """Give clusters other labels: ``labels[old]``."""
        for block in self.blocks:
            block.labels[:] = labels[block.labels]

    def save(self, folder: str) -> list[LabelFile]:
        """Write the labels, one file for each part."""
        return [write_labels(Path(folder), part.first, part.labels) for part in self.parts]

    def restore(self, folder: str, files: list[LabelFile]) -> None:
        """Read the labels back from files that may have been written by other shards."""
        for part in self.parts:
            read_labels(Path(folder), files, part.first, part.labels)

    # ---- all rows at once --------------------------------------------------------------------------------------------------

    def leaders(self, seed: int, capacity: int) -> np.ndarray:
        """The least rank of every label."""

        def work(block: _Block) -> np.ndarray:
            return least_ranks(np.uint64(seed), block.first, block.labels, capacity)

        return np.minimum.reduce([no_ranks(capacity), *self.threads.map(work, self.blocks)])

    def statistics(self, capacity: int) -> Sums:
        """The statistics of all labels."""
        return self._sum(self.blocks, lambda block: _flat(self._statistics(block, block.data(), capacity)))

    def assign(self, seed: int, offer: Offer) -> Sums:
        """Let all rows draw their clusters; return the statistics of all labels, and how many rows moved."""
        capacity = len(offer.columns)

        def work(block: _Block) -> np.ndarray:
            data, rows = block.data(), np.arange(block.end - block.begin, dtype=np.int32)
            moved = choose_among_all(np.uint64(seed), offer, data, block.first, rows, block.labels, Room.of(offer))
            return np.append(_flat(self._statistics(block, data, capacity)), moved)

        return self._sum(self.blocks, work)

    def members(self, seed: int, wanted: np.ndarray, without: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Of some clusters the row of least rank, but for one: ranks, global numbers and values."""
        ranks, numbers = no_ranks(len(without)), np.full(len(without), -1, np.int64)
        values = np.zeros((len(without), self.parts[0].rows.n_columns if self.parts else 0))

        def work(block: _Block) -> tuple[np.ndarray, np.ndarray]:
            first = block.first
            return least_members(np.uint64(seed), first, block.labels, wanted, without - first, len(without))

        for block, (theirs, local) in zip(self.blocks, self.threads.map(work, self.blocks), strict=True):
            better = theirs < ranks
            ranks[better], numbers[better] = theirs[better], block.first + local[better]
        for part in self.parts:
            local = part.local(numbers)
            values[local >= 0] = part.rows.take(local[local >= 0])
        return ranks, numbers, values

    # ---- splits and merges -------------------------------------------------------------------------------------------------

    def divide(self, pairs: SentPairs) -> None:
        """List the rows of pairs, each on the side it is on if its pair proposes a merge."""
        self.pairs = pairs
        self.listed = self.threads.map(self._list, self.blocks)

    def nearest(self) -> Sums:
        """Assign each row to the anchor that alone predicts it better; return the statistics of all sides."""
        anchors = anchor_slots(self.component, self.model, self.pairs)

        def work(one: _Listed) -> np.ndarray:
            sums = self._slots(2 * len(one.proposals))
            nearest_chunks(
                sums, anchors.for_worker(), self.model, one.block.data(), one.segments(), *_chunks(one), 0, len(one.proposals)
            )
            return self._sides(one, sums, np.zeros(len(one.proposals)))

        return self._sum(self.listed, work)

    def draw(self, seed: int, number: int, density: Any, odds: np.ndarray, recorded: bool) -> Sums:
        """Draw the sides of all rows, or weigh those of merges; return the statistics of all sides, and log q of every pair."""
        is_forced = ~self.pairs.is_split & recorded

        def work(one: _Listed) -> np.ndarray:
            sums, log_q = self._slots(2 * len(one.proposals)), np.zeros(len(one.proposals))
            if recorded:
                one.sides[one.of_pairs(is_forced)] = one.forced
            draw_chunks(
                np.uint64(seed),
                PASS + number,
                recorded,
                sums,
                density,
                odds,
                is_forced,
                self.model,
                one.block.data(),
                one.block.first,
                one.segments(),
                *_chunks(one),
                0,
                len(one.proposals),
                log_q,
            )
            return self._sides(one, sums, log_q)

        return self._sum(self.listed, work)

    def toss(self, seed: int, share: np.ndarray) -> Sums:
        """Divide rows by coins; return the statistics of all sides."""

        def work(one: _Listed) -> np.ndarray:
            sums = self._slots(2 * len(one.proposals))
            data, first = one.block.data(), one.block.first
            toss_chunks(np.uint64(seed), PASS, sums, share, self.model, data, first, one.segments(), *_chunks(one))
            return self._sides(one, sums, np.zeros(len(one.proposals)))

        return self._sum(self.listed, work)

    def commit(self, into: np.ndarray) -> None:
        """Carry out splits: v's side of pair b gets the label ``into[b]``, unless that is −1."""
        for one in self.listed:
            target = one.of_pairs(into)
            moved = (one.sides == 1) & (target >= 0)
            one.block.labels[one.rows[moved]] = target[moved]
        self.write(self.pairs.v[into >= 0], into[into >= 0])

    # ---- helpers -----------------------------------------------------------------------------------------------------------

    def _list(self, block: _Block) -> _Listed:
        pairs = self.pairs
        n, n_pairs = block.end - block.begin, len(pairs.u)
        rows, sides, begins = np.empty(n, np.int32), np.empty(n, np.int8), np.empty(n_pairs + 1, np.int64)
        u, v = block.local(pairs.u), block.local(pairs.v)
        found = list_block(block.labels, pairs.pair_of, pairs.side_of, u, v, rows, sides, begins)
        proposals = np.flatnonzero(np.diff(begins) > 0)
        rows, sides = rows[:found].astype(np.min_scalar_type(n - 1)), sides[:found].copy()
        listed = _Listed(block, rows, sides, sides[:0], proposals, begins[proposals], begins[proposals + 1])
        return listed._replace(forced=sides[listed.of_pairs(~pairs.is_split)])

    def _slots(self, count: int) -> DenseSlots:
        """Sums of statistics, all zero, and buffers of their own; nothing is derived from them."""
        slots = self.component.slots(self.model, 1).for_worker()
        return slots._replace(
            sizes=np.zeros(count, np.int64), stats=np.zeros((count, slots.stats.shape[1])), derived=np.zeros((1, 1))
        )

    def _statistics(self, block: _Block, data: DenseArrays, capacity: int) -> DenseSlots:
        slots = self._slots(capacity)
        sum_block(block.labels, slots, self.model, data)
        return slots

    def _sides(self, one: _Listed, sums: DenseSlots, log_q: np.ndarray) -> np.ndarray:
        """Statistics of the sides of all pairs, then log q of all pairs, from those that have rows in a block."""
        n_pairs, width = len(self.pairs.u), sums.stats.shape[1] + 1
        out = np.zeros(n_pairs * (2 * width + 1))
        out[: 2 * n_pairs * width].reshape(n_pairs, 2 * width)[one.proposals] = _flat(sums).reshape(-1, 2 * width)
        out[2 * n_pairs * width :][one.proposals] = log_q
        return out

    def _sum(self, tasks: list[Any], work: Callable[[Any], np.ndarray]) -> Sums:
        """Sums over blocks, one task each, added up as far as this shard can."""
        sums: Sums = {}
        step = _AT_ONCE * self.threads.n
        for start in range(0, len(tasks), step):
            some = tasks[start : start + step]
            for task, found in zip(some, self.threads.map(work, some), strict=True):
                block = task if isinstance(task, _Block) else task.block
                sums[0, block.number] = found
            sums = climb(sums, self.layout.n_blocks)
        return sums


def anchor_slots(component: Component, model: Any, pairs: SentPairs) -> DenseSlots:
    """Slots 2b and 2b + 1 hold the anchors of pair b, and nothing else."""
    n_pairs = len(pairs.u)
    anchors: Any = component.slots(model, 2 * n_pairs)
    even, odd = np.arange(0, 2 * n_pairs, 2), np.arange(1, 2 * n_pairs, 2)
    fill_anchors(anchors, model, DenseRows(pairs.anchors).arrays, Pairs(even, odd, even, odd, np.zeros(n_pairs)), 0)
    return anchors


def _local(numbers: np.ndarray, first: int, end: int) -> np.ndarray:
    return np.where((numbers >= first) & (numbers < end), numbers - first, -1)


def _blocks_of(part: _Part, layout: Layout) -> list[_Block]:
    if part.first % layout.block:
        raise ValueError(f"A part must begin with a block of {layout.block} rows. Got one that begins with row {part.first}.")
    n, block = len(part.labels), layout.block
    return [_Block(part, (part.first + at) // block, at, min(at + block, n)) for at in range(0, n, block)]


def no_ranks(n: int) -> np.ndarray:
    """Ranks that are not less than any."""
    return np.full(n, np.iinfo(np.uint64).max, np.uint64)


def _flat(slots: DenseSlots) -> np.ndarray:
    return np.column_stack([slots.sizes, slots.stats]).ravel()


def _chunks(one: _Listed) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    return one.proposals, one.begins, one.ends
