"""How kernels are compiled and cached.

Numba's own disk cache looks only at the file that defines a kernel: after an upgrade that changes a helper in another
file it goes on serving the old machine code. So kernels are cached in a folder named after a hash of every source file
of the package; any change leads to a new folder, hence to new code.
"""

from __future__ import annotations

import hashlib
import inspect
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numba
from numba import types
from numba.core import cgutils
from numba.core.caching import FunctionCache
from numba.extending import intrinsic, overload

__all__ = ["borrowed", "cache_folder", "helper", "hot_helper", "implements", "inlined", "is_type", "kernel"]


def _user_cache_root() -> Path:
    if folder := os.environ.get("HASHMIX_CACHE_DIR"):
        return Path(folder)
    if folder := os.environ.get("NUMBA_CACHE_DIR"):
        return Path(folder) / "hashmix"
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA", Path.home() / "AppData" / "Local")) / "hashmix"
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches" / "hashmix"
    return Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "hashmix"


def _source_hash() -> str:
    package = Path(__file__).parent
    digest = hashlib.sha256()
    for path in sorted(package.rglob("*.py")):
        digest.update(path.relative_to(package).as_posix().encode())
        digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


def _writable(folder: Path) -> bool:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError:
        return False
    return os.access(folder, os.W_OK)


def cache_folder() -> Path | None:
    """Folder of the compiled kernels of exactly these sources, or None when they are not cached.

    ``HASHMIX_CACHE_DIR`` chooses the parent folder; ``HASHMIX_CACHE=0`` turns caching off. Calls with types from outside
    the package are never cached.

    Examples
    --------
    >>> from hashmix.compiling import cache_folder
    >>> folder = cache_folder()
    """
    if os.environ.get("HASHMIX_CACHE", "1") == "0":
        return None
    folder = _user_cache_root() / _source_hash()
    return folder if _writable(folder) else None


_FOLDER = cache_folder()
_OPTIONS: dict[str, Any] = {"nogil": True, "error_model": "numpy"}
_INTERNAL: dict[str, Any] = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True}


def helper(function: Callable) -> Callable:
    """Compile a function that only kernels call, once a proposal or so; its code is cached with theirs.

    Python must not call it: the wrapper that would let it is left out, for compiling that takes longer than the function.
    """
    return numba.njit(**_OPTIONS, **_INTERNAL)(function)


def inlined(function: Callable) -> Callable:
    """A helper of a few lines, or with one caller, that becomes part of its caller before anything is compiled."""
    return numba.njit(inline="always", **_OPTIONS, **_INTERNAL)(function)


def hot_helper(function: Callable) -> Callable:
    """A helper for every point's inner loops: always inlined, and sums and products may be reordered to vectorise.

    Infinities and NaN keep their meaning.
    """
    return numba.njit(forceinline=True, fastmath={"contract", "reassoc"}, **_OPTIONS, **_INTERNAL)(function)


def implements(verb: Callable, cls: type, *, argument: int = 0, hot: bool = False) -> Callable:
    """Make a function the implementation of a verb where an argument (the first, unless told) is a ``cls``.

    ``cls`` is a NamedTuple class. A verb is a function without a body; a kernel that calls it gets the implementation
    for the types at hand, compiled like a helper, or like a hot one. This is ``numba.extending.overload``, the one way to
    dispatch on types that Numba caches on disk.
    """
    inlined = {"forceinline": True, "fastmath": {"contract", "reassoc"}} if hot else {}

    def register(function: Callable) -> Callable:
        def choose(*arguments: types.Type) -> Callable | None:
            return function if is_type(arguments[argument], cls) else None

        choose.__signature__ = inspect.signature(function)  # type: ignore[attr-defined]
        overload(verb, jit_options={**_OPTIONS, **inlined})(choose)
        return function

    return register


def is_type(numba_type: types.Type, cls: type) -> bool:
    """Whether a Numba type is that of the NamedTuple class ``cls``."""
    return isinstance(numba_type, types.BaseNamedTuple) and numba_type.instance_class is cls


def kernel(function: Callable) -> Callable:
    """Compile a function that Python calls, caching it in :func:`cache_folder`."""
    if _FOLDER is None:
        return numba.njit(**_OPTIONS)(function)
    dispatcher = numba.njit(**_OPTIONS)(function)
    previous = numba.config.CACHE_DIR
    numba.config.CACHE_DIR = str(_FOLDER)
    try:
        dispatcher._cache = _OwnTypesCache(function)
    finally:
        numba.config.CACHE_DIR = previous
    return dispatcher


class _OwnTypesCache(FunctionCache):
    """Numba's disk cache for calls with this package's types alone.

    The models of a component written elsewhere are compiled in each process: the hash of our sources would not notice when
    that component changes, and its types could not be read back where its module cannot be imported.
    """

    def load_overload(self, signature: Any, target_context: Any) -> Any:
        return None if _is_foreign(signature) else super().load_overload(signature, target_context)

    def save_overload(self, signature: Any, compiled: Any) -> None:
        if not _is_foreign(signature):
            super().save_overload(signature, compiled)


def _is_foreign(kind: Any) -> bool:
    """Whether a type, or a part of it, is a NamedTuple from outside this package."""
    if isinstance(kind, types.BaseNamedTuple) and kind.instance_class.__module__.split(".")[0] != "hashmix":
        return True
    parts = kind if isinstance(kind, tuple) else kind.types if isinstance(kind, types.BaseTuple) else ()
    return any(_is_foreign(part) for part in parts)


def _without_owner(context: Any, builder: Any, kind: types.Type, value: Any) -> Any:
    if isinstance(kind, types.Array):
        array = context.make_array(kind)(context, builder, value)
        array.meminfo = cgutils.get_null_value(array.meminfo.type)
        array.parent = cgutils.get_null_value(array.parent.type)
        return array._getvalue()
    if isinstance(kind, types.BaseTuple):
        parts = [_without_owner(context, builder, part, builder.extract_value(value, i)) for i, part in enumerate(kind.types)]
        return context.make_tuple(builder, kind, parts)
    return value


@intrinsic
def borrowed(typing_context: Any, value: Any) -> Any:
    """The same arrays, or (nested) tuples of arrays, without reference counting.

    Counting references is an atomic operation for each array a statement touches, and came to more than half of a
    kernel's time. The caller of a kernel holds its arguments for as long as it runs, so a kernel may borrow them.
    """

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return _without_owner(context, builder, value, arguments[0])

    return value(value), generate
