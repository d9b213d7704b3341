"""What the paper's experiments are made of."""

from hashmix.paper.documents import make_documents
from hashmix.paper.mixtures import make_mixture

__all__ = ["make_documents", "make_mixture"]
