"""Run folders: draws and checkpoints on disk, so that a run survives a kill and goes on as if nothing had happened.

A folder holds ``run.json`` (settings, versions, a fingerprint of the data) and for each chain a folder with chunks of draws,
``labels-000000.npy`` and ``draws-000000.npz``, and ``checkpoint.npz``: the state of the chain and the checksums of its chunks.
Plain NumPy files, because every tool reads them, labels can be mapped, and nothing in them executes. A file is written beside
its place, flushed to disk and renamed; a checkpoint names the chunks that count, so that whatever a kill leaves half done is
ignored and overwritten.
"""

from __future__ import annotations

import errno
import hashlib
import json
import os
import platform
import sys
import time
import zipfile
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from hashmix.files import write_atomically
from hashmix.hashing.rows import SparseRows
from hashmix.posterior import Posterior
from hashmix.posterior.saving import named_arrays
from hashmix.posterior.stored import Chunk, StoredLabels, check_chunk, checksum, smallest_integers

__all__ = ["RunFolder", "fingerprint", "known_keys", "load_run"]

_FORMAT = "hashmix-run-1"
#: Seconds between two checkpoints of a chain, at least.
SECONDS = 10.0


def fingerprint(X: Any) -> dict[str, Any]:
    """What tells data apart: shape, type and a SHA-256 of all entries.

    Examples
    --------
    >>> import numpy as np
    >>> from hashmix.runs import fingerprint
    >>> fingerprint(np.eye(2)) == fingerprint(np.eye(2)), fingerprint(np.eye(2)) == fingerprint(2 * np.eye(2))
    (True, False)
    """
    arrays = [X.values, X.columns, X.begins] if isinstance(X, SparseRows) else [X]
    digest = hashlib.sha256()
    for array in arrays:
        digest.update(np.ascontiguousarray(array).data)
    shape = [len(X.begins) - 1, X.n_features] if isinstance(X, SparseRows) else list(X.shape)
    return {"shape": shape, "dtype": str(arrays[0].dtype), "sha256": digest.hexdigest()}


def _write(path: Path, write: Callable[[BinaryIO], Any]) -> None:
    """Write a file of a run, whole or not at all."""
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
        Made if it is not there; its parent must be.
    about : dict
        Settings and fingerprint of the data, which must be those the folder was made with.
    record : Posterior
        What chains write to; its labels are kept on disk from now on.
    """

    def __init__(self, path: str | os.PathLike, about: dict[str, Any], record: Posterior) -> None:
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
            about = {"format": _FORMAT, "versions": _versions(), "n_draws": record.n_draws} | about
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
        """Where a chain's files are."""
        return self.path / f"chain-{chain}"

    def checkpoint(self, chain: int) -> dict[str, Any] | None:
        """The last checkpoint of a chain, if there is one; its draws are then in the record."""
        folder = self.chain_folder(chain)
        if not (folder / "checkpoint.npz").exists():
            return None
        kept = read_checkpoint(folder)
        for chunk in kept["chunks"]:
            check_chunk(chunk)
        self._next[chain] = 1 + max((_number(chunk.path) for chunk in kept["chunks"]), default=-1)
        kept["finished"] = sum(chunk.n_draws for chunk in kept["chunks"]) >= self.record.n_draws
        while not kept["finished"] and kept["chunks"] and kept["chunks"][-1].first >= int(kept["draws"]):
            # Draws beyond the state that was kept: they are made again, the same, on the way to more. Their files stay, for
            # a posterior that was loaded earlier may yet read them.
            kept["chunks"].pop()
            kept["scalars"].pop()
        fill_record(self.record, chain, kept)
        self._sums[chain] = [chunk.sha256 for chunk, _ in kept["scalars"]]
        return kept

    def write(self, chain: int, kept: dict[str, np.ndarray], ends: list[int], now: bool) -> None:
        """Write the snapshot of a chain and the draws up to each of ``ends``, unless the last checkpoint was a moment ago."""
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
        text = json.dumps({"format": _FORMAT, "chunks": chunks})
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
        """Let other processes have the folder."""
        self._lock.close()


def _number(path: Path) -> int:
    """The number in the name of a chunk."""
    return int(path.stem.rpartition("-")[2])


def _lock(path: Path) -> BinaryIO:
    """An open file that only one process can hold."""
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


def known_keys(path: str | os.PathLike) -> list[int] | None:
    """The keys of the chains of a run folder, if it is one already."""
    if not (Path(path) / "run.json").exists():
        return None
    return [int(key) for key in read_about(Path(path))["settings"]["keys"]]


def _versions() -> dict[str, str]:
    names = ("hashmix", "numpy", "scipy", "numba")
    return {"python": platform.python_version()} | {name: version(name) for name in names}


def read_about(path: Path) -> dict[str, Any]:
    """What ``run.json`` says."""
    try:
        about = json.loads((path / "run.json").read_text(encoding="utf-8"))
        if about["format"] != _FORMAT:
            raise KeyError(about["format"])
        return about
    except FileNotFoundError:
        raise ValueError(f"{str(path)!r} is not a run folder: it has no run.json.") from None
    except (ValueError, KeyError, TypeError) as error:
        raise ValueError(f"The run is damaged: run.json of {path} cannot be read ({error}).") from None


def read_checkpoint(folder: Path) -> dict[str, Any]:
    """The arrays of a chain's checkpoint, and its chunks; the scalars of their draws are read and checked."""
    try:
        with np.load(folder / "checkpoint.npz", allow_pickle=False) as file:
            kept: dict[str, Any] = {name: file[name] for name in file.files if name != "about"}
            known = json.loads(str(file["about"]))["chunks"]
    except (ValueError, KeyError, OSError, EOFError, zipfile.BadZipFile, TypeError) as error:
        raise ValueError(f"The run is damaged: checkpoint.npz of {folder} cannot be read ({error}).") from None
    # Names are made here, not read: a folder from someone else cannot point outside itself.
    kept["chunks"] = [
        Chunk(folder / f"labels-{int(c['number']):06d}.npy", int(c["first"]), int(c["n_draws"]), str(c["labels"]))
        for c in known
    ]
    kept["scalars"] = []
    for c in known:
        chunk = Chunk(folder / f"draws-{int(c['number']):06d}.npz", int(c["first"]), int(c["n_draws"]), str(c["draws"]))
        check_chunk(chunk)
        with np.load(chunk.path, allow_pickle=False) as file:
            kept["scalars"].append((chunk, {name: file[name] for name in file.files}))
    return kept


def fill_record(record: Posterior, chain: int, kept: dict[str, Any]) -> None:
    """Put the draws of a checkpoint into a record."""
    assert isinstance(record.labels, StoredLabels)
    record.labels.chunks[chain] = list(kept["chunks"])
    for chunk, arrays in kept["scalars"]:
        count = max(0, min(chunk.n_draws, record.n_draws - chunk.first))
        for name, values in named_arrays(record).items():
            values[chain, chunk.first : chunk.first + count] = arrays[name][:count]


def load_run(path: str | os.PathLike) -> Posterior:
    """The draws of a run folder, finished or not: labels stay on disk until they are asked for.

    Of chains that were stopped at different lengths, the draws that all have.

    Examples
    --------
    >>> import tempfile, numpy as np, hashmix as hm
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     posterior = hm.sample(np.eye(4), n_draws=5, random_state=0, run_dir=f"{folder}/run")
    ...     again = hm.Posterior.load(f"{folder}/run")
    ...     print(np.array_equal(again.labels[0, 3], posterior.labels[0, 3]))
    True
    """
    path = Path(path)
    about = read_about(path)
    settings, names = about["settings"], about["recorded"]
    chains = [path / f"chain-{c}" for c in range(int(settings["n_chains"]))]
    if not all((folder / "checkpoint.npz").exists() for folder in chains):
        raise ValueError(f"{str(path)!r} has no draws yet: the run was stopped before its first checkpoint.")
    kept = [read_checkpoint(folder) for folder in chains]
    lengths = [sum(chunk.n_draws for chunk in each["chunks"]) for each in kept]
    if min(lengths) == 0:
        raise ValueError(f"{str(path)!r} has no draws yet: the run was stopped during warm-up. Go on with: hashmix resume.")
    hyperparameters = {name: np.zeros(shape) for name, shape in names["hyperparameters"].items()}
    record = Posterior.empty(
        len(chains), min(lengths), int(names["n_samples"]), names["moves"], dict(settings), hyperparameters, stored=True
    )
    for c, each in enumerate(kept):
        fill_record(record, c, each)
    return record
