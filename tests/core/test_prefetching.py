"""Fetching ahead changes when memory is read, and nothing else."""

from __future__ import annotations

import numba
import numpy as np
import pytest

from hashmix.core.prefetching import fetch_ahead


@numba.njit
def total(array, rows):
    found = 0.0
    for at in range(len(rows)):
        fetch_ahead(array, rows, at)
        found += array[rows[at]].sum()
    return found


@numba.njit
def code_of(array, rows):
    fetch_ahead(array, rows, 0)


@pytest.mark.parametrize("n", [1, 16, 17, 1000])
@pytest.mark.parametrize("kind", [np.int32, np.int64])
def test_sums_are_the_same(n, kind):
    rng = np.random.default_rng(0)
    rows = rng.permutation(n).astype(kind)
    for shape in ((n, 5), (n, 1)):
        array = rng.integers(0, 100, shape).astype(np.float32)
        assert total(array, rows) == array.sum()


def test_memory_is_asked_for():
    code_of(np.zeros((40, 3)), np.arange(40))
    code_of(np.zeros(40, np.int32), np.arange(40, dtype=np.int32))
    codes = code_of.inspect_llvm()
    assert [code.count("call void @llvm.prefetch") for code in codes.values()] == [2, 1]
