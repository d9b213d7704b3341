"""How kernels are compiled and cached.

Numba's own disk cache looks only at the file that defines a kernel: when a helper in another file changes, it still
returns the old machine code. So every kernel is cached in a folder named by a hash of the package's files that it may be made
of. If a call also uses code from outside the package, it is cached in a subfolder named by a hash of that code
(:mod:`hashmix.core.sources`).

Compiling a kernel takes many seconds. If several processes miss the same one, the first compiles it and the others wait.
"""

from __future__ import annotations

import gc
import hashlib
import inspect
import os
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numba
from numba import types
from numba.core import cgutils
from numba.core.caching import FunctionCache, NullCache
from numba.core.compiler_lock import global_compiler_lock
from numba.core.sigutils import normalize_signature
from numba.extending import intrinsic, overload

from hashmix.core.linking import link_only
from hashmix.core.locks import FileLock
from hashmix.core.sources import IMPLEMENTATIONS, Implementation, SourceNotFoundError, source_hashes

__all__ = [
    "borrowed",
    "cache_folder",
    "check_verbs",
    "fallback",
    "finite_helper",
    "helper",
    "hot_helper",
    "implements",
    "inlined",
    "is_type",
    "kernel",
]


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


def _writable(folder: Path) -> bool:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError:
        return False
    return os.access(folder, os.W_OK)


def cache_folder() -> Path | None:
    """Folder of compiled kernels, or None if nothing is cached.

    It has subfolders, each named by a hash of the package's files that its kernels are made of. ``HASHMIX_CACHE_DIR`` chooses
    the folder; ``HASHMIX_CACHE=0`` turns caching off. Kernels that use code from outside the package are in subfolders of
    these, ``extension-`` and a hash of that code.

    Examples
    --------
    >>> from hashmix.core.compiling import cache_folder
    >>> folder = cache_folder()
    """
    if os.environ.get("HASHMIX_CACHE", "1") == "0":
        return None
    folder = _user_cache_root()
    return folder if _writable(folder) else None


_FOLDER = cache_folder()
# Without a word on fastmath, Numba takes that of the caller that a helper is first compiled for. What is rounded, and so which
# draws a seed gives, would depend on what was compiled before.
_OPTIONS: dict[str, Any] = {"nogil": True, "error_model": "numpy", "fastmath": False}
_INTERNAL: dict[str, Any] = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True}
_INLINE: dict[str, Any] = {"forceinline": True}
_HOT: dict[str, Any] = {**_INLINE, "fastmath": {"contract", "reassoc"}}


def helper(function: Callable) -> Callable:
    """Compile a function that only kernels call, once a proposal or so; its code is cached with theirs.

    Python must not call it: compiling the wrapper for that would take longer than compiling the function.
    """
    return numba.njit(**_OPTIONS, **_INTERNAL, **link_only(optimised=True))(function)


def inlined(function: Callable) -> Callable:
    """A helper of a few lines, or with one caller, that becomes part of its caller before anything is compiled."""
    return numba.njit(inline="always", **_OPTIONS, **_INTERNAL)(function)


def hot_helper(function: Callable) -> Callable:
    """A helper for every point's inner loops: always inlined, and sums and products may be reordered to vectorise.

    Infinities and NaN keep their meaning.
    """
    return numba.njit(**{**_OPTIONS, **_HOT}, **_INTERNAL, **link_only(optimised=True))(function)


def finite_helper(function: Callable) -> Callable:
    """A :func:`hot_helper` that meets finite numbers only, so that comparisons can be vectorised too."""
    finite = {**_OPTIONS, **_INLINE, "fastmath": {"contract", "reassoc", "nnan", "ninf", "nsz"}}
    return numba.njit(**finite, **_INTERNAL, **link_only(optimised=True))(function)


def implements(verb: Callable, cls: type, *, argument: int = 0, hot: bool = False, inline: bool = False) -> Callable:
    """Make a function the implementation of a verb for arguments of one NamedTuple class.

    A verb is a function without a body. A kernel that calls it gets the implementation for the types at hand, compiled
    like a helper. This is ``numba.extending.overload``, the one way to dispatch on types that Numba caches on disk.
    Register implementations before the first kernel that needs them is called, best next to the class.

    Parameters
    ----------
    verb : callable
        The function to implement.
    cls : type
        A NamedTuple class.
    argument : int
        Position of the argument whose type is looked at.
    hot : bool
        Compile like :func:`hot_helper`: always inlined, and sums and products may be reordered.
    inline : bool
        Always inline, and change nothing else.

    Examples
    --------
    >>> from typing import NamedTuple
    >>> from hashmix.core.compiling import implements, kernel
    >>> class Square(NamedTuple):
    ...     side: float
    >>> def area(shape):
    ...     pass
    >>> @implements(area, Square)
    ... def _area(shape):
    ...     return shape.side**2
    >>> @kernel
    ... def total(a, b):
    ...     return area(a) + area(b)
    >>> total(Square(1.0), Square(2.0))
    5.0
    """

    def choose(*arguments: types.Type) -> bool:
        return is_type(arguments[argument], cls)

    return _registering(verb, cls, argument, choose, hot, inline)


def fallback(verb: Callable, *, argument: int = 0, hot: bool = False, inline: bool = False) -> Callable:
    """Make a function the implementation of a verb for all NamedTuple classes without one of their own.

    What :func:`implements` registers takes precedence, before or after, and for whichever argument it was registered.

    Parameters
    ----------
    verb : callable
        The function to implement.
    argument : int
        Position of the argument that must be a NamedTuple.
    hot, inline : bool
        As for :func:`implements`.

    Examples
    --------
    >>> from typing import NamedTuple
    >>> from hashmix.core.compiling import fallback, implements, kernel
    >>> class Point(NamedTuple):
    ...     x: float
    >>> class Square(NamedTuple):
    ...     side: float
    >>> def area(shape):
    ...     pass
    >>> @fallback(area)
    ... def _no_area(shape):
    ...     return 0.0
    >>> @implements(area, Square)
    ... def _area(shape):
    ...     return shape.side**2
    >>> @kernel
    ... def total(a, b):
    ...     return area(a) + area(b)
    >>> total(Point(1.0), Square(2.0))
    4.0
    """

    def choose(*arguments: types.Type) -> bool:
        own = (entry for entry in IMPLEMENTATIONS if entry.verb is verb and entry.cls)
        has_own = any(is_type(arguments[entry.argument], entry.cls) for entry in own)  # type: ignore[arg-type]
        return isinstance(arguments[argument], types.BaseNamedTuple) and not has_own

    return _registering(verb, None, argument, choose, hot, inline)


def _registering(
    verb: Callable, cls: type | None, argument: int, applies: Callable[..., bool], hot: bool, inline: bool
) -> Callable:
    """A decorator that registers a function as an implementation, with Numba and in ``IMPLEMENTATIONS``."""
    options = {**_OPTIONS, **_INTERNAL, **link_only(optimised=not inline), **(_HOT if hot else _INLINE if inline else {})}

    def register(function: Callable) -> Callable:
        def choose(*arguments: types.Type) -> Callable | None:
            return function if applies(*arguments) else None

        choose.__signature__ = inspect.signature(function)  # type: ignore[attr-defined]
        overload(verb, jit_options=options)(choose)
        IMPLEMENTATIONS.append(Implementation(verb, cls, argument, function, options))
        return function

    return register


def check_verbs(owner: str, cls: type, verbs: Iterable[Callable]) -> None:
    """Raise a TypeError that names the verbs without an implementation for the NamedTuple class ``cls``.

    Numba would say so too, on a hundred lines.

    Examples
    --------
    >>> from typing import NamedTuple
    >>> from hashmix.core.compiling import check_verbs
    >>> class Square(NamedTuple):
    ...     side: float
    >>> def area(shape):
    ...     pass
    >>> check_verbs("Square", Square, [area])
    Traceback (most recent call last):
    ...
    TypeError: Square needs implementations of area for Square: decorate them with implements(area, Square).
    """
    known = {entry.verb for entry in IMPLEMENTATIONS if entry.cls in (cls, None)}
    missing = [verb.__name__ for verb in verbs if verb not in known]
    if missing:
        how = f"decorate them with implements({missing[0]}, {cls.__name__})"
        raise TypeError(f"{owner} needs implementations of {', '.join(missing)} for {cls.__name__}: {how}.")


def is_type(numba_type: types.Type, cls: type) -> bool:
    """Whether a Numba type is that of the NamedTuple class ``cls``."""
    return isinstance(numba_type, types.BaseNamedTuple) and numba_type.instance_class is cls


def kernel(function: Callable) -> Callable:
    """Compile a function that Python calls, and cache it in :func:`cache_folder`.

    A change of any source that the kernel is made of leads to new code, whether in this package or an extension. Kernels
    are not cached if some source is not in a file, as in a notebook, ``__main__`` or at the prompt.

    Examples
    --------
    >>> from hashmix.core.compiling import kernel
    >>> @kernel
    ... def twice(x):
    ...     return 2.0 * x
    >>> twice(3.0)
    6.0
    """
    # A wrapper for calls from C would have to be compiled, too.
    dispatcher: Any = numba.njit(no_cfunc_wrapper=True, **_OPTIONS)(function)
    if dispatcher is not function:  # it is with NUMBA_DISABLE_JIT=1
        if _FOLDER is not None:
            dispatcher._cache = _KernelCache(function, _FOLDER)
        dispatcher.compile = _tidily(dispatcher.compile)
    return dispatcher


_NEVER = 10**9  # collections of young objects before old ones are looked at
_PATIENCE = 120.0  # seconds; longer than any kernel takes
# What this process holds, for the kernel it compiles and for those it compiles for that one. Numba's compiler lock guards it.
_LOCKS: list[FileLock] = []


def _tidily(compile_kernel: Callable) -> Callable:
    """Compile or load a kernel without looking at old objects for garbage, and release the locks that were taken for it.

    Compiling makes millions of objects, most of them in use until it ends: looking through all of them again and again took a
    sixth of the time.
    """

    def compile_tidily(signature: Any) -> Any:
        with global_compiler_lock:
            outer, (young, middle, old) = len(_LOCKS), gc.get_threshold()
            gc.set_threshold(young, middle, _NEVER)
            try:
                return compile_kernel(signature)
            finally:  # also when it fails or is interrupted
                gc.set_threshold(young, middle, old)
                while len(_LOCKS) > outer:
                    _LOCKS.pop().release()

    return compile_tidily


class _KernelCache(NullCache):
    """A disk cache that chooses, for each signature, the folder by the sources of the code."""

    def __init__(self, function: Callable, folder: Path) -> None:
        self._function, self._folder = function, folder

    def load_overload(self, signature: Any, target_context: Any) -> Any:
        cache = self._for(signature)
        found = cache.load_overload(signature, target_context)
        if found is not None or isinstance(cache, NullCache):
            return found
        name = hashlib.sha256(str(signature).encode()).hexdigest()[:16]
        _LOCKS.append(_lock_of(cache, f".{name}"))
        # Whoever waits here holds nothing, so no two processes wait for each other.
        _LOCKS[-1].acquire(_PATIENCE if len(_LOCKS) == 1 else 0.0)
        return cache.load_overload(signature, target_context)  # another process may have saved it by now

    def save_overload(self, signature: Any, compiled: Any) -> None:
        cache = self._for(signature)
        if isinstance(cache, NullCache):
            return
        # The signatures of a kernel share an index. Two processes that add to it at once would give both the same file.
        lock = _lock_of(cache)
        try:
            lock.acquire(_PATIENCE)
            cache.save_overload(signature, compiled)
        finally:
            lock.release()

    def _for(self, signature: Any) -> FunctionCache | NullCache:
        # Not remembered: new implementations may have been registered since the last call.
        arguments, _ = normalize_signature(signature)
        try:
            package, extension = source_hashes(self._function, arguments)
        except SourceNotFoundError:
            return NullCache()
        folder = self._folder / package
        return _cache_in(folder / f"extension-{extension}" if extension else folder, self._function)


def _lock_of(cache: FunctionCache, name: str = "") -> FileLock:
    return FileLock(Path(cache.cache_path) / f"{cache._impl.filename_base}{name}.lock")


def _cache_in(folder: Path, function: Callable) -> FunctionCache | NullCache:
    # Numba calls this with its compiler lock held, so no other thread sees the changed setting.
    previous = numba.config.CACHE_DIR
    numba.config.CACHE_DIR = str(folder)
    try:
        cache = FunctionCache(function)
    except RuntimeError:  # no place to write to
        return NullCache()
    finally:
        numba.config.CACHE_DIR = previous
    # If the folder cannot be written to, Numba chooses another one, which says nothing about the sources.
    return cache if folder in Path(cache.cache_path).parents else NullCache()


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

    Counting references is an atomic operation for each array a statement touches, and took more than half of a
    kernel's time. The caller of a kernel holds its arguments for as long as it runs, so a kernel may borrow them.
    """

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return _without_owner(context, builder, value, arguments[0])

    return value(value), generate
