"""Reading run folders, finished or not; :mod:`hashmix.run.folder` writes them and describes their files."""

from __future__ import annotations

import hashlib
import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from hashmix.core.files import NUMPY_ERRORS
from hashmix.core.wording import briefly
from hashmix.posterior.saving import named_arrays
from hashmix.posterior.stored import Chunk, StoredLabels, check_chunk

if TYPE_CHECKING:
    from hashmix.posterior.record import Record

__all__ = ["FORMAT", "fill_record", "load_run", "read_about", "read_checkpoint", "sealed"]

#: The format that ``run.json`` and checkpoints name.
FORMAT = "hashmix-run-2"
#: Before it, ``run.json`` had no checksum.
_UNSEALED = "hashmix-run-1"

#: Settings that follow from the others and the data: kept, and not compared when a run is resumed.
_FROM_THE_REST = ("chosen", "evidence", "hyperparameter_names")

AnyRecord = TypeVar("AnyRecord", bound="Record")


def read_about(path: str | os.PathLike[str]) -> dict[str, Any]:
    """The content of ``run.json``: format, versions, settings, a fingerprint of the data, and what is recorded.

    Examples
    --------
    >>> import tempfile, numpy as np, hashmix as hm
    >>> from hashmix.posterior.run_folder import read_about
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     posterior = hm.sample(np.eye(4), n_draws=5, random_state=0, run_dir=f"{folder}/run")
    ...     print(read_about(f"{folder}/run")["format"])
    hashmix-run-2
    """
    path = Path(path)
    try:
        about = json.loads((path / "run.json").read_text(encoding="utf-8"))
        if about["format"] == _UNSEALED:
            return about
        if about["format"] != FORMAT:
            raise KeyError(about["format"])
        found = about.pop("sha256")
        if found != sealed(about)["sha256"]:
            raise ValueError("it is not what was written: checksum")
        return about
    except FileNotFoundError:
        raise ValueError(f"{str(path)!r} is not a run folder: it has no run.json.") from None
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise ValueError(f"The run is damaged: run.json of {path} cannot be read ({briefly(error)}).") from None


def sealed(about: dict[str, Any]) -> dict[str, Any]:
    """The content of a ``run.json`` with its SHA-256 added, so that a changed setting is noticed.

    Examples
    --------
    >>> from hashmix.posterior.run_folder import sealed
    >>> sealed({"format": "hashmix-run-2"})["sha256"][:8] != sealed({"format": "hashmix-run-3"})["sha256"][:8]
    True
    """
    # What reading makes of it: pairs, for one, become lists.
    content = json.dumps(json.loads(json.dumps(about)), sort_keys=True)
    return about | {"sha256": hashlib.sha256(content.encode()).hexdigest()}


def read_checkpoint(folder: Path) -> dict[str, Any]:
    """The checkpoint of one chain, from its folder.

    Returns
    -------
    dict
        The arrays of the checkpoint by name; ``chunks``, the files of labels; and ``scalars``, for each file of scalars its
        :class:`Chunk` and its arrays by name. Files of scalars are checked here, those of labels when they are read.

    Examples
    --------
    >>> import pathlib, tempfile, numpy as np, hashmix as hm
    >>> from hashmix.posterior.run_folder import read_checkpoint
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     posterior = hm.sample(np.eye(4), n_draws=5, random_state=0, run_dir=f"{folder}/run")
    ...     kept = read_checkpoint(pathlib.Path(folder, "run", "chain-0"))
    >>> sum(chunk.n_draws for chunk in kept["chunks"])
    5
    """
    try:
        # Opened here, because NumPy leaves a file that it cannot read open.
        with (folder / "checkpoint.npz").open("rb") as handle, np.load(handle, allow_pickle=False) as file:
            kept: dict[str, Any] = {name: file[name] for name in file.files if name != "about"}
            known = json.loads(str(file["about"]))["chunks"]
    except NUMPY_ERRORS as error:
        raise ValueError(f"The run is damaged: checkpoint.npz of {folder} cannot be read ({briefly(error)}).") from None
    # Names of files are made here, not read: a folder from someone else cannot point outside itself.
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


def fill_record(record: Record, chain: int, kept: dict[str, Any]) -> None:
    """Put the draws of a checkpoint into a record; labels stay on disk.

    Parameters
    ----------
    record : Record
        Made with ``stored=True``; draws beyond its length are left out.
    chain : int
        The chain they belong to.
    kept : dict
        What :func:`read_checkpoint` returns.

    Examples
    --------
    >>> import pathlib, tempfile, numpy as np, hashmix as hm
    >>> from hashmix.posterior.run_folder import fill_record, read_checkpoint
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     posterior = hm.sample(np.eye(4), moves="gibbs", n_draws=5, random_state=0, run_dir=f"{folder}/run")
    ...     record = hm.Posterior.empty(1, 5, 4, ["Gibbs"], {}, posterior.hyperparameters, stored=True)
    ...     fill_record(record, 0, read_checkpoint(pathlib.Path(folder, "run", "chain-0")))
    >>> np.array_equal(record.log_joint, posterior.log_joint)
    True
    """
    assert isinstance(record.labels, StoredLabels)
    record.labels.chunks[chain] = list(kept["chunks"])
    for chunk, arrays in kept["scalars"]:
        count = max(0, min(chunk.n_draws, record.n_draws - chunk.first))
        for name, values in named_arrays(record).items():
            values[chain, chunk.first : chunk.first + count] = arrays[name][:count]


def load_run(record_class: type[AnyRecord], path: str | os.PathLike[str]) -> AnyRecord:
    """The draws of a run folder, finished or not: labels stay on disk until they are asked for.

    If chains were stopped at different lengths, only the draws that all of them have are returned.

    Parameters
    ----------
    record_class : type
        What to make: :class:`hashmix.Posterior`.
    path : path
        The folder.

    Examples
    --------
    >>> import tempfile, numpy as np, hashmix as hm
    >>> from hashmix.posterior.run_folder import load_run
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     posterior = hm.sample(np.eye(4), n_draws=5, random_state=0, run_dir=f"{folder}/run")
    ...     again = load_run(hm.Posterior, f"{folder}/run")
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
        raise ValueError(
            f"{str(path)!r} has no draws yet: the run was stopped during warm-up. Continue it with: hashmix resume."
        )
    hyperparameters = {name: np.zeros(shape) for name, shape in names["hyperparameters"].items()}
    settings = settings | {name: names[name] for name in _FROM_THE_REST if names.get(name)}
    record = record_class.empty(
        len(chains), min(lengths), int(names["n_samples"]), names["moves"], settings, hyperparameters, stored=True
    )
    for c, each in enumerate(kept):
        fill_record(record, c, each)
    return record
