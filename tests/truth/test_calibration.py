"""Simulation-based calibration of the default schedule: few replications of ``benchmarks/sbc.py``."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"


@pytest.fixture
def sbc(monkeypatch):
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    import sbc

    return sbc


def worst(found):
    """The smallest p-value, after Bonferroni's correction."""
    return min(1.0, len(found) * min(each["p"] for each in found.values()))


@pytest.mark.slow
@pytest.mark.parametrize("sampler", ["diagonal", "full"])
def test_ranks_are_uniform(sbc, sampler):
    assert worst(sbc.calibrate(sampler, 200)) > 1e-3


@pytest.mark.slow
@pytest.mark.parametrize(
    "sampler",
    ["diagonal, concentration never updated", "diagonal, prior off by log 2 per cluster"],
    ids=["concentration", "prior"],
)
def test_wrong_samplers_are_found_out(sbc, sampler):
    assert worst(sbc.calibrate(sampler, 100)) < 1e-4


@pytest.mark.slow
@pytest.mark.parametrize("sampler", ["diagonal", "full"])
def test_a_few_sweeps_change_no_mean(sbc, sampler):
    assert max(map(abs, sbc.mean_changes(sampler, 3000).values())) < 4.0


@pytest.mark.slow
def test_a_few_sweeps_with_another_prior_change_means(sbc):
    assert max(map(abs, sbc.mean_changes("diagonal, prior off by log 2 per cluster", 1000).values())) > 6.0


def test_ranks_of_ties_are_uniform(sbc):
    rng = np.random.default_rng(0)
    drawn = [sbc.rank_of(3.0, np.array([1.0, 3.0, 3.0 * (1 + 1e-12), 5.0]), rng) for _ in range(3000)]
    assert abs(np.bincount(drawn, minlength=5) / 3000 - [0, 1 / 3, 1 / 3, 1 / 3, 0]).max() < 0.04
