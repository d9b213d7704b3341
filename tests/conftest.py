"""Fixtures shared by all tests."""

from __future__ import annotations

import os

import numpy as np
import pytest

# The workers of the suite use all cores themselves.
os.environ["HASHMIX_COMPILE_AHEAD"] = "0"


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
