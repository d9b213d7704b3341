"""Learned hyperparameters: every update leaves the posterior under the hyperprior invariant."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import gamma, kstest, wishart

import hashmix as hm
from hashmix.components.gaussian.learning import Hyperprior, learn, slice_within
from hashmix.components.gaussian.metric import LEAST_STRENGTH, MOST_STRENGTH, MetricHyperprior, learn_metric
from hashmix.core.rng import stream
from tests.shared import make_state, name

ROWS = np.array([[0.1, 0.4], [0.2, 0.3], [1.9, -0.6], [0.9, 1.3], [-1.0, 0.2], [2.5, -0.5], [2.2, 0.1]])
LABELS = np.array([0, 0, 1, 0, 2, 1, 1])
LEARNING = [
    hm.components.DiagonalGaussian(mean=[0.3, -0.2], kappa=0.2, shape=1.7, rate=[0.4, 0.7], learn=True),
    hm.components.FullGaussian(mean=[0.1, 0.2], kappa=0.2, dof=36.0, scale=[16.0, 26.0], learn=True),
]
VAGUE = Hyperprior(np.array([1.5, 0.8]), np.array([0.02, 0.05]), np.array([5.0, 9.0]), 0.01, 3.0)


def test_slice_sampling_between_bounds(seed):
    """20 000 numbers that start elsewhere end as draws of the truncated distribution."""
    rng = np.random.default_rng([seed, 1])
    x = np.full(20_000, 0.3)
    for _ in range(30):
        x = slice_within(lambda t: 1.5 * np.log(t) - 2.0 * t, x, np.full(20_000, 0.2), np.full(20_000, 1.7), rng)
    law = gamma(2.5, scale=0.5)
    low, high = law.cdf([0.2, 1.7])
    assert kstest(x, lambda t: (law.cdf(t) - low) / (high - low)).pvalue > 1e-4


METRIC = MetricHyperprior(np.array([1.5, 0.8]), np.array([10.0, 20.0]), 0.01, 3.0)


def is_full(component):
    return isinstance(component, hm.components.FullGaussian)


def update(component, model, stats, rng):
    return (
        learn_metric(component, model, METRIC, stats, rng) if is_full(component) else learn(component, model, VAGUE, stats, rng)
    )


def prior_draw(component, model, rng):
    mean = np.sqrt(VAGUE.variance) * rng.standard_normal(2)
    kappa = float(np.exp(rng.uniform(np.log(VAGUE.least_kappa), np.log(VAGUE.most_kappa))))
    if is_full(component):
        strength = float(np.exp(rng.uniform(np.log(LEAST_STRENGTH), np.log(MOST_STRENGTH))))
        within = wishart(4, np.diag(1.0 / METRIC.inverse_scale)).rvs(random_state=rng)
        return component._with_metric(model, mean, kappa, strength * within, 3.0 + strength)
    scales = np.exp(rng.uniform(np.log(VAGUE.least_scale), np.log(VAGUE.most_scale)))
    return component._with_hyperparameters(model, mean, kappa, scales)


def values(component, model):
    if not is_full(component):
        return np.concatenate([model.mean, [np.log(model.kappa)], np.log(model.rate)])
    within = model.scale / (model.dof - 3.0)
    spread = np.log(np.diagonal(within))
    return np.concatenate([model.mean, [np.log(model.kappa), np.log(model.dof - 3.0), within[0, 1]], spread])


@pytest.mark.parametrize("component", LEARNING, ids=name)
def test_updates_follow_the_posterior(component, seed):
    """Averages of a long chain of updates against importance sampling from the hyperprior, the partition fixed."""
    rng = np.random.default_rng([seed, 2])
    model = component.model(ROWS)
    stats = component.statistics(model, ROWS, LABELS, 3)
    drawn = [prior_draw(component, model, rng) for _ in range(20_000)]
    log_weights = np.array([component.log_marginals(m, stats).sum() for m in drawn])
    weights = np.exp(log_weights - log_weights.max())
    weights /= weights.sum()
    every = np.array([values(component, m) for m in drawn])
    expected = weights @ every
    expected_error = np.sqrt((weights**2) @ (every - expected) ** 2)

    # The scale matrix moves slowly if clusters are alike, as three clusters of seven rows may well be.
    length = 400 if is_full(component) else 100
    chain = np.empty((60 * length, every.shape[1]))
    for step in range(len(chain)):
        model = update(component, model, stats, rng)
        chain[step] = values(component, model)
    batches = chain[10 * length :].reshape(50, length, -1).mean(axis=1)
    error = np.sqrt(batches.var(axis=0, ddof=1) / 50 + expected_error**2)
    z = (batches.mean(axis=0) - expected) / error
    assert abs(z).max() < 5.0, z


@pytest.mark.parametrize("component", LEARNING, ids=name)
def test_joint_law(component, seed):
    """Geweke: (hyperparameters, partition, data) drawn jointly, and by sweeps of the lss moves and updates."""
    rng = np.random.default_rng([seed, 3])
    prior, n = hm.priors.DirichletProcess(1.0), 6
    unit = component.model(np.array([[0.0, 0.0], [1.0, 1.0]]))
    moves = [move for move, _ in hm.moves.resolve_moves("lss")]

    def partition():
        labels = [0]
        for i in range(1, n):
            weights = np.append(np.bincount(labels), 1.0)
            labels.append(int(rng.choice(len(weights), p=weights / (i + 1.0))))
        return np.array(labels)

    def rows(model, labels):
        width = component.statistics(model, np.zeros((1, 2)), np.zeros(1, int), 1).shape[1]
        parameters = component.draw_parameters(model, np.zeros((labels.max() + 1, width)), rng)
        return component.draw_rows(parameters, labels, rng)

    def summary(model, labels, X):
        bounded = np.tanh(X)
        return [*np.tanh(values(component, model)), labels.max(), bounded.mean(), (bounded[:, 0] * bounded[:, 1]).mean()]

    forward = []
    for _ in range(2000):
        model, labels = prior_draw(component, unit, rng), partition()
        forward.append(summary(model, labels, rows(model, labels)))
    backward = []
    model, labels = prior_draw(component, unit, rng), partition()
    for step in range(3000):
        X = rows(model, labels)
        state = make_state(X, component, prior, labels, model=model, key=step)
        for m, move in enumerate(moves):
            move.apply(state, stream(seed, step, m), 2)
        model = update(component, state.model, state.slots.statistics(state.used), rng)
        labels = state.labels()
        backward.append(summary(model, labels, X))
    forward, backward = np.array(forward), np.array(backward)
    batches = backward.reshape(30, 100, -1).mean(axis=1)
    error = np.sqrt(forward.var(axis=0) / len(forward) + batches.var(axis=0, ddof=1) / len(batches))
    z = (forward.mean(axis=0) - backward.mean(axis=0)) / error
    assert abs(z).max() < 5.0, z


@pytest.mark.parametrize("component", LEARNING, ids=name)
def test_learned_values_are_recorded_and_used(component, three_blobs):
    X, _ = three_blobs
    posterior = hm.sample(X, component, n_draws=3, n_warmup=2, random_state=0)
    assert posterior.hyperparameters["mean"].shape == (1, 3, 2)
    scale = posterior.hyperparameters["scale" if is_full(component) else "rate"]
    assert scale.shape == ((1, 3, 2, 2) if is_full(component) else (1, 3, 2))
    assert len(np.unique(scale.reshape(3, -1)[:, 0])) == 3
    fixed = component.with_hyperparameters({key: value[0, -1] for key, value in posterior.hyperparameters.items()})
    assert not fixed.learn
    model = fixed.model(X)
    labels = posterior.labels[0, -1]
    stats = fixed.statistics(model, X, labels, labels.max() + 1)
    assert fixed.log_marginals(model, stats).sum() == pytest.approx(posterior.log_likelihood[0, -1], rel=1e-9)


def test_strings_learn_and_objects_do_not(three_blobs):
    X, _ = three_blobs
    assert hm.components.resolve_component("auto", X).component.learn
    assert not hm.components.DiagonalGaussian.from_data(X).learn
    assert hm.sample(X, hm.components.DiagonalGaussian.from_data(X), n_draws=1).hyperparameters == {}


@pytest.mark.parametrize("factor", [1e-3, 1.0, 1e3])
def test_the_starting_scale_is_forgotten(factor):
    rng = np.random.default_rng(5)
    X = np.concatenate([rng.normal(c, 1.0, (60, 2)) for c in ([0, 0], [9, 0], [0, 9], [9, 9])])
    start = hm.components.FullGaussian.from_data(X, learn=True)
    component = hm.components.FullGaussian(start.mean, start.kappa, start.dof, start.scale * factor, learn=True)
    posterior = hm.sample(X, component, n_draws=50, n_warmup=50, init="auto", random_state=0)
    assert np.median(posterior.n_clusters) == 4


def awkward_rows(kind):
    rng = np.random.default_rng(0)
    y = rng.integers(4, size=400)
    X = rng.normal(0.0, 8.0, (4, 3))[y] + rng.normal(size=(400, 3))
    return {
        "duplicated": np.column_stack([X, X[:, :2]]),
        "collinear": np.column_stack([X, X.sum(axis=1)]),
        "constant": np.column_stack([X, np.full(400, 7.0)]),
        "more columns than rows": (rng.normal(0.0, 4.0, (2, 60))[y % 2] + rng.normal(size=(400, 60)))[:40],
    }[kind]


@pytest.mark.parametrize(("kind", "k"), [("duplicated", 4), ("collinear", 4), ("constant", 4), ("more columns than rows", 2)])
def test_a_learned_metric_does_not_collapse(kind, k):
    """Where the density of a cluster could grow without bound, log joints settle, and the clusters are found."""
    X = awkward_rows(kind)
    posterior = hm.sample(X, "gaussian-full", n_warmup=150, n_draws=100, init="auto", random_state=1)
    first, second = posterior.log_joint[0, :50], posterior.log_joint[0, 50:]
    assert abs(first.mean() - second.mean()) < 3.0 * second.std()
    assert posterior.point_estimate().max() + 1 == k


@pytest.mark.slow
@pytest.mark.parametrize(("n", "k"), [(20_000, 200), (100_000, 1000)])
def test_many_round_clusters_are_all_found(n, k):
    rng = np.random.default_rng(0)
    X = rng.normal(0.0, 5.0, (k, 16))[rng.integers(k, size=n)] + rng.normal(size=(n, 16))
    assert abs(hm.SplitMergeMixture(random_state=0).fit(X).n_clusters_ - k) <= 0.01 * k
