"""Chains on an engine follow the exact posterior: long chains against enumeration."""

from __future__ import annotations

import os

import numpy as np
import pytest

import hashmix as hm
from hashmix.core.rng import stream
from hashmix.engines.shard import Preparation
from hashmix.partition.members import canonical_labels
from hashmix.run.settings import RunSettings
from hashmix.run.spread.clusters import Clusters
from hashmix.run.spread.singletons import singleton_merge
from hashmix.spread_sampling import sample_spread
from hashmix.testing import exact_posterior, partitions
from tests.shared import COMPONENTS, DIAGONAL, FULL, PRIORS, name

ROWS = np.array([[0.1, 0.4], [0.2, 0.3], [1.9, -0.6], [0.9, 1.3], [-1.0, 0.2]])
DP, PITMAN_YOR, FINITE, FLAT = PRIORS
LIMIT = 4.5


def whole_sweeps(spread, component, prior, n_steps, seed):
    """Labels after sweeps of all moves."""
    settings = RunSettings(n_draws=n_steps, random_state=seed, init="single")
    return sample_spread(spread, component, prior, "auto", settings).posterior.labels[0]


def singleton_merges(spread, component, prior, n_steps, seed):
    """Labels after some proposals of one move, which alone can reach all partitions."""
    model = component.model(ROWS)
    spread.later("prepare", preparation=Preparation(component, np.ones(ROWS.shape[1], bool), None, 0))
    spread.later("start")
    spread.hold(model)
    table = spread.sum("statistics", capacity=1).reshape(1, -1)
    clusters = Clusters(component, prior, model, None, len(ROWS), table)
    draws = np.empty((n_steps, len(ROWS)), np.int32)
    for step in range(n_steps):
        singleton_merge(spread, clusters, int(stream(seed, step).state[0]), 6)
        labels = spread.rows_of(np.arange(len(ROWS)), values=False).labels
        draws[step] = canonical_labels(labels, clusters.capacity)[0]
        if (new := clusters.compact()) is not None:
            spread.later("relabel", labels=new)
        if step % 50 == 0:  # statistics of rows as they are: what the client keeps must be the same
            table = spread.sum("statistics", capacity=clusters.capacity).reshape(clusters.capacity, -1)
            np.testing.assert_allclose(clusters.table(), table, atol=1e-9)
            clusters.set_table(table)
    return draws


def largest_z(X, component, prior, n_steps, seed, engine=None, draw=whole_sweeps, n_batches=40):
    """The largest |z| of partition frequencies, by batch means, and their total variation from the exact posterior."""
    draws = draw((engine or hm.engines.Threads(1)).open(X, "test"), component, prior, n_steps, seed)
    index = {labels: k for k, labels in enumerate(partitions(len(X)))}
    which = np.array([index[tuple(labels)] for labels in draws.tolist()])
    shares = np.array([np.bincount(batch, minlength=len(index)) / len(batch) for batch in np.array_split(which, n_batches)])
    exact = np.array(list(exact_posterior(X, component, prior).values()))
    error = np.maximum(shares.std(axis=0, ddof=1) / np.sqrt(n_batches), np.sqrt(exact * (1 - exact) / n_steps))
    off, often = abs(shares.mean(axis=0) - exact), exact * n_steps > 20
    return (off[often] / error[often]).max(), off.sum() / 2


@pytest.fixture(params=["threads", "cuda"])
def engine(request):
    if request.param == "threads":
        yield hm.engines.Threads(1)
        return
    torch = pytest.importorskip("torch")
    before = torch.get_num_threads()
    torch.set_num_threads(1)  # five rows are not worth more
    yield hm.engines.Cuda(os.environ.get("HASHMIX_TEST_DEVICE", "cpu"))
    torch.set_num_threads(before)


@pytest.mark.parametrize(("component", "prior"), [(DIAGONAL, PITMAN_YOR), (FULL, FINITE)], ids=name)
def test_long_chains(component, prior, seed, engine):
    assert largest_z(ROWS, component, prior, 3000, seed, engine)[0] < LIMIT


@pytest.mark.parametrize("prior", PRIORS, ids=name)
@pytest.mark.parametrize("component", [DIAGONAL, pytest.param(FULL, marks=pytest.mark.slow)], ids=name)
def test_merges_of_clusters_of_one_row(component, prior, seed, engine):
    assert largest_z(ROWS, component, prior, 6000, seed, engine, singleton_merges)[0] < LIMIT


@pytest.mark.slow
@pytest.mark.parametrize("prior", PRIORS, ids=name)
@pytest.mark.parametrize("component", COMPONENTS, ids=name)
def test_very_long_chains(component, prior, seed, engine):
    assert largest_z(ROWS, component, prior, 100_000, seed, engine)[0] < LIMIT
