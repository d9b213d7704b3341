"""Rows of counts: whatever a user gives, as compressed sparse rows of small integers."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import csr_array

from hashmix.hashing.rows import SparseRows, sparse_rows
from hashmix.validation import bad_parameter, not_finite

__all__ = ["CountRow", "as_counts"]

#: Entries looked at in one go.
_BLOCK = 1 << 22


class CountRow(NamedTuple):
    """Row as the verbs of count components take it: ``columns[begin:end]`` and ``values[begin:end]`` of the data.

    ``total`` is the sum of its counts; ``constant`` what it adds to the log likelihood of whatever cluster it is in.
    """

    columns: np.ndarray
    values: np.ndarray
    begin: int
    end: int
    total: int
    constant: float


def as_counts(X: Any, owner: str, binary: bool = False) -> SparseRows:
    """Counts ≥ 0, dense or sparse, as sparse rows: columns in order, no zeros, each column at most once.

    Values are uint8 where all are at most 255, else int32. Nothing is copied that is so already. ``binary``: entries may only
    be 0 and 1.

    Examples
    --------
    >>> from hashmix.components.count_rows import as_counts
    >>> as_counts([[0, 2, 1]], "sample").columns
    array([1, 2], dtype=int32)
    """
    if isinstance(X, SparseRows):
        return X
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
    return sparse_rows(values, matrix.indices, matrix.indptr, matrix.shape[1])


def _has_zeros(values: np.ndarray) -> bool:
    return any((values[k : k + _BLOCK] == 0).any() for k in range(0, len(values), _BLOCK))


def _check_counts(matrix: Any, owner: str, binary: bool) -> float:
    """Raise at the first entry that is not a count; return the largest."""
    largest = total = 0.0
    for start in range(0, len(matrix.data), _BLOCK):
        block = matrix.data[start : start + _BLOCK]
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
            what = f"{owner} takes sparse matrices, and dense ones for this component, of {allowed} only."
            raise ValueError(f"{what} Got {value} in row {row}, column {column} instead.")
        largest = max(largest, float(block.max()))
        total += float(block.sum(dtype=np.float64))
    if total >= 2**31 and (largest >= 2**31 or _largest_column_sum(matrix) >= 2**31):
        raise ValueError(f"{owner} takes counts that sum to less than 2^31 in every column.")
    return largest


def _largest_column_sum(matrix: Any) -> float:
    sums = np.zeros(matrix.shape[1])
    for start in range(0, len(matrix.data), _BLOCK):
        block = slice(start, start + _BLOCK)
        sums += np.bincount(matrix.indices[block], matrix.data[block], matrix.shape[1])
    return float(sums.max())
