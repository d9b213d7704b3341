"""Schedules by name, as lists, and what is refused."""

from __future__ import annotations

import numpy as np
import pytest

import hashmix as hm
from hashmix.core.rng import stream
from hashmix.moves import SCHEDULES, resolve_moves
from hashmix.moves.tally import new_tally
from tests.shared import PRIORS, make_state, name


@pytest.mark.parametrize("schedule", SCHEDULES.names)
def test_names_give_moves_with_positive_weights(schedule):
    for move, weight in resolve_moves(schedule):
        assert isinstance(move, hm.moves.Move)
        assert (weight.predictives if isinstance(weight, hm.moves.Work) else weight) > 0


def test_a_move_and_a_list_are_schedules():
    assert resolve_moves(hm.moves.SAMS()) == [(hm.moves.SAMS(), 1)]
    assert resolve_moves([(hm.moves.SAMS(), 2.5)]) == [(hm.moves.SAMS(), 2.5)]


@pytest.mark.parametrize("moves", ["nuts", [], [hm.moves.SAMS()], {"sams": 1}, 3])
def test_what_is_refused(moves):
    allowed = r"one of 'auto', 'lss', .* or a list of \(Move, weight\)"
    with pytest.raises(ValueError, match=f"'moves' parameter of sample must be {allowed}"):
        resolve_moves(moves)


@pytest.mark.parametrize("weight", [0, -1, "often", None, hm.moves.Work(-1.0)])
def test_weights_are_checked(weight):
    with pytest.raises(ValueError, match="weight of SAMS"):
        resolve_moves([(hm.moves.SAMS(), weight)])


def test_exact_schedules_have_a_dirichlet_process_and_published_ones_a_flat_prior():
    priors = {name: hm.moves.default_prior(resolve_moves(name)) for name in SCHEDULES.names}
    assert {name for name, prior in priors.items() if prior == "flat"} == {"published-lshsm", "published-minsm"}


@pytest.mark.parametrize("move", [hm.moves.SAMS(), hm.moves.LSHSM(n_bits=2), hm.moves.MinSM()], ids=name)
def test_a_move_that_is_not_due_in_a_sweep_does_nothing(move):
    """A sweep applies a move of weight ¼ no times in three of four cases, one made of others too."""
    component = hm.components.DiagonalGaussian(5.0, 0.1, 2.0, 0.1)
    state = make_state(np.linspace(0.0, 9.0, 20)[:, None], component, PRIORS[0], [0] * 20)
    assert move.apply(state, stream(1), times=0).tolist() == new_tally().tolist()
    assert state.n_clusters == 1
