"""Bad input gets one clear sentence; unusual input works."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import scipy.sparse

import hashmix as hm

GOOD = np.random.default_rng(0).normal(size=(12, 2))


def fit(X, **settings):
    return hm.SplitMergeMixture(n_draws=3, n_warmup=2, random_state=0, **settings).fit(X)


def run(X, **settings):
    return hm.sample(X, n_draws=2, random_state=0, **settings)


def holed(value):
    X = GOOD.copy()
    X[3, 1] = value
    return X


@pytest.mark.parametrize("value", [np.inf, -np.inf])
def test_infinite(value):
    for work in run, fit:
        with pytest.raises(ValueError, match=f"finite numbers only. Got {value} in row 3, column 1"):
            work(holed(value))


def test_nan_is_no_number_to_a_component_that_takes_no_blanks():
    for work in run, fit:
        with pytest.raises(ValueError, match="Got NaN in row 3, column 1"):
            work(holed(np.nan), component="gaussian")


@pytest.mark.parametrize(
    ("X", "sentence"),
    [
        (np.empty((0, 2)), "at least one row"),
        (np.empty((3, 0)), "at least one row and one column"),
        (np.arange(5.0), "a matrix of at least one row"),
        (np.zeros((2, 2, 2)), r"shape \(2, 2, 2\)"),
        (np.array([["a", "b"]]), "an array of numbers"),
        ([[1.0, "x"], [2.0, "y"]], "an array of numbers"),
        (GOOD + 1j, "an array of numbers"),
        (scipy.sparse.eye_array(4) * 0.5, "takes sparse matrices, .* counts"),
    ],
)
def test_not_a_table(X, sentence):
    with pytest.raises(ValueError, match=sentence):
        run(X)


@pytest.mark.parametrize("X", [np.array([["a", "b"], ["c", "d"]]), [[1.0, "x"], [2.0, "y"]]], ids=["array", "list"])
def test_texts_need_a_frame(X):
    with pytest.raises(ValueError, match="The 'X' parameter of SplitMergeMixture must be an array of numbers; texts and cat"):
        fit(X)


def test_frames_are_refused_in_one_sentence():
    twice = pd.DataFrame(GOOD, columns=["a", "a"])
    with pytest.raises(
        ValueError, match="must be a frame whose columns have different names. Got \"'a' more than once\" instead"
    ):
        fit(twice)
    with pytest.raises(ValueError, match="X must have at least 2 rows. Got 0 rows instead"):
        fit(pd.DataFrame({"a": [], "b": []}))


def test_one_row():
    assert run(GOOD[:1]).labels.tolist() == [[[0], [0]]]
    with pytest.raises(ValueError, match=r"1 sample\(s\)"):
        fit(GOOD[:1])


@pytest.mark.parametrize(
    "X",
    [
        GOOD[:, :1],
        GOOD[:2],
        (GOOD * 10).astype(int),
        (GOOD * 10).astype(np.uint8),
        GOOD > 0,
        GOOD.astype(np.float32),
        GOOD.astype(np.float16),
        np.asfortranarray(GOOD),
        GOOD[::2],
        GOOD.tolist(),
        GOOD * 1e-12,
        GOOD * 1e12,
        GOOD + 1e8,
        np.repeat(GOOD[:1], 12, axis=0),
        np.column_stack([GOOD, np.full(12, 7.0)]),
        np.zeros((12, 3)),
        np.repeat(GOOD, 20, axis=0),
    ],
    ids=lambda X: f"{getattr(X, 'dtype', 'list')}-{np.shape(X)}",
)
def test_unusual_tables_work(X):
    model = fit(X)
    assert model.labels_.shape == (len(X),)
    assert np.isfinite(model.score_samples(X)).all()
    if model.component_.has_means:
        assert np.isfinite(model.means_).all()
        assert np.isfinite(model.covariances_).all()
    assert model.posterior_.n_clusters.min() >= 1


def test_read_only_rows():
    X = GOOD.copy()
    X.flags.writeable = False
    assert np.array_equal(run(X).labels, run(GOOD).labels)


def test_constant_columns_change_nothing():
    X = np.concatenate([GOOD, GOOD + 30])
    with_constant = np.column_stack([X[:, 0], np.full(24, 3.0), X[:, 1]])
    plain, padded = fit(X), fit(with_constant)
    assert np.array_equal(plain.labels_, padded.labels_)
    assert (padded.means_[:, 1] == 3.0).all()
    assert (padded.covariances_[:, 1] == 0.0).all()
    np.testing.assert_allclose(padded.covariances_[:, 0, 2], plain.covariances_[:, 0, 1])
    np.testing.assert_allclose(plain.score_samples(X), padded.score_samples(with_constant))
    rows, _ = padded.sample(5)
    assert (rows[:, 1] == 3.0).all()


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({"component": "gausian"}, "'component' parameter of sample must be one of 'auto', 'gaussian', 'gaussian-full'"),
        ({"component": 3}, "'component' parameter"),
        ({"prior": "crp"}, "'prior' parameter of sample must be one of 'auto', 'dirichlet-process'"),
        ({"moves": "nuts"}, "'moves' parameter of sample must be one of 'auto', 'lss', 'split-merge'"),
        ({"moves": []}, "'moves' parameter"),
        ({"moves": [("sams", 1)]}, "'moves' parameter"),
        ({"moves": [(hm.moves.SAMS(), -1)]}, r"weight of SAMS\)' parameter of sample must be a number > 0. Got -1"),
        ({"n_chains": 0}, "'n_chains' parameter of sample must be an integer ≥ 1. Got 0 instead"),
        ({"n_warmup": -1}, "'n_warmup' parameter"),
        ({"thin": 0}, "'thin' parameter"),
        ({"thin": 1.5}, "'thin' parameter"),
        ({"max_seconds": 0}, "'max_seconds' parameter of sample must be a number > 0"),
        ({"n_jobs": 0}, "'n_jobs' parameter of sample must be None, -1 or an integer ≥ 1"),
    ],
)
def test_bad_settings(settings, sentence):
    with pytest.raises(ValueError, match=sentence):
        run(GOOD, **settings)


@pytest.mark.parametrize("random_state", [-1, "seed", 1.5, True])
def test_bad_random_state(random_state):
    with pytest.raises(ValueError, match="random_state must be None, an integer ≥ 0"):
        hm.sample(GOOD, n_draws=1, random_state=random_state)


def test_bad_n_draws_and_moves():
    with pytest.raises(ValueError, match="'n_draws' parameter of sample must be an integer ≥ 1. Got True"):
        hm.sample(GOOD, n_draws=True)
    with pytest.raises(ValueError, match="'n_scans' parameter of RGSM must be an integer ≥ 0. Got -1"):
        hm.moves.RGSM(-1)
    with pytest.raises(ValueError, match="'launch' parameter of RGSM must be one of 'coins', 'nearest'"):
        hm.moves.RGSM(launch="kmeans")
    with pytest.raises(ValueError, match="'merge_weight' parameter of SDDS"):
        hm.moves.SDDS("size")


@pytest.mark.parametrize("scale", [1e200, 1e-200])
def test_columns_beyond_floating_point(scale):
    with pytest.raises(ValueError, match="must vary by amounts between 1e-150 and 1e150"):
        run(GOOD * scale)


def test_hyperparameters_far_from_the_data():
    narrow = hm.components.DiagonalGaussian(mean=0.0, kappa=1.0, shape=2.0, rate=1e-18)
    with pytest.warns(UserWarning, match="more than the 1e6 that float64 sums can resolve"):
        run(GOOD, component=narrow)
    hopeless = hm.components.DiagonalGaussian(mean=0.0, kappa=1.0, shape=2.0, rate=1e-200)
    wide = np.random.default_rng(0).normal(size=(30, 8)) * 1e10
    with pytest.warns(UserWarning, match="check the component"), pytest.raises(ValueError, match="no finite log joint"):
        run(wide, component=hopeless)


def test_large_seeds():
    model = hm.SplitMergeMixture(n_draws=3, n_warmup=2, random_state=2**40).fit(GOOD)
    assert model.sample(3)[0].shape == (3, 2)


def test_predict_checks_its_input():
    model = fit(GOOD)
    with pytest.raises(ValueError, match="X has 3 features, but SplitMergeMixture is expecting 2 features"):
        model.predict(np.zeros((2, 3)))
    with pytest.raises(ValueError, match="NaN"):
        model.score_samples([[np.nan, 0.0]])
    with pytest.raises(ValueError, match="'n_samples' parameter"):
        model.sample(0)


def test_more_draws_than_memory_holds(three_blobs):
    """One sentence about what can be done; with run_dir labels are on disk."""
    sentence = r"n_draws=1[0]{14} draws of 60 rows in 2 chains need .* GB of memory: lower n_draws, raise thin .* run_dir"
    with pytest.raises(MemoryError, match=sentence):
        hm.SplitMergeMixture("gaussian", n_draws=10**14).fit(three_blobs[0])
