"""Dequantisation: values that many rows share are spread within their cells.

A column of integers, prices or rounded measurements breaks density models: where it is constant within a cluster, or a
combination of such columns is, the density is unbounded. So does a single value that many rows share, an *atom*, such as the 0
of a measurement below the limit of detection: rows would be clustered by which of their columns are 0. So each such value gets
a uniform number within its cell, once, before anything else. A density is then at most the probability of a cell divided by its
size. The numbers depend on the key, the row and the column, and on nothing else.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from hashmix.core.compiling import borrowed, helper, kernel
from hashmix.core.counter import address, uniform_at
from hashmix.data.mixed import MixedRows
from hashmix.data.rows import ROW_BLOCK, DenseRows

__all__ = ["Lattice", "dequantise", "log_sizes", "spread"]

#: Rows that are looked at to find columns with few distinct values, evenly spread.
_LOOKED_AT = 10_000
#: A column has few distinct values if these are at most this share of the rows looked at.
_FEW = 0.5
#: Least width of a cell, in standard deviations of its column.
_LEAST_WIDTH = 0.01
#: Of the other columns, a value is an atom if at least this share of the rows has it, and so many of those looked at.
_ATOM, _LEAST_ROWS = 0.01, 10
#: Least and largest width of an atom's cell, in standard deviations of its column.
_LEAST_ATOM, _MOST_ATOM = 0.05, 0.5
#: If a combination of columns varies less than this (as an eigenvalue of their correlations), all columns are spread a little.
_SINGULAR, _LITTLE = 1e-6, 0.03


class Lattice(NamedTuple):
    """The cells of every column: the values they are around in increasing order, one column after the other, and their widths.

    In a column whose cells are of atoms, only rows with just these values are spread; in others, every row is, in the nearest
    cell.
    """

    begins: np.ndarray  # (D + 1,) where the values of a column begin
    values: np.ndarray
    widths: np.ndarray
    of_atoms: np.ndarray  # (D,)

    @property
    def columns(self) -> np.ndarray:
        """Mask of the columns that have cells."""
        return np.diff(self.begins) > 0

    @classmethod
    def of(cls, rows: DenseRows) -> Lattice:
        """The lattice of the rows, from an evenly spread sample of them."""
        sample = np.asarray(rows.values)[:: max(1, rows.n_rows // _LOOKED_AT)].astype(np.float64)
        mixed = isinstance(rows, MixedRows)
        numeric = rows.numeric if isinstance(rows, MixedRows) else np.ones(rows.n_columns, bool)
        with np.errstate(over="ignore", under="ignore", invalid="ignore"):  # the component says which columns it cannot take
            found = [_cells(sample[:, j] if numeric[j] else sample[:0, j]) for j in range(rows.n_columns)]
            on_grid = np.array([len(cells.values) > 0 and not cells.of_atoms for cells in found])
            # Columns of mixed rows are independent given the cluster: there a combination cannot have an unbounded density.
            if not mixed and not on_grid.all() and _is_singular(sample):
                little = _LITTLE * sample.std(axis=0)
                for j in np.flatnonzero(~on_grid):
                    found[j] = _Cells(sample[:1, j], little[j : j + 1], False)
        begins = np.cumsum([0] + [len(cells.values) for cells in found])
        values, widths, of_atoms = zip(*found, strict=True)
        return cls(begins, np.concatenate(values), np.concatenate(widths), np.array(of_atoms))


class _Cells(NamedTuple):
    """The cells of one column."""

    values: np.ndarray
    widths: np.ndarray
    of_atoms: bool


def _cells(column: np.ndarray) -> _Cells:
    """The cells of a column that has few distinct values, or of its atoms; none for other columns."""
    column = column[~np.isnan(column)]
    values, counts = np.unique(column, return_counts=True)
    if len(values) <= 1:
        return _Cells(np.empty(0), np.empty(0), False)
    shared = counts >= max(_LEAST_ROWS, _ATOM * len(column))
    others = np.repeat(values[~shared], counts[~shared])
    # The values of a grid are shared, too, but hardly any row lies between them.
    if len(others) > _LEAST_ROWS * shared.sum() and (~shared).sum() > _FEW * len(others):
        widths = _widths_of_atoms(values[shared], counts[shared], others, column.std())
        return _Cells(values[shared], widths, bool(shared.any()))
    if len(values) > _FEW * len(column):
        return _Cells(np.empty(0), np.empty(0), False)
    return _Cells(values, _widths_on_grid(values, counts, column.std()), False)


def _widths_on_grid(values: np.ndarray, counts: np.ndarray, deviation: float) -> np.ndarray:
    """The gap to the nearer value, and not more than most gaps: outliers keep their place."""
    gaps = np.diff(values)
    nearer = np.minimum(np.append(gaps, gaps[-1]), np.insert(gaps, 0, gaps[0]))
    order = np.argsort(nearer)
    usual = nearer[order][np.searchsorted(np.cumsum(counts[order]), 0.5 * counts.sum())]
    return np.maximum(np.minimum(nearer, usual), _LEAST_WIDTH * deviation)


def _widths_of_atoms(atoms: np.ndarray, counts: np.ndarray, others: np.ndarray, deviation: float) -> np.ndarray:
    """Widths that make a cell about as dense as what is around it: as many other rows are nearer to the atom than that."""
    widths = np.full(len(atoms), np.inf)
    for place, (value, count) in enumerate(zip(atoms, counts, strict=True)):
        if count <= len(others):
            widths[place] = np.partition(np.abs(others - value), count - 1)[count - 1]
    return np.clip(widths, _LEAST_ATOM * deviation, _MOST_ATOM * deviation)


def _is_singular(sample: np.ndarray) -> bool:
    """Whether some combination of columns is constant, or nearly."""
    varies = sample.std(axis=0) > 0
    if len(sample) <= varies.sum() or varies.sum() < 2:
        return bool(varies.sum() >= 2)
    correlations = np.corrcoef(sample[:, varies], rowvar=False)
    return bool(np.isfinite(correlations).all() and np.linalg.eigvalsh(correlations)[0] < _SINGULAR)


@helper
def _nearest(values, begin, end, x):
    """The place of the value nearest to x."""
    low = min(begin + np.searchsorted(values[begin:end], x), end - 1)
    if low > begin and x - values[low - 1] < values[low] - x:
        return low - 1
    return low


@kernel
def _spread(key, lattice, origin, values, begin, end, out):
    lattice, values, out = borrowed(lattice), borrowed(values), borrowed(out)
    for i in range(begin, end):
        for j in range(values.shape[1]):
            first, last = lattice.begins[j], lattice.begins[j + 1]
            if first == last:
                continue
            cell = _nearest(lattice.values, first, last, values[i, j])
            if not lattice.of_atoms[j] or values[i, j] == lattice.values[cell]:
                out[i, j] = values[i, j] + lattice.widths[cell] * (uniform_at(address(key, j, origin + i), 0) - 0.5)


def log_sizes(rows: DenseRows, lattice: Lattice) -> float:
    """The sum of the logarithms of the sizes of the rows' cells: of the volume that their values are spread over.

    Examples
    --------
    >>> import numpy as np
    >>> from hashmix.data.dequantise import Lattice, log_sizes
    >>> from hashmix.data.rows import as_dense
    >>> rows = as_dense(np.array([[0.0], [3.0], [0.0], [3.0]]))
    >>> round(log_sizes(rows, Lattice.of(rows)), 3)  # four cells of size 3
    4.394
    """
    total = 0.0
    for j in np.flatnonzero(lattice.columns).tolist():
        values = lattice.values[lattice.begins[j] : lattice.begins[j + 1]]
        logs = np.log(lattice.widths[lattice.begins[j] : lattice.begins[j + 1]])
        seen, counts = np.unique(rows.values[:, j], return_counts=True)
        right = np.minimum(np.searchsorted(values, seen), len(values) - 1)
        left = np.maximum(right - 1, 0)
        cells = np.where(seen - values[left] < values[right] - seen, left, right)
        spread_too = (values[cells] == seen) | (not lattice.of_atoms[j])
        total += float((counts * logs[cells])[spread_too].sum())
    return total


def dequantise(rows: DenseRows, key: int) -> tuple[DenseRows, np.ndarray]:
    """Spread the values of columns with few distinct values, and values that many rows share, within their cells.

    All columns are spread, by 3 % of their standard deviation, if a combination of columns is constant.

    Parameters
    ----------
    rows : DenseRows
    key : int
        Names the random numbers, together with the row and the column.

    Returns
    -------
    rows : DenseRows or MixedRows
        A copy; the rows themselves if no column was spread.
    columns : bool array of shape (n_columns,)
        The columns that were spread.

    Examples
    --------
    >>> import numpy as np
    >>> from hashmix.data.dequantise import dequantise
    >>> from hashmix.data.rows import as_dense
    >>> X = np.array([[0.0, 0.11], [1.0, 0.72], [0.0, 0.53], [1.0, 0.34]])
    >>> rows, columns = dequantise(as_dense(X), key=1)
    >>> columns, bool((abs(rows.values - X) < 0.5).all())
    (array([ True, False]), True)
    """
    lattice = Lattice.of(rows)
    return (spread(rows, lattice, key) if lattice.columns.any() else rows), lattice.columns


def spread(rows: DenseRows, lattice: Lattice, key: int, first: int = 0) -> DenseRows:
    """Rows with their values spread within the cells of a lattice; row i has the number ``first + i``."""
    out = rows.values.copy()
    for begin in range(0, rows.n_rows, ROW_BLOCK):
        _spread(np.uint64(key), lattice, first, rows.values, begin, min(begin + ROW_BLOCK, rows.n_rows), out)
    return rows.with_values(out)
