"""Sparse counts from .npz, svmlight, Matrix Market and UCI bag-of-words files."""

from __future__ import annotations

import gzip
import os
import warnings
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from scipy.io import mmread
from scipy.sparse import csr_matrix

from hashmix.progress import counting_bar

__all__ = ["SPARSE_KINDS", "is_docword", "read_docword", "read_sparse", "sparse_from_arrays"]

SPARSE_KINDS = (".svm", ".svmlight", ".libsvm", ".mtx")
#: Bytes of a bag-of-words file parsed in one go.
_BLOCK = 1 << 24


def plain_suffix(path: Path) -> str:
    """The suffix of a file's name, a last .gz left out."""
    return Path(path.stem).suffix.lower() if path.suffix.lower() == ".gz" else path.suffix.lower()


def is_docword(path: Path) -> bool:
    """Whether a file's name is that of a UCI bag of words."""
    return path.name.lower().startswith("docword.")


def read_sparse(path: Path) -> tuple[csr_matrix, list[str]]:
    """An svmlight or Matrix Market file, or a bag of words, as a sparse matrix with the names of its columns."""
    if is_docword(path):
        return read_docword(path)
    try:
        if plain_suffix(path) == ".mtx":
            matrix = csr_matrix(mmread(path))
        else:
            from sklearn.datasets import load_svmlight_file

            matrix = load_svmlight_file(path)[0]
    except (ValueError, OSError, EOFError, zlib.error, IndexError, TypeError) as error:
        kind = "a Matrix Market" if plain_suffix(path) == ".mtx" else "an svmlight"
        raise ValueError(f"{path.name} is not {kind} file ({error}).") from None
    return matrix, [str(j) for j in range(matrix.shape[1])]


def sparse_from_arrays(arrays: dict[str, np.ndarray], path: Path) -> tuple[csr_matrix, list[str]] | None:
    """The matrix that arrays named data, indices, indptr and shape stand for, and its columns' names; None if there is none.

    An array named vocab, lines of UTF-8 text, gives the names.
    """
    if not {"data", "indices", "indptr", "shape"} <= set(arrays):
        return None
    if bytes(arrays.get("format", np.array(b"csr")).tobytes()).strip(b"\0") not in (b"csr", b"c\0\0\0s\0\0\0r"):
        raise ValueError(f"{path.name} must hold a sparse matrix in CSR format.")
    try:
        matrix = csr_matrix((arrays["data"], arrays["indices"], arrays["indptr"]), shape=tuple(arrays["shape"]))
        matrix.check_format(full_check=True)
    except (ValueError, TypeError, IndexError) as error:
        raise ValueError(f"{path.name} does not hold a sparse matrix ({error}).") from None
    names = [str(j) for j in range(matrix.shape[1])]
    if "vocab" in arrays:
        words = bytes(arrays["vocab"]).decode("utf-8", "replace").split("\n")
        names = words if len(words) == len(names) else names
    return matrix, names


# ---- UCI bags of words -------------------------------------------------------------------------------------------------------


def read_docword(
    path: str | os.PathLike, vocab: str | os.PathLike | None = None, progress: bool = False
) -> tuple[csr_matrix, list[str]]:
    """A bag of words in the format of the UCI collection, as a sparse matrix of counts and the names of its columns.

    The file, plain or gzipped, has three lines with the numbers of documents, words and entries, then a line
    ``docID wordID count`` for each entry, both IDs from 1 on, documents in order. It is read in blocks: memory is that of the
    result. Documents without words are rows of zeros.

    Parameters
    ----------
    path : str or path
        Usually ``docword.NAME.txt`` or ``docword.NAME.txt.gz``.
    vocab : str or path, optional
        A file with one word a line; by default ``vocab.NAME.txt`` beside the first, if there is one.
    progress : bool, default=False
        Show a progress bar (needs tqdm).

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from hashmix.io import read_docword
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = Path(folder, "docword.tiny.txt").write_text("2\\n3\\n3\\n1 1 2\\n1 3 1\\n2 2 4\\n")
    ...     _ = Path(folder, "vocab.tiny.txt").write_text("ape\\nbee\\ncat\\n")
    ...     X, words = read_docword(Path(folder, "docword.tiny.txt"))
    >>> X.toarray().tolist(), words
    ([[2, 0, 1], [0, 4, 0]], ['ape', 'bee', 'cat'])
    """
    path = Path(path)
    if not path.is_file():
        raise FileNotFoundError(f"There is no file {str(path)!r}.")
    try:
        with _opened(path) as file, counting_bar(path.name, " entries", progress) as show:
            matrix = _read_entries(file, path, show)
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise ValueError(f"{path.name} is cut short or damaged ({error}).") from None
    return matrix, _read_words(path, vocab, matrix.shape[1])


def _opened(path: Path) -> Any:
    return gzip.open(path, "rb") if path.suffix.lower() == ".gz" else path.open("rb")


def _read_entries(file: BinaryIO, path: Path, show: Callable[[int], Any]) -> csr_matrix:
    header = [file.readline() for _ in range(3)]
    for number, line in enumerate(header, start=1):
        if not line.strip().isdigit():
            what = "the numbers of documents, words and entries, one a line"
            raise ValueError(f"{path.name} must begin with {what}. Got {line[:40]!r} in line {number} instead.")
    n_documents, n_words, n_entries = map(int, header)
    columns, values = np.empty(n_entries, np.int32), np.empty(n_entries, np.uint8)
    begins = np.zeros(n_documents + 1, np.int64)
    found, last, left = 0, 1, b""
    while block := file.read(_BLOCK):
        block = left + block
        end = block.rfind(b"\n") + 1
        left, block = block[end:], block[:end]
        entries = _parse(block, path, found + 4, last, n_documents, n_words)
        found, last, values = _store(entries, path, found, last, n_entries, begins, columns, values)
        show(len(entries))
    if left.strip():
        entries = _parse(left + b"\n", path, found + 4, last, n_documents, n_words)
        found, last, values = _store(entries, path, found, last, n_entries, begins, columns, values)
    if found < n_entries:
        raise ValueError(f"{path.name} is cut short: it ends in line {found + 3}, after {found} of {n_entries} entries.")
    np.cumsum(begins, out=begins)
    matrix = csr_matrix((values, columns, begins), shape=(n_documents, n_words))
    matrix.sum_duplicates()
    return matrix


def _parse(block: bytes, path: Path, line: int, last: int, n_documents: int, n_words: int) -> np.ndarray:
    """The entries in some whole lines, (n, 3); the first of them is line number ``line``."""
    with warnings.catch_warnings():
        warnings.simplefilter("error", DeprecationWarning)
        try:
            numbers = np.fromstring(block, dtype=np.int64, sep=" ")
        except (ValueError, DeprecationWarning):  # not all of it is numbers: which line is looked up below
            numbers = np.empty(0, np.int64)
    entries = numbers[: len(numbers) // 3 * 3].reshape(-1, 3)
    good = len(numbers) == 3 * block.count(b"\n")
    if good and len(entries):
        documents, words, counts = entries.T
        ordered = documents[0] >= last and documents[-1] <= n_documents and (np.diff(documents) >= 0).all()
        inside = words.min() >= 1 and words.max() <= n_words and counts.min() >= 1 and counts.max() < 2**31
        good = bool(ordered and inside)
    if not good:
        _complain(block, path, line, last, n_documents, n_words)
    return entries


def _complain(block: bytes, path: Path, line: int, last: int, n_documents: int, n_words: int) -> None:
    """Raise for the first line that is not an entry."""
    for number, text in enumerate(block.split(b"\n")[:-1], start=line):
        cells = text.split()
        if len(cells) != 3 or not all(cell.isdigit() for cell in cells):
            what = "docID wordID count"
        else:
            document, word, count = map(int, cells)
            if not 1 <= document <= n_documents or document < last:
                what = f"a docID from {last} to {n_documents}, in order"
            elif not 1 <= word <= n_words:
                what = f"a wordID from 1 to {n_words}"
            elif not 1 <= count < 2**31:
                what = "a count ≥ 1"
            else:
                last = document
                continue
        raise ValueError(f"Line {number} of {path.name} must be {what}. Got {text[:40].decode('utf-8', 'replace')!r} instead.")


def _store(
    entries: np.ndarray,
    path: Path,
    found: int,
    last: int,
    n_entries: int,
    begins: np.ndarray,
    columns: np.ndarray,
    values: np.ndarray,
) -> tuple[int, int, np.ndarray]:
    """Write entries behind those found so far; how many there are then, the last document, and the values."""
    if len(entries) == 0:
        return found, last, values
    end = found + len(entries)
    if end > n_entries:
        raise ValueError(f"{path.name} has more entries than the {n_entries} its third line says: see line {n_entries + 4}.")
    if values.dtype == np.uint8 and entries[:, 2].max() > 255:
        values = values.astype(np.int32)
    columns[found:end] = entries[:, 1] - 1
    values[found:end] = entries[:, 2]
    first = int(entries[0, 0])
    counts = np.bincount(entries[:, 0] - first)
    begins[first : first + len(counts)] += counts
    return end, int(entries[-1, 0]), values


def _read_words(path: Path, vocab: str | os.PathLike | None, n_words: int) -> list[str]:
    if vocab is None:
        name = path.name[len("docword") :] if is_docword(path) else ""
        bare = name[:-3] if name.lower().endswith(".gz") else name
        beside = [path.with_name(f"vocab{end}") for end in (bare, f"{bare}.gz") if bare]
        found = next((candidate for candidate in beside if candidate.is_file()), None)
        if found is None:
            return [str(j) for j in range(n_words)]
        vocab = found
    vocab = Path(vocab)
    if not vocab.is_file():
        raise FileNotFoundError(f"There is no file {str(vocab)!r}.")
    with _opened(vocab) as file:
        words = file.read().decode("utf-8", "replace").split("\n")
    words = [word.strip("\r") for word in words]
    if words and not words[-1]:
        words.pop()
    if len(words) != n_words:
        raise ValueError(f"{vocab.name} must have {n_words} words, one a line. It has {len(words)}.")
    return words
