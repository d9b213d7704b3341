"""Plots draw what they are given, on the axes they are given."""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
import pytest

import hashmix as hm
import hashmix.plot
from hashmix.posterior.tree import Levels, join_clusters


@pytest.fixture(autouse=True)
def _close():
    yield
    plt.close("all")


def test_trace():
    posterior = hm.sample(np.eye(5), n_draws=12, n_chains=3, random_state=0)
    axes = hashmix.plot.trace(posterior)
    assert [axis.get_ylabel() for axis in axes] == ["clusters", "log joint"]
    for axis, values in zip(axes, (posterior.n_clusters, posterior.log_joint), strict=True):
        for line, chain in zip(axis.lines, values, strict=True):
            np.testing.assert_array_equal(line.get_ydata(), chain)


@pytest.mark.parametrize("d", [1, 2, 6])
def test_clusters(d):
    X = np.random.default_rng(0).normal(size=(90, d))
    figure, ax = plt.subplots()
    assert hashmix.plot.clusters(X, np.arange(90) % 70, ax=ax) is ax
    assert len(ax.collections) == 70
    assert sum(len(points.get_offsets()) for points in ax.collections) == 90
    figure.canvas.draw()


def test_blanks_are_drawn_at_the_mean():
    X = np.random.default_rng(0).normal(size=(40, 4))
    X[3, :] = np.nan
    X[5:9, 2] = np.nan
    ax = hashmix.plot.clusters(X, np.zeros(40, int))
    points = ax.collections[0].get_offsets()
    assert np.isfinite(points).all()
    np.testing.assert_allclose(points[3], 0.0, atol=1e-12)


def test_plots_of_one_posterior():
    posterior = hm.sample(np.random.default_rng(0).normal(size=(30, 2)), n_draws=20, random_state=0)
    assert len(hashmix.plot.n_clusters(posterior).patches) >= 1
    assert len(hashmix.plot.sizes(np.arange(30) % 4).patches) == 4
    assert len(hashmix.plot.sizes(np.arange(200) % 50).patches) == 0  # a line
    assert hashmix.plot.co_clustering(posterior, 10).images[0].get_array().shape == (10, 10)
    assert len(hashmix.plot.moves(posterior).patches) == len(posterior.move_stats)


def test_tree():
    sizes = np.array([5, 7, 100])
    ax = hashmix.plot.tree(join_clusters(np.array([[0.0], [1.0], [9.0]]), sizes), sizes)
    assert sorted(int(text.get_text().split()[-1].replace(",", "")) for text in ax.get_xticklabels()) == [5, 7, 100]
    many = np.full(200, 3)
    ax = hashmix.plot.tree(join_clusters(np.random.default_rng(0).normal(size=(200, 2)), many), many, max_leaves=10)
    shown = [text.get_text() for text in ax.get_xticklabels()]
    assert len(shown) == 10
    assert "nothing to join" in hashmix.plot.tree(np.empty((0, 4)), np.array([9])).get_title()


def test_levels():
    compared = Levels(np.arange(2, 6), np.array([0.7, 0.9, 0.8, 0.6]), 3)
    ax = hashmix.plot.levels(compared)
    np.testing.assert_array_equal(ax.lines[0].get_ydata(), compared.agreement)
    assert ax.lines[1].get_xdata()[0] == 3
    assert ax.texts[0].get_text() == "3"


def test_many_rows_are_thinned():
    X = np.random.default_rng(0).normal(size=(500, 2))
    ax = hashmix.plot.clusters(X, np.zeros(500, int), max_points=100)
    assert len(ax.collections[0].get_offsets()) == 100
