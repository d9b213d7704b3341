"""Mixed columns: textbook formulas with blanks, kernels against array code, learned hyperparameters, what blanks do to K."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import betaln, gammaln
from sklearn.metrics import adjusted_rand_score

import hashmix as hm
from hashmix.components.mixed import learning
from hashmix.data.mixed import Column, MixedRows
from hashmix.posterior.diagnostics import ess
from tests.components.test_counts import _add_rows, _ask, _collect_rows, _difference, _take, _union
from tests.shared import MIXED, make_state

COLUMNS = [
    Column("height", "numeric"),
    Column("colour", "categorical", ("blue", "green", "red")),
    Column("member", "binary", ("no", "yes")),
    Column("visits", "count"),
]


def table(n, blank=0.3, seed=0):
    """Rows of the kinds above, some of their cells blank."""
    rng = np.random.default_rng(seed)
    X = np.column_stack([rng.normal(0.5, 2.0, n), rng.integers(0, 3, n), rng.integers(0, 2, n), rng.poisson(4.0, n)])
    X[rng.random(X.shape) < blank] = np.nan
    return MixedRows(X, COLUMNS)


def textbook(component, X):
    """Log m of rows, column by column, from the cells that are there."""
    total = 0.0
    for key, part in component.columns.items():
        for j in key if isinstance(key, tuple) else (key,):
            x = X[:, j][~np.isnan(X[:, j])]
            n = len(x)
            if isinstance(part, hm.components.DiagonalGaussian):
                k, a = part.kappa + n, part.shape + 0.5 * n
                mean = x.mean() if n else 0.0
                mu, rate = np.ravel(part.mean)[0], np.ravel(part.rate)[0]
                b = rate + 0.5 * ((x - mean) ** 2).sum() + 0.5 * part.kappa * n / k * (mean - mu) ** 2
                total += gammaln(a) - gammaln(part.shape) + part.shape * np.log(rate) - a * np.log(b)
                total += 0.5 * np.log(part.kappa / k) - 0.5 * n * np.log(2 * np.pi)
            elif isinstance(part, hm.components.BetaBernoulli):
                total += betaln(part.alpha + x.sum(), part.beta + n - x.sum()) - betaln(part.alpha, part.beta)
            elif isinstance(part, hm.components.GammaPoisson):
                s, r = np.ravel(part.shape)[0], part.rate
                total += gammaln(s + x.sum()) - gammaln(s) + s * np.log(r) - (s + x.sum()) * np.log(r + n)
                total -= gammaln(x + 1).sum()
            else:
                a = np.full(3, np.ravel(part.concentration)[0])
                counts = np.bincount(x.astype(int), minlength=3)
                total += gammaln(a.sum()) - gammaln(a.sum() + n) + (gammaln(a + counts) - gammaln(a)).sum()
    return total


@pytest.mark.parametrize("n", [0, 1, 2, 30])
def test_array_code_is_the_textbooks(n):
    rows = table(40)
    X, model = rows.values, MIXED.model(rows)
    stats = MIXED.statistics(model, rows, np.repeat([0, 1], [n, 40 - n]), 2)
    expected = [textbook(MIXED, X[:n]), textbook(MIXED, X[n:])]
    np.testing.assert_allclose(MIXED.log_marginals(model, stats), expected, rtol=1e-10, atol=1e-10)
    joined = [textbook(MIXED, np.vstack([X[:n], x])) - expected[0] for x in X]
    np.testing.assert_allclose(MIXED.log_predictives(model, stats, rows)[:, 0], joined, rtol=1e-8, atol=1e-8)


def test_kernels_agree_with_array_code():
    rows = table(60)
    X, data, model = rows.values, rows.arrays, MIXED.model(rows)
    slots, n = MIXED.slots(model, 5), 45

    def expected(chosen):
        return textbook(MIXED, X[list(chosen)])

    _add_rows(model, slots, data, 0, 0, n)
    _collect_rows(model, slots, data, 1, 0, n)
    for slot in (0, 1):
        assert _ask(model, slots, data, slot, 0, 3) == pytest.approx(expected(range(n)), rel=1e-11)
        for i in (0, 20, 50):
            joined = expected([*range(n), i]) - expected(range(n))
            assert _ask(model, slots, data, slot, i, 0) == pytest.approx(joined, rel=1e-9, abs=1e-9)
    for i in range(20):
        left = [j for j in range(n) if j != i]
        assert _ask(model, slots, data, 0, i, 1) == pytest.approx(expected(range(n)) - expected(left), rel=1e-9, abs=1e-9)
    left = [j for j in range(n) if j != 3]
    assert _ask(model, slots, data, 0, 3, 2) == pytest.approx(expected(left), rel=1e-10)
    assert _ask(model, slots, data, 0, 3, 0) == pytest.approx(expected(range(n)) - expected(left), rel=1e-9)
    _add_rows(model, slots, data, 2, n, 60)
    union = [*left, *range(n, 60)]
    assert _union(model, slots, 0, 2, 3) == pytest.approx((expected(union), expected(union)), rel=1e-11)
    _take(model, slots, 0, 4)
    _collect_rows(model, slots, data, 1, 10, 35)
    rest = [i for i in union if not 10 <= i < 35]
    assert _difference(model, slots, 4, 1, 3) == pytest.approx((expected(rest), expected(rest)), rel=1e-10)
    assert slots.sizes[4] == len(rest)


def test_parameters_and_rows_are_drawn_from_their_laws(seed):
    """Means of drawn parameters are the expected ones, and rows drawn under them look like it."""
    rng = np.random.default_rng([seed, 3])
    rows = table(50)
    model = MIXED.model(rows)
    stats = MIXED.statistics(model, rows, np.zeros(50, int), 1)
    many = np.repeat(stats, 20_000, axis=0)
    drawn, expected = MIXED.draw_parameters(model, many, rng), MIXED.expected_parameters(model, stats)
    for values, mean in ((drawn.means, expected.means), (drawn.precisions, expected.precisions)):
        assert (abs(values.mean(axis=0) - mean[0]) <= 5.0 * values.std(axis=0) / np.sqrt(20_000) + 1e-12).all()
    shares = np.exp(drawn.log_probabilities)
    at = slice(int(model.begins[1]) + 1, int(model.begins[2]))
    assert abs(shares[:, at].sum(axis=1) - 1.0).max() < 1e-12
    error = shares[:, at].std(axis=0) / np.sqrt(20_000)
    assert (abs(shares[:, at].mean(axis=0) - np.exp(expected.log_probabilities[0, at])) < 5.0 * error).all()
    X = MIXED.draw_rows(expected, np.zeros(20_000, int), rng)
    own = np.exp(expected.log_probabilities[0, at])
    assert (abs(np.bincount(X[:, 1].astype(int), minlength=3) / 20_000 - own) < 5.0 * np.sqrt(own * (1 - own) / 20_000)).all()
    assert abs(X[:, 3].mean() - expected.means[0, 3]) < 5.0 * X[:, 3].std() / np.sqrt(20_000)


# ---- learning --------------------------------------------------------------------------------------------------------------

LABELS = np.array([0, 0, 1, 0, 2, 1, 1, 2, 0, 1])
CATEGORICAL, BERNOULLI, POISSON = hm.components.Categorical, hm.components.BetaBernoulli, hm.components.GammaPoisson
LEARNED = [
    (1, CATEGORICAL, {"concentration": (learning.LEAST, learning.MOST)}),
    (2, BERNOULLI, dict.fromkeys(("alpha", "beta"), (learning.bernoulli.LEAST, learning.bernoulli.MOST))),
    (3, POISSON, dict.fromkeys(("count_shape", "count_rate"), (learning.poisson.LEAST, learning.poisson.MOST))),
]


@pytest.mark.parametrize(("j", "family", "bounds"), LEARNED, ids=["categories", "yes/no", "counts"])
def test_updates_follow_the_posterior_on_a_grid(j, family, bounds, seed):
    """Averages of a long chain of updates, the partition fixed, against the posterior on a grid of logarithms."""
    rows, axes = table(10, seed=3), []
    for quantity, (low, high) in bounds.items():
        unit = rows.summary.mean[3] if quantity == "count_rate" else 1.0
        edges = np.linspace(np.log(low / unit), np.log(high / unit), 401 if len(bounds) == 1 else 101)
        axes.append(0.5 * (edges[1:] + edges[:-1]))
    points = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, len(axes))
    clusters = [rows.values[c == LABELS] for c in range(3)]
    fixed = [hm.components.MixedColumns({j: family(*np.exp(point))}) for point in points]
    log_p = np.array([sum(textbook(component, X) for X in clusters) for component in fixed])
    p = np.exp(log_p - log_p.max())
    p /= p.sum()
    component = hm.components.MixedColumns(MIXED.columns | {j: family(*np.ones(len(axes)), learn=True)})
    state = make_state(rows, component, hm.priors.DirichletProcess(1.0), LABELS)
    rng = np.random.default_rng([seed, 6])
    chain = np.empty((6000, len(axes)))
    for step in range(len(chain)):
        state.learn(rng)
        values = component.hyperparameters(state.model)
        chain[step] = [np.log(values[quantity][0]) for quantity in bounds]
    state.check()
    batches = np.stack([chain, chain**2])[:, 500:].reshape(2, 50, 110, -1).mean(axis=2)
    error = batches.std(axis=1, ddof=1) / np.sqrt(50)
    z = (batches.mean(axis=1) - np.stack([p @ points, p @ points**2])) / error
    assert abs(z).max() < 5.0, z


@pytest.mark.parametrize(("kind", "family"), [("binary", BERNOULLI), ("count", POISSON)])
def test_a_column_alike_in_all_clusters_does_not_slow_learning(kind, family, seed):
    """Such a column tells how the two hyperparameters relate, and hardly how large they are: draws must not creep."""
    rng = np.random.default_rng([seed, 8])
    values = rng.integers(0, 2, (300, 1)) if kind == "binary" else rng.poisson(6.0, (300, 1))
    rows = MixedRows(values.astype(float), [Column("alike", kind, ("no", "yes") if kind == "binary" else ())])
    component = hm.components.MixedColumns({0: family(1.0, 1.0, learn=True)})
    state = make_state(rows, component, hm.priors.DirichletProcess(1.0), np.repeat(np.arange(4), 75))
    draws = []
    for _ in range(300):
        state.learn(rng)
        draws.append([float(np.log(values[0])) for values in component.hyperparameters(state.model).values()])
    assert all(ess(chain[None]) > 60 for chain in np.array(draws).T)


def test_numbers_are_learned_from_the_cells_that_are_there(seed):
    """The update of mean, kappa and rate leaves their posterior invariant: against one that draws from a grid of rates."""
    rng = np.random.default_rng([seed, 8])
    X, y = blobs(600, 0.3)
    part = hm.components.DiagonalGaussian.from_data(X[~np.isnan(X).any(axis=1)], learn=True)
    component = hm.components.MixedColumns({(0, 1, 2, 3): part})
    state = make_state(X, component, hm.priors.DirichletProcess(1.0), y)
    chain = []
    for _ in range(400):
        state.learn(rng)
        chain.append(component.hyperparameters(state.model)["rate"] / (part.shape - 1.0))
    state.check()
    # Five clusters of unit variance: the expected variance within clusters is about 1 in every column.
    assert (abs(np.mean(chain[100:], axis=0) - 1.0) < 0.35).all()


def blobs(n, blank, seed=0):
    rng = np.random.default_rng(seed)
    y = rng.integers(5, size=n)
    X = rng.normal(0.0, 6.0, (5, 4))[y] + rng.normal(size=(n, 4))
    X[rng.random(X.shape) < blank] = np.nan
    return X, y


@pytest.mark.parametrize("blank", [0.0, 0.1, 0.3])
def test_blanks_at_random_do_not_change_the_number_of_clusters(blank):
    X, y = blobs(1500, blank)
    posterior = hm.sample(X, "mixed", n_warmup=60, n_draws=40, init="auto", random_state=0)
    labels = posterior.point_estimate()
    complete = ~np.isnan(X).all(axis=1)  # rows without any value may be anywhere, also by themselves
    assert len(np.unique(labels[complete])) == 5
    assert adjusted_rand_score(y[complete], labels[complete]) > (0.99 if blank < 0.2 else 0.9)


def test_numbers_without_blanks_have_the_law_of_the_diagonal_gaussian():
    X, y = blobs(60, 0.0)
    numbers = hm.components.DiagonalGaussian(mean=0.3, kappa=0.2, shape=1.3, rate=[0.4, 1.0, 2.0, 0.1])
    mixed = hm.components.MixedColumns({(0, 1, 2, 3): numbers})
    models = [component.model(X) for component in (numbers, mixed)]
    stats = [component.statistics(model, X, y, 5) for component, model in zip((numbers, mixed), models, strict=True)]
    np.testing.assert_allclose(mixed.log_marginals(models[1], stats[1]), numbers.log_marginals(models[0], stats[0]), rtol=1e-10)
    np.testing.assert_allclose(
        mixed.log_predictives(models[1], stats[1], X), numbers.log_predictives(models[0], stats[0], X), rtol=1e-9, atol=1e-9
    )


@pytest.mark.parametrize(
    ("build", "sentence"),
    [
        (lambda: hm.components.MixedColumns({}), "a dict of columns and components"),
        (lambda: hm.components.MixedColumns({"a": hm.components.Categorical(1.0)}), "keys that are numbers of columns"),
        (lambda: hm.components.MixedColumns({0: hm.components.DirichletMultinomial(1.0)}), "components among"),
        (
            lambda: hm.components.MixedColumns({0: hm.components.Categorical(1.0), (0, 1): hm.components.Categorical(1.0)}),
            "twice",
        ),
        (lambda: hm.components.Categorical(-1.0), "'concentration' parameter of Categorical"),
        (lambda: hm.components.MixedColumns({0: hm.components.Categorical(1.0)}).model(np.ones((3, 2))), "each of 2 columns"),
        (lambda: hm.components.Categorical(1.0).model(np.array([[0.5], [1.0]])), "whole numbers ≥ 0"),
        (lambda: hm.components.Categorical(1.0).model(np.array([[np.inf], [1.0]])), "finite numbers only"),
        (lambda: MixedRows(np.array([[3.0]]), [Column("a", "binary", ("no", "yes"))]), "one of 2 categories in column 'a'"),
    ],
)
def test_bad_input(build, sentence):
    with pytest.raises(ValueError, match=sentence):
        build()
