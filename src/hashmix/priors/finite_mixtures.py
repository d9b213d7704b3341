"""A finite mixture whose number of components is random (Miller and Harrison)."""

from __future__ import annotations

import numpy as np
from scipy.special import betaln, gammaln, logsumexp

from hashmix.core.validation import check_number
from hashmix.priors.contract import PartitionPrior, PriorWeights

__all__ = ["MixtureOfFiniteMixtures"]


class MixtureOfFiniteMixtures(PartitionPrior):
    """Mixture-of-finite-mixtures prior: k − 1 ~ Poisson(rate) components, weights ~ Dirichlet(γ, …, γ).

    p(ρ) = V_n(K) ∏ γ^{(n_c)}, where K counts the components that have rows.

    Parameters
    ----------
    concentration : float, default=1.0
        γ.
    rate : float, default=1.0
        Mean of k − 1.

    Examples
    --------
    >>> import hashmix as hm
    >>> hm.priors.MixtureOfFiniteMixtures(concentration=1.0, rate=4.0)
    MixtureOfFiniteMixtures(concentration=1.0, rate=4.0)
    """

    def __init__(self, concentration: float = 1.0, rate: float = 1.0) -> None:
        owner = type(self).__name__
        self.concentration: float = check_number(owner, "concentration", concentration)
        self.rate: float = check_number(owner, "rate", rate)

    @property
    def start_concentration(self) -> float:
        return self.concentration

    def weights(self, n: int, max_clusters: int, concentration: float) -> PriorWeights:
        gamma = concentration
        log_v = _log_v(n, max_clusters + 1, gamma, self.rate)
        return PriorWeights(log_v - np.arange(max_clusters + 2) * gammaln(gamma), gamma, False)


def _log_v(n: int, max_t: int, gamma: float, rate: float) -> np.ndarray:
    """Log V_n(t) for t = 0 … max_t, V_n(t) = Σ_{k≥t} k!/(k−t)! · Γ(γk)/Γ(γk+n) · P(k)."""
    # Beyond k = t the terms fall at least as fast as Poisson(rate) masses do, so this many carry all of the sum.
    extra = np.arange(int(rate + 12.0 * np.sqrt(rate) + 60.0))
    out = np.empty(max_t + 1)
    for start in range(0, max_t + 1, 1024):
        t = np.arange(start, min(start + 1024, max_t + 1))[:, None]
        k = np.maximum(t, 1) + extra
        log_terms = gammaln(k + 1.0) - gammaln(k - t + 1.0) + betaln(gamma * k, n) - gammaln(n)
        log_terms += (k - 1.0) * np.log(rate) - rate - gammaln(k)
        out[t[:, 0]] = logsumexp(log_terms, axis=1)
    return out
