"""Validation of parameters. Every error is one sentence: the parameter, its allowed values, the value received."""

from __future__ import annotations

import numbers
import os
from collections.abc import Iterable
from typing import Any

import numpy as np

__all__ = [
    "NotFinite",
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
    """Build the error for an invalid parameter; the caller raises it.

    Parameters
    ----------
    owner : str
        The function or class that has the parameter.
    name : str
        The parameter.
    allowed : str
        What it may be, as the end of "must be".
    given : Any
        The value received; a long ``repr`` is cut.

    Examples
    --------
    >>> from hashmix.core.validation import bad_parameter
    >>> bad_parameter("sample", "thin", "an integer ≥ 1", 0)
    ValueError("The 'thin' parameter of sample must be an integer ≥ 1. Got 0 instead.")
    """
    shown = repr(given)
    if len(shown) > 120:
        shown = f"{shown[:100]}… ({type(given).__name__})"
    return ValueError(f"The {name!r} parameter of {owner} must be {allowed}. Got {shown} instead.")


def check_number(owner: str, name: str, value: Any, *, low: float = 0.0, high: float = np.inf, closed: bool = False) -> float:
    """Return a finite number greater than ``low`` and less than ``high``, as a float.

    Parameters
    ----------
    owner, name : str
        The function or class, and its parameter.
    value : Any
    low, high : float
        Bounds, both exclusive unless ``closed``.
    closed : bool, default=False
        Whether ``low`` itself is allowed.

    Examples
    --------
    >>> from hashmix.core.validation import check_number
    >>> check_number("sample", "max_seconds", 2)
    2.0
    """
    sign = "≥" if closed else ">"
    allowed = f"a number {sign} {low:g}" + (f" and < {high:g}" if np.isfinite(high) else "")
    if not isinstance(value, numbers.Real) or isinstance(value, (bool, np.bool_)):
        raise bad_parameter(owner, name, allowed, value)
    number = float(value)
    if not (np.isfinite(number) and (number >= low if closed else number > low) and number < high):
        raise bad_parameter(owner, name, allowed, value)
    return number


def check_integer(owner: str, name: str, value: Any, *, low: int) -> int:
    """Return an integer that is at least ``low``.

    Examples
    --------
    >>> import numpy as np
    >>> from hashmix.core.validation import check_integer
    >>> check_integer("sample", "thin", np.int64(3), low=1)
    3
    """
    if not isinstance(value, numbers.Integral) or isinstance(value, (bool, np.bool_)) or value < low:
        raise bad_parameter(owner, name, f"an integer ≥ {low}", value)
    return int(value)


def check_flag(owner: str, name: str, value: Any) -> bool:
    """Return True or False; other values that Python treats as true or false are errors.

    Examples
    --------
    >>> from hashmix.core.validation import check_flag
    >>> check_flag("sample", "progress", True)
    True
    """
    if not isinstance(value, (bool, np.bool_)):
        raise bad_parameter(owner, name, "True or False", value)
    return bool(value)


def check_scale(owner: str, value: Any) -> bool | str:
    """Return how a hash family scales columns: not (False), by standard deviation (True), or by rarity ("idf").

    Examples
    --------
    >>> from hashmix.core.validation import check_scale
    >>> check_scale("SignProjection", "idf")
    'idf'
    """
    if isinstance(value, str) and value == "idf":
        return value
    if not isinstance(value, (bool, np.bool_)):
        raise bad_parameter(owner, "scale", "True, False or 'idf'", value)
    return bool(value)


def check_n_jobs(owner: str, value: Any) -> int:
    """Return a number of threads; None and −1 stand for one per available processor.

    Examples
    --------
    >>> from hashmix.core.validation import check_n_jobs
    >>> check_n_jobs("sample", 2), check_n_jobs("sample", None) >= 1
    (2, True)
    """
    if value is None or (isinstance(value, (int, np.integer)) and value == -1):
        return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    if isinstance(value, (int, np.integer)) and not isinstance(value, bool) and value >= 1:
        return int(value)
    raise bad_parameter(owner, "n_jobs", "None, -1 or an integer ≥ 1", value)


def check_choice(owner: str, name: str, value: Any, choices: Iterable[str]) -> str:
    """Return ``value`` if it is one of the strings in ``choices``.

    Examples
    --------
    >>> from hashmix.core.validation import check_choice
    >>> check_choice("RGSM", "launch", "nearest", ["coins", "nearest"])
    'nearest'
    """
    choices = list(choices)
    if not isinstance(value, str) or value not in choices:
        raise bad_parameter(owner, name, "one of " + ", ".join(map(repr, choices)), value)
    return value


def check_vector(owner: str, name: str, value: Any, n_features: int, *, positive: bool = False) -> np.ndarray:
    """Return one finite float64 per feature; a single number is repeated.

    Parameters
    ----------
    owner, name : str
        The function or class, and its parameter.
    value : Any
    n_features : int
    positive : bool, default=False
        Whether all entries must be greater than zero.

    Examples
    --------
    >>> from hashmix.core.validation import check_vector
    >>> check_vector("DiagonalGaussian", "rate", 2, 3, positive=True)
    array([2., 2., 2.])
    """
    allowed = f"{'a positive' if positive else 'a finite'} number, or {n_features} of them (one per feature)"
    try:
        vector = np.asarray(value, dtype=np.float64)
    except (TypeError, ValueError):
        raise bad_parameter(owner, name, allowed, value) from None
    if vector.shape not in ((), (1,), (n_features,)) or not np.isfinite(vector).all() or (positive and (vector <= 0).any()):
        raise bad_parameter(owner, name, allowed, value)
    return np.broadcast_to(vector, n_features).astype(np.float64)


class NotFinite(ValueError):
    """An entry of X is NaN or infinite."""


def not_finite(value: Any, row: int, column: int) -> NotFinite:
    """Build the error for an entry of X that is NaN or infinite; the caller raises it.

    Examples
    --------
    >>> from hashmix.core.validation import not_finite
    >>> not_finite(float("nan"), 3, 1)
    NotFinite('X must hold finite numbers only. Got NaN in row 3, column 1 instead.')
    """
    # scikit-learn's estimator checks look for "NaN", spelled so.
    shown = "NaN" if np.isnan(value) else str(value)
    return NotFinite(f"X must hold finite numbers only. Got {shown} in row {row}, column {column} instead.")
