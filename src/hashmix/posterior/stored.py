"""Labels of draws that are kept on disk: files in NumPy's own format, read when they are asked for."""

from __future__ import annotations

import hashlib
from itertools import product
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

    ``labels[chain, draw]`` are the labels of one draw, ``labels[chain]`` all of a chain; ``labels[chains, begin:end]`` are
    fewer chains or draws, still on disk; ``np.asarray(labels)`` are all, in memory. Draws that were set and are not on disk
    yet are kept in memory.

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

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, place: Any) -> Any:
        places = place if isinstance(place, tuple) else (place,)
        if any(one is Ellipsis for one in places):
            at = next(k for k, one in enumerate(places) if one is Ellipsis)
            places = (*places[:at], *(slice(None),) * (4 - len(places)), *places[at + 1 :])
        places = (*places, *(slice(None),) * (3 - len(places)))
        listed = [one for one in places if not isinstance(one, (int, np.integer, slice))]
        if len(places) != 3 or len(listed) > 1 or not all(np.ndim(one) == 1 for one in listed):
            return np.asarray(self)[place]
        chains, draws = (np.arange(size)[one] for size, one in zip(self.shape, places[:2], strict=False))
        if chains.ndim == draws.ndim == 0:
            return self._draw(int(chains), int(draws))[places[2]]
        ahead = isinstance(places[1], slice) and (places[1].step or 1) == 1
        if chains.ndim and ahead and isinstance(places[2], slice) and places[2] == slice(None):
            return self._part(chains.tolist(), int(draws[0]) if len(draws) else 0, len(draws))
        block = np.empty((chains.size, draws.size, self.shape[2]), self.dtype)
        for (c, d), (chain, draw) in zip(np.ndindex(*block.shape[:2]), product(chains.flat, draws.flat), strict=True):
            block[c, d] = self._draw(int(chain), int(draw))
        # What is left to do is NumPy's: dimensions of numbers go, and lists and slices keep the places that NumPy gives them.
        left = [_of_block(one, found) for one, found in zip(places[:2], (chains, draws), strict=True)]
        return block[(*left, places[2])]

    def _part(self, chains: list[int], first: int, n_draws: int) -> StoredLabels:
        """Some chains, and consecutive draws of them, that stay where they are."""
        part = StoredLabels((len(chains), n_draws, self.shape[2]))
        part.chunks = [[chunk._replace(first=chunk.first - first) for chunk in self.chunks[c]] for c in chains]
        pending = [(k, d - first, labels) for k, c in enumerate(chains) for (b, d), labels in self._pending.items() if b == c]
        part._pending = {(k, d): labels for k, d, labels in pending if 0 <= d < n_draws}
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


def _of_block(place: Any, found: np.ndarray) -> Any:
    """How to ask a block for what it was read for."""
    if found.ndim == 0:
        return 0
    return slice(None) if isinstance(place, slice) else np.arange(found.size)
