"""Values that many rows share are spread within their cells, the same way for any chunking."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import kstest
from sklearn.metrics import adjusted_rand_score

from hashmix import SplitMergeMixture
from hashmix.data import dequantise as module
from hashmix.data.dequantise import Lattice, dequantise, spread
from hashmix.data.rows import as_dense


def mixed_rows(n=400, seed=0):
    rng = np.random.default_rng(seed)
    return np.column_stack([rng.integers(0, 10, n), rng.normal(size=n), rng.integers(0, 2, n), 0.5 * rng.integers(0, 40, n)])


def test_values_stay_in_their_cells_and_other_columns_stay_as_they_are():
    X = mixed_rows()
    rows, columns = dequantise(as_dense(X), key=3)
    assert columns.tolist() == [True, False, True, True]
    moved = rows.values - X
    assert (moved[:, 1] == 0.0).all()
    for column, gap in ((0, 1.0), (2, 1.0), (3, 0.5)):
        assert np.abs(moved[:, column]).max() <= 0.5 * gap
        assert kstest(moved[:, column] / gap + 0.5, "uniform").pvalue > 1e-4


def test_numbers_depend_on_key_row_and_column_alone(monkeypatch):
    X = as_dense(mixed_rows())
    whole, _ = dequantise(X, key=3)
    monkeypatch.setattr(module, "ROW_BLOCK", 7)
    np.testing.assert_array_equal(dequantise(X, key=3)[0].values, whole.values)
    assert (dequantise(X, key=4)[0].values[:, 0] != whole.values[:, 0]).all()


def test_rows_without_such_columns_are_not_copied():
    rows = as_dense(np.random.default_rng(0).normal(size=(50, 3)))
    assert dequantise(rows, key=0)[0] is rows


def test_an_outlier_keeps_its_place():
    X = np.append(np.arange(200) % 5, 1e6)[:, None].astype(float)
    rows, _ = dequantise(as_dense(X), key=0)
    assert abs(rows.values[-1, 0] - 1e6) <= 0.01 * X.std()


def test_uneven_gaps_give_uneven_cells():
    """A cell is as wide as the nearer gap, and not wider than that of most rows."""
    values = np.repeat([[0.0], [1.0], [1.5], [4.0]], [90, 20, 20, 50], axis=0)
    np.testing.assert_allclose(Lattice.of(as_dense(values)).widths, [1.0, 0.5, 0.5, 1.0])


def with_atoms(n=2000):
    """Normal columns; the values below 0 of one are 0, and some of another are at two values."""
    X = np.random.default_rng(2).normal(size=(n, 3))
    X[:, 0] = np.maximum(X[:, 0], 0.0)
    X[::20, 1], X[1::40, 1] = 8.0, -1.0
    return X


def test_atoms_are_spread_and_other_rows_stay_as_they_are():
    X = with_atoms()
    rows, columns = dequantise(as_dense(X), key=3)
    assert columns.tolist() == [True, True, False]
    moved = rows.values - X
    for column, values in ((0, [0.0]), (1, [8.0, -1.0])):
        at_atom = np.isin(X[:, column], values)
        np.testing.assert_array_equal(moved[:, column] != 0.0, at_atom)
        for value in values:
            assert len(np.unique(moved[X[:, column] == value, column])) > 40
    assert (moved[:, 2] == 0.0).all()


def test_the_cell_of_an_atom_is_about_as_dense_as_what_is_around_it():
    X = with_atoms(10_000)
    lattice = Lattice.of(as_dense(X))
    half, low, far = lattice.widths
    # Half of the rows are 0, and the others go on beyond half a standard deviation. Nothing is near 8.
    assert half == pytest.approx(0.5 * X[:, 0].std(), rel=0.05)
    assert low == pytest.approx(0.05 * X[:, 1].std(), rel=0.05)
    assert far == pytest.approx(0.5 * X[:, 1].std(), rel=0.05)
    np.testing.assert_array_equal(lattice.values, [0.0, -1.0, 8.0])


@pytest.mark.parametrize("share", [0.3, 0.6, 0.95])
def test_a_column_of_many_zeros_is_not_on_a_grid(share):
    rng = np.random.default_rng(0)
    X = np.where(rng.random(4000) < share, 0.0, rng.gamma(2.0, size=4000))[:, None]
    lattice = Lattice.of(as_dense(X))
    assert lattice.of_atoms.all()
    np.testing.assert_array_equal(lattice.values, [0.0])


def test_a_grid_with_rare_values_is_no_column_of_atoms():
    X = np.random.default_rng(0).poisson(6.0, size=(500, 1)).astype(float)
    X[:5, 0] = [40.0, 50.0, 61.0, 75.0, 90.0]
    lattice = Lattice.of(as_dense(X))
    assert not lattice.of_atoms.any()
    np.testing.assert_array_equal(lattice.values, np.unique(X))


def test_values_that_a_few_rows_share_are_no_atoms():
    X = np.random.default_rng(0).normal(size=(2000, 1))
    X[:15] = 0.5
    assert not Lattice.of(as_dense(X)).columns.any()


def test_clusters_are_not_told_apart_by_which_columns_are_zero():
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1, 2], 400)
    X = np.maximum(np.array([[0.0, 3.0, 0.0], [3.0, 0.0, 0.0], [3.0, 3.0, 3.0]])[y] + 0.7 * rng.normal(size=(1200, 3)), 0.0)
    model = SplitMergeMixture(n_draws=30, n_warmup=60, n_chains=1, random_state=0).fit(X)
    assert adjusted_rand_score(y, model.cut(3)) > 0.95


@pytest.mark.parametrize("kind", ["duplicated", "sum", "more columns than rows"])
def test_columns_with_a_constant_combination_are_spread_a_little(kind):
    rng = np.random.default_rng(1)
    X = rng.normal(size=(300, 3))
    X = {
        "duplicated": np.column_stack([X, X[:, 0]]),
        "sum": np.column_stack([X, X.sum(axis=1)]),
        "more columns than rows": rng.normal(size=(20, 30)),
    }[kind]
    rows, columns = dequantise(as_dense(X), key=0)
    assert columns.all()
    assert 0.0 < np.abs(rows.values - X).max() < 0.02 * X.std(axis=0).max()
    assert np.linalg.eigvalsh(np.cov(rows.values[:, :4], rowvar=False))[0] > 0.0


def test_rows_that_are_elsewhere_are_spread_alike():
    X = as_dense(np.random.default_rng(0).integers(0, 5, (50, 2)).astype(float))
    lattice = Lattice.of(X)
    whole = spread(X, lattice, 7).values
    np.testing.assert_array_equal(spread(X.take(slice(20, 50)), lattice, 7, 20).values, whole[20:])
    assert len(np.unique(whole - X.values)) == whole.size
