"""Whatever moves come in whatever order, the partition and its statistics stay consistent: for every component and prior."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_matrix

import hashmix as hm
from hashmix.components import resolve_component
from hashmix.core.rng import numpy_generator, stream
from hashmix.core.threads import Threads, one_blas_thread
from hashmix.data.mixed import Column, MixedRows
from hashmix.moves.tally import ACCEPTED, PROPOSED
from hashmix.partition.state import State
from hashmix.partition.target import Target
from tests.shared import MOVES, PRIORS

HASHED = {"n_bits": 2, "n_tables": 2}


class InFourRegions(hm.moves.InRegions):
    """Regions of a few rows: by default there would be a single one."""

    def _n_colours(self, state):
        return 4


COMPOSITE = [hm.moves.LSHSM(2, 2), hm.moves.MinSM(1, 2), hm.moves.HashedGibbs(**HASHED), hm.moves.Exchange(1, 2)]
IN_REGIONS = [InFourRegions(move) for move in [*MOVES, hm.moves.HashedGibbs(**HASHED)] if move.works_in_parts]
PARALLEL = [
    hm.moves.ParallelGibbs(),
    hm.moves.ParallelGibbs(candidates=2),
    hm.moves.ParallelSplitMerge("within"),
    hm.moves.ParallelSplitMerge("near"),
    hm.moves.RegionGibbs(n_mates=2, **HASHED),
]
ALL = [*MOVES, *COMPOSITE, *PARALLEL, *IN_REGIONS]
#: What other tests compile for Gaussians and counts anyway.
FEW = [
    hm.moves.Gibbs(),
    hm.moves.SAMS(),
    hm.moves.SingletonMerge(),
    hm.moves.HashedGibbs(**HASHED),
    hm.moves.ParallelGibbs(),
    hm.moves.RegionGibbs(n_mates=2, **HASHED),
    InFourRegions(hm.moves.UrnMerge(**HASHED)),
]
FAMILIES = ["gaussian", "gaussian-full", "multinomial", "poisson", "bernoulli", "categorical", "mixed"]


def rows_of(family, n, rng):
    """Rows in about four groups, with blanks where a family takes them."""
    group = rng.integers(0, 4, n)
    if family.startswith("gaussian"):
        return rng.normal(size=(n, 2)) + 3.0 * group[:, None]
    if family in ("multinomial", "poisson", "bernoulli"):
        counts = rng.poisson(np.where(np.arange(12) % 4 == group[:, None], 2.0, 0.2))
        return csr_matrix(counts > 0 if family == "bernoulli" else counts)
    words = ["ape", "bee", "cat", "dog"]
    categories = [Column("animal", "categorical", tuple(words)), Column("colour", "categorical", ("red", "blue"))]
    values = np.column_stack([group, rng.integers(0, 2, n)]).astype(float)
    if family == "mixed":
        categories += [Column("size", "numeric"), Column("ill", "binary", ("no", "yes")), Column("visits", "count")]
        more = [rng.normal(size=n) + 3.0 * group, rng.random(n) < 0.2 + 0.2 * group, rng.poisson(1.0 + group)]
        values = np.column_stack([values, *more])
    values[rng.random(values.shape) < 0.1] = np.nan
    return MixedRows(values, categories)


def sequences(moves):
    """What may happen to a state: moves, and what the chain does between them; how often, and with which seed."""
    step = st.sampled_from(moves) | st.sampled_from(["learn", "settle", "concentration", "refresh", "rebuild", "grow"])
    return st.lists(st.tuples(step, st.integers(1, 12), st.integers(0, 2**20)), min_size=1, max_size=12)


def take(state, step, times, seed):
    """One step; a move's tally must add up."""
    if isinstance(step, hm.moves.Move):
        scan = step.units(state) > 1
        tally = step.apply(state, stream(seed), 1 if scan else times)
        assert 0 <= tally[ACCEPTED] <= tally[PROPOSED]
    elif step == "learn":
        state.learn(numpy_generator(seed))
    elif step == "concentration":
        drawn = state.prior.update_concentration(state.concentration, state.n_rows, state.n_clusters, numpy_generator(seed))
        state.set_concentration(drawn)
    elif step == "grow":
        state.grow(state.capacity + times)
    else:
        getattr(state, step)()
    state.sweep += 1


def assert_invariants(family, steps, prior, n, seed):
    rng = np.random.default_rng(seed)
    resolved = resolve_component(family, rows_of(family, n, rng))
    target = Target.of(resolved.rows, resolved.component, prior)
    state = State(target, rng.integers(0, int(rng.integers(1, n + 1)), n), threads=Threads(2))
    with one_blas_thread():
        for step, times, of_step in steps:
            take(state, step, times, of_step)
            state.check(1e-7)
            assert np.isfinite(state.log_joint())
            assert state.sizes.min() >= 1
            assert state.sizes.sum() == n
    same = State(target, state.labels())
    same.restore(state.labels(), state.concentration, state.model)
    assert same.log_joint() == pytest.approx(state.log_joint(), rel=1e-9)


SETTINGS = {"deadline": None, "suppress_health_check": list(HealthCheck), "derandomize": True}
CASES = (st.sampled_from([*PRIORS, hm.priors.DirichletProcess()]), st.integers(5, 60), st.integers(0, 2**20))


@settings(max_examples=60, **SETTINGS)
@given(sequences(MOVES), *CASES)
def test_any_moves_of_gaussians(steps, prior, n, seed):
    assert_invariants("gaussian", steps, prior, n, seed)


@pytest.mark.parametrize("family", ["multinomial", "mixed"])
@settings(max_examples=25, **SETTINGS)
@given(sequences(FEW), *CASES)
def test_a_few_moves_of_other_components(family, steps, prior, n, seed):
    assert_invariants(family, steps, prior, n, seed)


@pytest.mark.slow
@pytest.mark.parametrize("family", FAMILIES)
@settings(max_examples=300, **SETTINGS)
@given(sequences(ALL), *CASES)
def test_all_moves_of_all_components(family, steps, prior, n, seed):
    assert_invariants(family, steps, prior, n, seed)


def test_all_moves_are_there():
    every = [getattr(hm.moves, move) for move in hm.moves.__all__]
    exact = {move for move in every if isinstance(move, type) and issubclass(move, hm.moves.Move) and move.exact}
    listed = {base for move in ALL for base in type(move).__mro__}
    assert exact <= listed
