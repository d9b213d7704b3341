"""Distances between partitions: variation of information and Binder's loss, by contingency counts."""

from __future__ import annotations

import math
from collections.abc import Iterable

import numpy as np

from hashmix.compiling import helper, kernel

__all__ = ["information_lower_bound", "loss_to", "pairwise_losses"]


@helper
def _cell(count, by_information):
    return count * math.log(count) if by_information else float(count) * count


@helper
def _members_by_label(labels, order, starts):
    """Counting sort: points of label c are ``order[starts[c]:starts[c + 1]]``."""
    for c in range(len(starts)):
        starts[c] = 0
    for label in labels:
        starts[label + 2] += 1
    for c in range(2, len(starts)):
        starts[c] += starts[c - 1]
    for i in range(len(labels)):
        order[starts[labels[i] + 1]] = i
        starts[labels[i] + 1] += 1


@helper
def _overlap(order, starts, other, counts, seen, by_information):
    """Σ over the cells of the contingency table of two partitions."""
    total = 0.0
    for c in range(len(starts) - 2):
        n_seen = 0
        for place in range(starts[c], starts[c + 1]):
            label = other[order[place]]
            if counts[label] == 0:
                seen[n_seen] = label
                n_seen += 1
            counts[label] += 1
        for s in range(n_seen):
            total += _cell(counts[seen[s]], by_information)
            counts[seen[s]] = 0
    return total


@kernel
def pairwise_losses(draws, n_labels, by_information):
    """Loss between every two rows of ``draws`` (labels 0 … n_labels − 1).

    By information: variation of information, in nats. Otherwise Binder's loss: the share of ordered pairs of points
    that are together in one partition and apart in the other.
    """
    m, n = draws.shape
    order = np.empty(n, np.int64)
    starts = np.empty(n_labels + 2, np.int64)
    counts = np.zeros(n_labels, np.int64)
    seen = np.empty(n_labels, np.int64)
    own = np.empty(m)
    out = np.zeros((m, m))
    for a in range(m):
        _members_by_label(draws[a], order, starts)
        own[a] = _overlap(order, starts, draws[a], counts, seen, by_information)
        for b in range(a):
            shared = _overlap(order, starts, draws[b], counts, seen, by_information)
            loss = (own[a] + own[b] - 2.0 * shared) / (n if by_information else float(n) * n)
            out[a, b] = out[b, a] = max(loss, 0.0)
    return out


@kernel
def loss_to(labels, draw, n_labels, by_information):
    """The loss between two partitions with labels 0 … n_labels − 1, as in :func:`pairwise_losses`."""
    n = len(labels)
    order = np.empty(n, np.int64)
    starts = np.empty(n_labels + 2, np.int64)
    counts = np.zeros(n_labels, np.int64)
    seen = np.empty(n_labels, np.int64)
    _members_by_label(draw, order, starts)
    loss = _overlap(order, starts, draw, counts, seen, by_information)
    loss -= 2.0 * _overlap(order, starts, labels, counts, seen, by_information)
    _members_by_label(labels, order, starts)
    loss += _overlap(order, starts, labels, counts, seen, by_information)
    return max(loss, 0.0) / (n if by_information else float(n) * n)


def information_lower_bound(labels: np.ndarray, draws: Iterable[np.ndarray]) -> float:
    """A lower bound of the expected variation of information, in nats: Jensen's, on the rows two clusters have in common.

    For every row, the mean over draws of log |its cluster in common with the draw's| is at most the log of the mean, which
    depends only on how often rows are together. The bound as usually printed takes the log of the mean of the draw's cluster
    sizes too, which adds a constant that can lift it above what it bounds; here that term, which does not depend on
    ``labels``, is exact. Found from contingency tables, row by row.

    Examples
    --------
    >>> import numpy as np
    >>> from hashmix.posterior.losses import information_lower_bound
    >>> information_lower_bound(np.array([0, 0, 1]), [np.array([0, 0, 1])])
    0.0
    """
    n = len(labels)
    in_common, log_theirs, n_draws = np.zeros(n), 0.0, 0
    for draw in draws:
        log_theirs += np.log(np.bincount(draw)[draw]).mean()
        cells = labels.astype(np.int64) * (int(draw.max()) + 1) + draw
        _, cell, counts = np.unique(cells, return_inverse=True, return_counts=True)
        in_common += counts[cell]
        n_draws += 1
    log_own = np.log(np.bincount(labels)[labels]).mean()
    return max(float(log_own + log_theirs / n_draws - 2.0 * np.log(in_common / n_draws).mean()), 0.0)
