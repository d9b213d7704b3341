"""Checks of what a user gives: one sentence with the parameter, what is allowed, and what was given."""

from __future__ import annotations

import numbers
import os
from collections.abc import Iterable
from typing import Any

import numpy as np

__all__ = [
    "as_rows",
    "bad_parameter",
    "check_choice",
    "check_flag",
    "check_integer",
    "check_n_jobs",
    "check_number",
    "check_scale",
    "check_vector",
    "not_finite",
]


def bad_parameter(owner: str, name: str, allowed: str, given: Any) -> ValueError:
    """The error for a parameter that is not what it must be."""
    shown = repr(given)
    if len(shown) > 120:
        shown = f"{shown[:100]}… ({type(given).__name__})"
    return ValueError(f"The {name!r} parameter of {owner} must be {allowed}. Got {shown} instead.")


def check_number(owner: str, name: str, value: Any, *, low: float = 0.0, high: float = np.inf, closed: bool = False) -> float:
    """A finite number above ``low`` (or equal to it when ``closed``) and below ``high``."""
    sign = "≥" if closed else ">"
    allowed = f"a number {sign} {low:g}" + (f" and < {high:g}" if np.isfinite(high) else "")
    if not isinstance(value, numbers.Real) or isinstance(value, (bool, np.bool_)):
        raise bad_parameter(owner, name, allowed, value)
    number = float(value)
    if not (np.isfinite(number) and (number >= low if closed else number > low) and number < high):
        raise bad_parameter(owner, name, allowed, value)
    return number


def check_integer(owner: str, name: str, value: Any, *, low: int) -> int:
    """An integer that is at least ``low``."""
    if not isinstance(value, numbers.Integral) or isinstance(value, (bool, np.bool_)) or value < low:
        raise bad_parameter(owner, name, f"an integer ≥ {low}", value)
    return int(value)


def check_flag(owner: str, name: str, value: Any) -> bool:
    """True or False."""
    if not isinstance(value, (bool, np.bool_)):
        raise bad_parameter(owner, name, "True or False", value)
    return bool(value)


def check_scale(owner: str, value: Any) -> bool | str:
    """How columns are scaled: not, by their standard deviations, or by how few rows have them."""
    if isinstance(value, str) and value == "idf":
        return value
    if not isinstance(value, (bool, np.bool_)):
        raise bad_parameter(owner, "scale", "True, False or 'idf'", value)
    return bool(value)


def check_n_jobs(owner: str, value: Any) -> int:
    """How many threads are meant: None or −1 for one per processor."""
    if value is None or (isinstance(value, (int, np.integer)) and value == -1):
        return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    if isinstance(value, (int, np.integer)) and not isinstance(value, bool) and value >= 1:
        return int(value)
    raise bad_parameter(owner, "n_jobs", "None, -1 or an integer ≥ 1", value)


def check_choice(owner: str, name: str, value: Any, choices: Iterable[str]) -> str:
    """One of a few strings."""
    choices = list(choices)
    if not isinstance(value, str) or value not in choices:
        raise bad_parameter(owner, name, "one of " + ", ".join(map(repr, choices)), value)
    return value


def check_vector(owner: str, name: str, value: Any, n_features: int, *, positive: bool = False) -> np.ndarray:
    """A number or a vector of one number per feature, as a float64 vector."""
    allowed = f"{'a positive' if positive else 'a finite'} number, or {n_features} of them (one per feature)"
    try:
        vector = np.asarray(value, dtype=np.float64)
    except (TypeError, ValueError):
        raise bad_parameter(owner, name, allowed, value) from None
    if vector.shape not in ((), (1,), (n_features,)) or not np.isfinite(vector).all() or (positive and (vector <= 0).any()):
        raise bad_parameter(owner, name, allowed, value)
    return np.broadcast_to(vector, n_features).astype(np.float64)


def not_finite(value: Any, row: int, column: int) -> ValueError:
    """The error for an entry of X that is NaN or infinite."""
    return ValueError(f"X must hold finite numbers only. Got {value} in row {row}, column {column} instead.")


def as_rows(X: Any, owner: str = "sample") -> np.ndarray:
    """A finite, C-contiguous, float32 or float64 matrix as a read-only view; copied only when it must be.

    Read-only, so that a kernel sees one array type whether the user's array could be written to or not.
    """
    if hasattr(X, "tocsr"):
        raise bad_parameter(owner, "X", "a dense array (call X.toarray() if it fits in memory)", type(X))
    array = np.asarray(X)
    if array.dtype.kind in "bui":
        array = array.astype(np.float64)
    elif array.dtype.kind == "O":
        try:
            array = array.astype(np.float64)
        except (TypeError, ValueError):
            raise bad_parameter(owner, "X", "an array of numbers", X) from None
    if array.dtype.kind != "f":
        raise bad_parameter(owner, "X", "an array of numbers", array.dtype)
    if array.dtype not in (np.float32, np.float64):
        array = array.astype(np.float64)
    if array.ndim != 2 or array.shape[0] < 1 or array.shape[1] < 1:
        raise bad_parameter(owner, "X", "a matrix of at least one row and one column", f"shape {array.shape}")
    array = np.ascontiguousarray(array)
    for start in range(0, len(array), 65536):  # in blocks: no n × D mask
        finite = np.isfinite(array[start : start + 65536])
        if not finite.all():
            row, column = np.argwhere(~finite)[0]
            raise not_finite(array[start + row, column], start + row, column)
    view = array.view()
    view.flags.writeable = False
    return view
