"""Gaussian components against textbook formulas, and kernels against array code."""

from __future__ import annotations

import mpmath
import numba
import numpy as np
import pytest
from scipy.stats import invgamma, multivariate_t
from scipy.stats import t as student

import hashmix as hm
from hashmix.components import tabulated
from hashmix.components.contract import (
    add,
    clear,
    load,
    log_difference,
    log_marginal,
    log_predictive,
    log_predictive_without,
    log_union,
    remove,
    separate,
    unite,
)
from hashmix.components.gaussian.full import cholesky_factors
from hashmix.core import special
from hashmix.data.rows import DenseArrays, as_dense

D = 11  # not a multiple of 8: both ends of the products are exercised


def make(family, d=D, seed=0):
    rng = np.random.default_rng(seed)
    if family == "diagonal":
        return hm.components.DiagonalGaussian(rng.normal(size=d), 0.3, 1.7, rng.uniform(0.5, 2, d))
    root = rng.normal(size=(d, d)) / np.sqrt(d)
    return hm.components.FullGaussian(rng.normal(size=d), 0.3, d + 1.5, root @ root.T + 0.5 * np.eye(d))


def textbook_log_predictive(component, rows, x):
    """log p(x | rows), by Murphy's formulas, in the user's units."""
    n, d = rows.shape
    kappa = component.kappa + n
    average = rows.mean(axis=0) if n else np.zeros(d)
    mean = (component.kappa * np.asarray(component.mean) + rows.sum(axis=0)) / kappa
    offset = average - component.mean
    shrink = component.kappa * n / kappa
    if isinstance(component, hm.components.DiagonalGaussian):
        a = component.shape + n / 2
        b = component.rate + 0.5 * ((rows - average) ** 2).sum(axis=0) + 0.5 * shrink * offset**2
        return student.logpdf(x, df=2 * a, loc=mean, scale=np.sqrt(b * (kappa + 1) / (a * kappa))).sum()
    scale = component.scale + (rows - average).T @ (rows - average) + shrink * np.outer(offset, offset)
    dof = component.dof + n - d + 1
    return multivariate_t.logpdf(x, loc=mean, shape=scale * (kappa + 1) / (kappa * dof), df=dof)


@numba.njit
def _load_all(model, slots, data, slot, n):
    clear(model, slots, slot)
    for i in range(n):
        add(model, slots, slot, load(model, slots, DenseArrays(data), i))


@numba.njit
def _predict(model, slots, data, slot, i):
    return log_predictive(model, slots, slot, load(model, slots, DenseArrays(data), i))


@numba.njit
def _predict_without(model, slots, data, slot, i):
    return log_predictive_without(model, slots, slot, load(model, slots, DenseArrays(data), i))


@numba.njit
def _remove(model, slots, data, slot, i):
    remove(model, slots, slot, load(model, slots, DenseArrays(data), i))


@numba.njit
def _add(model, slots, data, slot, i):
    add(model, slots, slot, load(model, slots, DenseArrays(data), i))


@numba.njit
def _log_marginal(model, slots, slot):
    return log_marginal(model, slots, slot)


@numba.njit
def _merge(model, slots, a, b, into):
    log_m = log_union(model, slots, a, b, into)
    unite(model, slots, a, b, into)
    return log_m


@numba.njit
def _separate(model, slots, whole, part, into):
    log_m = log_difference(model, slots, whole, part, into)
    separate(model, slots, whole, part, into)
    return log_m


@pytest.mark.parametrize("family", ["diagonal", "full"])
@pytest.mark.parametrize("n", [0, 1, 2, 40])
def test_predictives_are_the_textbooks(family, n):
    component = make(family)
    X = np.random.default_rng(1).normal(size=(50, D)) * 2 + 1
    model = component.model(X)
    labels = np.repeat([0, 1], [n, 50 - n])
    stats = component.statistics(model, X, labels, 2)
    got = component.log_predictives(model, stats, X)[:, 0]
    want = [textbook_log_predictive(component, X[:n], x) for x in X]
    np.testing.assert_allclose(got, want, rtol=1e-9)


@pytest.mark.parametrize("family", ["diagonal", "full"])
def test_log_marginal_is_the_sum_of_predictives(family):
    component = make(family)
    X = np.random.default_rng(2).normal(size=(30, D))
    model = component.model(X)
    chain = sum(textbook_log_predictive(component, X[:i], X[i]) for i in range(30))
    got = component.log_marginals(model, component.statistics(model, X, np.zeros(30, int), 1))[0]
    assert got == pytest.approx(chain, rel=1e-10)


@pytest.mark.parametrize("family", ["diagonal", "full"])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("most_tabulated", [65536, 3])
def test_kernels_agree_with_array_code(family, dtype, most_tabulated, monkeypatch):
    monkeypatch.setattr(tabulated, "_MOST", most_tabulated)  # constants of larger sizes are computed
    component = make(family)
    X = as_dense((np.random.default_rng(3).normal(size=(60, D)) * 3).astype(dtype)).values
    model = component.model(X)
    slots = component.slots(model, 4)
    n = 45
    _load_all(model, slots, X, 0, n)
    stats = component.statistics(model, X[:n], np.zeros(n, int), 1)
    np.testing.assert_allclose(slots.stats[0], stats[0, 1:], rtol=1e-12, atol=1e-9)
    assert _log_marginal(model, slots, 0) == pytest.approx(component.log_marginals(model, stats)[0], rel=1e-12)
    expected = component.log_predictives(model, stats, X)[:, 0]
    for i in (0, 50):
        assert _predict(model, slots, X, 0, i) == pytest.approx(expected[i], rel=1e-11)
    without = component.statistics(model, X[1:n], np.zeros(n - 1, int), 1)
    expected = component.log_predictives(model, without, X[:1])[0, 0]
    assert _predict_without(model, slots, X, 0, 0) == pytest.approx(expected, rel=1e-11)
    _remove(model, slots, X, 0, 0)
    assert _predict(model, slots, X, 0, 0) == pytest.approx(expected, rel=1e-11)
    assert _log_marginal(model, slots, 0) == pytest.approx(component.log_marginals(model, without)[0], rel=1e-12)
    _load_all(model, slots, X[n:], 1, 60 - n)
    log_m = _merge(model, slots, 0, 1, 2)
    union = component.statistics(model, X[1:], np.zeros(59, int), 1)
    assert _log_marginal(model, slots, 0) == log_m == pytest.approx(component.log_marginals(model, union)[0], rel=1e-12)
    _load_all(model, slots, X[5:25], 1, 20)
    log_m = _separate(model, slots, 0, 1, 2)
    rest = component.statistics(model, np.concatenate([X[1:5], X[25:]]), np.zeros(39, int), 1)
    assert _log_marginal(model, slots, 0) == log_m == pytest.approx(component.log_marginals(model, rest)[0], rel=1e-11)
    assert slots.sizes[0] == 39


@pytest.mark.parametrize("h", [0.5, 5.5])
@pytest.mark.parametrize("z", [7.0, 1999.0, 2010.0, 1e5, 3e6])
def test_log_gamma_ratio(z, h):
    with mpmath.workdps(40):
        exact = float(mpmath.loggamma(z) - mpmath.loggamma(mpmath.mpf(z) - h))
    assert special.log_gamma_ratios(np.array([z]), h)[0] == pytest.approx(exact, rel=1e-12)


@pytest.mark.parametrize("family", ["diagonal", "full"])
def test_adding_and_removing_does_not_drift(family):
    component = make(family)
    X = as_dense(np.random.default_rng(4).normal(size=(40, D)) * np.logspace(-1, 2, 40)[:, None]).values
    model = component.model(X)
    slots = component.slots(model, 2)
    _load_all(model, slots, X, 0, 20)
    before = _log_marginal(model, slots, 0)
    for _ in range(100):
        for i in range(20, 40):
            _add(model, slots, X, 0, i)
        for i in range(20, 40):
            _remove(model, slots, X, 0, i)
    assert _log_marginal(model, slots, 0) == pytest.approx(before, abs=1e-4)


@pytest.mark.parametrize("family", ["gaussian", "gaussian-full"])
@pytest.mark.parametrize("scale", [1e-12, 1e12])
@pytest.mark.parametrize("offset", [0.0, 1e8])
def test_units_do_not_matter(family, scale, offset):
    """Defaults follow the units: log predictives change by the Jacobian alone."""
    rng = np.random.default_rng(5)
    X = rng.normal(size=(50, 3)) + np.repeat([0, 5], 25)[:, None]
    moved = (X + offset) * scale
    # What is left of X after an offset of 1e8 has been added in float64.
    X = (X + offset) - offset
    labels = np.repeat([0, 1], 25)
    logs = []
    for rows in (X, moved):
        component = hm.components.resolve_component(family, rows).component
        model = component.model(rows)
        logs.append(component.log_predictives(model, component.statistics(model, rows, labels, 2), rows))
    np.testing.assert_allclose(logs[1] + 3 * np.log(scale), logs[0], atol=1e-5)


@pytest.mark.parametrize("family", ["diagonal", "full"])
def test_parameter_draws_have_the_posterior_moments(family, seed):
    component = make(family, d=2)
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(12, 2)) * [1.0, 3.0] + 5
    model = component.model(X)
    stats = np.repeat(component.statistics(model, X, np.zeros(12, int), 1), 20_000, axis=0)
    drawn = component.draw_parameters(model, stats, rng)
    expected = component.expected_parameters(model, stats[:1])
    for got, want in zip(drawn, expected, strict=True):
        error = got.std(axis=0) / np.sqrt(len(got))
        assert (abs(got.mean(axis=0) - want[0]) < 5 * error + 1e-12).all()


def test_diagonal_variances_are_inverse_gamma(seed):
    component = hm.components.DiagonalGaussian(0.0, 1.0, 3.0, 2.0)
    model = component.model(np.zeros((2, 1)) + [[0.0], [1.0]])
    drawn = component.draw_parameters(model, np.zeros((5000, 3)), np.random.default_rng(seed))
    below = (drawn.covariances[:, 0] < invgamma(3.0, scale=2.0).median()).mean()
    assert abs(below - 0.5) < 4 * 0.5 / np.sqrt(5000)


@pytest.mark.parametrize("family", ["diagonal", "full"])
def test_rows_follow_their_density(family, seed):
    """E[−log density] of rows drawn under parameters is their entropy."""
    component = make(family, d=3)
    rng = np.random.default_rng(seed)
    model = component.model(rng.normal(size=(9, 3)))
    parameters = component.draw_parameters(model, np.zeros((2, 1 + model_width(component, 3))), rng)
    labels = np.repeat([0, 1], 4000)
    rows = component.draw_rows(parameters, labels, rng)
    density = component.log_densities(parameters, rows)[np.arange(8000), labels]
    covariances = parameters.covariances
    log_det = np.log(covariances).sum(axis=1) if covariances.ndim == 2 else np.linalg.slogdet(covariances)[1]
    for c in (0, 1):
        entropy = 1.5 * (1 + np.log(2 * np.pi)) + 0.5 * log_det[c]
        assert -density[labels == c].mean() == pytest.approx(entropy, abs=5 * np.sqrt(1.5 / 4000))


def model_width(component, d):
    return 2 * d if isinstance(component, hm.components.DiagonalGaussian) else d + d * (d + 1) // 2


@pytest.mark.parametrize(
    ("build", "sentence"),
    [
        (
            lambda: hm.components.DiagonalGaussian(0.0, -1.0, 1.0, 1.0),
            "'kappa' parameter of DiagonalGaussian must be a number > 0",
        ),
        (lambda: hm.components.DiagonalGaussian(0.0, 1.0, 0.0, 1.0), "'shape' parameter"),
        (lambda: hm.components.DiagonalGaussian(0.0, 1.0, 1.0, [-1.0]), "'rate' parameter"),
        (lambda: hm.components.DiagonalGaussian(np.nan, 1.0, 1.0, 1.0), "'mean' parameter"),
        (lambda: hm.components.FullGaussian(0.0, 1.0, 3.0, [[1.0, 2.0], [2.0, 1.0]]), "positive definite"),
        (lambda: hm.components.FullGaussian(0.0, 1.0, 3.0, "wide"), "'scale' parameter"),
        (lambda: hm.components.FullGaussian(0.0, 1.0, 1.5, 1.0).model(np.eye(3)), "dof"),
        (lambda: hm.components.FullGaussian(0.0, 1.0, 9.0, [1.0, 2.0]).model(np.eye(3)), "3 × 3"),
        (lambda: hm.components.DiagonalGaussian([0.0, 1.0], 1.0, 1.0, 1.0).model(np.eye(3)), "3 of them"),
    ],
)
def test_bad_hyperparameters(build, sentence):
    with pytest.raises(ValueError, match=sentence):
        build()


def test_scales_that_rounding_left_indefinite_are_factored():
    """A negative eigenvalue as small as a rounding error changes the scale by about that much, whatever the BLAS."""
    rng = np.random.default_rng(0)
    axes = np.linalg.qr(rng.normal(size=(20, 3, 3)))[0]
    scales = np.einsum("kij,j,klj->kil", axes, [1.0, 1e-4, -1e-10], axes)
    scales = 0.5 * (scales + scales.transpose(0, 2, 1))
    with pytest.raises(np.linalg.LinAlgError):
        np.linalg.cholesky(scales)
    factors = cholesky_factors(scales)
    lost = np.abs(factors @ factors.transpose(0, 2, 1) - scales).max()
    assert 1e-10 < lost < 1e-8
    exact = np.array([np.eye(3), 2.0 * np.eye(3)])
    assert np.array_equal(cholesky_factors(exact), np.linalg.cholesky(exact))
    with pytest.raises(np.linalg.LinAlgError, match="scale matrix of a cluster"):
        cholesky_factors(np.full((1, 2, 2), np.nan))
