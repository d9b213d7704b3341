"""The full conditional of one row, shared by the Gibbs updates: over all clusters, or some of them."""

from __future__ import annotations

import math

from hashmix.components.contract import add, clear, log_predictive, log_predictive_without, remove
from hashmix.core.compiling import helper, hot_helper
from hashmix.partition.bounds import is_bounded, permits_move
from hashmix.partition.members import close_cluster, move_row, open_cluster, spare
from hashmix.priors.contract import log_join_weight, log_new_weight

__all__ = ["contains", "keep_spare_empty", "log_weight", "normalise", "reassign"]


@helper
def contains(found, k, slot):
    """Whether a slot is among the first k found."""
    known = False
    for c in range(k):
        known = known or found[c] == slot
    return known


@helper
def keep_spare_empty(arrays, target):
    """Clear the slot ``spare(0)``: predicting from it gives the weight of a new cluster."""
    clear(target.model, arrays.slots, spare(arrays.partition, 0))


@hot_helper
def log_weight(arrays, target, slot, here, new, others, row):
    """Log of prior weight times predictive of a cluster for a row taken out of cluster ``here``.

    ``new`` is the slot that stands for a new cluster: ``here`` if the row is alone there, else ``spare(partition, 0)``, which
    :func:`keep_spare_empty` must have cleared (in the verb ``prepare``). ``others`` is the number of clusters without the row.
    """
    slots, model, prior = arrays.slots, target.model, target.prior
    if slot == new:
        return log_predictive(model, slots, spare(arrays.partition, 0), row) + log_new_weight(prior, others)
    if slot != here:
        return log_predictive(model, slots, slot, row) + log_join_weight(prior, slots.sizes[slot])
    return log_predictive_without(model, slots, slot, row) + log_join_weight(prior, slots.sizes[slot] - 1)


@helper
def normalise(log_weights, k):
    """Replace k log weights by weights whose largest is 1; return their sum, and the log of what they were divided by."""
    top = log_weights[0]
    for c in range(1, k):
        top = max(top, log_weights[c])
    total = 0.0
    for c in range(k):
        x = log_weights[c] - top
        weight = math.exp(x) if x > -40.0 else 0.0  # below the rounding error of the sum
        log_weights[c] = weight
        total += weight
    return total, top


@helper
def reassign(arrays, target, i, slot, row):
    """Move row i to another cluster, with its statistics, and return True; or return False if bounds do not permit it.

    Clusters are opened and closed; the slot ``spare(0)`` stays empty.
    """
    partition, slots, model = arrays.partition, arrays.slots, target.model
    if is_bounded(partition) and not permits_move(partition, i, slot):
        return False
    old = partition.labels[i]
    opens = slot == spare(partition, 0)
    remove(model, slots, old, row)
    add(model, slots, slot, row)
    if opens:
        open_cluster(partition)
    move_row(partition, i, slot)
    closes = partition.sizes[old] == 0
    if closes:
        close_cluster(partition, old)
    if opens or closes:
        clear(model, slots, spare(partition, 0))
    return True
