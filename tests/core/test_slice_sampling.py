"""Slice sampling of two numbers along a ridge: the right law, and steps that are long enough."""

from __future__ import annotations

import numpy as np

from hashmix.core.slice_sampling import slice_pair

BOUNDS = (np.full(4000, -1.0), np.full(4000, 1.0)), (np.full(4000, -1.2), np.full(4000, 0.6))


def ridge(x, y):
    return -50.0 * (x - y) ** 2 + 0.8 * x


def test_a_pair_follows_its_law_between_bounds(seed):
    """4000 pairs that start in one place have the moments of the law on a grid."""
    rng = np.random.default_rng([seed, 3])
    x, y = np.full(4000, -0.9), np.full(4000, -0.9)
    for _ in range(20):
        x, y = slice_pair(ridge, x, y, *BOUNDS, rng)
    for values, (low, high) in zip((x, y), BOUNDS, strict=True):
        assert (values >= low).all()
        assert (values <= high).all()
    grid = np.stack(np.meshgrid(np.linspace(-1.0, 1.0, 801), np.linspace(-1.2, 0.6, 801)), axis=-1).reshape(-1, 2)
    p = np.exp(ridge(*grid.T))
    p /= p.sum()
    for power in (1, 2):
        values = np.stack([x, y], axis=1) ** power
        error = values.std(axis=0) / np.sqrt(len(x))
        assert (abs(values.mean(axis=0) - p @ grid**power) < 5.0 * error).all()


def test_one_step_goes_far_along_a_ridge(seed):
    """A ridge a thousand times as long as it is wide is forgotten in one step."""
    rng, zero = np.random.default_rng([seed, 4]), np.zeros(4000)
    x, y = slice_pair(lambda s, t: -1e6 * (s - t) ** 2, zero, zero, BOUNDS[0], BOUNDS[0], rng)
    assert x.std() > 0.4
    assert abs(x - y).max() < 0.01
