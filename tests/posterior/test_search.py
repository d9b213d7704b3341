"""Point estimates against brute force over all partitions; the weighted search against rows; bounds on the work."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.metrics import adjusted_rand_score

from hashmix.posterior.estimate import overlaps, search
from hashmix.posterior.estimate.groups import group_rows
from hashmix.posterior.estimate.losses import loss_values, losses_to, pairwise_losses
from hashmix.posterior.estimate.point import best_draw, evenly_spread, group_draws, n_draws_compared, point_estimate
from hashmix.posterior.estimate.search import least_expected_loss
from tests.posterior.partitions import all_partitions, as_posterior, noisy_draws, renumbered

LOSSES = [pytest.param(True, id="vi"), pytest.param(False, id="binder")]


def mean_loss(labels, draws, by_information):
    return losses_to(renumbered([labels])[0], draws, by_information).mean()


@pytest.mark.parametrize("by_information", LOSSES)
@pytest.mark.parametrize("n", [2, 5, 7])
def test_the_best_of_all_partitions_is_found(n, by_information):
    partitions = all_partitions(n)
    for seed in range(20):
        draws = noisy_draws(n, 12, 3, 0.4, seed)
        best = min(losses_to(labels, draws, by_information).mean() for labels in partitions)
        rows = least_expected_loss(draws, np.ones(n, int), draws[-1], by_information)
        assert mean_loss(rows, draws, by_information) <= best + 1e-9, seed
        grouped = group_draws(lambda draws=draws: draws)
        estimate = point_estimate(grouped, 0, by_information, seed=0)
        most = max(len(np.unique(draw)) for draw in draws)
        assert len(np.unique(estimate)) <= most
        if len(np.unique(least_expected_loss(grouped.labels, grouped.weights, grouped.labels[0], by_information))) <= most:
            assert mean_loss(estimate, draws, by_information) <= best + 1e-9, seed


@pytest.mark.parametrize("by_information", LOSSES)
def test_weighted_groups_are_as_good_as_rows(by_information):
    """Rows in four to six groups of one to five: the search over groups and that over rows find equally good estimates."""
    rng = np.random.default_rng(0)
    for seed in range(20):
        draws = noisy_draws(6, 9, 3, 0.4, seed)[:, np.repeat(np.arange(6), rng.integers(1, 6, 6))]
        groups = group_rows(draws)
        found = least_expected_loss(draws[:, groups.first_rows], groups.weights, draws[0][groups.first_rows], by_information)
        rows = least_expected_loss(draws, np.ones(draws.shape[1], int), draws[0], by_information)
        assert mean_loss(found[groups.of_row], draws, by_information) == pytest.approx(mean_loss(rows, draws, by_information))


@pytest.mark.parametrize("by_information", LOSSES)
def test_losses_of_weighted_groups_are_those_of_rows(by_information):
    rng = np.random.default_rng(1)
    draws = noisy_draws(30, 8, 4, 0.3, 1)
    weights = rng.integers(1, 7, 30)
    rows = np.repeat(np.arange(30), weights)
    values = loss_values(len(rows), by_information)
    got = pairwise_losses(draws, weights, 5, values)
    want = [losses_to(draw[rows], draws[:, rows], by_information) for draw in draws]
    np.testing.assert_allclose(got, want, atol=1e-12)


def consistent(state):
    """The lists and sizes of a search are those that its labels imply, the two largest entries first."""
    t = state.t
    for r in range(len(t.heads)):
        start, length = int(t.heads[r, overlaps.START]), int(t.heads[r, overlaps.LENGTH])
        assert length <= t.heads[r, overlaps.CAPACITY]
        entries = t.entries[start : start + length].astype(int)
        groups = np.flatnonzero((t.lists == r).any(axis=1))
        groups = groups[t.labels[groups] != overlaps.NOWHERE]
        want = np.bincount(t.labels[groups], t.weights[groups], len(t.sizes)) if len(groups) else np.zeros(len(t.sizes))
        got = np.zeros(len(t.sizes))
        got[entries[:, overlaps.CLUSTER]] = entries[:, overlaps.COUNT]
        np.testing.assert_array_equal(got, want)
        assert len(entries) == np.count_nonzero(want)
        counts = entries[:, overlaps.COUNT]
        assert list(counts[:2]) == sorted(counts, reverse=True)[:2]
    placed = t.labels != overlaps.NOWHERE
    np.testing.assert_array_equal(t.sizes, np.bincount(t.labels[placed], t.weights[placed], len(t.sizes)))
    numbered = int(t.counters[overlaps.NUMBERED])
    vacant = t.vacant[: t.counters[overlaps.VACANT]]
    assert sorted(vacant) == np.flatnonzero(t.sizes[:numbered] == 0).tolist()


@pytest.mark.parametrize("by_information", LOSSES)
def test_contingency_tables_stay_right(by_information):
    """After every kind of step, against a count from the labels; and the loss against its definition."""
    rng = np.random.default_rng(0)
    draws, weights = noisy_draws(60, 10, 5, 0.3, 0), rng.integers(1, 5, 60)
    rows = np.repeat(np.arange(60), weights)
    n, everything = len(rows), np.arange(60, dtype=np.int32)
    state = search._Search(draws, weights, draws[3], loss_values(n, by_information))

    def constant():
        """What the loss of a search leaves out: the same for all estimates."""
        losses = losses_to(renumbered([state.t.labels])[0][rows], draws[:, rows], by_information)
        return losses.sum() * n - state.loss(everything)

    consistent(state)
    first = constant()
    for step in range(12):
        if step % 4 == 3:
            state.clear()
            consistent(state)
            state.allocate(state.order(rng))
        elif step % 2:
            state.rebuild(rng)
        else:
            state.allocate(state.order(rng))
        consistent(state)
        assert constant() == pytest.approx(first, abs=1e-8 * n)


@pytest.mark.parametrize("by_information", LOSSES)
def test_when_the_search_is_stable_no_group_gains_by_moving(by_information, monkeypatch):
    """Most visits read two entries per list, not all: by brute force, they miss no better cluster, and no new one."""
    monkeypatch.setattr(search, "SWEEPS", 100)
    for seed in range(10):
        draws = noisy_draws(120, 15, 4, 0.1 + 0.04 * seed, seed)
        weights = np.random.default_rng(seed).integers(1, 9, 120)
        rows = np.repeat(np.arange(120), weights)
        state = search._Search(draws, weights, draws[0], loss_values(len(rows), by_information))
        state.sweep_until_stable(np.random.default_rng(seed))
        labels = state.t.labels
        now = mean_loss(labels[rows], draws[:, rows], by_information)
        for i in np.random.default_rng(seed).choice(120, 6, replace=False):
            for cluster in [*np.unique(labels), len(state.t.sizes)]:
                other = labels.copy()
                other[i] = cluster
                assert mean_loss(other[rows], draws[:, rows], by_information) >= now - 1e-9


def test_clusters_may_multiply():
    """Draws of many small clusters, started from a single one: numbers and lists must grow."""
    draws = renumbered([np.arange(300) // 2, (np.arange(300) + 1) // 2, np.arange(300)])
    estimate = least_expected_loss(draws, np.ones(300, int), np.zeros(300, np.int32), True)
    assert mean_loss(estimate, draws, True) <= min(losses_to(a, draws, True).mean() for a in draws) + 1e-9


@pytest.mark.parametrize("work", [0, 3_000, 30_000])
def test_bounded_work_is_never_worse_than_the_start(work, monkeypatch):
    monkeypatch.setattr(search, "WORK", work)
    draws = noisy_draws(200, 20, 6, 0.3, 0)
    estimate = least_expected_loss(draws, np.ones(200, int), draws[0], True)
    assert mean_loss(estimate, draws, True) <= losses_to(draws[0], draws, True).mean() + 1e-12


@pytest.mark.parametrize("loss", ["vi", "binder"])
def test_estimates_improve_on_the_best_draw_and_are_reproducible(loss):
    draws = noisy_draws(400, 60, 8, 0.25, 0)
    posterior = as_posterior(draws)
    estimate = posterior.point_estimate(loss)
    best = posterior.labels[posterior.point_estimate_draw(loss)]
    assert posterior.expected_loss(estimate, loss) < 0.9 * posterior.expected_loss(best, loss)
    assert np.array_equal(estimate, as_posterior(draws).point_estimate(loss))
    assert loss == "binder" or len(np.unique(estimate)) == 8  # Binder's loss favours a few clusters of single rows


@pytest.mark.parametrize("loss", ["vi", "binder"])
def test_estimates_are_never_worse_than_the_best_draw(loss):
    for seed in range(10):
        posterior = as_posterior(noisy_draws(80, 30, 5, 0.05 * seed, seed), n_chains=2)
        best = posterior.labels[posterior.point_estimate_draw(loss)]
        assert posterior.expected_loss(posterior.point_estimate(loss), loss) <= posterior.expected_loss(best, loss) + 1e-12


def test_the_best_draw_is_the_one_with_the_least_expected_loss():
    draws = noisy_draws(50, 40, 4, 0.2, 0)
    expected = [losses_to(draw, draws, True).mean() for draw in draws]
    assert best_draw(group_draws(lambda: draws), True, np.zeros(40)) == np.argmin(expected)
    same = np.tile(draws[0], (5, 1))
    assert best_draw(group_draws(lambda: same), True, np.array([1.0, 3.0, 2.0, 3.0, 0.0])) == 1


def test_draws_looked_at():
    assert n_draws_compared(10) == n_draws_compared(100_000) == 200
    assert n_draws_compared(200_000) == 100
    assert n_draws_compared(10**8) == 20
    assert evenly_spread(1000, 200).size == 200
    assert {0, 999} <= set(evenly_spread(1000, 200).tolist())


def test_many_draws_are_thinned():
    posterior = as_posterior(np.tile(np.array([0, 0, 1, 1], np.int32), (1000, 1)), n_chains=2)
    assert len(posterior._places_compared()) == 200
    assert {chain for chain, _ in posterior._places_compared()} == {0, 1}
    assert posterior.point_estimate().tolist() == [0, 0, 1, 1]


def test_the_known_estimate_is_not_the_users_array():
    posterior = as_posterior(noisy_draws(20, 10, 2, 0.1, 0))
    posterior.point_estimate()[:] = 7
    assert posterior.point_estimate().max() < 7


def test_an_estimate_has_no_more_clusters_than_any_draw():
    """A row that is now with these, now with those, would be alone if that were allowed."""
    rng = np.random.default_rng(0)
    draws = np.tile(np.repeat(np.arange(4), 50), (40, 1))
    draws[:, :3] = rng.integers(0, 4, (40, 3))
    grouped = group_draws(lambda: draws)
    alone = least_expected_loss(grouped.labels, grouped.weights, grouped.labels[0], True)
    assert len(np.unique(alone)) == 7
    estimate = point_estimate(grouped, 0, True, seed=0)
    assert len(np.unique(estimate)) == 4
    assert adjusted_rand_score(estimate[3:], np.repeat(np.arange(4), 50)[3:]) == 1.0
