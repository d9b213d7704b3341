"""Reading data files: one registry of formats, and one function that reads them all.

To add a format, declare a :class:`FileFormat` and add it to :data:`READERS`::

    READERS.add("fits", FileFormat(suffixes=(".fits",), read=my_function))
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from hashmix.data.readers.contract import FileFormat, FormatRegistry
from hashmix.data.readers.delimited import read_delimited
from hashmix.data.readers.docword import read_docword, read_docword_columns
from hashmix.data.readers.numpy_files import read_numpy
from hashmix.data.readers.parquet import read_parquet
from hashmix.data.readers.sparse import read_matrix_market, read_svmlight

__all__ = ["READERS", "FileFormat", "formats_help", "read_docword", "read_table"]

#: The file formats, by name; each entry is a :class:`FileFormat`.
READERS = FormatRegistry()
READERS.add(
    "delimited",
    FileFormat(
        suffixes=(".csv", ".tsv", ".txt"),
        read=read_delimited,
        help="delimited text, with or without a header line",
        selects_columns=True,
    ),
)
READERS.add(
    "numpy",
    FileFormat(
        suffixes=(".npy", ".npz"),
        read=read_numpy,
        help="a NumPy matrix: the array named X, the only matrix, or a sparse matrix as SciPy saves it",
    ),
)
READERS.add(
    "parquet",
    FileFormat(suffixes=(".parquet",), read=read_parquet, help="numeric columns (needs pyarrow)", selects_columns=True),
)
READERS.add(
    "svmlight",
    FileFormat(suffixes=(".svm", ".svmlight", ".libsvm"), read=read_svmlight, help="sparse features of svmlight", gzip=True),
)
READERS.add(
    "matrix-market",
    FileFormat(suffixes=(".mtx",), read=read_matrix_market, help="a Matrix Market matrix", gzip=True),
)
READERS.add(
    "docword",
    FileFormat(
        suffixes=(),
        read=read_docword_columns,
        help="a UCI bag of words, with vocab.* in the same folder (both also with .gz)",
        pattern="docword.*",
    ),
)


def read_table(path: str | os.PathLike, columns: Sequence[str] | None = None, progress: bool = False) -> tuple[Any, list[str]]:
    """Read the numbers in a file and the names of their columns.

    Parameters
    ----------
    path : str or path
        A file in one of the formats of :data:`READERS`; :func:`formats_help` lists them.
    columns : sequence of str, optional
        The columns to keep, by name or by number from 0. By default all of them.
    progress : bool, default=False
        Whether to show a progress bar (needs tqdm) for formats that have one: bags of words.

    Returns
    -------
    X : ndarray or sparse matrix of shape (n_rows, n_columns)
    names : list of str

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from hashmix.data.readers import read_table
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "heights.csv")
    ...     _ = path.write_text("metres,seconds\\n1.5,10\\n1.7,12\\n")
    ...     X, names = read_table(path)
    >>> X.shape, names
    ((2, 2), ['metres', 'seconds'])
    """
    path = Path(path)
    chosen = READERS.find(path)
    if not path.is_file():
        raise FileNotFoundError(f"There is no file {str(path)!r}.")
    return chosen(path, columns, progress)


def formats_help(details: bool = False) -> str:
    """Return the file names that :func:`read_table` recognises, for help texts.

    Parameters
    ----------
    details : bool, default=False
        Whether to return one line per format, with what it is, instead of a single line.

    Examples
    --------
    >>> from hashmix.data.readers import formats_help
    >>> formats_help()
    '.csv, .tsv, .txt, .npy, .npz, .parquet, .svm, .svmlight, .libsvm, .mtx, docword.*'
    >>> print(formats_help(details=True).splitlines()[0])
    .csv, .tsv, .txt: delimited text, with or without a header line
    """
    if not details:
        return ", ".join(READERS.endings)
    return "\n".join(
        f"{', '.join(each.endings)}{' (also with .gz)' if each.gzip else ''}: {each.help}" for each in READERS.formats
    )
