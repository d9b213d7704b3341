"""How clusters share points: priors on partitions, each of them data (see :mod:`hashmix.priors.contract`)."""

from __future__ import annotations

from hashmix.priors.contract import PartitionPrior
from hashmix.priors.dirichlet_process import DirichletProcess, Gamma
from hashmix.priors.finite_mixtures import MixtureOfFiniteMixtures
from hashmix.priors.flat import Flat
from hashmix.priors.pitman_yor import PitmanYor
from hashmix.validation import bad_parameter

__all__ = ["DirichletProcess", "Flat", "Gamma", "MixtureOfFiniteMixtures", "PartitionPrior", "PitmanYor", "resolve_prior"]

_NAMES: dict[str, type[PartitionPrior]] = {
    "dirichlet-process": DirichletProcess,
    "pitman-yor": PitmanYor,
    "mixture-of-finite-mixtures": MixtureOfFiniteMixtures,
    "flat": Flat,
}


def resolve_prior(prior: str | PartitionPrior, owner: str = "sample", default: str = "dirichlet-process") -> PartitionPrior:
    """The prior a user means: an object as it is, a name with that prior's defaults, "auto" for ``default``.

    Examples
    --------
    >>> from hashmix.priors import resolve_prior
    >>> resolve_prior("flat")
    Flat()
    """
    if isinstance(prior, PartitionPrior):
        return prior
    if prior == "auto":
        prior = default
    if not isinstance(prior, str) or prior not in _NAMES:
        names = ", ".join(map(repr, ["auto", *_NAMES]))
        raise bad_parameter(owner, "prior", f"one of {names}, or a PartitionPrior", prior)
    return _NAMES[prior]()
