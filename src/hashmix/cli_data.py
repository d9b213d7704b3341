"""The options of ``hashmix fit`` that say how to read a file, and the data they ask for."""

from __future__ import annotations

import argparse
import csv
from pathlib import Path
from typing import Any

from hashmix.data.ingest import Ingested, read_data
from hashmix.data.readers import formats_help

__all__ = ["DATA_OPTIONS", "add_data_options", "ingest", "resolved"]

#: The options, as a run folder keeps them.
DATA_OPTIONS = ("data", "columns", "header", "id", "drop", "categorical", "numeric", "blank", "text", "vocabulary")
_LISTS = ("columns", "drop", "categorical", "numeric", "blank")
_FILES = ("data", "vocabulary")


def add_data_options(parser: argparse.ArgumentParser) -> None:
    """Add the data file and the options that say how to read it.

    Examples
    --------
    >>> import argparse
    >>> from hashmix.cli_data import add_data_options
    >>> parser = argparse.ArgumentParser()
    >>> add_data_options(parser)
    >>> parser.parse_args(["people.csv", "--drop", "name,3-7"]).drop
    'name,3-7'
    """
    parser.add_argument("data", metavar="DATA", help=formats_help())
    group = parser.add_argument_group("reading DATA", "Columns are given by name, by number from 0, or by range: name,3-7")
    group.add_argument("--columns", metavar="A,B,…", help="columns to use (default: all)")
    group.add_argument("--drop", metavar="A,B,…", help="columns to leave out")
    group.add_argument("--id", metavar="COLUMN", help="the column that names the rows (default: recognised)")
    group.add_argument("--categorical", metavar="A,B,…", help="columns to use as categories (default: recognised)")
    group.add_argument("--numeric", metavar="A,B,…", help="columns to use as numbers (default: recognised)")
    group.add_argument("--blank", metavar="A,B,…", help="further texts or numbers that mean a blank: unknown,-999")
    group.add_argument(
        "--header",
        action=argparse.BooleanOptionalAction,
        default=None,
        help="whether the first line holds names (default: recognised)",
    )
    group.add_argument(
        "--text", nargs="?", const="", metavar="COLUMN", help="cluster texts by their words: a column, or one text per line"
    )
    group.add_argument("--vocabulary", metavar="FILE", help="names of the columns of a matrix, one per line")


def ingest(options: argparse.Namespace, progress: bool) -> Ingested:
    """Read the file as the options ask.

    Examples
    --------
    >>> import argparse
    >>> from hashmix.cli_data import add_data_options, ingest
    >>> parser = argparse.ArgumentParser()
    >>> add_data_options(parser)
    >>> ingest(parser.parse_args(["no-such-file.csv"]), False)
    Traceback (most recent call last):
    FileNotFoundError: There is no file 'no-such-file.csv'.
    """
    how: dict[str, Any] = {name: getattr(options, name) for name in DATA_OPTIONS if name != "data"}
    for name in _LISTS:
        how[name] = _names(how[name])
    how["columns"] = how["columns"] or None
    return read_data(options.data, **how, progress=progress)


def resolved(options: argparse.Namespace) -> dict[str, Any]:
    """Return the options as a run folder keeps them: files by their full path.

    Examples
    --------
    >>> import argparse
    >>> from hashmix.cli_data import add_data_options, resolved
    >>> parser = argparse.ArgumentParser()
    >>> add_data_options(parser)
    >>> resolved(parser.parse_args(["/data/people.csv", "--no-header"]))["header"]
    False
    """
    kept = {name: getattr(options, name) for name in DATA_OPTIONS}
    return kept | {name: str(Path(kept[name]).resolve()) for name in _FILES if kept[name] is not None}


def _names(text: str | None) -> list[str]:
    """The parts of a list with commas; a part may have commas of its own if it is quoted."""
    return [name.strip() for name in next(csv.reader([text], skipinitialspace=True))] if text else []
