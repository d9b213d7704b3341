"""Rows from Gaussian mixtures, with the best labels that the rows allow."""

from __future__ import annotations

from typing import Any

import numpy as np

from hashmix.components.gaussian.shared import GaussianParameters, draw_rows, log_densities
from hashmix.core.validation import check_choice, check_flag, check_integer, check_number

__all__ = ["make_mixture"]

#: Rows whose densities under all components are in memory at once.
_ROW_BLOCK = 20_000


def make_mixture(
    n: int,
    d: int,
    k: int,
    separation: float = 9.0,
    seed: Any = 0,
    covariance: str = "diagonal",
    return_oracle: bool = False,
) -> tuple[np.ndarray, ...]:
    """Draw rows from a mixture of k Gaussians whose means have a typical distance of ``separation``.

    Weights are drawn from Dirichlet(2, …, 2). With diagonal covariances, means are drawn from N(0, (separation / √(2d))² I),
    and the standard deviation of each coordinate is 0.8 exp(0.2 z) with z from N(0, 1). With full covariances, means are
    drawn from N(0, 9 I), whatever the separation, and covariances are A Aᵀ + 0.3 I, with the entries of A from N(0, 1/d).

    Parameters
    ----------
    n, d, k : int
        Numbers of rows, columns and mixture components.
    separation : float, default=9.0
        Typical distance of two means; used with diagonal covariances only.
    seed : None, int or Generator, default=0
        Seed of the random numbers.
    covariance : {"diagonal", "full"}, default="diagonal"
        Shape of the components' covariances.
    return_oracle : bool, default=False
        Whether to return the labels by the true weights and densities, too.

    Returns
    -------
    X : ndarray of shape (n, d)
    y : ndarray of shape (n,)
        The component that each row was drawn from.
    oracle : ndarray of shape (n,)
        The most probable component of each row; only with ``return_oracle``.

    Examples
    --------
    >>> from hashmix.paper import make_mixture
    >>> X, y, oracle = make_mixture(1000, 8, 5, seed=0, return_oracle=True)
    >>> X.shape, bool((y == oracle).mean() > 0.95)
    ((1000, 8), True)
    """
    owner = "make_mixture"
    n, d, k = (check_integer(owner, name, value, low=1) for name, value in (("n", n), ("d", d), ("k", k)))
    separation = check_number(owner, "separation", separation)
    full = check_choice(owner, "covariance", covariance, ["diagonal", "full"]) == "full"
    return_oracle = check_flag(owner, "return_oracle", return_oracle)
    rng = np.random.default_rng(seed)
    if full:
        means = 3.0 * rng.normal(size=(k, d))
        mixing = rng.normal(size=(k, d, d)) / np.sqrt(d)
        parameters = GaussianParameters(means, mixing @ mixing.transpose(0, 2, 1) + 0.3 * np.eye(d))
    else:
        means = rng.normal(size=(k, d)) * separation / np.sqrt(2 * d)
        parameters = GaussianParameters(means, (0.8 * np.exp(0.2 * rng.normal(size=(k, d)))) ** 2)
    weights = rng.dirichlet(np.full(k, 2.0))
    y = rng.choice(k, n, p=weights)
    X = draw_rows(parameters, y, rng)
    if not return_oracle:
        return X, y
    oracle = np.empty(n, np.int64)
    for start in range(0, n, _ROW_BLOCK):
        block = slice(start, start + _ROW_BLOCK)
        log_p = log_densities(parameters, X[block])
        oracle[block] = (log_p + np.log(weights)).argmax(axis=1)
    return X, y, oracle
