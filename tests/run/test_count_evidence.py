"""Dense whole numbers: "auto" tells counts from rounded measurements, and multinomial from Poisson, where it is known which."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy.stats import nbinom
from sklearn.metrics import adjusted_rand_score

import hashmix as hm
from hashmix.components import resolve_component
from hashmix.data.dequantise import Lattice, log_sizes
from hashmix.data.rows import as_dense
from hashmix.run.counts import log_probability_of_totals
from hashmix.run.evidence import choose_component

SHAPES = [(12, 3), (20, 5), (40, 8), (6, 4)]
CHOICES = {
    "poisson": "GammaPoisson",
    "multinomial, one length": "DirichletMultinomial",
    "multinomial, many lengths": "DirichletMultinomial",
    "rounded": "DiagonalGaussian",
    "zeros and ones": "BetaBernoulli",
}
#: Twenty sets.
CASES = [(kind, number) for kind in CHOICES for number in range(4)]


def made(kind, number, n=900):
    """Rows of a known kind, and their clusters."""
    rng, (d, k) = np.random.default_rng(number), SHAPES[number]
    y = rng.integers(k, size=n)
    if kind == "poisson":
        X = rng.poisson(rng.gamma(1.0, 4.0, (k, d))[y])
    elif kind.startswith("multinomial"):
        words = rng.dirichlet(np.full(d, 0.5), k)
        lengths = np.full(n, 60) if kind.endswith("one length") else 1 + rng.negative_binomial(3, 3 / 63, n)
        X = np.array([rng.multinomial(length, words[c]) for length, c in zip(lengths, y, strict=True)])
    elif kind == "rounded":
        X = rng.normal(0.0, 4.0, (k, d))[y] + rng.normal(size=(n, d)) * rng.uniform(0.7, 1.5, (k, d))[y]
        X = np.round(X - X.min(axis=0))
    else:
        X = rng.random((n, d)) < rng.beta(0.5, 0.5, (k, d))[y]
    return X.astype(float), y


def choice_for(X):
    resolved = resolve_component("auto", X, key=1)
    if len(resolved.candidates) == 1:
        return type(resolved.component).__name__, None
    choice = choose_component(resolved.rows, resolved.candidates, hm.priors.DirichletProcess(), 1, counts=resolved.counts)
    return type(choice.component).__name__, choice


@pytest.mark.parametrize(("kind", "number"), CASES)
def test_known_choices(kind, number):
    X, _ = made(kind, number, 300)
    found, choice = choice_for(X)
    assert found == CHOICES[kind], choice.describe()


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "number"), CASES)
def test_known_choices_find_the_clusters(kind, number):
    X, y = made(kind, number)
    model = hm.SplitMergeMixture(random_state=0).fit(X)
    assert type(model.component_).__name__ == CHOICES[kind]
    # Six columns of counts do not tell all clusters apart.
    assert adjusted_rand_score(y, model.labels_) > (0.97 if number < 3 else 0.85)
    assert abs(model.n_clusters_ - SHAPES[number][1]) <= 1


def test_only_small_counts_in_columns_that_vary_are_tried():
    X, _ = made("poisson", 0, 200)
    X = X.astype(int)
    assert len(resolve_component("auto", X).candidates) == 4
    constant = np.column_stack([X, np.full(200, 3)])
    for data in (X + 0.5, X - 1, constant, 100 * X):
        assert len(resolve_component("auto", data).candidates) == 2
    assert len(resolve_component("auto", X[:8, X[:8].std(axis=0) > 0]).candidates) == 3


def test_the_estimator_takes_the_rows_as_counts():
    """Also for new rows, drawn rows, halves and the names of columns."""
    X, y = made("multinomial, many lengths", 0, 300)
    model = hm.SplitMergeMixture(n_draws=20, n_warmup=20, random_state=0).fit(X.astype(int))
    assert type(model.component_).__name__ == "DirichletMultinomial"
    assert "dequantised" not in model.posterior_.settings
    assert adjusted_rand_score(y, model.labels_) > 0.95
    assert (model.predict(X) == model.labels_).mean() > 0.99
    assert model.sample(5)[0].shape == (5, 12)
    assert len(model.top_words(3)[0]) == 3
    assert model.levels().reproducible == model.n_clusters_


def test_log_sizes_are_those_of_the_cells_that_rows_are_spread_in():
    rng = np.random.default_rng(0)
    X = np.column_stack([3.0 * rng.poisson(4, 500), rng.normal(size=500), np.maximum(rng.normal(size=500), 0.0)])
    rows = as_dense(X)
    lattice = Lattice.of(rows)
    atom = lattice.widths[lattice.begins[2] : lattice.begins[3]]
    assert len(atom) == 1
    third = log_sizes(as_dense(X[:, :1]), Lattice.of(as_dense(X[:, :1])))
    assert third == pytest.approx(500 * np.log(3.0))
    assert log_sizes(rows, lattice) == pytest.approx(third + (X[:, 2] == 0.0).sum() * np.log(atom[0]))


def test_evidence_is_in_units_of_the_cells():
    """Of cells that are twice as large, counts have half the density."""
    X = 2.0 * made("poisson", 3, 100)[0]
    resolved = resolve_component("auto", X, key=1)
    lattice = resolved.counts.lattice
    assert (lattice.widths == 2.0).all()
    single = resolved.counts._replace(lattice=lattice._replace(widths=np.ones_like(lattice.widths)))
    for candidate in resolved.candidates[-2:]:
        found, unit = (
            choose_component(resolved.rows, [candidate], hm.priors.DirichletProcess(), 1, counts=counts).evidence
            for counts in (resolved.counts, single)
        )
        name = type(candidate).__name__
        assert found[name] == pytest.approx(unit[name] - 6 * np.log(2.0))


def test_sums_of_rows():
    """A distribution that is known is found, and probabilities add up to 1."""
    rng = np.random.default_rng(0)
    lengths = rng.negative_binomial(3, 0.05, 2000)
    true = nbinom.logpmf(lengths, 3, 0.05).sum()
    assert true - np.log(2000) - 3 < log_probability_of_totals(lengths) < true - np.log(2000) + 6
    assert log_probability_of_totals(np.full(50, 8)) == pytest.approx(-np.log(50))
    assert log_probability_of_totals(rng.binomial(1000, 0.5, 500)) / 500 == pytest.approx(
        -0.5 * np.log(2 * np.pi * np.e * 250), abs=0.1
    )


def test_words_of_a_frame_have_the_names_of_the_columns_that_are_used():
    X, _ = made("multinomial, many lengths", 0, 300)
    frame = pd.DataFrame(X, columns=[f"word{j}" for j in range(12)])
    frame.insert(0, "row", np.arange(300))
    model = hm.SplitMergeMixture(n_draws=5, n_warmup=5, n_chains=1, random_state=0)
    with pytest.warns(UserWarning, match="set aside: row"):
        model.fit(frame)
    assert {word.name for words in model.top_words(12) for word in words} == {f"word{j}" for j in range(12)}
