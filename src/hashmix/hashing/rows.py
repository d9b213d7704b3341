"""Rows to hash, dense or sparse, behind two verbs: a row's non-zeros in feature order, and one feature's value.

A :class:`FeatureMap` says what the features of a row are: its columns, centred and scaled, and for signed data split into
a positive and a negative part. A dense and a sparse row with the same entries have the same features to the last bit.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import csr_array

from hashmix.compiling import hot_helper, implements
from hashmix.validation import as_rows, bad_parameter, not_finite

__all__ = [
    "DenseRows",
    "FeatureMap",
    "SparseRows",
    "as_hashable",
    "as_matrix",
    "as_row_groups",
    "as_row_pair",
    "column_map",
    "count_features",
    "document_weights",
    "feature_value",
    "first_rows",
    "n_columns",
    "n_rows",
    "nonzeros",
    "smallest_entry",
    "sparse_rows",
    "take_rows",
]

#: Rows looked at in one go by array code.
ROW_BLOCK = 16384


class DenseRows(NamedTuple):
    """A row-major matrix."""

    values: np.ndarray


class SparseRows(NamedTuple):
    """Compressed sparse rows with increasing columns; explicit zeros count as zeros."""

    values: np.ndarray
    columns: np.ndarray
    begins: np.ndarray
    n_features: int


class FeatureMap(NamedTuple):
    """Feature j of a row is (x_j − origin_j) · scale_j; if ``signed``, its negative part is feature D + j instead."""

    origin: np.ndarray
    scale: np.ndarray
    signed: bool


def count_features(features: FeatureMap) -> int:
    """How many features a row has, zeros included."""
    return len(features.origin) * (2 if features.signed else 1)


def as_hashable(X: Any, owner: str) -> DenseRows | SparseRows:
    """Dense or sparse rows as kernels take them, checked (unless they are so already); copied only when they must be."""
    if isinstance(X, (DenseRows, SparseRows)):
        return X
    if not hasattr(X, "tocsr"):
        return DenseRows(as_rows(X, owner))
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
    return sparse_rows(values, matrix.indices, matrix.indptr, matrix.shape[1])


def sparse_rows(values: np.ndarray, columns: np.ndarray, begins: np.ndarray, n_features: int) -> SparseRows:
    """Sparse rows of the types kernels know, read-only, copied only where they must be."""
    arrays = [values, columns.astype(np.int32, copy=False), begins.astype(np.int64, copy=False)]
    for k, array in enumerate(arrays):
        arrays[k] = array.view()
        arrays[k].flags.writeable = False
    return SparseRows(arrays[0], arrays[1], arrays[2], n_features)


def as_row_pair(x: Any, y: Any, owner: str) -> np.ndarray:
    """Two rows of equal length, dense or sparse, as a matrix."""
    return np.concatenate(as_row_groups(x, y, owner))


def as_row_groups(x: Any, y: Any, owner: str) -> tuple[np.ndarray, np.ndarray]:
    """Two groups of rows with the same columns, dense or sparse, as matrices."""
    groups = [as_rows(rows.toarray() if hasattr(rows, "tocsr") else np.atleast_2d(np.asarray(rows)), owner) for rows in (x, y)]
    if groups[0].shape[1] != groups[1].shape[1]:
        widths = " and ".join(str(group.shape[1]) for group in groups)
        raise ValueError(f"{owner} takes rows with the same number of columns. Got {widths} instead.")
    return groups[0], groups[1]


def n_rows(rows: Any) -> int:
    """How many rows there are, in a matrix or in rows to hash."""
    if isinstance(rows, SparseRows):
        return len(rows.begins) - 1
    return len(rows.values if isinstance(rows, DenseRows) else rows)


def n_columns(rows: DenseRows | SparseRows) -> int:
    """How many columns there are."""
    return rows.n_features if isinstance(rows, SparseRows) else rows.values.shape[1]


def first_rows(rows: Any, n: int) -> Any:
    """The first n rows of a matrix or of sparse rows."""
    if isinstance(rows, SparseRows):
        end = rows.begins[min(n, n_rows(rows))]
        return rows._replace(values=rows.values[:end], columns=rows.columns[:end], begins=rows.begins[: n + 1])
    return rows[:n]


def take_rows(rows: Any, chosen: np.ndarray) -> Any:
    """Some rows of a matrix or of sparse rows."""
    if isinstance(rows, SparseRows):
        matrix = as_matrix(rows)[chosen]
        return sparse_rows(matrix.data, matrix.indices, matrix.indptr, rows.n_features)
    return rows[chosen]


def as_matrix(rows: SparseRows) -> csr_array:
    """Sparse rows as a SciPy matrix that shares their memory (SciPy wants indices of one type, or it copies them)."""
    begins = rows.begins.astype(np.int32) if len(rows.columns) < 2**31 else rows.begins
    return csr_array((rows.values, rows.columns, begins), shape=(n_rows(rows), rows.n_features))


def smallest_entry(rows: DenseRows | SparseRows) -> tuple[float, int, int]:
    """The least value in store, its row and its column."""
    if isinstance(rows, SparseRows):
        if len(rows.values) == 0:
            return 0.0, 0, 0
        at = int(rows.values.argmin())
        return float(rows.values[at]), int(np.searchsorted(rows.begins, at, side="right")) - 1, int(rows.columns[at])
    at = int(rows.values.argmin())
    row, column = divmod(at, rows.values.shape[1])
    return float(rows.values[row, column]), row, column


def column_moments(rows: DenseRows | SparseRows) -> tuple[np.ndarray, np.ndarray]:
    """Mean and standard deviation of every column."""
    n, d = n_rows(rows), n_columns(rows)
    if isinstance(rows, SparseRows):
        blocks = [slice(start, start + (1 << 22)) for start in range(0, len(rows.columns), 1 << 22)]
        mean, deviations, absent = np.zeros(d), np.zeros(d), np.full(d, float(n))
        for block in blocks:
            mean += np.bincount(rows.columns[block], rows.values[block], d) / n
        for block in blocks:
            columns = rows.columns[block]
            deviations += np.bincount(columns, (rows.values[block] - mean[columns]) ** 2, d)
            absent -= np.bincount(columns, minlength=d)
        return mean, np.sqrt((deviations + absent * mean**2) / n)
    mean = np.zeros(d)
    for start in range(0, n, ROW_BLOCK):
        mean += rows.values[start : start + ROW_BLOCK].sum(axis=0, dtype=np.float64)
    mean /= n
    variance = np.zeros(d)
    for start in range(0, n, ROW_BLOCK):
        variance += ((rows.values[start : start + ROW_BLOCK] - mean) ** 2).sum(axis=0)
    return mean, np.sqrt(variance / n)


def document_weights(rows: DenseRows | SparseRows) -> np.ndarray:
    """log(1 + n / df) of every column, df being the number of rows that have it; 0 where none has."""
    n, d = n_rows(rows), n_columns(rows)
    if isinstance(rows, SparseRows):
        df = np.zeros(d)
        for start in range(0, len(rows.columns), 1 << 22):
            df += np.bincount(rows.columns[start : start + (1 << 22)], minlength=d)
    else:
        df = sum((rows.values[start : start + ROW_BLOCK] != 0).sum(axis=0) for start in range(0, n, ROW_BLOCK)).astype(float)
    return np.where(df > 0, np.log1p(n / np.maximum(df, 1.0)), 0.0)


def column_map(rows: DenseRows | SparseRows, center: bool, scale: bool | str, signed: bool) -> FeatureMap:
    """The features of rows: columns about their means if ``center``, in standard deviations if ``scale``.

    ``scale="idf"`` weighs columns by how few rows have them instead.
    """
    d = n_columns(rows)
    if scale == "idf":
        mean = column_moments(rows)[0] if center else np.zeros(d)
        return FeatureMap(mean, document_weights(rows), signed)
    with np.errstate(over="ignore", invalid="ignore"):
        mean, deviation = column_moments(rows) if center or scale else (np.zeros(d), np.ones(d))
    if not np.isfinite(deviation).all():
        column = int(np.flatnonzero(~np.isfinite(deviation))[0])
        raise ValueError(f"X must hold numbers whose squares can be summed. Column {column} is too large to centre and scale.")
    varies = deviation > 1e-12 * np.abs(mean)
    units = 1.0 / np.where(varies, deviation, 1.0) if scale else np.ones(d)
    if not center:
        return FeatureMap(np.zeros(d), units, signed)
    # A centred column of equal values is zero: taken as that, however large, it costs no digits.
    return FeatureMap(mean, np.where(varies, units, 0.0), signed)


def nonzeros(rows, i, features, columns, values):
    """Write the non-zero features of row i and their values; return how many."""


def feature_value(rows, i, features, feature):
    """One feature of row i."""


@hot_helper
def _keep(x, j, d, features, columns, values, found):
    """Write the feature that entry x of column j is, unless it is zero; how many are written then."""
    y = (x - features.origin[j]) * features.scale[j]
    if y == 0.0:
        return found
    columns[found] = j + d if features.signed and y < 0.0 else j
    values[found] = abs(y)
    return found + 1


@hot_helper
def _value(x, j, negative, features):
    """Column j's feature for entry x, or its negative part."""
    y = (x - features.origin[j]) * features.scale[j]
    if features.signed:
        return max(-y, 0.0) if negative else max(y, 0.0)
    return y


@implements(nonzeros, DenseRows)
def _nonzeros_dense(rows, i, features, columns, values):
    d = rows.values.shape[1]
    found = 0
    for j in range(d):
        found = _keep(rows.values[i, j], j, d, features, columns, values, found)
    return found


@implements(nonzeros, SparseRows)
def _nonzeros_sparse(rows, i, features, columns, values):
    d = rows.n_features
    found = 0
    for at in range(rows.begins[i], rows.begins[i + 1]):
        found = _keep(rows.values[at], rows.columns[at], d, features, columns, values, found)
    return found


@implements(feature_value, DenseRows)
def _value_dense(rows, i, features, feature):
    d = rows.values.shape[1]
    j = feature if feature < d else feature - d
    return _value(rows.values[i, j], j, feature >= d, features)


@implements(feature_value, SparseRows)
def _value_sparse(rows, i, features, feature):
    d = rows.n_features
    j = feature if feature < d else feature - d
    low, high = rows.begins[i], rows.begins[i + 1]
    while low < high:
        middle = (low + high) // 2
        if rows.columns[middle] < j:
            low = middle + 1
        else:
            high = middle
    if low == rows.begins[i + 1] or rows.columns[low] != j:
        return 0.0
    return _value(rows.values[low], j, feature >= d, features)
