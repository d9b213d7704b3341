"""Whether a kernel may begin another proposal."""

from __future__ import annotations

from hashmix.compiling import inlined
from hashmix.components.contract import is_full
from hashmix.partition import n_spare

__all__ = ["out_of_room"]


@inlined
def out_of_room(arrays, target):
    """Whether a proposal might not find its free slots (two sides and a union), or its clusters the memory they need."""
    return n_spare(arrays.partition) < 3 or is_full(target.model, arrays.table)
