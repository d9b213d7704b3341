"""Random numbers in kernels: draws equal a reference in plain Python, and do not change between versions."""

from __future__ import annotations

import math

import numba
import numpy as np
import pytest

from hashmix.core.counter import address, uniform_at
from hashmix.core.rng import (
    Stream,
    bernoulli,
    categorical,
    chain_keys,
    height,
    integer,
    mix,
    numpy_generator,
    shuffle,
    stream,
    unit_interval,
)

MASK = (1 << 64) - 1
GOLDEN = 0x9E3779B97F4A7C15
WEIGHTS = np.array([0.5, 0.0, 2.0, 1.0])
VALUES = np.array([1.0, 3.0, 2.0, 5.0, 4.0])


def reference_mix(z):
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & MASK
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & MASK
    return z ^ (z >> 31)


def reference_uniforms(rng, n):
    """The next n uniform numbers of a stream, by splitmix64 in plain Python; the stream does not advance."""
    key, drawn = (int(part) for part in rng.state)
    return [(reference_mix((key + (drawn + 1 + i) * GOLDEN) & MASK) >> 11) / 2**53 for i in range(n)]


@numba.njit
def draw(rng, weights, values, order):
    out = np.empty(12)
    for i in range(4):
        out[i] = integer(rng, 1_000_000)
    for i in range(4, 6):
        out[i] = bernoulli(rng, 0.5)
    for i in range(6, 9):
        out[i] = categorical(rng, weights, len(weights), weights.sum())
    for i in range(9, 12):
        out[i] = height(rng, values, len(values), values.max())
    shuffle(rng, order, len(order))
    return out


@numba.njit
def categories(rng, weights, k, total, n):
    out = np.empty(n, np.int64)
    for i in range(n):
        out[i] = categorical(rng, weights, k, total)
    return out


@numba.njit
def place(key, function, feature):
    found = address(key, function, feature)
    return found, uniform_at(found, 0), uniform_at(found, 5), mix(key)


# ---- keys and streams ----------------------------------------------------------------------------------------------------


def test_chain_keys_do_not_change():
    assert chain_keys(7, 3) == [3386250816931739734, 4042502035264064771, 17559002276220262541]
    assert chain_keys(np.random.RandomState(3), 1) == [17811022269140352952]
    assert chain_keys(np.random.default_rng(3), 1) == [15413580423623158177]
    assert chain_keys(np.random.SeedSequence(5), 2) == [15658875773272509128, 6924645418555453511]


def test_chain_keys():
    assert chain_keys(7, 2) == chain_keys(np.int64(7), 5)[:2]
    assert len(set(chain_keys(0, 1000))) == 1000
    assert chain_keys(None, 1) != chain_keys(None, 1)
    sequence = np.random.SeedSequence(5)
    assert chain_keys(sequence, 2) == chain_keys(sequence, 2)  # asking does not change it
    rng = np.random.default_rng(3)
    assert chain_keys(rng, 1) != chain_keys(rng, 1)  # a generator goes on


@pytest.mark.parametrize("random_state", [-1, np.int64(-1), "seed", 1.5, True, [1]])
def test_bad_random_states(random_state):
    with pytest.raises(ValueError, match="random_state must be None, an integer ≥ 0, or a NumPy generator. Got"):
        chain_keys(random_state, 1)


def test_streams_do_not_change():
    assert stream(1, 0, 3).state.tolist() == [12129922461877767731, 0]
    assert stream(2**63, 5).state.tolist() == [7488147852649166084, 0]
    assert unit_interval(1, 5) == 0.34483105615109966
    assert numpy_generator(1, 5).random(3).tolist() == [0.3097046333405089, 0.705194475340829, 0.5240618523890852]


def test_steps_have_different_streams():
    steps = [(), (0,), (1,), (0, 0), (0, 1), (1, 0), (0, 0, 0)]
    assert len({int(stream(9, *step).state[0]) for step in steps}) == len(steps)
    assert unit_interval(9, 4) == (reference_mix(int(stream(9, 4).state[0])) >> 11) / 2**53


# ---- the verbs -----------------------------------------------------------------------------------------------------------


def test_draws_do_not_change():
    rng, order = stream(1, 0, 3), np.arange(10)
    drawn = draw(rng, WEIGHTS, VALUES, order)
    assert drawn.tolist() == [107730, 117806, 700537, 898569, 1, 0, 2, 3, 2, 1, 4, 4]
    assert order.tolist() == [6, 1, 5, 4, 9, 8, 7, 0, 3, 2]
    assert rng.state.tolist() == [12129922461877767731, 21]


def test_draws_equal_the_reference():
    rng, order = stream(3, 1), np.arange(10)
    u = reference_uniforms(rng, 21)
    drawn = draw(rng, WEIGHTS, VALUES, order)
    ends = np.cumsum(WEIGHTS)
    wanted = [int(x * 1_000_000) for x in u[:4]]
    wanted += [x < 0.5 for x in u[4:6]]
    wanted += [int(np.searchsorted(ends, x * 3.5, side="right")) for x in u[6:9]]
    wanted += [VALUES[x * 5.0 <= VALUES].min() for x in u[9:12]]
    assert drawn.tolist() == wanted
    expected = list(range(10))
    for x, i in zip(u[12:], range(9, 0, -1), strict=True):
        j = int(x * (i + 1))
        expected[i], expected[j] = expected[j], expected[i]
    assert order.tolist() == expected


def test_categories_have_their_probabilities():
    n = 20_000
    found = np.bincount(categories(stream(0, 0), WEIGHTS, 4, 3.5, n), minlength=4)
    assert found[1] == 0  # a weight of zero is never drawn
    expected = n * WEIGHTS / 3.5
    sd = np.sqrt(expected * (1 - WEIGHTS / 3.5))
    assert (np.abs(found - expected) <= 5 * sd).all()


def test_rounding_never_leads_past_the_last_possible_category():
    # A total above the sum of the weights stands for one that rounding made too large.
    found = categories(stream(0, 0), np.array([0.25, 0.25, 0.0, 9.0]), 3, 1.0, 1000)
    assert set(found.tolist()) == {0, 1}


def test_streams_are_uniform():
    u = reference_uniforms(Stream(np.array([123, 0], np.uint64)), 20_000)
    counts = np.bincount((np.array(u) * 20).astype(int), minlength=20)
    chi2 = float(((counts - 1000.0) ** 2 / 1000.0).sum())
    assert chi2 < 19 + 5 * math.sqrt(2 * 19)


# ---- addresses -----------------------------------------------------------------------------------------------------------


def test_numbers_at_addresses_do_not_change():
    found = place(np.uint64(12345), 3, 17)
    assert found == (12835148931257538559, 0.781251498725719, 0.213008884364135, 17540659726606785873)


def test_numbers_at_addresses_equal_the_reference():
    key = 99
    found, first, sixth, mixed = place(np.uint64(key), 2, 1_000_000)
    inner = reference_mix((key + 3 * GOLDEN) & MASK)
    assert found == reference_mix((inner + 1_000_001 * 0xD1B54A32D192ED03) & MASK)
    for number, value in ((0, first), (5, sixth)):
        assert value == ((reference_mix((found + (number + 1) * GOLDEN) & MASK) >> 12) + 0.5) / 2**52
    assert mixed == reference_mix(key)
