"""How delimited text is written: its delimiter, its decimal sign, and whether the first line holds names."""

from __future__ import annotations

import csv
import re
from collections import Counter
from collections.abc import Callable, Iterator
from itertools import islice
from typing import NamedTuple

from hashmix.data.cells import BLANKS, is_number

__all__ = ["Dialect", "physical_lines", "recognise_dialect"]

#: Delimiters, the most telling first: a comma may also be a decimal sign, and a space part of a name.
_DELIMITERS = ("\t", ";", "|", ",", " ")
#: A delimiter that text does not contain, for files of one column.
_NONE = "\x1f"
_LOOK_ROWS, _LOOK_CELLS = 200, 400_000
_COMMA_NUMBER = re.compile(r"[+-]?\d*,\d+([eE][+-]?\d+)?", re.ASCII)
_ISO_DATE = re.compile(r"\d{4}-\d{2}-\d{2}.*", re.ASCII)


class Dialect(NamedTuple):
    """How a text is written.

    Attributes
    ----------
    delimiter, decimal : str
    names : list of str or None
        The first line, if it holds names.
    n_columns : int
    header_lines : int
        Lines before the first row.
    note : str
        What the user should know of the header; often nothing.
    rows : list of lists of str
        The first rows.
    """

    delimiter: str
    decimal: str
    names: list[str] | None
    n_columns: int
    header_lines: int
    note: str
    rows: list[list[str]]


def recognise_dialect(text: str, header: bool | None = None) -> Dialect:
    """Return how a text is written, from its first lines.

    Parameters
    ----------
    text : str
        Without comments, with line feeds.
    header : bool, optional
        Whether the first line holds names. By default, what it looks like.

    Examples
    --------
    >>> from hashmix.data.readers.dialect import recognise_dialect
    >>> found = recognise_dialect("height;weight\\n1,75;70\\n1,82;81,5\\n")
    >>> found.delimiter, found.decimal, found.names
    (';', ',', ['height', 'weight'])
    >>> recognise_dialect("0,1,2\\n0.5,1.5,2.5\\n").note
    'header: the first line (0, 1, 2) holds names; --no-header to change'
    """
    delimiter, (rows, first_lines) = _delimiter(text)
    decimal = _decimal(rows, delimiter)
    n_columns = _usual_length(rows)
    note = ""
    if header is None:
        header, note = _has_header(rows, n_columns, decimal)
    names = None
    if header:
        names = [cell.strip() for cell in rows.pop(0)]
        if len(names) == n_columns - 1 and n_columns > 1:  # names of rows without a name of their own, or a delimiter too many
            trailing = all(not row[-1].strip() for row in rows if len(row) == n_columns)
            names = [*names, ""] if trailing else ["", *names]
        n_columns = len(names)
    return Dialect(delimiter, decimal, names, n_columns, first_lines if header else 0, note, rows)


def physical_lines(text: str) -> Iterator[str]:
    """Iterate over the lines of a text with their line feeds, without a copy of the text.

    Examples
    --------
    >>> from hashmix.data.readers.dialect import physical_lines
    >>> list(physical_lines("a\\nb"))
    ['a\\n', 'b']
    """
    begin = 0
    while begin < len(text):
        end = text.find("\n", begin) + 1 or len(text)
        yield text[begin:end]
        begin = end


def _delimiter(text: str) -> tuple[str, tuple[list[list[str]], int]]:
    """The delimiter that divides all lines alike, or nearly so, and the first rows."""
    best_share, best = -1.0, None
    for delimiter in (_NONE, *_DELIMITERS):
        try:
            rows, first_lines = _first_rows(text, delimiter)
        except csv.Error as error:  # a cell too long: the wrong delimiter for a long line, or a quote that is never closed
            if not _has_long_lines(text):
                raise
            failure = error
            continue
        length = _usual_length(rows)
        if delimiter == _NONE:
            share = 0.0
        elif length < 2 or len(rows[0]) < 2:
            continue
        else:
            below = rows[1:] or rows
            share = sum(len(row) == length for row in below) / len(below)
            share /= 1 if len(rows[0]) in (length, length - 1) else 2
        if share > best_share:
            best_share, best = share, (delimiter, (rows, first_lines))
    if best is None:
        raise failure
    return best


def _has_long_lines(text: str) -> bool:
    return any(len(line) > csv.field_size_limit() for line in islice(physical_lines(text), _LOOK_ROWS))


def _first_rows(text: str, delimiter: str) -> tuple[list[list[str]], int]:
    """The first rows that are not blank, and at which line the first of them ends."""
    lines = physical_lines(text)
    if delimiter == " ":
        lines = (" ".join(line.split()) + "\n" for line in lines)
    reader = csv.reader(lines, delimiter=delimiter, skipinitialspace=True)
    rows: list[list[str]] = []
    first_lines = n_cells = 0
    for row in reader:
        if len(row) > 1 or (row and row[0].strip()):
            rows.append(row)
            first_lines = first_lines or reader.line_num
            n_cells += len(row)
        if len(rows) >= _LOOK_ROWS or (len(rows) >= 3 and n_cells > _LOOK_CELLS):
            break
    return rows, first_lines


def _usual_length(rows: list[list[str]]) -> int:
    below = rows[1:] or rows
    return Counter(len(row) for row in below).most_common(1)[0][0] if below else 0


def _decimal(rows: list[list[str]], delimiter: str) -> str:
    if delimiter in (",", " "):
        return "."
    cells = [cell.strip() for row in rows for cell in row]
    commas = sum(_COMMA_NUMBER.fullmatch(cell) is not None for cell in cells)
    points = sum("." in cell and is_number(cell) for cell in cells)
    return "," if commas > points else "."


# ---- the header ------------------------------------------------------------------------------------------------------------


def _has_header(rows: list[list[str]], n_columns: int, decimal: str) -> tuple[bool, str]:
    """Whether the first row holds names, and a note if that is not obvious."""
    first = [cell.strip() for cell in rows[0]]
    if len(first) == n_columns - 1 and n_columns > 2:
        return True, ""
    number = _number_test(decimal)
    below = [[cell.strip() for cell in row] for row in rows[1:] if len(row) == len(first)]
    row_note = "header: the first line is a row, not names; --header to change"
    if not below:
        return (False, row_note) if any(number(cell) for cell in first) else (True, "")
    columns = [[cell for cell in column if cell not in BLANKS] for column in zip(*below, strict=True)]
    if any(number(cell) and not cell.isdecimal() for cell in first):
        return False, row_note
    others = [row for row in below if row != first]  # files that were joined repeat their header
    over_numbers = [
        _is_text(cell) and _mostly([cell for cell in column if cell not in BLANKS], number)
        for cell, column in zip(first, zip(*others, strict=True), strict=False)
    ]
    whole = [cell for cell in first if cell.isdecimal()]
    shown = ", ".join(first[:3]) + (", …" if len(first) > 3 else "")
    names_note = f"header: the first line ({shown}) holds names; --no-header to change"
    if any(over_numbers) and not (whole and any(cell in BLANKS for cell in first[1:])):
        return True, names_note if whole else ""
    if whole:
        return (True, names_note) if _are_number_names(first, columns, number) else (False, row_note)
    repeated = any(cell in column for cell, column in zip(first, columns, strict=True))
    named = [cell for cell in first if _is_text(cell) and not _ISO_DATE.fullmatch(cell)]
    if repeated or len(set(named)) < len(first) - (not first[0]):
        return False, row_note
    return True, names_note


def _number_test(decimal: str) -> Callable[[str], bool]:
    if decimal == ".":
        return is_number
    return lambda cell: is_number(cell) or _COMMA_NUMBER.fullmatch(cell) is not None


def _is_text(cell: str) -> bool:
    return cell not in BLANKS and not is_number(cell)


def _mostly(column: list[str], number: Callable[[str], bool]) -> bool:
    return len(column) > 0 and sum(map(number, column)) > 0.8 * len(column)


def _are_number_names(first: list[str], columns: list[list[str]], number: Callable[[str], bool]) -> bool:
    """Whether whole numbers in the first line are names: 0, 1, 2, …, years, or whole where all others have decimals."""
    begin = 0 if first[0].isdecimal() else 1  # an index may come first
    names, below = first[begin:], columns[begin:]
    if not names or not all(name.isdecimal() for name in names) or len(set(names)) < len(names):
        return False
    found_below = all(name in column for name, column in zip(names, below, strict=True))
    if names == [str(j) for j in range(len(names))] and (len(names) > 1 or begin):
        return not (len(names) <= 3 and found_below)
    years = [int(name) for name in names]
    if len(years) >= 3 and all(1800 <= year <= 2200 for year in years) and not any(map(list.__contains__, below, names)):
        return True
    fractions = all(column and sum(cell.isdecimal() for cell in column) < 0.5 * len(column) for column in below)
    return fractions and all(_mostly(column, number) for column in below) and (len(names) > 2 or names == ["0"])
