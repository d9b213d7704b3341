"""64-bit words on a device: the ranks and uniform numbers of rows, equal to those of :mod:`hashmix.core.counter` bit for bit.

PyTorch has few operations on unsigned words. Words are kept as signed ones with the same bits: sums and products wrap around
alike, and a shift to the right takes a mask.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from hashmix.engines.device.lazy import torch

__all__ = ["as_ordered", "as_ranks", "ranks_of", "uniforms_of"]

# The constants of hashmix.core.rng and hashmix.core.counter.
_STEP, _OTHER = 0x9E3779B97F4A7C15, 0xD1B54A32D192ED03
_MIX1, _MIX2 = 0xBF58476D1CE4E5B9, 0x94D049BB133111EB
#: The sign bit. With it flipped, words are in the order of unsigned ones.
_SIGN = 1 << 63


def _signed(word: int) -> int:
    """The signed integer with the bits of a word."""
    word &= (1 << 64) - 1
    return word - (1 << 64) if word >= _SIGN else word


def _shifted(z: Any, by: int) -> Any:
    """Shift to the right; zeros come in."""
    return (z >> by) & ((1 << (64 - by)) - 1)


def _mix(z: Any) -> Any:
    """Scramble words, as :func:`hashmix.core.rng.mix` does."""
    z = (z ^ _shifted(z, 30)) * _signed(_MIX1)
    z = (z ^ _shifted(z, 27)) * _signed(_MIX2)
    return z ^ _shifted(z, 31)


def uniforms_of(seed: int, purpose: int, numbers: Any) -> Any:
    """The uniform number in (0, 1) of every row, float64: ``uniform_at(address(seed, purpose, number), 0)``."""
    key = int(_mix(torch.tensor(_signed(seed + (purpose + 1) * _STEP))))  # on the CPU: nothing waits
    place = _mix((numbers + 1) * _signed(_OTHER) + key)
    return (_shifted(_mix(place + _signed(_STEP)), 12).double() + 0.5) * 2.0**-52


def ranks_of(seed: int, numbers: Any) -> Any:
    """The ranks of rows as signed words in the same order (:func:`as_ordered`)."""
    return _mix((numbers + 1) * _signed(_STEP) + _signed(seed)) ^ _signed(_SIGN)


def as_ordered(ranks: np.ndarray) -> np.ndarray:
    """Unsigned ranks as signed words in the same order."""
    return (ranks ^ np.uint64(_SIGN)).view(np.int64)


def as_ranks(ordered: Any) -> np.ndarray:
    """Signed words in the order of ranks as ranks."""
    return ordered.cpu().numpy().view(np.uint64) ^ np.uint64(_SIGN)
