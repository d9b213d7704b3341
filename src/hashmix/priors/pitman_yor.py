"""The Pitman–Yor process: like the Dirichlet process, with a power law of cluster sizes."""

from __future__ import annotations

import numpy as np
from scipy.special import gammaln

from hashmix.core.validation import check_number
from hashmix.priors.contract import PartitionPrior, PriorWeights

__all__ = ["PitmanYor"]


class PitmanYor(PartitionPrior):
    """Pitman–Yor prior: p(ρ) = ∏_{i<K} (θ+iσ) / (θ+1)_{n−1} · ∏ (1−σ)_{n_c−1}.

    Parameters
    ----------
    concentration : float, default=1.0
        θ, more than −discount.
    discount : float, default=0.25
        σ, at least 0 and below 1; with 0 it is the Dirichlet process.

    Examples
    --------
    >>> import hashmix as hm
    >>> hm.priors.PitmanYor(concentration=1.0, discount=0.5)
    PitmanYor(concentration=1.0, discount=0.5)
    """

    def __init__(self, concentration: float = 1.0, discount: float = 0.25) -> None:
        owner = type(self).__name__
        self.discount: float = check_number(owner, "discount", discount, high=1.0, closed=True)
        self.concentration: float = check_number(owner, "concentration", concentration, low=-self.discount)

    @property
    def start_concentration(self) -> float:
        return self.concentration

    def weights(self, n: int, max_clusters: int, concentration: float) -> PriorWeights:
        theta, sigma = concentration, self.discount
        log_v = np.zeros(max_clusters + 2)
        log_v[2:] = np.cumsum(np.log(theta + sigma * np.arange(1, max_clusters + 1)))
        log_v -= gammaln(theta + n) - gammaln(theta + 1.0)
        log_v -= np.arange(max_clusters + 2) * gammaln(1.0 - sigma)
        return PriorWeights(log_v, -sigma, False)
