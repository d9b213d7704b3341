"""What several test files use: components, priors and moves to prove things for, and how to prove them."""

from __future__ import annotations

from dataclasses import replace

import numba
import numpy as np
import pytest

import hashmix as hm
from hashmix.components import Component, resolve_component
from hashmix.core.rng import bernoulli, integer
from hashmix.moves.composite import CompositeMove
from hashmix.partition.members import canonical_labels
from hashmix.partition.state import State
from hashmix.partition.target import Target
from hashmix.run.spread.clusters import Clusters
from hashmix.run.spread.singletons import Labels, propose
from hashmix.testing import exact_posterior, transition_matrix


def make_state(X, component, prior, labels, model=None, key=0):
    """A state; ``component`` may be a name, and ``model`` one made for other rows."""
    if not isinstance(component, Component):
        resolved = resolve_component(component, X)
        component, X = resolved.component, resolved.rows
    target = Target.of(X, component, prior)
    return State(target if model is None else replace(target, model=model), labels, key=key)


def assert_invariant(move, X, component, prior, key=0):
    """The exact transition matrix of a move leaves the exact posterior invariant, reversibly if the move is."""
    P = transition_matrix(move, X, component, prior, key=key)
    pi = np.array(list(exact_posterior(X, component, prior).values()))
    assert abs(P.sum(axis=1) - 1.0).max() < 1e-12
    assert abs(pi @ P - pi).max() < 1e-12
    # Scans and composites visit rows or parts in order: they leave π invariant without being reversible.
    if not isinstance(move, (hm.moves.Gibbs, hm.moves.HashedGibbs, CompositeMove)):
        flow = pi[:, None] * P
        assert abs(flow - flow.T).max() < 1e-12
    return P


class OneOffer(hm.moves.Move):
    """The update of one row by HashedGibbs: a whole scan has too many paths to enumerate. It is reversible."""

    def __init__(self, move, point):
        self.move, self.point = move, point

    def run_units(self, rng, state, begin, end, tally):
        self.move.run_units(rng, state, self.point, self.point + 1, tally)
        return end


class SpreadSingletons(hm.moves.Move):
    """The proposals of chains over shards about clusters of one row, as a move of rows in this process."""

    def __init__(self, n_proposals=1):
        self.n_proposals = n_proposals

    def run_units(self, rng, state, begin, end, tally):
        n, labels = state.n_rows, state.labels()
        table = state.component.statistics(state.model, state.rows, labels, labels.max() + 1)
        clusters = Clusters(state.component, state.prior, state.model, None, n, table)
        clusters.ensure(n)
        coins = [_coin_and_row(rng, n) for _ in range(self.n_proposals)]
        cuts, row_of = np.array([cut for cut, _ in coins]), np.array([row for _, row in coins])
        found = Labels(labels.astype(np.int32), np.arange(labels.max() + 1, dtype=np.int32))
        propose(rng, cuts, row_of, state.rows.arrays, found, n, clusters.slots, clusters.target)
        state.partition.labels[:] = canonical_labels(found.rows, len(clusters.slots.sizes))[0]  # all that the matrix looks at
        return end


@numba.njit
def _coin_and_row(rng, n):
    return bernoulli(rng, 0.5), integer(rng, n)


DIAGONAL = hm.components.DiagonalGaussian(mean=[0.3, -0.2], kappa=0.2, shape=1.3, rate=[0.4, 0.7])
FULL = hm.components.FullGaussian(mean=[0.1, 0.2], kappa=0.2, dof=3.5, scale=[[0.5, 0.1], [0.1, 0.8]])
COMPONENTS = [DIAGONAL, FULL]
# A number, three categories, yes/no and a count; every column has a blank, and one row has nothing else.
MIXED = hm.components.MixedColumns(
    {
        0: hm.components.DiagonalGaussian(mean=0.3, kappa=0.2, shape=1.3, rate=0.4),
        1: hm.components.Categorical(0.6),
        2: hm.components.BetaBernoulli(0.4, 0.9),
        3: hm.components.GammaPoisson(0.8, rate=0.5),
    }
)
NAN = float("nan")
MIXED_ROWS = np.array([[0.1, 2, 1, 3], [NAN, 2, NAN, 0], [1.9, NAN, 0, NAN], [NAN, NAN, NAN, NAN], [-1.0, 0, 1, 1]])
PRIORS = [
    hm.priors.DirichletProcess(0.7),
    hm.priors.PitmanYor(0.4, 0.3),
    hm.priors.MixtureOfFiniteMixtures(0.8, 1.5),
    hm.priors.Flat(),
]
MOVES = [
    hm.moves.Gibbs(),
    hm.moves.RandomSplitMerge(),
    hm.moves.SAMS(),
    hm.moves.RGSM(n_scans=0),
    hm.moves.RGSM(n_scans=1),
    hm.moves.RGSM(n_scans=1, launch="nearest"),
    hm.moves.SDDS(),
    hm.moves.SDDS(merge_weight="bayes-factor"),
    hm.moves.UrnMerge(n_bits=1, n_tables=2),
    hm.moves.UrnMerge(n_bits=1, n_tables=2, start="cluster"),
    hm.moves.DissimilarSplit(n_bits=1, n_tables=2),
    hm.moves.BucketSplit(n_bits=1, n_tables=2),
    hm.moves.BucketCut(n_bits=1, n_tables=2),
    hm.moves.EnvelopeCut(),
    OneOffer(hm.moves.HashedGibbs(n_bits=1, n_tables=1), 1),
    hm.moves.Gibbs(n_points=1),
    hm.moves.WithinSplit(),
    hm.moves.WithinSplit(launch="nearest"),
    hm.moves.NeighbourMerge(n_bits=4, n_tables=1),
    hm.moves.SingletonMerge(),
    hm.moves.SingletonMerge(2),
]


def always(chosen, things):
    """Parameters of a test: those with the chosen names always, the others among the slow tests.

    A kernel is compiled for every component, which takes most of the time of the suite. What a component adds is proved with
    some moves, and what a move adds with some components.
    """
    return [thing if name(thing).startswith(chosen) else pytest.param(thing, marks=pytest.mark.slow) for thing in things]


def name(thing) -> str:
    return type(thing).__name__ if not isinstance(thing, hm.moves.Move) else repr(thing)
