"""Labels on disk, written and read by whoever holds the rows: plain NumPy files with checksums."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import numpy as np

from hashmix.core.files import write_atomically
from hashmix.posterior.stored import checksum

__all__ = ["LabelFile", "read_labels", "write_labels"]


class LabelFile(NamedTuple):
    """The labels of consecutive rows in a file: the first row, how many there are, the name and the SHA-256 of the file."""

    first: int
    n_rows: int
    name: str
    sha256: str


def write_labels(folder: Path, first: int, labels: np.ndarray) -> LabelFile:
    """Write the labels of rows from ``first`` on.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import numpy as np
    >>> from hashmix.engines.checkpoints import read_labels, write_labels
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     files = [write_labels(Path(folder), first, np.arange(first, first + 3)) for first in (0, 3)]
    ...     labels = np.zeros(4, int)
    ...     read_labels(Path(folder), files, 1, labels)
    >>> labels
    array([1, 2, 3, 4])
    """
    path = folder / f"labels-{first:015d}.npy"
    write_atomically(path, lambda file: np.save(file, labels, allow_pickle=False))
    return LabelFile(first, len(labels), path.name, checksum(path))


def read_labels(folder: Path, files: list[LabelFile], begin: int, out: np.ndarray) -> None:
    """Read the labels of the rows from ``begin`` on; a ValueError if a file is missing, or is not what was written."""
    at, end = begin, begin + len(out)
    for first, n_rows, name, sha256 in sorted(files):
        if first + n_rows <= begin or first >= end:
            continue
        path = folder / Path(name).name
        if not path.is_file():
            raise ValueError(f"The checkpoint is damaged: {path} is missing.")
        if checksum(path) != sha256:
            raise ValueError(f"The checkpoint is damaged: {path} is not what was written (checksum).")
        with path.open("rb") as file:
            labels = np.load(file, allow_pickle=False)
        if first > at or labels.shape != (n_rows,):
            break
        last = min(first + n_rows, end)
        out[at - begin : last - begin] = labels[at - first : last - first]
        at = last
    if at < end:
        raise ValueError(f"The checkpoint in {folder} is damaged: it has no labels of row {at}.")
