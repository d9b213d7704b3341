"""Moves in regions: by exact transition matrices, by long chains, and in threads."""

from __future__ import annotations

import itertools
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest

import hashmix as hm
from hashmix.components.counts.word_slots import WordSlots
from hashmix.core.compiling import implements
from hashmix.core.rng import integer, stream
from hashmix.core.threads import Threads
from hashmix.moves.allocation import SEQUENTIAL, Allocation
from hashmix.moves.anchored import Anchored
from hashmix.moves.anchors import draw_anchors
from hashmix.moves.parallel import in_regions as module
from hashmix.moves.parallel.in_regions import InRegions, run_tasks, share_units
from hashmix.moves.parallel.regions_sharing import share_out
from hashmix.moves.tally import ACCEPTED, PROPOSED, SPLITS_ACCEPTED, WORK
from hashmix.partition.members import MOVED, Bounds
from hashmix.partition.state import State
from hashmix.partition.target import Target
from hashmix.testing import exact_posterior, partitions
from tests.moves.parallel.test_regions import EVERY, ROWS, SEEDS, STEP, canonical, coins, data_for, largest_z, many_rows, mix
from tests.shared import DIAGONAL, PRIORS, always, name
from tests.truth.test_counts import MULTINOMIAL

HASHED = {"n_bits": 1, "n_tables": 2, "refresh": None}
MOVES = [
    hm.moves.UrnMerge(**HASHED),
    hm.moves.UrnMerge(**HASHED, start="cluster"),
    hm.moves.NeighbourMerge(n_bits=4, n_tables=1),
    hm.moves.BucketCut(**HASHED, hops=2),
    hm.moves.WithinSplit(),
    hm.moves.WithinSplit(launch="nearest"),
    hm.moves.Gibbs(n_points=1),
    hm.moves.SingletonMerge(),
    hm.moves.SingletonMerge(2),
    hm.moves.HashedGibbs(**HASHED, n_mates=2),
    hm.moves.RandomSplitMerge(),
    hm.moves.SAMS(),
    hm.moves.RGSM(n_scans=0),
    hm.moves.RGSM(n_scans=1),
    hm.moves.RGSM(n_scans=1, launch="nearest"),
    hm.moves.SDDS(),
    hm.moves.DissimilarSplit(**HASHED),
    hm.moves.BucketSplit(**HASHED),
    hm.moves.EnvelopeCut(),
    hm.moves.Exchange(**HASHED),
]
KEEP_K = (hm.moves.Exchange,)
#: Seed and colour for which a row that may not lead ranks before one leader and after another that joins its cluster: whether
#: leaders are kept up to date shows with two updates.
NEW_LEADER = np.uint64(16), 1


class GivenSeed(hm.moves.Move):
    """A unit or more in some regions, with the ranks and colours of a seed; the choices are those of the generator."""

    def __init__(self, move, seed, which, n_units=1):
        self.move, self.seed, self.which, self.n_units = move, seed, which, n_units

    def run_units(self, rng, state, begin, end, tally):
        colours = coins(self.seed, state.n_rows)
        regions = share_out(state, self.seed, colours.__getitem__)
        tasks = share_units(state, self.seed, regions, 0)
        for task in tasks:
            task.rng, task.units = rng, self.n_units if task.region in self.which else 0
        run_tasks(self.move, state, Bounds(self.seed, colours, 0, regions.ranks), tasks)
        return end


def invariance_error(move, seed, X, component, prior, which=(0,), n_units=1):
    """How far a unit or more of a move in some regions, given a seed, is from leaving the posterior invariant."""
    P = hm.testing.transition_matrix(GivenSeed(move, seed, which, n_units), X, component, prior)
    pi = np.array(list(exact_posterior(X, component, prior).values()))
    return abs(pi @ P - pi).max(), P


# ---- given ranks and colours, exact ------------------------------------------------------------------------------------------


USUAL = list(zip([DIAGONAL] * 2 + [MULTINOMIAL] * 2, PRIORS, strict=True))
OTHERS = [pytest.param(*pair, marks=pytest.mark.slow) for pair in itertools.product(EVERY, PRIORS) if pair not in USUAL]


@pytest.mark.parametrize("move", MOVES, ids=name)
@pytest.mark.parametrize(("component", "prior"), USUAL + OTHERS, ids=name)
def test_transition_matrices(component, prior, move):
    X = data_for(component, 4)
    k = np.array([max(labels) + 1 for labels in partitions(4)])
    splits = merges = stays = 0.0
    for seed, region in zip(SEEDS[:2], (0, 1), strict=True):
        error, P = invariance_error(move, seed, X, component, prior, (region,))
        assert abs(P.sum(axis=1) - 1.0).max() < 1e-12
        assert error < 1e-12
        splits += P[k[:, None] < k[None, :]].sum()
        merges += P[k[:, None] > k[None, :]].sum()
        stays += np.diagonal(P).sum()
    assert stays < 2 * len(k) - 1e-9
    assert (splits > 0.0) == (merges > 0.0) == (not isinstance(move, KEEP_K))


@pytest.mark.parametrize("prior", PRIORS[:2], ids=name)
def test_transition_matrices_of_two_regions_at_once(prior):
    for move in (MOVES[0], MOVES[6]):
        assert invariance_error(move, SEEDS[2], ROWS[:4], DIAGONAL, prior, (0, 1))[0] < 1e-12
    for seed, region in ((SEEDS[0], 0), NEW_LEADER):
        assert invariance_error(MOVES[6], seed, ROWS[:4], DIAGONAL, prior, (region,), n_units=2)[0] < 1e-12


UNIFORM = [move for move in MOVES if type(move) in (hm.moves.RandomSplitMerge, hm.moves.SAMS, hm.moves.RGSM, hm.moves.SDDS)]


@pytest.mark.parametrize("move", UNIFORM, ids=name)
def test_in_a_region_a_move_is_the_move_on_its_rows(move):
    """A slow, obvious reference: the matrix for the rows of a region alone, without what gives it other leaders."""
    seed, prior = SEEDS[0], PRIORS[0]
    colours, ranks = coins(seed, 4), [mix(int(seed) + (i + 1) * STEP) for i in range(4)]
    P, every, n_several = invariance_error(move, seed, ROWS[:4], DIAGONAL, prior)[1], partitions(4), 0

    def led(rows, labels):
        clusters = [[i for i, c in zip(rows, labels, strict=True) if c == label] for label in set(labels)]
        return [(colours[min(members, key=ranks.__getitem__)], members) for members in clusters]

    for before, labels in enumerate(every):
        rows = sorted(i for colour, members in led(range(4), labels) if colour == 0 for i in members)
        expected = np.zeros(len(every))
        if rows:
            small, n_several = partitions(len(rows)), n_several + (len(rows) > 1)
            alone = hm.testing.transition_matrix(move, ROWS[rows], DIAGONAL, prior)
            for p, proposed in zip(alone[small.index(tuple(canonical([labels[i] for i in rows])))], small, strict=True):
                after = list(labels)
                for i, c in zip(rows, proposed, strict=True):
                    after[i] = 10 + c
                if all(colour == 0 for colour, _ in led(rows, proposed)):
                    expected[every.index(tuple(canonical(after)))] += p
        expected[before] += 1.0 - expected.sum()
        np.testing.assert_allclose(P[before], expected, atol=1e-12)
    assert n_several > 3


class Neighbouring(NamedTuple):
    """Anchors that are neighbours in an order of all rows: either may be a row of another region."""

    order: np.ndarray


@implements(draw_anchors, Neighbouring, argument=1)
def _draw_anchors(rng, anchors, partition):
    k = integer(rng, len(anchors.order) - 1)
    return anchors.order[k], anchors.order[k + 1]


class NeighbouringSplit(hm.moves.Proposal):
    works_in_parts = True

    def law(self, state):
        return Anchored(Neighbouring(np.array([2, 0, 3, 1])), Allocation(SEQUENTIAL))


def test_anchors_may_be_rows_of_other_regions():
    for seed in SEEDS[:3]:
        error, P = invariance_error(NeighbouringSplit(), seed, ROWS[:4], DIAGONAL, PRIORS[1], (0, 1))
        assert error < 1e-12
        assert (np.diagonal(P) < 1.0 - 1e-9).any()


def test_transition_matrices_of_five_rows():
    assert invariance_error(MOVES[3], SEEDS[3], ROWS, DIAGONAL, PRIORS[1])[0] < 1e-12


# ---- with seeds and all: long chains ---------------------------------------------------------------------------------------


class TwoColours(InRegions):
    """A few rows would be one region. Here every row has one of two colours, by a coin of the sweep."""

    def colours(self, state):
        state.sweep += 1
        return coins(state.sweep, state.n_rows)

    def _n_colours(self, state):
        return 2


@pytest.mark.parametrize("component", always(("DirichletMultinomial",), [DIAGONAL, MULTINOMIAL]), ids=name)
@pytest.mark.parametrize("n_steps", [4_000, pytest.param(100_000, marks=pytest.mark.slow)])
def test_long_chains(component, n_steps):
    for prior, move in zip(PRIORS, [MOVES[m] for m in (0, 3, 4, 8)], strict=True):
        assert largest_z(TwoColours(move), data_for(component, 5), component, prior, n_steps) < 4.0


# ---- threads ---------------------------------------------------------------------------------------------------------------

TABLES = {"n_bits": 32, "n_tables": 4, "refresh": None, "family": "neighbours"}
PROPOSALS = [
    (hm.moves.UrnMerge(**TABLES), 3000),
    (hm.moves.NeighbourMerge(n_tables=4), 300),
    (hm.moves.BucketCut(**TABLES, hops=3), 600),
    (hm.moves.WithinSplit(), 150),
    (hm.moves.HashedGibbs(**TABLES), 1),
    (hm.moves.RandomSplitMerge(), 300),
    (hm.moves.SAMS(), 150),
    (hm.moves.RGSM(n_scans=1), 150),
    (hm.moves.SDDS(), 150),
    (hm.moves.DissimilarSplit(n_bits=2), 150),
    (hm.moves.BucketSplit(), 150),
    (hm.moves.EnvelopeCut(), 300),
    (hm.moves.Exchange(**TABLES), 150),
]


def after_moves(X, component, prior, labels, n_threads):
    target = Target.of(X, component, prior)
    state = State(target, labels, threads=Threads(n_threads))
    tallies = [InRegions(move, n_tables=4, n_regions=9).apply(state, stream(2, m), n) for m, (move, n) in enumerate(PROPOSALS)]
    state.check(1e-6)
    return state, np.array(tallies)


def rough_labels(truth):
    """Every cluster cut at random, and every second pair of them together."""
    rng = np.random.default_rng(2)
    return canonical((truth // 2 * 4 + np.where(truth % 4 < 2, truth % 2, 0) * 2 + rng.integers(2, size=len(truth))).tolist())


@pytest.mark.parametrize("prior", PRIORS[:2], ids=name)
@pytest.mark.parametrize("sparse", [False, True])
def test_draws_do_not_depend_on_the_number_of_threads(sparse, prior):
    X, truth = many_rows(sparse)
    component = hm.components.DirichletMultinomial(0.05) if sparse else hm.components.DiagonalGaussian(0.0, 0.01, 3.0, 2.0)
    labels = rough_labels(truth)
    one, tallies = after_moves(X, component, prior, labels, 1)
    assert tallies[:, ACCEPTED].sum() > 100
    assert tallies[:, SPLITS_ACCEPTED].sum() > 5
    assert (tallies[:, WORK] >= tallies[:, PROPOSED]).all()
    assert one.partition.counters[MOVED] > 1000
    for n_threads in (2, 3, 5):
        other, others_tallies = after_moves(X, component, prior, labels, n_threads)
        np.testing.assert_array_equal(other.partition.labels, one.partition.labels)
        np.testing.assert_array_equal(others_tallies, tallies)
        np.testing.assert_array_equal(other.used, one.used)
        np.testing.assert_array_equal(other.slots.derived[other.used], one.slots.derived[one.used])
        np.testing.assert_array_equal(other.partition.pool[:3000], one.partition.pool[:3000])


def test_memory_that_runs_out_changes_nothing(monkeypatch):
    """Clusters are opened beyond the slots a region has, and the ranges of workers are short on purpose."""
    X, truth = many_rows(sparse=True)
    component, labels = hm.components.DirichletMultinomial(0.05), rough_labels(truth)
    rounds, run, shared_out = [], module._run_in_threads, WordSlots.for_workers
    monkeypatch.setattr(module, "_run_in_threads", lambda *given: rounds.append(len(given[3])) or run(*given))
    expected, _ = after_moves(X, component, PRIORS[0], labels, 1)
    usual = len(rounds)

    def short(slots, n, proposals=False):
        slots, views = shared_out(slots, n, proposals)
        for view in views:
            view.counters[0] = len(view.entries) - (17 << int(view.counters[1]))
        return slots, views

    monkeypatch.setattr(WordSlots, "for_workers", short)
    state, _ = after_moves(X, component, PRIORS[0], labels, 2)
    assert len(rounds) - usual > usual + 1
    np.testing.assert_array_equal(state.partition.labels, expected.partition.labels)
    np.testing.assert_array_equal(state.slots.derived[state.used], expected.slots.derived[expected.used])


class WatchedCut(hm.moves.EnvelopeCut):
    """Keeps all laws it makes."""

    def law(self, state):
        self.laws = [*getattr(self, "laws", []), super().law(state)]
        return self.laws[-1]


def test_threads_do_not_share_the_buffers_of_a_law():
    X, truth = many_rows(sparse=False)
    state, move = State(Target.of(X, DIAGONAL_3, PRIORS[0]), rough_labels(truth), threads=Threads(3)), WatchedCut()
    InRegions(move, n_tables=4, n_regions=9).apply(state, stream(2), 300)
    assert len(move.laws) == 3
    assert not any(np.shares_memory(one.values, other.values) for one, other in itertools.combinations(move.laws, 2))


def test_regions_without_slots_get_more(monkeypatch):
    X, truth = many_rows(sparse=False)
    component, deal, found = hm.components.DiagonalGaussian(0.0, 0.01, 3.0, 2.0), module.deal_slots, []
    for n_threads in (1, 3):
        deals = []
        monkeypatch.setattr(module, "deal_slots", lambda *given, deals=deals: deals.append(1) or deal(*given))
        state = State(Target.of(X, component, PRIORS[0]), canonical((truth // 8).tolist()), threads=Threads(n_threads))
        InRegions(hm.moves.WithinSplit(launch="nearest"), n_tables=4, n_regions=3).apply(state, stream(3), 500)
        state.check(1e-6)
        assert len(deals) > 1
        assert state.n_clusters > 12
        found.append(state.partition.labels)
    np.testing.assert_array_equal(found[0], found[1])


def test_few_rows_are_one_region():
    X, truth = many_rows(sparse=False)
    target = Target.of(X[:300], DIAGONAL_3, PRIORS[0])
    one, other = (State(target, canonical(truth[:300].tolist())) for _ in range(2))
    move = hm.moves.UrnMerge(**TABLES)
    tally = move.apply(one, stream(4), 200)
    np.testing.assert_array_equal(InRegions(move).apply(other, stream(4), 200), tally)
    np.testing.assert_array_equal(one.partition.labels, other.partition.labels)


DIAGONAL_3 = hm.components.DiagonalGaussian(0.0, 0.01, 3.0, 2.0)


def test_bad_input():
    with pytest.raises(ValueError, match="'move' parameter of InRegions must be a move that works in parts of a partition"):
        InRegions(hm.moves.PublishedMinSM())
    with pytest.raises(ValueError, match="'n_regions' parameter of InRegions must be an integer ≥ 1"):
        InRegions(hm.moves.UrnMerge(), n_regions=0)


# ---- faults ----------------------------------------------------------------------------------------------------------------

ROOT = Path(__file__).parent.parent.parent.parent
FAULTS = {
    "a split is accepted though the new leader has another colour": (
        "partition/bounds.py",
        "return bounds.colours[i] == bounds.colour",
        "return True",
        "hm.moves.WithinSplit()",
    ),
    "an anchor cannot lead its side": (
        "partition/bounds.py",
        "least_a = rank_of(seed, u) if u >= 0 else _MOST",
        "least_a = _MOST",
        "hm.moves.SAMS()",
    ),
    "a row that moves is not bound by colours": (
        "moves/conditional.py",
        "if is_bounded(partition) and not permits_move(partition, i, slot):",
        "if slot < 0:",
        "hm.moves.Exchange(**HASHED)",
    ),
    "a leader leaves to an heir of another colour": (
        "partition/bounds.py",
        "if not _may_lead(bounds, heir):",
        "if i < 0:",
        "hm.moves.Gibbs(n_points=1)",
    ),
    "who leads is not kept up to date": (
        "partition/bounds.py",
        "ranks[slot] = rank if opens else min(rank, ranks[slot])",
        "ranks[slot] = rank if opens else ranks[slot]",
        "hm.moves.Gibbs(n_points=1)",
    ),
    "a region is taken from labels": (
        "moves/parallel/regions_sharing.py",
        "if rank_of(seed, i) == ranks[labels[i]]:",
        "if True:",
        "hm.moves.RGSM(n_scans=0)",
    ),
    "clusters of other regions are forgotten": (
        "moves/parallel/in_regions.py",
        "log_v[task.others :]",
        "log_v[0:]",
        "hm.moves.RandomSplitMerge()",
    ),
    "anchors count the rows of all regions": (
        "moves/anchored.py",
        "n, k = n_rows(arrays.partition), n_clusters(arrays.partition)",
        "n, k = len(arrays.partition.labels), n_clusters(arrays.partition)",
        "hm.moves.WithinSplit()",
    ),
    "a dart counts the rows of all regions": (
        "moves/hashed/envelope_cut.py",
        "(one + other) * m / n_rows(arrays.partition)",
        "(one + other) * m / len(arrays.partition.labels)",
        "hm.moves.EnvelopeCut()",
    ),
    "nothing": ("moves/driver.py", "import math", "import math", "hm.moves.SAMS()"),
}
CHECK = """
from tests.moves.parallel.test_in_regions import *
move, given = {move}, (ROWS[:4], DIAGONAL, PRIORS[1])
n_units = 2 if isinstance(move, hm.moves.Gibbs) else 1
regions = (SEEDS[0], 0), (SEEDS[1], 1), NEW_LEADER
print(max(invariance_error(move, seed, *given, (r,), n_units)[0] for seed, r in regions))
"""


@pytest.mark.slow
@pytest.mark.parametrize("fault", FAULTS)
def test_fault_is_caught(fault, tmp_path):
    file, right, wrong, move = FAULTS[fault]
    package = tmp_path / "hashmix"
    shutil.copytree(Path(hm.__file__).parent, package, ignore=shutil.ignore_patterns("__pycache__"))
    source = (package / file).read_text()
    assert source.count(right) == 1
    (package / file).write_text(source.replace(right, wrong))
    environment = {**os.environ, "PYTHONPATH": str(tmp_path), "HASHMIX_CACHE": "0"}
    ran = subprocess.run(
        [sys.executable, "-c", CHECK.format(move=move)], env=environment, cwd=ROOT, capture_output=True, text=True, check=True
    )
    error = float(ran.stdout)
    assert (error < 1e-12) if fault == "nothing" else (error > 1e-6), error


def test_with_few_rows_the_move_is_applied_as_it_is():
    X = np.concatenate([np.linspace(0.0, 1.0, 300), np.linspace(9.0, 10.0, 300)])[:, None]
    component, prior = hm.components.DiagonalGaussian(5.0, 0.1, 2.0, 0.1), hm.priors.DirichletProcess(1.0)
    drawn = {}
    for move in (hm.moves.Gibbs(), InRegions(hm.moves.Gibbs(), fewest_rows=601), InRegions(hm.moves.Gibbs(), fewest_rows=600)):
        state = State(Target.of(X, component, prior), np.arange(600) // 100)
        move.apply(state, stream(3))
        drawn[repr(move)] = state.labels().tolist()
    alone, few, enough = drawn.values()
    assert alone == few != enough
