"""What rows are read from: arrays in memory, or files that are read by whoever holds the rows."""

from __future__ import annotations

import glob
import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from hashmix.core.validation import bad_parameter

__all__ = ["ArraySource", "FileSource", "FileSpan", "Part", "Parts", "Source", "as_source", "common_parts", "is_files"]


class Part(NamedTuple):
    """A file or chunk: its name, number of rows, columns, and the type its numbers have or would get."""

    name: str
    n_rows: int
    n_columns: int
    names: list[str] | None
    dtype: str
    where: str = ""

    @property
    def place(self) -> str:
        """The part and its worker, as error messages name them."""
        return f"{self.name} (read by {self.where})" if self.where else self.name


class Parts(NamedTuple):
    """All parts of a source, which have the same columns and type."""

    parts: list[Part]
    n_rows: int
    n_columns: int
    names: list[str] | None
    dtype: str

    @property
    def firsts(self) -> np.ndarray:
        """The number of the first row of every part, and the number of rows."""
        return np.cumsum([0] + [part.n_rows for part in self.parts])


def common_parts(parts: list[Part], owner: str) -> Parts:
    """Check that parts fit together; a ValueError names the first that does not."""
    first = parts[0]
    for part in parts[1:]:
        for what, mine, theirs in (
            ("columns", first.n_columns, part.n_columns),
            ("columns named", first.names, part.names),
            ("numbers of type", first.dtype, part.dtype),
        ):
            if mine != theirs:
                raise ValueError(f"{owner}: all parts must be alike. {first.name} has {what} {mine}, {part.place} {theirs}.")
    n = sum(part.n_rows for part in parts)
    if n < 2:
        raise bad_parameter(owner, "X", "at least two rows", f"{n}")
    return Parts(parts, n, first.n_columns, first.names, first.dtype)


class Source(ABC):
    """Rows that can be read in spans."""

    @abstractmethod
    def describe(self, each: Callable[..., Iterable[Part]]) -> Parts:
        """Look at all parts; ``each(function, arguments)`` calls a function where parts can be read."""

    @abstractmethod
    def span(self, parts: Parts, begin: int, end: int) -> Any:
        """Rows ``begin`` to ``end``: an array, or an object whose ``chunks(n_rows)`` are read where the rows are needed."""


class ArraySource(Source):
    """An array in the memory of this process."""

    def __init__(self, X: Any, owner: str) -> None:
        self.owner = owner
        if hasattr(X, "tocsr"):
            raise bad_parameter(owner, "X", "dense rows: engines take no sparse matrices yet", type(X))
        if hasattr(X, "__dask_graph__"):
            raise bad_parameter(owner, "X", "an array or files with this engine: collections of Dask need 'dask'", type(X))
        self.names = [str(name) for name in X.columns] if hasattr(X, "columns") else None
        array = np.asarray(X)
        if array.dtype.kind not in "fbui" or array.ndim != 2 or array.shape[1] < 1:
            given = f"{array.dtype} of shape {array.shape}"
            raise bad_parameter(owner, "X", "a matrix of numbers: engines take no texts, categories or blanks", given)
        self.array = array

    def describe(self, each: Callable[..., Iterable[Part]]) -> Parts:
        n, d = self.array.shape
        return common_parts([Part("X", n, d, self.names, _kept_type(self.array.dtype))], self.owner)

    def span(self, parts: Parts, begin: int, end: int) -> np.ndarray:
        return self.array[begin:end]


class FileSource(Source):
    """Files of .npy or .parquet, one after the other."""

    def __init__(self, paths: list[str], owner: str) -> None:
        self.paths, self.owner = paths, owner

    def describe(self, each: Callable[..., Iterable[Part]]) -> Parts:
        return common_parts(list(each(describe_file, self.paths)), self.owner)

    def span(self, parts: Parts, begin: int, end: int) -> FileSpan:
        firsts = parts.firsts
        pieces = [
            (path, max(begin - first, 0), min(end, last) - first)
            for path, first, last in zip(self.paths, firsts[:-1].tolist(), firsts[1:].tolist(), strict=True)
            if first < end and last > begin
        ]
        return FileSpan(pieces, parts.n_columns, parts.dtype)


class FileSpan(NamedTuple):
    """Rows of some files: (path, first row, end) of each piece."""

    pieces: list[tuple[str, int, int]]
    n_columns: int
    dtype: str

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return sum(end - begin for _, begin, end in self.pieces)

    @property
    def nbytes(self) -> int:
        """Bytes that the rows take."""
        return self.n_rows * self.n_columns * np.dtype(self.dtype).itemsize

    def chunks(self, n_rows: int) -> Iterator[np.ndarray]:
        """Read the rows, at most so many at a time."""
        for path, begin, end in self.pieces:
            read = _chunks_of_npy if path.endswith(".npy") else _chunks_of_parquet
            yield from read(path, begin, end, n_rows, (self.n_columns, self.dtype))


def describe_file(path: str) -> Part:
    """Rows, columns and type of a file, without reading its numbers."""
    if path.endswith(".npy"):
        array = _mapped(path)
        return Part(path, array.shape[0], array.shape[1], None, _kept_type(array.dtype))
    parquet = _parquet(path)
    types = [str(field.type) for field in parquet.schema_arrow]
    for name, kind in zip(parquet.schema_arrow.names, types, strict=True):
        if not kind.startswith(("float", "double", "halffloat", "int", "uint", "bool")):
            raise ValueError(f"{path} must hold columns of numbers. Column {name!r} is of type {kind}.")
    dtype = "float32" if set(types) <= {"float", "halffloat"} else "float64"
    return Part(path, parquet.metadata.num_rows, len(types), list(parquet.schema_arrow.names), dtype)


def _kept_type(dtype: Any) -> str:
    """The type that numbers are kept in."""
    return "float32" if dtype == np.float32 else "float64"


def _mapped(path: str) -> np.ndarray:
    if not os.path.isfile(path):
        raise FileNotFoundError(f"There is no file {path}.")
    try:
        array = np.load(path, mmap_mode="r", allow_pickle=False)
    except (ValueError, EOFError) as error:
        raise ValueError(f"{path} is not a NumPy file of plain numbers ({error}).") from None
    if array.ndim != 2 or array.dtype.kind not in "fbui":
        raise ValueError(f"{path} must hold a matrix of numbers. Got {array.dtype} of shape {array.shape}.")
    return array


def _parquet(path: str) -> Any:
    if not os.path.isfile(path):
        raise FileNotFoundError(f"There is no file {path}.")
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError:
        raise ImportError("Reading .parquet needs pyarrow: pip install 'hashmix[parquet]'.") from None
    try:
        return pyarrow.parquet.ParquetFile(path)
    except pyarrow.ArrowInvalid as error:
        raise ValueError(f"{path} is not a Parquet file ({error}).") from None


def _chunks_of_npy(path: str, begin: int, end: int, n_rows: int, kind: tuple[int, str]) -> Iterator[np.ndarray]:
    """Rows ``begin`` to ``end`` of a file; it is mapped anew for each chunk, because mapped pages count as memory."""
    n_columns, dtype = kind
    for first in range(begin, end, n_rows):
        array = _mapped(path)
        if array.shape[0] < end or array.shape[1] != n_columns:
            raise ValueError(f"{path} has changed: it now has the shape {array.shape}.")
        yield np.array(array[first : min(first + n_rows, end)], dtype, order="C")


def _chunks_of_parquet(path: str, begin: int, end: int, n_rows: int, kind: tuple[int, str]) -> Iterator[np.ndarray]:
    """Rows ``begin`` to ``end`` of a file, from the row groups they are in."""
    (n_columns, dtype), parquet, at = kind, _parquet(path), 0
    if parquet.metadata.num_rows < end or parquet.metadata.num_columns != n_columns:
        raise ValueError(f"{path} has changed: it now has {parquet.metadata.num_rows} rows.")
    for group in range(parquet.num_row_groups):
        after = at + parquet.metadata.row_group(group).num_rows
        if begin < after and at < end:
            for batch in parquet.iter_batches(n_rows, row_groups=[group]):
                first, last = max(begin - at, 0), min(end - at, batch.num_rows)
                if first < last:
                    yield _numbers_of(path, batch.slice(first, last - first), dtype)
                at += batch.num_rows
        at = after
    _give_back_memory()


def _give_back_memory() -> None:
    """Return to the system what pyarrow keeps for later: some 100 MB."""
    import pyarrow

    pyarrow.default_memory_pool().release_unused()


def _numbers_of(path: str, batch: Any, dtype: str) -> np.ndarray:
    out = np.empty((batch.num_rows, batch.num_columns), dtype)
    for j, column in enumerate(batch.columns):
        if column.null_count:
            raise ValueError(f"{path} has a blank in column {batch.schema.names[j]!r}: engines take no blanks yet.")
        out[:, j] = column.to_numpy(zero_copy_only=False)
    return out


def is_files(X: Any) -> bool:
    """Whether data are given as files: a path, a glob pattern, or a list of paths."""
    if isinstance(X, (str, os.PathLike)):
        return True
    return isinstance(X, (list, tuple)) and len(X) > 0 and all(isinstance(path, (str, os.PathLike)) for path in X)


def as_source(X: Any, owner: str) -> Source:
    """Make a source of an array or of files; a pattern stands for all files that match, in the order of their names.

    Examples
    --------
    >>> import numpy as np
    >>> from hashmix.engines.sources import as_source
    >>> as_source(np.eye(3), "fit").describe(map).n_rows
    3
    """
    if isinstance(X, Source):
        return X
    if not is_files(X):
        return ArraySource(X, owner)
    given = [X] if isinstance(X, (str, os.PathLike)) else list(X)
    paths: list[str] = []
    for path in (os.fspath(one) for one in given):
        paths += sorted(glob.glob(path)) if glob.has_magic(path) else [path]
    if not paths:
        raise FileNotFoundError(f"There is no file {given[0]}.")
    for path in paths:
        if Path(path).suffix not in (".npy", ".parquet"):
            raise bad_parameter(owner, "X", "files that end in .npy or .parquet", path)
    return FileSource([os.path.abspath(path) for path in paths], owner)
