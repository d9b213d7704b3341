"""Blocks of rows, and sums over them whose order does not depend on where the rows are.

All rows are numbered, and cut into blocks of equal size. A sum over rows is taken within each block, and blocks are added in
pairs, then pairs in pairs, and so on: a binary tree over *all* blocks, whoever holds them. A shard adds what it has complete
pairs of, and the client adds the rest. So every number is rounded alike for any number of threads and workers.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable

import numpy as np

__all__ = ["Node", "Sums", "block_size", "climb", "share_out", "total"]

#: Most rows of a block, and about how many blocks there are of fewer rows, so that every worker finds some. Blocks of few rows
#: cost time of their own: up to _SMALL rows, there are about _FEW blocks.
_MOST, _BLOCKS, _SMALL, _FEW = 65_536, 64, 1024, 8
#: Workers' shares may differ by about one part in so many, so that boundaries lie high in the tree and few sums travel.
_EVEN = 8

#: A node of the tree: level, and place on it. Blocks have level 0.
Node = tuple[int, int]
Sums = dict[Node, np.ndarray]


def block_size(n: int) -> int:
    """Rows per block: a power of two that depends on the number of rows only.

    Examples
    --------
    >>> from hashmix.engines.blocks import block_size
    >>> block_size(5), block_size(1000), block_size(10**6), block_size(10**9)
    (1, 64, 8192, 65536)
    """
    wanted = min(_MOST, max(n // _BLOCKS, min(_SMALL, n // _FEW), 1))
    return 1 << (wanted.bit_length() - 1)


def climb(sums: Sums, n_blocks: int) -> Sums:
    """Add siblings wherever both are there; a node whose sibling would lie beyond the last block moves up alone.

    Examples
    --------
    >>> from hashmix.engines.blocks import climb
    >>> climb({(0, 0): 1.0, (0, 1): 2.0, (0, 2): 4.0}, 5)
    {(0, 2): 4.0, (1, 0): 3.0}
    >>> climb({(1, 0): 3.0, (0, 2): 4.0, (0, 3): 8.0, (0, 4): 16.0}, 5)
    {(3, 0): 31.0}
    """
    sums, waiting = dict(sums), sorted(sums)
    while waiting:
        level, place = waiting.pop(0)
        last = (n_blocks - 1) >> level
        if (level, place) not in sums or last == 0:  # added already, or the root
            continue
        left, right = (level, place & ~1), (level, place | 1)
        if right[1] > last:
            sums[level + 1, place >> 1] = sums.pop(left)
        elif left in sums and right in sums:
            sums[level + 1, place >> 1] = sums.pop(left) + sums.pop(right)
        else:
            continue
        waiting.append((level + 1, place >> 1))
    return sums


def total(parts: Iterable[Sums], n_blocks: int) -> np.ndarray:
    """The sum over all blocks of what the shards have added.

    Examples
    --------
    >>> from hashmix.engines.blocks import total
    >>> total([{(0, 2): 4.0}, {(1, 0): 3.0}], 3)
    7.0
    """
    sums: Sums = {}
    for part in parts:
        if shared := sums.keys() & part.keys():
            raise RuntimeError(f"Two shards sent the sum of the same blocks {sorted(shared)[:3]}: one of them is stale.")
        sums.update(part)
    sums = climb(sums, n_blocks)
    if len(sums) != 1:
        raise RuntimeError(f"Sums of some blocks are missing: only {sorted(sums)[:5]} came.")
    return next(iter(sums.values()))


def share_out(n_blocks: int, n_shares: int) -> list[tuple[int, int]]:
    """Consecutive blocks for each of some workers, about evenly; shares may be empty.

    Examples
    --------
    >>> from hashmix.engines.blocks import share_out
    >>> share_out(100, 2), share_out(3, 2), share_out(1, 2)
    ([(0, 52), (52, 100)], [(0, 2), (2, 3)], [(0, 1), (1, 1)])
    """
    step = 1 << max(0, (n_blocks // (n_shares * _EVEN)).bit_length() - 1)
    bounds = [min(n_blocks, -(-n_blocks * k // (n_shares * step)) * step) for k in range(n_shares + 1)]
    return list(itertools.pairwise(bounds))
