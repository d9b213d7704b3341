"""How kernels are compiled and cached.

Numba's own disk cache looks only at the file that defines a kernel: after an upgrade that changes a helper in another
file it goes on serving the old machine code. So kernels are cached in a folder named after a hash of every source file
of the package; any change leads to a new folder, hence to new code.
"""

from __future__ import annotations

import hashlib
import os
import sys
from collections.abc import Callable
from pathlib import Path

import numba

__all__ = ["cache_folder", "helper", "kernel"]


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

    ``HASHMIX_CACHE_DIR`` chooses the parent folder; ``HASHMIX_CACHE=0`` turns caching off (do so while you develop a
    component or a move outside this package: its source is not part of the hash).

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


def helper(function: Callable) -> Callable:
    """Compile a function that only kernels call; its code is cached with theirs."""
    return numba.njit(nogil=True, error_model="numpy")(function)


def kernel(function: Callable) -> Callable:
    """Compile a function that Python calls, caching it in :func:`cache_folder`."""
    if _FOLDER is None:
        return helper(function)
    previous = numba.config.CACHE_DIR
    numba.config.CACHE_DIR = str(_FOLDER)
    try:
        return numba.njit(cache=True, nogil=True, error_model="numpy")(function)
    finally:
        numba.config.CACHE_DIR = previous
