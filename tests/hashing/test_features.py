"""Features come from the summary of the rows, and are the same for dense and sparse rows."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csr_array

from hashmix.core.compiling import kernel
from hashmix.data import rows as data_rows
from hashmix.data.rows import DenseArrays, as_rows
from hashmix.hashing import FAMILIES, Neighbours
from hashmix.hashing.features import (
    column_map,
    count_features,
    document_weights,
    feature_value,
    has_negative,
    nonzeros,
    smallest_entry,
    standard_features,
)

rng = np.random.default_rng(0)
X = rng.normal(size=(500, 4)) * (rng.random((500, 4)) < 0.5) * [1.0, 10.0, 1e-3, 1e4]
SETTINGS = [(center, scale, signed) for center in (False, True) for scale in (False, True, "idf") for signed in (False, True)]


def reference(center, scale, signed):
    Y = X - X.mean(axis=0) if center else X
    if scale == "idf":
        Y = Y * np.log1p(len(X) / (X != 0).sum(axis=0))
    elif scale:
        Y = Y / X.std(axis=0)
    return np.concatenate([np.maximum(Y, 0.0), np.maximum(-Y, 0.0)], axis=1) if signed else Y


@kernel
def read_values(rows, features, n_features, out):
    for i in range(out.shape[0]):
        for feature in range(n_features):
            out[i, feature] = feature_value(rows, i, features, feature)


@kernel
def read_nonzeros(rows, features, columns, values, out):
    for i in range(out.shape[0]):
        for e in range(nonzeros(rows, i, features, columns, values)):
            out[i, columns[e]] = values[e]


@pytest.mark.parametrize(("center", "scale", "signed"), SETTINGS)
def test_features_against_numpy(center, scale, signed):
    expected = reference(center, scale, signed)
    for rows in (as_rows(X), as_rows(csr_array(X))):
        features = column_map(rows, center, scale, signed)
        assert count_features(features) == expected.shape[1]
        if rows.is_sparse and center:
            continue  # centring fills in the zeros: kernels of sparse rows are not used with it
        values, stored = np.zeros_like(expected), np.zeros_like(expected)
        read_values(rows.arrays, features, expected.shape[1], values)
        read_nonzeros(rows.arrays, features, np.empty(4, np.int64), np.empty(4), stored)
        np.testing.assert_allclose(values, expected, rtol=1e-9, atol=1e-9)
        np.testing.assert_allclose(stored, expected if signed else abs(expected), rtol=1e-9, atol=1e-9)


def test_constant_columns_become_zero():
    Z = np.c_[X[:, 0], np.full(500, 0.1), np.full(500, 1e18)]
    for rows in (as_rows(Z), as_rows(csr_array(Z))):
        features = column_map(rows, center=True, scale=True)
        assert (features.scale[1:] == 0.0).all()
        assert features.scale[0] > 0.0


def test_feature_maps_do_not_read_the_rows(monkeypatch):
    """Everything is in the summary, which is measured once, when the rows are validated."""
    calls = []
    summarise = data_rows.summarise_dense
    monkeypatch.setattr(data_rows, "summarise_dense", lambda values: calls.append(1) or summarise(values))
    rows = as_rows(X)
    assert len(calls) == 1
    arrays, expected = rows.arrays, [column_map(rows, *settings) for settings in SETTINGS]
    rows.arrays = DenseArrays(np.broadcast_to(np.nan, X.shape))  # a pass over the rows would now give NaN
    for settings, features in zip(SETTINGS, expected, strict=True):
        again = column_map(rows, *settings)
        assert np.array_equal(again.origin, features.origin)
        assert np.array_equal(again.scale, features.scale)
    assert np.isfinite(standard_features(rows).scale).all()
    assert has_negative(rows)
    rows.arrays = arrays
    for name in FAMILIES.names:
        FAMILIES[name](4, 2).build(rows, 1)
    Neighbours(rows, n_tables=2, random_state=0)
    assert len(calls) == 1


@pytest.mark.parametrize("make", [np.asarray, csr_array], ids=["dense", "sparse"])
def test_smallest_entry(make):
    value, row, column = smallest_entry(as_rows(make(X)))
    assert value == X.min() == X[row, column]
    assert has_negative(as_rows(make(X)))
    assert not has_negative(as_rows(make(abs(X))))


def test_sparse_rows_without_entries():
    empty = as_rows(csr_array((3, 2)))
    assert smallest_entry(empty) == (0.0, 0, 0)
    assert not has_negative(empty)
    assert document_weights(empty).tolist() == [0.0, 0.0]


def test_document_weights_ignore_stored_zeros():
    matrix = csr_array((np.array([1.0, 0.0, 2.0]), np.array([0, 1, 0]), np.array([0, 2, 3])), shape=(2, 2))
    assert document_weights(as_rows(matrix)).tolist() == [np.log(2.0), 0.0]
