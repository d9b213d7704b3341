"""The anchored split–merge kernel: two points, then a split if they are together, a merge if they are apart.

What differs between moves is how the anchors are drawn (:mod:`hashmix.moves.anchors`) and the allocation law
(:mod:`hashmix.moves.restricted`).
"""

from __future__ import annotations

from hashmix.compiling import borrowed, inlined, kernel
from hashmix.components.contract import log_marginal, log_union, take, unite
from hashmix.moves.acceptance import accept
from hashmix.moves.anchors import draw_anchors, log_anchors_gain, split_rate
from hashmix.moves.restricted import allocate, blind, gather, log_blind, work_per_point
from hashmix.moves.room import out_of_room
from hashmix.partition import close_cluster, move_point, n_clusters, open_cluster, spare
from hashmix.priors.contract import log_split_ratio
from hashmix.rng import bernoulli

__all__ = ["anchored_step", "commit_merge", "commit_split", "merge_bound", "run_anchored", "split_gain"]

# Places in ``counts``: all proposals, then those that were splits, then the work they took, counted in predictives.
PROPOSED, ACCEPTED, SPLITS_PROPOSED, SPLITS_ACCEPTED, WORK = 0, 1, 2, 3, 4
#: A merge derives a cluster from its statistics: about as much as this many predictives.
MERGE_WORK = 4


@inlined
def split_gain(arrays, target, whole, a, b):
    """Log π(ρ′) − log π(ρ) when cluster ``whole`` is split into what slots a and b hold."""
    table, model = arrays.table, target.model
    likelihood = log_marginal(model, table, a) + log_marginal(model, table, b) - log_marginal(model, table, whole)
    return likelihood + log_split_ratio(target.prior, n_clusters(arrays.partition), table.sizes[a], table.sizes[b])


@inlined
def merge_bound(arrays, target, first, second, union):
    """Log π(ρ′) − log π(ρ) when two clusters are merged; slot ``union`` is room for that."""
    table, model = arrays.table, target.model
    likelihood = log_union(model, table, first, second, union)
    likelihood -= log_marginal(model, table, first) + log_marginal(model, table, second)
    k = n_clusters(arrays.partition)
    return likelihood - log_split_ratio(target.prior, k - 1, table.sizes[first], table.sizes[second])


@inlined
def commit_split(arrays, target, whole, a, b, v, m):
    """Carry out a split: side a keeps the slot ``whole``; side b, the next free slot, gets v and its points.

    Pass v = −1 where the sides have no anchors.
    """
    take(target.model, arrays.table, a, whole)
    open_cluster(arrays.partition)
    if v >= 0:
        move_point(arrays.partition, v, b)
    for j in range(m):
        if arrays.scratch.sides[j] == 1:
            move_point(arrays.partition, arrays.scratch.points[j], b)


@inlined
def commit_merge(arrays, target, first, second, union):
    """Carry out the merge that was last weighed: the larger cluster's slot takes the union."""
    partition = arrays.partition
    if partition.sizes[first] < partition.sizes[second]:
        first, second = second, first
    unite(target.model, arrays.table, first, second, union)
    while partition.sizes[second] > 0:
        last = partition.pool[partition.starts[second] + partition.sizes[second] - 1]
        move_point(partition, last, first)
    close_cluster(partition, second)


@inlined
def anchored_step(rng, anchors, law, arrays, target, u, v, counts):
    """Split or merge the clusters of anchors u ≠ v, by the allocation law; True when accepted."""
    partition = arrays.partition
    first, second = partition.labels[u], partition.labels[v]
    apart = first != second
    n, k = len(partition.labels), n_clusters(partition)
    a, b, union = spare(partition, 1), spare(partition, 0), spare(partition, 2)
    bound = 0.0
    if apart:
        counts[PROPOSED] += 1
        counts[WORK] += MERGE_WORK
        bound = merge_bound(arrays, target, first, second, union)
        bound -= log_anchors_gain(anchors, n, k - 1, partition.sizes[first], partition.sizes[second])
        if blind(law):
            bound += log_blind(law, partition.sizes[first], partition.sizes[second])
        if not accept(rng, bound):  # q ≤ 1: rejected already, without the forced pass
            return False
    else:
        rate = split_rate(anchors, partition.sizes[first])
        if rate < 1.0 and not bernoulli(rng, rate):
            return False  # thinned out: a null move
        counts[PROPOSED] += 1
        counts[SPLITS_PROPOSED] += 1
    if not (apart and blind(law)):
        m = gather(arrays, first, second, u, v)
        counts[WORK] += m * work_per_point(law)
        log_q = allocate(law, rng, arrays, target, u, v, a, b, m, apart)
        log_ratio = max(bound, 0.0) + log_q
        if not apart:
            gain = log_anchors_gain(anchors, n, k, arrays.table.sizes[a], arrays.table.sizes[b])
            log_ratio = split_gain(arrays, target, first, a, b) + gain - log_q
        if not accept(rng, log_ratio):
            return False
    if apart:
        commit_merge(arrays, target, first, second, union)
    else:
        commit_split(arrays, target, first, a, b, v, m)
        counts[SPLITS_ACCEPTED] += 1
    counts[ACCEPTED] += 1
    return True


@kernel
def run_anchored(rng, anchors, law, arrays, target, begin, end, counts):
    """Proposals number begin … end − 1; stops early when free slots run out."""
    rng, arrays, target = borrowed(rng), borrowed(arrays), borrowed(target)
    anchors, law = borrowed(anchors), borrowed(law)
    if len(arrays.partition.labels) < 2:
        return end
    for step in range(begin, end):
        if out_of_room(arrays, target):
            return step
        u, v = draw_anchors(rng, anchors, arrays.partition)
        counts[WORK] += 1
        if u >= 0:
            anchored_step(rng, anchors, law, arrays, target, u, v, counts)
    return end
