"""Where chains start."""

from __future__ import annotations

from typing import Any

import numpy as np

from hashmix.compiling import borrowed, kernel
from hashmix.validation import bad_parameter

__all__ = ["check_starts", "neighbourhoods", "start_labels"]

_NAMES = ("auto", "buckets", "single", "singletons")


def check_starts(init: Any, n: int, n_chains: int, owner: str) -> list[Any]:
    """Where each chain starts, by name or as labels, if it can.

    Examples
    --------
    >>> from hashmix.starts import check_starts
    >>> check_starts("single", 3, 2, "sample")
    ['single', 'single']
    """
    allowed = f"one of {', '.join(map(repr, _NAMES))}, {n} labels (integers ≥ 0), or one of these for each chain"

    def one(start: Any) -> Any:
        if isinstance(start, str):
            if start not in _NAMES:
                raise bad_parameter(owner, "init", allowed, start)
            return start
        labels = np.asarray(start)
        if labels.shape != (n,) or labels.dtype.kind not in "iu" or labels.min() < 0:
            raise bad_parameter(owner, "init", allowed, start)
        return np.unique(labels, return_inverse=True)[1]

    per_chain = isinstance(init, (list, tuple)) and any(isinstance(start, str) or np.ndim(start) == 1 for start in init)
    if per_chain or (not isinstance(init, str) and np.ndim(init) == 2):
        if len(init) != n_chains:
            raise bad_parameter(owner, "init", allowed, init)
        return [one(start) for start in init]
    return [one(init)] * n_chains


def start_labels(start: Any, n: int) -> np.ndarray:
    """The labels of a start without hashing: one cluster ("single"), "singletons", or as given.

    Examples
    --------
    >>> from hashmix.starts import start_labels
    >>> start_labels("singletons", 3)
    array([0, 1, 2])
    """
    if not isinstance(start, str):
        return start
    return np.zeros(n, np.int64) if start == "single" else np.arange(n)


@kernel
def neighbourhoods(lists, order, few):
    """Rows are gone through in an order; each that is in no cluster yet opens one with its neighbours that are in none.

    Where there are to be ``few`` clusters, a row joins that of the nearest of its neighbours that are in one, if any is.
    """
    lists, order = borrowed(lists), borrowed(order)
    labels = np.full(len(lists), -1, np.int32)
    found = 0
    for i in order:
        at = lists.shape[1] - 1
        while few and labels[i] < 0 and at > 0:
            labels[i] = labels[lists[i, at]]
            at -= 1
        if labels[i] < 0:
            for at in range(lists.shape[1]):
                if labels[lists[i, at]] < 0:
                    labels[lists[i, at]] = found
            found += 1
    return labels
