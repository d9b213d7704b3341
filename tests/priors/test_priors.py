"""Priors on partitions: normalised, consistent, and with the right concentration update."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import gammaln
from scipy.stats import kstest

import hashmix as hm
from hashmix.priors.contract import log_prior
from hashmix.priors.finite_mixtures import _log_v
from hashmix.testing import partitions
from tests.shared import PRIORS, name


@pytest.mark.parametrize("prior", PRIORS[:3], ids=name)
@pytest.mark.parametrize("n", [1, 2, 5, 7])
def test_probabilities_sum_to_one(prior, n):
    table = prior.weights(n, n, prior.start_concentration)
    total = sum(np.exp(log_prior(table, np.bincount(labels))) for labels in partitions(n))
    assert total == pytest.approx(1.0, abs=1e-12)


def test_written_out_for_three_points():
    alpha = 0.7
    table = hm.priors.DirichletProcess(alpha).weights(3, 3, alpha)
    assert np.exp(log_prior(table, [3])) == pytest.approx(2 / ((alpha + 1) * (alpha + 2)))
    theta, sigma = 0.4, 0.3
    table = hm.priors.PitmanYor(theta, sigma).weights(3, 3, theta)
    expected = (theta + sigma) * (1 - sigma) / ((theta + 1) * (theta + 2))
    assert np.exp(log_prior(table, [2, 1])) == pytest.approx(expected)
    assert log_prior(hm.priors.Flat().weights(3, 3, np.nan), [2, 1]) == 0.0


def test_pitman_yor_without_discount_is_a_dirichlet_process():
    a = hm.priors.PitmanYor(1.3, 0.0).weights(20, 10, 1.3)
    b = hm.priors.DirichletProcess(1.3).weights(20, 10, 1.3)
    np.testing.assert_allclose(np.diff(a.log_v[1:]), np.diff(b.log_v[1:]))
    assert log_prior(a, [5, 15]) == pytest.approx(log_prior(b, [5, 15]))


@pytest.mark.parametrize(("gamma", "rate"), [(1.0, 1.0), (0.1, 5.0), (3.0, 0.2)])
def test_recursion_of_the_finite_mixture_coefficients(gamma, rate):
    """V_n(t) = (n + γt) V_{n+1}(t) + γ V_{n+1}(t+1)."""
    n = 30
    here, there = _log_v(n, 12, gamma, rate), _log_v(n + 1, 13, gamma, rate)
    t = np.arange(13)
    right = np.logaddexp(np.log(n + gamma * t) + there[:13], np.log(gamma) + there[1:14])
    np.testing.assert_allclose(here[1:], right[1:], rtol=1e-10)


def test_expected_number_of_clusters():
    prior = hm.priors.DirichletProcess.from_expected_clusters(12.5, n_samples=2000)
    alpha = prior.concentration
    assert (alpha / (alpha + np.arange(2000))).sum() == pytest.approx(12.5, rel=1e-9)


def test_concentration_update_has_the_right_stationary_law(seed):
    """Given K = 4 of n = 50: p(α | K) ∝ Gamma(α; a, b) α^K Γ(α)/Γ(α+n), by a grid."""
    prior = hm.priors.DirichletProcess(hm.priors.Gamma(1.5, 0.7))
    n, k = 50, 4
    grid = np.linspace(1e-3, 20, 40_001)
    log_p = 0.5 * np.log(grid) - 0.7 * grid + k * np.log(grid) + gammaln(grid) - gammaln(grid + n)
    cdf = np.cumsum(np.exp(log_p - log_p.max()))
    cdf /= cdf[-1]
    rng = np.random.default_rng(seed)
    alpha, draws = 1.0, []
    for step in range(20_000):
        alpha = prior.update_concentration(alpha, n, k, rng)
        if step % 10 == 0:
            draws.append(alpha)
    assert kstest(draws, lambda x: np.interp(x, grid, cdf)).pvalue > 1e-4


@pytest.mark.parametrize(
    ("build", "sentence"),
    [
        (lambda: hm.priors.DirichletProcess(0.0), "'concentration' parameter of DirichletProcess must be a number > 0"),
        (lambda: hm.priors.DirichletProcess("learned"), r"a number > 0 or a priors.Gamma\(shape, rate\)"),
        (lambda: hm.priors.DirichletProcess(hm.priors.Gamma(-1, 1)), "concentration.shape"),
        (lambda: hm.priors.PitmanYor(1.0, 1.0), "'discount' parameter of PitmanYor must be a number ≥ 0 and < 1"),
        (lambda: hm.priors.PitmanYor(-0.5, 0.3), "'concentration' parameter of PitmanYor must be a number > -0.3"),
        (lambda: hm.priors.MixtureOfFiniteMixtures(rate=-1), "'rate' parameter"),
        (lambda: hm.priors.DirichletProcess.from_expected_clusters(0.5, 100), "'n_clusters' parameter"),
        (lambda: hm.priors.resolve_prior("dirichlet"), "'dirichlet-process', 'pitman-yor'"),
    ],
)
def test_bad_parameters(build, sentence):
    with pytest.raises(ValueError, match=sentence):
        build()
