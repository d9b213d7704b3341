"""How clusters share rows: priors on partitions, each of them data (see :mod:`hashmix.priors.contract`)."""

from __future__ import annotations

from hashmix.core.registry import Registry
from hashmix.priors.contract import PartitionPrior
from hashmix.priors.dirichlet_process import DirichletProcess, Gamma
from hashmix.priors.finite_mixtures import MixtureOfFiniteMixtures
from hashmix.priors.flat import Flat
from hashmix.priors.pitman_yor import PitmanYor

__all__ = [
    "PRIORS",
    "DirichletProcess",
    "Flat",
    "Gamma",
    "MixtureOfFiniteMixtures",
    "PartitionPrior",
    "PitmanYor",
    "resolve_prior",
]

#: The priors that have a name. Add one of your own with ``PRIORS.add("my-prior", MyPrior)``.
PRIORS: Registry[PartitionPrior] = Registry("prior", PartitionPrior)
PRIORS.add("dirichlet-process", DirichletProcess)
PRIORS.add("pitman-yor", PitmanYor)
PRIORS.add("mixture-of-finite-mixtures", MixtureOfFiniteMixtures)
PRIORS.add("flat", Flat)


def resolve_prior(prior: str | PartitionPrior, owner: str = "sample", default: str = "dirichlet-process") -> PartitionPrior:
    """Resolve a ``prior`` parameter: an object is returned as it is, a name gives that prior with its defaults.

    Parameters
    ----------
    prior : str or PartitionPrior
        A name of :data:`PRIORS`, "auto" for ``default``, or an object.
    owner : str
        Whose parameter it is, for the error message.
    default : str
        The name that "auto" stands for.

    Examples
    --------
    >>> from hashmix.priors import resolve_prior
    >>> resolve_prior("flat")
    Flat()
    """
    if isinstance(prior, PartitionPrior):
        return prior
    name = PRIORS.check(prior, owner, "auto")
    return PRIORS[default if name == "auto" else name]()
