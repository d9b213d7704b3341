"""Registries of named choices."""

from __future__ import annotations

import pytest

from hashmix.core.registry import Registry


class Shape:
    """Base of the choices."""


class Circle(Shape):
    def __init__(self, radius=1.0):
        self.radius = radius


@pytest.fixture
def shapes():
    registry = Registry("shape", Shape)
    registry.add("circle", Circle)
    registry.add("large-circle", lambda: Circle(10.0))
    return registry


def test_lookup(shapes):
    assert shapes.names == ["circle", "large-circle"]
    assert "circle" in shapes
    assert "square" not in shapes
    assert Circle not in shapes
    assert shapes["circle"] is Circle
    assert shapes["large-circle"]().radius == 10.0
    with pytest.raises(KeyError):
        shapes["square"]


def test_a_name_is_taken_once(shapes):
    with pytest.raises(ValueError, match="There already is a shape named 'circle'"):
        shapes.add("circle", Circle)


def test_names_cannot_be_changed_from_outside(shapes):
    shapes.names.append("square")
    assert shapes.names == ["circle", "large-circle"]


def test_error_messages_list_the_names(shapes):
    assert shapes.allowed() == "one of 'circle', 'large-circle', or a Shape"
    assert Registry("engine", Exception).allowed("auto") == "one of 'auto', or an Exception"
    assert shapes.check("circle", "draw") == "circle"
    assert shapes.check("auto", "draw", "auto") == "auto"
    sentence = "The 'shape' parameter of draw must be one of 'auto', 'circle', 'large-circle', or a Shape. Got"
    for value in ("square", None, ["circle"], 3):
        with pytest.raises(ValueError, match=sentence):
            shapes.check(value, "draw", "auto")
