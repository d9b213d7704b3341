"""The partition and its statistics stay consistent through thousands of moves."""

from __future__ import annotations

import numba
import numpy as np
import pytest

import hashmix as hm
from hashmix.core.rng import stream
from hashmix.moves.allocation import gather
from tests.shared import MOVES, make_state, name


@pytest.mark.parametrize("family", ["gaussian", "gaussian-full"])
@pytest.mark.parametrize("move", MOVES, ids=name)
def test_state_checks_after_many_moves(move, family, seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(120, 2)) + rng.integers(0, 4, (120, 1)) * 3
    state = make_state(X, family, hm.priors.DirichletProcess(2.0), rng.integers(0, 9, 120))
    for step in range(30):
        move.apply(state, stream(seed, step), 20 if name(move) != "Gibbs()" else 1)
        hm.moves.Gibbs().apply(state, stream(seed, step, 1))
        state.check(1e-8)


@numba.njit
def _gather(arrays, first, second, u, v):
    return gather(arrays, first, second, u, v)


@pytest.mark.parametrize("n_labels", [2, 50])
def test_gather_lists_members_in_order(n_labels, seed):
    """Both ways of gathering (all labels are read, or members are sorted) give the members by increasing index."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(400, 1))
    state = make_state(X, "gaussian", hm.priors.DirichletProcess(1.0), rng.integers(0, n_labels, 400))
    hm.moves.Gibbs().apply(state, stream(seed))  # members are no longer in order
    labels = state.partition.labels
    u, v = 3, int(np.flatnonzero(labels != labels[3])[0])
    for second in (labels[u], labels[v]):
        m = _gather(state.arrays, labels[u], second, u, v)
        expected = np.flatnonzero((labels == labels[u]) | (labels == second))
        assert state.scratch.rows[:m].tolist() == [i for i in expected if i not in (u, v)]


def test_slots_grow_when_clusters_multiply():
    """A concentration this large makes nearly every point a cluster of its own."""
    X = np.random.default_rng(0).normal(size=(300, 1))
    component = hm.components.DiagonalGaussian(0.0, 1.0, 2.0, 1.0)
    state = make_state(X, component, hm.priors.DirichletProcess(1e5), np.zeros(300, int))
    small = state.capacity
    hm.moves.Gibbs().apply(state, stream(1))
    assert state.n_clusters > 200
    assert state.capacity > small
    state.check()


def test_growing_does_not_change_the_chain():
    """The same seed gives the same labels whether arrays had to grow on the way or had grown before."""
    X = np.random.default_rng(0).normal(size=(200, 1))
    component, prior = hm.components.DiagonalGaussian(0.0, 1.0, 2.0, 1.0), hm.priors.DirichletProcess(1e4)
    labels = []
    for roomy in (False, True):
        state = make_state(X, component, prior, np.zeros(200, int))
        if roomy:
            state.grow(1000)
        hm.moves.Gibbs().apply(state, stream(7))
        hm.moves.SAMS().apply(state, stream(8), 200)
        labels.append(state.labels())
    assert np.array_equal(*labels)


def test_check_notices_damage():
    X = np.random.default_rng(0).normal(size=(20, 1))
    component, prior = "gaussian", hm.priors.DirichletProcess(1.0)
    for damage in ("label", "statistics", "derived", "free"):
        state = make_state(X, component, prior, np.arange(20) % 3)
        if damage == "label":
            state.partition.labels[4] = (state.partition.labels[4] + 1) % 3
        elif damage == "statistics":
            state.slots.sizes[0] += 1
        elif damage == "derived":
            state.slots.derived[1] *= 1.01
        else:
            state.partition.free[0] = state.partition.active[0]
        with pytest.raises(AssertionError):
            state.check()


def test_refresh_repairs_statistics():
    X = np.random.default_rng(0).normal(size=(20, 1))
    state = make_state(X, "gaussian", hm.priors.DirichletProcess(1.0), np.arange(20) % 3)
    before = state.log_joint()
    state.slots.stats[:] += 0.1
    state.slots.derived[:] += 0.1
    state.refresh()
    assert state.log_joint() == pytest.approx(before, rel=1e-12)
    state.check()
