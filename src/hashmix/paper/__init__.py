"""The experiments: the data they run on."""

from hashmix.paper.mixtures import make_mixture

__all__ = ["make_mixture"]
