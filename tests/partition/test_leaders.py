"""Ranks and leaders."""

from __future__ import annotations

import numpy as np
from scipy.stats import chi2

from hashmix.partition.leaders import find_leaders
from hashmix.partition.members import empty_partition, fill
from tests.moves.parallel.test_gibbs import rank_of


def make_partition(labels, capacity):
    partition = empty_partition(len(labels), capacity)
    fill(partition, np.asarray(labels), max(labels) + 1)
    return partition


def test_the_leader_is_the_row_of_least_rank():
    rng = np.random.default_rng(0)
    labels = np.concatenate([np.arange(9), rng.integers(9, size=200)])
    partition = make_partition(labels, 20)
    for seed in (0, 1, 2**63 + 1, 2**64 - 1):
        ranks, order = find_leaders(np.uint64(seed), partition)
        expected = [min(rank_of(seed, i) for i in np.flatnonzero(labels == c).tolist()) for c in range(9)]
        assert [int(rank) for rank in ranks[:9]] == expected
        assert order.tolist() == sorted(range(9), key=expected.__getitem__)


def test_only_clusters_in_use_are_ordered():
    partition = make_partition([0, 1, 1, 2], 8)
    assert sorted(find_leaders(np.uint64(5), partition).order.tolist()) == [0, 1, 2]


def test_all_orders_of_rows_are_as_likely():
    counts, n_draws = np.zeros((4, 4)), 4000
    partition = make_partition([0, 1, 2, 3], 4)
    for seed in range(n_draws):
        order = find_leaders(np.uint64(seed), partition).order
        counts[order, np.arange(4)] += 1
    expected = n_draws / 4
    assert ((counts - expected) ** 2 / expected).sum() < chi2.isf(1e-4, 9)


def test_ranks_do_not_depend_on_labels():
    one, other = make_partition([0, 1, 2, 3, 4], 5), make_partition([0, 0, 0, 1, 2], 5)
    alone = find_leaders(np.uint64(3), one).ranks
    together = find_leaders(np.uint64(3), other).ranks
    assert together[:3].tolist() == [alone[:3].min(), alone[3], alone[4]]
