"""What a law or a component lacks is said in one sentence, before anything is compiled."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pytest

import hashmix as hm
from hashmix.components.contract import load
from hashmix.core.compiling import implements
from hashmix.moves.allocation import SEQUENTIAL, Allocation
from hashmix.moves.anchored import Anchored
from hashmix.moves.anchors import UNIFORM_ANCHORS
from hashmix.testing import transition_matrix
from tests.shared import DIAGONAL, PRIORS, make_state
from tests.truth.no_data import NoData

X = np.array([[0.1, 0.4], [0.2, 0.3], [1.9, -0.6], [0.9, 1.3]])


class Empty(NamedTuple):
    nothing_more: int = 0


class Unfinished(hm.moves.Proposal):
    def __init__(self, what):
        self.what = what

    def law(self, state):
        return self.what


@pytest.mark.parametrize(
    ("law", "sentence"),
    [
        (None, r"law\(\) of Unfinished must return a NamedTuple. Got None"),
        ((1, 2), r"law\(\) of Unfinished must return a NamedTuple. Got \(1, 2\)"),
        (Empty(), "Unfinished needs implementations of choose, divide, weigh_merge for Empty"),
        (Anchored(Empty(), Allocation(SEQUENTIAL)), "Unfinished needs implementations of draw_anchors for Empty"),
        (Anchored(UNIFORM_ANCHORS, Empty()), "Unfinished needs implementations of allocate for Empty"),
    ],
    ids=["None", "tuple", "no verbs", "anchors", "allocation"],
)
def test_an_unfinished_law(law, sentence):
    with pytest.raises(TypeError, match=sentence):
        transition_matrix(Unfinished(law), X, DIAGONAL, PRIORS[0])


class LoadOnly(NamedTuple):
    nothing_more: int = 0


@implements(load, LoadOnly)
def _load(model, slots, data, i):
    return slots.row


class UnfinishedComponent(NoData):
    def __init__(self, what):
        self.what = what

    def model(self, X):
        return self.what


@pytest.mark.parametrize(
    ("model", "sentence"),
    [
        (3.0, r"model\(\) of UnfinishedComponent must return a NamedTuple. Got 3.0"),
        (LoadOnly(), "UnfinishedComponent needs implementations of log_predictive, .*, log_marginal for LoadOnly"),
    ],
    ids=["number", "verbs"],
)
def test_an_unfinished_component(model, sentence):
    with pytest.raises(TypeError, match=sentence):
        make_state(X, UnfinishedComponent(model), PRIORS[0], [0, 0, 1, 1])


def test_names_are_not_enough_for_a_proof():
    with pytest.raises(ValueError, match="'move' parameter of transition_matrix must be a Move. Got 'sams'"):
        transition_matrix("sams", X, DIAGONAL, PRIORS[0])


class Forgetful(hm.moves.Gibbs):
    def __init__(self, extra=1):
        super().__init__()


def test_a_parameter_that_is_not_stored():
    with pytest.raises(AttributeError, match="Forgetful does not store its parameter 'extra'"):
        repr(Forgetful(3))


@pytest.mark.parametrize(("name", "maker"), [(3, NoData), ("three", 3), ("object", NoData())])
def test_registries_take_names_and_makers(name, maker):
    with pytest.raises(TypeError, match="The registry for 'component' takes a name and a class or function"):
        hm.components.COMPONENTS.add(name, maker)
