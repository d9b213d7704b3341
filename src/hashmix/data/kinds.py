"""What columns hold: numbers, categories, yes/no or counts; and which of them are names of rows rather than data."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from typing import NamedTuple

import numpy as np

from hashmix.data.cells import is_number, labels_of
from hashmix.data.dates import days
from hashmix.data.frames import CategoryColumn
from hashmix.data.mixed import Column

__all__ = ["Recognised", "as_numbers", "is_plain", "recognise", "row_names"]

#: Rows above which texts that are almost all different are names or free text, and the share that must be different.
_MANY_ROWS, _ALL_DIFFERENT = 20, 0.95
#: Blanks between words from which a text is no name of a row.
_BLANKS_OF_A_TEXT = 5
_TEXTS = "texts, "
#: Rows from which consecutive whole numbers are row numbers.
_ROW_NUMBERS = 5
#: Whole numbers that are all different are ids if chance would have made at least so many pairs of them equal.
_EXPECTED_PAIRS = 10
#: The largest mean of a column of counts; beyond it, a Gaussian serves as well.
_COUNT_MEAN = 20
#: Distinct numbers above which a column of numbers and some texts is an accident rather than a set of categories.
_MANY_NUMBERS = 20

#: Columns that are named, at most, of those set aside.
_SHOWN = 8

_UNNAMED = re.compile(r"|unnamed: ?\d+|__index_level_\d+__", re.IGNORECASE)
_ID_NAME = re.compile(r"(.*[_\-. ])?(id|uuid|guid|key|index|idx|row|rownum|rowname|rownames|row_?number|nr|no)", re.IGNORECASE)
_CAMEL_ID = re.compile(r".*[a-z](Id|ID|Uuid|UUID|Key)")
_UUID = re.compile(r"[0-9a-f]{8}-?([0-9a-f]{4}-?){3}[0-9a-f]{12}", re.IGNORECASE)


class Recognised(NamedTuple):
    """What :func:`recognise` found.

    Attributes
    ----------
    columns : tuple of Column
        The columns to use.
    set_aside : dict
        The other columns, with the reason in a few words.
    notes : list of str
        What the user should know, one line each.
    id : str or None
        The column that names the rows, one of those set aside.
    """

    columns: tuple[Column, ...]
    set_aside: dict[str, str]
    notes: list[str]
    id: str | None = None

    def aside(self) -> str:
        """One line on the columns that were set aside; empty if there are none."""
        each = [f"{name or 'unnamed'} ({reason})" for name, reason in self.set_aside.items()]
        more = f" and {len(each) - _SHOWN} more" if len(each) > _SHOWN else ""
        return f"set aside: {', '.join(each[:_SHOWN])}{more}" if each else ""


def recognise(
    raw: Mapping[str, np.ndarray],
    categorical: Collection[str] = (),
    numeric: Collection[str] = (),
    ids: Collection[str] = (),
    drop: Collection[str] = (),
) -> Recognised:
    """Decide which columns to use, and as what.

    Row numbers, ids, columns of one value and blank columns are set aside, and so are texts that are almost all different.
    Whole numbers are ids if they are all different although, by chance, many would be equal.
    Texts are categorical, or binary if there are two. If there are categories or blanks, columns of 0 and 1 are binary and
    small whole numbers are counts. Everything else is numeric.

    Parameters
    ----------
    raw : dict of arrays
        As :func:`~hashmix.data.frames.raw_columns` returns them.
    categorical, numeric, ids, drop : collections of str
        Columns to use as categories or numbers, to set aside as names of rows, or to leave out, whatever they look like.

    Returns
    -------
    Recognised

    Examples
    --------
    >>> from hashmix.data.frames import raw_columns
    >>> from hashmix.data.kinds import recognise
    >>> raw = raw_columns({"id": [7, 9, 8], "age": [31, 45, 28.5], "colour": ["red", "blue", "red"]})
    >>> found = recognise(raw)
    >>> [(column.name, column.kind) for column in found.columns], found.set_aside
    ([('age', 'numeric'), ('colour', 'binary')], {'id': 'all different'})
    """
    _check_names(raw, {"categorical": categorical, "numeric": numeric, "ids": ids, "drop": drop})
    notes = list(getattr(raw, "notes", []))
    set_aside: dict[str, str] = {}
    asked = set(categorical) | set(numeric)
    found_id = next(iter(ids), None)
    for name, column in raw.items():
        if name in drop or name in ids:
            set_aside[name] = "id" if name in ids else "dropped"
        elif name not in asked and (reason := _why_not(name, column)):
            set_aside[name] = reason.text
            if reason.is_id and found_id is None:
                found_id = name
        elif _names_rows(name) and name not in asked and column.dtype.kind != "M":
            notes.append(
                f"{name or 'the unnamed column'} looks like an id but has repeated values: it is used (--drop to change)"
            )
        elif name not in asked and _may_be_an_id(column):
            notes.append(f"{name}: whole numbers that are all different; it is used (--id {name} if it names the rows)")
    used = {name: column for name, column in raw.items() if name not in set_aside}
    if not used:
        shown = ", ".join(f"{name or 'unnamed'} ({reason})" for name, reason in list(set_aside.items())[:10])
        text = next((name for name in set_aside if name not in drop and _is_free_text(raw[name])), None)
        advice = "--numeric or --categorical" if text is None else f"--categorical, or cluster its words with --text {text}"
        raise ValueError(f"No column is left to cluster by; use one with {advice}. Set aside: {shown or 'none'}.")
    _check_numbers(used, categorical, numeric)
    columns = _with_kinds(used, categorical, numeric)
    dates = [name for name, column in used.items() if column.dtype.kind == "M" and name not in categorical]
    notes += [f"{', '.join(dates)}: dates, as days since 1970-01-01"] if dates else []
    texts = [name for name, reason in set_aside.items() if reason.startswith(_TEXTS)]
    notes += [f"{', '.join(texts)}: --text {texts[0]} clusters the texts of a column by their words"] if texts else []
    return Recognised(columns, set_aside, notes, found_id)


def is_plain(raw: Mapping[str, np.ndarray], columns: Collection[Column]) -> bool:
    """Return whether all columns are numeric, without blanks: a matrix says it all.

    Examples
    --------
    >>> from hashmix.data.frames import raw_columns
    >>> from hashmix.data.kinds import is_plain, recognise
    >>> raw = raw_columns({"age": [31, 45, 28.5], "height": [1.7, None, 1.8]})
    >>> is_plain(raw, recognise(raw).columns)
    False
    """
    return all(column.kind == "numeric" and _is_complete(raw[column.name]) for column in columns)


def row_names(raw: Mapping[str, np.ndarray]) -> str | None:
    """Return the first column that names the rows: row numbers, or an id; None if there is none.

    Examples
    --------
    >>> from hashmix.data.frames import raw_columns
    >>> from hashmix.data.kinds import row_names
    >>> row_names(raw_columns({"height": [1.7, 1.6], "user_id": [17, 4]}))
    'user_id'
    """
    for name, column in raw.items():
        if (reason := _why_not(name, column)) and reason.is_id:
            return name
    return None


def as_numbers(column: np.ndarray) -> np.ndarray | None:
    """Return a raw column as float64, dates as days since 1970; None if it holds texts.

    Examples
    --------
    >>> import numpy as np
    >>> from hashmix.data.kinds import as_numbers
    >>> as_numbers(np.array(["1970-01-03"], "datetime64[us]"))
    array([2.])
    """
    if column.dtype.kind == "M":
        return days(column)
    if column.dtype != object:
        return column.astype(np.float64, copy=False)
    cells = set(column[column != None].tolist())  # noqa: E711 - element by element
    if cells <= {"True", "False"}:
        return np.array([np.nan if cell is None else float(cell == "True") for cell in column])
    if all(is_number(cell) for cell in cells):
        return np.array([np.nan if cell is None else float(cell) for cell in column])
    return None


# ---- which columns to set aside --------------------------------------------------------------------------------------------


class _Reason(NamedTuple):
    text: str
    is_id: bool = False


def _why_not(name: str, column: np.ndarray) -> _Reason | None:
    """Why a column is set aside, or None if it is used."""
    seen = _seen(column)
    if len(seen) == 0:
        return _Reason("all blank")
    if (seen == seen[0]).all():
        return _Reason("a single value") if len(column) > 1 else None
    complete = len(seen) == len(column)
    if column.dtype.kind == "f":
        whole = _are_whole(seen)
        if complete and whole and len(seen) >= _ROW_NUMBERS and (np.diff(seen) == 1).all():
            return _Reason("row numbers", True)
        if not complete or not _are_different(seen):
            return None
        if _UNNAMED.fullmatch(name) or (whole and (_names_rows(name) or _pairs_by_chance(seen) >= _EXPECTED_PAIRS)):
            return _Reason("row numbers" if (np.diff(seen) == 1).all() else "all different", True)
        return None
    if column.dtype != object or isinstance(column, CategoryColumn):
        return None
    n_distinct = len(set(seen.tolist()))
    if complete and n_distinct == len(seen) and (_names_rows(name) or _UUID.fullmatch(seen[0])):
        return _Reason("all different", True)
    if len(seen) > _MANY_ROWS and n_distinct >= _ALL_DIFFERENT * len(seen) and not _is_mostly_numbers(seen):
        how = "all different" if n_distinct == len(seen) else "almost all different"
        if _is_free_text(column, _BLANKS_OF_A_TEXT):
            return _Reason(_TEXTS + how)
        return _Reason(how, complete and n_distinct == len(seen))
    return None


def _is_free_text(column: np.ndarray, n_blanks: int = 1) -> bool:
    """Whether most cells are texts of several words, with at least so many blanks between them."""
    if column.dtype != object:
        return False
    seen = _seen(column).tolist()
    return sum(cell.count(" ") >= n_blanks for cell in seen) > len(seen) / 2


def _pairs_by_chance(numbers: np.ndarray) -> float:
    """The least number of equal pairs to be expected of whole numbers in this range, if they measure something.

    Any law on R values makes two numbers equal with a probability of at least 1/R.
    """
    return len(numbers) * (len(numbers) - 1) / (2.0 * (numbers.max() - numbers.min() + 1.0))


def _are_different(seen: np.ndarray) -> bool:
    return len(np.unique(seen)) == len(seen)


def _are_whole(seen: np.ndarray) -> bool:
    return bool((seen == np.floor(seen)).all())


def _names_rows(name: str) -> bool:
    """Whether a column of this name usually names the rows."""
    return any(form.fullmatch(name) for form in (_UNNAMED, _ID_NAME, _CAMEL_ID))


def _seen(column: np.ndarray) -> np.ndarray:
    """The cells that are not blank."""
    if column.dtype == object:
        return np.asarray(column)[np.asarray(column) != None]  # noqa: E711 - element by element
    if column.dtype.kind == "b":
        return column
    blank = np.isnat(column) if column.dtype.kind == "M" else np.isnan(column)
    return column[~blank] if blank.any() else column


def _is_complete(column: np.ndarray) -> bool:
    """Whether no cell is blank."""
    return len(_seen(column)) == len(column)


def _may_be_an_id(column: np.ndarray) -> bool:
    """Whether a column has as many whole numbers as rows, too few to tell that they are no measurements."""
    return (
        column.dtype.kind == "f"
        and len(column) > _MANY_ROWS
        and _is_complete(column)
        and _are_whole(column)
        and _are_different(column)
    )


# ---- kinds -----------------------------------------------------------------------------------------------------------------


def _with_kinds(used: Mapping[str, np.ndarray], categorical: Collection[str], numeric: Collection[str]) -> tuple[Column, ...]:
    """The columns with their kinds. Counts and 0/1 matter only among columns of different kinds, or with blanks."""
    mixed = any(
        name in categorical or not _is_complete(column) or (name not in numeric and column.dtype.kind not in "fM")
        for name, column in used.items()
    )
    out = []
    for name, column in used.items():
        if name in numeric or (not mixed and name not in categorical):
            out.append(Column(name, "numeric"))
        else:
            out.append(_kind_of(name, column, name in categorical))
    return tuple(out)


def _kind_of(name: str, column: np.ndarray, as_categories: bool) -> Column:
    if column.dtype.kind == "M" and not as_categories:
        return Column(name, "numeric")
    if column.dtype.kind == "f" and not as_categories:
        seen = _seen(column)
        if np.isin(seen, (0.0, 1.0)).all():
            return Column(name, "binary", ("0", "1"))
        whole = bool(np.isfinite(seen).all() and (seen == np.floor(seen)).all())
        few = whole and seen.min() == 0 and seen.mean() <= _COUNT_MEAN and len(np.unique(seen)) >= 3
        return Column(name, "count" if few else "numeric")
    if column.dtype.kind == "b":
        return Column(name, "binary", ("False", "True"))
    if isinstance(column, CategoryColumn):
        categories = column.categories
    elif column.dtype.kind == "f":  # in the order of the numbers
        categories = tuple(labels_of(np.unique(_seen(column))).tolist())
    else:
        categories = tuple(sorted(set(_seen(labels_of(column)).tolist())))
    return Column(name, "binary" if len(categories) == 2 else "categorical", categories)


# ---- problems, all at once -------------------------------------------------------------------------------------------------


def _check_names(raw: Mapping[str, np.ndarray], options: dict[str, Collection[str]]) -> None:
    missing = {option: [name for name in names if name not in raw] for option, names in options.items()}
    shown = [f"{', '.join(map(repr, names))} ({option})" for option, names in missing.items() if names]
    if shown:
        raise ValueError(f"There is no column {', '.join(shown)}; there are {', '.join(list(raw)[:20])}.")
    for name in set(options["categorical"]) & set(options["numeric"]):
        raise ValueError(f"Column {name!r} must be categorical or numeric. Got both instead.")


def _check_numbers(used: Mapping[str, np.ndarray], categorical: Collection[str], numeric: Collection[str]) -> None:
    """Raise one error about all columns that should be numbers and hold texts."""
    texts = {name: column for name, column in used.items() if column.dtype == object and name not in categorical}
    asked = [name for name, column in texts.items() if name in numeric and as_numbers(column) is None]
    mostly = [name for name, column in texts.items() if name not in numeric and not isinstance(column, CategoryColumn)]
    bad = asked + [name for name in mostly if _is_mostly_numbers(_seen(texts[name]))]
    if not bad:
        return
    shown = ", ".join(f"{name} ({_example(texts[name])})" for name in bad)
    names = ",".join(bad)
    found = "One column has texts among its numbers" if len(bad) == 1 else f"{len(bad)} columns have texts among their numbers"
    raise ValueError(f"{found}: {shown}; take the texts as blank with --blank, or use --categorical {names} or --drop {names}.")


def _is_mostly_numbers(seen: np.ndarray) -> bool:
    """Whether texts are numbers for the most part, and too many to be categories."""
    numbers = [cell for cell in seen.tolist() if is_number(cell)]
    return 2 * len(numbers) > len(seen) > len(numbers) and len(set(numbers)) > _MANY_NUMBERS


def _example(column: np.ndarray) -> str:
    row = next(i for i, cell in enumerate(column) if cell is not None and not is_number(cell))
    return f"{column[row][:40]!r} in row {row}"
