"""Plots draw what they are given, on the axes they are given."""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from matplotlib.colors import to_hex
from scipy.sparse import csr_array

import hashmix as hm
import hashmix.plot
from hashmix.plot.style import colour_of, marker_of
from hashmix.posterior.tree import Levels, join_clusters
from tests.posterior.partitions import as_posterior


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


def test_the_number_of_clusters_has_whole_ticks():
    """Also where all draws have the same."""
    for k in (np.full((2, 30), 5), np.arange(60).reshape(2, 30) % 2 + 1):
        posterior = as_posterior(np.array([np.arange(9) % each for each in k.ravel()], np.int32), 2)
        for axis in (hashmix.plot.trace(posterior)[0].yaxis, hashmix.plot.n_clusters(posterior).xaxis):
            axis.axes.figure.canvas.draw()
            low, high = axis.get_view_interval()
            ticks = [tick for tick in axis.get_ticklocs() if low <= tick <= high]
            assert len(ticks) >= 2
            assert all(tick == int(tick) for tick in ticks)


@pytest.mark.parametrize("d", [2, 6])
def test_clusters(d):
    X = np.random.default_rng(0).normal(size=(90, d))
    figure, ax = plt.subplots()
    labels = np.arange(90) % 70
    assert hashmix.plot.clusters(X, labels, ax=ax) is ax
    assert len(ax.collections) == 70
    assert sum(len(points.get_offsets()) for points in ax.collections) == 90
    looks = {(colour_of(c), marker_of(c)) for c in range(60)}
    assert len(looks) == 60
    figure.canvas.draw()


def test_a_column_is_a_histogram():
    X = np.random.default_rng(0).normal(size=(90, 1))
    X[4] = np.nan
    ax = hashmix.plot.clusters(X, np.arange(90) % 3)
    assert sum(bar.get_height() for bar in ax.patches) == 89
    assert {text.get_text() for text in ax.texts} == {"0", "1", "2"}


def test_clusters_are_numbered_on_the_map():
    """All of 25, none on top of another; the largest of many."""
    rng = np.random.default_rng(0)
    labels = np.arange(2500) % 25
    ax = hashmix.plot.clusters(0.01 * labels[:, None] + rng.normal(size=(2500, 2)), labels)
    assert sorted(int(text.get_text()) for text in ax.texts) == list(range(25))
    places = np.array([text.xy for text in ax.texts])
    distances = np.linalg.norm((places[:, None] - places) / np.ptp(places, axis=0), axis=2)
    assert distances[~np.eye(25, dtype=bool)].min() > 0.03
    sizes = np.repeat(np.arange(60), np.where(np.arange(60) < 20, 2, 5))
    ax = hashmix.plot.clusters(rng.normal(size=(len(sizes), 3)), sizes)
    assert sorted(int(text.get_text()) for text in ax.texts) == list(range(20, 60))


def test_thirty_colours_can_be_told_apart():
    colours = np.array([[int(colour_of(c)[i : i + 2], 16) for i in (1, 3, 5)] for c in range(30)])
    distances = np.linalg.norm(colours[:, None] - colours, axis=2)
    assert distances[~np.eye(30, dtype=bool)].min() > 30
    assert colour_of(-1) not in {colour_of(c) for c in range(30)}


def test_categories_are_on_the_map():
    """Rows of the same category are at the same place, and a column's name is written as it is."""
    X = pd.DataFrame({"colour": ["red", "blue", None] * 20, "size": ["s", "m"] * 30})
    ax = hashmix.plot.clusters(X, np.zeros(60, int))
    points = np.asarray(ax.collections[0].get_offsets())
    assert len(np.unique(points.round(9), axis=0)) == 6
    ax = hashmix.plot.clusters(pd.DataFrame({"$a_b$": np.arange(5.0), "cost in $": np.arange(5.0)}), np.zeros(5, int))
    assert not ax.xaxis.label.get_parse_math()
    assert ax.get_xlabel() == "$a_b$"
    with pytest.raises(ValueError, match="'X' parameter of clusters must be data with columns of numbers or categories"):
        hashmix.plot.clusters(csr_array(np.eye(5)), np.zeros(5, int))


def test_sizes_have_the_numbers_of_the_clusters():
    labels = np.repeat([3, 8, 5], [2, 9, 4])
    ax = hashmix.plot.sizes(labels)
    assert [text.get_text() for text in ax.get_xticklabels()] == ["8", "5", "3"]
    assert [bar.get_height() for bar in ax.patches] == [9, 4, 2]
    assert [to_hex(bar.get_facecolor()).upper() for bar in ax.patches] == [colour_of(c) for c in (8, 5, 3)]


def test_sizes_of_a_posterior():
    posterior = as_posterior(np.tile(np.repeat([0, 1, 2], [2, 9, 4]), (20, 1)).astype(np.int32))
    assert [bar.get_height() for bar in hashmix.plot.sizes(posterior).patches] == [9, 4, 2]
    for wrong in (np.zeros((2, 3), int), [0.5, 1.0], "labels"):
        with pytest.raises(ValueError, match="'labels' parameter of sizes must be the label of every row, or a Posterior"):
            hashmix.plot.sizes(wrong)


def test_rows_together_are_named_by_cluster():
    posterior = as_posterior(np.tile(np.repeat([0, 1, 2], [2, 9, 4]), (20, 1)).astype(np.int32))
    ax = hashmix.plot.co_clustering(posterior, labels=np.repeat([3, -1, 5], [2, 9, 4]))
    assert {text.get_text(): float(y) for y, text in zip(ax.get_yticks(), ax.get_yticklabels(), strict=True)} == {
        "-1": 4.0,
        "5": 10.5,
        "3": 13.5,
    }


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
