"""The draws and what can be asked of them."""

from hashmix.posterior.draws import Posterior

__all__ = ["Posterior"]
