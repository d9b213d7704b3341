"""Labels of draws that are kept on disk: files in NumPy's own format, read when they are asked for."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

__all__ = ["Chunk", "StoredLabels", "check_chunk", "checksum", "smallest_integers"]


class Chunk(NamedTuple):
    """Consecutive draws of one chain in a file: the first, how many there are, and the SHA-256 of the file."""

    path: Path
    first: int
    n_draws: int
    sha256: str


def checksum(path: Path) -> str:
    """The SHA-256 of a file.

    Examples
    --------
    >>> from pathlib import Path
    >>> from hashmix.posterior.stored import checksum
    >>> checksum(Path(__file__)) == checksum(Path(__file__))
    True
    """
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def check_chunk(chunk: Chunk) -> None:
    """Raise a ValueError unless the file of a chunk exists and is what was written.

    Examples
    --------
    >>> from pathlib import Path
    >>> from hashmix.posterior.stored import Chunk, check_chunk, checksum
    >>> check_chunk(Chunk(Path(__file__), 0, 10, checksum(Path(__file__))))
    """
    if not chunk.path.is_file():
        raise ValueError(f"The run is damaged: {chunk.path.name} of {chunk.path.parent} is missing.")
    if checksum(chunk.path) != chunk.sha256:
        raise ValueError(f"The run is damaged: {chunk.path.name} of {chunk.path.parent} is not what was written (checksum).")


def smallest_integers(labels: np.ndarray) -> np.ndarray:
    """Labels in the smallest type that holds them.

    Examples
    --------
    >>> import numpy as np
    >>> from hashmix.posterior.stored import smallest_integers
    >>> smallest_integers(np.array([0, 300])).dtype
    dtype('uint16')
    """
    most = labels.max(initial=0)
    return labels.astype(np.uint8 if most < 2**8 else np.uint16 if most < 2**16 else np.int32)


class StoredLabels:
    """Labels of shape (chain, draw, row), most of them on disk; for reading, they behave like an array of this shape.

    ``labels[chain, draw]`` are the labels of one draw; ``labels[chains, :n]`` fewer chains or draws; ``np.asarray(labels)``
    all of them, in memory. Draws that were set and are not on disk yet are kept in memory.

    Examples
    --------
    >>> import numpy as np
    >>> from hashmix.posterior.stored import StoredLabels
    >>> labels = StoredLabels((1, 2, 3))
    >>> labels[0, 0], labels[0, 1] = [0, 0, 1], [0, 1, 2]
    >>> np.asarray(labels).tolist()
    [[[0, 0, 1], [0, 1, 2]]]
    """

    dtype: np.dtype[np.int32] = np.dtype(np.int32)
    ndim = 3

    def __init__(self, shape: tuple[int, int, int]) -> None:
        self.shape = shape
        self.chunks: list[list[Chunk]] = [[] for _ in range(shape[0])]
        self._pending: dict[tuple[int, int], np.ndarray] = {}
        self._checked: set[Path] = set()

    def __setitem__(self, place: tuple[int, int], labels: np.ndarray) -> None:
        self._pending[place] = np.array(labels, dtype=np.int32)

    def __getitem__(self, place: Any) -> Any:
        if isinstance(place, tuple) and len(place) == 2 and all(isinstance(p, (int, np.integer)) for p in place):
            return self._draw(int(place[0]), int(place[1]))
        chains, draws = place
        numbers = np.arange(self.shape[0])[chains]
        part = StoredLabels((len(numbers), len(range(self.shape[1])[draws]), self.shape[2]))
        part.chunks = [self.chunks[c] for c in numbers]
        part._pending = {(k, d): labels for k, c in enumerate(numbers) for (b, d), labels in self._pending.items() if b == c}
        part._checked = self._checked
        return part

    def _draw(self, chain: int, draw: int) -> np.ndarray:
        if (chain, draw) in self._pending:
            return self._pending[chain, draw]
        for chunk in self.chunks[chain]:
            if chunk.first <= draw < chunk.first + chunk.n_draws:
                if chunk.path not in self._checked:
                    check_chunk(chunk)
                    self._checked.add(chunk.path)
                # Mapped, so that only one draw of the file is read.
                return np.load(chunk.path, mmap_mode="r", allow_pickle=False)[draw - chunk.first].astype(np.int32)
        raise IndexError(f"There is no draw {draw} of chain {chain}.")

    def __array__(self, dtype: Any = None, copy: Any = None) -> np.ndarray:
        out = np.empty(self.shape, self.dtype if dtype is None else dtype)
        for c, d in np.ndindex(*self.shape[:2]):
            out[c, d] = self._draw(c, d)
        return out

    def pending(self, chain: int, first: int, count: int) -> np.ndarray:
        """Draws that are still in memory, of shape (count, row).

        Examples
        --------
        >>> from hashmix.posterior.stored import StoredLabels
        >>> labels = StoredLabels((1, 2, 3))
        >>> labels[0, 0] = [0, 0, 1]
        >>> labels.pending(0, 0, 1).tolist()
        [[0, 0, 1]]
        """
        return np.stack([self._pending[chain, first + d] for d in range(count)])

    def written(self, chain: int, chunk: Chunk) -> None:
        """Note that a chunk is on disk now, and drop its draws from memory."""
        self.chunks[chain].append(chunk)
        for d in range(chunk.first, chunk.first + chunk.n_draws):
            self._pending.pop((chain, d), None)
