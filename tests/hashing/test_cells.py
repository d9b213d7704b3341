"""Cells: every row is in the one of its nearest pivot, whatever the number of threads."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.sparse import csr_matrix

from hashmix.core.rng import numpy_generator
from hashmix.data.rows import as_rows
from hashmix.hashing.cells import CellFamily


def make_rows(sparse, n=40_000):
    rng = np.random.default_rng(0)
    if sparse:
        return as_rows(csr_matrix(rng.poisson(rng.dirichlet(np.full(30, 0.3), 20)[rng.integers(20, size=n)] * 8)))
    return as_rows(rng.normal(size=(20, 3))[rng.integers(20, size=n)] * [1.0, 50.0, 0.01] * 4 + rng.normal(size=(n, 3)))


@pytest.mark.parametrize("sparse", [False, True])
def test_every_row_is_in_one_cell_and_in_one_group(sparse):
    rows = make_rows(sparse)
    cells = CellFamily(64).build(rows, key=3)
    n_cells = len(cells.begins) - 1
    assert sorted(cells.order.tolist()) == list(range(rows.n_rows))
    assert (np.diff(cells.begins) > 0).all()
    assert cells.begins[0] == cells.groups[0] == 0
    assert cells.begins[-1] == cells.groups[-1] == rows.n_rows
    assert set(cells.groups.tolist()) <= set(cells.begins.tolist())  # groups are divided, and not mixed
    assert 0.5 * rows.n_rows / 64 < n_cells < 1.5 * rows.n_rows / 64
    cell = cells.arrays.buckets[:, 0]
    np.testing.assert_array_equal(cell[cells.order], np.repeat(np.arange(n_cells), np.diff(cells.begins)))


@pytest.mark.parametrize("sparse", [False, True])
def test_cells_do_not_depend_on_the_number_of_threads(sparse):
    rows = make_rows(sparse)
    one = CellFamily(100).build(rows, key=3, n_jobs=1)
    for n_jobs in (2, 3, 5):
        other = CellFamily(100).build(rows, key=3, n_jobs=n_jobs)
        np.testing.assert_array_equal(other.order, one.order)
        np.testing.assert_array_equal(other.begins, one.begins)


def nearest(Y, sparse, members, wanted, rng):
    """The number of each member's nearest pivot, among those that are some row's nearest."""
    pivots = Y[np.sort(members[rng.choice(len(members), min(wanted, len(members)), replace=False)])]
    if sparse:
        found = (Y[members] @ pivots.T / np.linalg.norm(pivots, axis=1).clip(1e-30)).argmax(axis=1)
    else:
        found = ((Y[members, None, :] - pivots) ** 2).sum(axis=2).argmin(axis=1)
    return np.unique(found, return_inverse=True)[1]


@pytest.mark.parametrize("sparse", [False, True])
def test_rows_join_the_nearest_pivot(sparse):
    rows = make_rows(sparse, 600)
    X = rows.matrix().toarray() if sparse else rows.matrix()
    # Columns have one unit, or rare words a larger weight.
    Y = X * np.log1p(len(X) / np.maximum((X > 0).sum(axis=0), 1)) if sparse else (X - X.mean(axis=0)) / X.std(axis=0)
    rng = numpy_generator(1, 2, 7)
    group = nearest(Y, sparse, np.arange(600), math.ceil(math.sqrt(600 / 20)), rng)
    cell, found = np.zeros(600, int), 0
    for g in range(group.max() + 1):
        members = np.flatnonzero(group == g)
        cell[members] = found + nearest(Y, sparse, members, math.ceil(len(members) / 20), rng)
        found = cell[members].max() + 1
    cells = CellFamily(20).build(rows, key=1, generation=2)
    np.testing.assert_array_equal(cells.arrays.buckets[:, 0], cell)


@pytest.mark.parametrize("cell_size", [1, 5, 1024])
def test_few_rows(cell_size):
    for n in (1, 2, 5):
        cells = CellFamily(cell_size).build(as_rows(np.arange(n, dtype=float)[:, None]), key=0)
        assert sorted(cells.order.tolist()) == list(range(n))
        assert cells.begins[-1] == n
    same = CellFamily(cell_size).build(as_rows(np.zeros((7, 2))), key=0)
    assert sorted(same.order.tolist()) == list(range(7))
