"""Densities of drawn parameters: in float32 and float64, against array code in the user's units."""

from __future__ import annotations

from copy import deepcopy

import numpy as np
import pytest
from scipy.sparse import csr_matrix

import hashmix as hm
from hashmix.components.contract import load
from hashmix.components.densities import CountDensity, gathered, log_densities, log_density, log_odds, pair_weights
from hashmix.components.densities import rounding as rounding_of
from hashmix.components.gaussian.shared import GaussianParameters
from hashmix.components.mixed.density import MixedDensity
from hashmix.core.compiling import kernel

K, D, N = 6, 7, 300
DIAGONAL, FULL = hm.components.DiagonalGaussian, hm.components.FullGaussian
COUNTS = {
    "multinomial": hm.components.DirichletMultinomial(0.7),
    "poisson": hm.components.GammaPoisson(0.8, rate=0.5),
    "bernoulli": hm.components.BetaBernoulli(0.7, 0.9),
}


def draw(component, model, stats, rng):
    """A density, and the parameters that it stands for in the user's units, found another way."""
    again = deepcopy(rng)
    density = component.draw_density(model, stats, rng)
    if isinstance(density, (CountDensity, MixedDensity)):
        return density, component.draw_parameters(model, stats, again)
    unit = density.unit
    if density.precisions.ndim == 2:
        covariances = 1.0 / density.precisions / unit**2
    else:
        covariances = np.linalg.inv(density.precisions) / unit / unit[:, None]
    return density, GaussianParameters(density.origin + density.means / unit, covariances)


@kernel
def _weigh(density, weights, data, rows, features, out):
    log_densities(density, weights, data, rows, 0, len(rows), features, out)


@kernel
def _gather(density, columns):
    return gathered(density, columns)


@kernel
def _weigh_exactly(model, slots, density, data, log_p, odds, bounds):
    n, k = log_p.shape
    for a in range(k):
        pair = pair_weights(density, a, (a + 1) % k)
        for i in range(n):
            log_p[i, a] = log_density(density, data, i, a)
            odds[i, a] = log_odds(density, pair, data, i, load(model, slots, data, i))
            bounds[i] = rounding_of(density, data, i)


class Weighed:
    """Rows under drawn parameters: as the verbs say, and as array code does."""

    def __init__(self, component, X, labels, seed=1):
        rows = component.rows(X)
        model, k = component.model(rows), labels.max() + 1
        stats = component.statistics(model, rows, labels, k)
        self.density, parameters = draw(component, model, stats, np.random.default_rng(seed))
        self.data, self.order = rows.arrays, np.random.default_rng(2).permutation(rows.n_rows).astype(np.int32)
        self.expected = component.log_densities(parameters, rows)
        self.log_p, self.odds, self.bounds = np.empty((rows.n_rows, k)), np.empty((rows.n_rows, k)), np.empty(rows.n_rows)
        _weigh_exactly(model, component.slots(model, 1), self.density, self.data, self.log_p, self.odds, self.bounds)

    def in_float32(self, columns=None):
        """Log densities of all rows in some columns, by matrix products."""
        density = self.density
        weights = density.weights if columns is None else _gather(density, columns)
        intercepts = (density.intercepts if columns is None else density.intercepts[columns]).astype(np.float32)
        out = np.empty((len(self.order), len(intercepts)), np.float32)
        _weigh(density, weights, self.data, self.order, np.empty((len(out), density.n_terms), np.float32), out)
        back = np.empty_like(out)
        back[self.order] = out + intercepts
        return back


def between(log_p):
    """Differences between columns: a term that depends on the row alone does not count."""
    return log_p - log_p[:, :1]


def gaussian_case(kind, d=D, centre=10.0, sd=1.0, offset=0.0, seed=0):
    rng = np.random.default_rng(seed)
    labels = np.arange(N) % K
    X = offset + centre * rng.normal(size=(K, d))[labels] + sd * rng.normal(size=(N, d))
    kappa = 0.01 * (sd / centre) ** 2  # the prior of a mean is wide enough for all centres
    if kind is DIAGONAL:
        return kind(np.full(d, offset), kappa, 2.0, sd**2), X, labels
    return kind(np.full(d, offset), kappa, d + 3.0, 3.0 * sd**2 * (np.eye(d) + 0.3)), X, labels


def counts_case(name, seed=0, length=40.0):
    rng = np.random.default_rng(seed)
    labels = np.arange(N) % K
    X = rng.poisson(length * rng.dirichlet(np.full(20, 0.4), size=K)[labels])
    return COUNTS[name], csr_matrix(X > 0 if name == "bernoulli" else X), labels


def mixed_case(seed=0):
    """Two numbers, far from zero; two columns of categories, one of them rare; yes/no; two counts; a fifth is blank."""
    rng = np.random.default_rng(seed)
    labels = np.arange(N) % K
    numbers = 1e4 + 10.0 * rng.normal(size=(K, 2))[labels] + rng.normal(size=(N, 2))
    categories = np.column_stack([(labels + rng.integers(0, 2, N)) % 4, np.where(labels == 0, 30, 0)])
    counts = rng.poisson(rng.gamma(1.0, 20.0, (K, 2))[labels])
    X = np.column_stack([numbers, categories, labels % 2, counts]).astype(float)
    X[rng.random(X.shape) < 0.2] = np.nan
    columns = {(0, 1): DIAGONAL(1e4, 0.01, 2.0, 1.0), (2, 3): hm.components.Categorical(0.1)}
    columns |= {4: COUNTS["bernoulli"], (5, 6): COUNTS["poisson"]}
    return hm.components.MixedColumns(columns), X, labels


CASES = [
    *(gaussian_case(kind, d) for kind in (DIAGONAL, FULL) for d in (1, D)),
    *(counts_case(name) for name in COUNTS),
    mixed_case(),
]
IDS = ["diagonal-1", "diagonal", "full-1", "full", *COUNTS, "mixed"]


@pytest.mark.parametrize("case", CASES, ids=IDS)
def test_float64(case):
    weighed = Weighed(*case)
    # The weights of counts are stored in float32, so a term is off by that much.
    tolerance = 1e-6 * np.abs(weighed.expected) if isinstance(weighed.density, CountDensity) else 1e-8
    assert (abs(between(weighed.log_p) - between(weighed.expected)) <= tolerance).all()
    np.testing.assert_allclose(weighed.odds, weighed.log_p - np.roll(weighed.log_p, -1, axis=1), rtol=1e-9, atol=1e-7)


@pytest.mark.parametrize("case", CASES[:4], ids=IDS[:4])
def test_gaussian_densities_are_normalised(case):
    weighed = Weighed(*case)
    np.testing.assert_allclose(weighed.log_p, weighed.expected, rtol=1e-9, atol=1e-7)


@pytest.mark.parametrize("case", CASES, ids=IDS)
def test_float32(case):
    weighed = Weighed(*case)
    near = weighed.log_p > weighed.log_p.max(axis=1, keepdims=True) - 100.0
    error = np.where(near, abs(weighed.in_float32() - weighed.log_p), 0.0)
    assert near.sum() > N
    assert (error <= weighed.bounds[:, None] + 1e-5).all()
    assert weighed.bounds.max() < 0.1


@pytest.mark.parametrize("case", CASES, ids=IDS)
def test_some_columns(case):
    weighed, columns = Weighed(*case), np.array([4, 0, 3], np.int32)
    error = abs(weighed.in_float32(columns) - weighed.in_float32()[:, columns])
    assert (error <= weighed.bounds[:, None] + 1e-5).all()


@pytest.mark.parametrize("offset", [0.0, 1e3])
@pytest.mark.parametrize("sd", [1.0, 1e-1, 1e-3])
@pytest.mark.parametrize("d", [1, 7, 64, 128])
@pytest.mark.parametrize("kind", [DIAGONAL, FULL])
def test_rounding_is_bounded_however_far_rows_are_from_the_origin(kind, d, sd, offset):
    weighed = Weighed(*gaussian_case(kind, d, 10.0, sd, offset))
    error = abs(weighed.in_float32() - weighed.log_p)
    assert (error <= weighed.bounds[:, None]).all()
    # The columns that matter are right in float64 all the same.
    near = weighed.log_p > weighed.log_p.max(axis=1, keepdims=True) - 50.0
    assert abs(weighed.log_p - weighed.expected)[near].max() < 1e-6
    if sd == 1e-3:
        assert error.max() > 0.5


@pytest.mark.parametrize("name", ["multinomial", "poisson"])
def test_rounding_of_long_rows(name):
    weighed = Weighed(*counts_case(name, length=20_000.0))
    near = weighed.log_p > weighed.log_p.max(axis=1, keepdims=True) - 100.0
    error = np.where(near, abs(weighed.in_float32() - weighed.log_p), 0.0)
    assert (error <= weighed.bounds[:, None]).all()
    assert weighed.bounds.min() > 0.1


@pytest.mark.parametrize("kind", ["categories", "numbers", "both"])
@pytest.mark.parametrize("d", [40, 200, 2000])
def test_rounding_of_many_mixed_columns(kind, d):
    rng = np.random.default_rng(3)
    levels, normal = rng.integers(6, size=(200, d)).astype(float), rng.normal(size=(200, d))
    normal[rng.random(normal.shape) < 0.1] = np.nan
    numbers = hm.components.DiagonalGaussian(mean=0.0, kappa=0.1, shape=2.0, rate=1.0)
    half = d // 2 if kind == "both" else d if kind == "numbers" else 0
    columns = {j: hm.components.Categorical(0.5) for j in range(half, d)}
    component = hm.components.MixedColumns(columns | ({tuple(range(half)): numbers} if half else {}))
    weighed = Weighed(component, np.concatenate([normal[:, :half], levels[:, half:]], axis=1), np.arange(200) % 4)
    error = abs(weighed.in_float32() - weighed.log_p)
    assert (error <= weighed.bounds[:, None]).all()
    assert error.max() > 0.1 * weighed.bounds.min() / max(1.0, np.sqrt(d / 8.0))
