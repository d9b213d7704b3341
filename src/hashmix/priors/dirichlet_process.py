"""The Dirichlet process, with a given or a learned concentration."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.special import digamma, gammaln

from hashmix.core.validation import bad_parameter, check_integer, check_number
from hashmix.priors.contract import PartitionPrior, PriorWeights

__all__ = ["DirichletProcess", "Gamma"]


class Gamma(NamedTuple):
    """A Gamma distribution, given by shape and rate: the hyperprior of a concentration.

    Examples
    --------
    >>> import hashmix as hm
    >>> hm.priors.DirichletProcess(hm.priors.Gamma(shape=2.0, rate=0.5))
    DirichletProcess(concentration=Gamma(shape=2.0, rate=0.5))
    """

    shape: float = 1.0
    rate: float = 1.0


class DirichletProcess(PartitionPrior):
    """Dirichlet-process prior: p(ρ) = Γ(α)/Γ(α+n) · α^K ∏ Γ(n_c).

    Parameters
    ----------
    concentration : float or Gamma, default=Gamma(1, 1)
        α: a number to fix it, or its Gamma hyperprior to learn it (Escobar and West's update, once per sweep).

    Examples
    --------
    >>> import hashmix as hm
    >>> hm.priors.DirichletProcess(0.5)
    DirichletProcess(concentration=0.5)
    >>> hm.priors.DirichletProcess.from_expected_clusters(10, n_samples=1000)
    DirichletProcess(concentration=1.4438...)
    """

    linear_in_clusters = True

    def __init__(self, concentration: float | Gamma = Gamma()) -> None:
        owner = type(self).__name__
        self.concentration: float | Gamma
        if isinstance(concentration, Gamma):
            self.concentration = Gamma(
                check_number(owner, "concentration.shape", concentration.shape),
                check_number(owner, "concentration.rate", concentration.rate),
            )
        elif isinstance(concentration, (str, tuple, list)):
            raise bad_parameter(owner, "concentration", "a number > 0 or a priors.Gamma(shape, rate)", concentration)
        else:
            self.concentration = check_number(owner, "concentration", concentration)

    @classmethod
    def from_expected_clusters(cls, n_clusters: float, n_samples: int) -> DirichletProcess:
        """The concentration under which ``n_samples`` rows fall into ``n_clusters`` clusters on average, a priori.

        Examples
        --------
        >>> import hashmix as hm
        >>> hm.priors.DirichletProcess.from_expected_clusters(5, n_samples=100).concentration
        0.9475...
        """
        from scipy.optimize import brentq  # slow to import and rarely needed

        n = check_integer(cls.__name__, "n_samples", n_samples, low=2)
        k = check_number(cls.__name__, "n_clusters", n_clusters, low=1.0, high=n)

        def excess(log_alpha: float) -> float:
            alpha = np.exp(log_alpha)
            return float(alpha * (digamma(alpha + n) - digamma(alpha)) - k)

        # E[K] ≥ n − n²/(2α): the root is below n²/(n − k).
        return cls(float(np.exp(brentq(excess, -40.0, np.log(n * n / (n - k)), xtol=1e-13))))

    @property
    def learns_concentration(self) -> bool:
        return isinstance(self.concentration, Gamma)

    @property
    def start_concentration(self) -> float:
        if isinstance(self.concentration, Gamma):
            return self.concentration.shape / self.concentration.rate
        return self.concentration

    def weights(self, n: int, max_clusters: int, concentration: float) -> PriorWeights:
        constant = gammaln(concentration) - gammaln(concentration + n)
        return PriorWeights(constant + np.arange(max_clusters + 2) * np.log(concentration), 0.0, False)

    def update_concentration(self, concentration: float, n: int, n_clusters: int, rng: np.random.Generator) -> float:
        """Escobar and West's Gibbs update of α given the number of clusters."""
        if not isinstance(self.concentration, Gamma):
            return concentration
        a, b = self.concentration
        rate = b - np.log(rng.beta(concentration + 1.0, n))
        odds = (a + n_clusters - 1.0) / (n * rate)
        shape = a + n_clusters - (0.0 if rng.random() * (1.0 + odds) < odds else 1.0)
        # A shape below 1e-8 (only with K = 1 and a tiny prior shape) could underflow to exactly 0.
        return max(float(rng.gamma(shape, 1.0 / rate)), 1e-300)
