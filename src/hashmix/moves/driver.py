"""The two kernels that run moves. Everything that must not be forgotten is here, once.

A move is a *law*: a ``NamedTuple`` of what its kernel code reads, with the verbs below implemented for its type by
:func:`hashmix.core.compiling.implements`.

* A **proposal** says what would change, and the log ratio of proposal probabilities. :func:`run_proposals` makes sure that
  there is enough memory, adds the posterior ratio, rejects early, accepts, counts and commits.
* An **update** draws something from its full conditional. :func:`run_updates` makes sure that there is enough memory.

The posterior is left invariant if a proposal's numbers are right: with q the probability of the proposal given everything
that was drawn without looking at the partition, :func:`divide` or :func:`weigh_merge`, plus :func:`complete`, must return
log q(back) − log q(there).
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from hashmix.components.contract import (
    is_full,
    log_difference,
    log_marginal,
    log_union,
    separate,
    take,
    union_work,
    unite,
)
from hashmix.core.compiling import borrowed, fallback, helper, inlined, kernel
from hashmix.core.rng import bernoulli
from hashmix.moves.tally import ACCEPTED, PROPOSED, SPLITS_ACCEPTED, SPLITS_PROPOSED, WORK
from hashmix.partition.bounds import is_bounded, permits_cut, permits_split, unite_leaders
from hashmix.partition.members import close_cluster, move_row, n_clusters, n_spare, open_cluster, spare
from hashmix.partition.state import SPARE_SLOTS
from hashmix.priors.contract import log_split_ratio

__all__ = [
    "CUT",
    "MERGE",
    "NOTHING",
    "SPLIT",
    "Change",
    "Sides",
    "Unions",
    "accept",
    "choose",
    "complete",
    "cut",
    "cut_gain",
    "divide",
    "log_or_never",
    "merge",
    "merge_gain",
    "nothing",
    "prepare",
    "reads_union",
    "run_proposals",
    "run_updates",
    "sides_of",
    "split",
    "union_gain",
    "update",
    "updated",
    "weigh_merge",
]

#: Number of unions that are remembered; a prime, so that pairs of slots are spread evenly.
_REMEMBERED = 509

# Kinds of changes.
NOTHING = 0  # a null move
SPLIT = 1  # a cluster into two sides
CUT = 2  # the rows listed leave a cluster, at a cost that does not depend on the rows that stay
MERGE = 3  # two clusters into one


class Change(NamedTuple):
    """What a proposal would change.

    ``first`` is the cluster to split or cut, or the first of two to merge, and ``second`` the other one (else the same).
    Rows ``u`` and ``v`` start the two sides; ``v`` is −1 if no rows do. Of a cut, ``n_rows`` rows are listed in
    ``scratch.rows``. ``note`` is an integer that a law passes on from :func:`choose` to its other verbs.
    """

    kind: np.int64
    first: np.int64
    second: np.int64
    u: np.int64
    v: np.int64
    n_rows: np.int64
    note: np.int64


class Sides(NamedTuple):
    """Two sides of a split: rows ``u`` and ``v`` that start them (or −1), the slots ``a`` and ``b`` that hold their statistics,
    and the number ``m`` of other rows, which ``scratch.rows`` lists.
    """

    u: np.int64
    v: np.int64
    a: np.int64
    b: np.int64
    m: np.int64


@inlined
def _change(kind, first, second, u, v, n_rows, note):
    # One type for all of them, whatever the types of labels and indices.
    i8 = np.int64
    return Change(i8(kind), i8(first), i8(second), i8(u), i8(v), i8(n_rows), i8(note))


@inlined
def nothing():
    """A null move."""
    return _change(NOTHING, -1, -1, -1, -1, 0, 0)


@inlined
def split(slot, u, v, note):
    """Split a cluster; rows u and v start the sides (v = −1: no rows do)."""
    return _change(SPLIT, slot, slot, u, v, 0, note)


@inlined
def merge(first, second, u, v, note):
    """Merge two clusters, of which rows u and v are members (v = −1: no rows were drawn)."""
    return _change(MERGE, first, second, u, v, 0, note)


@inlined
def cut(slot, n_rows, note):
    """Let the first ``n_rows`` rows of ``scratch.rows``, members of a cluster, leave it."""
    return _change(CUT, slot, slot, -1, -1, n_rows, note)


@inlined
def sides_of(arrays, change, m):
    """The sides of a proposed split with m rows besides the anchors. The slots are free ones: a proposal may overwrite them."""
    partition = arrays.partition
    return Sides(change.u, change.v, spare(partition, 1), spare(partition, 0), np.int64(m))


# ---- the verbs of a proposal -----------------------------------------------------------------------------------------------


def choose(rng: Any, law: Any, arrays: Any, target: Any, tally: Any) -> Any:
    """Draw what to change: :func:`split`, :func:`cut`, :func:`merge` or :func:`nothing`."""


def divide(rng: Any, law: Any, arrays: Any, target: Any, change: Any, tally: Any) -> Any:
    """Divide the rows of a proposed split or cut, and return log q(back) − log q(there), or an upper bound of it.

    Of a split: list the rows other than the anchors in ``scratch.rows`` and their sides, 0 or 1, in ``scratch.sides``, and
    leave the statistics of both sides in the slots of :func:`sides_of`, which must be cleared first. Of a cut: leave the
    statistics of the listed rows in slot ``spare(partition, 0)``. Return −∞ for a null move. The number of clusters is still
    the one before the change. Add the predictives evaluated to ``tally[WORK]``; proposals are counted by the driver.
    """


def weigh_merge(rng: Any, law: Any, arrays: Any, target: Any, change: Any, tally: Any) -> Any:
    """Log q(back) − log q(there) of a proposed merge, or an upper bound of it that is cheap to compute.

    The slot ``spare(partition, 2)`` holds the union's marginal likelihood, unless :func:`reads_union` says that it need not.
    """


def reads_union(law: Any) -> Any:
    """Whether :func:`weigh_merge` or :func:`complete` read the slot of the union; by default they may."""


def complete(rng: Any, law: Any, arrays: Any, target: Any, change: Any, tally: Any) -> Any:
    """What the bound of :func:`divide` or :func:`weigh_merge` left out, at most 0; by default the bound was exact."""


def updated(law: Any, arrays: Any, target: Any, change: Any) -> Any:
    """Called after a change was committed; by default it does nothing."""


def prepare(law: Any, arrays: Any, target: Any) -> Any:
    """Called once before a batch of proposals or updates; by default it does nothing."""


def update(rng: Any, law: Any, arrays: Any, target: Any, step: Any, tally: Any) -> Any:
    """Draw something from its full conditional, and change the state; ``step`` counts the updates of an application.

    Add 1 to ``tally[PROPOSED]`` per update, 1 to ``tally[ACCEPTED]`` if it changed something, and the number of predictives to
    ``tally[WORK]`` (:mod:`hashmix.moves.tally`). Move rows with :func:`hashmix.moves.conditional.reassign`.
    """


@fallback(complete, argument=1)
def _complete(rng, law, arrays, target, change, tally):
    return 0.0


@fallback(reads_union, hot=True)
def _reads_union(law):
    return True


@fallback(updated)
def _updated(law, arrays, target, change):
    pass


@fallback(prepare)
def _prepare(law, arrays, target):
    pass


# ---- ratios ----------------------------------------------------------------------------------------------------------------


@helper
def accept(rng, log_ratio):
    """Metropolis–Hastings: True with probability min(1, exp(log_ratio)); a NaN is rejected.

    Early rejection takes two calls. If log_ratio = bound + rest with rest ≤ 0, then ``accept(bound)`` followed by
    ``accept(max(bound, 0) + rest)`` has probability min(1, exp(bound + rest)), and the rest need not be computed if the
    first call says no.
    """
    if log_ratio >= 0.0:
        return True
    return bernoulli(rng, math.exp(log_ratio))


@helper
def log_or_never(probability):
    """Logarithm of a probability; −∞ for 0."""
    return math.log(probability) if probability > 0.0 else -math.inf


@inlined
def _split_gain(arrays, target, whole, a, b):
    """Log π(ρ′) − log π(ρ) of splitting cluster ``whole`` into what slots a and b hold."""
    slots, model = arrays.slots, target.model
    likelihood = log_marginal(model, slots, a) + log_marginal(model, slots, b) - log_marginal(model, slots, whole)
    return likelihood + log_split_ratio(target.prior, n_clusters(arrays.partition), slots.sizes[a], slots.sizes[b])


@inlined
def cut_gain(slots, target, k, whole, part, rest):
    """Log π(ρ′) − log π(ρ) of taking what slot ``part`` holds out of one of k clusters, ``whole``; overwrites slot ``rest``."""
    model = target.model
    left = slots.sizes[whole] - slots.sizes[part]
    likelihood = log_marginal(model, slots, part) + log_difference(model, slots, whole, part, rest)
    likelihood -= log_marginal(model, slots, whole)
    return likelihood + log_split_ratio(target.prior, k, slots.sizes[part], left)


@inlined
def union_gain(slots, target, k, first, second, log_m):
    """Log π(ρ′) − log π(ρ) of merging two of k clusters; ``log_m`` is the union's log marginal likelihood."""
    likelihood = log_m - log_marginal(target.model, slots, first) - log_marginal(target.model, slots, second)
    return likelihood - log_split_ratio(target.prior, k - 1, slots.sizes[first], slots.sizes[second])


class Unions(NamedTuple):
    """Log marginal likelihoods of unions, ``log_m[at]`` of the slots ``pairs[at]``, the lower one first (−1: of none).

    They are remembered until a cluster changes, and are the same whenever they are computed: proposals are accepted or
    rejected as they would be without.
    """

    pairs: np.ndarray
    log_m: np.ndarray

    @classmethod
    def none(cls) -> Unions:
        """Nothing remembered yet."""
        return cls(np.full((_REMEMBERED, 2), -1, np.int64), np.empty(_REMEMBERED))


@inlined
def _forget(unions):
    for at in range(_REMEMBERED):
        unions.pairs[at, 0] = -1


@inlined
def merge_gain(law, arrays, target, change, unions, tally):
    """Log π(ρ′) − log π(ρ) of merging two clusters; overwrites the slot ``spare(partition, 2)``, and counts the work."""
    partition, slots, model = arrays.partition, arrays.slots, target.model
    first, second = min(change.first, change.second), max(change.first, change.second)
    at = (first * len(partition.sizes) + second) % _REMEMBERED
    if not reads_union(law) and unions.pairs[at, 0] == first and unions.pairs[at, 1] == second:
        tally[WORK] += 1
    else:
        tally[WORK] += union_work(model, slots, first, second)
        unions.log_m[at] = log_union(model, slots, first, second, spare(partition, 2))
        unions.pairs[at, 0], unions.pairs[at, 1] = first, second
    return union_gain(slots, target, n_clusters(partition), first, second, unions.log_m[at])


# ---- commits ---------------------------------------------------------------------------------------------------------------
# Helpers: they are the same for all laws and rarely called. Rows and slots are int64, so that one version of `move_row` serves.


@helper
def _commit_split(arrays, target, change):
    """Carry out a split: side a keeps the cluster's slot, side b gets the next free one."""
    partition, scratch, whole = arrays.partition, arrays.scratch, change.first
    a, b = spare(partition, 1), spare(partition, 0)
    m = partition.sizes[whole] - (2 if change.v >= 0 else 0)
    take(target.model, arrays.slots, a, whole)
    open_cluster(partition)
    if change.v >= 0:
        move_row(partition, change.v, b)
    for j in range(m):
        if scratch.sides[j] == 1:
            move_row(partition, np.int64(scratch.rows[j]), b)


@helper
def _commit_cut(arrays, target, change):
    """Carry out a cut: the listed rows get the next free slot."""
    partition = arrays.partition
    part, rest = spare(partition, 0), spare(partition, 1)
    separate(target.model, arrays.slots, change.first, part, rest)
    open_cluster(partition)
    for j in range(change.n_rows):
        move_row(partition, np.int64(arrays.scratch.rows[j]), part)


@helper
def _commit_merge(arrays, target, change):
    """Carry out a merge: the larger cluster's slot takes the union."""
    partition = arrays.partition
    first, second, union = change.first, change.second, spare(partition, 2)
    if partition.sizes[first] < partition.sizes[second]:
        first, second = second, first
    log_union(target.model, arrays.slots, first, second, union)  # it may have been remembered
    unite(target.model, arrays.slots, first, second, union)
    while partition.sizes[second] > 0:
        last = partition.pool[partition.starts[second] + partition.sizes[second] - 1]
        move_row(partition, np.int64(last), first)
    close_cluster(partition, second)


@helper
def _permitted(arrays, change):
    """Whether an accepted change is within the bounds of the partition; if so, it must be carried out."""
    partition, rows, sides = arrays.partition, arrays.scratch.rows, arrays.scratch.sides
    if not is_bounded(partition):
        return True
    if change.kind == MERGE:
        unite_leaders(partition, change.first, change.second)
        return True
    if change.kind == CUT:
        return permits_cut(partition, change.first, rows, change.n_rows, sides)
    m = partition.sizes[change.first] - (2 if change.v >= 0 else 0)
    return permits_split(partition, change.first, change.u, change.v, rows, sides, m)


# ---- the kernels -----------------------------------------------------------------------------------------------------------


@inlined
def _out_of_room(arrays, target):
    """Whether a proposal might not find its free slots, or a cluster the memory it needs."""
    return n_spare(arrays.partition) < SPARE_SLOTS or is_full(target.model, arrays.slots)


@kernel
def run_proposals(rng, law, arrays, target, unions, begin, end, tally):
    """Make proposals begin … end − 1; return where it stopped, before ``end`` if the state must grow first.

    ``unions`` must be ``Unions.none()``, or those of the last call if nothing has changed since.
    """
    rng, law, arrays = borrowed(rng), borrowed(law), borrowed(arrays)
    target, unions, tally = borrowed(target), borrowed(unions), borrowed(tally)
    partition = arrays.partition
    if end > begin:
        prepare(law, arrays, target)
    for step in range(begin, end):
        if _out_of_room(arrays, target):
            return step
        change = choose(rng, law, arrays, target, tally)
        if change.kind == NOTHING:
            continue
        if change.kind == MERGE:
            bound = merge_gain(law, arrays, target, change, unions, tally)
            bound += weigh_merge(rng, law, arrays, target, change, tally)
        else:
            bound = divide(rng, law, arrays, target, change, tally)
            if bound == -math.inf:
                continue
            tally[SPLITS_PROPOSED] += 1
            if change.kind == CUT:
                part, left = spare(partition, 0), spare(partition, 1)
                bound += cut_gain(arrays.slots, target, n_clusters(partition), change.first, part, left)
            else:
                bound += _split_gain(arrays, target, change.first, spare(partition, 1), spare(partition, 0))
        tally[PROPOSED] += 1
        if not accept(rng, bound):
            continue
        rest = complete(rng, law, arrays, target, change, tally)
        if not accept(rng, max(bound, 0.0) + rest) or not _permitted(arrays, change):
            continue
        if change.kind == MERGE:
            _commit_merge(arrays, target, change)
        else:
            tally[SPLITS_ACCEPTED] += 1
            if change.kind == CUT:
                _commit_cut(arrays, target, change)
            else:
                _commit_split(arrays, target, change)
        tally[ACCEPTED] += 1
        _forget(unions)
        updated(law, arrays, target, change)
    return end


@kernel
def run_updates(rng, law, arrays, target, begin, end, tally):
    """Make updates begin … end − 1; return where it stopped, before ``end`` if the state must grow first."""
    rng, law, arrays = borrowed(rng), borrowed(law), borrowed(arrays)
    target, tally = borrowed(target), borrowed(tally)
    if end > begin:
        prepare(law, arrays, target)
    for step in range(begin, end):
        if _out_of_room(arrays, target):
            return step
        update(rng, law, arrays, target, step, tally)
    return end
