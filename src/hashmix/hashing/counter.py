"""Random numbers with an address: the draw of (key, function, feature) is the same whenever and wherever it is asked for.

So a hash function over a million features takes no room, and a sparse row costs its non-zeros.
"""

from __future__ import annotations

import numpy as np

from hashmix.compiling import hot_helper
from hashmix.rng import mix

__all__ = ["address", "uniform_at"]

_STEP = np.uint64(0x9E3779B97F4A7C15)
_OTHER = np.uint64(0xD1B54A32D192ED03)
_ONE = np.uint64(1)
_S12 = np.uint64(12)  # 52 bits are left: with half a step added they stay below 1


@hot_helper
def address(key, function, feature):
    """A 64-bit word for a feature of a function."""
    return mix(mix(key + (np.uint64(function) + _ONE) * _STEP) + (np.uint64(feature) + _ONE) * _OTHER)


@hot_helper
def uniform_at(place, number):
    """The uniform in (0, 1) of that number (0, 1, …) at an address."""
    return ((mix(place + (np.uint64(number) + _ONE) * _STEP) >> _S12) + 0.5) * (1.0 / 4503599627370496.0)
