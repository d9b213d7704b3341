"""Locks between processes.

The operating system keeps them: a process that dies, in whatever way, releases the locks it held.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import BinaryIO

if sys.platform == "win32":
    import msvcrt
else:
    import fcntl

__all__ = ["FileLock"]

_PAUSE = 0.1


class FileLock:
    """A lock that one process at a time can hold.

    Parameters
    ----------
    path : path
        An empty file, created if need be. It is never removed: otherwise one process could hold the lock of the old file, and
        another that of a new one.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from hashmix.core.locks import FileLock
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     lock, same = FileLock(pathlib.Path(folder, "a.lock")), FileLock(pathlib.Path(folder, "a.lock"))
    ...     taken = [lock.acquire(), same.acquire(patience=0.2)]
    ...     lock.release()
    ...     taken += [same.acquire()]
    ...     same.release()
    >>> taken
    [True, False, True]
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._file: BinaryIO | None = None

    def acquire(self, patience: float = 0.0) -> bool:
        """Take the lock, if need be after waiting up to ``patience`` seconds, and say whether that worked.

        It does not where files cannot be written or locked, as on some network drives.
        """
        deadline = time.monotonic() + patience
        try:
            file = self._path.open("ab")
        except OSError:
            return False
        try:
            while not _try_lock(file.fileno()):
                if time.monotonic() >= deadline:
                    return False
                time.sleep(_PAUSE)  # rather than wait in the system, where there is no time-out
            self._file = file
        except OSError:
            return False
        finally:
            if self._file is None:
                file.close()
        return True

    def release(self) -> None:
        """Give the lock back, if it was taken."""
        if self._file is not None:
            # Closing is not enough: a process forked meanwhile has the same file open.
            with self._file as file:
                self._file = None
                _unlock(file.fileno())


if sys.platform == "win32":

    def _try_lock(descriptor: int) -> bool:
        """Whether the lock was free; an OSError of another kind if files cannot be locked here."""
        try:
            msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
        except PermissionError:
            return False
        return True

    def _unlock(descriptor: int) -> None:
        msvcrt.locking(descriptor, msvcrt.LK_UNLCK, 1)

else:

    def _try_lock(descriptor: int) -> bool:
        """Whether the lock was free; an OSError of another kind if files cannot be locked here."""
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True

    def _unlock(descriptor: int) -> None:
        fcntl.flock(descriptor, fcntl.LOCK_UN)
