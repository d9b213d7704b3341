"""Every partition alike."""

from __future__ import annotations

import numpy as np

from hashmix.priors.contract import PartitionPrior, PriorTable

__all__ = ["Flat"]


class Flat(PartitionPrior):
    """Flat prior: every partition alike, whatever its number of clusters. Its log p(ρ) is taken as 0.

    Examples
    --------
    >>> import hashmix as hm
    >>> hm.priors.Flat()
    Flat()
    """

    def __repr__(self) -> str:
        return "Flat()"

    @property
    def start_concentration(self) -> float:
        return float("nan")

    def table(self, n: int, max_clusters: int, concentration: float) -> PriorTable:
        return PriorTable(np.zeros(max_clusters + 2), 0.0, True)
