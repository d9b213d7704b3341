"""Sparse matrices in svmlight files."""

from __future__ import annotations

import zlib
from pathlib import Path

from scipy.sparse import csr_matrix

from hashmix.core.wording import briefly
from hashmix.data.readers.contract import check_extent, numbered

__all__ = ["read_svmlight"]

#: What scikit-learn's parser raises on a file that is damaged or in another format.
_PARSE_ERRORS = (ValueError, OSError, EOFError, zlib.error, IndexError, TypeError, OverflowError, MemoryError)


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
        raise ValueError(f"{path.name} is not an svmlight file ({briefly(error)}).") from None
    check_extent(path.name, matrix.shape[0], matrix.shape[1], matrix.nnz)
    return matrix, numbered(matrix.shape[1])
