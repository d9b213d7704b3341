"""Bags of words in the format of the UCI collection."""

from __future__ import annotations

import gzip
import os
import warnings
import zlib
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import csr_matrix

from hashmix.core.progress import counting_bar
from hashmix.data.readers.contract import check_extent, numbered

__all__ = ["read_docword", "read_docword_columns", "read_vocabulary"]

#: Bytes that are parsed at once.
_BLOCK = 1 << 24
#: Lines before the first entry.
_HEADER = 3
#: An entry takes at least six bytes, and gzip makes a thousandth of them at best.
_ENTRIES_PER_BYTE = 200


def read_docword(
    path: str | os.PathLike[str], vocab: str | os.PathLike[str] | None = None, progress: bool = False
) -> tuple[csr_matrix, list[str]]:
    """Read a UCI bag of words as a sparse matrix of counts with one row per document.

    The file may be gzipped. Its first three lines are the numbers of documents, of words and of entries. Every other line
    is an entry ``docID wordID count``; IDs start at 1 and documents are in order. The file is read in blocks, so the peak
    memory is about that of the result. A document without entries becomes a row of zeros.

    Parameters
    ----------
    path : str or path
        Usually ``docword.NAME.txt`` or ``docword.NAME.txt.gz``.
    vocab : str or path, optional
        A file with one word per line. By default ``vocab.NAME.txt`` in the same folder, if it exists.
    progress : bool, default=False
        Whether to show a progress bar (needs tqdm).

    Returns
    -------
    X : csr_matrix of shape (n_documents, n_words)
        Values are uint8 if no count exceeds 255, else int32.
    words : list of str
        The vocabulary, or the numbers from 0 if there is none.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from hashmix.data.readers import read_docword
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
            entries = _Entries(path, [file.readline() for _ in range(_HEADER)])
            rest = b""
            while block := file.read(_BLOCK):
                block = rest + block
                end = block.rfind(b"\n") + 1
                rest = block[end:]
                show(entries.add(block[:end]))
            if rest.strip():  # the last line may lack a newline
                show(entries.add(rest + b"\n"))
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise ValueError(f"{path.name} is cut short or damaged ({error}).") from None
    matrix = entries.matrix()
    return matrix, _read_words(path, vocab, matrix.shape[1])


def read_docword_columns(path: Path, columns: list[str] | None, progress: bool) -> tuple[csr_matrix, list[str]]:
    """Read a bag of words with the signature that all file formats share; see :func:`read_docword`.

    Parameters
    ----------
    path : Path
    columns : list of str or None
        Ignored; the caller selects columns.
    progress : bool
        Whether to show a progress bar.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from hashmix.data.readers.docword import read_docword_columns
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "docword.tiny.txt")
    ...     _ = path.write_text("1\\n2\\n1\\n1 2 5\\n")
    ...     X, words = read_docword_columns(path, None, False)
    >>> X.toarray().tolist(), words
    ([[0, 5]], ['0', '1'])
    """
    return read_docword(path, progress=progress)


class _Entries:
    """The entries of a bag of words, collected block by block into compressed sparse rows."""

    def __init__(self, path: Path, header: list[bytes]) -> None:
        file_name = path.name
        for number, line in enumerate(header, start=1):
            if not line.strip().isdigit():
                expected = "the numbers of documents, words and entries, one per line"
                raise ValueError(f"{file_name} must begin with {expected}. Got {line[:40]!r} in line {number} instead.")
        self.file_name = file_name
        self.n_documents, self.n_words, self.n_entries = map(int, header)
        check_extent(file_name, self.n_documents, self.n_words, self.n_entries)
        if self.n_entries > _ENTRIES_PER_BYTE * path.stat().st_size:
            raise ValueError(f"{file_name} is cut short: it is too small for {self.n_entries:,} entries.")
        self.columns, self.values = np.empty(self.n_entries, np.int32), np.empty(self.n_entries, np.uint8)
        self.row_sizes = np.zeros(self.n_documents + 1, np.int64)  # shifted by one: the cumulative sum gives row starts
        self.found, self.last_document = 0, 1

    def add(self, block: bytes) -> int:
        """Parse complete lines and store their entries; return how many there are."""
        entries = self._parse(block)
        if len(entries) == 0:
            return 0
        end = self.found + len(entries)
        if end > self.n_entries:
            expected = f"the {self.n_entries} that its third line announces"
            raise ValueError(f"{self.file_name} has more entries than {expected}: see line {self.n_entries + _HEADER + 1}.")
        documents, words, counts = entries.T
        if self.values.dtype == np.uint8 and counts.max() > 255:
            self.values = self.values.astype(np.int32)
        self.columns[self.found : end] = words - 1
        self.values[self.found : end] = counts
        first = int(documents[0])
        sizes = np.bincount(documents - first)
        self.row_sizes[first : first + len(sizes)] += sizes
        self.found, self.last_document = end, int(documents[-1])
        return len(entries)

    def matrix(self) -> csr_matrix:
        if self.found < self.n_entries:
            where = f"it ends in line {self.found + _HEADER}, after {self.found} of {self.n_entries} entries"
            raise ValueError(f"{self.file_name} is cut short: {where}.")
        begins = np.cumsum(self.row_sizes)
        matrix = csr_matrix((self.values, self.columns, begins), shape=(self.n_documents, self.n_words))
        matrix.sum_duplicates()
        return matrix

    def _parse(self, block: bytes) -> np.ndarray:
        """Return the entries of complete lines as an array of shape (n, 3)."""
        with warnings.catch_warnings():
            warnings.simplefilter("error", DeprecationWarning)  # NumPy's answer to text that is not a number
            try:
                numbers = np.fromstring(block, dtype=np.int64, sep=" ")
            except (ValueError, DeprecationWarning):
                numbers = np.empty(0, np.int64)
        entries = numbers[: len(numbers) // 3 * 3].reshape(-1, 3)
        if len(numbers) != 3 * block.count(b"\n") or not self._are_valid(entries):
            # Only now look at single lines, to name the one that is wrong.
            self._raise_at_bad_line(block)
        return entries

    def _are_valid(self, entries: np.ndarray) -> bool:
        if len(entries) == 0:
            return True
        documents, words, counts = entries.T
        in_order = documents[0] >= self.last_document and documents[-1] <= self.n_documents and (np.diff(documents) >= 0).all()
        in_range = words.min() >= 1 and words.max() <= self.n_words and counts.min() >= 1 and counts.max() < 2**31
        return bool(in_order and in_range)

    def _raise_at_bad_line(self, block: bytes) -> None:
        """Raise a ValueError that names the first line that is not a valid entry."""
        last = self.last_document
        for number, text in enumerate(block.split(b"\n")[:-1], start=self.found + _HEADER + 1):
            cells = text.split()
            if len(cells) != 3 or not all(cell.isdigit() for cell in cells):
                expected = "docID wordID count"
            else:
                document, word, count = map(int, cells)
                if not 1 <= document <= self.n_documents or document < last:
                    expected = f"a docID from {last} to {self.n_documents}, in order"
                elif not 1 <= word <= self.n_words:
                    expected = f"a wordID from 1 to {self.n_words}"
                elif not 1 <= count < 2**31:
                    expected = "a count ≥ 1"
                else:
                    last = document
                    continue
            got = text[:40].decode("utf-8", "replace")
            raise ValueError(f"Line {number} of {self.file_name} must be {expected}. Got {got!r} instead.")


def _opened(path: Path) -> Any:
    return gzip.open(path, "rb") if path.suffix.lower() == ".gz" else path.open("rb")


def read_vocabulary(path: str | os.PathLike[str], n_words: int) -> list[str]:
    """Read the words that name the columns of a bag of words, one per line.

    Parameters
    ----------
    path : str or path
        A text file, or one that ends in .gz.
    n_words : int
        How many there must be.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from hashmix.data.readers.docword import read_vocabulary
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "words.txt")
    ...     _ = path.write_text("ape\\nbee\\n")
    ...     read_vocabulary(path, 2)
    ['ape', 'bee']
    """
    path = Path(path)
    if not path.is_file():
        raise FileNotFoundError(f"There is no file {str(path)!r}.")
    with _opened(path) as file:
        words = [word.strip("\r") for word in file.read().decode("utf-8-sig", "replace").split("\n")]
    if words and not words[-1]:
        words.pop()
    if len(words) != n_words:
        raise ValueError(f"{path.name} must have {n_words} words, one per line. It has {len(words)}.")
    return words


def _read_words(path: Path, vocab: str | os.PathLike[str] | None, n_words: int) -> list[str]:
    vocab = _find_vocab(path) if vocab is None else Path(vocab)
    return numbered(n_words) if vocab is None else read_vocabulary(vocab, n_words)


def _find_vocab(path: Path) -> Path | None:
    """Return ``vocab.NAME.txt`` or ``vocab.NAME.txt.gz`` in the folder of ``docword.NAME.txt``, if there is one."""
    start, _, rest = path.name.partition(".")
    if start.lower() != "docword":
        return None
    bare = rest[:-3] if rest.lower().endswith(".gz") else rest
    candidates = [path.with_name(f"vocab.{bare}"), path.with_name(f"vocab.{bare}.gz")]
    return next((candidate for candidate in candidates if candidate.is_file()), None)
