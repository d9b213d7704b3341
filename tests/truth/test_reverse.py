"""The log ratio of a move and that of its exact reverse, with the same randomness, sum to zero."""

from __future__ import annotations

import numba
import numpy as np
import pytest

from hashmix import testing
from hashmix.moves.anchored import commit_merge, commit_split, merge_bound, split_gain
from hashmix.moves.restricted import (
    COINS,
    SCANS_FROM_BUCKETS,
    SCANS_FROM_COINS,
    SCANS_FROM_NEAREST,
    SEQUENTIAL,
    URN,
    Law,
    allocate,
    blind,
    gather,
    log_blind,
)
from hashmix.partition import spare
from hashmix.state import State
from tests.conftest import COMPONENTS, PRIORS, name

BUCKETS = np.array([[0, 1, 0, 0, 1, 1, 0, 1, 2], [3, 3, 4, 3, 4, 4, 3, 3, 4]], dtype=np.int32).T.copy()
LAWS = [
    Law(COINS),
    Law(SEQUENTIAL),
    Law(SCANS_FROM_COINS, 2),
    Law(SCANS_FROM_NEAREST, 1),
    Law(SCANS_FROM_BUCKETS, 0, BUCKETS),
    Law(URN),
]
ROWS = np.random.default_rng(3).normal(size=(9, 2)) * [1.0, 2.0]


@numba.njit
def split(rng, law, arrays, target, u, v):
    partition = arrays.partition
    a, b = spare(partition, 1), spare(partition, 0)
    whole = partition.labels[u]
    m = gather(arrays, whole, whole, u, v)
    log_q = allocate(law, rng, arrays, target, u, v, a, b, m, False)
    log_ratio = split_gain(arrays, target, whole, a, b) - log_q
    commit_split(arrays, target, whole, a, b, v, m)
    return log_ratio


@numba.njit
def merge(rng, law, arrays, target, u, v):
    partition = arrays.partition
    a, b, union = spare(partition, 1), spare(partition, 0), spare(partition, 2)
    first, second = partition.labels[u], partition.labels[v]
    log_ratio = merge_bound(arrays, target, first, second, union)
    if blind(law):
        log_ratio += log_blind(law, partition.sizes[first], partition.sizes[second])
    else:
        m = gather(arrays, first, second, u, v)
        log_ratio += allocate(law, rng, arrays, target, u, v, a, b, m, True)
    commit_merge(arrays, target, first, second, union)
    return log_ratio


@pytest.mark.parametrize("prior", PRIORS, ids=name)
@pytest.mark.parametrize("component", COMPONENTS[:1], ids=name)
@pytest.mark.parametrize("law", LAWS, ids=lambda law: f"{law.kind}-{law.n_scans}")
def test_split_and_its_merge(law, component, prior, seed):
    rng = np.random.default_rng(seed)
    for _ in range(5):
        state = State(ROWS, component, prior, [0, 0, 0, 0, 0, 0, 1, 1, 2])
        before = state.log_joint()
        # The merge follows the script of the split as far as it asks: order and launch, not the final pass.
        script = list(rng.integers(0, 2, 60))
        there = split(testing._script(script), law, state.arrays, state.target, 4, 1)
        state.check(1e-10)
        back = merge(testing._script(script), law, state.arrays, state.target, 4, 1)
        state.check(1e-10)
        assert there + back == pytest.approx(0.0, abs=1e-9)
        assert state.log_joint() == pytest.approx(before, abs=1e-9)
        assert state.labels().tolist() == [0, 0, 0, 0, 0, 0, 1, 1, 2]


def test_paths_cover_everything():
    @numba.njit
    def three_coins(rng):
        return testing.integer(rng, 2) + 2 * testing.integer(rng, 3)

    found = sorted(testing.paths(three_coins), key=lambda path: path[1])
    assert [result for _, result in found] == list(range(6))
    assert all(p == pytest.approx(1 / 6) for p, _ in found)


def test_partitions_are_counted_by_bell_numbers():
    assert [len(testing.partitions(n)) for n in range(1, 7)] == [1, 2, 5, 15, 52, 203]
    assert len(set(testing.partitions(6))) == 203
    assert all(labels[0] == 0 for labels in testing.partitions(4))
