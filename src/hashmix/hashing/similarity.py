"""Similarities of non-negative rows, and the probabilities of weighted MinHash that they are."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.sparse import csr_matrix, hstack

from hashmix.hashing.rows import SparseRows, as_hashable, as_row_groups, as_row_pair, n_rows
from hashmix.validation import as_rows

__all__ = ["collision_probability", "cut_probability", "sign_split", "weighted_jaccard"]


def sign_split(X: Any) -> Any:
    """Positive and negative parts side by side: D signed columns become 2D non-negative ones.

    Examples
    --------
    >>> from hashmix.hashing import sign_split
    >>> sign_split([[1.0, -2.0]])
    array([[1., 0., 0., 2.]])
    """
    rows = as_hashable(X, "sign_split")
    if isinstance(rows, SparseRows):
        matrix = csr_matrix((rows.values, rows.columns, rows.begins), shape=(n_rows(rows), rows.n_features))
        return csr_matrix(hstack([matrix.maximum(0), (-matrix).maximum(0)]))
    X = rows.values
    return np.concatenate([np.maximum(X, 0.0), np.maximum(-X, 0.0)], axis=1)


def _non_negative(rows: np.ndarray, owner: str) -> np.ndarray:
    if rows.min() < 0.0:
        raise ValueError(f"{owner} takes rows of entries ≥ 0 (see sign_split). Got {rows.min()} instead.")
    return rows


def weighted_jaccard(x: Any, y: Any) -> float:
    """Σ min(x_j, y_j) / Σ max(x_j, y_j): the probability that a weighted MinHash of two rows is the same.

    Two rows of zeros, which share a code of their own, have 1.

    Examples
    --------
    >>> from hashmix.hashing import weighted_jaccard
    >>> weighted_jaccard([2.0, 1.0, 0.0], [1.0, 1.0, 2.0])
    0.4
    """
    return _jaccard(_non_negative(as_row_pair(x, y, "weighted_jaccard"), "weighted_jaccard"))


def collision_probability(rows: Any) -> float:
    """Σ_j min / Σ_j max over any number of rows: the probability that one weighted MinHash is the same for all of them.

    Examples
    --------
    >>> from hashmix.hashing import collision_probability
    >>> collision_probability([[1.0, 1.0, 0.0], [1.0, 0.0, 1.0], [1.0, 1.0, 1.0]])
    0.3333333333333333
    """
    rows = as_rows(rows.toarray() if hasattr(rows, "tocsr") else rows, "collision_probability")
    return _jaccard(_non_negative(rows, "collision_probability"))


def _jaccard(rows: np.ndarray) -> float:
    largest = float(rows.max())
    if largest == 0.0:
        return 1.0
    rows = rows / np.float64(largest)  # in units of the largest, so that sums do not overflow
    return float(rows.min(axis=0).sum() / rows.max(axis=0).sum())


def cut_probability(inside: Any, outside: Any) -> float:
    """``Prob`` of the paper: Σ_j max(0, min over ``inside`` − max over ``outside``) / Σ_j max over both.

    It is the exact probability that a dart thrown uniformly under the *envelope* of the rows (their largest value in every
    feature) falls under every row inside and under none outside: the law of the envelope cut. It is **not**, as the paper
    has it, the probability that the rows inside share a MinHash which no row outside has. That is larger, because the rows
    inside may also agree on a later dart, after others fell under rows outside alone: with the sets {a}, {a} inside and
    {b} outside, ``cut_probability`` is 1/2, while a MinHash separates them always (``docs/exactness.md``).

    Examples
    --------
    >>> from hashmix.hashing import cut_probability
    >>> cut_probability([[1.0, 0.0], [1.0, 0.0]], [[0.0, 1.0]])
    0.5
    """
    inside, outside = as_row_groups(inside, outside, "cut_probability")
    _non_negative(inside, "cut_probability")
    _non_negative(outside, "cut_probability")
    largest = np.float64(max(inside.max(), outside.max()))
    if largest == 0.0:
        raise ValueError("cut_probability needs a row that is not zero: no dart falls under an empty envelope.")
    inside, outside = inside / largest, outside / largest
    envelope = np.maximum(inside.max(axis=0), outside.max(axis=0)).sum()
    return float(np.maximum(0.0, inside.min(axis=0) - outside.max(axis=0)).sum() / envelope)
