"""Groups of interchangeable rows, against NumPy; and that an optimal estimate keeps them together."""

from __future__ import annotations

import numpy as np
import pytest

from hashmix.posterior.estimate.groups import group_rows
from hashmix.posterior.estimate.losses import losses_to
from tests.posterior.partitions import all_partitions, noisy_draws, renumbered


@pytest.mark.parametrize("noise", [0.0, 0.02, 0.3, 1.0])
@pytest.mark.parametrize("n", [1, 2, 17, 600])
def test_groups_are_those_of_numpy(n, noise):
    for seed in range(8):
        draws = noisy_draws(n, 1 + seed, 1 + seed, noise, seed)
        groups = group_rows(draws)
        _, place, weights = np.unique(draws, axis=1, return_inverse=True, return_counts=True)
        assert len(groups.weights) == len(weights)
        # The same partition of the rows, whatever the numbers.
        pairs = np.unique(np.stack([groups.of_row, place.ravel()]), axis=1)
        assert pairs.shape[1] == len(weights)
        assert np.array_equal(groups.weights, np.bincount(groups.of_row))
        assert np.array_equal(groups.of_row[groups.first_rows], np.arange(len(weights)))
        for g, first in enumerate(groups.first_rows):
            assert first == np.flatnonzero(groups.of_row == g)[0]
        assert (np.diff(draws[0][groups.first_rows]) >= 0).all()


def test_labels_may_have_gaps_and_any_integer_type():
    draws = np.array([[7, 7, 7, 0, 0], [3, 3, 5, 5, 5]])
    for dtype in (np.uint8, np.int32, np.int64):
        assert group_rows(draws.astype(dtype)).of_row.tolist() == [1, 1, 2, 0, 0]
    assert group_rows(draw for draw in draws).weights.tolist() == [2, 2, 1]


def test_pairs_with_equal_hashes_are_told_apart():
    """Many pairs in a small range, every group deviating: slots are shared by chains of pairs."""
    rng = np.random.default_rng(0)
    draws = rng.integers(0, 40, (3, 20_000))
    groups = group_rows(draws)
    assert np.array_equal(groups.weights.sum(), 20_000)
    assert len(groups.weights) == np.unique(draws, axis=1).shape[1]


@pytest.mark.parametrize("by_information", [True, False])
def test_some_optimal_partition_keeps_groups_together(by_information):
    """The claim the search rests on, for all partitions of 7 rows in 4 groups."""
    partitions = all_partitions(7)
    of_row = np.array([0, 0, 0, 1, 1, 2, 3])
    together = [np.unique(labels[of_row == g]).size == 1 for labels in partitions for g in range(4)]
    keeps = np.array(together).reshape(-1, 4).all(axis=1)
    for seed in range(20):
        draws = renumbered(noisy_draws(4, 6, 3, 0.5, seed)[:, of_row])
        losses = np.array([losses_to(labels, draws, by_information).mean() for labels in partitions])
        assert losses[keeps].min() <= losses.min() + 1e-12
