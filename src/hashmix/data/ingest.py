"""From a file to data that an estimator takes: read, recognise, encode, and say what was found."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from hashmix.data.blanks import make_blank
from hashmix.data.cells import labels_of
from hashmix.data.encode import encode, plain_matrix
from hashmix.data.frames import RawColumns
from hashmix.data.kinds import Recognised, is_plain, recognise, row_names
from hashmix.data.mixed import Column, MixedRows
from hashmix.data.readers import READERS, read_file
from hashmix.data.readers.contract import check_is_file, column_positions
from hashmix.data.readers.decoding import read_text
from hashmix.data.readers.delimited import is_delimited
from hashmix.data.readers.docword import read_vocabulary
from hashmix.data.rows import as_dense
from hashmix.data.suspects import suspicious_cells
from hashmix.data.texts import count_words

__all__ = ["Ingested", "read_data"]

_KIND_WORDS = {"numeric": "numeric", "categorical": "categorical", "binary": "yes/no", "count": "count"}
#: How many columns a line names at most.
_SHOWN = 8


class Ingested(NamedTuple):
    """Data, and what there is to say about them.

    Attributes
    ----------
    X : ndarray, sparse matrix or MixedRows
        A matrix if all columns are numbers without blanks; counts of words for texts; else MixedRows.
    names : list of str
        The names of its columns.
    ids : list of str or None
        The name of every row, if a column holds them.
    id_name : str
        The name of that column; "row" if there is none.
    lines : list of str
        What was recognised, for the user to read.
    """

    X: Any
    names: list[str]
    ids: list[str] | None
    id_name: str
    lines: list[str]


def read_data(
    path: str | os.PathLike[str],
    *,
    columns: Sequence[str] | None = None,
    header: bool | None = None,
    id: str | None = None,
    drop: Sequence[str] = (),
    categorical: Sequence[str] = (),
    numeric: Sequence[str] = (),
    blank: Collection[str] = (),
    text: str | None = None,
    vocabulary: str | os.PathLike[str] | None = None,
    progress: bool = False,
) -> Ingested:
    """Read a file and decide what its columns hold.

    Columns are given by name, by number from 0, or by range of numbers such as "3-7".

    Parameters
    ----------
    path : str or path
    columns : sequence of str, optional
        The columns to use. By default all of them.
    header : bool, optional
        Whether the first line of delimited text holds names. By default, what it looks like.
    id : str, optional
        The column that names the rows.
    drop, categorical, numeric : sequences of str
        Columns to leave out, and to use as categories or as numbers.
    blank : collection of str
        Further texts and numbers that mean a blank cell.
    text : str, optional
        The column of texts whose words are counted; "" for a file with one text per line.
    vocabulary : str or path, optional
        A file with the names of the columns of a matrix, one per line.
    progress : bool, default=False

    Returns
    -------
    Ingested

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from hashmix.data.ingest import read_data
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "people.csv")
    ...     _ = path.write_text("id,age,colour\\n7,31,red\\n4,,blue\\n9,28,red\\n")
    ...     data = read_data(path)
    >>> data.X.values
    array([[31.,  1.],
           [nan,  0.],
           [28.,  1.]])
    >>> print(*data.lines, sep="\\n")
    columns: 1 numeric, 1 yes/no; 1 of 6 cells are blank
    set aside: id (all different)
    """
    path = Path(path)
    check_is_file(path)
    format_of_columns = READERS.find(path) is READERS["delimited"]
    if format_of_columns and (text == "" or (text is None and _is_prose(path))):
        lines = [line for line in read_text(path)[0].split("\n") if line.strip()]
        return _texts(lines, None, "row", [] if _may_be_prose(path) else _columns_note(path))
    X, names = read_file(path, None, progress, header)
    if not isinstance(X, RawColumns):
        asked = {"--id": id, "--categorical": categorical, "--numeric": numeric, "--text": text is not None, "--blank": blank}
        return _matrix(X, names, path, columns, drop, vocabulary, [option for option, value in asked.items() if value])
    if vocabulary is not None:
        raise ValueError(f"--vocabulary is for matrices without names of columns. {path.name} has them.")

    def chosen(given: Sequence[str] | None) -> list[str]:
        return [names[j] for j in column_positions(given, names, path)]

    if blank:
        make_blank(X, blank)
    id = chosen([id])[0] if id is not None else None
    dropped = chosen(drop)
    if text == "":
        raise ValueError(f"--text needs the name of a column, because {path.name} has columns: {', '.join(names[:20])}.")
    if text is not None:
        column = chosen([text])[0]
        id = id if id is not None else row_names({name: values for name, values in X.items() if name != column})
        texts = ["" if cell is None else cell for cell in labels_of(X[column])]
        return _texts(texts, *_ids(X, id), X.notes)
    used = RawColumns()
    used.notes = X.notes
    used.update({name: X[name] for name in dict.fromkeys([*chosen(columns), *([id] if id is not None else [])])})
    kinds = {"categorical": chosen(categorical), "numeric": chosen(numeric)}
    found = recognise(used, **kinds, ids=[] if id is None else [id], drop=[name for name in dropped if name in used])
    plain = is_plain(used, found.columns)
    rows = plain_matrix(used, found.columns) if plain else encode(used, found.columns)
    ids, id_name = _ids(used, found.id)
    names = [column.name for column in found.columns]
    lines = _lines(found, rows) + _suspects(rows, names, "use --blank={code}")
    return Ingested(rows, names, ids, id_name, lines)


def _is_prose(path: Path) -> bool:
    """Whether a .txt file holds one text per line."""
    return _may_be_prose(path) and not is_delimited(path)


def _may_be_prose(path: Path) -> bool:
    return ".txt" in [suffix.lower() for suffix in path.suffixes[-2:]]


def _columns_note(path: Path) -> list[str]:
    """What to say of a table whose lines are taken as texts, its header among them; nothing if it is no table."""
    try:
        names = read_file(path)[1]
    except ValueError:
        return []
    shown = ", ".join(names[:_SHOWN]) + (", …" if len(names) > _SHOWN else "")
    return [f"every line is a text, also the first; --text COLUMN for the texts of a column: {shown}"] if len(names) > 1 else []


def _texts(texts: list[str], ids: list[str] | None, id_name: str, notes: list[str]) -> Ingested:
    X, words, note = count_words(texts)
    return Ingested(X, words, ids, id_name, [*notes, note])


def _ids(raw: RawColumns, name: str | None) -> tuple[list[str] | None, str]:
    if name is None:
        return None, "row"
    ids = ["" if cell is None else cell for cell in labels_of(raw[name])]
    return ids, "row" if name.startswith("Unnamed: ") else name


def _matrix(
    X: Any,
    names: list[str],
    path: Path,
    columns: Sequence[str] | None,
    drop: Sequence[str],
    vocabulary: str | os.PathLike[str] | None,
    refused: list[str],
) -> Ingested:
    """A matrix, dense or sparse, with the columns asked for; blanks make it MixedRows."""
    if refused:
        raise ValueError(f"{', '.join(refused)}: only for files of columns, such as .csv. Got {path.name!r} instead.")
    if vocabulary is not None:
        names = read_vocabulary(vocabulary, X.shape[1])
    if columns is not None or drop:
        without = set(column_positions(drop, names, path))
        keep = [j for j in column_positions(columns, names, path) if j not in without]
        X, names = X[:, keep], [names[j] for j in keep]
    lines = []
    if isinstance(X, np.ndarray) and X.dtype.kind == "f" and np.isnan(X).any():
        lines = [f"columns: {X.shape[1]} numeric; {np.isnan(X).sum()} of {X.size} cells are blank"]
        X = MixedRows(X, [Column(name, "numeric") for name in names])
    if isinstance(X, (MixedRows, np.ndarray)):
        lines += _suspects(X, names, "replace it by NaN")
    return Ingested(X, names, None, "row", lines)


def _suspects(X: MixedRows | np.ndarray, names: list[str], remedy: str) -> list[str]:
    """What to say of cells that may stand for a blank."""
    sentences = suspicious_cells(X if isinstance(X, MixedRows) else as_dense(X, "hashmix fit"), names, remedy)
    more = [f"… and {len(sentences) - _SHOWN} more columns with such cells"] if len(sentences) > _SHOWN else []
    return sentences[:_SHOWN] + more


def _lines(found: Recognised, rows: Any) -> list[str]:
    counts = Counter(column.kind for column in found.columns)
    kinds = ", ".join(f"{counts[kind]} {word}" for kind, word in _KIND_WORDS.items() if counts[kind])
    lines = [f"columns: {kinds}"]
    if isinstance(rows, MixedRows) and (n_blank := int(np.isnan(rows.values).sum())):
        lines[0] += f"; {n_blank} of {rows.values.size} cells are blank"
    lines += [found.aside()] if found.set_aside else []
    more_notes = [f"… and {len(found.notes) - _SHOWN} more notes"] if len(found.notes) > _SHOWN else []
    return lines + found.notes[:_SHOWN] + more_notes
