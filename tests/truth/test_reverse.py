"""The log ratio of a move and that of its exact reverse, with the same randomness, sum to zero."""

from __future__ import annotations

import numba
import numpy as np
import pytest

from hashmix import testing
from hashmix.moves.allocation import (
    COINS,
    SCANS_FROM_BUCKETS,
    SCANS_FROM_COINS,
    SCANS_FROM_NEAREST,
    SEQUENTIAL,
    URN,
    Allocation,
)
from hashmix.moves.anchored import Anchored
from hashmix.moves.anchors import UNIFORM_ANCHORS
from hashmix.moves.driver import (
    Unions,
    _commit_merge,
    _commit_split,
    _split_gain,
    complete,
    divide,
    merge,
    merge_gain,
    split,
    weigh_merge,
)
from hashmix.moves.tally import new_tally
from hashmix.partition.members import spare
from tests.shared import COMPONENTS, PRIORS, make_state, name

BUCKETS = np.array([[0, 1, 0, 0, 1, 1, 0, 1, 2], [3, 3, 4, 3, 4, 4, 3, 3, 4]], dtype=np.int32).T.copy()
ALLOCATIONS = [
    Allocation(COINS),
    Allocation(SEQUENTIAL),
    Allocation(SCANS_FROM_COINS, 2),
    Allocation(SCANS_FROM_NEAREST, 1),
    Allocation(SCANS_FROM_BUCKETS, 0, BUCKETS),
    Allocation(URN),
]
ROWS = np.random.default_rng(3).normal(size=(9, 2)) * [1.0, 2.0]


@numba.njit
def split_there(rng, law, arrays, target, u, v, tally):
    partition = arrays.partition
    change = split(partition.labels[u], u, v, 0)
    log_ratio = divide(rng, law, arrays, target, change, tally)
    log_ratio += _split_gain(arrays, target, change.first, spare(partition, 1), spare(partition, 0))
    _commit_split(arrays, target, change)
    return log_ratio


@numba.njit
def merge_back(rng, law, arrays, target, unions, u, v, tally):
    partition = arrays.partition
    change = merge(partition.labels[u], partition.labels[v], u, v, 0)
    log_ratio = merge_gain(law, arrays, target, change, unions, tally)
    log_ratio += weigh_merge(rng, law, arrays, target, change, tally)
    log_ratio += complete(rng, law, arrays, target, change, tally)
    _commit_merge(arrays, target, change)
    return log_ratio


@pytest.mark.parametrize("prior", PRIORS, ids=name)
@pytest.mark.parametrize("component", COMPONENTS[:1], ids=name)
@pytest.mark.parametrize("allocation", ALLOCATIONS, ids=lambda allocation: f"{allocation.kind}-{allocation.n_scans}")
def test_split_and_its_merge(allocation, component, prior, seed):
    law = Anchored(UNIFORM_ANCHORS, allocation)
    rng = np.random.default_rng(seed)
    for _ in range(5):
        state = make_state(ROWS, component, prior, [0, 0, 0, 0, 0, 0, 1, 1, 2])
        before = state.log_joint()
        # The merge follows the script of the split as far as it asks: order and launch, not the final pass.
        script = list(rng.integers(0, 2, 60))
        there = split_there(testing._script(script), law, state.arrays, state.target, 4, 1, new_tally())
        state.check(1e-10)
        back = merge_back(testing._script(script), law, state.arrays, state.target, Unions.none(), 4, 1, new_tally())
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
