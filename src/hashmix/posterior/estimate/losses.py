"""Distances between partitions: variation of information and Binder's loss, from contingency counts."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from hashmix.core.compiling import borrowed, helper, kernel

__all__ = ["information_lower_bound", "loss_values", "losses_to", "pairwise_losses", "sorted_by_label"]


def loss_values(n: int, by_information: bool) -> np.ndarray:
    """f(0), …, f(n), where n times the loss between two partitions is Σ f(sizes) + Σ f(sizes) − 2 Σ f(cells).

    f(x) is x log x for the variation of information, x² / n for Binder's loss: on this scale the change made by one row is of
    the same order for all n.

    Examples
    --------
    >>> from hashmix.posterior.estimate.losses import loss_values
    >>> loss_values(2, True).round(3).tolist(), loss_values(2, False).tolist()
    ([0.0, 0.0, 1.386], [0.0, 0.5, 2.0])
    """
    x = np.arange(n + 1.0)
    return x * np.log(np.maximum(x, 1.0)) if by_information else x * x / n


@helper
def _sort_by_label(labels, order, starts):
    """Counting sort: the items with label c are ``order[starts[c]:starts[c + 1]]``."""
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
def _sum_of_cells(order, starts, other, weights, counts, values):
    """Σ f(cell) over the contingency table of two partitions, the first one sorted by label."""
    total = 0.0
    for c in range(len(starts) - 1):
        for at in range(starts[c], starts[c + 1]):
            counts[other[order[at]]] += weights[order[at]]
        # Without a list of the labels seen: this loop has no branches, which a varied draw would make unpredictable.
        for at in range(starts[c], starts[c + 1]):
            label = other[order[at]]
            total += values[counts[label]]
            counts[label] = 0
    return total


@kernel
def pairwise_losses(draws, weights, n_labels, values):
    """Loss between every two of some draws: a symmetric matrix.

    ``draws`` (draw, item) have labels 0 … n_labels − 1; an item stands for ``weights`` rows. ``values`` say which loss (see
    :func:`loss_values`): the variation of information, in nats, or Binder's loss, the share of ordered pairs of rows that are
    together in one partition and apart in the other.
    """
    draws, weights, values = borrowed(draws), borrowed(weights), borrowed(values)
    n_draws, n_items = draws.shape
    order = np.empty(n_items, np.int32)
    starts = np.empty(n_labels + 2, np.int64)
    counts = np.zeros(n_labels, np.int64)
    own = np.empty(n_draws)
    out = np.zeros((n_draws, n_draws))
    for a in range(n_draws):
        _sort_by_label(draws[a], order, starts)
        own[a] = _sum_of_cells(order, starts[:-1], draws[a], weights, counts, values)
        for b in range(a):
            loss = own[a] + own[b] - 2.0 * _sum_of_cells(order, starts[:-1], draws[b], weights, counts, values)
            out[a, b] = out[b, a] = max(loss, 0.0) / (len(values) - 1)
    return out


@kernel
def sorted_by_label(labels, n_labels):
    """Counting sort: the items with label c are ``order[starts[c]:starts[c + 1]]``; returns ``order`` and ``starts``."""
    labels = borrowed(labels)
    order, starts = np.empty(len(labels), np.int32), np.empty(n_labels + 2, np.int64)
    _sort_by_label(labels, order, starts)
    return order, starts[:-1].copy()


@kernel
def _loss_to(order, starts, draw, weights, counts, values):
    """The loss between a partition sorted by label and a draw; ``counts`` are zeros, one per label of the draw."""
    order, starts, draw = borrowed(order), borrowed(starts), borrowed(draw)
    weights, counts, values = borrowed(weights), borrowed(counts), borrowed(values)
    loss = -2.0 * _sum_of_cells(order, starts, draw, weights, counts, values)
    for c in range(len(starts) - 1):
        loss += values[starts[c + 1] - starts[c]]
    for label in draw:
        counts[label] += 1
    for c in range(len(counts)):
        loss += values[counts[c]]
        counts[c] = 0
    return max(loss, 0.0) / len(draw)


def losses_to(labels: np.ndarray, draws: Iterable[np.ndarray], by_information: bool) -> np.ndarray:
    """The loss between a partition and each of some draws, as in :func:`pairwise_losses`.

    Parameters
    ----------
    labels : int array of shape (n_samples,)
        The partition.
    draws : iterable of int arrays of shape (n_samples,)
        They are read once, one at a time.
    by_information : bool
        Variation of information, in nats; otherwise Binder's loss.

    Examples
    --------
    >>> import numpy as np
    >>> from hashmix.posterior.estimate.losses import losses_to
    >>> losses_to(np.array([0, 0, 1, 1]), np.array([[1, 1, 0, 0], [0, 0, 0, 0]]), True).round(4)
    array([0.    , 0.6931])
    """
    labels = np.ascontiguousarray(labels, dtype=np.int32)
    order, starts = sorted_by_label(labels, int(labels.max()) + 1)
    weights, values = np.ones(len(labels), np.int8), loss_values(len(labels), by_information)
    out = []
    for each in draws:
        draw = np.ascontiguousarray(each, dtype=np.int32)
        out.append(_loss_to(order, starts, draw, weights, np.zeros(int(draw.max()) + 1, np.int64), values))
    return np.array(out)


def information_lower_bound(labels: np.ndarray, draws: Iterable[np.ndarray]) -> float:
    """A lower bound of the expected variation of information, in nats, by Jensen's inequality.

    For every row, the mean over draws of the log of the number of rows that its clusters in ``labels`` and in the draw have in
    common is at most the log of the mean, which depends only on how often rows are together. The bound as usually printed also
    replaces the mean of the log size of the draw's cluster by the log of the mean, which adds a constant that can lift it above
    what it bounds; that term does not depend on ``labels``, and is exact here. Computed from contingency counts, draw by draw.

    Examples
    --------
    >>> import numpy as np
    >>> from hashmix.posterior.estimate.losses import information_lower_bound
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
