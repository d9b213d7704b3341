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
