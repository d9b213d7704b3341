"""What a compiled kernel is made of, as a hash: functions, values and source files, wherever they live.

Of the package's own sources, whole files are hashed: those of the kernel and of the classes of its arguments, and all that they
import. So a change of a report or of one component compiles nothing else again. Code of an extension is found by following
references, starting at the kernel and the classes of its arguments.
"""

from __future__ import annotations

import builtins
import dis
import enum
import functools
import hashlib
import re
import sys
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from types import BuiltinFunctionType, CellType, CodeType, FunctionType, ModuleType
from typing import Any, NamedTuple

import numpy as np
from numba import types
from numba.core.typing.templates import builtin_registry

__all__ = ["IMPLEMENTATIONS", "SOURCES", "Implementation", "SourceHashes", "SourceNotFoundError", "source_hashes"]

_PACKAGE = Path(__file__).parent.parent
# References into these are not followed: their names say it all, or the files of the package do.
_KNOWN = sys.stdlib_module_names | {"hashmix", "llvmlite", "numba", "numpy", "scipy"}
_PLAIN = (bool, int, float, complex, str, bytes, type(None), type(...))


class SourceNotFoundError(Exception):
    """Something has no source file, or no value that could be hashed; what is made of it cannot be cached."""


class Implementation(NamedTuple):
    """A function registered for a verb; ``cls`` is None for a fallback."""

    verb: Callable
    cls: type | None
    argument: int
    function: Callable
    options: dict[str, Any]


IMPLEMENTATIONS: list[Implementation] = []


class SourceHashes(NamedTuple):
    """Hashes of what a kernel is made of: files of the package, and code from outside it ("" if there is none)."""

    package: str
    extension: str


def source_hashes(function: Callable, arguments: Iterable[types.Type]) -> SourceHashes:
    """Hash everything that may be in a kernel compiled for some argument types.

    Nothing is remembered from call to call, except the contents of files: globals may change and implementations may be
    registered at any time, and following the references takes about a millisecond.

    Parameters
    ----------
    function : callable
        The Python function of the kernel.
    arguments : iterable of numba.types.Type
        The types of its arguments.

    Raises
    ------
    SourceNotFoundError
        If some of it cannot be hashed, such as code typed into a notebook.

    Examples
    --------
    A kernel of the package, called with an array, has no foreign sources:

    >>> from numba import float64
    >>> from hashmix.core.compiling import cache_folder
    >>> from hashmix.core.sources import source_hashes
    >>> source_hashes(cache_folder, [float64[:]]).extension
    ''
    """
    walk = _Walk()
    walk.visit(function)
    for cls in _classes_in(arguments):
        walk.visit(cls)
    walk.visit_implementations()
    package = _hash_of_modules(frozenset(walk.own_modules), len(IMPLEMENTATIONS))
    return SourceHashes(package, walk.digest.hexdigest()[:16] if walk.found_any else "")


# ---- files of the package --------------------------------------------------------------------------------------------------


def _read_package() -> dict[str, str]:
    """The source of every module of the package."""
    sources = {}
    for path in _PACKAGE.rglob("*.py"):
        parts = path.relative_to(_PACKAGE.parent).with_suffix("").parts
        sources[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path.read_text(encoding="utf-8")
    return sources


# Read on import: files that are changed later, by an upgrade say, are not what this process runs.
SOURCES = _read_package()
_COMPILERS = ("hashmix.core.compiling", "hashmix.core.linking")
_IMPORTS = re.compile(r"^ *(?:from +([\w.]+) +import +(\([^)]*\)|[^\n]*)|import +([\w., ]+))", re.MULTILINE)


@functools.cache
def _hash_of_modules(begin: frozenset[str], n_implementations: int) -> str:
    """Hash of some modules of the package, all that they import, directly or not, and all that implement a verb from these
    modules for a class from these modules.
    """
    known = set().union(*(_with_imports(name) for name in [*begin, *_COMPILERS]))
    entries = {(_module_of(e.function), _module_of(e.verb), e.cls and e.cls.__module__) for e in IMPLEMENTATIONS}
    waiting = {entry for entry in entries if entry[0] in SOURCES}
    while usable := {(own, verb, cls) for own, verb, cls in waiting if verb in known and (cls is None or cls in known)}:
        waiting -= usable
        known.update(*(_with_imports(module) for module, _, _ in usable))
    digest = hashlib.sha256()
    for name in sorted(known):
        digest.update(repr((name, SOURCES[name])).encode())
    return digest.hexdigest()[:16]


@functools.cache
def _with_imports(module: str) -> frozenset[str]:
    """A module of the package and all modules of the package that it imports, directly or not."""
    found: set[str] = set()
    waiting = [module]
    while waiting:
        name = waiting.pop()
        if name in SOURCES and name not in found:
            found.add(name)
            waiting.extend(_direct_imports(name))
    return frozenset(found)


@functools.cache
def _direct_imports(module: str) -> frozenset[str]:
    """What import statements of a module name, modules or not."""
    found: set[str] = set()
    for parent, names, modules in _IMPORTS.findall(SOURCES[module]):
        found.update(re.findall(r"[\w.]+", modules))
        found.update([parent, *(f"{parent}.{name}" for name in re.findall(r"\w+", names))])
    return frozenset(found)


# ---- code of extensions ----------------------------------------------------------------------------------------------------


class _Walk:
    """Follows references and hashes what it meets, in an order that does not depend on the process."""

    def __init__(self) -> None:
        self.digest = hashlib.sha256()
        self.found_any = False
        self.own_modules: set[str] = set()
        self._numbers: dict[Any, int] = {}

    def _say(self, *words: object) -> None:
        self.digest.update(repr(words).encode())

    def _is_new(self, key: Any) -> bool:
        """Hash which object this is, by its place in the order of first visits. Names alone are not unique."""
        is_new = key not in self._numbers
        self._say("number", self._numbers.setdefault(key, len(self._numbers)))
        return is_new

    def visit(self, thing: Any, attributes: Iterable[str] = ()) -> None:
        """Hash an object and what it refers to; of a module, the attributes with these names."""
        self._say(type(thing).__name__)
        if type(thing) in _PLAIN:
            self._say(thing)
        elif isinstance(thing, FunctionType):
            self._visit_function(thing)
        elif isinstance(thing, type):
            self._visit_class(thing)
        elif isinstance(thing, ModuleType):
            self._visit_module(thing, attributes)
        elif isinstance(thing, enum.Enum):
            self._say(thing.name)
            self.visit(type(thing))
        elif isinstance(thing, (tuple, list)):
            self._say(len(thing))
            self.visit(type(thing))
            for part in thing:
                self.visit(part, attributes)
        elif isinstance(thing, dict):
            self.visit(sorted(thing.items(), key=repr))
        elif isinstance(thing, (set, frozenset)):
            self.visit(sorted(thing, key=repr))
        elif isinstance(thing, (np.ndarray, np.generic)) and not thing.dtype.hasobject:
            self._say(repr(thing.dtype), thing.shape, thing.tobytes())
        elif isinstance(thing, CodeType):
            self._say(thing.co_code, thing.co_names, thing.co_varnames, thing.co_freevars, thing.co_flags)
            self.visit(thing.co_consts)
        elif isinstance(thing, types.Type):
            self._say(str(thing))
            for cls in _classes_in([thing]):
                self.visit(cls)
        elif (inner := _compiled_from(thing)) is not None:
            self.visit(getattr(thing, "targetoptions", None))
            self.visit(inner)
        elif isinstance(thing, (np.ufunc, np.dtype)):
            self._say(repr(thing))
        elif hasattr(thing, "__qualname__") and not _is_foreign(_module_of(thing)):
            self._say(_full_name(thing))
        else:
            raise SourceNotFoundError(f"{thing!r} cannot be hashed")

    def _visit_file(self, module: str, path: str | None) -> None:
        if module in ("__main__", "__mp_main__") or not path:
            raise SourceNotFoundError(f"{module} is not an importable file")
        self.found_any = True
        self._say(module, _file_hash(path))

    def _visit_function(self, function: FunctionType) -> None:
        module = _module_of(function)
        self._say(module, function.__qualname__)
        self.own_modules.add(module)
        if not _is_foreign(module) or not self._is_new(function):
            return
        # The file has the whole context, such as decorators. The code is hashed too: it is what gets compiled, even if the
        # file was edited after the import.
        self._visit_file(module, function.__code__.co_filename)
        self.visit(function.__code__)
        self.visit((function.__defaults__, function.__kwdefaults__))
        codes = list(_nested(function.__code__))
        attributes = sorted({name for code in codes for name in code.co_names})
        for name in _global_names(codes):
            self._say(name)
            if name in function.__globals__:
                self.visit(function.__globals__[name], attributes)
            elif not hasattr(builtins, name):
                raise SourceNotFoundError(f"{name} in {function.__qualname__} is not defined")
        for cell in function.__closure__ or ():
            self.visit(_contents(cell), attributes)
        for chooser in _overloads(function):
            self.visit(chooser)

    def _visit_class(self, cls: type) -> None:
        name = cls.__module__
        self._say(name, cls.__qualname__)
        self.own_modules.add(name)
        if name.split(".")[0] in _KNOWN - {"hashmix"} or not self._is_new(cls):
            return
        module = sys.modules.get(name)
        if not _is_importable(cls, module):
            raise SourceNotFoundError(f"{cls!r} cannot be imported")
        if not _is_foreign(name):
            return
        self._visit_file(name, getattr(module, "__file__", None))
        self.visit(getattr(cls, "_field_defaults", None))
        if issubclass(cls, enum.Enum):
            self.visit({name: member.value for name, member in cls.__members__.items()})

    def _visit_module(self, module: ModuleType, attributes: Iterable[str]) -> None:
        self._say(module.__name__)
        self.own_modules.add(module.__name__)
        if not _is_foreign(module.__name__):
            return
        if path := getattr(module, "__file__", None):  # a namespace package has none
            self._visit_file(module.__name__, path)
        for name in attributes:
            if hasattr(module, name) and self._is_new((module.__name__, name)):
                self._say(name)
                self.visit(getattr(module, name), attributes)

    def visit_implementations(self) -> None:
        """Visit the foreign implementations that the call may use.

        Verbs and classes of the package may turn up anywhere; foreign ones only where code that was visited names them.
        """
        waiting = [entry for entry in IMPLEMENTATIONS if _is_foreign(_module_of(entry.function))]
        waiting.sort(key=lambda entry: (_full_name(entry.function), _full_name(entry.verb), _full_name(entry.cls)))
        while usable := [entry for entry in waiting if self._may_meet(entry.verb) and self._may_meet(entry.cls)]:
            waiting = [entry for entry in waiting if entry not in usable]
            for entry in usable:
                self._say(_full_name(entry.verb), _full_name(entry.cls), entry.argument)
                self.visit((entry.options, entry.function))

    def _may_meet(self, thing: Any) -> bool:
        return thing is None or thing in self._numbers or not _is_foreign(_module_of(thing))


@functools.cache
def _file_hash(path: str) -> str:
    try:
        return hashlib.sha256(Path(path).read_bytes()).hexdigest()
    except OSError as error:
        raise SourceNotFoundError(f"{path} cannot be read") from error


def _is_foreign(module: str) -> bool:
    return module.split(".")[0] not in _KNOWN


def _module_of(thing: Any) -> str:
    if isinstance(thing, FunctionType):
        return str(thing.__globals__.get("__name__"))  # functools.wraps changes __module__
    if isinstance(thing, BuiltinFunctionType) and not thing.__module__:
        return type(thing.__self__).__module__
    return str(getattr(thing, "__module__", None))


def _full_name(thing: Any) -> str:
    return f"{_module_of(thing)}.{getattr(thing, '__qualname__', thing)}"


def _contents(cell: CellType) -> Any:
    try:
        return cell.cell_contents
    except ValueError as error:
        raise SourceNotFoundError("a variable of a closure has no value yet") from error


def _is_importable(cls: type, module: ModuleType | None) -> bool:
    """Whether another process finds the class under its name, as it must to read Numba's index; a jitclass is never found."""
    found = functools.reduce(lambda owner, name: getattr(owner, name, None), cls.__qualname__.split("."), module)
    return found is cls and not type(cls).__module__.startswith("numba")


def _compiled_from(thing: Any) -> Any:
    """The Python function, or the dispatcher, inside one of Numba's objects: ``njit``, ``vectorize``, ``intrinsic``."""
    if type(thing).__module__.split(".")[0] != "numba":
        return None
    found = (getattr(thing, name, None) for name in ("py_func", "_dispatcher", "_defn"))
    return next((inner for inner in found if inner is not None), None)


def _overloads(function: Callable) -> list[Callable]:
    """What ``numba.extending.overload`` registered for a function, without going through :mod:`hashmix.core.compiling`."""
    templates = [template for verb, kind in builtin_registry.globals if verb is function for template in kind.templates]
    choosers = [chooser for template in templates if (chooser := getattr(template, "_overload_func", None))]
    return sorted((chooser for chooser in choosers if _is_foreign(_module_of(chooser))), key=_full_name)


def _nested(code: CodeType) -> Iterator[CodeType]:
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _nested(constant)


def _global_names(codes: Iterable[CodeType]) -> list[str]:
    instructions = [instruction for code in codes for instruction in dis.get_instructions(code)]
    if any(instruction.opname == "IMPORT_NAME" for instruction in instructions):
        raise SourceNotFoundError("a function imports when it is called")
    return sorted({instruction.argval for instruction in instructions if instruction.opname == "LOAD_GLOBAL"})


def _classes_in(kinds: Iterable[Any]) -> list[type]:
    """All Python classes (of NamedTuples and enums) in Numba types, however deep, sorted by name."""
    found, seen, waiting = set(), set(), list(kinds)
    while waiting:
        kind = waiting.pop()
        if isinstance(kind, (tuple, list)):
            waiting.extend(kind)
        elif isinstance(kind, types.Dispatcher):
            raise SourceNotFoundError("Numba does not find calls with functions as arguments in its cache again")
        elif isinstance(kind, types.Type) and kind not in seen:
            seen.add(kind)
            waiting.extend(vars(kind).values())
            if isinstance(cls := getattr(kind, "instance_class", None), type):
                found.add(cls)
    return sorted(found, key=_full_name)
