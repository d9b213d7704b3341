"""Colours of rows by where they are: fresh for every seed, never stored, and never from a label.

Dense rows: some rows, drawn at random, are centres, and a row has the colour of the nearest one. A row is replaced by the
average of its mates first, which takes most of the noise out of the distances if there are many columns.

Sparse rows: two texts on one subject are at nearly right angles, but their mates are on that subject, too. Every row starts
with a random code. Three times, all rows take the least code among those of their mates. The codes of a subject are few by
then, and a row takes the one that most of its mates agree on, after they have done the same.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from hashmix.core.compiling import borrowed, helper, hot_helper, kernel
from hashmix.core.counter import address, uniform_at
from hashmix.core.threads import Threads
from hashmix.data.rows import Rows
from hashmix.hashing.features import column_map
from hashmix.hashing.tables import TableArrays

__all__ = ["colour_all_rows", "colour_rows"]

#: How often all rows take the least code of their mates.
_ROUNDS = 3
#: At most this many mates are looked at.
_WINDOW = 16
#: Rows, and coloured rows, per task.
_BLOCK, _COLOURED_BLOCK = 16_384, 512
# What random numbers are for: addresses of a seed. Other purposes of the same seed are in regions.py.
_CODES, _TABLES, _PLACES, _CENTRES, _NAMES = range(16, 21)


@helper
def _table_of(tables, seed, round):
    """The table that a round looks at."""
    return np.int64(address(seed, _TABLES, round) % np.uint64(tables.buckets.shape[1]))


@hot_helper
def _window(tables, seed, table, i):
    """Which mates of row i are looked at: where its bucket begins, its size, the first place, and how many."""
    bucket = tables.buckets[i, table]
    begin, size = tables.begins[bucket], tables.begins[bucket + 1] - tables.begins[bucket]
    if size <= _WINDOW:
        return begin, size, 0, size
    return begin, size, np.int64(uniform_at(address(seed, _PLACES, i), table) * size), _WINDOW


@hot_helper
def _mate(tables, begin, size, place):
    return tables.order[begin + (place if place < size else place - size)]


# ---- sparse rows -----------------------------------------------------------------------------------------------------------


@kernel
def _draw_codes(seed, codes, begin, end):
    codes = borrowed(codes)
    for i in range(begin, end):
        codes[i] = address(seed, _CODES, i) >> np.uint64(32)


@kernel
def _spread_codes(tables, seed, round, old, new, begin, end):
    """Let rows begin … end − 1 take the least code of their mates and their own."""
    tables, old, new = borrowed(tables), borrowed(old), borrowed(new)
    table = _table_of(tables, seed, round)
    for i in range(begin, end):
        least = old[i]
        first, size, place, looked_at = _window(tables, seed, table, i)
        for w in range(looked_at):
            least = min(least, old[_mate(tables, first, size, place + w)])
        new[i] = least


@helper
def _most_common(codes, k, found, counts):
    """The most common of k codes, the least of them if there are several."""
    n_found = 0
    for w in range(k):
        at = 0
        while at < n_found and found[at] != codes[w]:
            at += 1
        if at == n_found:
            found[at], counts[at] = codes[w], 0
            n_found += 1
        counts[at] += 1
    best = 0
    for at in range(1, n_found):
        if counts[at] > counts[best] or (counts[at] == counts[best] and found[at] < found[best]):
            best = at
    return found[best]


@helper
def _code_of_mates(tables, seed, round, codes, i, asked, found, counts):
    """The code that most of row i's mates have."""
    first, size, place, n_mates = _window(tables, seed, _table_of(tables, seed, round), i)
    for w in range(n_mates):
        asked[w] = codes[_mate(tables, first, size, place + w)]
    return _most_common(asked, n_mates, found, counts)


@hot_helper
def _colour_of_code(seed, code, n_colours):
    return np.int32(address(seed, _NAMES, code) % np.uint64(n_colours))


@kernel
def _agree(tables, seed, codes, chosen, n_colours, colours, begin, end):
    """Colour chosen rows by the code that most of their mates agree on, each mate after having asked its own mates."""
    tables, codes, chosen, colours = borrowed(tables), borrowed(codes), borrowed(chosen), borrowed(colours)
    inner, outer = np.empty(_WINDOW, np.uint32), np.empty(_WINDOW, np.uint32)
    found, counts = np.empty(_WINDOW, np.uint32), np.empty(_WINDOW, np.int64)
    table = _table_of(tables, seed, _ROUNDS + 1)
    for c in range(begin, end):
        first, size, place, n_mates = _window(tables, seed, table, chosen[c])
        for w in range(n_mates):
            mate = _mate(tables, first, size, place + w)
            outer[w] = _code_of_mates(tables, seed, _ROUNDS, codes, mate, inner, found, counts)
        colours[c] = _colour_of_code(seed, _most_common(outer, n_mates, found, counts), n_colours)


@kernel
def _agree_on_all(tables, seed, round, old, new, colours, n_colours, begin, end):
    """Let rows begin … end − 1 take the code that most of their mates have; the last round colours them by it."""
    tables, old, new, colours = borrowed(tables), borrowed(old), borrowed(new), borrowed(colours)
    asked, found = np.empty(_WINDOW, np.uint32), np.empty(_WINDOW, np.uint32)
    counts = np.empty(_WINDOW, np.int64)
    for i in range(begin, end):
        new[i] = _code_of_mates(tables, seed, round, old, i, asked, found, counts)
        colours[i] = _colour_of_code(seed, new[i], n_colours)


# ---- dense rows --------------------------------------------------------------------------------------------------------------


@helper
def _average(rows, features, tables, seed, i, out):
    """The average of row i's mates, in units of the columns' standard deviations."""
    first, size, place, looked_at = _window(tables, seed, _table_of(tables, seed, 0), i)
    for j in range(len(out)):
        out[j] = 0.0
    for w in range(looked_at):
        row = rows.values[_mate(tables, first, size, place + w)]
        for j in range(len(out)):
            out[j] += row[j]
    for j in range(len(out)):
        out[j] = (out[j] / looked_at - features.origin[j]) * features.scale[j]


@hot_helper
def _squared_distance(x, y):
    total = 0.0
    for j in range(len(x)):
        total += (x[j] - y[j]) ** 2
    return total


@kernel
def _draw_centres(rows, features, tables, seed, centres):
    rows, features, tables, centres = borrowed(rows), borrowed(features), borrowed(tables), borrowed(centres)
    for c in range(len(centres)):
        i = np.int64(address(seed, _CENTRES, c) % np.uint64(len(tables.buckets)))
        _average(rows, features, tables, seed, i, centres[c])


@kernel
def _find_nearest(rows, features, tables, seed, chosen, centres, colours, begin, end):
    """Colour chosen rows by the nearest centre."""
    rows, features, tables, chosen = borrowed(rows), borrowed(features), borrowed(tables), borrowed(chosen)
    centres, colours = borrowed(centres), borrowed(colours)
    point = np.empty(centres.shape[1])
    for k in range(begin, end):
        _average(rows, features, tables, seed, chosen[k], point)
        nearest, least = 0, np.inf
        for c in range(len(centres)):
            distance = _squared_distance(point, centres[c])
            if distance < least:
                nearest, least = c, distance
        colours[k] = nearest


def colour_rows(
    rows: Rows, tables: TableArrays, seed: np.uint64, chosen: np.ndarray, n_colours: int, threads: Threads
) -> np.ndarray:
    """Colours 0 … n_colours − 1 of chosen rows.

    The colour of a row depends on the data, the tables, the seed and the number of colours. It depends neither on the other
    rows that are chosen nor on the number of threads.

    Examples
    --------
    >>> import numpy as np
    >>> from hashmix.core.threads import Threads
    >>> from hashmix.data.rows import as_rows
    >>> from hashmix.hashing import NeighbourLists
    >>> from hashmix.moves.parallel.regions_colours import colour_rows
    >>> rows = as_rows(np.array([[0.0], [0.1], [9.0], [9.1]]))
    >>> tables = NeighbourLists(n_neighbors=1).build(rows, key=1).arrays
    >>> colours = colour_rows(rows, tables, np.uint64(2), np.arange(4), 2, Threads())
    >>> bool(colours[0] == colours[1]), bool(colours[2] == colours[3])
    (True, True)
    """
    colours = np.empty(len(chosen), np.int32)
    chosen = np.ascontiguousarray(chosen, np.int32)
    if rows.is_sparse:
        codes = _spread(tables, seed, threads)
        _in_blocks(
            threads,
            _COLOURED_BLOCK,
            len(chosen),
            lambda begin, end: _agree(tables, seed, codes, chosen, n_colours, colours, begin, end),
        )
        return colours
    features, centres = column_map(rows, center=True, scale=True), np.empty((n_colours, rows.n_columns))
    _draw_centres(rows.arrays, features, tables, seed, centres)
    _in_blocks(
        threads,
        _COLOURED_BLOCK,
        len(chosen),
        lambda begin, end: _find_nearest(rows.arrays, features, tables, seed, chosen, centres, colours, begin, end),
    )
    return colours


def colour_all_rows(rows: Rows, tables: TableArrays, seed: np.uint64, n_colours: int, threads: Threads) -> np.ndarray:
    """:func:`colour_rows` of all rows, in less time: each row asks its mates once."""
    n = len(tables.buckets)
    if not rows.is_sparse:
        return colour_rows(rows, tables, seed, np.arange(n), n_colours, threads)
    old, new, colours = _spread(tables, seed, threads), np.empty(n, np.uint32), np.empty(n, np.int32)
    for round in (_ROUNDS, _ROUNDS + 1):
        _agree_round(tables, seed, round, old, new, colours, n_colours, threads)
        old, new = new, old
    return colours


def _agree_round(tables: TableArrays, seed: np.uint64, round: int, *arrays: Any) -> None:
    *given, threads = arrays
    _in_blocks(threads, _BLOCK, len(given[0]), lambda begin, end: _agree_on_all(tables, seed, round, *given, begin, end))


def _spread(tables: TableArrays, seed: np.uint64, threads: Threads) -> np.ndarray:
    n = len(tables.buckets)
    old, new = np.empty(n, np.uint32), np.empty(n, np.uint32)
    _in_blocks(threads, _BLOCK, n, lambda begin, end: _draw_codes(seed, old, begin, end))
    for round in range(_ROUNDS):
        _spread_round(tables, seed, round, old, new, threads)
        old, new = new, old
    return old


def _spread_round(tables: TableArrays, seed: np.uint64, round: int, old: np.ndarray, new: np.ndarray, threads: Threads) -> None:
    _in_blocks(threads, _BLOCK, len(old), lambda begin, end: _spread_codes(tables, seed, round, old, new, begin, end))


def _in_blocks(threads: Threads, block: int, n: int, work: Any) -> None:
    """Call ``work(begin, end)`` for blocks of 0 … n − 1."""
    threads.map(lambda begin: work(begin, min(begin + block, n)), range(0, n, block))
