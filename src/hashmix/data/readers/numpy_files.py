"""NumPy's .npy and .npz files, dense or sparse."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import csr_matrix

from hashmix.core.files import NUMPY_ERRORS
from hashmix.core.wording import briefly
from hashmix.data.readers.contract import check_extent, numbered

__all__ = ["read_numpy"]

#: The arrays of a sparse matrix, as ``scipy.sparse.save_npz`` names them, and optionally its column names.
_SPARSE = ("data", "indices", "indptr", "shape")
_OPTIONAL = ("format", "vocab")


def read_numpy(path: Path, columns: list[str] | None, progress: bool) -> tuple[Any, list[str]]:
    """Read a matrix from an .npy or .npz file.

    An .npz file holds the matrix as the array named X, as the only matrix in the file, or as a sparse matrix in the layout of
    ``scipy.sparse.save_npz``. The array named vocab, if there is one, holds the column names of a sparse matrix: UTF-8
    text with one name per line.

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
    >>> import numpy as np
    >>> from hashmix.data.readers.numpy_files import read_numpy
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     np.save(Path(folder, "a.npy"), np.eye(2))
    ...     read_numpy(Path(folder, "a.npy"), None, False)
    (array([[1., 0.],
           [0., 1.]]), ['0', '1'])
    """
    arrays = _load(path)
    if set(_SPARSE) <= set(arrays):
        return _sparse(arrays, path)
    matrices = [name for name, array in arrays.items() if name == "X" or array.ndim == 2]
    if len(matrices) != 1:
        held = ", ".join(arrays) or "nothing"
        raise ValueError(f"{path.name} must hold an array named X, or a single matrix. It holds {held}.")
    array = arrays[matrices[0]]
    if array.ndim != 2 or array.dtype.kind not in "fiub":
        raise ValueError(f"{path.name} must hold a matrix of numbers. Got shape {array.shape}, {array.dtype} instead.")
    return array, numbered(array.shape[1])


def _load(path: Path) -> dict[str, np.ndarray]:
    """Load the arrays that may be the matrix or parts of it; the array of an .npy file is named X."""
    try:
        with path.open("rb") as file, warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of files that Python 2 wrote
            loaded = np.load(file, allow_pickle=False)
            if isinstance(loaded, np.ndarray):
                return {"X": loaded}
            wanted = ["X"] if "X" in loaded.files else loaded.files
            if "indptr" in loaded.files:
                wanted = [name for name in (*_SPARSE, *_OPTIONAL) if name in loaded.files]
            return {name: loaded[name] for name in wanted}
    except NUMPY_ERRORS as error:
        raise ValueError(f"{path.name} is not a NumPy file of plain arrays ({briefly(error)}).") from None


def _sparse(arrays: dict[str, np.ndarray], path: Path) -> tuple[csr_matrix, list[str]]:
    # SciPy stores the format as a bytes array, and other writers as text (four bytes per character).
    stored = arrays.get("format", np.array(b"csr")).tobytes().strip(b"\0")
    if stored not in (b"csr", b"c\0\0\0s\0\0\0r"):
        raise ValueError(f"{path.name} must hold a sparse matrix in CSR format.")
    try:
        n_rows, n_columns = map(int, arrays["shape"])
        check_extent(path.name, n_rows, n_columns, arrays["data"].size)
        matrix = csr_matrix((arrays["data"], arrays["indices"], arrays["indptr"]), shape=tuple(arrays["shape"]))
        matrix.check_format(full_check=True)
    except (ValueError, TypeError, IndexError) as error:
        raise ValueError(f"{path.name} does not hold a sparse matrix ({briefly(error)}).") from None
    if "vocab" in arrays:
        words = bytes(arrays["vocab"]).decode("utf-8", "replace").split("\n")
        if len(words) == matrix.shape[1]:
            return matrix, words
    return matrix, numbered(matrix.shape[1])
