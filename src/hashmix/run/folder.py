"""Run folders, the writing side: draws and checkpoints on disk, so that a run survives a kill and can be resumed.

A folder holds ``run.json`` (settings, versions, a fingerprint of the data) and one folder per chain with chunks of draws,
``labels-000000.npy`` and ``draws-000000.npz``, and ``checkpoint.npz``: the state of the chain and the checksums of its
chunks. These are plain NumPy files: every tool reads them, labels can be memory-mapped, and nothing in them is executed. A
file is written under a temporary name, flushed to disk and renamed. A checkpoint names the chunks that count, so whatever a
kill leaves half done is ignored and overwritten. Reading is in :mod:`hashmix.posterior.run_folder`.
"""

from __future__ import annotations

import errno
import json
import os
import platform
import sys
import time
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from hashmix.core.files import write_atomically
from hashmix.posterior import Posterior
from hashmix.posterior.run_folder import FORMAT, fill_record, read_about, read_checkpoint, sealed
from hashmix.posterior.saving import named_arrays
from hashmix.posterior.stored import Chunk, StoredLabels, check_chunk, checksum, smallest_integers

__all__ = ["RunFolder", "known_keys"]

#: Least number of seconds between two checkpoints of a chain.
SECONDS = 10.0


def _write(path: Path, write: Callable[[BinaryIO], Any]) -> None:
    """Write a file of a run completely, or not at all."""
    try:
        write_atomically(path, write)
    except OSError as error:
        if error.errno != errno.ENOSPC:
            raise
        what = f"The disk is full; draws up to the last checkpoint are safe in {path.parent}"
        raise OSError(errno.ENOSPC, what) from None


def _write_arrays(path: Path, arrays: dict[str, Any]) -> None:
    _write(path, lambda file: np.savez(file, **arrays))


class RunFolder:
    """A folder that one sampling process writes to.

    Parameters
    ----------
    path : str or path
        Created if it does not exist; its parent must exist.
    about : dict
        Settings and fingerprint of the data, which must match those of an existing run.
    record : Posterior
        What chains write to; its labels are kept on disk from now on.
    """

    path: Path
    labels: StoredLabels

    def __init__(self, path: str | os.PathLike[str], about: dict[str, Any], record: Posterior) -> None:
        self.path = Path(path)
        if self.path.exists() and not self.path.is_dir():
            raise ValueError(f"run_dir must be a folder. Got the file {str(self.path)!r} instead.")
        if not self.path.absolute().parent.is_dir():
            raise ValueError(f"run_dir must be inside an existing folder. Got {str(self.path)!r} instead.")
        self.path.mkdir(exist_ok=True)
        self._lock = _lock(self.path)
        try:
            self._check(about)
            self.record = record
            assert isinstance(record.labels, StoredLabels)
            self.labels = record.labels
            self._last = [time.perf_counter()] * record.n_chains
            self._sums: list[list[str]] = [[] for _ in range(record.n_chains)]
            self._next = [0] * record.n_chains
            about = sealed({"format": FORMAT, "versions": _versions(), "n_draws": record.n_draws} | about)
            text = json.dumps(about, indent=2, ensure_ascii=False) + "\n"
            _write(self.path / "run.json", lambda file: file.write(text.encode()))
        except BaseException:
            self.close()
            raise

    def _check(self, about: dict[str, Any]) -> None:
        if not (self.path / "run.json").exists():
            return
        known = read_about(self.path)
        if known["data"] != about["data"]:
            raise ValueError(f"{str(self.path)!r} holds a run on other data. Choose another folder, or remove this one.")
        for name, value in about["settings"].items():
            if known["settings"].get(name) != value:
                what = f"{str(self.path)!r} holds a run with {name} = {known['settings'].get(name)}."
                raise ValueError(f"{what} Got {value} instead: choose another folder, or remove this one.")

    def chain_folder(self, chain: int) -> Path:
        """The folder of one chain."""
        return self.path / f"chain-{chain}"

    def checkpoint(self, chain: int) -> dict[str, Any] | None:
        """Read the last checkpoint of a chain, if there is one, and put its draws into the record."""
        folder = self.chain_folder(chain)
        if not (folder / "checkpoint.npz").exists():
            return None
        kept = read_checkpoint(folder)
        for chunk in kept["chunks"]:
            check_chunk(chunk)
        self._next[chain] = 1 + max((_number(chunk.path) for chunk in kept["chunks"]), default=-1)
        kept["finished"] = sum(chunk.n_draws for chunk in kept["chunks"]) >= self.record.n_draws
        while not kept["finished"] and kept["chunks"] and kept["chunks"][-1].first >= int(kept["draws"]):
            # Draws beyond the saved state are made again, and come out the same. Their files stay: a posterior that was
            # loaded earlier may still read them.
            kept["chunks"].pop()
            kept["scalars"].pop()
        fill_record(self.record, chain, kept)
        self._sums[chain] = [chunk.sha256 for chunk, _ in kept["scalars"]]
        return kept

    def write(self, chain: int, kept: dict[str, np.ndarray], ends: list[int], now: bool) -> None:
        """Write the snapshot of a chain and the draws up to each of ``ends``, unless the last checkpoint is recent."""
        if not now and time.perf_counter() - self._last[chain] < SECONDS:
            return
        folder = self.chain_folder(chain)
        folder.mkdir(exist_ok=True)
        for end in ends:
            self._append(chain, folder, end)
        chunks = [
            {
                "number": _number(chunk.path),
                "first": chunk.first,
                "n_draws": chunk.n_draws,
                "labels": chunk.sha256,
                "draws": scalars,
            }
            for chunk, scalars in zip(self.labels.chunks[chain], self._sums[chain], strict=True)
        ]
        text = json.dumps({"format": FORMAT, "chunks": chunks})
        _write_arrays(folder / "checkpoint.npz", {"about": np.array(text)} | kept)
        self._last[chain] = time.perf_counter()

    def _append(self, chain: int, folder: Path, end: int) -> None:
        """Write draws up to ``end`` that are not on disk yet."""
        chunks = self.labels.chunks[chain]
        first = chunks[-1].first + chunks[-1].n_draws if chunks else 0
        if end <= first:
            return
        number = self._next[chain]
        path, beside = folder / f"labels-{number:06d}.npy", folder / f"draws-{number:06d}.npz"
        labels = smallest_integers(self.labels.pending(chain, first, end - first))
        scalars = {name: values[chain, first:end] for name, values in named_arrays(self.record).items()}
        _write(path, lambda file: np.save(file, labels, allow_pickle=False))
        _write_arrays(beside, scalars)
        self._next[chain] += 1
        self._sums[chain].append(checksum(beside))
        self.labels.written(chain, Chunk(path, first, end - first, checksum(path)))

    def close(self) -> None:
        """Release the lock on the folder."""
        self._lock.close()


def _number(path: Path) -> int:
    """The number in the file name of a chunk."""
    return int(path.stem.rpartition("-")[2])


def _lock(path: Path) -> BinaryIO:
    """Open a file that only one process can hold."""
    file = (path / "lock").open("ab")
    try:
        if sys.platform == "win32":
            import msvcrt

            msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)
        else:
            import fcntl

            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        file.close()
        raise ValueError(f"{str(path)!r} is in use by another process. Wait for it, or choose another folder.") from None
    return file


def known_keys(path: str | os.PathLike[str]) -> list[int] | None:
    """The keys of the chains of an existing run folder; None if it is not one."""
    if not (Path(path) / "run.json").exists():
        return None
    return [int(key) for key in read_about(Path(path))["settings"]["keys"]]


def _versions() -> dict[str, str]:
    names = ("hashmix", "numpy", "scipy", "numba")
    return {"python": platform.python_version()} | {name: version(name) for name in names}
