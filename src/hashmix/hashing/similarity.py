"""Similarities of non-negative rows, which are collision probabilities of weighted MinHash."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.sparse import csr_array, hstack

from hashmix.data.rows import DenseRows, Rows, as_dense, as_rows
from hashmix.hashing.features import as_row_groups, as_row_pair

__all__ = ["collision_probability", "cut_probability", "sign_split", "weighted_jaccard"]


def sign_split(X: Any) -> Any:
    """Positive and negative parts side by side: D signed columns become 2D non-negative columns.

    Parameters
    ----------
    X : Rows, array or sparse matrix of shape (n_rows, D)

    Returns
    -------
    ndarray or csr_array of shape (n_rows, 2D)
        Sparse if X is.

    Examples
    --------
    >>> from hashmix.hashing import sign_split
    >>> sign_split([[1.0, -2.0]])
    array([[1., 0., 0., 2.]])
    """
    rows = as_rows(X, "sign_split")
    matrix = rows.matrix()
    if rows.is_sparse:
        return csr_array(hstack([matrix.maximum(0), (-matrix).maximum(0)]))
    return np.concatenate([np.maximum(matrix, 0.0), np.maximum(-matrix, 0.0)], axis=1)


def weighted_jaccard(x: Any, y: Any) -> float:
    """Σ min(x_j, y_j) / Σ max(x_j, y_j): the probability that two rows share a weighted MinHash.

    The similarity of two rows of zeros is 1: their codes are equal.

    Parameters
    ----------
    x, y : array or sparse matrix
        One row each, with entries ≥ 0.

    Examples
    --------
    >>> from hashmix.hashing import weighted_jaccard
    >>> weighted_jaccard([2.0, 1.0, 0.0], [1.0, 1.0, 2.0])
    0.4
    """
    return _jaccard(as_row_pair(x, y, "weighted_jaccard"), "weighted_jaccard")


def collision_probability(rows: Any) -> float:
    """Σ_j min / Σ_j max over any number of rows: the probability that all of them share a weighted MinHash.

    Parameters
    ----------
    rows : Rows, array or sparse matrix of shape (n_rows, n_features)
        Entries ≥ 0.

    Examples
    --------
    >>> from hashmix.hashing import collision_probability
    >>> collision_probability([[1.0, 1.0, 0.0], [1.0, 0.0, 1.0], [1.0, 1.0, 1.0]])
    0.3333333333333333
    """
    matrix = rows.matrix() if isinstance(rows, Rows) else rows
    dense = as_dense(matrix.toarray() if hasattr(matrix, "tocsr") else matrix, "collision_probability")
    return _jaccard(dense, "collision_probability")


def cut_probability(inside: Any, outside: Any) -> float:
    """``Prob`` of the paper: Σ_j max(0, min over ``inside`` − max over ``outside``) / Σ_j max over both.

    Throw a dart uniformly under the *envelope* of all rows, their largest value in each feature. ``cut_probability`` is the
    exact probability that the dart falls under all rows inside and under no row outside. This is the law of the envelope
    cut.

    The paper uses it as the probability that the rows inside share a MinHash that no row outside has. It is **not** equal to
    this probability, only a lower bound: the rows inside may also share a later dart, after darts that hit rows outside only.
    For example, take the sets {a}, {a} inside and {b} outside. A MinHash always separates them, and ``cut_probability`` is
    1/2 (``docs/exactness.md``).

    Parameters
    ----------
    inside, outside : array or sparse matrix
        One or more rows each, with entries ≥ 0 and the same columns.

    Examples
    --------
    >>> from hashmix.hashing import cut_probability
    >>> cut_probability([[1.0, 0.0], [1.0, 0.0]], [[0.0, 1.0]])
    0.5
    """
    owner = "cut_probability"
    groups = as_row_groups(inside, outside, owner)
    for rows in groups:
        _check_non_negative(rows, owner)
    low, high = groups[0].summary.least, groups[1].summary.most
    envelope = np.maximum(groups[0].summary.most, high)
    largest = envelope.max()
    if largest == 0.0:
        raise ValueError("cut_probability needs a row that is not zero: no dart falls under an empty envelope.")
    # Division by the largest entry avoids overflow of the sums.
    return float(np.maximum(0.0, low / largest - high / largest).sum() / (envelope / largest).sum())


def _check_non_negative(rows: DenseRows, owner: str) -> None:
    least = rows.summary.least.min()
    if least < 0.0:
        raise ValueError(f"{owner} takes rows of entries ≥ 0 (see sign_split). Got {least} instead.")


def _jaccard(rows: DenseRows, owner: str) -> float:
    _check_non_negative(rows, owner)
    low, high = rows.summary.least, rows.summary.most
    largest = high.max()
    if largest == 0.0:
        return 1.0
    # Division by the largest entry avoids overflow of the sums.
    return float((low / largest).sum() / (high / largest).sum())
