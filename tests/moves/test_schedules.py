"""Schedules by name, as lists, and what is refused."""

from __future__ import annotations

import pytest

import hashmix as hm
from hashmix.moves import SCHEDULES, resolve_moves


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
