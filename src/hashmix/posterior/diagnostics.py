"""Rank-normalised R̂ and effective sample size (Vehtari, Gelman, Simpson, Carpenter and Bürkner 2021)."""

from __future__ import annotations

import numpy as np
from scipy.special import ndtri

__all__ = ["ess", "ess_tail", "rhat"]


def _split(chains: np.ndarray) -> np.ndarray:
    """Each chain as two halves (the middle draw of an odd number is left out)."""
    half = chains.shape[1] // 2
    return np.concatenate([chains[:, :half], chains[:, -half:]])


def _rank_normalise(chains: np.ndarray) -> np.ndarray:
    from scipy.stats import rankdata  # here, for importing scipy.stats takes half a second

    ranks = rankdata(chains, method="average").reshape(chains.shape)
    return ndtri((ranks - 0.375) / (chains.size + 0.25))


def _plain_rhat(chains: np.ndarray) -> float:
    n = chains.shape[1]
    within = chains.var(axis=1, ddof=1).mean()
    between = chains.mean(axis=1).var(ddof=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        return float(np.sqrt((n - 1) / n + between / within))


def rhat(chains: np.ndarray) -> float:
    """Rank-normalised split R̂ of a scalar, (chain, draw): the larger of its location and its scale form.

    NaN when every draw is the same, or when there are fewer than 4 draws a chain.

    Examples
    --------
    >>> import numpy as np
    >>> from hashmix.posterior.diagnostics import rhat
    >>> chains = np.random.default_rng(0).normal(size=(4, 500))
    >>> rhat(chains) < 1.01 and rhat(chains + np.arange(4)[:, None]) > 1.5
    True
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
    """Bulk effective sample size of a scalar, (chain, draw), by Geyer's initial monotone sequence.

    NaN when every draw is the same, or when there are fewer than 4 draws a chain.

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
    """Tail effective sample size of a scalar: the smaller of those of being below its 5 % and its 95 % quantile.

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
    if variance == 0.0:  # all that varied was the draw in the middle
        return float("nan")
    rho = 1.0 - (within - covariance.mean(axis=0)) / variance
    rho[0] = 1.0
    # Geyer: sums of neighbouring pairs, as long as they are positive, made monotone; of the last, only its even member.
    pairs = [rho[0] + rho[1]]
    while 2 * len(pairs) < n - 2 and pairs[-1] > 0.0:
        pairs.append(rho[2 * len(pairs)] + rho[2 * len(pairs) + 1])
    last = rho[2 * (len(pairs) - 1)]
    tail = last if last > 0.0 or pairs[-1] >= 0.0 else 0.0
    tau = -1.0 + 2.0 * np.minimum.accumulate(pairs)[:-1].sum() + tail
    return float(m * n / max(tau, 1.0 / np.log10(m * n)))
