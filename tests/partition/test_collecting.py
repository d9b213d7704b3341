"""Statistics and members of all clusters, listed again in threads: against NumPy, and to the last bit."""

from __future__ import annotations

import numpy as np
import pytest

import hashmix as hm
from hashmix.core.threads import Threads
from hashmix.partition import members
from hashmix.partition.collecting import CHUNK, collect_statistics, cut_into_chunks, shared_out
from hashmix.partition.members import empty_partition, fill, regroup
from hashmix.partition.state import State
from hashmix.partition.target import Target

N = 150_000
PRIOR = hm.priors.DirichletProcess(1.0)


def make_labels():
    """One cluster of many chunks, one of just one, one of a row more, and small ones, in random order."""
    sizes = [3 * CHUNK + 17, CHUNK, CHUNK + 1, 1, 2, 700]
    labels = np.repeat(np.arange(len(sizes) + 1), [*sizes, N - sum(sizes)])
    np.random.default_rng(0).shuffle(labels)
    return labels


@pytest.mark.parametrize("kind", ["diagonal", "full"])
def test_statistics_of_large_clusters(kind):
    X = np.random.default_rng(1).normal(3.0, 1.0, size=(N, 3))
    component = hm.components.DiagonalGaussian.from_data(X) if kind == "diagonal" else hm.components.FullGaussian.from_data(X)
    target = Target.of(X, component, PRIOR)
    found = {}
    for n_threads in (1, 2, 3, 5):
        state = State(target, make_labels(), threads=Threads(n_threads))
        state.slots.stats[:], state.slots.derived[:], state.slots.sizes[:] = np.nan, np.nan, -1
        collect_statistics(component, state.model, state.rows.arrays, state.partition, state.slots, state.threads)
        state.check(1e-9)
        found[n_threads] = [array[state.used] for array in (state.slots.sizes, state.slots.stats, state.slots.derived)]
        for one, other in zip(found[1], found[n_threads], strict=True):
            np.testing.assert_array_equal(other, one)
    Y = (X - state.model.origin) * state.model.inverse_scale
    labels, k = state.partition.labels, state.n_clusters
    np.testing.assert_array_equal(found[1][0], np.bincount(labels)[state.used])
    for at, slot in enumerate(state.used):
        mine = Y[labels == slot]
        if kind == "diagonal":
            squares = (mine * mine).sum(axis=0)
        else:
            squares = (mine.T @ mine)[np.tril_indices(3)]
        np.testing.assert_allclose(found[1][1][at], np.concatenate([mine.sum(axis=0), squares]), rtol=1e-9, atol=1e-9)
    assert k == 7


def test_chunks_cover_segments():
    starts, sizes = np.array([5, 900_000, 10, 100]), np.array([0, 2 * CHUNK, CHUNK + 1, 7])
    segments, begins, ends = cut_into_chunks(starts, sizes)
    assert (ends - begins <= CHUNK).all()
    for s in range(4):
        mine = segments == s
        rows = np.concatenate([np.arange(b, e) for b, e in zip(begins[mine], ends[mine], strict=True)])
        np.testing.assert_array_equal(rows, np.arange(starts[s], starts[s] + sizes[s]))
    assert np.bincount(segments).tolist() == [1, 2, 2, 1]
    assert (np.diff(segments) >= 0).all()


def test_tasks_are_long_enough_and_cover_all_chunks():
    lengths = np.random.default_rng(2).integers(0, 50, size=200)
    spans = shared_out(lengths, at_least=90)
    assert [k for first, last in spans for k in range(first, last)] == list(range(200))
    assert all(lengths[first:last].sum() >= 90 for first, last in spans[:-1])
    assert all(lengths[first : last - 1].sum() < 90 for first, last in spans)


@pytest.mark.parametrize("n_threads", [1, 2, 5])
def test_members_are_listed_in_order(n_threads, monkeypatch):
    monkeypatch.setattr(members, "_REGROUP_BLOCK", 1000)
    rng = np.random.default_rng(3)
    partition = empty_partition(12_345, 30)
    fill(partition, np.sort(rng.integers(20, size=12_345)), 20)
    partition.active[:20] = rng.permutation(20)
    partition.rank[partition.active[:20]] = np.arange(20)
    partition.labels[:] = rng.permutation(partition.labels)
    regroup(partition, Threads(n_threads))
    for slot in range(20):
        mine = partition.pool[partition.starts[slot] : partition.starts[slot] + partition.sizes[slot]]
        np.testing.assert_array_equal(mine, np.flatnonzero(partition.labels == slot))
        np.testing.assert_array_equal(partition.place[mine], partition.starts[slot] + np.arange(len(mine)))
        assert partition.lengths[slot] == partition.sizes[slot]
