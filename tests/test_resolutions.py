"""Fewer clusters, less data, rows that belong to none: what a fitted model offers besides its estimate."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from sklearn.datasets import make_blobs
from sklearn.exceptions import NotFittedError
from sklearn.metrics import adjusted_rand_score

import hashmix as hm

CENTERS = [[-20.0, 0.0], [-15.0, 5.0], [20.0, 0.0], [15.0, -5.0]]


@pytest.fixture(scope="module")
def fitted():
    X, y = make_blobs(400, centers=CENTERS, cluster_std=0.8, random_state=0)
    return hm.SplitMergeMixture(random_state=0).fit(X), X, y


def test_cuts_are_nested_and_go_from_the_estimate_to_one_cluster(fitted):
    model, _, y = fitted
    assert model.n_clusters_ == 4
    assert adjusted_rand_score(model.cut(2), np.isin(y, [0, 1])) == 1.0
    np.testing.assert_array_equal(model.cut(), model.labels_)
    np.testing.assert_array_equal(model.cut(4), model.labels_)
    assert set(model.cut(1)) == {0}
    for k in (1, 2, 3):
        finer, coarser = model.cut(k + 1), model.cut(k)
        assert len(set(zip(finer.tolist(), coarser.tolist(), strict=True))) == k + 1


def test_a_cut_by_height(fitted):
    model, _, _ = fitted
    heights = model.tree_[:, 2]
    np.testing.assert_array_equal(model.cut(height=1e-9), model.labels_)
    np.testing.assert_array_equal(model.cut(height=0.5 * (heights[1] + heights[2])), model.cut(2))
    assert set(model.cut(height=2.0 * heights[-1])) == {0}


def test_small_groups_get_no_label(fitted):
    model, X, _ = fitted
    far = np.vstack([X, [[0.0, 300.0]]])
    with_outlier = hm.SplitMergeMixture(random_state=0).fit(far)
    labels = with_outlier.cut(min_cluster_size=5)
    assert labels[-1] == -1
    assert (labels[:-1] >= 0).all()
    assert (with_outlier.labels_ >= 0).all()
    assert (model.cut(min_cluster_size=1) >= 0).all()


def test_levels_find_what_both_halves_find(fitted):
    model, _, _ = fitted
    levels = model.levels()
    assert levels is model.levels()
    assert levels.reproducible == 4
    np.testing.assert_array_equal(model.cut("reproducible"), model.labels_)


def test_bad_cuts(fitted):
    model = fitted[0]
    with pytest.raises(ValueError, match="'n_clusters' parameter of SplitMergeMixture must be an integer from 1 to 4"):
        model.cut(5)
    with pytest.raises(ValueError, match="'n_clusters' parameter of SplitMergeMixture must be an integer or 'reproducible'"):
        model.cut("many")
    with pytest.raises(ValueError, match="'height' parameter of SplitMergeMixture must be None if n_clusters is given"):
        model.cut(2, height=1.0)
    with pytest.raises(NotFittedError):
        hm.SplitMergeMixture().cut(2)


def test_a_new_fit_forgets_the_tree(fitted):
    _, X, _ = fitted
    model = hm.SplitMergeMixture(random_state=0).fit(X)
    before = model.tree_, model.probabilities_
    model.fit(X[:200])
    assert len(model.probabilities_) == 200
    assert model.tree_ is not before[0]


def test_probabilities_and_rows_that_belong_to_none(fitted):
    model, X, _ = fitted
    proba = model.predict_proba(X, new_cluster=True)
    assert proba.shape == (400, 5)
    np.testing.assert_allclose(proba.sum(axis=1), 1.0)
    assert proba[:, 4].max() < 0.05
    assert model.predict_proba([[0.0, 1000.0]], new_cluster=True)[0, 4] > 0.99
    own = model.predict_proba(X)[np.arange(400), model.labels_]
    np.testing.assert_allclose(model.probabilities_, own, atol=1e-12)
    with pytest.raises(ValueError, match="'n_draws' parameter of SplitMergeMixture must be None if new_cluster is given"):
        model.predict_proba(X, n_draws=2, new_cluster=True)


def test_the_weight_of_a_new_cluster_is_that_of_the_prior(fitted):
    """α/(n + α) against n_c/(n + α), for a Dirichlet process."""
    _, X, _ = fitted
    component = hm.components.DiagonalGaussian.from_data(X)
    model = hm.SplitMergeMixture(component, hm.priors.DirichletProcess(2.0), n_draws=5, random_state=0).fit(X)
    predictive = model._predictive
    sizes = np.bincount(model.labels_)
    np.testing.assert_allclose(predictive.new_weight / predictive.weights, 2.0 / sizes, rtol=1e-9)


# ---- a sample of the rows --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("sparse", [False, True])
def test_all_rows_are_labelled_by_the_posterior_of_a_sample(sparse, fitted):
    _, X, y = fitted
    component = "auto"
    if sparse:
        rng = np.random.default_rng(0)
        y = np.arange(300) % 2
        X, component = rng.poisson(np.where(y[:, None] == np.arange(6) % 2, 5.0, 0.2)), "multinomial"
    model = hm.SplitMergeMixture(component, sample_size=100, random_state=0).fit(X)
    assert model.labels_.shape == (len(X),)
    assert len(model.sample_indices_) == model.posterior_.n_samples == 100
    assert model.posterior_.settings["sample_size"] == f"100 of {len(X)} rows"
    assert adjusted_rand_score(y, model.labels_) > 0.95
    np.testing.assert_array_equal(model.labels_, model.predict(X))
    assert model.cut(2).shape == model.probabilities_.shape == (len(X),)
    again = hm.SplitMergeMixture(component, sample_size=100, random_state=0).fit(X)
    np.testing.assert_array_equal(again.sample_indices_, model.sample_indices_)


def test_a_sample_of_all_rows_is_no_sample(fitted):
    _, X, _ = fitted
    model = hm.SplitMergeMixture(sample_size=4000, n_draws=5, random_state=0).fit(X)
    assert "sample_size" not in model.posterior_.settings
    with pytest.raises(ValueError, match="'sample_size' parameter of SplitMergeMixture must be an integer ≥ 2"):
        hm.SplitMergeMixture(sample_size=1).fit(X)


def test_a_fitted_model_can_be_pickled(fitted):
    model = pickle.loads(pickle.dumps(fitted[0]))
    np.testing.assert_array_equal(model.cut(2), fitted[0].cut(2))


@pytest.mark.parametrize("component", ["multinomial", "bernoulli", "poisson"])
def test_trees_of_counts(component):
    rng = np.random.default_rng(1)
    y = np.repeat(np.arange(4), 60)
    rates = np.full((4, 12), 0.02)
    for c in range(4):
        rates[c, 3 * c : 3 * c + 3] = 0.9
    rates[1, :3], rates[3, 6:9] = 0.7, 0.7  # 0 and 1, 2 and 3 belong together
    X = (rng.random((240, 12)) < rates[y]).astype(int)
    model = hm.SplitMergeMixture(component, random_state=0).fit(X)
    assert model.n_clusters_ >= 2
    assert adjusted_rand_score(model.cut(2), y // 2) > 0.8


def test_halves_start_by_themselves():
    """Labels to start from are those of all rows."""
    X, y = make_blobs(400, centers=CENTERS, cluster_std=0.8, random_state=0)
    assert hm.SplitMergeMixture(random_state=0, init=y).fit(X).levels().reproducible == 4
