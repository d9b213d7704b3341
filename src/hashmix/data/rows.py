"""Rows: data as kernels take them, checked and measured in one pass.

A :class:`Rows` object holds the arrays that kernels read and a summary of every column. The summary is computed when the
data are checked, and everything that needs means, variances or ranges takes it from there.
"""

from __future__ import annotations

import hashlib
from abc import ABC, abstractmethod
from collections.abc import Iterator
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import csr_array

from hashmix.core.compiling import fallback, implements
from hashmix.core.prefetching import fetch_ahead
from hashmix.core.validation import bad_parameter, not_finite

__all__ = [
    "ColumnSummary",
    "DenseArrays",
    "DenseRows",
    "Rows",
    "SparseArrays",
    "SparseRows",
    "as_dense",
    "as_rows",
    "as_sparse",
    "extreme_cells",
    "fetch_row_ahead",
]

#: Rows that array code looks at in one go, and entries of sparse rows.
ROW_BLOCK, ENTRY_BLOCK = 8192, 1 << 22


class DenseArrays(NamedTuple):
    """A row-major matrix of float32 or float64, read-only."""

    values: np.ndarray


class SparseArrays(NamedTuple):
    """Compressed sparse rows with increasing columns, read-only; explicit zeros count as zeros."""

    values: np.ndarray
    columns: np.ndarray
    begins: np.ndarray
    n_features: int


def fetch_row_ahead(data, rows, at):
    """Begin to load the row that a loop over ``rows[at]`` will come to some steps later; sparse rows are not fetched."""


@fallback(fetch_row_ahead, hot=True)
def _fetch_none(data, rows, at):
    pass


@implements(fetch_row_ahead, DenseArrays, hot=True)
def _fetch_dense(data, rows, at):
    fetch_ahead(data.values, rows, at)


class ColumnSummary(NamedTuple):
    """Mean, variance (divisor n), least and largest value of every column, and in how many rows it is not zero.

    Mean and variance of a dense column are those of the bulk of its rows if very few rows lie extremely far away.
    """

    mean: np.ndarray
    variance: np.ndarray
    least: np.ndarray
    most: np.ndarray
    n_nonzero: np.ndarray


class Rows(ABC):
    """Data as kernels take them.

    Attributes
    ----------
    arrays : DenseArrays or SparseArrays
        What kernels read.
    n_rows, n_columns : int
    summary : ColumnSummary
    """

    arrays: Any

    @property
    @abstractmethod
    def n_rows(self) -> int:
        """Number of rows."""

    @property
    @abstractmethod
    def n_columns(self) -> int:
        """Number of columns."""

    @property
    @abstractmethod
    def is_sparse(self) -> bool:
        """Whether the rows are stored by their non-zero entries."""

    @property
    @abstractmethod
    def summary(self) -> ColumnSummary:
        """What there is to know about every column; computed once."""

    @abstractmethod
    def take(self, chosen: np.ndarray | slice) -> Rows:
        """Some of the rows, by number."""

    @abstractmethod
    def select_columns(self, chosen: np.ndarray) -> Rows:
        """The rows with some of their columns, by a mask; the rows themselves if all are chosen."""

    @abstractmethod
    def matrix(self) -> Any:
        """The rows as a NumPy array or a SciPy sparse array that shares their memory."""

    def __len__(self) -> int:
        return self.n_rows

    @property
    def shape(self) -> tuple[int, int]:
        """Number of rows and of columns."""
        return self.n_rows, self.n_columns

    def fingerprint(self) -> dict[str, Any]:
        """Shape, type and a SHA-256 of all entries: what tells data apart.

        Examples
        --------
        >>> import numpy as np
        >>> from hashmix.data.rows import as_dense
        >>> as_dense(np.eye(2)).fingerprint() == as_dense(2 * np.eye(2)).fingerprint()
        False
        """
        digest = hashlib.sha256()
        for array in self.arrays:
            if isinstance(array, np.ndarray):
                digest.update(np.ascontiguousarray(array).data)
        return {"shape": list(self.shape), "dtype": str(self.arrays.values.dtype), "sha256": digest.hexdigest()}


# ---- dense ---------------------------------------------------------------------------------------------------------------


class DenseRows(Rows):
    """Dense rows, C-contiguous, finite, float32 or float64."""

    arrays: Any

    is_sparse = False

    def __init__(self, values: np.ndarray, summary: ColumnSummary | None = None) -> None:
        view = values.view()
        # Read-only, so that kernels see one array type whether the user's array could be written to or not.
        view.flags.writeable = False
        self.arrays = DenseArrays(view)
        self._summary = summary

    @property
    def values(self) -> np.ndarray:
        """The matrix itself."""
        return self.arrays.values

    @property
    def n_rows(self) -> int:
        return self.values.shape[0]

    @property
    def n_columns(self) -> int:
        return self.values.shape[1]

    @property
    def summary(self) -> ColumnSummary:
        if self._summary is None:
            self._summary = robust_summary(self.values, summarise_dense(self.values))
        return self._summary

    def take(self, chosen: np.ndarray | slice) -> DenseRows:
        return DenseRows(self.values[chosen])

    def with_values(self, values: np.ndarray) -> DenseRows:
        """Rows of the same columns with other values."""
        return DenseRows(values)

    def select_columns(self, chosen: np.ndarray) -> DenseRows:
        if chosen.all():
            return self
        summary = ColumnSummary(*(part[chosen] for part in self.summary))
        return DenseRows(np.ascontiguousarray(self.values[:, chosen]), summary)

    def matrix(self) -> np.ndarray:
        return self.values

    def complete(self, owner: str) -> DenseRows:
        """The rows, if they are numbers without blanks; otherwise a ValueError is raised."""
        return self


def as_dense(X: Any, owner: str = "sample") -> DenseRows:
    """Check and measure a dense matrix in one pass; it is copied only where its type or order requires it.

    Examples
    --------
    >>> import numpy as np
    >>> from hashmix.data.rows import as_dense
    >>> as_dense(np.array([[0.0, 2.0], [1.0, 4.0]])).summary.mean
    array([0.5, 3. ])
    """
    if isinstance(X, DenseRows):
        return X.complete(owner)
    if isinstance(X, SparseRows) or hasattr(X, "tocsr"):
        raise bad_parameter(owner, "X", "a dense array (call X.toarray() if it fits in memory)", type(X))
    array = np.asarray(X)
    if array.dtype.kind in "bui":
        array = array.astype(np.float64)
    elif array.dtype.kind == "O":
        try:
            array = array.astype(np.float64)
        except (TypeError, ValueError):
            raise bad_parameter(owner, "X", "an array of numbers", X) from None
    if array.dtype.kind != "f":
        raise bad_parameter(owner, "X", "an array of numbers", array.dtype)
    if array.dtype not in (np.float32, np.float64):
        array = array.astype(np.float64)
    if array.ndim != 2 or array.shape[0] < 1 or array.shape[1] < 1:
        raise bad_parameter(owner, "X", "a matrix of at least one row and one column", f"shape {array.shape}")
    array = np.ascontiguousarray(array)
    return DenseRows(array, robust_summary(array, summarise_dense(array)))


def summarise_dense(values: np.ndarray) -> ColumnSummary:
    """Summarise every column in one pass over the rows; raise at the first entry that is not finite.

    Moments are taken block by block, about the first row, and combined (Chan, Golub and LeVeque).
    Sums that overflow are left as infinities for the caller to judge.
    """
    n, d = values.shape
    origin = values[0].astype(np.float64)  # differences from it keep the digits that a common offset would cost
    count = 0
    mean, scatter = np.zeros(d), np.zeros(d)
    least, most = np.full(d, np.inf), np.full(d, -np.inf)
    n_nonzero = np.zeros(d, np.int64)
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        for start in range(0, n, ROW_BLOCK):
            block = values[start : start + ROW_BLOCK]
            low, high = block.min(axis=0), block.max(axis=0)
            if not (np.isfinite(low).all() and np.isfinite(high).all()):
                row, column = np.argwhere(~np.isfinite(block))[0]
                raise not_finite(block[row, column], start + row, column)
            m = len(block)
            offset = block - origin
            block_mean = offset.sum(axis=0) / m
            offset -= block_mean
            step = block_mean - mean
            scatter += np.einsum("ij,ij->j", offset, offset)
            if count:
                scatter += step * step * (count * m / (count + m))
            count += m
            mean += step * (m / count)
            np.minimum(least, low, out=least)
            np.maximum(most, high, out=most)
            n_nonzero += np.count_nonzero(block, axis=0)
    return ColumnSummary(origin + mean, scatter / n, least, most, n_nonzero)


#: Rows that are looked at to find the bulk of a column, evenly spread; how many deviations of the bulk are extremely far; and
#: the largest share of rows that far.
_LOOKED_AT, _FAR, _VERY_FEW = 10_000, 200.0, 1e-3


def extreme_cells(values: np.ndarray, summary: ColumnSummary) -> Iterator[tuple[int, float, float, float, np.ndarray]]:
    """Columns with a few extreme cells: number, tenth percentile, median, ninetieth percentile, and where these cells are.

    Examples
    --------
    >>> import numpy as np
    >>> from hashmix.data.rows import as_dense, extreme_cells
    >>> rows = as_dense(np.column_stack([np.arange(20.0), np.append(np.arange(19.0), 1e9)]))
    >>> [column for column, *_ in extreme_cells(rows.values, rows.summary)]
    [1]
    """
    sample = np.asarray(values)[:: max(1, len(values) // _LOOKED_AT)].astype(np.float64)
    with np.errstate(over="ignore", invalid="ignore"):
        low, middle, high = np.percentile(sample, [10.0, 50.0, 90.0], axis=0)
        scale = (high - low) / 2.563  # the same for a normal distribution
        distance = np.maximum(summary.most - middle, middle - summary.least)
        suspect = np.flatnonzero((scale > 0.0) & (distance > _FAR * scale))
    for j in suspect.tolist():
        far = np.abs(values[:, j] - middle[j]) > _FAR * scale[j]
        if far.sum() <= max(1.0, _VERY_FEW * len(values)):
            yield j, low[j], middle[j], high[j], far


def robust_summary(values: np.ndarray, summary: ColumnSummary) -> ColumnSummary:
    """The summary with mean and variance of the bulk in columns with a few extreme values.

    One cell of −999 or 10⁹ would otherwise make all other rows look alike: starting values and hashing use these variances.
    """
    mean, variance = summary.mean.copy(), summary.variance.copy()
    for j, *_, far in extreme_cells(values, summary):
        bulk = values[~far, j].astype(np.float64)
        with np.errstate(over="ignore", invalid="ignore"):
            mean[j], variance[j] = bulk.mean(), bulk.var()
    return summary._replace(mean=mean, variance=variance)


# ---- sparse --------------------------------------------------------------------------------------------------------------


class SparseRows(Rows):
    """Compressed sparse rows: columns in increasing order, each at most once per row."""

    arrays: Any

    is_sparse = True

    def __init__(self, values: np.ndarray, columns: np.ndarray, begins: np.ndarray, n_features: int) -> None:
        arrays = [values, columns.astype(np.int32, copy=False), begins.astype(np.int64, copy=False)]
        for k, array in enumerate(arrays):
            arrays[k] = array.view()
            arrays[k].flags.writeable = False
        self.arrays = SparseArrays(arrays[0], arrays[1], arrays[2], n_features)

    @property
    def n_rows(self) -> int:
        return len(self.arrays.begins) - 1

    @property
    def n_columns(self) -> int:
        return self.arrays.n_features

    @cached_property
    def summary(self) -> ColumnSummary:
        values, columns, d = self.arrays.values, self.arrays.columns, self.n_columns
        sums, squares, n_nonzero = np.zeros(d), np.zeros(d), np.zeros(d, np.int64)
        least, most = np.zeros(d), np.zeros(d)
        with np.errstate(over="ignore", invalid="ignore"):
            for start in range(0, len(columns), ENTRY_BLOCK):
                block, mine = values[start : start + ENTRY_BLOCK].astype(np.float64), columns[start : start + ENTRY_BLOCK]
                sums += np.bincount(mine, block, d)
                squares += np.bincount(mine, block * block, d)
                n_nonzero += np.bincount(mine[block != 0.0], minlength=d)
                np.minimum.at(least, mine, block)
                np.maximum.at(most, mine, block)
            mean = sums / self.n_rows
            variance = np.maximum(squares / self.n_rows - mean * mean, 0.0)
        return ColumnSummary(mean, variance, least, most, n_nonzero)

    def take(self, chosen: np.ndarray | slice) -> SparseRows:
        matrix = self.matrix()[chosen]
        return SparseRows(matrix.data, matrix.indices, matrix.indptr, self.n_columns)

    def select_columns(self, chosen: np.ndarray) -> SparseRows:
        if chosen.all():
            return self
        matrix = self.matrix()[:, np.flatnonzero(chosen)]
        return SparseRows(matrix.data, matrix.indices, matrix.indptr, matrix.shape[1])

    def matrix(self) -> csr_array:
        values, columns, begins, _ = self.arrays
        # SciPy wants indices of one type, or it copies them.
        begins = begins.astype(np.int32) if len(columns) < 2**31 else begins
        return csr_array((values, columns, begins), shape=self.shape)


def as_sparse(X: Any, owner: str = "sample") -> SparseRows:
    """Check a sparse matrix; it is copied only where its type or order requires it.

    Examples
    --------
    >>> from scipy.sparse import csr_array
    >>> from hashmix.data.rows import as_sparse
    >>> as_sparse(csr_array([[0.0, 2.0], [1.0, 0.0]])).arrays.columns
    array([1, 0], dtype=int32)
    """
    if isinstance(X, SparseRows):
        return X
    matrix = X.tocsr()
    if matrix.ndim != 2 or min(matrix.shape) < 1:
        raise bad_parameter(owner, "X", "a matrix of at least one row and one column", f"shape {matrix.shape}")
    if matrix.dtype.kind not in "buif":
        raise bad_parameter(owner, "X", "a matrix of numbers", matrix.dtype)
    if not matrix.has_canonical_format:
        matrix = matrix.copy()
        matrix.sum_duplicates()
    values = matrix.data if matrix.dtype in (np.float32, np.float64) else matrix.data.astype(np.float64)
    bad = np.flatnonzero(~np.isfinite(values))
    if len(bad):
        row = int(np.searchsorted(matrix.indptr, bad[0], side="right")) - 1
        raise not_finite(values[bad[0]], row, int(matrix.indices[bad[0]]))
    return SparseRows(values, matrix.indices, matrix.indptr, matrix.shape[1])


def as_rows(X: Any, owner: str = "sample") -> Rows:
    """Rows of a dense or sparse matrix, checked; Rows are returned as they are.

    Examples
    --------
    >>> import numpy as np
    >>> from hashmix.data.rows import as_rows
    >>> as_rows(np.eye(3)).shape
    (3, 3)
    """
    if isinstance(X, Rows):
        return X
    return as_sparse(X, owner) if hasattr(X, "tocsr") else as_dense(X, owner)
