"""Files that are there whole, or not at all."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, BinaryIO

__all__ = ["write_atomically"]


def write_atomically(path: str | os.PathLike, content: bytes | Callable[[BinaryIO], Any]) -> None:
    """Write a file beside its place, flush it to disk, and rename it: a reader sees the old one or the new one.

    ``content`` are its bytes, or a function that writes them.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from hashmix.files import write_atomically
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_atomically(f"{folder}/a.txt", b"all of it")
    ...     [path.name for path in pathlib.Path(folder).iterdir()]
    ['a.txt']
    """
    path = Path(path)
    temporary = path.with_name(f"{path.name}.part")
    try:
        with temporary.open("wb") as file:
            file.write(content) if isinstance(content, bytes) else content(file)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
