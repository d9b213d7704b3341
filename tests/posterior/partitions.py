"""Draws of partitions for tests, made without sampling."""

from __future__ import annotations

import numpy as np

from hashmix.posterior import Posterior


def all_partitions(n):
    """Every partition of n rows, as labels in the order of first appearance."""
    partitions = [[0]]
    for _ in range(n - 1):
        partitions = [p + [c] for p in partitions for c in range(max(p) + 2)]
    return np.array(partitions, np.int32)


def renumbered(labels):
    """Labels 0, 1, … without gaps, row by row."""
    return np.array([np.unique(row, return_inverse=True)[1] for row in labels], np.int32)


def noisy_draws(n, n_draws, k, noise, seed):
    """Draws that scatter around one partition."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, k, n)
    return renumbered([np.where(rng.random(n) < noise, rng.integers(0, k + 1, n), truth) for _ in range(n_draws)])


def as_posterior(draws, n_chains=1):
    """A posterior of these draws, with random log joints."""
    posterior = Posterior.empty(n_chains, len(draws) // n_chains, draws.shape[1], [], {}, {})
    posterior.labels[:] = draws.reshape(posterior.labels.shape)
    posterior.n_clusters[:] = posterior.labels.max(axis=2) + 1
    posterior.log_joint[:] = np.random.default_rng(0).normal(size=posterior.log_joint.shape)
    return posterior
