"""A shard on a device of PyTorch: the verbs of :class:`~hashmix.engines.shard.Shard`, with tensors."""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from hashmix.data.dequantise import spread
from hashmix.data.rows import DenseRows
from hashmix.engines.blocks import Sums, climb
from hashmix.engines.checkpoints import LabelFile, read_labels, write_labels
from hashmix.engines.device.choosing import DeviceOffer, choose, full_float32
from hashmix.engines.device.gaussians import FAMILIES
from hashmix.engines.device.lazy import torch
from hashmix.engines.device.sums import grouped, least_by_label, sums_of_groups
from hashmix.engines.device.words import as_ranks, ranks_of, uniforms_of
from hashmix.engines.kept import read_values
from hashmix.engines.shard import Layout, Preparation, SentPairs, Shard, SomeRows, anchor_slots
from hashmix.moves.parallel.choosing import Offer
from hashmix.moves.parallel.passes import PASS

__all__ = ["DeviceShard", "numbers_at_once"]

#: Bytes of a device per number that a step may take at once: then what a step needs is at most about a tenth of them.
_BYTES = 1024
#: What the processor counts as, which is for tests.
_PROCESSOR = 2**32


class _Span(NamedTuple):
    """Consecutive rows, ``begin`` to ``end`` of those on the device; the first has the number ``first`` among all rows."""

    first: int
    begin: int
    end: int

    def here(self, numbers: np.ndarray) -> np.ndarray:
        """Mask of the numbers of rows that are in the span."""
        return (numbers >= self.first) & (numbers < self.first + self.end - self.begin)


class _Listed(NamedTuple):
    """The rows of pairs, in the order of their numbers."""

    rows: Any  # places on the device
    numbers: Any  # among all rows
    pairs: Any
    sides: Any
    forced: Any  # the sides rows were on at first
    bounds: list[int]  # where the rows of each block begin, and how many rows there are


def numbers_at_once(device: Any) -> int:
    """How many numbers a step may take at once: log weights or features of rows, statistics of blocks.

    A power of two that depends on the kind of device, and not on what else is in its memory: that must not change how
    products are cut, and so rounded.
    """
    memory = torch.cuda.get_device_properties(device).total_memory if device.type == "cuda" else _PROCESSOR
    return 1 << ((memory // _BYTES).bit_length() - 1)


class DeviceShard(Shard):
    """Rows of some blocks, and their labels, on a device.

    Random numbers and ranks are those of :class:`~hashmix.engines.shard.Shard`, bit for bit. Statistics and densities may
    differ in rounding. So a row chooses differently only if its uniform number is that near to a boundary.

    Parameters
    ----------
    layout : Layout
    spans : list of (first, rows)
        As for :class:`~hashmix.engines.shard.Shard`; at least one.
    device : torch.device

    Attributes
    ----------
    at_once : int
        See :func:`numbers_at_once`.
    """

    def __init__(self, layout: Layout, spans: Iterable[tuple[int, Any]], device: Any) -> None:
        self.layout, self.device, self.at_once = layout, device, numbers_at_once(device)
        arrays = [(first, read_values(first, source)) for first, source in spans]
        ends = np.cumsum([0] + [len(values) for _, values in arrays]).tolist()
        firsts = [first for first, _ in arrays]
        self.spans = [_Span(first, *bounds) for first, bounds in zip(firsts, itertools.pairwise(ends), strict=True)]
        if any(first % layout.block for first in firsts):
            raise ValueError(f"A part must begin with a block of {layout.block} rows. Got parts that begin with rows {firsts}.")
        blocks = [(span, at) for span in self.spans for at in range(span.begin, span.end, layout.block)]
        #: Number of every block here; where its rows begin; what to add to places of rows for their numbers.
        self.blocks_here = [(span.first + at - span.begin) // layout.block for span, at in blocks]
        self.bounds = [at for _, at in blocks] + [ends[-1]]
        self._begins = self._tensor(np.array(self.bounds[:-1], np.int64))
        self._to_number = self._tensor(np.array([span.first - span.begin for span, _ in blocks], np.int64))
        with self._noticing_memory():
            kind = torch.float32 if arrays[0][1].dtype == np.float32 else torch.float64
            self.values = torch.empty((ends[-1], arrays[0][1].shape[1]), dtype=kind, device=device)
            for span, (_, values) in zip(self.spans, arrays, strict=True):
                self.values[span.begin : span.end] = self._tensor(values)
            self.labels = torch.zeros(ends[-1], dtype=torch.int32, device=device)
        self.component: Any = None
        self.model: Any = None
        self.pairs: Any = None
        self.family: Any = None

    def answer(self, verb: str, arguments: dict[str, Any]) -> Any:
        """Call a verb by name."""
        with self._noticing_memory():
            return super().answer(verb, arguments)

    # ---- rows and labels ---------------------------------------------------------------------------------------------------

    def prepare(self, preparation: Preparation) -> None:
        """Leave out columns, and spread the values of the others within their cells."""
        self.component = preparation.component
        if not preparation.columns.all():
            self.values = self.values[:, self._tensor(np.flatnonzero(preparation.columns))].contiguous()
        if preparation.lattice is not None:
            for begin, end, numbers in self._batches(self.values.shape[1]):
                rows = DenseRows(self.values[begin:end].cpu().numpy())
                spread_rows = spread(rows, preparation.lattice, preparation.key, int(numbers[0]))
                self.values[begin:end] = self._tensor(spread_rows.values)

    def hold(self, model: Any) -> None:
        """Keep the model, with its hyperparameters, for the messages that follow."""
        if type(model) not in FAMILIES:
            raise ValueError(f"engine='cuda' takes DiagonalGaussian and FullGaussian. Got {self.component!r} instead.")
        self.model, self.family = model, FAMILIES[type(model)]
        self._origin, self._unit = self._tensor(model.origin), self._tensor(model.inverse_scale)

    def start(self) -> None:
        """Give all rows the label 0."""
        self.labels.zero_()

    def rows_of(self, numbers: np.ndarray, values: bool = True) -> SomeRows:
        """Those of some rows that are here."""
        places = np.concatenate([np.flatnonzero(span.here(numbers)) for span in self.spans])
        rows = self._rows(numbers[places])
        found = self.values[rows] if values else self.values[:0]
        return SomeRows(places, self.labels[rows].cpu().numpy(), found.cpu().numpy())

    def write(self, numbers: np.ndarray, labels: np.ndarray) -> None:
        """Change the labels of those of some rows that are here."""
        here = np.logical_or.reduce([span.here(numbers) for span in self.spans])
        self.labels[self._rows(numbers[here])] = self._tensor(labels[here]).int()

    def relabel(self, labels: np.ndarray) -> None:
        """Give clusters other labels: ``labels[old]``."""
        self.labels = self._tensor(labels).int().index_select(0, self.labels)

    def save(self, folder: str) -> list[LabelFile]:
        """Write the labels, one file for each part."""
        labels = self.labels.cpu().numpy()
        return [write_labels(Path(folder), span.first, labels[span.begin : span.end]) for span in self.spans]

    def restore(self, folder: str, files: list[LabelFile]) -> None:
        """Read the labels back from files that may have been written by other shards."""
        for first, begin, end in self.spans:
            labels = np.empty(end - begin, np.int32)
            read_labels(Path(folder), files, first, labels)
            self.labels[begin:end] = self._tensor(labels)

    # ---- all rows at once --------------------------------------------------------------------------------------------------

    def leaders(self, seed: int, capacity: int) -> np.ndarray:
        """The least rank of every label."""
        found = torch.full((capacity,), torch.iinfo(torch.int64).max, device=self.device)
        for begin, end, numbers in self._batches(1):
            found = torch.minimum(found, least_by_label(ranks_of(seed, numbers), self.labels[begin:end], capacity))
        return as_ranks(found)

    def statistics(self, capacity: int) -> Sums:
        """The statistics of all labels."""
        return self._sum_by_label(capacity, self.labels, self.bounds)

    def assign(self, seed: int, offer: Offer) -> Sums:
        """Let all rows draw their clusters; return the statistics of all labels, and how many rows moved."""
        sent, moved = DeviceOffer.of(offer, self._tensor), torch.zeros_like(self.labels, dtype=torch.bool)
        with full_float32():
            for begin, end, numbers in self._batches(max(sent.weights.shape)):
                own = sent.columns.index_select(0, self.labels[begin:end]).long()
                chosen = choose(self.family, seed, sent, numbers, self._internal(self.values[begin:end]), own)
                self.labels[begin:end] = sent.slots[chosen]
                moved[begin:end] = chosen != own
        return self._sum_by_label(len(offer.columns), self.labels, self.bounds, extra=moved, n_extra=1)

    def members(self, seed: int, wanted: np.ndarray, without: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Of some clusters the row of least rank, but for one: ranks, global numbers and values."""
        n, most = len(without), torch.iinfo(torch.int64).max
        # Rows that nobody wants have the place n.
        place_of = self._tensor(np.where(wanted < 0, n, wanted)).int()
        left_out = self._tensor(np.append(without, -1))
        best, rows = torch.full((2, n + 1), most, device=self.device)
        for begin, end, numbers in self._batches(1):
            place = place_of.index_select(0, self.labels[begin:end]).long()
            place = torch.where(left_out[place] == numbers, n, place)
            ranks = ranks_of(seed, numbers)
            least = least_by_label(ranks, place, n + 1)
            here = torch.where(ranks == least[place], torch.arange(begin, end, device=self.device), most)
            rows = torch.where(least < best, least_by_label(here, place, n + 1), rows)
            best = torch.minimum(best, least)
        ranks, found = as_ranks(best[:n]), (best[:n] < most).cpu().numpy()
        numbers, values = np.full(n, -1, np.int64), np.zeros((n, self.values.shape[1]))
        chosen = rows[:n][self._tensor(found)]
        numbers[found], values[found] = self._numbers(chosen).cpu().numpy(), self.values[chosen].cpu().numpy()
        return ranks, numbers, values

    # ---- splits and merges -------------------------------------------------------------------------------------------------

    def divide(self, pairs: SentPairs) -> None:
        """List the rows of pairs, each on the side it is on if its pair proposes a merge."""
        self.pairs = pairs
        pair_of_row = self._tensor(pairs.pair_of).index_select(0, self.labels)
        (rows,) = (pair_of_row >= 0).nonzero(as_tuple=True)
        of, numbers = pair_of_row[rows].long(), self._numbers(rows)
        others = (numbers != self._tensor(pairs.u)[of]) & (numbers != self._tensor(pairs.v)[of])
        rows, of, numbers = rows[others], of[others], numbers[others]
        sides = self._tensor(pairs.side_of)[self.labels[rows].long()].int()
        bounds = [*torch.searchsorted(rows, self._begins).tolist(), len(rows)]
        self.division = _Listed(rows, numbers, of, sides, sides.clone(), bounds)

    def nearest(self) -> Sums:
        """Assign each row to the anchor that alone predicts it better; return the statistics of all sides."""
        derived, listed = self._tensor(anchor_slots(self.component, self.model, self.pairs).derived), self.division
        for span in self._spans_of_list(derived.shape[1]):
            Y, of = self._internal(self.values[listed.rows[span]]), listed.pairs[span]
            of_u, of_v = (self.family.near_anchor(self.model, derived[2 * of + side], Y) for side in (0, 1))
            listed.sides[span] = (of_v > of_u).int()
        return self._sum_sides()

    def draw(self, seed: int, number: int, density: Any, odds: np.ndarray, recorded: bool) -> Sums:
        """Draw the sides of all rows, or weigh those of merges; return the statistics of all sides, and log q of every pair."""
        listed = self.division
        weights = self.family.weights(self._tensor(density.means), self._tensor(density.precisions))
        weights = weights[0::2] - weights[1::2]
        constants = self._tensor(odds + density.intercepts[0::2] - density.intercepts[1::2])
        is_forced = self._tensor(~self.pairs.is_split & recorded)
        log_q = torch.zeros(len(listed.rows), dtype=torch.float64, device=self.device)
        for span in self._spans_of_list(weights.shape[1]):
            Y, of = self._internal(self.values[listed.rows[span]]), listed.pairs[span]
            for_u = constants[of] + (self.family.features(Y) * weights[of]).sum(1)
            drawn = (uniforms_of(seed, PASS + number, listed.numbers[span]) >= torch.sigmoid(for_u)).int()
            sides = torch.where(is_forced[of], listed.forced[span], drawn)
            listed.sides[span] = sides
            if recorded:
                log_q[span] = torch.nn.functional.logsigmoid(torch.where(sides == 0, for_u, -for_u))
        return self._sum_sides(log_q)

    def toss(self, seed: int, share: np.ndarray) -> Sums:
        """Divide rows by coins; return the statistics of all sides."""
        listed, shares = self.division, self._tensor(share)
        for span in self._spans_of_list(1):
            listed.sides[span] = (uniforms_of(seed, PASS, listed.numbers[span]) >= shares[listed.pairs[span]]).int()
        return self._sum_sides()

    def commit(self, into: np.ndarray) -> None:
        """Carry out splits: v's side of pair b gets the label ``into[b]``, unless that is −1."""
        listed = self.division
        target = self._tensor(into).int()[listed.pairs]
        moved = (listed.sides == 1) & (target >= 0)
        self.labels[listed.rows[moved]] = target[moved]
        self.write(self.pairs.v[into >= 0], into[into >= 0])

    # ---- helpers -----------------------------------------------------------------------------------------------------------

    def _tensor(self, array: np.ndarray) -> Any:
        """An array on the device."""
        return torch.from_numpy(np.require(array, requirements=["C", "W"])).to(self.device)

    def _internal(self, values: Any) -> Any:
        """Rows in internal units, float64."""
        return (values.double() - self._origin) * self._unit

    def _rows(self, numbers: np.ndarray) -> Any:
        """Where rows that are here are."""
        rows = np.empty(len(numbers), np.int64)
        for span in self.spans:
            here = span.here(numbers)
            rows[here] = numbers[here] - span.first + span.begin
        return self._tensor(rows)

    def _numbers(self, rows: Any) -> Any:
        """The numbers of rows among all rows."""
        return rows + self._to_number[torch.searchsorted(self._begins, rows, right=True) - 1]

    def _batches(self, width: int) -> Iterator[tuple[int, int, Any]]:
        """Where rows begin and end, and their numbers, as many at a time as ``width`` numbers per row allow."""
        step = max(1, self.at_once // width)
        for span in self.spans:
            for begin in range(span.begin, span.end, step):
                end = min(begin + step, span.end)
                yield begin, end, torch.arange(begin, end, device=self.device) + (span.first - span.begin)

    def _spans_of_list(self, width: int) -> Iterator[slice]:
        """Spans of the rows of pairs, as many at a time as ``width`` numbers per row allow."""
        step, n = max(1, self.at_once // width), len(self.division.rows)
        for begin in range(0, n, step):
            yield slice(begin, min(begin + step, n))

    def _sum_sides(self, log_q: Any = None) -> Sums:
        """Statistics of the sides of all pairs, then log q of all pairs."""
        listed, n_pairs = self.division, len(self.pairs.u)
        return self._sum_by_label(2 * n_pairs, 2 * listed.pairs + listed.sides, listed.bounds, listed.rows, log_q, n_pairs)

    def _sum_by_label(
        self, n_labels: int, labels: Any, bounds: list[int], rows: Any = None, extra: Any = None, n_extra: int = 0
    ) -> Sums:
        """Sizes and sums of features by label, and sums of an ``extra`` number per row, added up as far as this shard can.

        ``labels`` are those of some ``rows``, or of all, in the order of the blocks; ``bounds`` says where those of each block
        begin. The extra numbers of ``n_labels / n_extra`` labels at a time are added up.
        """
        sums: dict[Any, Any] = {}
        n_terms = self.family.features(self._origin[None]).shape[1]
        step = max(1, self.at_once // (max(self.layout.block, n_labels) * (n_terms + 2)))
        for first in range(0, len(self.blocks_here), step):
            numbers = self.blocks_here[first : first + step]
            here = bounds[first : first + len(numbers) + 1]
            block = torch.repeat_interleave(
                torch.arange(len(numbers), dtype=torch.int32, device=self.device),
                self._tensor(np.diff(here)),
                output_size=here[-1] - here[0],
            )
            order, sizes = grouped(block * n_labels + labels[here[0] : here[-1]].int(), len(numbers) * n_labels)
            order = order + here[0]
            values = self.family.features(self._internal(self.values[order if rows is None else rows[order]]))
            if extra is not None:
                values = torch.cat([values, extra[order][:, None].double()], 1)
            found = sums_of_groups(values, sizes)
            table = torch.cat([sizes[:, None].double(), found[:, :n_terms]], 1).reshape(len(numbers), -1)
            if n_extra:
                last = found[:, n_terms:] if extra is not None else torch.zeros_like(found[:, :1])
                table = torch.cat([table, last.reshape(len(numbers), n_extra, -1).sum(2)], 1)
            sums |= {(0, number): line for number, line in zip(numbers, table, strict=True)}
            sums = climb(sums, self.layout.n_blocks)
        return {node: line.cpu().numpy() for node, line in sums.items()}

    @contextlib.contextmanager
    def _noticing_memory(self) -> Iterator[None]:
        """Say what to do if the device has too little memory."""
        try:
            yield
        except torch.cuda.OutOfMemoryError as error:
            what = f"{self.device} has too little memory for {self.bounds[-1]} rows: take fewer, or engine='dask'"
            raise MemoryError(f"{what} ({error}).") from None
