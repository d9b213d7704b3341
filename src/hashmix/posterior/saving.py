"""Posteriors in one file: plain arrays and a JSON text, no pickle."""

from __future__ import annotations

import json
import os
import zipfile
from typing import Any

import numpy as np

from hashmix.files import write_atomically

__all__ = ["named_arrays", "read_posterior", "write_posterior"]

_FORMAT = "hashmix-posterior-1"


def named_arrays(posterior: Any) -> dict[str, np.ndarray]:
    """Everything that was recorded beside the labels, arrays of shape (chain, draw, …), by the names they have in files."""
    arrays = {name: getattr(posterior, name) for name in posterior.SCALARS}
    arrays |= {f"hyperparameter_{name}": values for name, values in posterior.hyperparameters.items()}
    for m, fields in enumerate(posterior.move_stats.values()):
        arrays |= {f"move_{m}_{field}": values for field, values in fields.items()}
    return arrays


def write_posterior(posterior: Any, path: str | os.PathLike) -> None:
    """See :meth:`hashmix.Posterior.save`."""
    about = {
        "format": _FORMAT,
        "moves": list(posterior.move_stats),
        "hyperparameters": list(posterior.hyperparameters),
        "settings": posterior.settings,
    }
    arrays: Any = {"about": np.array(json.dumps(about)), "labels": np.asarray(posterior.labels)} | named_arrays(posterior)
    write_atomically(path, lambda file: np.savez_compressed(file, **arrays))


def read_posterior(cls: Any, path: str | os.PathLike) -> Any:
    """See :meth:`hashmix.Posterior.load`."""
    try:
        with open(path, "rb") as handle, np.load(handle, allow_pickle=False) as file:
            about = json.loads(str(file["about"]))
            if about["format"] != _FORMAT:
                raise KeyError(about["format"])
            return cls(
                labels=file["labels"],
                **{name: file[name] for name in cls.SCALARS},
                hyperparameters={name: file[f"hyperparameter_{name}"] for name in about["hyperparameters"]},
                move_stats={
                    move: {field: file[f"move_{m}_{field}"] for field in cls.MOVE_FIELDS}
                    for m, move in enumerate(about["moves"])
                },
                settings=about["settings"],
            )
    except (KeyError, ValueError, zipfile.BadZipFile, EOFError, TypeError) as error:
        raise ValueError(f"{os.fspath(path)!r} is not a file written by Posterior.save ({error}).") from None
