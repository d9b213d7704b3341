"""Parallel Gibbs: given drawn parameters, all rows choose their clusters at once."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from hashmix.components.contract import DenseSlots
from hashmix.core.rng import log_gammas, numpy_generator
from hashmix.core.threads import Threads
from hashmix.core.validation import check_integer
from hashmix.data.rows import Rows
from hashmix.hashing.cells import CellFamily, Cells
from hashmix.moves.contract import Move
from hashmix.moves.parallel.choosing import Offer, Room, choose_among_all, choose_among_candidates, make_offer
from hashmix.moves.parallel.seeds import draw_seed
from hashmix.moves.tally import ACCEPTED, PROPOSED, WORK
from hashmix.partition.collecting import shared_out
from hashmix.partition.leaders import Leaders, find_leaders
from hashmix.partition.members import regroup
from hashmix.partition.state import State

__all__ = ["ParallelGibbs", "assign_rows", "draw_offer", "offer_to_others"]

#: Rows per task.
_TASK = 8192
#: If less than one row in so many moved, statistics are updated instead of being collected again.
_FEW = 20
#: Work in collapsed predictives: what a row costs however few the clusters, and how many clusters cost as much as one.
_PER_ROW, _CHEAPER = 2.0, 16


class ParallelGibbs(Move):
    """Draw the parameters of all clusters, then a new cluster for every row, all rows at once.

    Every cluster has a leader, its row of least rank, which stays. A row chooses among the clusters whose leader ranks before
    it. So no cluster is emptied and the leaders remain leaders. Given the parameters, the weights and the leaders, rows are
    independent, and drawing them all leaves the posterior invariant, for every prior. The move opens no clusters and closes
    none; combine it with splits and merges.

    Parameters
    ----------
    candidates : int or None, default=None
        Clusters that a row chooses from; None for all. Rows are grouped into cells by where they are, and a few rows of a
        cell, drawn at random, choose the likeliest clusters for all of them. A row whose cluster is not among the
        candidates stays. Candidates depend on rows and parameters, never on labels.
    refresh : int, default=50
        Sweeps between fresh cells.

    Examples
    --------
    >>> import numpy as np, hashmix as hm
    >>> X = np.concatenate([np.random.default_rng(0).normal(m, 1.0, (50, 2)) for m in (-5, 5)])
    >>> moves = [(hm.moves.ParallelGibbs(), 1), (hm.moves.SAMS(), 10)]
    >>> posterior = hm.sample(X, moves=moves, n_draws=50, n_warmup=50, random_state=0)
    >>> int(np.median(posterior.n_clusters))
    2
    """

    def __init__(self, candidates: int | None = None, refresh: int = 50) -> None:
        owner = type(self).__name__
        self.candidates: int | None = None if candidates is None else check_integer(owner, "candidates", candidates, low=2)
        self.refresh: int = check_integer(owner, "refresh", refresh, low=1)

    def expected_work(self, state: State) -> float:
        k = state.n_clusters if self.candidates is None else min(self.candidates, state.n_clusters)
        return state.n_rows * (_PER_ROW + k / _CHEAPER)

    def most_times(self, state: State) -> int:
        return 1

    def units_per_call(self, state: State) -> int:
        return 1

    def compile(self, state: State) -> None:
        before = state.partition.labels.copy()
        self._scan(state, np.uint64(0), self.candidates)
        if self.candidates is not None:
            self._scan(state, np.uint64(0), None)
        state.partition.labels[:] = before
        _follow_labels(state, before, 0)

    def run_units(self, rng: Any, state: State, begin: int, end: int, tally: np.ndarray) -> int:
        few = self.candidates is not None and self.candidates < state.n_clusters
        before = state.partition.labels.copy()
        moved = self._scan(state, np.uint64(draw_seed(rng)), self.candidates if few else None)
        if moved:
            _follow_labels(state, before, moved)
        tally[PROPOSED] += state.n_rows
        tally[ACCEPTED] += moved
        tally[WORK] += int(self.expected_work(state))
        return begin + 1

    def _scan(self, state: State, seed: np.uint64, candidates: int | None) -> int:
        """Draw parameters and labels; return the number of rows that moved."""
        leaders = find_leaders(seed, state.partition)
        sizes = state.partition.sizes[leaders.order]
        offer = draw_offer(state, seed, leaders, sizes)
        scan = _Scan(state, seed, offer)
        # If all clusters are candidates, looking for them is in vain. The move keeps the number of clusters, so this is exact.
        if candidates is None or candidates >= len(sizes):
            return scan.among_all()
        return scan.among_candidates(candidates, self.refresh)


def draw_offer(state: Any, seed: np.uint64, leaders: Leaders, sizes: np.ndarray) -> Offer:
    """Draw the parameters and weights of all clusters, in the order of their leaders."""
    generator = numpy_generator(int(seed), 1)
    density = state.component.draw_density(state.model, state.statistics(leaders.order), generator)
    prior = state.target.prior
    weights = np.zeros(len(sizes)) if prior.flat else log_gammas(sizes + prior.shift, generator)
    return make_offer(leaders, density, weights, state.capacity)


class _Scan(NamedTuple):
    """One draw of all rows' labels, given ranks, parameters and weights."""

    state: State
    seed: np.uint64
    offer: Offer

    def among_all(self) -> int:
        """Let rows choose among all clusters; return the number of rows that moved."""
        state, offer = self.state, self.offer
        labels, data = state.partition.labels, state.rows.arrays

        def work(begin: int) -> int:
            rows = np.arange(begin, min(begin + _TASK, len(labels)), dtype=np.int32)
            return choose_among_all(self.seed, offer, data, 0, rows, labels, Room.of(offer))

        return sum(state.threads.map(work, range(0, len(labels), _TASK)))

    def among_candidates(self, candidates: int, refresh: int) -> int:
        """Let rows choose among the candidates of their cells; return the number of rows that moved."""
        state, offer = self.state, self.offer
        labels, data, n_candidates = state.partition.labels, state.rows.arrays, min(candidates, len(offer.slots))
        cells: Cells = state.hashed.tables(CellFamily(), state.sweep, refresh)

        def work(span: tuple[int, int]) -> int:
            return choose_among_candidates(
                self.seed, offer, data, cells.order, cells.begins, *span, n_candidates, labels, Room.of(offer)
            )

        return sum(state.threads.map(work, shared_out(np.diff(cells.begins), _TASK)))


def offer_to_others(state: State, seed: np.uint64) -> Offer:
    """The clusters of a state as other rows may choose them, given drawn parameters: none has a leader.

    Label c stands for the cluster in ``state.used[c]``.
    """
    generator = numpy_generator(int(seed), 1)
    density = state.component.draw_density(state.model, state.statistics(state.used), generator)
    k = state.n_clusters
    anyone = Leaders(np.zeros(k, np.uint64), np.arange(k, dtype=np.int32))
    return make_offer(anyone, density, np.log(state.sizes), k)


def assign_rows(state: State, rows: Rows, seed: np.uint64, threads: Threads) -> np.ndarray:
    """Draw a cluster of a state for every one of other rows, given drawn parameters: where a chain on more rows may start."""
    offer = offer_to_others(state, seed)
    labels = np.zeros(rows.n_rows, np.int32)

    def work(begin: int) -> int:
        chosen = np.arange(begin, min(begin + _TASK, rows.n_rows), dtype=np.int32)
        return choose_among_all(seed, offer, rows.arrays, 0, chosen, labels, Room.of(offer))

    threads.map(work, range(0, rows.n_rows, _TASK))
    return labels


def _follow_labels(state: State, before: np.ndarray, moved: int) -> None:
    """Let members and statistics follow the labels: all of them again, or if few rows moved, those of the rows that did."""
    labels = state.partition.labels
    if isinstance(state.slots, DenseSlots) and moved > len(labels) // _FEW:
        regroup(state.partition, state.threads)
        state.refresh()
        return
    rows = np.flatnonzero(labels != before).astype(np.int32)
    into = labels[rows]
    labels[rows] = before[rows]
    state.move_rows(rows, into)
