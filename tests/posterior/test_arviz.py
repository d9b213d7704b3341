"""Draws in ArviZ's form, whichever version is installed."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import hashmix as hm

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    arviz = pytest.importorskip("arviz")


def test_groups_and_attributes():
    posterior = hm.sample(np.random.default_rng(0).normal(size=(30, 2)), n_draws=25, n_chains=2, random_state=0)
    data = posterior.to_arviz()
    group = data["posterior"]
    assert group["n_clusters"].dims == ("chain", "draw")
    assert np.array_equal(group["n_clusters"].values, posterior.n_clusters)
    assert group["scale"].shape == (2, 25, 2, 2)
    assert {"entropy", "largest_cluster", "concentration", "distance"} <= set(group)
    assert np.array_equal(data["sample_stats"]["lp"].values, posterior.log_joint)
    assert group.attrs["inference_library"] == "hashmix"
    assert {"created_at", "inference_library_version"} <= set(group.attrs)
