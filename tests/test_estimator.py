"""The estimator: scikit-learn's contract, and the posterior predictive."""

from __future__ import annotations

import pickle

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.metrics import adjusted_rand_score
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

import hashmix as hm
from tests.shared import COMPONENTS, PRIORS, name


@parametrize_with_checks([hm.SplitMergeMixture(n_draws=20, n_warmup=20)])
def test_scikit_learn_contract(estimator, check):
    check(estimator)


def test_finds_clusters_in_raw_units(three_blobs):
    X, y = three_blobs
    model = hm.SplitMergeMixture(random_state=0).fit(X)
    assert model.n_clusters_ == 3
    assert adjusted_rand_score(y, model.labels_) == 1.0
    assert adjusted_rand_score(y, model.predict(X)) == 1.0
    assert np.array_equal(model.fit_predict(X), model.labels_)
    assert model.n_iter_ == 400
    assert model.posterior_.labels.shape == (2, 200, 60)
    np.testing.assert_allclose(model.means_[model.labels_[0]], X[y == 0].mean(axis=0), atol=60)


@pytest.mark.parametrize("prior", PRIORS, ids=name)
@pytest.mark.parametrize("component", COMPONENTS, ids=name)
def test_predictive_is_a_density(component, prior):
    """Against Riemann sums over a grid that holds nearly all of the mass."""
    rng = np.random.default_rng(1)
    X = np.concatenate([rng.normal(-2, 0.5, (30, 2)), rng.normal(2, 0.5, (30, 2))])
    model = hm.SplitMergeMixture(component, prior, n_draws=20, n_warmup=30, random_state=0).fit(X)
    axis = np.linspace(-12, 12, 301)
    grid = np.stack(np.meshgrid(axis, axis), axis=-1).reshape(-1, 2)
    assert np.exp(model.score_samples(grid)).sum() * (axis[1] - axis[0]) ** 2 == pytest.approx(1.0, abs=0.02)
    probabilities = model.predict_proba(X)
    assert probabilities.shape == (60, model.n_clusters_)
    np.testing.assert_allclose(probabilities.sum(axis=1), 1.0)
    assert np.array_equal(probabilities.argmax(axis=1), model.predict(X))
    assert model.weights_.sum() == pytest.approx(1.0)
    assert model.score(X) == pytest.approx(model.score_samples(X).mean())


def test_weights_are_the_priors(three_blobs):
    X, _ = three_blobs
    settings = {"n_draws": 20, "n_warmup": 30, "random_state": 0}
    sizes = np.array([20.0, 20.0, 20.0])
    for prior, expected in [("dirichlet-process", sizes), ("flat", np.ones(3)), ("pitman-yor", sizes - 0.25)]:
        model = hm.SplitMergeMixture("gaussian", prior, **settings).fit(X[:60])
        assert model.n_clusters_ == 3
        np.testing.assert_allclose(model.weights_, expected / expected.sum())


@pytest.mark.parametrize("component", ["gaussian", "gaussian-full"])
def test_samples_follow_the_predictive(component, three_blobs, seed):
    """The mean log density of sampled rows, two ways: over samples, and over samples of a second call."""
    X, _ = three_blobs
    model = hm.SplitMergeMixture(component, n_draws=20, n_warmup=30, random_state=seed).fit(X)
    rows, clusters = model.sample(4000)
    assert rows.shape == (4000, 2)
    assert adjusted_rand_score(clusters, model.predict(rows)) > 0.98
    shares = np.bincount(clusters, minlength=model.n_clusters_) / 4000
    assert (abs(shares - model.weights_) < 5 * np.sqrt(0.25 / 4000)).all()
    for c in range(model.n_clusters_):
        mine = rows[clusters == c]
        error = mine.std(axis=0) / np.sqrt(len(mine))
        assert (abs(mine.mean(axis=0) - model.means_[c]) < 5 * error).all()
    again, _ = model.sample(4000)
    assert np.array_equal(rows, again)


def test_data_frames(three_blobs):
    X, _ = three_blobs
    frame = pd.DataFrame(X, columns=["metres", "dollars"])
    model = hm.SplitMergeMixture(n_draws=10, n_warmup=20, random_state=0).fit(frame)
    assert model.feature_names_in_.tolist() == ["metres", "dollars"]
    assert np.array_equal(model.labels_, hm.SplitMergeMixture(n_draws=10, n_warmup=20, random_state=0).fit_predict(X))
    with pytest.raises(ValueError, match="feature names"):
        model.predict(frame[["dollars", "metres"]])


def test_pipeline_clone_grid_search_and_pickle(three_blobs):
    X, y = three_blobs
    model = hm.SplitMergeMixture(n_draws=10, n_warmup=20, random_state=0)
    pipeline = make_pipeline(StandardScaler(), model)
    assert adjusted_rand_score(y, pipeline.fit_predict(X)) == 1.0
    assert clone(model).get_params() == model.get_params()
    search = GridSearchCV(model, {"component": ["gaussian", "gaussian-full"]}, cv=3).fit(X)
    assert search.best_params_["component"] in ("gaussian", "gaussian-full")
    fitted = model.fit(X)
    again = pickle.loads(pickle.dumps(fitted))
    np.testing.assert_array_equal(again.predict_proba(X), fitted.predict_proba(X))
    with pytest.raises(NotFittedError):
        clone(model).predict(X)


def test_warns_when_chains_disagree():
    """Two chains that never move, from different starts, disagree as much as chains can."""
    X = np.random.default_rng(0).normal(size=(40, 2))
    settings = {"moves": [(hm.moves.RandomSplitMerge(), 0.3)], "n_draws": 50, "n_warmup": 0, "n_chains": 2, "random_state": 0}
    with pytest.warns(ConvergenceWarning, match=r"The chains disagree: R̂ of .* the limit is 1.[0-9]+. Raise n_warmup"):
        hm.SplitMergeMixture(init=["single", "singletons"], **settings).fit(X)


def test_predictions_averaged_over_draws():
    """Against the average done by hand, draw by draw."""
    rng = np.random.default_rng(0)
    X = np.concatenate([rng.normal(-2, 1, (40, 2)), rng.normal(2, 1, (40, 2))])
    model = hm.SplitMergeMixture(n_draws=30, n_warmup=30, n_chains=1, random_state=0).fit(X)
    new = rng.normal(0, 3, (15, 2))
    proba = model.predict_proba(new, n_draws=10)
    assert proba.shape == (15, model.n_clusters_)
    np.testing.assert_allclose(proba.sum(axis=1), 1.0)
    densities = []
    for place in np.linspace(0, 29, 10).round().astype(int):
        labels = model.posterior_.labels[0, place]
        learned = {name: values[0, place] for name, values in model.posterior_.hyperparameters.items()}
        component = model._target.component.with_hyperparameters(learned)
        fixed = component.model(X)
        sizes = np.bincount(labels)
        log_p = component.log_predictives(fixed, component.statistics(fixed, X, labels, len(sizes)), new)
        densities.append((np.exp(log_p) * sizes / 80).sum(axis=1))
    np.testing.assert_allclose(model.score_samples(new, n_draws=10), np.log(np.mean(densities, axis=0)))
    sure = model.predict_proba(X[:5], n_draws=30).argmax(axis=1)
    assert np.array_equal(sure, model.labels_[:5])
    with pytest.raises(ValueError, match="'n_draws' parameter"):
        model.predict_proba(new, n_draws=0)
