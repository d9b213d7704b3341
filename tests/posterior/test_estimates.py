"""Credible balls, matching, certainty, descriptions of clusters, summaries and verdicts."""

from __future__ import annotations

import itertools

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from scipy.sparse import csr_matrix

import hashmix as hm
from hashmix.posterior.diagnostics import ESS_LIMIT, LEAST_ESS, rhat, rhat_limit
from hashmix.posterior.estimate.losses import losses_to
from hashmix.posterior.estimate.matching import contingency_table, credible_ball, match_clusters, row_certainty
from hashmix.posterior.verdict import disagreement, grade
from tests.posterior.partitions import all_partitions, as_posterior, noisy_draws, renumbered


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
        covered += losses_to(centre, [truth], True)[0] <= ball.radius
    error = np.sqrt(300 * 0.8 * 0.2)
    assert abs(covered - 0.8 * 300) < 4.5 * error


def test_matching_is_the_best_one():
    rng = np.random.default_rng(0)
    for _ in range(20):
        contingency = rng.integers(0, 9, (4, 4))
        match = match_clusters(contingency)
        got = sum(contingency[match[c], c] for c in range(4) if match[c] >= 0)
        assert got == max(sum(contingency[p[c], c] for c in range(4)) for p in itertools.permutations(range(4)))
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
    frame = posterior.clusters(X, feature_names=["a", "b"])
    assert frame["size"].tolist() == [60, 40]
    assert (frame["size_low"] <= frame["size"]).all()
    assert (frame["size"] <= frame["size_high"]).all()
    assert (frame["matched"] == 1.0).all()
    assert (frame["agreement"] > 0.8).all()
    for name, of in (("mean", np.mean), ("sd", np.std)):
        assert frame.loc[1, f"a_{name}"] == pytest.approx(of(X[truth == 1, 0]))
        seen = [of(X[draw == draw[-1], 0]) for draw in draws]
        assert frame.loc[1, f"a_{name}_low"] < np.quantile(seen, 0.05)
        assert frame.loc[1, f"a_{name}_high"] > np.quantile(seen, 0.95)
    with pytest.raises(ValueError, match="'X' parameter of clusters must be the 100 rows"):
        posterior.clusters(X[:5])


def test_intervals_where_the_partition_is_known():
    """What is left open is then what rows leave open: textbook intervals, to an eighth of their width."""
    truth = np.repeat([0, 1], [60, 40]).astype(np.int32)
    rng = np.random.default_rng(0)
    x, counts = rng.normal(7.0 * truth, 2.0), rng.poisson(np.array([[3.0, 0.2], [0.2, 3.0]])[truth])
    posterior = as_posterior(np.tile(truth, (100, 1)))
    frame = posterior.clusters(x[:, None], feature_names=["a"])
    words = posterior.clusters(csr_matrix(counts), feature_names=["cat", "oak"])
    assert (frame[["size_low", "size_high"]].to_numpy() == [[60, 60], [40, 40]]).all()
    mean, sd, n = x[truth == 1].mean(), x[truth == 1].std(), 40
    total, oaks = counts[truth == 1].sum(), counts[truth == 1, 1].sum()
    for low, high, want in (
        (frame["a_mean_low"][1], frame["a_mean_high"][1], stats.t(n - 1, mean, sd / np.sqrt(n))),
        (frame["a_sd_low"][1], frame["a_sd_high"][1], stats.norm(sd, sd / np.sqrt(2 * n))),
        (frame["weight_low"][1], frame["weight_high"][1], stats.beta(40, 61)),
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
    frame = as_posterior(draws).clusters(csr_matrix(counts), feature_names=names)
    assert [words[0] for words in frame["top_words"]] == ["cat", "oak, old"]
    assert not any("never" in words for words in frame["top_words"])
    seen = [counts[draw == draw[-1], 1].sum() / counts[draw == draw[-1]].sum() for draw in draws]
    assert frame.loc[1, "word_shares"][0] == pytest.approx(counts[truth == 1, 1].sum() / counts[truth == 1].sum())
    assert frame.loc[1, "word_shares_low"][0] < np.quantile(seen, 0.05)
    assert frame.loc[1, "word_shares_high"][0] > np.quantile(seen, 0.95)
    monkeypatch.setattr("hashmix.posterior.describe.clusters._ENTRIES_FOR_WORDS", 10 * np.count_nonzero(counts))
    fewer = as_posterior(draws).clusters(csr_matrix(counts), feature_names=names)
    assert fewer.loc[1, "word_shares_low"][0] != frame.loc[1, "word_shares_low"][0]
    assert fewer.loc[1, "word_shares_low"][0] == pytest.approx(frame.loc[1, "word_shares_low"][0], rel=0.2)
    nothing = as_posterior(draws).clusters(csr_matrix((100, 4)))
    assert nothing["top_words"].tolist() == [(), ()]


def test_names_of_columns_do_not_clash():
    frame = as_posterior(noisy_draws(20, 10, 2, 0.1, 0)).clusters(np.arange(20.0)[:, None], feature_names=["size"])
    assert frame["size"].sum() == 20
    assert frame["size_mean"].notna().all()


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
    frame = posterior.summary()
    assert {"n_clusters", "log_joint", "entropy", "largest_cluster", "concentration", "distance"} <= set(frame.index)
    assert frame.loc["n_clusters", "mean"] == pytest.approx(posterior.n_clusters.mean())
    assert frame.loc["log_joint", "rhat"] == pytest.approx(posterior.rhat()["log_joint"])
    moves = posterior.moves()
    assert {"µs_per_proposal", "accepted_per_second"} <= set(moves.columns)
    assert moves.loc["ParallelGibbs", "proposed"] == posterior.move_stats["ParallelGibbs"]["proposed"].sum()


def test_verdicts():
    draws = np.tile(np.arange(40) % 4, (400, 1)).astype(np.int32)
    posterior = as_posterior(draws, n_chains=2)
    assert "The chains agree: 2 chains" in posterior.verdict()
    assert disagreement(posterior) is None
    assert "one chain cannot show whether it mixed" in as_posterior(draws).verdict()
    slow = as_posterior(draws, n_chains=2)
    slow.log_joint[:] = np.sin(np.arange(200) / 15.0)
    assert "against convergence, but the effective sample size of the log joint is only" in slow.verdict()
    assert grade(slow) == "caution"
    rough = as_posterior(draws, n_chains=2)
    rough.log_joint[:] = np.repeat(np.random.default_rng(0).normal(size=(2, 20)), 10, axis=1)
    assert LEAST_ESS < rough.ess()["log_joint"] < ESS_LIMIT
    assert rough.verdict().startswith("The chains agree")
    assert "before quoting intervals: the effective sample size of the log joint" in rough.verdict()
    assert grade(rough) == "good"
    few = as_posterior(draws[:38], n_chains=2)
    assert few.verdict() == "There are too few draws to judge: 19 per chain. Run longer."
    published = as_posterior(draws, n_chains=2)
    published.settings["exact"] = False
    assert "not from the posterior" in published.verdict()


def test_chains_that_disagree():
    draws = np.tile(np.arange(40) % 4, (400, 1)).astype(np.int32)
    posterior = as_posterior(draws, n_chains=2)
    posterior.n_clusters[1] = 5
    posterior.n_clusters[0, ::7] = 5
    worst = posterior.rhat()["n_clusters"]
    assert worst == max(value for value in posterior.rhat().values() if value == value)
    sentence = f"The chains disagree: R̂ of the number of clusters is {worst:.2f}, the limit is 1.14."
    assert disagreement(posterior) == sentence
    assert posterior.verdict().startswith(f"{sentence} The median number of clusters is 4 and 5. Run longer")
    assert disagreement(posterior.rectangle([0], 200)) is None  # one chain


def test_chains_that_never_move():
    """Constant within each chain, different between them: as much disagreement as there can be, and no absurd number."""
    draws = np.repeat([[0, 0, 0, 0], [0, 1, 2, 3]], 50, axis=0).astype(np.int32)
    posterior = as_posterior(draws, n_chains=2)
    assert posterior.rhat()["n_clusters"] == np.inf
    assert posterior.rhat()["entropy"] == np.inf
    sentence = "The chains disagree: R̂ of the number of clusters is above 100, the limit is 1.16."
    assert disagreement(posterior) == sentence
    assert sentence in posterior.verdict()
    assert "above 100 / " in repr(posterior)
    assert "1 and 4" in posterior.verdict()


def test_all_scalars_are_judged():
    posterior = hm.sample(np.random.default_rng(0).normal(size=(30, 2)), n_draws=25, n_chains=2, random_state=0)
    names = {"n_clusters", "log_joint", "log_likelihood", "entropy", "largest_cluster", "concentration", "distance"}
    assert names <= set(posterior.scalars())
    assert set(posterior.rhat()) == set(posterior.ess()) == set(posterior.scalars())
    hyperparameters = set(posterior.scalars()) - names
    assert "scale[1]" in hyperparameters or "rate[1]" in hyperparameters
    assert {name.split("[")[0] for name in hyperparameters} == set(posterior.hyperparameters)
    for name, values in posterior.rhat().items():
        assert posterior.summary().loc[name, "rhat"] == pytest.approx(values, nan_ok=True)


def test_distances_of_many_rows_are_measured_on_some(monkeypatch):
    draws = noisy_draws(90, 12, 3, 0.2, 0)
    posterior = as_posterior(draws)
    best = posterior.labels[posterior.point_estimate_draw()]
    np.testing.assert_allclose(posterior.scalars()["distance"][0], losses_to(best, draws, True))
    monkeypatch.setattr("hashmix.posterior.scalars.ROWS_FOR_DISTANCE", 40)
    some = as_posterior(draws).scalars()["distance"][0]
    np.testing.assert_allclose(some, losses_to(best[::3], draws[:, ::3], True))


def test_a_concentration_of_the_component_is_another_scalar():
    """The Dirichlet–multinomial has a hyperparameter of this name, and so has the prior."""
    posterior = hm.sample([[3, 1, 0], [0, 1, 4], [2, 2, 0]], "multinomial", n_draws=6, random_state=0)
    assert np.array_equal(posterior.scalars()["concentration"], posterior.concentration)
    learned = posterior.hyperparameters["concentration"]
    assert np.array_equal(posterior.scalars()["component_concentration"], learned.reshape(1, 6))


@pytest.mark.parametrize("level", [0.0, 1.5, "most"])
def test_bad_levels(level):
    posterior = as_posterior(noisy_draws(10, 20, 2, 0.2, 0))
    with pytest.raises(ValueError, match="'level' parameter of"):
        posterior.credible_ball(level=level)
    with pytest.raises(ValueError, match="'level' parameter of"):
        posterior.summary(level=level)


def test_ball_of_few_draws():
    assert credible_ball(np.array([[0.5]]), np.array([[3]]), 0.95).farthest == (0, 0)


def test_limit_allows_for_the_number_of_quantities(seed):
    """Independent draws, as few as are enough: chains that agree are said to disagree in about 5 % of cases."""
    rng = np.random.default_rng(seed)
    for n_quantities in (1, 10, 60):
        limit = rhat_limit(2, 25, n_quantities)
        worst = [max(rhat(rng.normal(size=(2, 25))) for _ in range(n_quantities)) for _ in range(200)]
        alarms = (np.array(worst) > limit).mean()
        assert alarms < 0.05 + 4.0 * np.sqrt(0.05 * 0.95 / 200)
        apart = [rhat(rng.normal(size=(2, 25)) + [[0.0], [3.0]]) for _ in range(50)]
        assert (np.array(apart) > limit).mean() > 0.95


def test_what_rarely_varies_is_not_judged():
    """One row that leaves its cluster in a few draws of one chain says nothing about convergence."""
    draws = np.tile(np.arange(40) % 4, (400, 1)).astype(np.int32)
    posterior = as_posterior(draws, n_chains=2)
    posterior.n_clusters[0, 60:69] = 5
    assert posterior.ess()["n_clusters"] < ESS_LIMIT
    assert "The chains agree" in posterior.verdict()
    posterior = as_posterior(draws, n_chains=2)
    posterior.n_clusters[0, 60:90] = 5
    assert "R̂ of the number of clusters" in disagreement(posterior)


def test_one_cluster_in_a_thousand_is_no_disagreement():
    draws = np.tile(np.arange(40) % 4, (400, 1)).astype(np.int32)
    for k, agree in ((1000, True), (50, False)):
        posterior = as_posterior(draws, n_chains=2)
        posterior.n_clusters[0], posterior.n_clusters[1] = k, k + 1
        posterior.n_clusters[:, ::9] += 1
        assert posterior.rhat()["n_clusters"] > 1.5
        assert ("The chains agree" in posterior.verdict()) == agree


def test_hyperparameters_are_named_by_their_columns(tmp_path):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"width": rng.normal(size=40), "same": 1.0, "height": rng.normal(size=40)})
    settings = {"component": "gaussian-full", "n_draws": 20, "n_warmup": 5, "random_state": 0}
    posterior = hm.SplitMergeMixture(**settings, run_dir=tmp_path / "run").fit(frame[["width", "height"]]).posterior_
    wanted = {"scale[width]", "scale[height]", "mean[width]", "mean[height]"}
    assert {name for name in posterior.scalars() if "[" in name} == wanted
    np.testing.assert_array_equal(posterior.scalars()["scale[height]"], posterior.hyperparameters["scale"][:, :, 1, 1])
    assert {name for name in hm.Posterior.load(tmp_path / "run").scalars() if "[" in name} == wanted
    posterior.log_joint[:], posterior.hyperparameters["scale"][1, :, 1, 1] = 0.0, 1e9
    posterior._known.clear()
    assert "R̂ of scale of height is" in disagreement(posterior)
    # Without names, numbers of columns in the data: the constant one was left out.
    posterior = hm.SplitMergeMixture(**settings).fit(frame.to_numpy()).posterior_
    assert {name for name in posterior.scalars() if "scale[" in name} == {"scale[0]", "scale[2]"}
