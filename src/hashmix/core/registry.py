"""Named choices of one kind: the strings users type, command-line choices, error messages and docs come from here."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, TypeVar

from hashmix.core.validation import bad_parameter
from hashmix.core.wording import with_article

__all__ = ["Registry"]

T = TypeVar("T")


class Registry(Generic[T]):
    """The named choices for one parameter.

    Parameters
    ----------
    parameter : str
        Name of the parameter these are choices for, as error messages show it.
    kind : type
        What the choices make. Objects of this type are accepted wherever a name is.

    Examples
    --------
    >>> import hashmix as hm
    >>> hm.priors.PRIORS.names
    ['dirichlet-process', 'pitman-yor', 'mixture-of-finite-mixtures', 'flat']
    """

    parameter: str
    kind: Any

    def __init__(self, parameter: str, kind: type[Any]) -> None:
        self.parameter, self.kind = parameter, kind
        self._makers: dict[str, Callable[..., T]] = {}

    def add(self, name: str, maker: Callable[..., T]) -> None:
        """Offer a choice under a name; ``maker`` is the class, or a function that makes the object.

        Examples
        --------
        >>> from hashmix.core.registry import Registry
        >>> shapes = Registry("shape", dict)
        >>> shapes.add("empty", dict)
        >>> shapes.names
        ['empty']
        """
        if not isinstance(name, str) or not callable(maker):
            what = f"a name and a class or function that makes {with_article(self.kind.__name__)}"
            raise TypeError(f"The registry for {self.parameter!r} takes {what}. Got {name!r} and {maker!r} instead.")
        if name in self._makers:
            raise ValueError(f"There already is a {self.parameter} named {name!r}.")
        self._makers[name] = maker

    @property
    def names(self) -> list[str]:
        """All names, in the order they were added."""
        return list(self._makers)

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and name in self._makers

    def __getitem__(self, name: str) -> Callable[..., T]:
        return self._makers[name]

    def allowed(self, *special: str) -> str:
        """The values the parameter may have, as error messages say it; ``special`` are further strings.

        Examples
        --------
        >>> import hashmix as hm
        >>> hm.priors.PRIORS.allowed("auto")[:27]
        "one of 'auto', 'dirichlet-p"
        """
        names = ", ".join(map(repr, [*special, *self._makers]))
        return f"one of {names}, or {with_article(self.kind.__name__)}"

    def check(self, value: Any, owner: str, *special: str) -> str:
        """Return ``value`` if it is a name of the registry or a special one; raise a ValueError otherwise."""
        if value not in self and not (isinstance(value, str) and value in special):
            raise bad_parameter(owner, self.parameter, self.allowed(*special), value)
        return value
