"""Bayesian clustering when the number of clusters is unknown: exact split–merge MCMC, fast."""

from __future__ import annotations

from importlib.metadata import version
from typing import TYPE_CHECKING, Any

from hashmix import components, engines, hashing, moves, plot, priors
from hashmix.posterior import Posterior
from hashmix.sampling import sample

if TYPE_CHECKING:
    from hashmix.estimator import SplitMergeMixture

__all__ = ["Posterior", "SplitMergeMixture", "components", "engines", "hashing", "moves", "plot", "priors", "sample"]

__version__ = version("hashmix")


def __getattr__(name: str) -> Any:
    # The estimator is imported on first use: scikit-learn takes longer to import than everything else here.
    if name == "SplitMergeMixture":
        from hashmix.estimator import SplitMergeMixture

        return SplitMergeMixture
    raise AttributeError(f"module 'hashmix' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*__all__, "__version__"])
