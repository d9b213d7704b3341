"""Parquet files."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from hashmix.data.readers.contract import column_positions, not_numeric

__all__ = ["read_parquet"]


def read_parquet(path: Path, columns: list[str] | None, progress: bool) -> tuple[np.ndarray, list[str]]:
    """Read numeric columns of a Parquet file as float64 (needs pyarrow). Only the selected columns must be numeric.

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
    >>> import pyarrow, pyarrow.parquet
    >>> from hashmix.data.readers.parquet import read_parquet
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     people = pyarrow.table({"name": ["Ann", "Bob"], "age": [31, 45]})
    ...     pyarrow.parquet.write_table(people, Path(folder, "people.parquet"))
    ...     read_parquet(Path(folder, "people.parquet"), ["age"], False)
    (array([[31.],
           [45.]]), ['age'])
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
    names = content.column_names
    keep = column_positions(columns, names, path)
    types = pyarrow.types
    X = np.empty((content.num_rows, len(keep)))
    for place, j in enumerate(keep):
        column = content.column(j)
        if not (types.is_integer(column.type) or types.is_floating(column.type) or types.is_boolean(column.type)):
            raise not_numeric(path, names[j], str(column.type))
        X[:, place] = column.to_numpy()
    return X, [names[j] for j in keep]
