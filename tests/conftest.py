"""Fixtures shared by all tests."""

from __future__ import annotations

import os

import numpy as np
import pytest

import hashmix as hm


def pytest_generate_tests(metafunc):
    # One seed by default; HASHMIX_TEST_SEEDS=20 runs every statistical test with twenty.
    if "seed" in metafunc.fixturenames:
        metafunc.parametrize("seed", range(int(os.environ.get("HASHMIX_TEST_SEEDS", "1"))))


@pytest.fixture(autouse=True)
def _no_windows(monkeypatch):
    monkeypatch.setenv("MPLBACKEND", "Agg")


@pytest.fixture
def three_blobs():
    """60 rows in three well-separated clusters of two columns in different units, and their labels."""
    rng = np.random.default_rng(0)
    y = np.repeat(np.arange(3), 20)
    centres = np.array([[0.0, 0.0], [10.0, 3000.0], [-10.0, 4000.0]])
    return centres[y] + rng.normal(size=(60, 2)) * [1.0, 300.0], y


class OneOffer(hm.moves.Move):
    """A HashedGibbs offer to one point: a whole scan has too many paths to walk; this one is reversible, too."""

    def __init__(self, move, point):
        self.move, self.point = move, point

    def run_units(self, rng, state, begin, end, counts):
        self.move.run_units(rng, state, self.point, self.point + 1, counts)
        return end


DIAGONAL = hm.components.DiagonalGaussian(mean=[0.3, -0.2], kappa=0.2, shape=1.3, rate=[0.4, 0.7])
FULL = hm.components.FullGaussian(mean=[0.1, 0.2], kappa=0.2, dof=3.5, scale=[[0.5, 0.1], [0.1, 0.8]])
COMPONENTS = [DIAGONAL, FULL]
PRIORS = [
    hm.priors.DirichletProcess(0.7),
    hm.priors.PitmanYor(0.4, 0.3),
    hm.priors.MixtureOfFiniteMixtures(0.8, 1.5),
    hm.priors.Flat(),
]
MOVES = [
    hm.moves.Gibbs(),
    hm.moves.RandomSplitMerge(),
    hm.moves.SAMS(),
    hm.moves.RGSM(n_scans=0),
    hm.moves.RGSM(n_scans=1),
    hm.moves.RGSM(n_scans=1, launch="nearest"),
    hm.moves.SDDS(),
    hm.moves.SDDS(merge_weight="bayes-factor"),
    hm.moves.UrnMerge(n_bits=1, n_tables=2),
    hm.moves.DissimilarSplit(n_bits=1, n_tables=2),
    hm.moves.BucketSplit(n_bits=1, n_tables=2),
    hm.moves.BucketCut(n_bits=1, n_tables=2),
    hm.moves.EnvelopeCut(),
    OneOffer(hm.moves.HashedGibbs(n_bits=1, n_tables=1), 1),
    hm.moves.Gibbs(n_points=1),
    hm.moves.WithinSplit(),
    hm.moves.WithinSplit(launch="nearest"),
    hm.moves.NeighbourMerge(n_bits=4, n_tables=1),
]


def name(thing) -> str:
    return type(thing).__name__ if not isinstance(thing, hm.moves.Move) else repr(thing)
