"""The experiments of the paper that hashmix grew from: data sets, samplers, measures and the report."""

from hashmix.paper.documents import make_documents
from hashmix.paper.mixtures import make_mixture

__all__ = ["make_documents", "make_mixture"]
