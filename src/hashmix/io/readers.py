"""Numeric tables from .csv, .npy, .npz and .parquet files; sparse ones by way of :mod:`hashmix.io.sparse_readers`."""

from __future__ import annotations

import csv
import os
import zipfile
import zlib
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from hashmix.io.sparse_readers import SPARSE_KINDS, is_docword, plain_suffix, read_sparse, sparse_from_arrays

__all__ = ["read_table"]

_KINDS = (".csv", ".tsv", ".txt", ".npy", ".npz", ".parquet", *SPARSE_KINDS)


def read_table(path: str | os.PathLike, columns: Sequence[str] | None = None) -> tuple[Any, list[str]]:
    """The numbers in a file, and the names of their columns.

    Parameters
    ----------
    path : str or path
        ``.csv``, ``.tsv`` or ``.txt`` (a header line is recognised by its not being numbers), ``.npy``, ``.npz`` (the
        array named X, or the only matrix in the file), or ``.parquet`` (needs pyarrow). Sparse: ``.npz`` (arrays named data,
        indices, indptr and shape, as SciPy writes them), ``.svm``, ``.svmlight``, ``.libsvm``, ``.mtx`` (these also with
        ``.gz``), and ``docword.*`` (:func:`read_docword`).
    columns : sequence of str, optional
        The columns to keep, by name or by number from 0; all of them by default.

    Returns
    -------
    X : ndarray or sparse matrix of shape (n_rows, n_columns)
    names : list of str

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from hashmix.io import read_table
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "heights.csv")
    ...     _ = path.write_text("metres,seconds\\n1.5,10\\n1.7,12\\n")
    ...     X, names = read_table(path)
    >>> X.shape, names
    ((2, 2), ['metres', 'seconds'])
    """
    path = Path(path)
    kind = plain_suffix(path) if plain_suffix(path) in SPARSE_KINDS else path.suffix.lower()
    if kind not in _KINDS and not is_docword(path):
        raise ValueError(f"The file must be one of {', '.join(_KINDS)}. Got {path.name!r} instead.")
    if not path.is_file():
        raise FileNotFoundError(f"There is no file {str(path)!r}.")
    if kind == ".parquet":
        return _read_parquet(path, columns)
    if is_docword(path) or kind in SPARSE_KINDS:
        X, names = read_sparse(path)
    elif kind not in (".npy", ".npz"):
        return _read_text(path, columns)
    else:
        X, names = _read_numpy(path)
    keep = _positions(columns, names, path)
    return (X if columns is None else X[:, keep]), [names[j] for j in keep]


def _positions(columns: Sequence[str] | None, names: list[str], path: Path) -> list[int]:
    if columns is None:
        return list(range(len(names)))
    keep = []
    for column in columns:
        if column in names:
            keep.append(names.index(column))
        elif column.isdecimal() and int(column) < len(names):
            keep.append(int(column))
        else:
            raise ValueError(f"{path.name} has no column {column!r}; it has {', '.join(names[:20])}.")
    return keep


def _load_arrays(path: Path) -> dict[str, np.ndarray]:
    """The arrays of an .npz file that could be the data (X, or matrices), or the one of an .npy file as X."""
    try:
        with path.open("rb") as handle:
            loaded = np.load(handle, allow_pickle=False)
            if isinstance(loaded, np.ndarray):
                return {"X": loaded}
            sparse = ["data", "indices", "indptr", "shape", "format", "vocab"]
            wanted = ["X"] if "X" in loaded.files else loaded.files
            if "indptr" in loaded.files:
                wanted = [name for name in sparse if name in loaded.files]
            return {name: loaded[name] for name in wanted}
    except (ValueError, EOFError, OSError, KeyError, zipfile.BadZipFile, zlib.error) as error:
        raise ValueError(f"{path.name} is not a NumPy file of plain arrays ({error}).") from None


def _read_numpy(path: Path) -> tuple[Any, list[str]]:
    arrays = _load_arrays(path)
    if (sparse := sparse_from_arrays(arrays, path)) is not None:
        return sparse
    matrices = [name for name, array in arrays.items() if name == "X" or array.ndim == 2]
    if len(matrices) != 1:
        held = ", ".join(arrays) or "nothing"
        raise ValueError(f"{path.name} must hold an array named X, or a single matrix. It holds {held}.")
    array = arrays[matrices[0]]
    if array.ndim != 2 or array.dtype.kind not in "fiub":
        raise ValueError(f"{path.name} must hold a matrix of numbers. Got shape {array.shape}, {array.dtype} instead.")
    return array, [str(j) for j in range(array.shape[1])]


def _read_parquet(path: Path, columns: Sequence[str] | None) -> tuple[np.ndarray, list[str]]:
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError:
        raise ImportError("Reading .parquet needs pyarrow: pip install 'hashmix[parquet]'.") from None
    try:
        table = pyarrow.parquet.read_table(path)
    except pyarrow.ArrowInvalid as error:
        raise ValueError(f"{path.name} is not a Parquet file ({error}).") from None
    keep = _positions(columns, table.column_names, path)
    out = np.empty((table.num_rows, len(keep)))
    for place, j in enumerate(keep):
        column, kind = table.column(j), pyarrow.types
        if not (kind.is_integer(column.type) or kind.is_floating(column.type) or kind.is_boolean(column.type)):
            raise _not_numeric(path, table.column_names[j], str(column.type))
        out[:, place] = column.to_numpy()
    return out, [table.column_names[j] for j in keep]


def _not_numeric(path: Path, column: str, what: str) -> ValueError:
    return ValueError(f"Column {column!r} of {path.name} is not numeric ({what}): choose others with --columns.")


def _read_text(path: Path, columns: Sequence[str] | None) -> tuple[np.ndarray, list[str]]:
    with path.open(newline="", encoding="utf-8-sig", errors="replace") as file:
        first = file.readline()
        if not first.strip():
            raise ValueError(f"{path.name} is empty.")
        delimiter = max([",", "\t", ";"], key=first.count)
        if delimiter not in first and len(first.split()) > 1:
            delimiter = " "
        cells = next(csv.reader([first], delimiter=delimiter, skipinitialspace=True))
        header = not any(_is_number(cell) for cell in cells)
        if header is False and not all(_is_number(cell) for cell in cells):
            raise ValueError(
                f"The first line of {path.name} must be all names or all numbers. Got {first.strip()[:60]!r} instead."
            )
        names = [cell.strip() for cell in cells] if header else [str(j) for j in range(len(cells))]
        keep = _positions(columns, names, path)
        rows: list[list[float]] = []
        if not header:
            file.seek(0)
        reader = csv.reader(file, delimiter=delimiter, skipinitialspace=True)
        for number, row in enumerate(_csv_rows(reader, path), start=2 if header else 1):
            if not row:
                continue
            if len(row) != len(names):
                raise ValueError(f"Line {number} of {path.name} has {len(row)} values, the first has {len(names)}.")
            try:
                rows.append([float(row[j]) for j in keep])
            except ValueError:
                bad = next(j for j in keep if not _is_number(row[j]))
                raise _not_numeric(path, names[bad], f"line {number}: {row[bad]!r}") from None
    if not rows:
        raise ValueError(f"{path.name} has a header and no rows.")
    return np.array(rows), [names[j] for j in keep]


def _csv_rows(reader: Iterable[list[str]], path: Path) -> Iterator[list[str]]:
    try:
        yield from reader
    except csv.Error as error:
        raise ValueError(f"{path.name} is not a table of comma-separated values ({error}).") from None


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
