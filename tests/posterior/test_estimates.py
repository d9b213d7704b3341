"""Point estimates against brute force, credible balls, matching, certainty, tables and verdicts."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy import stats
from scipy.sparse import csr_matrix

import hashmix as hm
from hashmix.posterior import Posterior
from hashmix.posterior.estimate.losses import loss_to, pairwise_losses
from hashmix.posterior.estimate.matching import contingency_table, credible_ball, match_clusters, row_certainty
from hashmix.posterior.estimate.search import least_expected_loss


def all_partitions(n):
    """Every partition of n rows, as labels in the order of first appearance."""
    partitions = [[0]]
    for _ in range(n - 1):
        partitions = [p + [c] for p in partitions for c in range(max(p) + 2)]
    return np.array(partitions, np.int32)


def renumbered(labels):
    return np.array([np.unique(row, return_inverse=True)[1] for row in labels], np.int32)


def noisy_draws(n, n_draws, k, noise, seed):
    """Draws that scatter around one partition."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, k, n)
    return renumbered([np.where(rng.random(n) < noise, rng.integers(0, k + 1, n), truth) for _ in range(n_draws)])


def as_posterior(draws, n_chains=1):
    posterior = Posterior.empty(n_chains, len(draws) // n_chains, draws.shape[1], [], {}, {})
    posterior.labels[:] = draws.reshape(posterior.labels.shape)
    posterior.n_clusters[:] = posterior.labels.max(axis=2) + 1
    posterior.log_joint[:] = np.random.default_rng(0).normal(size=posterior.log_joint.shape)
    return posterior


@pytest.mark.parametrize("by_information", [True, False])
@pytest.mark.parametrize("n", [2, 5, 7])
def test_search_finds_the_best_of_all_partitions(n, by_information):
    partitions = all_partitions(n)
    for seed in range(20):
        draws = noisy_draws(n, 12, 3, 0.4, seed)
        losses = pairwise_losses(np.concatenate([partitions, draws]), n + 1, by_information)[
            : len(partitions), len(partitions) :
        ]
        best = losses.mean(axis=1).min()
        estimate = renumbered([least_expected_loss(draws, draws[-1], by_information)])[0]
        found = np.mean([loss_to(estimate, draw, n + 1, by_information) for draw in draws])
        assert found <= best + 1e-9, (seed, found, best)


def test_search_improves_on_the_best_draw_and_is_reproducible():
    draws = noisy_draws(400, 60, 8, 0.25, 0)
    posterior = as_posterior(draws)
    for loss in ("vi", "binder"):
        estimate = posterior.point_estimate(loss)
        best_draw = posterior.labels[posterior.point_estimate_draw(loss)]
        assert posterior.expected_loss(estimate, loss) < 0.9 * posterior.expected_loss(best_draw, loss)
        assert np.array_equal(estimate, as_posterior(draws).point_estimate(loss))
        assert loss == "binder" or len(np.unique(estimate)) == 8  # Binder's loss likes a few clusters of single rows


def test_search_has_room_for_clusters_that_multiply():
    """Draws of many small clusters, started from one: numbers and lists must grow."""
    draws = renumbered([np.arange(300) // 2, (np.arange(300) + 1) // 2, np.arange(300)])
    estimate = least_expected_loss(draws, np.zeros(300, np.int32), True)
    own = [np.mean([loss_to(a, b, 301, True) for b in draws]) for a in draws]
    assert np.mean([loss_to(renumbered([estimate])[0], b, 301, True) for b in draws]) <= min(own) + 1e-9


def test_credible_ball():
    draws = noisy_draws(60, 200, 4, 0.1, 3)
    posterior = as_posterior(draws, n_chains=2)
    ball = posterior.credible_ball(level=0.9)
    inside = ball.distances <= ball.radius
    assert inside.mean() >= 0.9
    assert (ball.distances < ball.radius).mean() < 0.9
    assert ball.distances[ball.farthest] == ball.radius
    assert posterior.n_clusters[ball.fewest] == posterior.n_clusters[inside].min()
    assert posterior.n_clusters[ball.most] == posterior.n_clusters[inside].max()


def test_credible_balls_cover(seed):
    """A partition from the law that draws come from is in the 80 % ball four times out of five."""
    rng = np.random.default_rng([seed, 8])
    covered = 0
    for _ in range(300):
        draws = noisy_draws(30, 101, 3, 0.15, rng.integers(2**31))
        truth, draws = draws[0], draws[1:]
        posterior = as_posterior(draws)
        centre = draws[0] * 0  # any partition that does not look at the truth will do
        ball = posterior.credible_ball(centre, level=0.8)
        covered += loss_to(centre, truth, 60, True) <= ball.radius
    error = np.sqrt(300 * 0.8 * 0.2)
    assert abs(covered - 0.8 * 300) < 4.5 * error


def test_matching_is_the_best_one():
    rng = np.random.default_rng(0)
    for _ in range(20):
        table = rng.integers(0, 9, (4, 4))
        match = match_clusters(table)
        got = sum(table[match[c], c] for c in range(4) if match[c] >= 0)
        assert got == max(sum(table[p[c], c] for c in range(4)) for p in itertools.permutations(range(4)))
    assert contingency_table(np.array([0, 0, 1]), np.array([1, 1, 0]), (2, 2)).tolist() == [[0, 2], [1, 0]]


def test_certainty():
    estimate = np.array([0, 0, 1, 1], np.int32)
    draws = np.array([[0, 0, 1, 1], [1, 1, 0, 0], [0, 1, 1, 1], [0, 0, 1, 2]], np.int32)
    matches = np.stack([match_clusters(contingency_table(estimate, draw, (2, 3))) for draw in draws])
    probability, entropy = row_certainty(estimate, draws, matches)
    np.testing.assert_allclose(probability[:3], [1.0, 0.75, 1.0])
    h = -(0.75 * np.log(0.75) + 0.25 * np.log(0.25))
    np.testing.assert_allclose(entropy[:3], [0.0, h, 0.0], atol=1e-12)
    posterior = as_posterior(draws)
    np.testing.assert_allclose(posterior.certainty(estimate)[0], probability)


def test_co_clustering():
    draws = noisy_draws(50, 30, 3, 0.3, 1)
    posterior = as_posterior(draws)
    rows = [4, 9, 30]
    want = (draws[:, rows, None] == draws[:, None, rows]).mean(axis=0)
    np.testing.assert_allclose(posterior.co_clustering(rows), want)
    assert posterior.co_clustering(20).shape == (20, 20)
    with pytest.raises(ValueError, match="'rows' parameter of co_clustering .* from 0 to 49"):
        posterior.co_clustering([50])


def test_clusters_with_intervals():
    rng = np.random.default_rng(0)
    truth = np.repeat([0, 1], [60, 40])
    draws = renumbered([np.where(rng.random(100) < 0.05, 1 - truth, truth) for _ in range(50)])
    posterior = as_posterior(draws)
    X = np.column_stack([10.0 * truth + rng.normal(size=100), rng.normal(size=100)])
    table = posterior.clusters(X, feature_names=["a", "b"])
    assert table["size"].tolist() == [60, 40]
    assert (table["size_low"] <= table["size"]).all()
    assert (table["size"] <= table["size_high"]).all()
    assert (table["matched"] == 1.0).all()
    assert (table["agreement"] > 0.8).all()
    for name, of in (("mean", np.mean), ("sd", np.std)):
        assert table.loc[1, f"a_{name}"] == pytest.approx(of(X[truth == 1, 0]))
        seen = [of(X[draw == draw[-1], 0]) for draw in draws]
        assert table.loc[1, f"a_{name}_low"] < np.quantile(seen, 0.05)
        assert table.loc[1, f"a_{name}_high"] > np.quantile(seen, 0.95)
    with pytest.raises(ValueError, match="'X' parameter of clusters must be the 100 rows"):
        posterior.clusters(X[:5])


def test_intervals_where_the_partition_is_known():
    """What is left open is then what rows leave open: textbook intervals, to an eighth of their width."""
    truth = np.repeat([0, 1], [60, 40]).astype(np.int32)
    rng = np.random.default_rng(0)
    x, counts = rng.normal(7.0 * truth, 2.0), rng.poisson(np.array([[3.0, 0.2], [0.2, 3.0]])[truth])
    posterior = as_posterior(np.tile(truth, (100, 1)))
    table = posterior.clusters(x[:, None], feature_names=["a"])
    words = posterior.clusters(csr_matrix(counts), feature_names=["cat", "oak"])
    assert (table[["size_low", "size_high"]].to_numpy() == [[60, 60], [40, 40]]).all()
    mean, sd, n = x[truth == 1].mean(), x[truth == 1].std(), 40
    total, oaks = counts[truth == 1].sum(), counts[truth == 1, 1].sum()
    for low, high, want in (
        (table["a_mean_low"][1], table["a_mean_high"][1], stats.t(n - 1, mean, sd / np.sqrt(n))),
        (table["a_sd_low"][1], table["a_sd_high"][1], stats.norm(sd, sd / np.sqrt(2 * n))),
        (table["weight_low"][1], table["weight_high"][1], stats.beta(40, 61)),
        (words["word_shares_low"][1][0], words["word_shares_high"][1][0], stats.beta(oaks + 0.5, total - oaks + 0.5)),
    ):
        width = want.ppf(0.95) - want.ppf(0.05)
        assert low == pytest.approx(want.ppf(0.05), abs=width / 8)
        assert high == pytest.approx(want.ppf(0.95), abs=width / 8)


def test_words_with_intervals(monkeypatch):
    rng = np.random.default_rng(0)
    truth = np.repeat([0, 1], [60, 40])
    draws = renumbered([np.where(rng.random(100) < 0.05, 1 - truth, truth) for _ in range(50)])
    counts = rng.poisson(np.array([[3.0, 0.2, 1.0, 0.0], [0.2, 3.0, 1.0, 0.0]])[truth])
    names = ["cat", "oak, old", "the", "never"]
    table = as_posterior(draws).clusters(csr_matrix(counts), feature_names=names)
    assert [words[0] for words in table["top_words"]] == ["cat", "oak, old"]
    assert not any("never" in words for words in table["top_words"])
    seen = [counts[draw == draw[-1], 1].sum() / counts[draw == draw[-1]].sum() for draw in draws]
    assert table.loc[1, "word_shares"][0] == pytest.approx(counts[truth == 1, 1].sum() / counts[truth == 1].sum())
    assert table.loc[1, "word_shares_low"][0] < np.quantile(seen, 0.05)
    assert table.loc[1, "word_shares_high"][0] > np.quantile(seen, 0.95)
    monkeypatch.setattr("hashmix.posterior.describe.clusters._ENTRIES_FOR_WORDS", 10 * np.count_nonzero(counts))
    fewer = as_posterior(draws).clusters(csr_matrix(counts), feature_names=names)
    assert fewer.loc[1, "word_shares_low"][0] != table.loc[1, "word_shares_low"][0]
    assert fewer.loc[1, "word_shares_low"][0] == pytest.approx(table.loc[1, "word_shares_low"][0], rel=0.2)
    nothing = as_posterior(draws).clusters(csr_matrix((100, 4)))
    assert nothing["top_words"].tolist() == [(), ()]


def test_names_of_columns_do_not_clash():
    table = as_posterior(noisy_draws(20, 10, 2, 0.1, 0)).clusters(np.arange(20.0)[:, None], feature_names=["size"])
    assert table["size"].sum() == 20
    assert table["size_mean"].notna().all()


def test_lower_bound_of_the_variation_of_information():
    """Against its formula in terms of how often rows are together, and below what it bounds, for all partitions."""
    n = 6
    draws = noisy_draws(n, 12, 3, 0.4, 0)
    together = (draws[:, :, None] == draws[:, None, :]).mean(axis=0)
    log_theirs = np.log((draws[:, :, None] == draws[:, None, :]).sum(axis=2)).mean(axis=0)
    posterior = as_posterior(draws)
    for labels in all_partitions(n):
        mine = labels[:, None] == labels
        want = np.log(mine.sum(1)) + log_theirs - 2.0 * np.log((mine * together).sum(1))
        bound = posterior.expected_loss(labels, "vi-lower-bound")
        assert bound == pytest.approx(max(want.mean(), 0.0), abs=1e-12)
        assert bound <= posterior.expected_loss(labels, "vi") + 1e-12


def test_summary_and_moves():
    X = np.random.default_rng(0).normal(size=(40, 2))
    posterior = hm.sample(X, n_draws=60, n_chains=2, random_state=0)
    table = posterior.summary()
    assert {"n_clusters", "log_joint", "entropy", "largest_cluster", "concentration", "distance"} <= set(table.index)
    assert table.loc["n_clusters", "mean"] == pytest.approx(posterior.n_clusters.mean())
    assert table.loc["log_joint", "rhat"] == pytest.approx(posterior.rhat()["log_joint"])
    moves = posterior.moves()
    assert moves.loc["HashedGibbs", "proposed"] == posterior.move_stats["HashedGibbs"]["proposed"].sum()


def test_verdicts():
    draws = np.tile(np.arange(40) % 4, (400, 1)).astype(np.int32)
    posterior = as_posterior(draws, n_chains=2)
    assert "The chains agree" in posterior.verdict()
    posterior = as_posterior(draws, n_chains=2)
    posterior.n_clusters[1] = 5
    posterior.n_clusters[0, ::7] = 5
    assert "disagree on the number of clusters: 4 and 5" in posterior.verdict()
    assert "one chain cannot disagree" in as_posterior(draws).verdict()
    slow = as_posterior(draws, n_chains=2)
    slow.log_joint[:] = np.sin(np.arange(200) / 15.0)
    assert "only about" in slow.verdict()


@pytest.mark.parametrize("level", [0.0, 1.5, "most"])
def test_bad_levels(level):
    posterior = as_posterior(noisy_draws(10, 20, 2, 0.2, 0))
    with pytest.raises(ValueError, match="'level' parameter of"):
        posterior.credible_ball(level=level)
    with pytest.raises(ValueError, match="'level' parameter of"):
        posterior.summary(level=level)


def test_ball_of_few_draws():
    assert credible_ball(np.array([[0.5]]), np.array([[3]]), 0.95).farthest == (0, 0)
