"""Objects known by their parameters: ``repr``, equality and pickling follow from the signature of ``__init__``."""

from __future__ import annotations

import inspect
import re
from functools import cache
from typing import Any, ClassVar

import numpy as np

__all__ = ["Declared"]


class Declared:
    """Base of components, priors, moves and hash families: an object is its parameters.

    ``__init__`` stores every parameter under its own name; ``repr`` then shows them all, in order. The result does not
    depend on the process: run folders compare it.

    Examples
    --------
    >>> from hashmix.core.declared import Declared
    >>> class Circle(Declared):
    ...     def __init__(self, radius, colour="red"):
    ...         self.radius, self.colour = radius, colour
    >>> Circle(2.0)
    Circle(radius=2.0, colour='red')
    >>> Circle(2.0) == Circle(2.0, "red")
    True
    """

    def parameters(self) -> dict[str, Any]:
        """The parameters of ``__init__`` and their values."""
        cls: Any = type(self)
        names = _parameter_names(cls)
        for name in names:
            if not hasattr(self, name):
                raise AttributeError(f"{cls.__name__} does not store its parameter {name!r}: set self.{name} in __init__.")
        return {name: getattr(self, name) for name in names}

    def __repr__(self) -> str:
        settings = ", ".join(f"{name}={_stable_repr(value)}" for name, value in self.parameters().items())
        return f"{type(self).__name__}({settings})"

    def __eq__(self, other: Any) -> bool:
        if type(self) is not type(other):
            return NotImplemented
        mine, theirs = self.parameters(), other.parameters()
        return mine.keys() == theirs.keys() and all(_equal(mine[name], theirs[name]) for name in mine)

    __hash__: ClassVar[None] = None  # type: ignore[assignment]


@cache
def _parameter_names(cls: Any) -> list[str]:
    if cls.__init__ is object.__init__:
        return []
    parameters = list(inspect.signature(cls.__init__).parameters.values())[1:]
    return [p.name for p in parameters if p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)]


def _stable_repr(value: Any) -> str:
    """``repr`` without memory addresses."""
    if inspect.isroutine(value):
        return f"{value.__module__}.{value.__qualname__}"
    return re.sub(r" at 0x[0-9A-Fa-f]+", "", repr(value))


def _equal(a: Any, b: Any) -> bool:
    if isinstance(a, np.ndarray) or isinstance(b, np.ndarray):
        return np.shape(a) == np.shape(b) and bool(np.all(np.asarray(a) == np.asarray(b)))
    return bool(a == b)
