"""How often moves are applied is tuned by the work they count."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csr_matrix

import hashmix as hm
from hashmix.core.rng import stream
from hashmix.moves.tally import ACCEPTED, PROPOSED, WORK
from hashmix.moves.tuning import Tuner, Work
from tests.shared import make_state


class Counting(hm.moves.Move):
    """Does nothing but count: each application is some work, and more than was expected."""

    def __init__(self, work):
        self.work, self.calls = work, 0

    def units_per_call(self, state):
        return state.n_rows

    def run_units(self, rng, state, begin, end, tally):
        self.calls += 1
        tally[WORK] += self.work * (end - begin)
        return end


@pytest.mark.parametrize("each", [1, 4, 30, 400, 10**6])
def test_work_ends_when_it_is_done_whatever_was_expected(each):
    n = 20_000
    state = make_state(np.zeros((n, 1)), hm.components.DiagonalGaussian(0, 1, 2, 1), hm.priors.Flat(), np.zeros(n, int))
    move = Counting(each)
    tuner = Tuner([(move, Work(0.5))], state)
    tally = tuner.warm_up(0, state, stream(0), lambda: False)
    # No more than one application, or a twentieth, too many; in few parts, whether 4 are right or not.
    assert 0.5 * n <= tally[WORK] <= max(each, 0.5 * n * 1.06)
    assert move.calls < 40


class Prepared(Counting):
    """Every call prepares for all of its applications."""

    prepares = True


@pytest.mark.parametrize(("kind", "fewest", "most"), [(Counting, 6, 40), (Prepared, 2, 5)])
def test_what_is_prepared_together_is_applied_in_few_parts(kind, fewest, most):
    n = 20_000
    state = make_state(np.zeros((n, 1)), hm.components.DiagonalGaussian(0, 1, 2, 1), hm.priors.Flat(), np.zeros(n, int))
    move = kind(30)
    tuner = Tuner([(move, Work(0.5))], state)
    tuner.warm_up(0, state, stream(0), lambda: False)
    assert tuner.times(0, 0, 0) == pytest.approx(0.5 * n / 30, rel=0.06)  # what it was worth, not what was expected
    move.calls = 0
    tally = tuner.warm_up(0, state, stream(1), lambda: False)
    assert 0.5 * n <= tally[WORK] <= 0.5 * n * 1.06
    assert fewest <= move.calls <= most


def test_merges_of_texts_get_their_share_of_the_work_and_no_more():
    """Clusters with thousands of words: a union looks up as many words as hundreds of rows have."""
    rng = np.random.default_rng(0)
    n, d, k = 4000, 4000, 4
    labels = np.arange(n) % k
    columns = (rng.integers(0, d // k, (n, 6)) * k + labels[:, None]).ravel()
    X = csr_matrix((np.ones(6 * n, int), (np.repeat(np.arange(n), 6), columns)), shape=(n, d))
    state = make_state(X, hm.components.DirichletMultinomial(0.1), hm.priors.DirichletProcess(1.0), labels)
    tuner = Tuner([(hm.moves.UrnMerge(n_bits=1, n_tables=1), Work(0.5))], state)
    tally = tuner.warm_up(0, state, stream(0), lambda: False)
    assert tally[ACCEPTED] == 0
    assert 0 < tally[PROPOSED] < 0.5 * n / 100


class Dear(hm.moves.Move):
    """An application is more than a sweep's share of work, and changes a share of what it looks at."""

    def __init__(self, work, changes):
        self.work, self.changes, self.calls = work, changes, 0

    def expected_work(self, state):
        return self.work

    def most_times(self, state):
        return 1

    def run_units(self, rng, state, begin, end, tally):
        self.calls += 1
        tally[WORK] += self.work
        tally[PROPOSED] += 1000
        tally[ACCEPTED] += round(1000 * self.changes(self.calls))
        return end


def tuned(changes, n_sweeps, work=2000.0, per_row=0.1):
    """A dear move after some sweeps of warm-up: an application is ten sweeps' worth of work by default."""
    n = 2000
    state = make_state(np.zeros((n, 1)), hm.components.DiagonalGaussian(0, 1, 2, 1), hm.priors.Flat(), np.zeros(n, int))
    move = Dear(work, changes)
    tuner = Tuner([(move, Work(per_row))], state)
    for sweep in range(n_sweeps):
        tuner.warm_up(0, state, stream(0, sweep), lambda: False)
    return move, tuner


def test_a_dear_move_is_applied_in_every_sweep_while_it_changes_much():
    move, tuner = tuned(lambda call: 0.5, 50)
    assert move.calls == 50
    assert tuner.frozen() == [(move, 1)]


def test_a_dear_move_that_changes_little_is_applied_when_its_work_is_owed():
    move, tuner = tuned(lambda call: 0.001, 200)
    assert 200 / 10 <= move.calls <= 200 / 10 + 1
    [(_, times)] = tuner.frozen()
    assert abs(times - 0.1) < 0.01
    applied = np.mean([tuner.times(0, 7, sweep) for sweep in range(4000)])
    assert abs(applied - times) < 4.5 * np.sqrt(0.1 / 4000)


def test_a_dear_move_that_ceases_to_change_much_becomes_rare():
    move, _ = tuned(lambda call: 0.5 if call <= 30 else 0.001, 130)
    assert 30 + 100 / 10 <= move.calls <= 30 + 100 / 10 + 2


def test_a_dear_move_is_worth_more_the_more_it_changes():
    """A tenth of what it looks at is worth a fifth of an application, a third is worth two thirds."""
    for share, worth in ((0.1, 0.2), (1 / 3, 2 / 3), (0.9, 1.0)):
        _, tuner = tuned(lambda call, share=share: share, 100)
        applied = np.mean([tuner.times(0, 7, sweep) for sweep in range(4000)])
        assert abs(applied - worth) < 0.05


def test_a_move_of_a_few_sweeps_work_stays_in_every_sweep_only_if_it_changes_much():
    """Four sweeps' worth of work: applied in every sweep if one row in 1,000 changes, in every fourth if nothing does."""
    much, little = (tuned(lambda call, share=share: share, 60, work=800.0)[1] for share in (0.001, 0.0))
    assert [round(float(tuner.frozen()[0][1]), 2) for tuner in (much, little)] == [1.0, 0.25]
