"""Lists of hashed neighbours: near, complete, the same for any number of threads, never a partition's business."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.neighbors import NearestNeighbors

import hashmix as hm
from hashmix.hashing import Neighbours


def rows(n, d, seed=0, dtype=np.float64):
    rng = np.random.default_rng(seed)
    return (rng.normal(size=(n, d)) + 5.0 * rng.integers(0, 4, size=(n, 1))).astype(dtype)


@pytest.mark.parametrize(("n", "d", "least"), [(3000, 2, 0.85), (3000, 8, 0.75), (3000, 32, 0.35)])
def test_they_are_near(n, d, least):
    """The share of the true nearest neighbours that hashing finds; a random list would hold 12 in 3000 of them."""
    X = rows(n, d)
    scaled = (X - X.mean(axis=0)) / X.std(axis=0)
    true = NearestNeighbors(n_neighbors=13).fit(scaled).kneighbors(scaled, return_distance=False)[:, 1:]
    found = Neighbours(X, random_state=0).lists[:, 1:]
    assert np.mean([len(set(a) & set(b)) / 12 for a, b in zip(true, found, strict=True)]) > least


@pytest.mark.parametrize("n", [1, 2, 3, 13, 31, 32, 33, 64, 100])
def test_lists_are_whole(n):
    neighbours = Neighbours(rows(n, 3), random_state=1)
    lists = neighbours.lists
    assert lists.shape == (n, 1 + min(12, n - 1))
    for i in range(n):
        assert lists[i, 0] == i
        assert len(set(lists[i].tolist())) == lists.shape[1]
        assert lists[i].min() >= 0
    assert np.shares_memory(neighbours.arrays.order, lists)


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


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"n_neighbors": 0}, "n_neighbors"),
        ({"n_neighbors": 40}, "1 to 31"),
        ({"n_bits": 65}, "n_bits"),
        ({"n_tables": 0}, "n_tables"),
    ],
)
def test_bad_settings(settings, message):
    with pytest.raises(ValueError, match=message):
        hm.hashing.Neighbours(rows(50, 2), **settings)
