"""Counts: dense or sparse matrices, validated and stored as sparse rows of small integers."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import csr_array

from hashmix.core.validation import bad_parameter, not_finite
from hashmix.data.rows import ENTRY_BLOCK, Rows, SparseRows

__all__ = ["CountRow", "as_counts"]


class CountRow(NamedTuple):
    """One row, as kernels of count components read it.

    Its entries are ``columns[begin:end]`` and ``values[begin:end]`` of the data, and ``total`` is the sum of its counts.
    ``constant`` is the part of its log likelihood that does not depend on the cluster.
    """

    columns: np.ndarray
    values: np.ndarray
    begin: int
    end: int
    total: Any
    constant: float


def as_counts(X: Any, owner: str = "sample", binary: bool = False) -> SparseRows:
    """Validate counts and store them as sparse rows without zeros, with at most one entry per row and column.

    Parameters
    ----------
    X : array, sparse matrix or Rows of shape (n_rows, n_features)
        Whole numbers ≥ 0. SparseRows of integers are counts already, and are returned as they are.
    owner : str
        Name of the caller, for error messages.
    binary : bool, default=False
        Whether entries must be 0 or 1.

    Returns
    -------
    SparseRows
        Values are uint8 if all counts are at most 255, else int32. Arrays of the right type are not copied.

    Examples
    --------
    >>> from hashmix.data.counts import as_counts
    >>> as_counts([[0, 2, 1]]).arrays.columns
    array([1, 2], dtype=int32)
    """
    if isinstance(X, SparseRows) and X.arrays.values.dtype.kind in "ui":
        return X
    if isinstance(X, Rows):
        X = X.matrix()
    if not hasattr(X, "tocsr"):
        X = np.asarray(X)
        if X.dtype.kind == "O":
            try:
                X = X.astype(np.float64)
            except (TypeError, ValueError):
                raise bad_parameter(owner, "X", "a matrix of counts", X) from None
    if X.ndim != 2 or min(X.shape) < 1:
        raise bad_parameter(owner, "X", "a matrix of at least one row and one column", f"shape {X.shape}")
    if X.dtype.kind not in "buif":
        raise bad_parameter(owner, "X", "a matrix of counts", X.dtype)
    matrix = X.tocsr() if hasattr(X, "tocsr") else csr_array(X)
    if not matrix.has_canonical_format:
        matrix = matrix.copy()
        matrix.sum_duplicates()
    largest = _check_counts(matrix, owner, binary)
    if len(matrix.data) and _has_zeros(matrix.data):
        matrix = matrix.copy()
        matrix.eliminate_zeros()
    values = matrix.data.astype(np.uint8 if largest <= 255 else np.int32, copy=False)
    return SparseRows(values, matrix.indices, matrix.indptr, matrix.shape[1])


def _has_zeros(values: np.ndarray) -> bool:
    return any((values[k : k + ENTRY_BLOCK] == 0).any() for k in range(0, len(values), ENTRY_BLOCK))


def _check_counts(matrix: Any, owner: str, binary: bool) -> float:
    """Raise a ValueError at the first entry that is not a count; return the largest count."""
    largest = total = 0.0
    for start in range(0, len(matrix.data), ENTRY_BLOCK):
        block = matrix.data[start : start + ENTRY_BLOCK]
        bad = block < 0
        if block.dtype.kind == "f":
            bad |= ~np.isfinite(block) | (block != np.floor(block))
        if binary:
            bad |= block > 1
        if bad.any():
            at = start + int(bad.argmax())
            value, row = matrix.data[at], int(np.searchsorted(matrix.indptr, at, side="right")) - 1
            column = int(matrix.indices[at])
            if not np.isfinite(value):
                raise not_finite(value, row, column)
            allowed = "0 and 1" if binary else "counts (whole numbers ≥ 0)"
            what = f"{owner} takes sparse matrices, and dense matrices for count components, of {allowed} only."
            raise ValueError(f"{what} Got {value} in row {row}, column {column} instead.")
        largest = max(largest, float(block.max()))
        total += float(block.sum(dtype=np.float64))
    if total >= 2**31 and (largest >= 2**31 or _largest_column_sum(matrix) >= 2**31):
        raise ValueError(f"{owner} takes counts that sum to less than 2^31 in every column.")
    return largest


def _largest_column_sum(matrix: Any) -> float:
    sums = np.zeros(matrix.shape[1])
    for start in range(0, len(matrix.data), ENTRY_BLOCK):
        block = slice(start, start + ENTRY_BLOCK)
        sums += np.bincount(matrix.indices[block], matrix.data[block], matrix.shape[1])
    return float(sums.max())
