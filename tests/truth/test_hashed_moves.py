"""Moves that hash are exact given any tables: few or many bits and tables, fixed or fresh, empty buckets, identical rows."""

from __future__ import annotations

from types import SimpleNamespace

import numba
import numpy as np
import pytest

import hashmix as hm
from hashmix.core.rng import integer, stream
from hashmix.hashing.chain_tables import ChainTables
from hashmix.hashing.tables import TableArrays
from hashmix.moves import Move
from hashmix.moves.composite import CompositeMove
from hashmix.moves.tally import PROPOSED, new_tally
from hashmix.testing import partitions
from tests.shared import COMPONENTS, DIAGONAL, PRIORS, OneOffer, assert_invariant, make_state, name
from tests.truth.test_counts import BERNOULLI, MULTINOMIAL, rows_for
from tests.truth.test_transition_matrices import DUPLICATES, ROWS

SHAPES = [(1, 1), (10, 1), (1, 10), (10, 10)]
KINDS = {
    "UrnMerge": lambda *shape: hm.moves.UrnMerge(*shape, refresh=None),
    "UrnMerge, minhash": lambda *shape: hm.moves.UrnMerge(*shape, refresh=None, family="minhash"),
    "DissimilarSplit": lambda *shape: hm.moves.DissimilarSplit(*shape, refresh=None),
    # Coins for buckets multiply its paths: three tables stand for many.
    "BucketSplit": lambda bits, tables: hm.moves.BucketSplit(bits, min(tables, 3), refresh=None),
    "BucketSplit, signs": lambda bits, tables: hm.moves.BucketSplit(bits, min(tables, 3), None, "sign-projection"),
    "BucketCut": lambda *shape: hm.moves.BucketCut(*shape, refresh=None),
    "UrnMerge, neighbours": lambda *shape: hm.moves.UrnMerge(*shape, refresh=None, family="neighbours"),
    "NeighbourMerge": lambda *shape: hm.moves.NeighbourMerge(*shape),
    "Exchange": lambda *shape: hm.moves.Exchange(*shape, refresh=None),
    "Exchange, neighbours": lambda *shape: hm.moves.Exchange(*shape, refresh=None, family="neighbours"),
    "BucketCut, signs": lambda *shape: hm.moves.BucketCut(*shape, refresh=None, family="sign-projection"),
}


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("kind", KINDS)
def test_bits_and_tables(kind, shape):
    move = KINDS[kind](*shape)
    for key in (1, 2):
        assert_invariant(move, ROWS[:4], DIAGONAL, PRIORS[1], key=key)
    assert_invariant(move, DUPLICATES, DIAGONAL, PRIORS[2], key=3)


def test_tables_of_the_shapes_above_have_empty_and_shared_buckets():
    mates = {}
    for n_bits in (1, 10):
        tables = ChainTables(ROWS[:4], 1).tables(hm.hashing.SignProjection(n_bits, 10, scale=True), 0, None)
        mates[n_bits] = [len(tables.mates(i, t)) for i in range(4) for t in range(10)]
    assert min(mates[10]) == 0 < max(mates[1])


class CutByGivenLists(hm.moves.BucketCut):
    """Cuts by short lists of neighbours: those of a few rows would be all others, which cut nothing."""

    LISTS = np.array([[0, 1], [1, 2], [2, 1], [3, 4], [4, 0]], np.int32)

    def tables(self, state):
        n = len(self.LISTS)
        begins = np.arange(n + 1, dtype=np.int64) * 2
        return SimpleNamespace(
            arrays=TableArrays(np.arange(n, dtype=np.int32)[:, None], begins, self.LISTS.ravel(), np.empty(0, np.int32))
        )


@pytest.mark.parametrize("hops", [1, 2, 3])
@pytest.mark.parametrize("component", COMPONENTS, ids=name)
def test_cuts_by_overlapping_neighbourhoods(component, hops):
    P = assert_invariant(CutByGivenLists(hops=hops), ROWS, component, PRIORS[1])
    from_one_cluster = [labels for labels, p in zip(partitions(5), P[0], strict=True) if p > 0.0 and max(labels) > 0]
    # By hand: how many cuts such neighbourhoods make of all rows, a set and its complement being one.
    expected = {1: 4, 2: 5, 3: 7}[hops]
    assert len(from_one_cluster) == expected
    assert all(max(labels) == 1 for labels in from_one_cluster)


@pytest.mark.parametrize("component", [*COMPONENTS, MULTINOMIAL, BERNOULLI], ids=name)
def test_exchange(component):
    rows = ROWS[:4] if component in COMPONENTS else rows_for(component)
    for prior in PRIORS:
        P = assert_invariant(hm.moves.Exchange(1, 2), rows, component, prior)
        k = np.array([max(labels) + 1 for labels in partitions(4)])
        assert (P[k[:, None] != k[None, :]] == 0.0).all()  # it keeps their number
        between = (k > 1) & (k < 4)
        assert (np.diagonal(P)[between] < 1.0 - 1e-9).all()


@pytest.mark.parametrize("family", ["sign-projection", "minhash", "neighbours"])
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_hashed_gibbs(shape, family):
    for n_mates in (1, 2, 16):
        move = hm.moves.HashedGibbs(*shape, n_mates=n_mates, refresh=None, family=family)
        for point in range(4):
            assert_invariant(OneOffer(move, point), ROWS[:4], DIAGONAL, PRIORS[1], key=point)
            assert_invariant(OneOffer(move, point), DUPLICATES, DIAGONAL, PRIORS[0], key=point)


@numba.njit
def draw(rng, n):
    return integer(rng, n)


class Fresh(Move):
    """A move whose hash functions are drawn anew for each proposal: from three, to be enumerated."""

    def __init__(self, move):
        self.move = move

    def run_units(self, rng, state, begin, end, tally):
        state.sweep = draw(rng, 3)
        return self.move.run_units(rng, state, begin, end, tally)


@pytest.mark.parametrize(
    "move",
    [
        hm.moves.UrnMerge(1, 2, refresh=1),
        hm.moves.DissimilarSplit(1, 2, refresh=1),
        hm.moves.BucketSplit(1, 2, refresh=1),
        hm.moves.Exchange(1, 2, refresh=1),
        hm.moves.BucketCut(1, 1, refresh=1, family="sign-projection"),
    ],
    ids=repr,
)
def test_fresh_tables(move):
    assert_invariant(Fresh(move), ROWS[:4], DIAGONAL, PRIORS[3])


def test_lshsm_as_a_whole():
    assert_invariant(hm.moves.LSHSM(1, 1), ROWS[:3], DIAGONAL, PRIORS[1])


def test_minsm_as_a_whole():
    # Part by part: all paths through five of them, one after another, are too many.
    P = np.eye(len(partitions(4)))
    for part in hm.moves.MinSM(1, 1).parts:
        P = P @ assert_invariant(part, ROWS[:4], DIAGONAL, PRIORS[1])
    assert (np.linalg.matrix_power(P, 4) > 0.0).all()


def test_parts_of_a_composite_have_rates(monkeypatch):
    applied = []
    monkeypatch.setattr(Move, "apply", lambda part, state, rng, times, stop: applied.append(times) or new_tally())
    for times, expected in ((20, [20, 60, 20, 2, 2]), (1, [1, 3, 1, 1, 1])):
        applied.clear()
        hm.moves.MinSM().apply(None, None, times)
        assert applied == expected


def test_a_composite_resumes_where_it_stopped():
    X = np.random.default_rng(0).normal(size=(60, 2))
    indifferent = hm.components.DiagonalGaussian(mean=0.0, kappa=1e9, shape=1e9, rate=1e9)
    state = make_state(X, indifferent, hm.priors.DirichletProcess(1e6), np.zeros(60, int))
    move, counts, done, calls = hm.moves.MinSM(1, 2), new_tally(), 0, 0
    while done < 2000:
        state.ensure_spare()
        done = move.run_units(stream(5, calls), state, done, 2000, counts)
        calls += 1
    assert calls > 1  # free slots did run out
    assert counts[PROPOSED] <= 2000
    state.check()


def test_refresh_counts_sweeps():
    X = np.random.default_rng(0).normal(size=(50, 3))
    state = make_state(X, "gaussian", PRIORS[0], np.zeros(50, int), key=7)
    fixed, fresh = hm.moves.UrnMerge(refresh=None), hm.moves.UrnMerge(refresh=2)
    fixed_tables = fixed.tables(state)
    seen = []
    for sweep in range(5):
        state.sweep = sweep
        seen.append(fresh.tables(state))
        assert fixed.tables(state) is fixed_tables
    assert seen[0] is seen[1]
    assert seen[2] is seen[3]
    buckets = [seen[k].arrays.buckets for k in (0, 2, 4)]
    assert not np.array_equal(buckets[0], buckets[1])
    assert not np.array_equal(buckets[1], buckets[2])


def test_chains_have_tables_of_their_own_and_seeds_are_kept():
    X = np.random.default_rng(0).normal(size=(60, 3))
    one, two = (ChainTables(X, key).tables(hm.hashing.SignProjection(), 0, None).arrays for key in (1, 2))
    assert not np.array_equal(one.buckets, two.buckets)
    moves = [(hm.moves.MinSM(), 3), (hm.moves.LSHSM(), 3)]
    draws = [hm.sample(X, "gaussian", "auto", moves, n_draws=5, n_chains=2, random_state=0, n_jobs=jobs) for jobs in (1, 2)]
    assert np.array_equal(draws[0].labels, draws[1].labels)


@pytest.mark.parametrize("move", [hm.moves.LSHSM(4, 4), hm.moves.MinSM(1, 4), hm.moves.HashedGibbs(4, 4)], ids=repr)
def test_statistics_stay_true_on_larger_data(move, three_blobs):
    X, _ = three_blobs
    component = "gaussian" if isinstance(move, CompositeMove) else "gaussian-full"
    state = make_state(X, component, PRIORS[0], np.arange(60) % 7)
    for sweep in range(30):
        state.sweep = sweep
        move.apply(state, stream(3, sweep), 5)
        state.check(1e-8)


@pytest.mark.parametrize("n", [1, 2])
def test_one_and_two_rows(n):
    X = np.array([[0.5, 1.0], [0.7, -1.0]])[:n]
    moves = [(hm.moves.LSHSM(), 2), (hm.moves.MinSM(), 2), (hm.moves.HashedGibbs(), 1)]
    assert hm.sample(X, DIAGONAL, PRIORS[0], moves, n_draws=4, random_state=0).labels.shape == (1, 4, n)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: hm.moves.LSHSM(n_bits=0), "'n_bits' parameter of LSHSM must be an integer from 1 to 64. Got 0"),
        (lambda: hm.moves.MinSM(n_tables=0), "'n_tables' parameter of MinSM must be an integer ≥ 1. Got 0"),
        (lambda: hm.moves.LSHSM(n_bits=65), "'n_bits' parameter of LSHSM must be an integer from 1 to 64. Got 65"),
        (lambda: hm.moves.HashedGibbs(n_mates=0), "'n_mates' parameter of HashedGibbs must be an integer ≥ 1"),
        (lambda: hm.moves.UrnMerge(refresh=0), "'refresh' parameter of UrnMerge must be an integer ≥ 1"),
        (lambda: hm.moves.UrnMerge(family="lsh"), "'family' parameter of UrnMerge must be one of"),
    ],
)
def test_bad_input(make, message):
    with pytest.raises(ValueError, match=message):
        make()
