"""Lists of hashed neighbours are near, complete, and the same for any number of threads."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.neighbors import NearestNeighbors

from hashmix.core.rng import stream
from hashmix.data.rows import as_rows
from hashmix.hashing import NeighbourLists, Neighbours, neighbours


def rows(n, d, seed=0, dtype=np.float64):
    rng = np.random.default_rng(seed)
    return (rng.normal(size=(n, d)) + 5.0 * rng.integers(0, 4, size=(n, 1))).astype(dtype)


@pytest.mark.parametrize(("n", "d", "least"), [(3000, 2, 0.85), (3000, 8, 0.75), (3000, 32, 0.35)])
def test_they_are_near(n, d, least):
    """The share of the true nearest neighbours that hashing finds. Random lists would have a share of 12 in 3000."""
    X = rows(n, d)
    scaled = (X - X.mean(axis=0)) / X.std(axis=0)
    true = NearestNeighbors(n_neighbors=13).fit(scaled).kneighbors(scaled, return_distance=False)[:, 1:]
    found = Neighbours(X, random_state=0).lists[:, 1:]
    assert np.mean([len(set(a) & set(b)) / 12 for a, b in zip(true, found, strict=True)]) > least


@pytest.mark.parametrize("n", [1, 2, 3, 13, 31, 32, 33, 64, 100])
def test_lists_are_whole(n):
    found = Neighbours(rows(n, 3), random_state=1)
    lists = found.lists
    assert lists.shape == (n, 1 + min(12, n - 1))
    for i in range(n):
        assert lists[i, 0] == i
        assert len(set(lists[i].tolist())) == lists.shape[1]
        assert lists[i].min() >= 0
    assert np.shares_memory(found.arrays.order, lists)


def test_from_the_farthest_to_the_nearest():
    X = rows(500, 3)
    scaled = (X - X.mean(axis=0)) / X.std(axis=0)
    lists = Neighbours(X, random_state=0).lists
    distances = np.linalg.norm(scaled[lists[:, 1:]] - scaled[:, None], axis=2)
    assert (np.diff(distances, axis=1) < 1e-5).all()


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_same_for_any_number_of_threads(dtype):
    X = rows(5000, 4, dtype=dtype)
    lists = [Neighbours(X, random_state=3, n_jobs=jobs).lists for jobs in (1, 2, 3)]
    assert (lists[0] == lists[1]).all()
    assert (lists[0] == lists[2]).all()


def test_identical_rows():
    X = np.zeros((100, 2))
    X[50:] = 1.0
    lists = Neighbours(X, random_state=0).lists
    assert (lists[:50, 1:] < 50).mean() > 0.9
    assert (lists[50:, 1:] >= 50).mean() > 0.9


def test_units_do_not_matter():
    X = rows(400, 3)
    assert (Neighbours(X, random_state=0).lists == Neighbours(X * [1.0, 1024.0, 0.5], random_state=0).lists).mean() > 0.999


def word_counts(n=200, d=40, seed=0):
    return csr_array(np.random.default_rng(seed).poisson(0.2, size=(n, d)))


@pytest.mark.parametrize("X", [rows(300, 3), word_counts()], ids=["dense", "sparse"])
def test_the_family_builds_neighbours(X):
    family = NeighbourLists(n_bits=16, n_tables=4, n_neighbors=5)
    data = as_rows(X)
    for generation in (0, 3):
        key = int(stream(7, generation).state[0])
        expected = Neighbours(X, 5, 16, 4, random_state=key).lists
        for n_jobs in (1, 2):
            assert np.array_equal(family.build(data, 7, generation, n_jobs).lists, expected)
    assert repr(family) == "NeighbourLists(n_bits=16, n_tables=4, n_neighbors=5)"


def test_lists_are_shorter_for_many_rows(monkeypatch):
    data = as_rows(rows(60, 2))
    monkeypatch.setattr(neighbours, "_ROWS_FOR_LONG_LISTS", 59)
    assert NeighbourLists(8, 1).build(data, 1).lists.shape == (60, 9)
    assert NeighbourLists(8, 1, n_neighbors=5).build(data, 1).lists.shape == (60, 6)
    monkeypatch.setattr(neighbours, "_ROWS_FOR_LONG_LISTS", 60)
    assert NeighbourLists(8, 1).build(data, 1).lists.shape == (60, 13)


def test_negative_sparse_rows_are_rejected():
    with pytest.raises(ValueError, match=r"counts ≥ 0 if it is sparse. Got -2 in row 1, column 2"):
        Neighbours(csr_array([[1, 0, 0], [0, 1, -2]]))


@pytest.mark.parametrize("make", [lambda **settings: Neighbours(rows(50, 2), **settings), NeighbourLists])
@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"n_neighbors": 0}, "n_neighbors"),
        ({"n_neighbors": 40}, "1 to 31"),
        ({"n_bits": 65}, "n_bits"),
        ({"n_tables": 0}, "n_tables"),
    ],
)
def test_bad_settings(make, settings, message):
    with pytest.raises(ValueError, match=message):
        make(**settings)
