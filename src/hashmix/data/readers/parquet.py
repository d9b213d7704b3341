"""Parquet files."""

from __future__ import annotations

from pathlib import Path

from hashmix.data.frames import RawColumns, raw_columns
from hashmix.data.readers.contract import column_positions

__all__ = ["read_parquet"]


def read_parquet(path: Path, columns: list[str] | None, progress: bool) -> tuple[RawColumns, list[str]]:
    """Read columns of a Parquet file, of any type (needs pyarrow).

    Parameters
    ----------
    path : Path
    columns : list of str or None
        Columns to keep, by name, by number from 0 or by range of numbers; None keeps all.
    progress : bool
        Ignored.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import pyarrow, pyarrow.parquet
    >>> from hashmix.data.readers.parquet import read_parquet
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     people = pyarrow.table({"name": ["Ann", "Bob"], "age": [31, None]})
    ...     pyarrow.parquet.write_table(people, Path(folder, "people.parquet"))
    ...     read_parquet(Path(folder, "people.parquet"), ["age"], False)
    ({'age': array([31., nan])}, ['age'])
    """
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError:
        raise ImportError("Reading .parquet needs pyarrow: pip install 'hashmix[parquet]'.") from None
    try:
        content = pyarrow.parquet.read_table(path)
    except pyarrow.ArrowInvalid as error:
        raise ValueError(f"{path.name} is not a Parquet file ({error}).") from None
    raw = raw_columns(content.select(column_positions(columns, content.column_names, path)))
    assert raw is not None
    if content.num_rows == 0:
        raise ValueError(f"{path.name} has no rows.")
    return raw, list(raw)
