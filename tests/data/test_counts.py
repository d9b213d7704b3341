"""Counts are stored as sparse rows of small integers."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csr_array

from hashmix.data.counts import as_counts
from hashmix.data.rows import SparseRows, as_rows

GOOD = np.array([[0, 2, 1], [300, 0, 0]])


@pytest.mark.parametrize("make", [np.asarray, csr_array, as_rows, lambda X: as_rows(csr_array(X)), np.ndarray.tolist])
def test_any_matrix_of_counts(make):
    rows = as_counts(make(GOOD), "sample")
    assert isinstance(rows, SparseRows)
    assert rows.arrays.values.dtype == np.int32
    assert np.array_equal(rows.matrix().toarray(), GOOD)
    assert as_counts(rows, "sample") is rows
    assert as_counts(make(np.minimum(GOOD, 255)), "sample").arrays.values.dtype == np.uint8


@pytest.mark.parametrize("make", [np.asarray, csr_array, as_rows, lambda X: as_rows(csr_array(X))])
@pytest.mark.parametrize(
    ("X", "binary", "message"),
    [
        (GOOD * 0.5, False, "of counts .* Got 0.5 in row 0, column 2"),
        (-GOOD, False, r"of counts .* Got -2(\.0)? in row 0, column 1"),
        (GOOD, True, r"of 0 and 1 only. Got 2(\.0)? in row 0, column 1"),
        (GOOD * 10**8, False, "sum to less than 2\\^31"),
    ],
)
def test_other_entries_are_rejected(make, X, binary, message):
    with pytest.raises(ValueError, match=message):
        as_counts(make(X), "sample", binary)
