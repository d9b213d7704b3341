"""Declared objects: repr, equality and pickling follow from the parameters."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

from hashmix.core.declared import Declared


class Circle(Declared):
    def __init__(self, radius, colour="red", *, centre=None):
        self.radius, self.colour, self.centre = radius, colour, centre
        self.area = 3.14 * radius**2  # not a parameter


class Square(Declared):
    def __init__(self, radius):
        self.radius = radius


class Point(Declared):
    """Without parameters."""


class Opaque:
    """Its default repr has a memory address."""


def test_repr_shows_the_parameters():
    assert repr(Circle(2.0)) == "Circle(radius=2.0, colour='red', centre=None)"
    assert repr(Point()) == "Point()"
    assert Circle(2.0).parameters() == {"radius": 2.0, "colour": "red", "centre": None}


def test_repr_has_no_memory_addresses():
    assert repr(Square(Opaque())) == "Square(radius=<tests.core.test_declared.Opaque object>)"
    assert repr(Square(test_repr_shows_the_parameters)) == f"Square(radius={__name__}.test_repr_shows_the_parameters)"
    assert repr(Square(np.array([1.0, 2.0]))) == "Square(radius=array([1., 2.]))"
    assert repr(Square(Square(1))) == "Square(radius=Square(radius=1))"


def test_equality():
    assert Circle(2.0) == Circle(2.0, "red")
    assert Circle(2.0) != Circle(2.0, "blue")
    assert Square(2.0) != Circle(2.0)
    assert Square(2.0) != 2.0
    assert Square(np.array([1.0, 2.0])) == Square(np.array([1.0, 2.0]))
    assert Square(np.array([1.0, 2.0])) != Square(np.array([1.0, 3.0]))
    assert Square(np.array([1.0, 2.0])) != Square(np.array([1.0, 2.0, 3.0]))
    assert Square(np.array([1.0])) != Square(None)
    with pytest.raises(TypeError, match="unhashable"):
        hash(Square(1))


def test_pickling():
    circle = Circle(2.0, centre=np.array([0.0, 1.0]))
    again = pickle.loads(pickle.dumps(circle))
    assert again == circle
    assert repr(again) == repr(circle)
