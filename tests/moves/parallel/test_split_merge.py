"""Parallel split–merge: against a slow reference, backwards, by long chains, and in threads."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csr_matrix

import hashmix as hm
from hashmix.core.rng import numpy_generator, stream
from hashmix.core.threads import one_blas_thread
from hashmix.moves import resolve_moves
from hashmix.moves.parallel import split_merge as module
from hashmix.moves.parallel.pairs import Pairs, disjoint_pairs
from hashmix.moves.parallel.split_merge import ParallelSplitMerge
from hashmix.moves.tally import ACCEPTED, PROPOSED, SPLITS_ACCEPTED, SPLITS_PROPOSED, new_tally
from hashmix.partition.state import State
from hashmix.partition.target import Target
from hashmix.priors.contract import log_sizes_ratios
from tests.components.test_densities import draw
from tests.moves.parallel.test_gibbs import (
    DP,
    EVERY,
    FINITE,
    FLAT,
    LIMIT,
    PITMAN_YOR,
    assert_same_for_all_threads,
    canonical,
    cases,
    data_for,
    largest_z,
    many_rows,
    run_broken,
    uniform,
    z_of_fault,
)
from tests.shared import COMPONENTS, DIAGONAL, FULL, MIXED, PRIORS, make_state, name
from tests.truth.test_counts import BERNOULLI, MULTINOMIAL, POISSON

SEED = np.uint64(77)
PASS = 8


def some_rows(component, n=24):
    rng = np.random.default_rng(7)
    if component in COMPONENTS:
        return rng.normal(size=(n, 2)) + 3.0 * (np.arange(n) % 2)[:, None]
    X = rng.poisson(1.0, size=(n, 5))
    if component is MIXED:
        mixed = np.column_stack([rng.normal(size=n), rng.integers(0, 3, n), rng.integers(0, 2, n), X[:, 0]]).astype(float)
        mixed[rng.random(mixed.shape) < 0.2] = np.nan
        return MIXED.rows(mixed)
    return csr_matrix(X > 0 if component is BERNOULLI else X)


#: Clusters of 8, 3, 3, 8 and 2 rows, and pairs of anchors: splits of the first and the fourth, a merge of two, a lone pair.
LABELS = np.array([0, 0, 1, 3, 3, 2, 0, 3, 1, 0, 3, 4, 2, 0, 3, 0, 1, 3, 2, 0, 3, 4, 0, 3])
ANCHORS = np.array([[0, 9], [2, 5], [4, 23], [11, 21]]).T


class Recorded:
    """Proposals of given pairs, some of them accepted: what was asked about them."""

    def __init__(self, monkeypatch, move, state, accept, seed=SEED):
        u, v = ANCHORS
        labels = state.partition.labels
        # Uniform numbers are so small that no merge is left out as hopeless.
        pairs = Pairs(u, v, labels[u].copy(), labels[v].copy(), np.full(len(u), -1e300))
        monkeypatch.setattr(move, "_draw_pairs", lambda state, seed: pairs)

        def decide(state, pairs, sizes, gains, log_q):
            self.pairs, self.sizes, self.gains, self.log_q = pairs, sizes, gains, log_q
            return np.flatnonzero(accept)

        monkeypatch.setattr(module, "accept", decide)
        self.before = state.labels()
        move._propose(state, seed, new_tally())
        monkeypatch.undo()
        state.check(1e-8)


# ---- a slow, obvious reference ---------------------------------------------------------------------------------------------


def reference(state, n_passes, seed=SEED):
    """Sides of all proposals (0 for u's, 1 for v's, −1 for other rows), and log q of each, from the labels alone."""
    component, model, labels = state.component, state.model, state.partition.labels
    proposal, current = np.full(state.n_rows, -1), np.full(state.n_rows, -1)
    for b, (u, v) in enumerate(ANCHORS.T):
        members = (labels == labels[u]) | (labels == labels[v])
        proposal[members], current[members] = b, (labels != labels[u])[members]
    merges = labels[ANCHORS[0]] != labels[ANCHORS[1]]
    anchors, rows = ANCHORS.ravel(), np.flatnonzero(proposal >= 0)
    sides, log_q = np.full(state.n_rows, -1), np.zeros(ANCHORS.shape[1])
    alone = component.statistics(model, state.rows.take(anchors), np.arange(len(anchors)), len(anchors))
    log_p = component.log_predictives(model, alone, state.rows)
    for i in rows:
        sides[i] = log_p[i, ANCHORS.shape[1] + proposal[i]] > log_p[i, proposal[i]]
    sides[ANCHORS[0]], sides[ANCHORS[1]] = 0, 1
    for number in range(n_passes + 1):
        generator = numpy_generator(int(seed), 2 + number)
        numbered = 2 * proposal[rows] + sides[rows]
        stats = component.statistics(model, state.rows.take(rows), numbered, 2 * ANCHORS.shape[1])
        log_f = component.log_densities(draw(component, model, stats, generator)[1], state.rows)
        log_f = log_f + np.log(generator.standard_gamma(np.bincount(numbered)))
        for i in np.setdiff1d(rows, anchors):
            b = proposal[i]
            for_u = log_f[i, 2 * b] - log_f[i, 2 * b + 1]
            probability = 1.0 / (1.0 + np.exp(-for_u))
            sides[i] = 0 if uniform(seed, PASS + number, i) < probability else 1
            if number == n_passes:
                sides[i] = current[i] if merges[b] else sides[i]
                log_q[b] += np.log(probability if sides[i] == 0 else 1.0 - probability)
    return sides, log_q, proposal, merges


@pytest.mark.parametrize("n_passes", [0, 2])
@pytest.mark.parametrize("component", EVERY, ids=name)
def test_sides_and_their_probability_against_the_reference(component, n_passes, monkeypatch):
    target = Target.of(some_rows(component), component, DP)
    move, accept = ParallelSplitMerge("uniform", n_passes), np.array([True, True, True, False])
    state = State(target, LABELS)
    with one_blas_thread():
        sides, log_q, proposal, merges = reference(state, n_passes)
    expected = state.partition.labels.copy()
    for b in np.flatnonzero(accept):
        of_b = proposal == b
        expected[of_b] = 100 + 2 * b + (0 if merges[b] else sides[of_b])
    recorded = Recorded(monkeypatch, move, state, accept)
    assert recorded.pairs.is_split.tolist() == (~merges).tolist() == [True, False, True, True]
    np.testing.assert_allclose(recorded.log_q, log_q, rtol=1e-6, atol=1e-5)
    assert state.labels().tolist() == canonical(expected.tolist())


# ---- the way back ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("anchors", ["within", "uniform"])
@pytest.mark.parametrize("n_passes", [0, 1, 3])
@pytest.mark.parametrize("component", EVERY, ids=name)
def test_what_was_split_is_merged_with_the_inverse_ratio(component, n_passes, anchors, monkeypatch):
    state = make_state(some_rows(component), component, PITMAN_YOR, LABELS)
    move, accept = ParallelSplitMerge(anchors, n_passes), np.array([True, False, True, False])
    there = Recorded(monkeypatch, move, state, accept)
    back = Recorded(monkeypatch, move, state, accept)
    assert there.pairs.is_split.tolist() == [True, False, True, True]
    assert back.pairs.is_split.tolist() == [False, False, False, True]
    np.testing.assert_allclose(back.log_q, there.log_q, rtol=1e-8, atol=1e-8)
    np.testing.assert_allclose(back.gains[accept], -there.gains[accept], rtol=1e-8, atol=1e-8)
    np.testing.assert_array_equal(back.sizes[accept], there.sizes[accept])
    assert state.labels().tolist() == there.before.tolist()


@pytest.mark.parametrize("prior", PRIORS, ids=name)
def test_ratios_are_those_of_the_joint_law(prior, monkeypatch):
    """Proposals are accepted one after the other: each ratio is that of the joint law at its turn."""
    X = some_rows(DIAGONAL)
    move, accept = ParallelSplitMerge("within", 1), module.accept
    recorded = Recorded(monkeypatch, move, make_state(X, DIAGONAL, prior, LABELS), np.ones(4, bool))
    turns = [make_state(X, DIAGONAL, prior, LABELS)]
    for b in range(4):
        state = make_state(X, DIAGONAL, prior, LABELS)
        Recorded(monkeypatch, move, state, np.arange(4) <= b)
        turns.append(state)
    joint = np.array([state.log_joint() for state in turns])
    log_ratios = np.diff(joint) + np.where(recorded.pairs.is_split, -1.0, 1.0) * recorded.log_q
    for b in range(4):
        for shift in (-1e-7, 1e-7):
            log_uniform = np.where(np.arange(4) < b, -1e300, np.where(np.arange(4) == b, log_ratios[b] + shift, 1e300))
            pairs = recorded.pairs._replace(log_uniform=log_uniform)
            accepted = accept(turns[0], pairs, recorded.sizes, recorded.gains, recorded.log_q)
            assert accepted.tolist() == list(range(b + (shift < 0.0)))


@pytest.mark.parametrize("prior", PRIORS, ids=name)
def test_no_merge_with_hope_is_left_out(prior):
    """The bound is no less than any ratio that a merge may have: q = 1, and the number of clusters that suits it best."""
    state = make_state(some_rows(DIAGONAL), DIAGONAL, prior, LABELS)
    labels = state.partition.labels
    u, v = np.array([0, 2, 5, 3]), np.array([9, 11, 18, 0])
    for log_anchors in (ParallelSplitMerge("within")._log_anchors, ParallelSplitMerge("uniform")._log_anchors):
        pairs = Pairs(u, v, labels[u], labels[v], np.full(4, -1e300))
        _, gains = module.without_hopeless_merges(state, pairs, log_anchors)
        sizes = np.column_stack([state.partition.sizes[pairs.of_u], state.partition.sizes[pairs.of_v]])
        log_v = state.target.prior.log_v
        for b in (1, 3):
            for k in range(2, state.n_clusters + 2):
                together = log_anchors(state.n_rows, sizes[b : b + 1].sum(axis=1))[0]
                sizes_ratio = log_sizes_ratios(state.target.prior, sizes[b : b + 1, 0], sizes[b : b + 1, 1])[0]
                log_ratio = gains[b] - sizes_ratio - (log_v[k] - log_v[k - 1]) - together
                tried = pairs._replace(log_uniform=np.full(4, log_ratio - 1e-9))
                assert b in np.flatnonzero(np.isin(u, module.without_hopeless_merges(state, tried, log_anchors)[0].u))


# ---- pairs -----------------------------------------------------------------------------------------------------------------


def nowhere():
    return np.zeros(0, np.int32), np.zeros(0, np.int64), np.zeros(0, np.int32)


def test_the_law_of_anchors_within_clusters():
    """A pair of two rows of one cluster, and of two clusters: as often as the ratio says."""
    n_draws, expected = 60_000, []
    for labels, u_and_v, p in (((0, 0, 0, 0, 1), {0}, 0.9 / 5 / 3), ((0, 1, 1, 0, 2), {0, 1}, 0.1 / 5 / 5)):
        partition = make_state(data_for(DIAGONAL, 5), DIAGONAL, DP, labels).partition
        drawn = (disjoint_pairs(np.uint64(s), 1, True, *nowhere(), partition)[0] for s in range(n_draws))
        found = sum(pair.shape[1] == 1 and {pair[2, 0], pair[3, 0]} == u_and_v for pair in drawn)
        n_pairs = 4 * 3 if len(u_and_v) == 1 else 2 * 2 * 2
        assert abs(found - n_draws * n_pairs * p) < 4.5 * np.sqrt(n_draws * n_pairs * p)
        expected.append(p)
    ratio = ParallelSplitMerge("within")._log_anchors(5, np.array([4]))[0]
    assert abs(ratio - np.log(expected[1] / expected[0])) < 1e-12
    assert ParallelSplitMerge("uniform")._log_anchors(5, np.array([4]))[0] == 0.0


@pytest.mark.parametrize("anchors", ["within", "near", "uniform"])
def test_pairs_are_disjoint_and_the_same_on_the_way_back(anchors, monkeypatch):
    monkeypatch.setattr(module, "_NEAR", 5)
    rng, n = np.random.default_rng(8), 300
    target = Target.of(rng.normal(size=(n, 2)), DIAGONAL, DP)
    hashed, splits, merges = State(target, np.zeros(n, int)).hashed, 0, 0
    for s in range(60):
        labels = rng.integers(12, size=n)
        move, seed = ParallelSplitMerge(anchors), np.uint64(s)
        pairs = move._draw_pairs(State(target, labels, hashed), seed)
        clusters = np.concatenate([pairs.of_u, pairs.of_v[~pairs.is_split]])
        assert len(set(clusters.tolist())) == len(clusters)
        assert (pairs.u != pairs.v).all()
        splits, merges = splits + pairs.is_split.sum(), merges + (~pairs.is_split).sum()
        if anchors == "within":
            continue  # the second row of a pair is drawn from the cluster of the first
        # Carry out some of them, any division will do: the same pairs are left, of the other kind.
        done = rng.random(len(pairs.u)) < 0.5
        for b in np.flatnonzero(done):
            union = np.isin(labels, labels[[pairs.u[b], pairs.v[b]]])
            labels[union] = 1000 + 2 * b + (pairs.is_split[b] & (rng.random(n) < 0.5))[union]
            labels[pairs.v[b]] = 1000 + 2 * b + pairs.is_split[b]
            labels[pairs.u[b]] = 1000 + 2 * b
        again = move._draw_pairs(State(target, labels, hashed), seed)
        np.testing.assert_array_equal(again.u, pairs.u)
        np.testing.assert_array_equal(again.v, pairs.v)
        np.testing.assert_array_equal(again.log_uniform, pairs.log_uniform)
        np.testing.assert_array_equal(again.is_split, pairs.is_split ^ done)
    assert min(splits, merges) > 20


# ---- with parameters and all: long chains ----------------------------------------------------------------------------------

HERE = [
    ("within", 1, [(DIAGONAL, PITMAN_YOR), (FULL, DP), (MULTINOMIAL, FLAT)]),
    ("within", 0, [(POISSON, FINITE)]),
    ("near", 1, [(DIAGONAL, FINITE)]),
    ("near", 0, [(BERNOULLI, DP)]),
    ("uniform", 1, [(DIAGONAL, FLAT), (FULL, PITMAN_YOR)]),
    ("uniform", 0, [(DIAGONAL, DP)]),
]
CHAINS = [
    pytest.param(anchors, n_passes, *case.values, id=f"{anchors}-{n_passes}-{case.id}", marks=case.marks)
    for anchors, n_passes, some in HERE
    for case in cases(some)
]


@pytest.mark.parametrize(("anchors", "n_passes", "component", "prior", "n_steps"), CHAINS)
def test_long_chains(anchors, n_passes, component, prior, n_steps, monkeypatch):
    monkeypatch.setattr(module, "_NEAR", 2)
    moves = [ParallelSplitMerge(anchors, n_passes), hm.moves.SAMS()]
    assert largest_z(moves, data_for(component, 5), component, prior, n_steps)[0] < LIMIT


@pytest.mark.parametrize(("component", "prior", "n_steps"), cases([(DIAGONAL, PITMAN_YOR), (FULL, FINITE), (MULTINOMIAL, DP)]))
def test_the_auto_schedule(component, prior, n_steps, monkeypatch):
    monkeypatch.setattr(module, "_NEAR", 2)
    moves = [move for move, _ in resolve_moves("auto")]
    assert largest_z(moves, data_for(component, 5), component, prior, n_steps // 2)[0] < LIMIT


# ---- threads ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("anchors", ["within", "near", "uniform"])
def test_draws_do_not_depend_on_the_number_of_threads(anchors):
    X, truth = many_rows()
    component = hm.components.DiagonalGaussian(0.0, 0.01, 3.0, 2.0)
    labels = canonical((truth // 3 * 2 + (anchors != "within") * (np.arange(len(X)) % 2)).tolist())
    assert_same_for_all_threads(ParallelSplitMerge(anchors), X, component, labels)


def test_one_cluster_falls_into_its_parts():
    X, _ = many_rows(3000, 12, 12.0)
    state = make_state(X, hm.components.DiagonalGaussian(0.0, 0.001, 3.0, 2.0), DP, np.zeros(3000, int))
    tally = ParallelSplitMerge().apply(state, stream(0), 12)
    state.check(1e-6)
    assert state.n_clusters >= 8
    assert tally[SPLITS_PROPOSED] <= tally[PROPOSED]
    assert tally[SPLITS_ACCEPTED] - (tally[ACCEPTED] - tally[SPLITS_ACCEPTED]) == state.n_clusters - 1


# ---- the rest --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("component", [DIAGONAL, MULTINOMIAL], ids=name)
def test_compiling_changes_nothing(component):
    state = make_state(some_rows(component), component, DP, LABELS)
    before = state.labels(), state.log_joint()
    ParallelSplitMerge().compile(state)
    np.testing.assert_array_equal(state.labels(), before[0])
    assert state.log_joint() == before[1]


@pytest.mark.parametrize("n", [1, 2])
@pytest.mark.parametrize("anchors", ["within", "near", "uniform"])
def test_one_and_two_rows(anchors, n):
    moves = [(ParallelSplitMerge(anchors), 1)]
    draws = hm.sample(data_for(DIAGONAL, n), DIAGONAL, DP, moves, n_draws=4, random_state=0)
    assert draws.labels.shape == (1, 4, n)


def test_bad_input():
    with pytest.raises(ValueError, match="'anchors' parameter of ParallelSplitMerge must be"):
        ParallelSplitMerge("far")
    with pytest.raises(ValueError, match="'n_passes' parameter of ParallelSplitMerge must be an integer ≥ 0"):
        ParallelSplitMerge(n_passes=-1)


# ---- faults ----------------------------------------------------------------------------------------------------------------

FAULTS = {
    "conflicting pairs are kept": ({"if touched[of_u]:": "if False:", "if touched[of_v] or (": "if ("}, "uniform", 1),
    "a pair is dropped by its outcome": (
        {"if pairs.log_uniform[b] < log_ratio:": "if pairs.log_uniform[b] < log_ratio and (~split | (sizes[:, 0] > 1))[b]:"},
        "uniform",
        1,
    ),
    "the ratio of anchors is left out": ({'if self.anchors != "within":': "if True:"}, "within", 1),
    "the launch of a merge looks at the division": (
        {"side = 1 if log_predictive(model, anchors, 2 * b + 1, row) > of_u else 0": "side = segments.sides[at]"},
        "uniform",
        0,
    ),
    "the recorded pass of a merge is not forced": ({"else ~pairs.is_split": "else pairs.is_split & False"}, "uniform", 0),
    "nothing": ({}, "uniform", 0),
    "nothing, within": ({}, "within", 1),
}


@pytest.mark.slow
@pytest.mark.parametrize("fault", FAULTS)
def test_fault_is_caught(fault, tmp_path):
    changes, anchors, n_passes = FAULTS[fault]
    z = z_of_fault(tmp_path, changes, f"ParallelSplitMerge({anchors!r}, {n_passes})")
    assert (z < LIMIT) if fault.startswith("nothing") else (z > 8.0), z


#: Faults too small for a chain of five rows, and the test that sees them.
SMALL_FAULTS = {
    "K does not follow acceptances": ({"k += 1 if split[b] else -1": "k += 0"}, "test_ratios_are_those_of_the_joint_law"),
    "a coin for a merge splits": (
        {"if u == v or (merges and of_u == of_v):": "if u == v:"},
        "test_the_law_of_anchors_within_clusters",
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("fault", SMALL_FAULTS)
def test_small_fault_is_caught(fault, tmp_path):
    changes, test = SMALL_FAULTS[fault]
    ran = run_broken(tmp_path, changes, "-m", "pytest", "-q", "-p", "no:cacheprovider", f"{__file__}", "-k", test)
    assert ran.returncode == pytest.ExitCode.TESTS_FAILED, ran.stdout
    assert "Error" not in ran.stdout.replace("AssertionError", ""), ran.stdout
