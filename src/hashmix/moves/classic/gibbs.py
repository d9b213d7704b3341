"""Collapsed Gibbs updates (Neal's Algorithm 3)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from hashmix.components.contract import load
from hashmix.core.compiling import implements
from hashmix.core.rng import categorical
from hashmix.core.validation import check_integer
from hashmix.moves.conditional import keep_spare_empty, log_weight, normalise, reassign
from hashmix.moves.contract import Update
from hashmix.moves.driver import prepare, update
from hashmix.moves.tally import ACCEPTED, PROPOSED, WORK
from hashmix.partition.members import n_clusters, n_rows, spare, uniform_row
from hashmix.partition.state import State

__all__ = ["Gibbs"]


class FullConditionals(NamedTuple):
    """Law of a Gibbs scan: rows one after the other, or uniform ones if ``at_random``."""

    at_random: bool


@implements(prepare, FullConditionals)
def _prepare(law, arrays, target):
    keep_spare_empty(arrays, target)


@implements(update, FullConditionals, argument=1, inline=True)
def _update(rng, law, arrays, target, step, tally):
    partition = arrays.partition
    candidates, weights = arrays.scratch.candidates, arrays.scratch.weights
    i = uniform_row(rng, partition) if law.at_random else np.int64(partition.rows[step % n_rows(partition)])
    here = partition.labels[i]
    alone = partition.sizes[here] == 1
    new = here if alone else spare(partition, 0)
    k = 0
    for c in range(n_clusters(partition)):
        if partition.active[c] != here or not alone:
            candidates[k] = partition.active[c]
            k += 1
    others = k
    candidates[k] = new
    k += 1
    row = load(target.model, arrays.slots, target.data, i)
    for c in range(k):
        weights[c] = log_weight(arrays, target, candidates[c], here, new, others, row)
    total, _ = normalise(weights, k)
    tally[PROPOSED] += 1
    tally[WORK] += k
    slot = candidates[categorical(rng, weights, k, total)]
    if slot != here and reassign(arrays, target, i, slot, row):
        tally[ACCEPTED] += 1


class Gibbs(Update):
    """Collapsed Gibbs: rows draw their cluster from the full conditional.

    Costs K + 1 predictives per row. "Accepted" counts the rows that changed cluster.

    Parameters
    ----------
    n_points : int, optional
        Number of rows, drawn at random, to update per application; None: all of them, one after the other (a scan).

    Examples
    --------
    >>> import hashmix as hm
    >>> hm.moves.Gibbs()
    Gibbs(n_points=None)
    """

    works_in_parts = True

    def __init__(self, n_points: int | None = None) -> None:
        self.n_points: int | None = None if n_points is None else check_integer("Gibbs", "n_points", n_points, low=1)

    def units(self, state: State) -> int:
        return state.n_rows if self.n_points is None else self.n_points

    def expected_work(self, state: State) -> float:
        return float(self.units(state) * (state.n_clusters + 1))

    def units_per_call(self, state: State) -> int:
        return max(100, 2_000_000 // (state.n_clusters + 1))

    def law(self, state: State) -> FullConditionals:
        return FullConditionals(at_random=self.n_points is not None)
