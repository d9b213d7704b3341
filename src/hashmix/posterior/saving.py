"""Posteriors in one file: plain arrays and a JSON text, no pickle."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from hashmix.core.files import NUMPY_ERRORS, write_atomically
from hashmix.core.wording import briefly

if TYPE_CHECKING:
    from hashmix.posterior.record import Record

__all__ = ["named_arrays", "read_posterior", "write_posterior"]

_FORMAT = "hashmix-posterior-1"

AnyRecord = TypeVar("AnyRecord", bound="Record")


def named_arrays(posterior: Record) -> dict[str, np.ndarray]:
    """Everything that is recorded besides the labels: arrays of shape (chain, draw, …), by the names they have in files.

    Examples
    --------
    >>> import hashmix as hm
    >>> from hashmix.posterior.saving import named_arrays
    >>> list(named_arrays(hm.Posterior.empty(1, 2, 3, ["Gibbs"], {}, {})))[4:7]
    ['seconds', 'move_0_proposed', 'move_0_accepted']
    """
    arrays = {name: getattr(posterior, name) for name in posterior.SCALARS}
    arrays |= {f"hyperparameter_{name}": values for name, values in posterior.hyperparameters.items()}
    for m, fields in enumerate(posterior.move_stats.values()):
        arrays |= {f"move_{m}_{field}": values for field, values in fields.items()}
    return arrays


def write_posterior(posterior: Record, path: str | os.PathLike[str]) -> None:
    """See :meth:`hashmix.Posterior.save`."""
    about = {
        "format": _FORMAT,
        "moves": list(posterior.move_stats),
        "hyperparameters": list(posterior.hyperparameters),
        "settings": posterior.settings,
    }
    arrays: Any = {"about": np.array(json.dumps(about)), "labels": np.asarray(posterior.labels)} | named_arrays(posterior)
    write_atomically(path, lambda file: np.savez_compressed(file, **arrays))


def read_posterior(record_class: type[AnyRecord], path: str | os.PathLike[str]) -> AnyRecord:
    """See :meth:`hashmix.Posterior.load`."""
    try:
        with open(path, "rb") as handle, np.load(handle, allow_pickle=False) as file:
            about = json.loads(str(file["about"]))
            if about["format"] != _FORMAT:
                raise KeyError(about["format"])
            return record_class(
                labels=file["labels"],
                **{name: file[name] for name in record_class.SCALARS},
                hyperparameters={name: file[f"hyperparameter_{name}"] for name in about["hyperparameters"]},
                move_stats={
                    move: {field: file[f"move_{m}_{field}"] for field in record_class.MOVE_FIELDS}
                    for m, move in enumerate(about["moves"])
                },
                settings=about["settings"],
            )
    except NUMPY_ERRORS as error:
        if isinstance(error, FileNotFoundError | IsADirectoryError | PermissionError):
            raise
        raise ValueError(f"{os.fspath(path)!r} is not a file written by Posterior.save ({briefly(error)}).") from None
