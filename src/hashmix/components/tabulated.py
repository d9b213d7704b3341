"""For how many cluster sizes models precompute their constants."""

from __future__ import annotations

__all__ = ["n_tabulated"]

_MOST = 65536


def n_tabulated(n: int) -> int:
    """Number of cluster sizes, from 0 on, with precomputed constants in a model of n rows.

    Constants of larger clusters are computed when needed, in O(1) time too.

    Examples
    --------
    >>> from hashmix.components.tabulated import n_tabulated
    >>> n_tabulated(10)
    12
    """
    return min(n, _MOST) + 2
