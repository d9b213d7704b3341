"""Geweke's joint test of the whole schedule: (partition, concentration, data) drawn jointly two ways.

Forward: α from its prior, a partition given α, data given the partition. Backward: alternately a sweep of the schedule,
an update of α, and new data given the partition. Any function of the three must have the same law both ways.
"""

from __future__ import annotations

import numpy as np
import pytest

import hashmix as hm
from hashmix.core.rng import stream
from hashmix.moves import resolve_moves
from tests.shared import COMPONENTS, make_state

N = 7
PRIOR = hm.priors.DirichletProcess(hm.priors.Gamma(2.0, 1.0))


def draw_partition(alpha, rng):
    labels = [0]
    for _ in range(N - 1):
        weights = np.append(np.bincount(labels), alpha)
        labels.append(int(rng.choice(len(weights), p=weights / weights.sum())))
    return np.array(labels)


def draw_rows(component, model, labels, rng):
    k = labels.max() + 1
    width = component.statistics(model, np.zeros((1, 2)), np.zeros(1, int), 1).shape[1]
    parameters = component.draw_parameters(model, np.zeros((k, width)), rng)
    return component.draw_rows(parameters, labels, rng)


def summary(labels, alpha, X):
    sizes = np.bincount(labels)
    within = np.mean([X[labels == c].std(axis=0).sum() for c in range(len(sizes))])
    bounded = np.tanh(X)  # the marginal of X has heavy tails: compare bounded functions of it
    return [len(sizes), sizes.max(), np.log(alpha), bounded.mean(), (bounded[:, 0] * bounded[:, 1]).mean(), np.tanh(within)]


# All that hashes, on data that are redrawn and rehashed at every step.
HASHED = [(hm.moves.LSHSM(2, 2), 1), (hm.moves.MinSM(1, 2), 1), (hm.moves.HashedGibbs(2, 2), 1)]


@pytest.mark.parametrize(
    ("component", "moves"),
    [
        (COMPONENTS[0], "sdds"),
        (COMPONENTS[1], "split-merge"),
        (COMPONENTS[0], HASHED),
        pytest.param(COMPONENTS[1], "auto", marks=pytest.mark.slow),
    ],
    ids=["sdds", "split-merge", "hashed", "auto"],
)
def test_joint_law(component, moves, seed):
    rng = np.random.default_rng([seed, 17])
    schedule = [(move, 1) for move, _ in resolve_moves(moves)]
    # The origin of a model is a matter of rounding only, so one model serves all data sets.
    model = component.model(np.zeros((2, 2)) + [[0.0, 0.0], [1.0, 1.0]])

    forward = []
    for _ in range(3000):
        alpha = rng.gamma(2.0)
        labels = draw_partition(alpha, rng)
        forward.append(summary(labels, alpha, draw_rows(component, model, labels, rng)))

    backward = []
    alpha = rng.gamma(2.0)
    labels = draw_partition(alpha, rng)
    for step in range(4000):
        X = draw_rows(component, model, labels, rng)
        state = make_state(X, component, PRIOR, labels, model=model, key=step)
        state.set_concentration(alpha)
        for m, (move, weight) in enumerate(schedule):
            move.apply(state, stream(seed, step, m), weight)
        labels = state.labels()
        alpha = PRIOR.update_concentration(alpha, N, state.n_clusters, rng)
        backward.append(summary(labels, alpha, X))

    forward, backward = np.array(forward), np.array(backward)
    batches = backward.reshape(50, -1, backward.shape[1]).mean(axis=1)
    error = np.sqrt(forward.var(axis=0) / len(forward) + batches.var(axis=0, ddof=1) / len(batches))
    z = (forward.mean(axis=0) - backward.mean(axis=0)) / error
    assert abs(z).max() < 5.0, z
