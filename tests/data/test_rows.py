"""Rows: column summaries, the check for finite values, copies, selections and fingerprints."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse

from hashmix.data.rows import ROW_BLOCK, DenseRows, Rows, SparseRows, as_dense, as_rows, as_sparse, summarise_dense

RNG = np.random.default_rng(0)
X = RNG.normal(size=(50, 4))
SPARSE = scipy.sparse.random_array((60, 7), density=0.3, rng=RNG, format="csr")


def assert_summary(summary, values, rtol=1e-12):
    """Compare with NumPy; the exact parts must be equal."""
    wide = np.asarray(values, dtype=np.longdouble)
    np.testing.assert_allclose(summary.mean, wide.mean(axis=0).astype(float), rtol=rtol, atol=1e-300)
    np.testing.assert_allclose(summary.variance, wide.var(axis=0).astype(float), rtol=rtol, atol=1e-300)
    np.testing.assert_array_equal(summary.least, values.min(axis=0))
    np.testing.assert_array_equal(summary.most, values.max(axis=0))
    np.testing.assert_array_equal(summary.n_nonzero, np.count_nonzero(values, axis=0))
    assert summary.mean.dtype == summary.variance.dtype == np.float64


# ---- summaries -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("offset", [0.0, 1.0, 1e8])
@pytest.mark.parametrize("n", [1, 50, 2 * ROW_BLOCK + 17])
def test_dense_summary_equals_numpy(dtype, offset, n):
    # At an offset of 1e8 the textbook formula, mean of squares minus square of mean, loses all 16 digits of the variance.
    values = (np.random.default_rng(1).normal(size=(n, 3)) * [1.0, 0.01, 30.0] + offset).astype(dtype)
    # The second column has a standard deviation of 1e-10 of the offset: its mean has 6 digits left beyond the offset.
    assert_summary(summarise_dense(values), values, rtol=1e-6 if offset == 1e8 else 1e-10)


def test_dense_summary_of_constant_and_zero_columns():
    values = np.column_stack([np.full(9, 7.0), np.zeros(9), np.arange(9.0)])
    summary = summarise_dense(values)
    assert_summary(summary, values)
    assert summary.variance[:2].tolist() == [0.0, 0.0]
    assert summary.n_nonzero.tolist() == [9, 0, 8]


def test_dense_summary_overflows_to_infinity():
    summary = summarise_dense(np.array([[1e200], [-1e200]]))
    assert np.isinf(summary.variance[0])
    assert summary.most[0] == 1e200


def test_one_extreme_cell_does_not_set_the_scale():
    values = RNG.normal(size=(2_000, 3))
    plain = as_dense(values).summary
    values[70, 1] = -1e9
    summary = as_dense(values).summary
    np.testing.assert_allclose(summary.variance, plain.variance, rtol=0.01)
    assert summary.least[1] == -1e9
    # Many far values are no mistake.
    values[:100, 2] = 1e9
    assert as_dense(values).summary.variance[2] > 1e15


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_sparse_summary_equals_numpy(dtype):
    rows = as_sparse(SPARSE.astype(dtype))
    assert_summary(rows.summary, SPARSE.astype(dtype).toarray(), rtol=1e-6 if dtype == np.float32 else 1e-12)


def test_explicit_zeros_count_as_zeros():
    matrix = scipy.sparse.csr_array((np.array([0.0, 2.0, -1.0]), np.array([0, 1, 0]), np.array([0, 2, 3])), shape=(2, 3))
    assert_summary(as_sparse(matrix).summary, matrix.toarray())


# ---- the check for finite values -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(("value", "shown"), [(np.nan, "NaN"), (np.inf, "inf"), (-np.inf, "-inf")])
@pytest.mark.parametrize("row", [0, 3, ROW_BLOCK + 5])
def test_not_finite_entries_are_located(value, shown, row):
    values = np.zeros((ROW_BLOCK + 9, 3))
    values[row, 2] = value
    values[-1, 0] = np.nan  # only the first one is named
    with pytest.raises(ValueError, match=f"X must hold finite numbers only. Got {shown} in row {row}, column 2 instead"):
        as_dense(values)
    sparse = scipy.sparse.csr_array(values)
    with pytest.raises(ValueError, match=f"Got {shown} in row {row}, column 2 instead"):
        as_sparse(sparse)


# ---- copies --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_no_copy_of_what_is_right_already(dtype):
    values = X.astype(dtype)
    rows = as_dense(values)
    assert rows.values.dtype == dtype
    assert np.shares_memory(rows.values, values)
    assert not rows.values.flags.writeable
    assert values.flags.writeable  # the user's array stays as it was
    assert as_dense(rows) is rows
    sparse = SPARSE.astype(dtype)
    rows = as_sparse(sparse)
    assert np.shares_memory(rows.arrays.values, sparse.data)
    assert as_sparse(rows) is rows


@pytest.mark.parametrize(
    "values",
    [
        (X * 10).astype(np.int16),
        X > 0,
        X.astype(np.float16),
        X.astype(object),
        X.tolist(),
        np.asfortranarray(X),
        X[::2],
        X[:, ::2],
    ],
    ids=["int16", "bool", "float16", "object", "list", "Fortran order", "every other row", "every other column"],
)
def test_other_types_and_orders_are_converted(values):
    rows = as_dense(values)
    assert rows.values.dtype == np.float64
    assert rows.values.flags.c_contiguous
    np.testing.assert_array_equal(rows.values, np.asarray(values, dtype=np.float64))
    assert_summary(rows.summary, rows.values)


def test_sparse_matrices_become_canonical():
    unordered = scipy.sparse.csr_array((np.array([1.0, 2.0, 3.0]), np.array([2, 0, 2]), np.array([0, 3])), shape=(1, 3))
    rows = as_sparse(unordered)
    assert rows.arrays.columns.tolist() == [0, 2]
    assert rows.arrays.values.tolist() == [2.0, 4.0]
    assert unordered.indices.tolist() == [2, 0, 2]  # the user's matrix stays as it was
    np.testing.assert_array_equal(as_sparse(SPARSE.tocsc()).matrix().toarray(), SPARSE.toarray())
    assert as_sparse((SPARSE * 10).astype(np.uint8)).arrays.values.dtype == np.float64


@pytest.mark.parametrize(
    ("values", "sentence"),
    [
        (np.arange(3.0), r"a matrix of at least one row and one column. Got 'shape \(3,\)'"),
        (np.empty((0, 2)), "a matrix of at least one row"),
        (np.empty((2, 0)), "a matrix of at least one row and one column"),
        (np.array([["a"]]), "an array of numbers"),
        ([[1.0, "x"], [2.0, None]], "an array of numbers"),
        (X + 1j, "an array of numbers"),
        (SPARSE, r"a dense array \(call X.toarray\(\) if it fits in memory\)"),
    ],
)
def test_what_is_not_a_dense_matrix(values, sentence):
    with pytest.raises(ValueError, match=f"The 'X' parameter of fit must be {sentence}"):
        as_dense(values, "fit")


# ---- parts ---------------------------------------------------------------------------------------------------------------


def test_as_rows_tells_dense_from_sparse():
    dense, sparse = as_rows(X), as_rows(SPARSE)
    assert isinstance(dense, DenseRows)
    assert not dense.is_sparse
    assert isinstance(sparse, SparseRows)
    assert sparse.is_sparse
    for rows, shape in ((dense, X.shape), (sparse, SPARSE.shape)):
        assert isinstance(rows, Rows)
        assert as_rows(rows) is rows
        assert rows.shape == (rows.n_rows, rows.n_columns) == shape
        assert len(rows) == shape[0]


@pytest.mark.parametrize("chosen", [np.array([4, 1, 1, 30]), np.arange(50) % 3 == 0], ids=["numbers", "mask"])
def test_take(chosen):
    part = as_dense(X).take(chosen)
    np.testing.assert_array_equal(part.matrix(), X[chosen])
    assert_summary(part.summary, X[chosen])
    wanted = SPARSE[:50].toarray()[chosen]
    part = as_sparse(SPARSE[:50]).take(chosen)
    np.testing.assert_array_equal(part.matrix().toarray(), wanted)
    assert_summary(part.summary, wanted)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_select_columns(dtype):
    rows = as_dense(X.astype(dtype))
    assert rows.select_columns(np.ones(4, bool)) is rows
    chosen = np.array([True, False, False, True])
    part = rows.select_columns(chosen)
    np.testing.assert_array_equal(part.values, rows.values[:, chosen])
    assert part.values.flags.c_contiguous
    assert part.values.dtype == dtype
    for kept, computed in zip(part.summary, summarise_dense(part.values), strict=True):
        np.testing.assert_array_equal(kept, computed)


def test_fingerprints_tell_data_apart():
    same = as_dense(X.copy()).fingerprint()
    assert as_dense(X).fingerprint() == same
    assert as_dense(np.asfortranarray(X)).fingerprint() == same
    changed = X.copy()
    changed[-1, -1] = np.nextafter(changed[-1, -1], 9.0)
    others = [
        as_dense(changed),
        as_dense(X.astype(np.float32)),
        as_dense(X.reshape(25, 8)),
        as_dense(X[::-1]),
        as_sparse(scipy.sparse.csr_array(X)),
    ]
    prints = [str(rows.fingerprint()) for rows in others]
    assert str(same) not in prints
    assert len(set(prints)) == len(prints)


def test_sparse_fingerprint_depends_on_places():
    one = scipy.sparse.csr_array(np.array([[1.0, 0.0], [0.0, 2.0]]))
    other = scipy.sparse.csr_array(np.array([[0.0, 1.0], [0.0, 2.0]]))
    third = scipy.sparse.csr_array(np.array([[1.0, 2.0], [0.0, 0.0]]))
    assert len({as_sparse(matrix).fingerprint()["sha256"] for matrix in (one, other, third)}) == 3


def test_matrix_shares_memory():
    dense = as_dense(X)
    assert np.shares_memory(dense.matrix(), X)
    sparse = as_sparse(SPARSE)
    assert np.shares_memory(sparse.matrix().data, SPARSE.data)
    np.testing.assert_array_equal(sparse.matrix().toarray(), SPARSE.toarray())
