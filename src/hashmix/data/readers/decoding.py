"""The text of a file: decompressed, and decoded from the encodings that people have."""

from __future__ import annotations

import codecs
import gzip
import zlib
from pathlib import Path

__all__ = ["read_text"]

_BOMS = ((codecs.BOM_UTF8, "utf-8"), (codecs.BOM_UTF16_LE, "utf-16-le"), (codecs.BOM_UTF16_BE, "utf-16-be"))
#: Bytes at the start of a file that tell text from other content.
_LOOK = 1 << 16
#: Bytes below 32 that text may hold: tab, line feed, vertical tab, form feed, carriage return.
_CONTROL = frozenset(range(32)) - {9, 10, 11, 12, 13}


def read_text(path: Path) -> tuple[str, list[str]]:
    """Return the text of a file, with line feeds between lines, and notes on how it was decoded.

    UTF-8 and UTF-16, with or without a byte order mark, and Windows' Latin-1. A file that ends in .gz or .zst is
    decompressed first. Content that is not text raises a ValueError.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from hashmix.data.readers.decoding import read_text
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "a.csv")
    ...     _ = path.write_bytes("Größe\\r\\n1\\r\\n".encode("latin-1"))
    ...     read_text(path)
    ('Größe\\n1\\n', ['encoding: latin-1, because it is not UTF-8'])
    """
    content = _decompressed(path)
    if not content.strip():
        raise ValueError(f"{path.name} is empty.")
    text, notes = _decoded(content, path)
    if "\r" in text:
        text = text.replace("\r\n", "\n").replace("\r", "\n")
    return text, notes


def _decompressed(path: Path) -> bytes:
    suffix = path.suffix.lower()
    content = path.read_bytes()
    try:
        if suffix == ".gz":
            return gzip.decompress(content)
        if suffix == ".zst":
            return _unzstd(content, path)
    except (OSError, EOFError, zlib.error) as error:
        raise ValueError(f"{path.name} is cut short or damaged ({error}).") from None
    return content


def _unzstd(content: bytes, path: Path) -> bytes:
    try:
        import pyarrow
    except ImportError:
        raise ImportError(f"Reading {path.name} needs pyarrow: pip install 'hashmix[parquet]', or unzstd the file.") from None
    with pyarrow.CompressedInputStream(pyarrow.BufferReader(content), "zstd") as stream:
        return stream.read()


def _decoded(content: bytes, path: Path) -> tuple[str, list[str]]:
    for mark, encoding in _BOMS:
        if content.startswith(mark):
            return _strictly(content[len(mark) :], encoding, path), []
    start = content[:_LOOK]
    if order := _utf16_without_mark(start):
        return _strictly(content, order, path), [f"encoding: {order}, because every second byte is 0"]
    if controls := [(place, byte) for place, byte in enumerate(start) if byte in _CONTROL]:
        place, byte = controls[0]
        raise ValueError(f"{path.name} is not text: byte {place} is {byte}. Save the data as .csv in UTF-8.")
    try:
        return content.decode("utf-8"), []
    except UnicodeDecodeError:
        # The Latin-1 of Windows, which has the euro sign; its five holes become the sign for an unknown character.
        return content.decode("cp1252", "replace"), ["encoding: latin-1, because it is not UTF-8"]


def _strictly(content: bytes, encoding: str, path: Path) -> str:
    try:
        return content.decode(encoding)
    except UnicodeDecodeError as error:
        raise ValueError(f"{path.name} is not {encoding} as it claims ({error.reason} at byte {error.start}).") from None


def _utf16_without_mark(start: bytes) -> str | None:
    """The byte order, if one of every two bytes is mostly 0."""
    half = len(start) // 2
    for encoding, zeros, others in (("utf-16-le", start[1::2], start[::2]), ("utf-16-be", start[::2], start[1::2])):
        if half >= 4 and zeros.count(0) > 0.8 * half and others.count(0) == 0:
            return encoding
    return None
