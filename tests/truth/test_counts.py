"""Every move leaves the posterior of counts invariant, dense and sparse alike."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csr_matrix

import hashmix as hm
from tests.shared import MOVES, PRIORS, always, assert_invariant, name

# An empty row, a word that all others have, one that none has.
COUNTS = np.array([[2, 1, 0, 3, 0], [1, 0, 0, 1, 0], [0, 2, 4, 1, 0], [0, 0, 0, 0, 0]])
MULTINOMIAL = hm.components.DirichletMultinomial([0.4, 0.7, 0.2, 0.4, 1.1])
POISSON = hm.components.GammaPoisson([0.4, 0.7, 0.2, 0.4, 1.1], rate=0.6)
BERNOULLI = hm.components.BetaBernoulli(0.3, 0.8)


def rows_for(component):
    return csr_matrix(COUNTS > 0 if component is BERNOULLI else COUNTS)


def assert_invariant_and_mobile(move, component):
    P = assert_invariant(move, rows_for(component), component, PRIORS[0])
    assert (np.diagonal(P) < 1.0 - 1e-9).all()


@pytest.mark.parametrize("move", MOVES, ids=name)
def test_multinomial(move):
    assert_invariant_and_mobile(move, MULTINOMIAL)


@pytest.mark.parametrize("move", always(("Gibbs", "SAMS", "UrnMerge", "BucketCut"), MOVES), ids=name)
def test_bernoulli(move):
    assert_invariant_and_mobile(move, BERNOULLI)


@pytest.mark.parametrize("move", MOVES, ids=name)
def test_poisson(move):
    assert_invariant(move, rows_for(POISSON), POISSON, PRIORS[2])


@pytest.mark.parametrize("component", ["multinomial", "poisson", "bernoulli"])
def test_dense_and_sparse_give_the_same_draws(component):
    rng = np.random.default_rng(0)
    X = rng.poisson(np.where(np.arange(40)[:, None] % 2 == np.arange(30) % 2, 1.5, 0.2))
    if component == "bernoulli":
        X = (X > 0).astype(int)
    settings = {"n_draws": 20, "n_warmup": 10, "init": "auto", "random_state": 1}
    dense = hm.sample(X, component, **settings)
    for same in (csr_matrix(X), csr_matrix(X.astype(np.float32)), X.astype(np.int8)):
        other = hm.sample(same, component, **settings)
        np.testing.assert_array_equal(other.labels, dense.labels)
        np.testing.assert_array_equal(other.log_joint, dense.log_joint)
