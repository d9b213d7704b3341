"""Seeds of counter-based numbers, drawn from a chain's stream."""

from __future__ import annotations

import numpy as np

from hashmix.core.compiling import borrowed, kernel
from hashmix.core.rng import integer

__all__ = ["draw_seed"]

_BITS, _CHOICES = np.uint64(16), 65_536


@kernel
def draw_seed(rng):
    """Draw 64 bits."""
    rng = borrowed(rng)
    seed = np.uint64(0)
    for _ in range(4):
        seed = (seed << _BITS) | np.uint64(integer(rng, _CHOICES))
    return seed
