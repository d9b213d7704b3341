"""The tree of clusters against a brute-force join, cuts of it, and the comparison of two trees."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.cluster.hierarchy import is_valid_linkage
from sklearn.metrics import adjusted_rand_score

from hashmix.posterior.tree import compare_levels, cut_linkage, join_clusters


def brute_force(positions, sizes):
    """Every step looks at all pairs; returns the groups of every level, the heights, and the number of small clusters."""
    groups = [[c] for c in range(len(sizes))]
    heights = []
    least_size, n_small = 0.25 * sizes.mean(), 0
    levels = {len(groups): [list(group) for group in groups]}

    def distance(a, b):
        mean_a, mean_b = (np.average(positions[g], axis=0, weights=sizes[g]) for g in (a, b))
        return np.linalg.norm(mean_a - mean_b)

    def height(a, b):
        n_a, n_b = sizes[a].sum(), sizes[b].sum()
        return n_a * n_b / (n_a + n_b) * distance(a, b)

    while len(groups) > 1:
        smallest = min(range(len(groups)), key=lambda i: sizes[groups[i]].sum())
        if sizes[groups[smallest]].sum() < least_size:
            n_small += 1
            _, i, j = min((distance(groups[smallest], b), smallest, j) for j, b in enumerate(groups) if j != smallest)
        else:
            _, i, j = min((height(a, b), i, j) for i, a in enumerate(groups) for j, b in enumerate(groups) if i < j)
        heights.append(height(groups[i], groups[j]))
        groups = [group for k, group in enumerate(groups) if k not in (i, j)] + [groups[i] + groups[j]]
        levels[len(groups)] = [list(group) for group in groups]
    return levels, np.array(heights), n_small


@pytest.mark.parametrize("number", range(8))
def test_against_brute_force(number):
    rng = np.random.default_rng(number)
    k = int(rng.integers(2, 25))
    positions, sizes = rng.normal(size=(k, 3)), np.append(rng.choice(1000, k - 1, replace=False) + 1, 1500)
    linkage = join_clusters(positions, sizes)
    assert is_valid_linkage(linkage)
    levels, heights, n_small = brute_force(positions, sizes)
    heights[:n_small] = np.minimum(heights[:n_small], heights[n_small:].min(initial=np.inf))
    np.testing.assert_allclose(linkage[:, 2], np.maximum.accumulate(heights), rtol=1e-9)
    for level, groups in levels.items():
        expected = np.empty(k, int)
        for number, group in enumerate(groups):
            expected[group] = number
        assert adjusted_rand_score(cut_linkage(linkage, level), expected) == 1.0
        assert cut_linkage(linkage, level).max() + 1 == level


def test_a_few_rows_far_away_keep_no_level_for_themselves():
    positions = np.array([[0.0], [3.0], [100.0], [-500.0]])
    sizes = np.array([200, 200, 2, 1])
    linkage = join_clusters(positions, sizes)
    assert cut_linkage(linkage, 2).tolist() == [0, 1, 1, 0]
    assert (linkage[:2, 2] <= linkage[2, 2]).all()
    # As many rows as others have make a cluster, however few that is.
    assert cut_linkage(join_clusters(positions, np.array([2, 2, 2, 1])), 2).tolist() == [0, 0, 0, 1]


def test_groups_are_numbered_by_first_appearance():
    linkage = join_clusters(np.array([[9.0], [0.0], [1.0], [9.5]]), np.array([5, 5, 5, 5]))
    assert cut_linkage(linkage, 2).tolist() == [0, 1, 1, 0]
    assert cut_linkage(linkage, 4).tolist() == [0, 1, 2, 3]
    assert cut_linkage(linkage, 1).tolist() == [0, 0, 0, 0]


def test_many_clusters():
    rng = np.random.default_rng(0)
    linkage = join_clusters(rng.normal(size=(1500, 5)), rng.integers(1, 100, 1500))
    assert (np.diff(linkage[:, 2]) >= 0.0).all()
    assert cut_linkage(linkage, 700).max() == 699


def test_the_reproducible_level_is_the_finest_that_agrees():
    positions = np.array([[0.0], [0.5], [50.0], [50.5]])
    sizes = np.array([100, 100, 100, 100])
    tree = join_clusters(positions, sizes)
    apart = np.diag([100, 100, 100, 100])
    assert compare_levels(apart, tree, tree).reproducible == 4
    # The two halves of each pair are mixed: only the pairs are found again.
    mixed = np.kron(np.eye(2, dtype=int), np.full((2, 2), 50))
    found = compare_levels(mixed, tree, tree)
    assert found.reproducible == 2
    assert found.agreement[found.n_clusters == 2] == pytest.approx(1.0)
    # Nothing is found again.
    assert compare_levels(np.full((4, 4), 25), tree, tree).reproducible == 1


def test_one_cluster_in_a_half():
    tree = join_clusters(np.array([[0.0], [1.0]]), np.array([5, 5]))
    assert compare_levels(np.array([[5, 5]]), np.empty((0, 4)), tree).reproducible == 1
