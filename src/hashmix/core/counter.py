"""Addressable random numbers for hash functions.

The number at (key, function, feature) is computed from these three alone, so it never has to be stored. A hash function
over a million features therefore needs no memory, and hashing a sparse row costs time in proportion to its non-zeros.
"""

from __future__ import annotations

import numpy as np

from hashmix.core.compiling import hot_helper
from hashmix.core.rng import mix

__all__ = ["address", "uniform_at"]

_STEP = np.uint64(0x9E3779B97F4A7C15)
_OTHER = np.uint64(0xD1B54A32D192ED03)
_ONE = np.uint64(1)
_S12 = np.uint64(12)  # keeps 52 bits: plus one half, they are exact in float64 and never reach 0 or 2^52


@hot_helper
def address(key, function, feature):
    """Return the 64-bit address of a feature of a hash function."""
    return mix(mix(key + (np.uint64(function) + _ONE) * _STEP) + (np.uint64(feature) + _ONE) * _OTHER)


@hot_helper
def uniform_at(place, number):
    """Return the uniform number in (0, 1) with index ``number`` (0, 1, …) at an address."""
    return ((mix(place + (np.uint64(number) + _ONE) * _STEP) >> _S12) + 0.5) * (1.0 / 4503599627370496.0)
