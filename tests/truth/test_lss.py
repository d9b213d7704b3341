"""The lss schedule as a whole: exact with the numbers that tuning froze."""

from __future__ import annotations

import numpy as np
import pytest

import hashmix as hm
from hashmix.core.rng import stream
from hashmix.moves import HashedGibbs, resolve_moves
from hashmix.moves.tuning import Tuner
from hashmix.paper import make_mixture
from hashmix.posterior.diagnostics import rhat
from hashmix.testing import exact_posterior, transition_matrix
from tests.shared import COMPONENTS, PRIORS, OneOffer, make_state, name

ROWS = np.array([[0.1, 0.4], [0.2, 0.3], [1.9, -0.6], [0.9, 1.3]])


def tuned(component, prior):
    """The schedule after ten sweeps of warm-up on the four rows."""
    state = make_state(ROWS, component, prior, [0, 0, 1, 2], key=3)
    tuner = Tuner(resolve_moves("lss"), state)
    for sweep in range(10):
        for m, (move, _) in enumerate(tuner.schedule):
            if tuner.is_work[m]:
                tuner.warm_up(m, state, stream(1, sweep, m), lambda: False)
            else:
                move.apply(state, stream(1, sweep, m))
        tuner.share_out()
    return tuner.frozen()


@pytest.mark.parametrize("prior", PRIORS[:2], ids=name)
@pytest.mark.parametrize("component", COMPONENTS, ids=name)
def test_a_tuned_sweep_leaves_the_posterior_invariant(component, prior):
    sweep = np.eye(15)
    for move, times in tuned(component, prior):
        assert times > 0
        parts = [OneOffer(move, i) for i in range(4)] if isinstance(move, HashedGibbs) else [move]
        for part in parts:
            P = transition_matrix(part, ROWS, component, prior, key=3)
            once_more = (times % 1.0) * P + (1.0 - times % 1.0) * np.eye(len(P))
            sweep = sweep @ np.linalg.matrix_power(P, int(times)) @ once_more
    pi = np.array(list(exact_posterior(ROWS, component, prior).values()))
    assert abs(pi @ sweep - pi).max() < 1e-12
    assert (sweep > 0.0).all()  # every partition is reached from every other


def test_numbers_depend_on_the_seed_alone(three_blobs):
    runs = [hm.sample(three_blobs[0], n_draws=2, n_warmup=10, random_state=5).settings["tuned_moves"] for _ in range(2)]
    assert runs[0] == runs[1]


@pytest.mark.slow
def test_opposite_starts_agree(seed):
    """Heavily overlapping clusters: chains from one cluster and from thousands reach the same K, entropy and log joint.

    10 000 sweeps each, two minutes. The component is what the data were made with; its numbers are fixed.
    """
    X, _ = make_mixture(10_000, 8, 30, separation=4, seed=0)
    component = hm.components.DiagonalGaussian(mean=0.0, kappa=0.64, shape=10.0, rate=6.0)
    settings = {"n_draws": 1000, "n_warmup": 4000, "thin": 6, "n_chains": 2, "random_state": seed + 1}
    posterior = hm.sample(X, component, moves="lss", init=["single", "buckets"], **settings)
    shares = [[np.bincount(labels) / len(labels) for labels in chain] for chain in posterior.labels]
    entropy = np.array([[-(p * np.log(p)).sum() for p in chain] for chain in shares])
    for quantity in (posterior.n_clusters, posterior.log_joint, entropy):
        assert rhat(quantity) < 1.05
