"""The rows of a part as a shard keeps them: in memory, or in a file that is read block by block.

The file is for rows that do not fit into memory. It has no name, so that it is gone when it is closed, and when the process
ends, however that happens. It is read and not mapped: mapped pages count as memory of a process, for which Dask ends workers.
"""

from __future__ import annotations

import tempfile
import threading
import weakref
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from hashmix.core.validation import not_finite

__all__ = ["SHARE_OF_MEMORY", "InMemory", "Kept", "OnDisk", "keep_all", "read_values"]

#: The share of all memory that rows may take: changing them makes a copy, and labels need some too.
SHARE_OF_MEMORY = 1 / 3
#: Bytes of rows that are looked at in one go.
_AT_ONCE = 1 << 22


class Kept(ABC):
    """Consecutive rows, float32 or float64."""

    n_rows: int
    n_columns: int
    dtype: np.dtype

    @abstractmethod
    def block(self, begin: int, end: int) -> np.ndarray:
        """Some consecutive rows, row-major; not to be written to."""

    @abstractmethod
    def take(self, chosen: np.ndarray) -> np.ndarray:
        """A copy of some rows, by number."""

    @abstractmethod
    def change(self, n_columns: int, work: Callable[[int, np.ndarray], np.ndarray]) -> Kept:
        """Rows of at most as many columns: ``work(begin, values)`` of some consecutive rows at a time. These are gone."""

    def _spans(self) -> Iterator[tuple[int, int]]:
        step = _rows_at_once(self.n_columns, self.dtype)
        for begin in range(0, self.n_rows, step):
            yield begin, min(begin + step, self.n_rows)


class InMemory(Kept):
    """Rows in an array.

    Examples
    --------
    >>> import numpy as np
    >>> from hashmix.engines.kept import InMemory
    >>> InMemory(np.array([[1.0], [2.0], [3.0]])).block(1, 3)
    array([[2.],
           [3.]])
    """

    def __init__(self, values: np.ndarray) -> None:
        self.values = values
        (self.n_rows, self.n_columns), self.dtype = values.shape, values.dtype

    def block(self, begin: int, end: int) -> np.ndarray:
        return self.values[begin:end]

    def take(self, chosen: np.ndarray) -> np.ndarray:
        return self.values[chosen]

    def change(self, n_columns: int, work: Callable[[int, np.ndarray], np.ndarray]) -> InMemory:
        out = np.empty((self.n_rows, n_columns), self.dtype)  # the array itself may be the user's
        for begin, end in self._spans():
            out[begin:end] = work(begin, self.block(begin, end))
        return InMemory(out)


class OnDisk(Kept):
    """Rows in a temporary file.

    Parameters
    ----------
    first : int
        The number of the first row, for error messages.
    source : object
        What is read, chunk by chunk; it has ``n_rows``, ``n_columns``, ``dtype``, ``nbytes`` and ``chunks()``.
    folder : str or None
        Where the file is; None for the system's folder for temporary files.
    """

    def __init__(self, first: int, source: Any, folder: str | None) -> None:
        self.n_rows, self.n_columns, self.dtype = source.n_rows, source.n_columns, np.dtype(source.dtype)
        self._folder, self._lock = folder or tempfile.gettempdir(), threading.Lock()
        self._file: Any = tempfile.TemporaryFile(dir=self._folder, buffering=0)  # noqa: SIM115
        weakref.finalize(self, self._file.close)
        at = 0
        for values in _checked(first, source):
            self._write(at, values)
            at += len(values)

    def block(self, begin: int, end: int) -> np.ndarray:
        out = np.empty((end - begin, self.n_columns), self.dtype)
        self._read(begin, out)
        return out

    def take(self, chosen: np.ndarray) -> np.ndarray:
        out = np.empty((len(chosen), self.n_columns), self.dtype)
        for place in np.argsort(chosen).tolist():
            self._read(int(chosen[place]), out[place : place + 1])
        return out

    def change(self, n_columns: int, work: Callable[[int, np.ndarray], np.ndarray]) -> OnDisk:
        for begin, end in self._spans():  # in place: rows do not get longer, so nothing is overwritten that is yet to be read
            self._write(begin, np.ascontiguousarray(work(begin, self.block(begin, end)), self.dtype))
        self.n_columns = n_columns
        self._file.truncate(self.n_rows * n_columns * self.dtype.itemsize)
        return self

    def _read(self, begin: int, out: np.ndarray) -> None:
        left = out.data.cast("B")
        with self._lock:
            self._file.seek(begin * out.strides[0])
            while len(left):
                if not (found := self._file.readinto(left)):
                    raise OSError(f"The temporary file with the rows in {self._folder} has been cut short.")
                left = left[found:]

    def _write(self, begin: int, values: np.ndarray) -> None:
        left = values.data.cast("B")
        try:
            with self._lock:
                self._file.seek(begin * values.strides[0])
                while len(left):
                    left = left[self._file.write(left) :]
        except OSError as error:
            wanted = f"{1e-9 * self.n_rows * values.strides[0]:.3g} GB of rows that do not fit into memory"
            raise OSError(f"{wanted} cannot be written to {self._folder}: {error.strerror}.") from None


def keep_all(spans: Any, memory: float, folder: str | None) -> list[tuple[int, Kept]]:
    """The rows of spans, (first, source) each: on disk if those that are read take more than some bytes of memory.

    Examples
    --------
    >>> import numpy as np
    >>> from hashmix.engines.kept import keep_all
    >>> [(first, rows)] = keep_all([(8, np.eye(2))], memory=0, folder=None)
    >>> first, type(rows).__name__  # an array is where it is
    (8, 'InMemory')
    """
    spans = list(spans)
    if sum(source.nbytes for _, source in spans if _is_read(source)) <= memory:
        return [(first, InMemory(read_values(first, source))) for first, source in spans]
    return [
        (first, OnDisk(first, source, folder) if _is_read(source) else InMemory(read_values(first, source)))
        for first, source in spans
    ]


def read_values(first: int, source: Any) -> np.ndarray:
    """The rows of a span, an array or what is read from a source; finite float32 or float64, row-major."""
    if _is_read(source):
        values, at = np.empty((source.n_rows, source.n_columns), source.dtype), 0
        for chunk in _checked(first, source):
            values[at : at + len(chunk)] = chunk
            at += len(chunk)
        return values
    values = np.asarray(source)
    values = np.ascontiguousarray(values, None if values.dtype in (np.float32, np.float64) else np.float64)
    step = _rows_at_once(values.shape[1], values.dtype)
    for begin in range(0, len(values), step):
        _check(first + begin, values[begin : begin + step])
    return values


def _is_read(source: Any) -> bool:
    return hasattr(source, "chunks")


def _checked(first: int, source: Any) -> Iterator[np.ndarray]:
    """The chunks of a source, row-major and finite."""
    for chunk in source.chunks(_rows_at_once(source.n_columns, np.dtype(source.dtype))):
        values = np.ascontiguousarray(chunk)
        _check(first, values)
        first += len(values)
        yield values


def _check(first: int, values: np.ndarray) -> None:
    if not np.isfinite(values).all():
        row, column = np.argwhere(~np.isfinite(values))[0]
        raise not_finite(values[row, column], first + row, column)


def _rows_at_once(n_columns: int, dtype: np.dtype) -> int:
    return max(1, _AT_ONCE // (max(1, n_columns) * dtype.itemsize))
