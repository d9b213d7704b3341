"""Where chains start."""

from __future__ import annotations

from typing import Any

import numpy as np

from hashmix.validation import bad_parameter

__all__ = ["start_labels"]

_NAMES = ("auto", "single", "singletons")


def start_labels(init: Any, n: int, n_chains: int, owner: str) -> list[np.ndarray]:
    """Labels each chain starts from: one cluster ("single", "auto"), "singletons", or as given.

    Examples
    --------
    >>> from hashmix.starts import start_labels
    >>> start_labels("singletons", 3, 1, "sample")
    [array([0, 1, 2])]
    """
    allowed = f"one of {', '.join(map(repr, _NAMES))}, {n} labels (integers ≥ 0), or one of these for each chain"

    def one(start: Any) -> np.ndarray:
        if isinstance(start, str):
            if start not in _NAMES:
                raise bad_parameter(owner, "init", allowed, start)
            return np.arange(n) if start == "singletons" else np.zeros(n, np.int64)
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
