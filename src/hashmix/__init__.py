"""Bayesian clustering when the number of clusters is unknown: exact split–merge MCMC, fast."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hashmix import components, hashing, moves, plot, priors
from hashmix.posterior import Posterior
from hashmix.sampling import sample

if TYPE_CHECKING:
    from hashmix.mixture import SplitMergeMixture

__all__ = ["Posterior", "SplitMergeMixture", "components", "hashing", "moves", "plot", "priors", "sample"]


def __getattr__(name: str) -> Any:
    # The estimator is imported when it is asked for: scikit-learn takes longer to import than everything else here.
    if name == "SplitMergeMixture":
        from hashmix.mixture import SplitMergeMixture

        return SplitMergeMixture
    raise AttributeError(f"module 'hashmix' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
