"""Atomic file writes, and what reading a damaged file may raise."""

from __future__ import annotations

import os
import tokenize
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any, BinaryIO

__all__ = ["NUMPY_ERRORS", "write_atomically"]

#: What ``numpy.load`` raises on an .npy or .npz file that is damaged: by itself, in parsing a header, and in reading archives.
NUMPY_ERRORS = (
    *(ValueError, TypeError, KeyError, IndexError, OverflowError, SyntaxError, MemoryError, tokenize.TokenError),
    *(OSError, EOFError, RuntimeError, NotImplementedError, zipfile.BadZipFile, zlib.error),
)


def write_atomically(path: str | os.PathLike[str], content: bytes | Callable[[BinaryIO], Any]) -> None:
    """Write a file so that readers see either the old file or the complete new one.

    The content goes to ``<name>.part`` in the same folder, is flushed to disk, and is then renamed. On any error the
    partial file is removed and the old file stays.

    Parameters
    ----------
    path : str or path
        File to create or replace. Its folder must exist.
    content : bytes or callable
        The bytes of the file, or a function that writes them to the open binary file it is given.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from hashmix.core.files import write_atomically
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_atomically(f"{folder}/a.txt", b"complete")
    ...     [path.name for path in pathlib.Path(folder).iterdir()]
    ['a.txt']
    """
    path = Path(path)
    temporary = path.with_name(f"{path.name}.part")
    try:
        with temporary.open("wb") as file:
            if isinstance(content, bytes):
                file.write(content)
            else:
                content(file)
            file.flush()
            # Without this, a power failure after the rename can leave an empty file under the final name.
            os.fsync(file.fileno())
        os.replace(temporary, path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
