"""Gibbs updates over the clusters found in a point's hash bucket."""

from __future__ import annotations

from typing import Any

import numpy as np

from hashmix.moves.anchored import ACCEPTED
from hashmix.moves.contract import new_counts
from hashmix.moves.gibbs import Offer, run_gibbs
from hashmix.moves.hashed import HashedMove
from hashmix.rng import stream
from hashmix.state import State
from hashmix.validation import check_integer

__all__ = ["HashedGibbs", "settle"]

#: How often a point whose cluster is among those of its mates is offered a new one, or any other, instead. This is what
#: allows a point that is alone, or in a cluster that none of its mates are in, to join them: it pays with a factor of
#: OPENING, or about STRAY / K, in its ratio.
OPENING, STRAY = 0.1, 0.1


#: How often the rows of a point estimate are gone through, at most, and how few changes end that, as a share of the rows.
_PASSES, _FEW = 10, 0.001


def settle(state: State) -> None:
    """Move every row to the most probable of its neighbours' clusters, given all others, until few rows want to.

    A draw puts a row between two clusters into either, as often as it belongs there. An estimate should choose.

    Examples
    --------
    >>> import numpy as np, hashmix as hm
    >>> from hashmix.moves.hashed_gibbs import settle
    >>> from hashmix.state import State
    >>> X = np.array([[0.0], [0.1], [0.2], [0.3], [5.0], [5.1], [5.2], [5.3]])
    >>> component = hm.components.DiagonalGaussian(0.0, 0.1, 2.0, 0.1)
    >>> state = State(X, component, hm.priors.DirichletProcess(1.0), [0, 0, 0, 1, 1, 1, 1, 1])
    >>> settle(state)
    >>> state.labels().tolist()
    [0, 0, 0, 0, 1, 1, 1, 1]
    """
    lists = state.hashed.neighbours()
    n = len(state.partition.labels)
    offer = Offer(n_mates=lists.lists.shape[1], opening=0.0, stray=0.0, at_random=False, greedy=True)
    for _ in range(_PASSES):
        counts, done = new_counts(), 0
        while done < n:
            state.ensure_spare()
            done = run_gibbs(stream(0), offer, lists.arrays, state.arrays, state.target, done, n, counts)
        if counts[ACCEPTED] <= _FEW * n:
            return


class HashedGibbs(HashedMove):
    """Gibbs updates that cost a point its bucket, not all K clusters.

    Every point is offered the clusters of its mates in one of the hash tables, by its full conditional restricted to these.
    A point whose own cluster is not among them may join them, and now and then a point is offered a new cluster, or any
    other: by Metropolis–Hastings, for these are each other's way back.

    Parameters
    ----------
    n_bits, n_tables : int, default=10
        Of the hash tables.
    n_mates : int, default=16
        Mates looked at, from a random place in the bucket on.
    refresh : int or None, default=10
        Sweeps between fresh hash functions; None keeps the first ones.
    family : {"sign-projection", "minhash", "neighbours"}, default="sign-projection"
        What rows that share a bucket have in common: direction from the mean, weighted Jaccard of their sign split, or
        being neighbours (:class:`hashmix.hashing.Neighbours`).

    Examples
    --------
    >>> import hashmix as hm
    >>> hm.moves.HashedGibbs(n_bits=8)
    HashedGibbs(n_bits=8, n_tables=10, refresh=10, family='sign-projection', n_mates=16)
    """

    def __init__(
        self,
        n_bits: int = 10,
        n_tables: int = 10,
        n_mates: int = 16,
        refresh: int | None = 10,
        family: str = "sign-projection",
    ) -> None:
        super().__init__(n_bits, n_tables, refresh, family)
        self.n_mates = check_integer("HashedGibbs", "n_mates", n_mates, low=1)

    def units(self, state: State) -> int:
        return len(state.partition.labels)

    def units_per_call(self, state: State) -> int:
        return 100_000

    def run_units(self, rng: Any, state: State, begin: int, end: int, counts: np.ndarray) -> int:
        offer = Offer(self.n_mates, OPENING, STRAY, False)
        return run_gibbs(rng, offer, self.tables(state).arrays, state.arrays, state.target, begin, end, counts)
