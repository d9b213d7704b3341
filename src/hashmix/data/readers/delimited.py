"""Delimited text: columns separated by commas, tabs, semicolons, bars or spaces, in the dialect that is found."""

from __future__ import annotations

import csv
import re
from collections.abc import Callable, Iterator
from contextlib import suppress
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from hashmix.data.cells import BLANKS, is_number
from hashmix.data.frames import RawColumns
from hashmix.data.readers.contract import column_positions, numbered
from hashmix.data.readers.decoding import read_text
from hashmix.data.readers.dialect import Dialect, physical_lines, recognise_dialect

__all__ = ["is_delimited", "read_delimited"]

_COMMENT = re.compile(r"^[ \t]*#.*(?:\n|\Z)", re.MULTILINE)
_CODE = re.compile(r"0\d+", re.ASCII)
#: Bytes that pyarrow parses at once; a line must fit.
_BLOCK, _LARGEST_BLOCK = 1 << 22, (1 << 31) - 1


def read_delimited(
    path: Path, columns: list[str] | None, progress: bool, header: bool | None = None
) -> tuple[RawColumns, list[str]]:
    """Read delimited text; the delimiter, the decimal sign, the encoding and the header are recognised.

    Parameters
    ----------
    path : Path
        A text file, or one that ends in .gz or .zst.
    columns : list of str or None
        Columns to keep, by name, by number from 0 or by range of numbers; None keeps all.
    progress : bool
        Ignored.
    header : bool, optional
        Whether the first line holds names. By default, what it looks like.

    Returns
    -------
    raw : RawColumns
    names : list of str

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from hashmix.data.readers.delimited import read_delimited
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "people.csv")
    ...     _ = path.write_text("name,age\\nAnn,31\\nBob,45\\n")
    ...     read_delimited(path, None, False)
    ({'name': array(['Ann', 'Bob'], dtype=object), 'age': array([31., 45.])}, ['name', 'age'])
    """
    text, notes = read_text(path)
    text, comment = _without_comments(text)
    dialect = _dialect(text, header, path)
    names = dialect.names or _names_in_comment(comment, dialect) or numbered(dialect.n_columns)
    names = [name or f"Unnamed: {j}" for j, name in enumerate(names)]
    body = _body(text, dialect)
    if not body.strip():
        raise ValueError(f"{path.name} has a header and no rows.")
    body, n_repeated = _without_repeated_headers(body, text, dialect)
    if n_repeated:
        notes.append(f"header: repeated {n_repeated} more times, and left out")
    if dialect.note and (dialect.names or not comment):
        notes.append(dialect.note)
    if dialect.decimal == ",":
        notes.append("numbers: decimal commas")
    if body.count('"') % 2:
        _check_quotes(body, dialect, path)
    cells = _parsed(body, dialect, path)
    raw = RawColumns()
    raw.notes = notes
    everything = column_positions(columns, names, path)
    raw.add((names[j] for j in everything), (cells(j) for j in everything), dialect.decimal)
    return raw, list(raw)


def is_delimited(path: Path) -> bool:
    """Return whether a text file holds columns rather than prose: all lines divide alike, mostly into numbers.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from hashmix.data.readers.delimited import is_delimited
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "poem.txt")
    ...     _ = path.write_text("The cat sat on the mat\\nThe dog did not\\n")
    ...     is_delimited(path)
    False
    """
    dialect = _dialect(_without_comments(read_text(path)[0])[0], None, path)
    rows = [[cell.strip() for cell in row] for row in dialect.rows] or [dialect.names or []]
    if any(len(row) != dialect.n_columns for row in rows):
        return False
    cells = [cell for row in rows for cell in row if cell not in BLANKS]
    n_numbers = sum(is_number(cell.replace(",", ".")) for cell in cells)
    return 2 * n_numbers >= len(cells) or dialect.delimiter in ("\t", ";", "|")


# ---- what precedes the rows --------------------------------------------------------------------------------------------------


def _without_comments(text: str) -> tuple[str, str]:
    """The text without lines that begin with #, and the last of those before the first row.

    If most lines begin with #, they are rows. Comments become blank lines, which are skipped later, so that line numbers stay
    true.
    """
    if not (text.lstrip().startswith("#") or "\n#" in text):
        return text, ""
    comment, end = "", 0
    for line in physical_lines(text):
        if line.strip() and not line.lstrip().startswith("#"):
            break
        comment = line.strip().lstrip("#").strip() or comment
        end += len(line)
    if end == len(text):
        return text, ""
    rows, n_comments = _COMMENT.subn("\n", text[end:])
    if 2 * n_comments > rows.count("\n"):
        rows = text[end:]
    return "\n" * text.count("\n", 0, end) + rows, comment


def _dialect(text: str, header: bool | None, path: Path) -> Dialect:
    if not text.strip():
        raise ValueError(f"{path.name} is empty.")
    try:
        return recognise_dialect(text, header)
    except csv.Error as error:
        raise ValueError(f"{path.name} cannot be divided into cells ({error}): is a closing quote missing?") from None


def _names_in_comment(comment: str, dialect: Dialect) -> list[str] | None:
    """The names that a comment before the first row holds, as NumPy writes them."""
    if not comment or dialect.names:
        return None
    names = comment.split(None if dialect.delimiter == " " else dialect.delimiter)
    return [name.strip() for name in names] if len(names) == dialect.n_columns else None


def _body(text: str, dialect: Dialect) -> str:
    begin = 0
    for _ in range(dialect.header_lines):
        begin = text.find("\n", begin) + 1 or len(text)
    body = text[begin:] if begin else text
    if dialect.delimiter == " ":
        body = re.sub(r"^ +| +$", "", re.sub(r"[ \t]+", " ", body), flags=re.MULTILINE)
    elif f'{dialect.delimiter} "' in body:  # pyarrow takes a quote as one only right after the delimiter
        body = body.replace(f'{dialect.delimiter} "', f'{dialect.delimiter}"')
    return body


def _without_repeated_headers(body: str, text: str, dialect: Dialect) -> tuple[str, int]:
    """The rows without further copies of the header, as concatenated files have them."""
    if dialect.names is None or any(is_number(name) for name in dialect.names):
        return body, 0
    line = next(islice(physical_lines(text), dialect.header_lines - 1, None))
    n_repeated = 0
    while f"\n{line}" in body:
        n_repeated += body.count(f"\n{line}")
        body = body.replace(f"\n{line}", "\n\n")  # a blank line, so that line numbers stay true
    return body, n_repeated


# ---- rows --------------------------------------------------------------------------------------------------------------------


def _parsed(body: str, dialect: Dialect, path: Path) -> Callable[[int], Any]:
    """A function that returns a column by its number. pyarrow parses if it is installed, else the csv module."""
    try:
        import pyarrow
    except ImportError:
        columns = [list(column) for column in zip(*_rows(body, dialect, path), strict=True)]
        return columns.__getitem__
    try:
        content = _by_pyarrow(body.encode(), dialect, _BLOCK)
    except pyarrow.ArrowInvalid:  # a line that is wrong or very long, or a text after many numbers
        for _ in _rows(body, dialect, path):  # raises at the line that is wrong
            pass
        content = _by_pyarrow(body.encode(), dialect, _LARGEST_BLOCK, texts=True)
    return lambda j: _from_arrow(content.column(j), dialect.decimal)


def _by_pyarrow(body: bytes, dialect: Dialect, block: int, texts: bool = False) -> Any:
    """The cells as pyarrow reads them: numbers where the first rows hold numbers, else texts."""
    import pyarrow
    from pyarrow import csv as arrow_csv

    names = numbered(dialect.n_columns)
    numeric = [False] * dialect.n_columns if texts else _numeric_columns(dialect)
    types = {
        name: pyarrow.float64() if is_numeric else pyarrow.string() for name, is_numeric in zip(names, numeric, strict=True)
    }
    return arrow_csv.read_csv(
        pyarrow.BufferReader(body),
        read_options=arrow_csv.ReadOptions(column_names=names, block_size=min(block, len(body) + 1)),
        parse_options=arrow_csv.ParseOptions(delimiter=dialect.delimiter, newlines_in_values=b'"' in body),
        convert_options=arrow_csv.ConvertOptions(
            column_types=types, null_values=BLANKS, strings_can_be_null=True, decimal_point=dialect.decimal
        ),
    )


def _numeric_columns(dialect: Dialect) -> list[bool]:
    """Which columns hold numbers in the first rows. Digits that begin with 0 are codes."""
    numeric = [True] * dialect.n_columns
    for row in dialect.rows:
        for j, cell in enumerate(row[: dialect.n_columns]):
            if numeric[j] and (cell := cell.strip()) not in BLANKS:
                plain = cell.replace(",", ".") if dialect.decimal == "," and "." not in cell else cell
                numeric[j] = is_number(plain) and not _CODE.fullmatch(cell)
    return numeric


def _from_arrow(column: Any, decimal: str) -> Any:
    """Numbers as an array, texts as a list."""
    from pyarrow import ArrowInvalid, compute

    if (
        str(column.type) == "string"
        and decimal == "."
        and not compute.any(compute.match_substring_regex(column, "^0[0-9]")).as_py()
    ):
        with suppress(ArrowInvalid):
            column = column.cast("double")
    if str(column.type) == "double":
        return (column.fill_null(np.nan) if column.null_count else column).to_numpy()
    return column.to_pylist()


def _check_quotes(body: str, dialect: Dialect, path: Path) -> None:
    """Raise a ValueError if the last quote is never closed: everything after it would be one cell."""
    reader = csv.reader(physical_lines(body), delimiter=dialect.delimiter, skipinitialspace=True, strict=True)
    begin = 0
    try:
        for _ in reader:
            begin = reader.line_num
    except csv.Error:
        number = begin + dialect.header_lines + 1
        raise ValueError(f"Line {number} of {path.name} opens a quote that is never closed: mend that line.") from None


def _rows(body: str, dialect: Dialect, path: Path) -> Iterator[list[str]]:
    """The rows as the csv module reads them; raises a ValueError that names the line that is wrong."""
    reader = csv.reader(physical_lines(body), delimiter=dialect.delimiter, skipinitialspace=True)
    try:
        for row in reader:
            if len(row) == dialect.n_columns and (len(row) > 1 or row[0].strip()):
                yield row
            elif len(row) > 1 or (row and row[0].strip()):
                number = reader.line_num + dialect.header_lines
                found = f"has {len(row)} {'value' if len(row) == 1 else 'values'}, the first has {dialect.n_columns}"
                raise ValueError(f"Line {number} of {path.name} {found}: mend that line, or use --text for one text per line.")
    except csv.Error as error:
        raise ValueError(f"{path.name} cannot be divided into cells ({error}): is a closing quote missing?") from None
