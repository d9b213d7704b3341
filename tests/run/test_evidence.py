"""The component chosen by evidence: right where it is known what made the data, and the same for the same seed."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csr_matrix

import hashmix as hm
from hashmix.components import resolve_component
from hashmix.problem import Problem
from hashmix.run.evidence import choose_component
from hashmix.run.settings import RunSettings


def blobs(seed, d, k, full, n=1200):
    """Clusters with columns that are independent within them, each with spreads of its own, or correlated."""
    rng = np.random.default_rng(seed)
    y = rng.integers(k, size=n)
    noise = rng.normal(size=(n, d))
    if full:
        noise = noise @ (np.eye(d) + 0.9 * np.eye(d, k=1) + 0.6 * np.eye(d, k=2))
    else:
        noise *= rng.uniform(0.3, 3.0, (k, d))[y]
    return rng.normal(0.0, 6.0, (k, d))[y] + noise, y


# With two or three independent columns, both describe the data about equally well.
SHAPES = [(2, 3), (3, 6), (5, 4), (6, 8), (8, 10), (12, 5), (20, 4)]
CASES = [(number, d, k, full) for number, (d, k) in enumerate(SHAPES) for full in (False, True) if full or d > 3]


@pytest.mark.parametrize(("number", "d", "k", "full"), CASES)
def test_known_choices(number, d, k, full):
    X, _ = blobs(number, d, k, full)
    resolved = resolve_component("auto", X, key=1)
    choice = choose_component(resolved.rows, resolved.candidates, hm.priors.DirichletProcess(), 1)
    assert type(choice.component).__name__ == ("FullGaussian" if full else "DiagonalGaussian"), choice.describe()
    again = choose_component(resolved.rows, resolved.candidates, hm.priors.DirichletProcess(), 1, n_jobs=1)
    assert again.evidence == choice.evidence


def test_zeros_and_ones_are_bernoulli():
    X = np.random.default_rng(0).integers(0, 2, (100, 5)).astype(float)
    for data in (X, X.astype(np.float32), csr_matrix(X)):
        resolved = resolve_component("auto", data)
        assert isinstance(resolved.component, hm.components.BetaBernoulli)
        assert len(resolved.candidates) == 1
    X[3, 2] = 0.5
    assert isinstance(resolve_component("auto", X).component, hm.components.DiagonalGaussian)


def test_what_was_chosen_is_said(capsys, monkeypatch):
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    X, _ = blobs(0, 3, 3, True, 300)
    settings = RunSettings(n_draws=2, random_state=0, progress=True)
    problem = Problem.resolve(X, "auto", "auto", "auto", settings)
    assert "component: FullGaussian, evidence" in capsys.readouterr().err
    assert problem.describe()["chosen"].startswith("FullGaussian, evidence")
    assert "dequantised" not in problem.describe()
    rounded = Problem.resolve(np.round(X), "gaussian-full", "auto", "auto", RunSettings(n_draws=2, random_state=0))
    assert rounded.describe()["dequantised"] == [0, 1, 2]
    assert "chosen" not in rounded.describe()


def test_full_covariances_of_very_many_columns_are_not_tried_and_a_warning_says_what_to_do():
    X = np.random.default_rng(0).normal(size=(200, 129))
    with pytest.warns(UserWarning, match=r"more than 128 columns\. X has 129\. .*PCA"):
        resolved = resolve_component("auto", X)
    assert len(resolved.candidates) == 1
    assert len(resolve_component("auto", X[:, :128]).candidates) == 2  # and no warning
