"""The flat prior: every partition has the same weight."""

from __future__ import annotations

import numpy as np

from hashmix.priors.contract import PartitionPrior, PriorWeights

__all__ = ["Flat"]


class Flat(PartitionPrior):
    """Flat prior: every partition has the same weight, whatever its number of clusters. Its log p(ρ) is 0 by convention.

    Examples
    --------
    >>> import hashmix as hm
    >>> hm.priors.Flat()
    Flat()
    """

    linear_in_clusters = True

    @property
    def start_concentration(self) -> float:
        return float("nan")

    def weights(self, n: int, max_clusters: int, concentration: float) -> PriorWeights:
        return PriorWeights(np.zeros(max_clusters + 2), 0.0, True)
