"""Cells: rows grouped by the nearest of some rows drawn at random, in two levels."""

from __future__ import annotations

import math

import numpy as np

from hashmix.core.compiling import borrowed, implements, kernel
from hashmix.core.rng import numpy_generator
from hashmix.core.threads import one_blas_thread
from hashmix.core.validation import check_integer
from hashmix.data.rows import DenseArrays, Rows, SparseArrays
from hashmix.hashing.family import HashFamily, in_threads
from hashmix.hashing.tables import TableArrays

__all__ = ["CellFamily", "Cells"]

#: Most pivots that one row is compared with per level.
_MOST_PIVOTS = 256
#: Rows per matrix product, and per task.
_BLOCK, _TASK = 512, 16_384


class Cells:
    """Rows by cell, and cells by group.

    Attributes
    ----------
    order : int32 array of shape (n_rows,)
        Rows by cell.
    begins : int64 array of shape (n_cells + 1,)
        Cell c holds the rows ``order[begins[c] : begins[c + 1]]``.
    groups : int64 array of shape (n_groups + 1,)
        Group g holds the rows ``order[groups[g] : groups[g + 1]]``.
    arrays : TableArrays
        The cells as a hash table.
    """

    order: np.ndarray
    begins: np.ndarray
    groups: np.ndarray
    arrays: TableArrays

    def __init__(self, cell: np.ndarray, group: np.ndarray) -> None:
        n = len(cell)
        self.order = _order(cell)
        self.begins = _begins(cell)
        self.groups = _begins(group)
        nowhere = np.full(len(self.begins) - 1, -1, np.int32)
        self.arrays = TableArrays(cell.reshape(n, 1), self.begins, self.order, nowhere)


class CellFamily(HashFamily):
    """Cells of rows that have the same row, of some drawn at random, as their nearest: Euclidean distance over standardised
    columns, or for sparse rows the angle, with rare words weighted more.

    Rows are first divided into groups, then groups into cells, so that a row is compared with about twice the square root of
    the number of cells. Cells adapt to where the rows are: dense regions have more of them.

    Parameters
    ----------
    cell_size : int, default=1024
        Rows that a cell should have, on average.

    Examples
    --------
    >>> import numpy as np
    >>> from hashmix.data.rows import as_rows
    >>> from hashmix.hashing.cells import CellFamily
    >>> rows = as_rows(np.random.default_rng(0).normal(size=(100, 2)))
    >>> cells = CellFamily(cell_size=10).build(rows, key=0)
    >>> int(cells.begins[-1]), sorted(cells.order.tolist()) == list(range(100))
    (100, True)
    """

    def __init__(self, cell_size: int = 1024) -> None:
        super().__init__(1, 1)
        self.cell_size: int = check_integer(type(self).__name__, "cell_size", cell_size, low=1)

    def build(self, rows: Rows, key: int, generation: int = 0, n_jobs: int | None = None) -> Cells:
        """Group rows into cells around the pivots named by (key, generation).

        See :meth:`hashmix.hashing.HashFamily.build` for the parameters.
        """
        n = rows.n_rows
        rng = numpy_generator(key, generation, 7)
        center, unit = _columns(rows)
        group = np.zeros(n, np.int32)
        wanted = min(_MOST_PIVOTS, math.ceil(math.sqrt(n / self.cell_size)))
        _join_nearest(rows, center, unit, np.arange(n, dtype=np.int32), wanted, rng, group, n_jobs)
        cell = np.zeros(n, np.int32)
        order, bounds = _order(group), _begins(group)
        found = 0
        for begin, end in zip(bounds[:-1].tolist(), bounds[1:].tolist(), strict=True):
            members = order[begin:end]
            wanted = min(_MOST_PIVOTS, math.ceil(len(members) / self.cell_size))
            here = np.zeros(len(members), np.int32)
            n_found = _join_nearest(rows, center, unit, members, wanted, rng, here, n_jobs)
            cell[members] = found + here
            found += n_found
        return Cells(cell, group)


def _order(numbers: np.ndarray) -> np.ndarray:
    """Rows sorted by small numbers; 16 bits are sorted in linear time."""
    short = numbers.astype(np.uint16) if numbers.max() < 2**16 else numbers
    return np.argsort(short, kind="stable").astype(np.int32)


def _begins(numbers: np.ndarray) -> np.ndarray:
    """Where the rows of each number begin, when they are sorted."""
    return np.concatenate([[0], np.cumsum(np.bincount(numbers))]).astype(np.int64)


def _columns(rows: Rows) -> tuple[np.ndarray, np.ndarray]:
    """Where columns are centred, and their weights."""
    mean, variance, _, _, n_nonzero = rows.summary
    if rows.is_sparse:
        return np.zeros(rows.n_columns), np.log1p(rows.n_rows / np.maximum(n_nonzero, 1.0))
    return mean, 1.0 / np.sqrt(np.where(variance > 0.0, variance, 1.0))


def _join_nearest(
    rows: Rows,
    center: np.ndarray,
    unit: np.ndarray,
    members: np.ndarray,
    wanted: int,
    rng: np.random.Generator,
    out: np.ndarray,
    n_jobs: int | None,
) -> int:
    """Write the number of the nearest pivot of every member; pivots that are nobody's nearest are not counted."""
    chosen = rng.choice(len(members), min(max(wanted, 1), len(members)), replace=False)
    pivots = rows.take(np.sort(members[chosen])).matrix()
    pivots = ((pivots.toarray() if rows.is_sparse else pivots) - center) * unit
    if rows.is_sparse:
        pivots = pivots * unit / np.maximum(np.sqrt((pivots**2).sum(axis=1, keepdims=True)), 1e-30)
        halves = np.zeros(len(pivots), np.float32)
        pivots = np.ascontiguousarray(pivots.T, np.float32)
    else:
        halves = (0.5 * (pivots**2).sum(axis=1)).astype(np.float32)
        pivots = np.ascontiguousarray(pivots, np.float32)

    def work(begin: int) -> None:
        _nearest(rows.arrays, center, unit, members, begin, min(begin + _TASK, len(members)), pivots, halves, out)

    with one_blas_thread():
        in_threads(work, range(0, len(members), _TASK), n_jobs)
    in_use = np.bincount(out, minlength=len(halves)) > 0
    out[:] = (np.cumsum(in_use) - 1)[out]
    return int(in_use.sum())


def _similarities(data, center, unit, members, begin, end, pivots, features, out):
    """Inner products of rows ``members[begin:end]`` with the pivots, written to the first rows of ``out``."""


@implements(_similarities, DenseArrays)
def _dense_similarities(data, center, unit, members, begin, end, pivots, features, out):
    for r in range(end - begin):
        i = members[begin + r]
        for j in range(len(center)):
            features[r, j] = (data.values[i, j] - center[j]) * unit[j]
    m = end - begin
    np.dot(features[:m], pivots.T, out[:m])


@implements(_similarities, SparseArrays)
def _sparse_similarities(data, center, unit, members, begin, end, pivots, features, out):
    for r in range(end - begin):
        i = members[begin + r]
        for p in range(out.shape[1]):
            out[r, p] = 0.0
        for at in range(data.begins[i], data.begins[i + 1]):
            value, pivot = np.float32(data.values[at]), pivots[data.columns[at]]
            for p in range(out.shape[1]):
                out[r, p] += value * pivot[p]


@kernel
def _nearest(data, center, unit, members, begin, end, pivots, halves, out):
    data, center, unit, members = borrowed(data), borrowed(center), borrowed(unit), borrowed(members)
    pivots, halves, out = borrowed(pivots), borrowed(halves), borrowed(out)
    features = np.empty((_BLOCK, pivots.shape[1]), np.float32)
    near = np.empty((_BLOCK, len(halves)), np.float32)
    for start in range(begin, end, _BLOCK):
        stop = min(start + _BLOCK, end)
        _similarities(data, center, unit, members, start, stop, pivots, features, near)
        for r in range(stop - start):
            best, top = 0, near[r, 0] - halves[0]
            for p in range(1, len(halves)):
                value = near[r, p] - halves[p]
                if value > top:
                    best, top = p, value
            out[start + r] = best
