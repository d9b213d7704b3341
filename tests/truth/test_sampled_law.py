"""Draws of sample() follow the exact posterior: χ² over all partitions of a few rows, on thinned draws."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import chi2

import hashmix as hm
from hashmix.testing import exact_posterior
from tests.shared import COMPONENTS, PRIORS, name

ROWS = np.array([[0.1, 0.4], [0.2, 0.3], [1.9, -0.6], [0.9, 1.3], [-1.0, 0.2], [0.5, 0.5]])
# False alarms: one in 10⁵ for each test.
LEVEL = 1e-5


def assert_follows(draws, exact):
    """Pearson's χ² of independent draws; cells expecting fewer than 5 are pooled."""
    seen = dict.fromkeys(exact, 0)
    for labels in draws:
        seen[tuple(labels.tolist())] += 1
    expected = np.array([exact[labels] for labels in exact]) * len(draws)
    counts = np.array([seen[labels] for labels in exact])
    rare = expected < 5.0
    if rare.any():
        expected = np.append(expected[~rare], expected[rare].sum())
        counts = np.append(counts[~rare], counts[rare].sum())
    statistic = ((counts - expected) ** 2 / np.maximum(expected, 1e-12)).sum()
    assert statistic < chi2.isf(LEVEL, len(expected) - 1), statistic


# thin leaves an autocorrelation of a few per cent: each sweep holds a Gibbs scan of all six rows.
@pytest.mark.parametrize(
    ("moves", "thin"),
    [
        ("split-merge", 2),
        ("sams", 6),
        ("rgsm", 6),
        ("sdds", 6),
        ("random-split-merge", 6),
        ("gibbs", 6),
        ("lshsm", 6),
        ("minsm", 6),
        ("lss", 4),
    ],
)
@pytest.mark.parametrize("component", COMPONENTS, ids=name)
def test_schedules(moves, thin, component, seed):
    posterior = hm.sample(
        ROWS,
        component,
        PRIORS[0],
        moves,
        n_draws=1000,
        n_warmup=50,
        thin=thin,
        n_chains=2,
        random_state=seed,
        init="singletons",
    )
    assert_follows(posterior.labels.reshape(-1, len(ROWS)), exact_posterior(ROWS, component, PRIORS[0]))


def test_fractional_weights(seed):
    schedule = [(hm.moves.SAMS(), 1.7), (hm.moves.Gibbs(), 0.4)]
    posterior = hm.sample(ROWS, COMPONENTS[0], PRIORS[1], schedule, n_draws=1500, n_warmup=50, thin=12, random_state=seed)
    assert_follows(posterior.labels[0], exact_posterior(ROWS, COMPONENTS[0], PRIORS[1]))
    per_sweep = posterior.move_stats["SAMS"]["proposed"].sum() / (1500 * 12)
    assert abs(per_sweep - 1.7) < 5 * np.sqrt(0.21 / 18000)


def test_learned_concentration(seed):
    """Integrated over α ~ Gamma(2, 1): the law of partitions mixes Dirichlet-process posteriors over a grid."""
    prior = hm.priors.DirichletProcess(hm.priors.Gamma(2.0, 1.0))
    rows, component = ROWS[:5], COMPONENTS[0]
    model = component.model(rows)
    grid = np.linspace(0.005, 25, 3000)
    weights = grid * np.exp(-grid)
    mixed = {}
    for labels in exact_posterior(rows, component, PRIORS[0]):
        sizes = np.bincount(labels)
        likelihood = component.log_marginals(model, component.statistics(model, rows, np.array(labels), len(sizes))).sum()
        log_p = [hm.priors.contract.log_prior(prior.weights(5, 5, alpha), sizes) for alpha in grid]
        mixed[labels] = np.exp(likelihood) * (np.exp(log_p) * weights).sum()
    total = sum(mixed.values())
    exact = {labels: p / total for labels, p in mixed.items()}
    posterior = hm.sample(rows, component, prior, "sams", n_draws=1000, n_warmup=50, thin=8, n_chains=2, random_state=seed)
    assert_follows(posterior.labels.reshape(-1, 5), exact)
