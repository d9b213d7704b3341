"""Reading data files: one registry of formats, and one function that reads them all.

To add a format, declare a :class:`FileFormat` and add it to :data:`READERS`::

    READERS.add("fits", FileFormat(suffixes=(".fits",), read=my_function))
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from hashmix.data.readers.contract import FileFormat, FormatRegistry, check_is_file
from hashmix.data.readers.delimited import read_delimited
from hashmix.data.readers.docword import read_docword, read_docword_columns
from hashmix.data.readers.matrix_market import read_matrix_market
from hashmix.data.readers.numpy_files import read_numpy
from hashmix.data.readers.parquet import read_parquet
from hashmix.data.readers.sparse import read_svmlight

__all__ = ["READERS", "FileFormat", "formats_help", "read_docword", "read_file"]

#: The file formats, by name; each entry is a :class:`FileFormat`.
READERS = FormatRegistry()
READERS.add(
    "delimited",
    FileFormat(
        suffixes=(".csv", ".tsv", ".txt"),
        read=read_delimited,
        help="delimited text; its dialect and header are recognised",
        gzip=True,
        selects_columns=True,
        zstd=True,
        takes_header=True,
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
    FileFormat(suffixes=(".parquet",), read=read_parquet, help="columns of any type (needs pyarrow)", selects_columns=True),
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


def read_file(
    path: str | os.PathLike[str], columns: Sequence[str] | None = None, progress: bool = False, header: bool | None = None
) -> tuple[Any, list[str]]:
    """Read what is in a file, as it is, and the names of its columns.

    :func:`hashmix.data.ingest.read_data` also decides what the columns hold.

    Parameters
    ----------
    path : str or path
        A file in one of the formats of :data:`READERS`; :func:`formats_help` lists them.
    columns : sequence of str, optional
        The columns to keep, by name, by number from 0 or by range of numbers such as "3-7". By default all of them.
    progress : bool, default=False
        Whether to show a progress bar (needs tqdm) for formats that have one: bags of words.
    header : bool, optional
        Whether the first line of delimited text holds names. By default, what it looks like.

    Returns
    -------
    X : RawColumns, ndarray or sparse matrix
        Delimited text and Parquet: a dict of columns by name (:class:`~hashmix.data.frames.RawColumns`). Other formats:
        a matrix of shape (n_rows, n_columns).
    names : list of str

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from hashmix.data.readers import read_file
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "heights.csv")
    ...     _ = path.write_text("metres;colour\\n1,5;red\\n1,7;\\n")
    ...     read_file(path)[0]
    {'metres': array([1.5, 1.7]), 'colour': array(['red', None], dtype=object)}
    """
    path = Path(path)
    check_is_file(path)
    chosen = READERS.find(path)
    return chosen(path, columns, progress, header)


def formats_help(details: bool = False) -> str:
    """Return the file names that :func:`read_file` recognises, for help texts.

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
    .csv, .tsv, .txt (also with .gz, .zst): delimited text; its dialect and header are recognised
    """
    if not details:
        return ", ".join(READERS.endings)
    lines = []
    for each in READERS.formats:
        also = f" (also with {', '.join(each.compressions)})" if each.compressions else ""
        lines.append(f"{', '.join(each.endings)}{also}: {each.help}")
    return "\n".join(lines)
