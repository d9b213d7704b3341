"""Delimited text: numbers separated by commas, tabs, semicolons or spaces."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np

from hashmix.data.readers.contract import column_positions, not_numeric, numbered

__all__ = ["read_delimited"]


def read_delimited(path: Path, columns: list[str] | None, progress: bool) -> tuple[np.ndarray, list[str]]:
    """Read delimited text. The first line is a header if none of its cells is a number.

    The delimiter is the most frequent of comma, tab and semicolon in the first line, or a space if there is none of them.
    Only the selected columns must be numeric.

    Parameters
    ----------
    path : Path
    columns : list of str or None
        Columns to keep, by name or by number from 0; None keeps all.
    progress : bool
        Ignored.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from hashmix.data.readers.delimited import read_delimited
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "people.csv")
    ...     _ = path.write_text("name,age\\nAnn,31\\nBob,45\\n")
    ...     read_delimited(path, ["age"], False)
    (array([[31.],
           [45.]]), ['age'])
    """
    with path.open(newline="", encoding="utf-8-sig", errors="replace") as file:
        first = file.readline()
        if not first.strip():
            raise ValueError(f"{path.name} is empty.")
        delimiter = _delimiter(first)
        cells = next(csv.reader([first], delimiter=delimiter, skipinitialspace=True))
        has_header = not any(_is_number(cell) for cell in cells)
        if not has_header and not all(_is_number(cell) for cell in cells):
            raise ValueError(
                f"The first line of {path.name} must be all names or all numbers. Got {first.strip()[:60]!r} instead."
            )
        names = [cell.strip() for cell in cells] if has_header else numbered(len(cells))
        keep = column_positions(columns, names, path)
        if not has_header:
            file.seek(0)
        reader = csv.reader(file, delimiter=delimiter, skipinitialspace=True)
        rows = _numbers(_lines(reader, path), path, names, keep, first_line=2 if has_header else 1)
    if not rows:
        raise ValueError(f"{path.name} has a header and no rows.")
    return np.array(rows), [names[j] for j in keep]


def _delimiter(first: str) -> str:
    delimiter = max([",", "\t", ";"], key=first.count)
    return " " if delimiter not in first and len(first.split()) > 1 else delimiter


def _numbers(lines: Iterable[list[str]], path: Path, names: list[str], keep: list[int], first_line: int) -> list[list[float]]:
    """Convert the selected cells of every line that is not blank."""
    rows = []
    for number, cells in enumerate(lines, start=first_line):
        if not cells:
            continue
        if len(cells) != len(names):
            raise ValueError(f"Line {number} of {path.name} has {len(cells)} values, the first has {len(names)}.")
        try:
            rows.append([float(cells[j]) for j in keep])
        except ValueError:
            bad = next(j for j in keep if not _is_number(cells[j]))
            raise not_numeric(path, names[bad], f"line {number}: {cells[bad]!r}") from None
    return rows


def _lines(reader: Iterable[list[str]], path: Path) -> Iterator[list[str]]:
    """Iterate over the lines; a file that the csv module rejects raises a ValueError with the file's name."""
    try:
        yield from reader
    except csv.Error as error:
        raise ValueError(f"{path.name} is not a table of comma-separated values ({error}).") from None


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
