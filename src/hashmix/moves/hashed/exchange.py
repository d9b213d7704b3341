"""Exchanges of rows between the clusters of hashed mates."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from hashmix.components.contract import load
from hashmix.core.compiling import implements
from hashmix.core.rng import bernoulli
from hashmix.hashing import HashFamily
from hashmix.moves.allocation import gather
from hashmix.moves.anchors import SIMILAR, Anchors, draw_anchors
from hashmix.moves.conditional import log_weight, reassign
from hashmix.moves.contract import Update
from hashmix.moves.driver import update
from hashmix.moves.hashed.tables import HashedMove
from hashmix.moves.tally import ACCEPTED, PROPOSED, WORK
from hashmix.partition.members import n_rows
from hashmix.partition.state import State

__all__ = ["Exchange"]


class Exchanges(NamedTuple):
    """Law of an exchange: how the two rows that stay are drawn, without looking at the partition."""

    anchors: Anchors


@implements(update, Exchanges, argument=1, inline=True)
def _update(rng, law, arrays, target, step, tally):
    """If u and v are apart, every other row of their clusters chooses between the two by its full conditional.

    u and v stay, so that the union and the two clusters are found again on the way back.
    """
    partition, rows = arrays.partition, arrays.scratch.rows
    if n_rows(partition) < 2:
        return
    u, v = draw_anchors(rng, law.anchors, partition)
    first, second = np.int64(partition.labels[u]), np.int64(partition.labels[v])
    tally[WORK] += 1
    if first == second or first < 0 or second < 0:
        return
    m = gather(arrays, first, second, u, v)
    if bernoulli(rng, 0.5):  # forwards or backwards: each is the other's way back
        for j in range(m // 2):
            rows[j], rows[m - 1 - j] = rows[m - 1 - j], rows[j]
    moved = False
    for j in range(m):
        i = np.int64(rows[j])
        row = load(target.model, arrays.slots, target.data, i)
        here = first if partition.labels[i] == first else second
        there = first + second - here
        log_odds = log_weight(arrays, target, there, here, -1, 0, row) - log_weight(arrays, target, here, here, -1, 0, row)
        if bernoulli(rng, 1.0 / (1.0 + math.exp(-log_odds))):
            moved = reassign(arrays, target, i, there, row) or moved
    tally[PROPOSED] += 1
    tally[ACCEPTED] += 1 if moved else 0
    tally[WORK] += 2 * m


class Exchange(HashedMove, Update):
    """A restricted Gibbs scan over the clusters of a row and a mate of it in the hash tables.

    Splits and merges can only undo a bad cut entirely. Between two neighbouring clusters, this lets rows choose again. No
    cluster appears or disappears.

    Parameters
    ----------
    n_bits, n_tables : int, default=1 and 10
        Size and number of the hash tables.
    refresh : int or None, default=10
        Sweeps between fresh hash functions; None keeps the first ones.
    family : str or HashFamily, default="minhash"
        What rows in one bucket have in common; see :class:`hashmix.moves.hashed.tables.HashedMove`.

    Examples
    --------
    >>> import hashmix as hm
    >>> hm.moves.Exchange()
    Exchange(n_bits=1, n_tables=10, refresh=10, family='minhash')
    """

    works_in_parts = True

    def __init__(
        self, n_bits: int = 1, n_tables: int = 10, refresh: int | None = 10, family: str | HashFamily = "minhash"
    ) -> None:
        super().__init__(n_bits, n_tables, refresh, family)

    def law(self, state: State) -> Exchanges:
        return Exchanges(Anchors(SIMILAR, math.inf, self.table_arrays(state)))
