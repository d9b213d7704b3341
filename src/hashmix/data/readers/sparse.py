"""Sparse matrices in svmlight and Matrix Market files."""

from __future__ import annotations

import zlib
from pathlib import Path

from scipy.io import mmread
from scipy.sparse import csr_matrix

from hashmix.data.readers.contract import numbered

__all__ = ["read_matrix_market", "read_svmlight"]

#: What the parsers of SciPy and scikit-learn raise on a file that is damaged or in another format.
_PARSE_ERRORS = (ValueError, OSError, EOFError, zlib.error, IndexError, TypeError)


def read_svmlight(path: Path, columns: list[str] | None, progress: bool) -> tuple[csr_matrix, list[str]]:
    """Read the features of an svmlight (libsvm) file; the targets are ignored.

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
    >>> from hashmix.data.readers.sparse import read_svmlight
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "a.svm")
    ...     _ = path.write_text("0 1:2.5\\n1 2:3\\n")
    ...     X, names = read_svmlight(path, None, False)
    >>> X.toarray().tolist(), names
    ([[2.5, 0.0], [0.0, 3.0]], ['0', '1'])
    """
    from sklearn.datasets import load_svmlight_file

    try:
        matrix = load_svmlight_file(path)[0]
    except _PARSE_ERRORS as error:
        raise ValueError(f"{path.name} is not an svmlight file ({error}).") from None
    return matrix, numbered(matrix.shape[1])


def read_matrix_market(path: Path, columns: list[str] | None, progress: bool) -> tuple[csr_matrix, list[str]]:
    """Read a Matrix Market file.

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
    >>> from hashmix.data.readers.sparse import read_matrix_market
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "a.mtx")
    ...     scipy.io.mmwrite(path, scipy.sparse.eye(2))
    ...     X, names = read_matrix_market(path, None, False)
    >>> X.toarray().tolist(), names
    ([[1.0, 0.0], [0.0, 1.0]], ['0', '1'])
    """
    try:
        matrix = csr_matrix(mmread(path))
    except _PARSE_ERRORS as error:
        raise ValueError(f"{path.name} is not a Matrix Market file ({error}).") from None
    return matrix, numbered(matrix.shape[1])
