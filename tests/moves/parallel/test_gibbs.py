"""Parallel Gibbs: against a slow reference, by long chains, and in threads."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from scipy.sparse import csr_matrix
from scipy.special import logsumexp

import hashmix as hm
from hashmix.core.rng import numpy_generator, stream
from hashmix.core.threads import Threads, one_blas_thread
from hashmix.hashing.cells import CellFamily
from hashmix.moves.parallel import gibbs as module
from hashmix.moves.parallel.gibbs import ParallelGibbs, _Scan, make_offer
from hashmix.moves.parallel.seeds import draw_seed
from hashmix.moves.tally import ACCEPTED, PROPOSED
from hashmix.partition.leaders import find_leaders
from hashmix.partition.state import State
from hashmix.partition.target import Target
from hashmix.testing import exact_posterior, partitions
from tests.components.test_densities import draw
from tests.shared import COMPONENTS, DIAGONAL, FULL, MIXED, MIXED_ROWS, PRIORS, make_state, name
from tests.truth.test_counts import BERNOULLI, COUNTS, MULTINOMIAL, POISSON

ROWS = np.array([[0.1, 0.4], [0.2, 0.3], [1.9, -0.6], [0.9, 1.3], [-1.0, 0.2]])
WORDS = np.concatenate([COUNTS, [[1, 1, 2, 0, 0]]])
EVERY = [*COMPONENTS, MULTINOMIAL, POISSON, BERNOULLI, MIXED]
DP, PITMAN_YOR, FINITE, FLAT = PRIORS
#: w of a cluster of m rows is Gamma(m + shift); all are 1 for the flat prior.
SHIFTS = {"DirichletProcess": 0.0, "PitmanYor": -0.3, "MixtureOfFiniteMixtures": 0.8}


def data_for(component, n):
    if component in COMPONENTS:
        return ROWS[:n]
    if component is MIXED:
        return MIXED.rows(MIXED_ROWS).take(slice(n))
    return csr_matrix(WORDS[:n] > 0 if component is BERNOULLI else WORDS[:n])


def canonical(labels):
    number = {c: k for k, c in enumerate(dict.fromkeys(labels))}
    return [number[c] for c in labels]


@pytest.fixture
def small_cells(monkeypatch):
    """Cells of about three rows: a few rows would be one cell."""
    monkeypatch.setattr(module, "CellFamily", lambda: CellFamily(3))


# ---- a slow, obvious reference ---------------------------------------------------------------------------------------------


MASK = 2**64 - 1
STEP, OTHER = 0x9E3779B97F4A7C15, 0xD1B54A32D192ED03
DRAW, CHOOSE, STRAY = 1, 2, 3


def mix(z):
    z &= MASK
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & MASK
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & MASK
    return z ^ (z >> 31)


def rank_of(seed, i):
    return mix(int(seed) + (i + 1) * STEP)


def uniform(seed, purpose, i, number=0):
    place = mix(mix(int(seed) + (purpose + 1) * STEP) + (int(i) + 1) * OTHER)
    return ((mix(place + (number + 1) * STEP) >> 12) + 0.5) / 2**52


def reference(state, seed, candidates=None, cells=None):
    """The labels after one application with a seed, from the closed form of every row's law and its uniform number."""
    component, labels, n = state.component, state.partition.labels, state.n_rows
    rank = [rank_of(seed, i) for i in range(n)]
    leader = {c: min(np.flatnonzero(labels == c), key=rank.__getitem__) for c in set(labels.tolist())}
    clusters = sorted(leader, key=lambda c: rank[leader[c]])
    generator = numpy_generator(int(seed), 1)
    numbered = np.array([clusters.index(c) for c in labels])
    stats = component.statistics(state.model, state.rows, numbered, len(clusters))
    log_f = component.log_densities(draw(component, state.model, stats, generator)[1], state.rows)
    if name(state.prior) in SHIFTS:
        log_f = log_f + np.log(generator.standard_gamma(np.bincount(numbered) + SHIFTS[name(state.prior)]))
    after = labels.copy()
    for i in range(n):
        allowed = range(len(clusters)) if cells is None else candidates_of(i, log_f, seed, candidates, cells)
        if leader[labels[i]] == i or numbered[i] not in allowed:
            continue
        allowed = [c for c in allowed if rank[leader[clusters[c]]] < rank[i]]
        below = np.cumsum(np.exp(log_f[i, allowed] - logsumexp(log_f[i, allowed])))
        chosen = int(np.searchsorted(below, uniform(seed, DRAW, i), side="right"))
        after[i] = clusters[allowed[min(chosen, len(allowed) - 1)]]
    return after


def candidates_of(i, log_f, seed, n_candidates, cells):
    """Clusters that a few rows of the cell find likeliest, before two at random."""
    cell = int(np.searchsorted(cells.begins, np.flatnonzero(cells.order == i)[0], side="right")) - 1
    members = cells.order[cells.begins[cell] : cells.begins[cell + 1]]
    choosers = [members[int(uniform(seed, CHOOSE, cell, r) * len(members))] for r in range(4)]
    scores = (log_f[choosers] - log_f[choosers].max(axis=1, keepdims=True)).max(axis=0)
    for r in range(2):
        scores[int(uniform(seed, STRAY, cell, r) * len(scores))] = 1.0
    return np.flatnonzero(scores >= np.sort(scores)[-n_candidates])[:n_candidates].tolist()


def assert_same_as_reference(move, target, every, seeds):
    hashed, changed = State(target, every[0]).hashed, 0
    cells = None if move.candidates is None else hashed.tables(module.CellFamily(), 0, move.refresh)
    for labels in every:
        for k in seeds:
            state = State(target, labels, hashed)
            few = move.candidates is not None and move.candidates < state.n_clusters
            with one_blas_thread():
                expected = reference(state, draw_seed(stream(5, k)), move.candidates, cells if few else None)
            tally = move.apply(state, stream(5, k))
            np.testing.assert_array_equal(state.partition.labels, expected)
            assert tally[ACCEPTED] == (expected != labels).sum()
            assert tally[PROPOSED] == len(labels)
            changed += tally[ACCEPTED]
            state.check(1e-8)
    assert changed > 0


@pytest.mark.parametrize("prior", PRIORS, ids=name)
@pytest.mark.parametrize("component", EVERY, ids=name)
def test_four_rows_against_the_reference(component, prior):
    target = Target.of(data_for(component, 4), component, prior)
    assert_same_as_reference(ParallelGibbs(), target, partitions(4), range(12))


def test_all_orders_of_ranks_occur():
    orders = {tuple(np.argsort([rank_of(draw_seed(stream(5, k)), i) for i in range(3)])) for k in range(60)}
    assert len(orders) == 6


@pytest.mark.parametrize("candidates", [2, 4])
@pytest.mark.parametrize("component", [DIAGONAL, FULL, MULTINOMIAL], ids=name)
def test_candidates_against_the_reference(component, candidates, small_cells):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(14, 2)) if component in COMPONENTS else csr_matrix(rng.poisson(0.8, size=(14, 5)))
    every = [canonical(rng.integers(6, size=14).tolist()) for _ in range(6)]
    for prior in (PITMAN_YOR, FLAT):
        assert_same_as_reference(ParallelGibbs(candidates), Target.of(X, component, prior), every, range(8))


@pytest.mark.parametrize("component", COMPONENTS, ids=name)
def test_rows_that_float32_cannot_weigh(component):
    """Clusters of width 1e-3, three around each of three centres that are far apart: float32 is off by many nats."""
    rng = np.random.default_rng(1)
    site, n = np.arange(600) % 3, 600
    X = 10.0 * rng.normal(size=(3, 2))[site] + 1e-3 * rng.normal(size=(n, 2))
    narrow = (
        hm.components.DiagonalGaussian(0.0, 1e-9, 2.0, 1e-6)
        if component is DIAGONAL
        else hm.components.FullGaussian(0.0, 1e-9, 5.0, 3e-6)
    )
    every = [canonical((site * 3 + rng.integers(3, size=n)).tolist()) for _ in range(3)]
    assert_same_as_reference(ParallelGibbs(), Target.of(X, narrow, DP), every, range(3))


@pytest.mark.parametrize("candidates", [None, 20])
def test_many_clusters_against_the_reference(candidates, small_cells):
    """Those that are far are passed over in stretches."""
    rng = np.random.default_rng(4)
    truth = rng.integers(45, size=300)
    X = 3.0 * rng.normal(size=(45, 2))[truth] + 0.7 * rng.normal(size=(300, 2))
    component = hm.components.DiagonalGaussian(0.0, 0.05, 2.0, 0.5)
    every = [canonical(truth.tolist()), canonical(rng.integers(45, size=300).tolist())]
    assert_same_as_reference(ParallelGibbs(candidates), Target.of(X, component, DP), every, range(3))


def test_more_rows_than_a_task():
    rng = np.random.default_rng(2)
    X = np.concatenate([rng.normal(size=(9000, 1)), 5.0 + rng.normal(size=(200, 1))])
    component = hm.components.DiagonalGaussian(0.0, 0.1, 2.0, 1.0)
    labels = canonical(rng.integers(3, size=len(X)).tolist())
    assert_same_as_reference(ParallelGibbs(), Target.of(X, component, DP), [labels], [0])


# ---- candidates do not depend on labels ------------------------------------------------------------------------------------


def test_candidates_depend_on_no_label(small_cells):
    """Given parameters, weights and leaders, a row in one of its candidates draws the same cluster, and else it stays."""
    rng = np.random.default_rng(3)
    n, k, candidates = 12, 5, 3
    target = Target.of(rng.normal(size=(n, 2)), DIAGONAL, DP)
    hashed, stayed = State(target, np.zeros(n, int)).hashed, 0
    for s in range(10):
        seed = np.uint64(stream(6, s).state[0])
        by_rank = np.argsort([rank_of(seed, i) for i in range(n)])
        outcomes = [{} for _ in range(n)]
        offer = None
        for _ in range(60):
            labels = np.empty(n, int)
            for at, i in enumerate(by_rank):  # the first k rows lead
                labels[i] = at if at < k else rng.integers(k)
            state = State(target, labels, hashed)
            leaders = find_leaders(seed, state.partition)
            if offer is None:
                density = state.component.draw_density(state.model, state.statistics(leaders.order), rng)
                weights = np.log(rng.gamma(2.0, size=k))
            offer = make_offer(leaders, density, weights, state.capacity)
            _Scan(state, seed, offer).among_candidates(candidates, 50)
            for i in range(n):
                # Clusters by their leaders: slots are numbered by first appearance.
                before, after = labels[i], labels[by_rank[:k]][offer.columns[state.partition.labels[i]]]
                assert outcomes[i].setdefault(before, after) == after
        for i in by_rank[:k]:
            assert list(outcomes[i].items()) == [(labels[i], labels[i])]
        for i in by_rank[k:]:
            assert len(outcomes[i]) == k
            moved = {after for before, after in outcomes[i].items() if before != after}
            assert len(moved) <= 1
            assert all(outcomes[i][after] == after for after in moved)
            assert len([before for before, after in outcomes[i].items() if before != after]) < candidates
            stayed += len(moved) == 0
    assert stayed < 60


# ---- with parameters and all: long chains ----------------------------------------------------------------------------------


def largest_z(moves, X, component, prior, n_steps, n_batches=40, n_clusters=None):
    """The largest |z| of partition frequencies, by batch means, and their total variation from the exact posterior.

    If the moves keep the number of clusters, it is that posterior given the number.
    """
    state = make_state(X, component, prior, np.arange(5) % (n_clusters or 1))
    every = partitions(5)
    index = {labels: k for k, labels in enumerate(every)}
    counts = np.zeros((n_batches, len(every)))
    rng = stream(12)
    for step in range(n_steps):
        state.sweep = step
        for move in moves:
            move.apply(state, rng)
            state.refresh_if_due()
        counts[step * n_batches // n_steps, index[tuple(state.labels().tolist())]] += 1
    shares = counts / counts.sum(axis=1, keepdims=True)
    exact = np.array(list(exact_posterior(X, component, prior).values()))
    if n_clusters is not None:
        exact = np.where([max(labels) + 1 == n_clusters for labels in every], exact, 0.0)
        exact /= exact.sum()
    # Batches of a rare partition hardly vary: its standard error is at least that of independent draws.
    error = np.maximum(shares.std(axis=0, ddof=1) / np.sqrt(n_batches), np.sqrt(exact * (1 - exact) / n_steps))
    off, often = abs(shares.mean(axis=0) - exact), exact * n_steps > 20
    return (off[often] / error[often]).max(), off.sum() / 2


LIMIT = 4.5
SOME = [(DIAGONAL, PITMAN_YOR), (FULL, DP), (MULTINOMIAL, FINITE), (POISSON, FLAT), (BERNOULLI, PITMAN_YOR), (DIAGONAL, FLAT)]
ALL = [(component, prior) for component in EVERY for prior in PRIORS]


def cases(some):
    """Some cases with few draws (fewer of counts, which are slower), and all with many behind the slow marker."""
    few = [pytest.param(*case, 2500 if case[0] in COMPONENTS else 1000, id="-".join(map(name, case))) for case in some]
    many = [pytest.param(*case, 200_000, id="-".join(map(name, case)) + "-many", marks=pytest.mark.slow) for case in ALL]
    return few + many


@pytest.mark.parametrize(("component", "prior", "n_steps"), cases(SOME))
def test_long_chains(component, prior, n_steps):
    moves = [ParallelGibbs(), hm.moves.SAMS()]
    assert largest_z(moves, data_for(component, 5), component, prior, n_steps)[0] < LIMIT


@pytest.mark.parametrize("n_clusters", [2, 3])
@pytest.mark.parametrize(("component", "prior", "n_steps"), cases([(DIAGONAL, PITMAN_YOR), (FULL, FINITE)]))
def test_long_chains_with_no_helper(component, prior, n_steps, n_clusters):
    z, _ = largest_z([ParallelGibbs()], data_for(component, 5), component, prior, n_steps, n_clusters=n_clusters)
    assert z < LIMIT


@pytest.mark.parametrize(("component", "prior", "n_steps"), cases([(DIAGONAL, FINITE), (FULL, PITMAN_YOR), (MULTINOMIAL, DP)]))
def test_long_chains_with_candidates(component, prior, n_steps, small_cells):
    moves = [ParallelGibbs(candidates=2), hm.moves.SAMS()]
    assert largest_z(moves, data_for(component, 5), component, prior, n_steps)[0] < LIMIT


# ---- threads ---------------------------------------------------------------------------------------------------------------


def many_rows(n=30_000, k=20, spread=4.0):
    rng = np.random.default_rng(1)
    truth = rng.integers(k, size=n)
    return spread * rng.normal(size=(k, 4))[truth] + rng.normal(size=(n, 4)), truth


def after(move, X, component, labels, n_threads, times=2):
    state = State(Target.of(X, component, DP), labels, threads=Threads(n_threads))
    tally = move.apply(state, stream(2), times)
    state.check(1e-6)
    return state, tally


def assert_same_for_all_threads(move, X, component, labels):
    one, tally = after(move, X, component, labels, 1)
    assert tally[ACCEPTED] > 0
    for n_threads in (2, 3, 5):
        other, others_tally = after(move, X, component, labels, n_threads)
        np.testing.assert_array_equal(others_tally, tally)
        np.testing.assert_array_equal(other.partition.labels, one.partition.labels)
        np.testing.assert_array_equal(other.partition.pool[: len(X)], one.partition.pool[: len(X)])
        np.testing.assert_array_equal(other.slots.stats[other.used], one.slots.stats[one.used])
        np.testing.assert_array_equal(other.slots.derived[other.used], one.slots.derived[one.used])
    return tally


@pytest.mark.parametrize("candidates", [None, 8])
@pytest.mark.parametrize("many", [True, False])
def test_draws_do_not_depend_on_the_number_of_threads(candidates, many):
    """Many rows move, and statistics are collected again; or few do, and statistics are updated."""
    X, truth = many_rows(spread=4.0 if many else 12.0)
    component = hm.components.DiagonalGaussian(0.0, 0.01, 3.0, 2.0)
    mixed = np.where(np.arange(len(X)) % (5 if many else 100) == 0, np.random.default_rng(2).integers(20, size=len(X)), truth)
    tally = assert_same_for_all_threads(ParallelGibbs(candidates), X, component, canonical(mixed.tolist()))
    assert (tally[ACCEPTED] > len(X) // 20) == many


def test_a_run_does_not_depend_on_the_number_of_threads():
    X, _ = many_rows(20_000, 10)
    settings = {"moves": "auto", "n_draws": 6, "n_warmup": 10, "n_chains": 1, "random_state": 3}
    one, two = (hm.sample(X, n_jobs=n_jobs, **settings) for n_jobs in (1, 2))
    np.testing.assert_array_equal(one.labels, two.labels)
    np.testing.assert_array_equal(one.log_joint, two.log_joint)


# ---- the rest --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("candidates", [None, 2])
@pytest.mark.parametrize("component", [DIAGONAL, MULTINOMIAL], ids=name)
def test_compiling_changes_nothing(component, candidates):
    state = make_state(data_for(component, 5), component, DP, [0, 1, 2, 0, 1])
    before = state.log_joint()
    ParallelGibbs(candidates).compile(state)
    assert state.labels().tolist() == [0, 1, 2, 0, 1]
    np.testing.assert_allclose(state.log_joint(), before, rtol=1e-12)
    state.check(1e-8)


@pytest.mark.parametrize("n", [1, 2])
def test_one_and_two_rows(n):
    moves = [(ParallelGibbs(), 1), (ParallelGibbs(candidates=2), 1), (hm.moves.Gibbs(), 1)]
    assert hm.sample(ROWS[:n], DIAGONAL, DP, moves, n_draws=4, random_state=0).labels.shape == (1, 4, n)


def test_bad_input():
    with pytest.raises(ValueError, match="'candidates' parameter of ParallelGibbs must be an integer ≥ 2"):
        ParallelGibbs(candidates=1)
    with pytest.raises(ValueError, match="'refresh' parameter of ParallelGibbs must be an integer ≥ 1"):
        ParallelGibbs(refresh=0)


# ---- faults ----------------------------------------------------------------------------------------------------------------

ROOT = Path(__file__).parent.parent.parent.parent
#: Moves that keep the number of clusters, and that number: errors are larger with no other move to help.
ALL_ROWS, SOME_CLUSTERS = ("ParallelGibbs()", 2), ("ParallelGibbs(candidates=2)", 3)
PICK = "_pick_candidates(seed, offer, data, order, begin, end, cell, n_candidates, room"
FAULTS = {
    "no leaders": ({"if rank == ranks[own]:": "if False:", "m = _n_before(ranks, rank)": "m = len(columns)"}, *ALL_ROWS),
    "a leader moves": ({"if rank == ranks[own]:": "if rank == ranks[own] and own == 0:"}, *ALL_ROWS),
    "a row joins a cluster whose leader ranks after it": (
        {"m = _n_before(ranks, rank)": "m = len(columns)"},
        *ALL_ROWS,
    ),
    "ranks are drawn again if the largest cluster does not lead": (
        {
            "leaders = find_leaders(seed, state.partition)": "leaders = find_leaders(seed, state.partition)\n"
            "        while state.partition.sizes[leaders.order[0]] < state.sizes.max():\n"
            "            seed = seed + np.uint64(1)\n"
            "            leaders = find_leaders(seed, state.partition)"
        },
        *ALL_ROWS,
    ),
    "w has the wrong shape": ({"log_gammas(sizes + prior.shift,": "log_gammas(sizes,"}, *ALL_ROWS),
    "w is left out": ({"np.zeros(len(sizes)) if prior.flat else": "np.zeros(len(sizes)) if True else"}, *ALL_ROWS),
    "a row in no candidate joins one": (
        {
            "continue  # its cluster is no candidate": "own = -1",
            "if rank == ranks[own]:": "if rank == offer.ranks[offer.columns[labels[i]]] or _n_before(ranks, rank) == 0:",
        },
        *SOME_CLUSTERS,
    ),
    "clusters of two rows of a cell are candidates": (
        {
            f"def {PICK}, scores):": f"def {PICK}, scores, labels):",
            f"columns = {PICK}, scores)": f"columns = {PICK}, scores, labels)",
            "scores[int(uniform_at(address(seed, _STRAY, cell), r) * k)] = 1.0": "scores["
            "offer.columns[labels[order[begin + r % (end - begin)]]]] = 1.0",
        },
        *SOME_CLUSTERS,
    ),
    "nothing": ({}, *ALL_ROWS),
    "nothing, with candidates": ({}, *SOME_CLUSTERS),
}
CHECK = """
from tests.moves.parallel.test_gibbs import *
from tests.moves.parallel.test_split_merge import ParallelSplitMerge
module.CellFamily = lambda: CellFamily(3)
print(largest_z([{move}], ROWS, DIAGONAL, PITMAN_YOR, 200_000, n_clusters={n_clusters})[0])
"""


def run_broken(folder, changes, *command):
    """Run Python on a broken copy of the package: each string is in one file of the parallel moves."""
    package = folder / "hashmix"
    shutil.copytree(Path(hm.__file__).parent, package, ignore=shutil.ignore_patterns("__pycache__"))
    files = sorted((package / "moves/parallel").glob("*.py"))
    for right, wrong in changes.items():
        (file,) = (file for file in files if right in file.read_text())
        source = file.read_text()
        assert source.count(right) == 1, right
        file.write_text(source.replace(right, wrong))
    environment = {**os.environ, "PYTHONPATH": str(folder), "HASHMIX_CACHE": "0"}
    return subprocess.run([sys.executable, *command], env=environment, cwd=ROOT, capture_output=True, text=True, check=False)


def z_of_fault(folder, changes, move, n_clusters=None):
    """The largest |z| of a long chain of a broken copy of the package, or infinity if the chain breaks."""
    ran = run_broken(folder, changes, "-c", CHECK.format(move=move, n_clusters=n_clusters))
    z = float(ran.stdout) if ran.returncode == 0 else np.inf
    print(f"z = {z:.1f}", ran.stderr[-300:])
    return z


@pytest.mark.slow
@pytest.mark.parametrize("fault", FAULTS)
def test_fault_is_caught(fault, tmp_path):
    z = z_of_fault(tmp_path, *FAULTS[fault])
    assert (z < LIMIT) if fault.startswith("nothing") else (z > 8.0), z
