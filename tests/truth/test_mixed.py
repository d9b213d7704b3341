"""Every move leaves the posterior of mixed columns with blanks invariant, under every prior."""

from __future__ import annotations

import numpy as np
import pytest

import hashmix as hm
from tests.shared import MIXED, MIXED_ROWS, MOVES, PRIORS, assert_invariant, name


@pytest.mark.parametrize(("number", "move"), list(enumerate(MOVES)), ids=[name(move) for move in MOVES])
def test_four_rows(number, move):
    P = assert_invariant(move, MIXED_ROWS[[0, 1, 2, 4]], MIXED, PRIORS[number % 4])
    assert (np.diagonal(P) < 1.0 - 1e-9).all()


@pytest.mark.parametrize("prior", PRIORS, ids=name)
@pytest.mark.parametrize("move", [hm.moves.Gibbs(), hm.moves.SAMS(), hm.moves.UrnMerge(n_bits=1, n_tables=2)], ids=name)
def test_a_row_of_blanks(move, prior):
    assert_invariant(move, MIXED_ROWS[:4], MIXED, prior)


@pytest.mark.parametrize(
    "move", [hm.moves.Gibbs(), hm.moves.RGSM(n_scans=1), hm.moves.DissimilarSplit(n_bits=1, n_tables=2)], ids=name
)
def test_categories_alone(move):
    X = np.array([[0.0, 1.0, 2.0], [0.0, np.nan, 1.0], [1.0, 0.0, 1.0], [2.0, 0.0, np.nan]])
    assert_invariant(move, X, hm.components.Categorical([0.3, 0.7, 1.1]), PRIORS[1])
