"""Collapsed Gibbs by regions: against a slow reference, by exact transition matrices, by long chains, and in threads."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from scipy.sparse import csr_matrix

import hashmix as hm
from hashmix.components.counts.word_slots import WordSlots
from hashmix.core.rng import stream
from hashmix.core.threads import Threads
from hashmix.moves.parallel import regions as module
from hashmix.moves.parallel.regions import STRAY, RegionGibbs, scan_region
from hashmix.moves.parallel.regions_colours import colour_rows
from hashmix.moves.tally import ACCEPTED, PROPOSED, WORK, new_tally
from hashmix.partition.members import MOVED, regroup
from hashmix.partition.state import State
from hashmix.partition.target import Target
from hashmix.testing import exact_posterior, partitions
from tests.shared import COMPONENTS, DIAGONAL, MIXED, MIXED_ROWS, PRIORS, always, make_state, name
from tests.truth.test_counts import BERNOULLI, COUNTS, MULTINOMIAL, POISSON

ROWS = np.array([[0.1, 0.4], [0.2, 0.3], [1.9, -0.6], [0.9, 1.3], [-1.0, 0.2]])
WORDS = np.concatenate([COUNTS, [[1, 1, 2, 0, 0]]])
EVERY = [*COMPONENTS, MULTINOMIAL, POISSON, BERNOULLI, MIXED]
SEEDS = [np.uint64(seed) for seed in (3, 17, 2**63 + 5, 99, 2**40)]
HASHED = {"n_bits": 1, "n_tables": 2, "n_mates": 2, "refresh": None}
FULL = HASHED | {"n_mates": None}


def data_for(component, n):
    if component in COMPONENTS:
        return ROWS[:n]
    if component is MIXED:
        return MIXED.rows(MIXED_ROWS).take(slice(n))
    return csr_matrix(WORDS[:n] > 0 if component is BERNOULLI else WORDS[:n])


class TwoColours(RegionGibbs):
    """A few rows would be one region. Here every row has one of two colours, by a coin of the seed."""

    def colours(self, state, seed, rows, n_colours):
        return coins(seed, state.n_rows)[rows]


def coins(seed, n):
    return np.random.default_rng(int(seed)).integers(2, size=n)


class GivenSeed(RegionGibbs):
    """One application with the ranks and colours of a seed; the choices are those of the generator."""

    def __init__(self, move, seed):
        self.move, self.seed = move, seed

    def run_units(self, rng, state, begin, end, tally):
        scan, found = self.move.find_regions(state, self.seed)
        for r in range(len(found.begins) - 1):
            scan_region(rng, scan, state.arrays, state.target, found.rows(r), found.slots(r), 0, tally)
        regroup(state.partition, state.threads)
        return end


# ---- given ranks and colours, the scan is exact ----------------------------------------------------------------------------


def invariance_error(move, seed, X, component, prior):
    """How far one application of a move, given a seed, is from leaving the posterior invariant."""
    P = hm.testing.transition_matrix(GivenSeed(move, seed), X, component, prior)
    pi = np.array(list(exact_posterior(X, component, prior).values()))
    return abs(pi @ P - pi).max(), P


@pytest.mark.parametrize("settings", [HASHED, FULL], ids=["hashed", "full"])
@pytest.mark.parametrize("prior", PRIORS, ids=name)
@pytest.mark.parametrize("component", always(("DiagonalGaussian", "DirichletMultinomial", "MixedColumns"), EVERY), ids=name)
def test_transition_matrices(component, prior, settings):
    X, moves = data_for(component, 4), 0
    for seed in SEEDS[:3]:
        error, P = invariance_error(TwoColours(**settings), seed, X, component, prior)
        assert error < 1e-12
        k = np.array([max(labels) + 1 for labels in partitions(4)])
        assert (P[k[:, None] != k[None, :]] == 0.0).all()  # it keeps their number
        moves += (np.diagonal(P) < 1.0 - 1e-9).sum()
    assert moves > 0


@pytest.mark.parametrize("n_mates", [4, None])
def test_transition_matrices_of_five_rows(n_mates):
    move = TwoColours(**HASHED | {"n_mates": n_mates, "family": "neighbours"})
    for seed in SEEDS:
        assert invariance_error(move, seed, ROWS, DIAGONAL, PRIORS[1])[0] < 1e-12


def test_one_region_of_all_clusters():
    for seed in SEEDS:
        assert invariance_error(RegionGibbs(**FULL), seed, ROWS, DIAGONAL, PRIORS[2])[0] < 1e-12


# ---- a slow, obvious reference ---------------------------------------------------------------------------------------------

MASK = 2**64 - 1
STEP, OTHER = 0x9E3779B97F4A7C15, 0xD1B54A32D192ED03


def mix(z):
    z &= MASK
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & MASK
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & MASK
    return z ^ (z >> 31)


class Uniforms:
    """The random numbers of one row."""

    def __init__(self, seed, i):
        self.key, self.drawn = mix(mix(seed + 2 * STEP) + (i + 1) * OTHER), 0

    def __call__(self):
        self.drawn += 1
        return (mix(self.key + self.drawn * STEP) >> 11) / 2**53


def reference(X, component, prior, labels, seed, colours, tables, n_mates):
    """One application, row by row, from the labels alone."""
    labels, seed, n = np.array(labels), int(seed), len(labels)
    rows = component.rows(X)
    model, weights_of = component.model(rows), prior.weights(n, n, prior.start_concentration)
    rank = [mix(seed + (i + 1) * STEP) for i in range(n)]
    leader = {c: min(np.flatnonzero(labels == c), key=lambda i: rank[i]) for c in set(labels.tolist())}
    region = {c: colours[leader[c]] for c in leader}
    region_of_row = [region[c] for c in labels]

    def log_weight(i, c):
        members = np.flatnonzero((labels == c) & (np.arange(n) != i))
        stats = component.statistics(model, rows.take(members), np.zeros(len(members), int), 1)
        joining = 0.0 if weights_of.flat else np.log(len(members) + weights_of.shift)
        return joining + component.log_predictives(model, stats, rows.take(np.array([i])))[0, 0]

    for i in sorted(range(n), key=lambda i: (region_of_row[i], i)):
        here = labels[i]
        if leader[here] == i:
            continue
        mine = sorted((c for c in leader if region[c] == region_of_row[i]), key=lambda c: rank[leader[c]])
        may_join = [c for c in mine if rank[leader[c]] < rank[i]]
        uniform = Uniforms(seed, i)
        if n_mates is None:
            candidates = may_join
        else:
            bucket = tables.buckets[i, int(uniform() * tables.buckets.shape[1])]
            bucket = tables.order[tables.begins[bucket] : tables.begins[bucket + 1]]
            if n_mates + 1 < len(bucket):
                bucket = np.roll(bucket, -int(uniform() * len(bucket)))[: n_mates + 1]
            mates = [j for j in bucket if j != i][:n_mates]
            found = [labels[j] for j in mates if region_of_row[j] == region_of_row[i]]
            candidates = list(dict.fromkeys(c for c in found if c in may_join))
        if not candidates:
            continue
        elsewhere = None
        if here not in candidates:
            elsewhere = here
        elif n_mates is not None and uniform() < STRAY:
            elsewhere = mine[int(uniform() * len(mine))]
            if elsewhere in candidates or elsewhere not in may_join:
                elsewhere = None
        if elsewhere is None and len(candidates) == 1:
            continue
        p = np.exp([log_weight(i, c) for c in candidates])
        if elsewhere is not None:
            odds = np.exp(log_weight(i, elsewhere)) / (STRAY / len(mine) * p.sum())
            odds = 1.0 / odds if elsewhere == here else odds
            if not (odds >= 1.0 or uniform() < odds):
                continue
        if elsewhere is None or elsewhere == here:
            below = np.cumsum(p) > uniform() * p.sum()
            labels[i] = candidates[int(below.argmax())]
        else:
            labels[i] = elsewhere
    return labels


def canonical(labels):
    return [list(dict.fromkeys(labels)).index(c) for c in labels]


def assert_same_as_reference(settings, X, component, prior, every, seeds):
    target, move, changed = Target.of(X, component, prior), TwoColours(**settings), 0
    hashed = State(target, every[0]).hashed
    for labels in every:
        for seed in seeds:
            state = State(target, labels, hashed)
            module._scan_regions(*move.find_regions(state, seed), state, new_tally())
            colours = coins(seed, len(labels))
            expected = reference(X, component, prior, labels, seed, colours, move.table_arrays(state), move.n_mates)
            assert state.labels().tolist() == canonical(expected.tolist())
            changed += canonical(expected.tolist()) != list(labels)
            state.check(1e-8)
    assert changed > 0


@pytest.mark.parametrize("settings", [HASHED, FULL], ids=["hashed", "full"])
@pytest.mark.parametrize("prior", PRIORS, ids=name)
@pytest.mark.parametrize("component", EVERY, ids=name)
def test_four_rows_against_the_reference(component, prior, settings):
    seeds = [np.uint64(stream(5, k).state[0]) for k in range(6)]
    assert_same_as_reference(settings, data_for(component, 4), component, prior, partitions(4), seeds)


@pytest.mark.parametrize("component", [DIAGONAL, MULTINOMIAL], ids=name)
def test_a_dozen_rows_against_the_reference(component):
    """Several tables, windows shorter than buckets, strays."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(12, 2)) if component is DIAGONAL else csr_matrix(rng.poisson(0.8, size=(12, 5)))
    every = [canonical(rng.integers(5, size=12).tolist()) for _ in range(8)]
    seeds = [np.uint64(stream(6, k).state[0]) for k in range(15)]
    for family in ("sign-projection", "neighbours"):
        settings = {"n_bits": 1, "n_tables": 3, "n_mates": 4, "refresh": None, "family": family}
        assert_same_as_reference(settings, X, component, PRIORS[0], every, seeds)


# ---- with seeds and all: long chains ---------------------------------------------------------------------------------------


def largest_z(move, X, component, prior, n_steps, n_batches=50):
    """The largest |z| of partition frequencies, by batch means, of a move and a row's full conditional in turn."""
    state = make_state(X, component, prior, np.zeros(5, int))
    helper = hm.moves.Gibbs(n_points=1)
    every = partitions(5)
    index = {labels: k for k, labels in enumerate(every)}
    counts = np.zeros((n_batches, len(every)))
    rng = stream(11)
    for step in range(n_steps):
        state.sweep = step
        move.apply(state, rng)
        helper.apply(state, rng)
        state.refresh_if_due()
        counts[step * n_batches // n_steps, index[tuple(state.labels().tolist())]] += 1
    shares = counts / counts.sum(axis=1, keepdims=True)
    exact = np.array(list(exact_posterior(X, component, prior).values()))
    # Batches of a rare partition hardly vary: its standard error is at least that of independent draws.
    error = np.maximum(shares.std(axis=0, ddof=1) / np.sqrt(n_batches), np.sqrt(exact * (1 - exact) / n_steps))
    return (abs(shares.mean(axis=0) - exact) / error)[exact * n_steps > 20].max()


@pytest.mark.parametrize("prior", PRIORS, ids=name)
@pytest.mark.parametrize("component", [DIAGONAL, MULTINOMIAL], ids=name)
@pytest.mark.parametrize("n_steps", [10_000, pytest.param(200_000, marks=pytest.mark.slow)])
def test_long_chains(component, prior, n_steps):
    # Batches of a short chain are correlated, which makes its standard errors too small.
    limit = 4.0 if n_steps > 100_000 else 5.0
    assert largest_z(TwoColours(**HASHED), data_for(component, 5), component, prior, n_steps) < limit


# ---- threads ---------------------------------------------------------------------------------------------------------------


def many_rows(sparse):
    rng = np.random.default_rng(1)
    truth = rng.integers(40, size=3000)
    if not sparse:
        return rng.normal(size=(40, 3))[truth] * 5 + rng.normal(size=(3000, 3)), truth
    topics = rng.dirichlet(np.full(2000, 0.02), size=40)
    return csr_matrix(np.stack([rng.multinomial(30, topics[t]) for t in truth])), truth


def after_scans(X, component, labels, n_threads, n_mates, times=4):
    target = Target.of(X, component, PRIORS[0])
    state = State(target, labels, threads=Threads(n_threads))
    move = RegionGibbs(n_bits=32, n_tables=4, n_mates=n_mates, refresh=None, family="neighbours", n_regions=9)
    tally = move.apply(state, stream(2), times)
    state.check(1e-6)
    return state, tally


@pytest.mark.parametrize("n_mates", [6, None])
@pytest.mark.parametrize("sparse", [False, True])
def test_draws_do_not_depend_on_the_number_of_threads(sparse, n_mates):
    X, truth = many_rows(sparse)
    component = hm.components.DirichletMultinomial(0.05) if sparse else hm.components.DiagonalGaussian(0.0, 0.01, 3.0, 2.0)
    labels = canonical((truth * 3 + np.random.default_rng(2).integers(3, size=3000)).tolist())
    one, tally = after_scans(X, component, labels, 1, n_mates)
    assert tally[ACCEPTED] > 100
    assert tally[WORK] >= tally[PROPOSED] >= tally[ACCEPTED]
    assert one.partition.counters[MOVED] == tally[ACCEPTED]
    for n_threads in (2, 3, 5):
        other, others_tally = after_scans(X, component, labels, n_threads, n_mates)
        np.testing.assert_array_equal(other.labels(), one.labels())
        np.testing.assert_array_equal(others_tally, tally)
        np.testing.assert_array_equal(other.slots.derived[other.used], one.slots.derived[one.used])
        np.testing.assert_array_equal(other.partition.pool[:3000], one.partition.pool[:3000])


def test_workers_that_run_full_go_on_with_a_longer_pool(monkeypatch):
    """Maps of many small clusters grow as rows move; the ranges of workers are short on purpose."""
    X, truth = many_rows(sparse=True)
    component = hm.components.DirichletMultinomial(0.05)
    labels = canonical((truth * 20 + np.arange(3000) % 20).tolist())
    expected, _ = after_scans(X, component, labels, 1, 6)

    rounds, scan = [], module._scan_in_threads
    monkeypatch.setattr(module, "_scan_in_threads", lambda *given: rounds.append(len(given[3])) or scan(*given))
    shared_out = WordSlots.for_workers

    def short(slots, n):
        slots, views = shared_out(slots, n)
        for view in views:
            view.counters[0] = len(view.entries) - (5 << int(view.counters[1]))
        return slots, views

    monkeypatch.setattr(WordSlots, "for_workers", short)
    state, _ = after_scans(X, component, labels, 2, 6)
    assert len(rounds) > 4 + 2  # more than one round per application
    np.testing.assert_array_equal(state.labels(), expected.labels())
    np.testing.assert_array_equal(state.slots.derived[state.used], expected.slots.derived[expected.used])


def test_the_pool_does_not_grow_with_applications():
    X, truth = many_rows(sparse=True)
    state = make_state(
        X, hm.components.DirichletMultinomial(0.05), PRIORS[0], canonical((truth * 2 + np.arange(3000) % 2).tolist())
    )
    state.threads = Threads(3)
    move = RegionGibbs(n_bits=32, n_tables=4, n_mates=6, refresh=None, family="neighbours", n_regions=9)
    move.apply(state, stream(3), 20)
    length = len(state.slots.entries)
    move.apply(state, stream(4), 100)
    assert len(state.slots.entries) <= 1.3 * length
    state.check(1e-6)


def test_compiling_changes_nothing():
    X, truth = many_rows(sparse=True)
    state = make_state(X, hm.components.DirichletMultinomial(0.05), PRIORS[0], canonical(truth.tolist()))
    before = state.labels(), state.log_joint()
    RegionGibbs(n_tables=2).compile(state)
    assert state.log_joint() == before[1]
    np.testing.assert_array_equal(state.labels(), before[0])


# ---- colours ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("sparse", [False, True])
def test_neighbours_mostly_have_one_colour(sparse):
    X, truth = many_rows(sparse)
    component = hm.components.DirichletMultinomial(0.05) if sparse else hm.components.DiagonalGaussian(0.0, 1.0, 2.0, 1.0)
    state = make_state(X, component, PRIORS[0], truth)
    tables = RegionGibbs(n_bits=32, n_tables=8, family="neighbours", refresh=None).table_arrays(state)
    mates = tables.order.reshape(3000, -1)[:, 1:]
    shares = []
    for seed in SEEDS:
        colours = colour_rows(state.hashed.rows, tables, seed, np.arange(3000), 10, Threads())
        assert set(np.unique(colours)) <= set(range(10))
        shares.append((colours[mates] == colours[:, None]).mean())
        some = np.random.default_rng(0).permutation(3000)[:50]
        of_some = colour_rows(state.hashed.rows, tables, seed, some, 10, Threads(2))
        np.testing.assert_array_equal(of_some, colours[some])
    assert np.mean(shares) > 0.6  # one in ten by chance


@pytest.mark.parametrize("n", [1, 2])
def test_one_and_two_rows(n):
    X = np.array([[0.5, 1.0], [0.7, -1.0]])[:n]
    moves = [(RegionGibbs(), 2), (hm.moves.Gibbs(), 1)]
    assert hm.sample(X, DIAGONAL, PRIORS[0], moves, n_draws=4, random_state=0).labels.shape == (1, 4, n)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: RegionGibbs(n_mates=0), "'n_mates' parameter of RegionGibbs must be an integer ≥ 1"),
        (lambda: RegionGibbs(n_regions=0), "'n_regions' parameter of RegionGibbs must be an integer ≥ 1"),
        (lambda: RegionGibbs(n_bits=0), "'n_bits' parameter of RegionGibbs must be an integer from 1 to 64"),
    ],
)
def test_bad_input(make, message):
    with pytest.raises(ValueError, match=message):
        make()


# ---- faults ----------------------------------------------------------------------------------------------------------------

ROOT = Path(__file__).parent.parent.parent.parent
FAULTS = {
    "a row joins a cluster whose leader has a higher rank": (
        "return scan.ranks[slot] < rank_of(scan.seed, i)",
        "return scan.ranks[slot] != rank_of(scan.seed, i)",
    ),
    "a leader moves": ("if not _may_join(scan, here, i):", "if slots.sizes[here] == 1:"),
    "a cluster has the colour of its last row": ("if rank_of(seed, i) == ranks[labels[i]]:", "if True:"),
    "a worker reads another's labels": ("if scan.regions[mate] == scan.regions[i]:", "if True:"),
    "ranks depend on labels": (
        "leaders = find_leaders(seed, partition)",
        "seed = seed + np.uint64(state.sizes.max())\n    leaders = find_leaders(seed, partition)",
    ),
    "rows are visited cluster by cluster": (
        "clusters = leaders.order[",
        "order[:] = np.lexsort((partition.labels, regions))\n    clusters = leaders.order[",
    ),
    "a stray row joins the clusters of its mates for nothing": (
        "-log_odds if outside else log_odds",
        "0.0 if outside else log_odds",
    ),
    "the rate of strays is miscounted": ("rate = STRAY / len(clusters)", "rate = STRAY"),
    "a row's own label counts among those of its mates": ("if mate == i or seen == n_mates:", "if seen == n_mates:"),
    "nothing": ("import math", "import math"),
}
CHECK = """
from tests.moves.parallel.test_regions import *
moves = TwoColours(**HASHED), TwoColours(**FULL), RegionGibbs(**FULL)
print(max(invariance_error(move, seed, ROWS[:4], DIAGONAL, PRIORS[1])[0] for move in moves for seed in SEEDS))
"""


@pytest.mark.slow
@pytest.mark.parametrize("fault", FAULTS)
def test_fault_is_caught(fault, tmp_path):
    right, wrong = FAULTS[fault]
    package = tmp_path / "hashmix"
    shutil.copytree(Path(hm.__file__).parent, package, ignore=shutil.ignore_patterns("__pycache__"))
    files = [package / "moves" / "parallel" / name for name in ("regions.py", "regions_sharing.py")]
    file = files[right not in files[0].read_text()]
    source = file.read_text()
    assert source.count(right) == 1
    file.write_text(source.replace(right, wrong))
    environment = {**os.environ, "PYTHONPATH": str(tmp_path), "HASHMIX_CACHE": "0"}
    ran = subprocess.run([sys.executable, "-c", CHECK], env=environment, cwd=ROOT, capture_output=True, text=True, check=True)
    error = float(ran.stdout)
    assert (error < 1e-12) if fault == "nothing" else (error > 1e-6), error
