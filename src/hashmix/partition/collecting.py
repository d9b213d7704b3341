"""Statistics of all clusters, collected again from the data in parallel.

Rows are summed in chunks of a cluster's members, and chunks in their order. Neither depends on the number of threads, so
neither do the sums, to the last bit.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from hashmix.components.contract import DenseSlots, collect, derive, load
from hashmix.core.compiling import borrowed, kernel
from hashmix.core.threads import Threads
from hashmix.data.rows import fetch_row_ahead
from hashmix.partition.members import N_CLUSTERS, Partition

__all__ = ["collect_statistics", "cut_into_chunks", "derive_all", "shared_out"]

#: Most rows per chunk, and about as many per task.
CHUNK = 16_384


def cut_into_chunks(starts: np.ndarray, sizes: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Cut segments into chunks: the segment of each chunk, where it begins, and where it ends.

    Examples
    --------
    >>> import numpy as np
    >>> from hashmix.partition.collecting import cut_into_chunks
    >>> segments, begins, ends = cut_into_chunks(np.array([0, 10]), np.array([10, 20_000]))
    >>> segments.tolist(), begins.tolist(), ends.tolist()
    ([0, 1, 1], [0, 10, 16394], [10, 16394, 20010])
    """
    n_chunks = np.maximum(1, -(-sizes // CHUNK))
    segments = np.repeat(np.arange(len(sizes)), n_chunks)
    within = np.arange(len(segments)) - np.repeat(np.cumsum(n_chunks) - n_chunks, n_chunks)
    begins = starts[segments] + within * CHUNK
    return segments, begins, np.minimum(begins + CHUNK, (starts + sizes)[segments])


def shared_out(lengths: np.ndarray, at_least: int = CHUNK) -> list[tuple[int, int]]:
    """Spans of consecutive chunks, each of at least so many rows but the last: one task each.

    Examples
    --------
    >>> import numpy as np
    >>> from hashmix.partition.collecting import shared_out
    >>> shared_out(np.array([4, 5, 9, 1]), at_least=8)
    [(0, 2), (2, 3), (3, 4)]
    """
    spans, first, total = [], 0, 0
    for k, length in enumerate(lengths.tolist()):
        total += length
        if total >= at_least:
            spans.append((first, k + 1))
            first, total = k + 1, 0
    if first < len(lengths):
        spans.append((first, len(lengths)))
    return spans


@kernel
def _collect_chunks(pool, begins, ends, slots, into, model, data, first, last):
    pool, begins, ends, slots = borrowed(pool), borrowed(begins), borrowed(ends), borrowed(slots)
    into, model, data = borrowed(into), borrowed(model), borrowed(data)
    for k in range(first, last):
        slot = into[k]
        slots.sizes[slot] = 0
        for w in range(slots.stats.shape[1]):
            slots.stats[slot, w] = 0.0
        for at in range(begins[k], ends[k]):
            fetch_row_ahead(data, pool, at)
            collect(model, slots, slot, load(model, slots, data, pool[at]))


@kernel
def _derive_slots(slots, which, model, first, last):
    slots, which, model = borrowed(slots), borrowed(which), borrowed(model)
    for k in range(first, last):
        derive(model, slots, which[k])


def collect_statistics(
    component: Any, model: Any, data: Any, partition: Partition, slots: DenseSlots, threads: Threads
) -> None:
    """Recompute the statistics of all clusters, and what is derived from them."""
    used = partition.active[: partition.counters[N_CLUSTERS]]
    segments, begins, ends = cut_into_chunks(partition.starts[used], partition.sizes[used])
    chunks = component.slots(model, len(segments)) if len(segments) > len(used) else None
    into = used[segments] if chunks is None else np.arange(len(segments), dtype=used.dtype)
    target = slots if chunks is None else chunks

    def gather(span: tuple[int, int]) -> None:
        _collect_chunks(partition.pool, begins, ends, target.for_worker(), into, model, data, *span)

    threads.map(gather, shared_out(ends - begins))
    if chunks is not None:
        firsts = np.flatnonzero(np.diff(segments, prepend=-1))
        slots.sizes[used] = np.add.reduceat(chunks.sizes, firsts)
        slots.stats[used] = np.add.reduceat(chunks.stats, firsts, axis=0)
    derive_all(slots, used, model, threads)


def derive_all(slots: DenseSlots, which: np.ndarray, model: Any, threads: Threads) -> None:
    """Recompute what is derived from the statistics of some slots."""
    per_task = max(1, 200_000 // slots.derived.shape[1])
    spans = [(k, min(k + per_task, len(which))) for k in range(0, len(which), per_task)]
    threads.map(lambda span: _derive_slots(slots.for_worker(), which, model, *span), spans)
