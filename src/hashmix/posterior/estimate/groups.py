"""Groups of interchangeable rows: rows that have the same label in every draw looked at.

The expected loss of a partition depends on such rows only through their number in each of its clusters, and a partition with
the least expected loss exists that keeps every group together. Let t of the w rows of a group be in one cluster of the
estimate and w − t in another. The part of the loss that varies is S Σ f(sizes) − 2 Σ f(cells), where the cells are those of
the contingency tables with the S draws and f(x) is x log x or x². Its second derivative in t is S f''(size) − 2 Σ f''(cell)
for either cluster; since f'' does not increase and no cell exceeds its cluster, this is at most −S f''(size) < 0. The loss is
concave in t, so its minimum over t is at an end. The search for an estimate may therefore move whole groups, weighted by
their numbers of rows.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from hashmix.core.compiling import borrowed, helper, kernel

__all__ = ["Groups", "group_rows", "refine"]

#: Fibonacci hashing: 2⁶⁴ divided by the golden ratio.
_MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)


class Groups(NamedTuple):
    """Rows that no draw separates.

    ``of_row`` (n,) is the group of each row, ``weights`` (G,) the number of rows of each group, and ``first_rows`` (G,) its
    first row. Groups with the same label in the first draw have adjacent numbers: most draws then keep neighbours together,
    and passes over the groups of a cluster stay within the cache.
    """

    of_row: np.ndarray
    weights: np.ndarray
    first_rows: np.ndarray


@helper
def _place_of(slots, shift, parents, own_labels, n_before, group, label):
    """The slot of a pair of a group and a label: the one that holds it, or the free one where it belongs."""
    key = (np.uint64(group) << np.uint64(32)) | np.uint64(label)
    at = np.int64((key * _MULTIPLIER) >> shift)
    while slots[at] >= 0:
        child = slots[at] - n_before
        if parents[child] == group and own_labels[child] == label:
            break
        at = (at + 1) & (len(slots) - 1)
    return at


@kernel
def refine(groups, n_groups, labels, first, deviating):
    """Split groups by a further draw, in place; returns the number of groups.

    A row stays in its group if it has the label of the group's first row; only the others look up their pair of group and
    label in a hash table, so that a draw that agrees with the earlier ones costs one pass without hashing. Pairs are compared
    themselves, not their hashes. ``first`` and ``deviating`` are int32 buffers for n numbers.
    """
    groups, labels, first, deviating = borrowed(groups), borrowed(labels), borrowed(first), borrowed(deviating)
    for g in range(n_groups):
        first[g] = -1
    n_deviating = 0
    for i in range(len(groups)):
        g = groups[i]
        if first[g] < 0:
            first[g] = labels[i]
        elif first[g] != labels[i]:
            deviating[n_deviating] = i
            n_deviating += 1
    if n_deviating == 0:
        return n_groups
    bits = 1
    while (1 << bits) < 2 * n_deviating:
        bits += 1
    shift = np.uint64(64 - bits)
    slots = np.full(1 << bits, -1, np.int32)
    parents, own_labels = np.empty(n_deviating, np.int32), np.empty(n_deviating, np.int32)
    found = 0
    for d in range(n_deviating):
        i = deviating[d]
        at = _place_of(slots, shift, parents, own_labels, n_groups, groups[i], labels[i])
        if slots[at] < 0:
            slots[at] = n_groups + found
            parents[found], own_labels[found] = groups[i], labels[i]
            found += 1
        groups[i] = slots[at]
    return n_groups + found


@kernel
def _numbered(groups, n_groups, labels, n_labels):
    """Groups renumbered by their labels in one draw and their first rows; weights and first rows of these."""
    groups, labels = borrowed(groups), borrowed(labels)
    number = np.full(n_groups, -1, np.int32)
    ends = np.zeros(n_labels + 1, np.int64)
    for i in range(len(groups)):
        if number[groups[i]] < 0:
            number[groups[i]] = 0
            ends[labels[i] + 1] += 1
    for c in range(n_labels):
        ends[c + 1] += ends[c]
    number[:] = -1
    weights, first_rows = np.zeros(n_groups, np.int64), np.empty(n_groups, np.int64)
    of_row = np.empty(len(groups), np.int32)
    for i in range(len(groups)):
        g = groups[i]
        if number[g] < 0:
            number[g] = ends[labels[i]]
            first_rows[number[g]] = i
            ends[labels[i]] += 1
        of_row[i] = number[g]
        weights[number[g]] += 1
    return of_row, weights, first_rows


def group_rows(draws: Iterable[np.ndarray]) -> Groups:
    """Group the rows that have the same label in every draw: O(n) time per draw, and O(n) memory in all.

    Parameters
    ----------
    draws : iterable of int arrays of shape (n_samples,)
        The labels of at least one draw after another; they are read once, one at a time.

    Examples
    --------
    >>> import numpy as np
    >>> from hashmix.posterior.estimate.groups import group_rows
    >>> groups = group_rows(np.array([[0, 0, 0, 1], [0, 1, 1, 2]]))
    >>> groups.of_row.tolist(), groups.weights.tolist(), groups.first_rows.tolist()
    ([0, 1, 1, 2], [1, 2, 1], [0, 1, 3])
    """
    groups, n_groups = np.zeros(0, np.int32), 1
    for draw in draws:
        labels = np.ascontiguousarray(draw, dtype=np.int32)
        if not len(groups):
            first_draw, groups = labels, np.zeros(len(labels), np.int32)
            first, deviating = np.empty_like(groups), np.empty_like(groups)
        if n_groups == len(groups):  # every row is alone
            break
        n_groups = refine(groups, n_groups, labels, first, deviating)
    return Groups(*_numbered(groups, n_groups, first_draw, int(first_draw.max()) + 1))
