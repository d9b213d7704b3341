"""Matrix Market files.

SciPy reads them too, but its parser (1.17) ends the process on many damaged files. Only the header is left to it.
"""

from __future__ import annotations

import gzip
import warnings
import zlib
from pathlib import Path
from typing import Any

import numpy as np
from scipy.io import mminfo
from scipy.sparse import coo_matrix, csr_matrix

from hashmix.core.wording import briefly
from hashmix.data.readers.contract import check_extent, numbered

__all__ = ["read_matrix_market"]

#: Numbers per entry of a sparse matrix, by what its header calls them.
_WIDTHS = {"pattern": 2, "real": 3, "integer": 3, "unsigned-integer": 3, "double": 3}
_SYMMETRIES = ("general", "symmetric", "skew-symmetric")


def read_matrix_market(path: Path, columns: list[str] | None, progress: bool) -> tuple[csr_matrix, list[str]]:
    """Read a Matrix Market file of real numbers, integers or a pattern.

    Parameters
    ----------
    path : Path
    columns : list of str or None
        Ignored; the caller selects columns.
    progress : bool
        Ignored.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import scipy.io, scipy.sparse
    >>> from hashmix.data.readers.matrix_market import read_matrix_market
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "a.mtx")
    ...     scipy.io.mmwrite(path, scipy.sparse.eye(2))
    ...     X, names = read_matrix_market(path, None, False)
    >>> X.toarray().tolist(), names
    ([[1.0, 0.0], [0.0, 1.0]], ['0', '1'])
    """
    try:
        matrix = _read(path)
    except (ValueError, OverflowError, OSError, EOFError, zlib.error) as error:
        raise ValueError(f"{path.name} is not a Matrix Market file ({briefly(error)}).") from None
    return matrix, numbered(matrix.shape[1])


def _read(path: Path) -> csr_matrix:
    n_rows, n_columns, announced, layout, field, symmetry = mminfo(path)
    if field not in _WIDTHS or symmetry not in _SYMMETRIES:
        raise ValueError(f"its numbers are {field} and {symmetry}")
    if symmetry != "general" and n_rows != n_columns:
        raise ValueError("its matrix is symmetric and not square")
    numbers = _numbers(path)
    if layout == "array":
        rows, cols = _dense_places(n_rows, n_columns, symmetry, len(numbers))
        values = numbers
    else:
        check_extent(path.name, n_rows, n_columns, announced)
        if len(numbers) != announced * _WIDTHS[field]:
            raise ValueError(f"its header announces {announced:,} entries, which is not what it has")
        entries = numbers.reshape(announced, _WIDTHS[field])
        rows, cols = (_places(entries[:, k], n, what) for k, n, what in ((0, n_rows, "row"), (1, n_columns, "column")))
        values = np.ones(announced) if field == "pattern" else entries[:, 2]
    if symmetry != "general":
        apart = rows != cols
        mirrored = -values[apart] if symmetry == "skew-symmetric" else values[apart]
        values = np.concatenate([values, mirrored])
        rows, cols = np.concatenate([rows, cols[apart]]), np.concatenate([cols, rows[apart]])
    return csr_matrix(coo_matrix((values, (rows, cols)), shape=(n_rows, n_columns)))


def _numbers(path: Path) -> np.ndarray:
    """All numbers below the line that holds the size."""
    opened: Any = gzip.open if path.suffix.lower() == ".gz" else open
    with opened(path, "rb") as file:
        lines = [line for line in file if line.strip() and not line.startswith(b"%")]
    with warnings.catch_warnings():
        # A warning was NumPy's answer to text that is not a number; by now it is an error.
        warnings.simplefilter("error", DeprecationWarning)
        try:
            return np.fromstring(b" ".join(lines[1:]), dtype=np.float64, sep=" ")
        except (ValueError, DeprecationWarning):
            raise ValueError("it has text among its numbers") from None


def _places(numbers: np.ndarray, n: int, what: str) -> np.ndarray:
    """Positions from 0 of numbers from 1 to n."""
    if not ((numbers >= 1) & (numbers <= n) & (numbers == np.floor(numbers))).all():
        raise ValueError(f"the numbers of its {what}s must be whole, from 1 to {n:,}")
    return numbers.astype(np.int64) - 1


def _dense_places(n_rows: int, n_columns: int, symmetry: str, n_numbers: int) -> tuple[np.ndarray, np.ndarray]:
    """Rows and columns of the numbers of a dense matrix: column by column, the lower triangle if it is symmetric."""
    below = n_rows * (n_rows + 1) // 2 - (n_rows if symmetry == "skew-symmetric" else 0)
    announced = n_rows * n_columns if symmetry == "general" else below
    if n_numbers != announced:
        raise ValueError(f"its header announces {announced:,} numbers, and it has {n_numbers:,}")
    if symmetry == "general":
        return np.tile(np.arange(n_rows), n_columns), np.repeat(np.arange(n_columns), n_rows)
    cols, rows = np.triu_indices(n_rows, 1 if symmetry == "skew-symmetric" else 0)
    return rows, cols
