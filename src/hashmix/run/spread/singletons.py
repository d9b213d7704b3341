"""Merges of clusters of one row, and the cuts that they are the inverse of, in a chain whose rows are spread over shards.

The move is :class:`~hashmix.moves.classic.singleton_merge.SingletonMerge`, with its ratio. A cluster of one row is merged from
statistics alone, so that nobody has to find its row: shards are told another label. Only rows that are cut out travel, and
which rows these may be is drawn without looking at labels.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from hashmix.components.contract import add, clear, load, log_difference, log_marginal, log_union, separate, unite
from hashmix.core.compiling import borrowed, helper, kernel
from hashmix.core.rng import categorical, integer, numpy_generator, stream
from hashmix.data.rows import DenseRows
from hashmix.engines.contract import Spread
from hashmix.moves.classic.singleton_merge import log_choice, log_rate_of_cut, singletons_after_cut
from hashmix.moves.conditional import normalise
from hashmix.moves.driver import accept, cut_gain, union_gain
from hashmix.priors.contract import log_join_weight
from hashmix.run.spread.clusters import Clusters
from hashmix.run.spread.moves import Done

__all__ = ["Labels", "propose", "singleton_merge"]

# What random numbers are for: which rows are cut out, and everything else.
_ROWS, _REST = 0, 1


class Labels(NamedTuple):
    """What proposals did to labels: those of the ``rows`` that were asked for, and by ``old`` label those of all others."""

    rows: np.ndarray
    old: np.ndarray


def singleton_merge(spread: Spread, clusters: Clusters, seed: int, n_proposals: int) -> Done:
    """Some proposals, one after the other: a cluster of one row joins another, or a row is cut out of its cluster.

    Parameters
    ----------
    spread : Spread
        The rows.
    clusters : Clusters
        The clusters; they are changed.
    seed : int
        What all random numbers of the move are made of.
    n_proposals : int
        It must not depend on labels.

    Examples
    --------
    Two rows that belong to the clusters of others, and are alone:

    >>> import numpy as np, hashmix as hm
    >>> from hashmix.engines.shard import Preparation
    >>> from hashmix.run.spread.clusters import Clusters
    >>> from hashmix.run.spread.singletons import singleton_merge
    >>> X = np.random.default_rng(0).normal(size=(50, 2))
    >>> spread = hm.engines.Threads(1).open(X, "example")
    >>> component, prior = hm.components.DiagonalGaussian(0.0, 0.1, 2.0, 1.0), hm.priors.DirichletProcess(1.0)
    >>> model = component.model(X)
    >>> spread.later("prepare", preparation=Preparation(component, np.ones(2, bool), None, 0))
    >>> spread.hold(model)
    >>> spread.later("write", numbers=np.array([7, 9]), labels=np.array([1, 2], np.int32))
    >>> table = spread.sum("statistics", capacity=3).reshape(3, -1)
    >>> clusters = Clusters(component, prior, model, None, 50, table)
    >>> done = singleton_merge(spread, clusters, seed=0, n_proposals=20)
    >>> clusters.n_clusters
    1
    """
    rng = numpy_generator(seed, _ROWS)
    drawn, cuts = rng.integers(clusters.n_rows, size=n_proposals), rng.random(n_proposals) < 0.5
    asked_for = cuts.copy()
    asked_for[0] = True  # shards are asked for one row at least
    numbers, which = np.unique(drawn[asked_for], return_inverse=True)
    asked = spread.rows_of(numbers)
    row_of = np.full(n_proposals, -1)
    row_of[asked_for] = which
    clusters.ensure(clusters.n_clusters + n_proposals)
    labels = Labels(asked.labels.copy(), np.arange(clusters.capacity, dtype=np.int32))
    rows = DenseRows(np.ascontiguousarray(asked.values)).arrays
    done = propose(stream(seed, _REST), cuts, row_of, rows, labels, clusters.n_rows, clusters.slots, clusters.target)
    clusters.derive()
    if (labels.old != np.arange(len(labels.old))).any():
        spread.later("relabel", labels=labels.old)
    moved = labels.rows != labels.old[asked.labels]
    if moved.any():
        spread.later("write", numbers=numbers[moved], labels=labels.rows[moved])
    return Done(*done)


@kernel
def propose(rng, cuts, row_of, data, labels, n_rows, slots, target):
    """Make proposals; return how many there were and how many were accepted, and how many of both were cuts.

    Proposal t is a cut of row ``row_of[t]`` of the data if ``cuts[t]``, and otherwise a merge. Free slots are those of size 0,
    three more than there are cuts at least.
    """
    rng, cuts, row_of, data, labels = borrowed(rng), borrowed(cuts), borrowed(row_of), borrowed(data), borrowed(labels)
    slots, target = borrowed(slots), borrowed(target)
    weights, candidates = np.empty(len(slots.sizes)), np.empty(len(slots.sizes), np.int64)
    proposed, accepted, cuts_proposed, cuts_accepted = 0, 0, 0, 0
    for t in range(len(cuts)):
        k, n_singletons = _count(slots)
        if cuts[t]:
            if slots.sizes[labels.rows[row_of[t]]] == 1:
                continue
            proposed, cuts_proposed = proposed + 1, cuts_proposed + 1
            if _cut(rng, row_of[t], data, labels, n_rows, slots, target, k, n_singletons, weights, candidates):
                accepted, cuts_accepted = accepted + 1, cuts_accepted + 1
        elif n_singletons > 0 and k > 1:
            proposed += 1
            if _merge(rng, labels, n_rows, slots, target, k, n_singletons, weights, candidates):
                accepted += 1
    return proposed, accepted, cuts_proposed, cuts_accepted


@helper
def _cut(rng, row, data, labels, n_rows, slots, target, k, n_singletons, weights, candidates):
    """Propose that a row leaves its cluster, which has others; return whether it did."""
    model, whole = target.model, np.int64(labels.rows[row])
    part = _free(slots, np.int64(0))
    rest = _free(slots, part + 1)
    union = _free(slots, rest + 1)
    clear(model, slots, part)
    add(model, slots, part, load(model, slots, data, row))
    bound = cut_gain(slots, target, k, whole, part, rest)
    bound += log_rate_of_cut(n_rows, singletons_after_cut(n_singletons, slots.sizes[whole]))
    # Without the choice of a partner, at most 0, which is computed if the bound is not rejected already.
    cut = accept(rng, bound)
    if cut:
        found = _weigh_partners(slots, target, part, whole, rest, union, weights, candidates)
        cut = accept(rng, max(bound, 0.0) + log_choice(weights, candidates, found, whole))
    if cut:
        log_difference(model, slots, whole, part, rest)
        separate(model, slots, whole, part, rest)
        labels.rows[row] = part
    else:
        clear(model, slots, part)
    clear(model, slots, rest)
    return cut


@helper
def _merge(rng, labels, n_rows, slots, target, k, n_singletons, weights, candidates):
    """Propose that a uniform cluster of one row joins one that its full conditional chooses; return whether it did."""
    model = target.model
    alone = _singleton(slots, integer(rng, n_singletons))
    union = _free(slots, np.int64(0))
    found = _weigh_partners(slots, target, alone, np.int64(-1), np.int64(-1), union, weights, candidates)
    partner = candidates[categorical(rng, weights, found, weights[:found].sum())]
    log_ratio = union_gain(slots, target, k, alone, partner, log_union(model, slots, partner, alone, union))
    log_ratio -= log_rate_of_cut(n_rows, n_singletons) + log_choice(weights, candidates, found, partner)
    merged = accept(rng, log_ratio)
    if merged:
        unite(model, slots, partner, alone, union)
        clear(model, slots, alone)
        _rename(labels.rows, alone, partner)
        _rename(labels.old, alone, partner)
    clear(model, slots, union)
    return merged


@helper
def _weigh_partners(slots, target, alone, whole, rest, union, weights, candidates):
    """Weights with which the row in slot ``alone`` chooses a cluster; return how many there are.

    Cluster ``whole`` still counts the row, and slot ``rest`` holds its others (−1: there is no such cluster). Slot ``union`` is
    overwritten, and left clear.
    """
    model, found = target.model, 0
    for c in range(len(slots.sizes)):
        if slots.sizes[c] == 0 or c in (alone, rest):
            continue
        if c == whole:
            log_with, others = log_marginal(model, slots, whole), rest
        else:
            log_with, others = log_union(model, slots, c, alone, union), np.int64(c)
            slots.sizes[union] = 0
        log_predictive = log_with - log_marginal(model, slots, others)
        weights[found] = log_predictive + log_join_weight(target.prior, slots.sizes[others])
        candidates[found] = c
        found += 1
    normalise(weights, found)
    clear(model, slots, union)
    return found


@helper
def _count(slots):
    """How many clusters there are, and how many of one row."""
    k, n_singletons = 0, 0
    for c in range(len(slots.sizes)):
        k += slots.sizes[c] > 0
        n_singletons += slots.sizes[c] == 1
    return k, n_singletons


@helper
def _singleton(slots, left):
    """The slot of a cluster of one row, of which ``left`` are before it."""
    slot = np.int64(0)
    while slots.sizes[slot] != 1 or left > 0:
        left -= slots.sizes[slot] == 1
        slot += 1
    return slot


@helper
def _free(slots, slot):
    """The first free slot that is not before some slot."""
    while slots.sizes[slot] > 0:
        slot += 1
    return slot


@helper
def _rename(labels, old, new):
    for i in range(len(labels)):
        if labels[i] == old:
            labels[i] = new
