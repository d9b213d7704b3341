"""Rank-normalised R̂ and effective sample size (Vehtari, Gelman, Simpson, Carpenter and Bürkner 2021)."""

from __future__ import annotations

import numpy as np
from scipy.special import ndtri
from scipy.stats import chi2

__all__ = ["DRAWS_TO_JUDGE", "ESS_LIMIT", "LEAST_ESS", "ess", "ess_tail", "nearly_equal", "rarely_varies", "rhat", "rhat_limit"]

#: Intervals are rough if the effective sample size of a quantity is below the first; below the second, so are means.
ESS_LIMIT, LEAST_ESS = 50, 20
#: With fewer draws per chain than this, neither is judged.
DRAWS_TO_JUDGE = 20
#: How often chains that agree may be taken for chains that do not.
_FALSE_ALARMS = 0.05
#: A quantity that has one value in so many of the draws of every chain is as good as constant.
_MOSTLY = 0.95
#: Means of chains that differ by this share of them are as good as equal.
_NEARLY = 0.002


def rhat_limit(n_chains: int, n_draws: int, n_quantities: int) -> float:
    """Chains disagree if R̂ of any of so many quantities is above this.

    If all halves of chains are of one distribution, and have the fewest effective draws that are enough, the largest of so many
    R̂ is above the limit in about 5 % of cases. The number of halves times R̂² − 1 in these units is a χ² variable.

    Parameters
    ----------
    n_chains, n_draws : int
        Number of chains, and of draws of each.
    n_quantities : int
        How many quantities are looked at.

    Examples
    --------
    >>> from hashmix.posterior.diagnostics import rhat_limit
    >>> round(rhat_limit(2, 200, 1), 2), round(rhat_limit(2, 200, 50), 2)
    (1.12, 1.21)
    """
    halves = 2 * n_chains
    effective = min(ESS_LIMIT / 4.0, n_draws / 4.0)
    share = -np.expm1(np.log1p(-_FALSE_ALARMS) / max(2 * n_quantities, 1))  # each has two forms of R̂
    return float(np.sqrt(1.0 + chi2.isf(share, halves - 1) / (halves - 1) / effective))


def rarely_varies(chains: np.ndarray) -> bool:
    """Whether one value makes up 95 % of the draws of every chain: too few others to judge how well they mix.

    Examples
    --------
    >>> import numpy as np
    >>> from hashmix.posterior.diagnostics import rarely_varies
    >>> rarely_varies(np.array([[3] * 40, [3] * 39 + [4]])), rarely_varies(np.array([[3] * 40, [4] * 40]))
    (True, False)
    """
    chains = np.asarray(chains)
    middle = np.median(chains[0])
    return bool(((chains == middle).mean(axis=1) >= _MOSTLY).all())


def nearly_equal(chains: np.ndarray) -> bool:
    """Whether the means of all halves of chains are within 0.2 % of each other: 1000 clusters and 1001 are no disagreement.

    Examples
    --------
    >>> import numpy as np
    >>> from hashmix.posterior.diagnostics import nearly_equal
    >>> nearly_equal(np.array([[1000] * 40, [1001] * 40])), nearly_equal(np.array([[5] * 40, [5, 6] * 20]))
    (True, False)
    """
    means = _split(np.asarray(chains, dtype=np.float64)).mean(axis=1)
    return bool(np.ptp(means) <= _NEARLY * abs(means.mean()))


def _split(chains: np.ndarray) -> np.ndarray:
    """Each chain as two halves, without the middle draw of an odd number."""
    half = chains.shape[1] // 2
    return np.concatenate([chains[:, :half], chains[:, -half:]])


def _rank_normalise(chains: np.ndarray) -> np.ndarray:
    """Normal scores of the ranks over all chains; equal values share their average rank."""
    _, place, counts = np.unique(chains, return_inverse=True, return_counts=True)
    ranks = np.cumsum(counts) - (counts - 1) / 2.0
    return ndtri((ranks[place.reshape(chains.shape)] - 0.375) / (chains.size + 0.25))


def _plain_rhat(chains: np.ndarray) -> float:
    n = chains.shape[1]
    means = chains.mean(axis=1)
    if (np.ptp(chains, axis=1) == 0.0).all():  # rounding would make the variance within chains a little more than zero
        return float("inf") if np.ptp(chains) > 0.0 else 1.0
    within = chains.var(axis=1, ddof=1).mean()
    return float(np.sqrt((n - 1) / n + means.var(ddof=1) / within))


def rhat(chains: np.ndarray) -> float:
    """Rank-normalised split R̂ of a scalar: the larger of its location and its scale form.

    Parameters
    ----------
    chains : array of shape (chain, draw)

    Returns
    -------
    float
        Infinity if the scalar is constant within each half of each chain but differs between them; NaN if all draws are equal,
        or if there are fewer than 4 draws per chain.

    Examples
    --------
    >>> import numpy as np
    >>> from hashmix.posterior.diagnostics import rhat
    >>> chains = np.random.default_rng(0).normal(size=(4, 500))
    >>> rhat(chains) < 1.01 and rhat(chains + np.arange(4)[:, None]) > 1.5
    True
    >>> rhat(np.array([[3] * 10, [4] * 10]))
    inf
    """
    chains = np.asarray(chains, dtype=np.float64)
    if not _varies(chains):
        return float("nan")
    halves = _split(chains)
    folded = np.abs(halves - np.median(halves))
    return max(_plain_rhat(_rank_normalise(halves)), _plain_rhat(_rank_normalise(folded)))


def _autocovariance(chains: np.ndarray) -> np.ndarray:
    n = chains.shape[1]
    centred = chains - chains.mean(axis=1, keepdims=True)
    length = 2 ** int(np.ceil(np.log2(2 * n)))
    spectrum = np.fft.rfft(centred, n=length, axis=1)
    return np.fft.irfft(np.abs(spectrum) ** 2, n=length, axis=1)[:, :n] / n


def ess(chains: np.ndarray) -> float:
    """Bulk effective sample size of a scalar, by Geyer's initial monotone sequence.

    Parameters
    ----------
    chains : array of shape (chain, draw)

    Returns
    -------
    float
        NaN if all draws are equal, or if there are fewer than 4 draws per chain.

    Examples
    --------
    >>> import numpy as np
    >>> from hashmix.posterior.diagnostics import ess
    >>> 1500 < ess(np.random.default_rng(0).normal(size=(4, 500))) < 2600
    True
    """
    chains = np.asarray(chains, dtype=np.float64)
    return _plain_ess(_rank_normalise(_split(chains))) if _varies(chains) else float("nan")


def ess_tail(chains: np.ndarray) -> float:
    """Tail effective sample size of a scalar: the smaller of those of the indicators of its 5 % and its 95 % quantile.

    Parameters
    ----------
    chains : array of shape (chain, draw)

    Examples
    --------
    >>> import numpy as np
    >>> from hashmix.posterior.diagnostics import ess_tail
    >>> 1000 < ess_tail(np.random.default_rng(0).normal(size=(4, 500))) < 2600
    True
    """
    chains = np.asarray(chains, dtype=np.float64)
    if not _varies(chains):
        return float("nan")
    below = [(chains <= np.quantile(chains, q)).astype(np.float64) for q in (0.05, 0.95)]
    return min(_plain_ess(_split(each)) if _varies(each) else float(chains.size) for each in below)


def _varies(chains: np.ndarray) -> bool:
    return bool(chains.shape[1] >= 4 and np.isfinite(chains).all() and np.ptp(chains) > 0.0)


def _plain_ess(z: np.ndarray) -> float:
    m, n = z.shape
    covariance = _autocovariance(z)
    within = covariance[:, 0].mean() * n / (n - 1.0)
    variance = within * (n - 1.0) / n + (z.mean(axis=1).var(ddof=1) if m > 1 else 0.0)
    if variance == 0.0:  # only the middle draw, which the halves leave out, was different
        return float("nan")
    rho = 1.0 - (within - covariance.mean(axis=0)) / variance
    rho[0] = 1.0
    # Geyer: sums of neighbouring pairs while they are positive, made monotone. Only the even member of the last pair counts.
    pairs = [rho[0] + rho[1]]
    while 2 * len(pairs) < n - 2 and pairs[-1] > 0.0:
        pairs.append(rho[2 * len(pairs)] + rho[2 * len(pairs) + 1])
    last = rho[2 * (len(pairs) - 1)]
    tail = last if last > 0.0 or pairs[-1] >= 0.0 else 0.0
    tau = -1.0 + 2.0 * np.minimum.accumulate(pairs)[:-1].sum() + tail
    return float(m * n / max(tau, 1.0 / np.log10(m * n)))
