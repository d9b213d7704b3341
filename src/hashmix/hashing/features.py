"""The features that are hashed: columns of dense or sparse rows, centred, scaled and split by sign.

A :class:`FeatureMap` defines the features. Kernels read them through two verbs: :func:`nonzeros` gives all non-zero features
of a row, :func:`feature_value` gives one. A dense and a sparse row with the same entries have identical features.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from hashmix.core.compiling import hot_helper, implements
from hashmix.core.validation import bad_parameter
from hashmix.data.rows import DenseArrays, DenseRows, Rows, SparseArrays, as_dense

__all__ = [
    "FeatureMap",
    "as_row_groups",
    "as_row_pair",
    "check_auto_flag",
    "check_scaling",
    "column_map",
    "count_features",
    "document_weights",
    "feature_value",
    "has_negative",
    "nonzeros",
    "smallest_entry",
    "standard_features",
    "standard_scale",
]

#: A column counts as constant if its standard deviation is at most this multiple of its mean. The variance of sparse rows is
#: a difference of two sums, and therefore has fewer correct digits.
_CONSTANT_DENSE, _CONSTANT_SPARSE = 1e-12, 1e-6


class FeatureMap(NamedTuple):
    """Feature j of a row is (x_j − origin_j) · scale_j. If ``signed``, negative values are stored, as positive ones, in D + j.

    Parameters
    ----------
    origin, scale : float64 array of shape (n_columns,)
    signed : bool
    """

    origin: np.ndarray
    scale: np.ndarray
    signed: bool


# ---- building feature maps -----------------------------------------------------------------------------------------------


def count_features(features: FeatureMap) -> int:
    """Number of features per row, zeros included.

    Examples
    --------
    >>> import numpy as np
    >>> from hashmix.data.rows import as_rows
    >>> from hashmix.hashing.features import column_map, count_features
    >>> count_features(column_map(as_rows(np.eye(3)), center=True, signed=True))
    6
    """
    return len(features.origin) * (2 if features.signed else 1)


def column_map(rows: Rows, center: bool = False, scale: bool | str = False, signed: bool = False) -> FeatureMap:
    """Build the feature map of some rows from their summary, without reading the rows.

    Parameters
    ----------
    rows : Rows
    center : bool, default=False
        Subtract the mean of each column. Columns of equal values become zero.
    scale : {False, True, "idf"}, default=False
        Divide each column by its standard deviation, or multiply it by :func:`document_weights`.
    signed : bool, default=False
        Split features by sign.

    Returns
    -------
    FeatureMap

    Examples
    --------
    >>> import numpy as np
    >>> from hashmix.data.rows import as_rows
    >>> from hashmix.hashing.features import column_map
    >>> features = column_map(as_rows(np.array([[0.0, 7.0], [4.0, 7.0]])), center=True, scale=True)
    >>> features.origin.tolist(), features.scale.tolist()
    ([2.0, 7.0], [0.5, 0.0])
    """
    zeros, ones = np.zeros(rows.n_columns), np.ones(rows.n_columns)
    if not center and not scale:
        return FeatureMap(zeros, ones, signed)
    if not center and scale == "idf":
        return FeatureMap(zeros, document_weights(rows), signed)
    mean, deviation = rows.summary.mean, np.sqrt(rows.summary.variance)
    if not np.isfinite(deviation).all():
        column = int(np.flatnonzero(~np.isfinite(deviation))[0])
        raise ValueError(f"X must hold numbers whose squares can be summed. Column {column} is too large to centre and scale.")
    if scale == "idf":
        return FeatureMap(mean, document_weights(rows), signed)
    varies = deviation > (_CONSTANT_SPARSE if rows.is_sparse else _CONSTANT_DENSE) * np.abs(mean)
    units = 1.0 / np.where(varies, deviation, 1.0) if scale else ones
    if not center:
        return FeatureMap(zeros, units, signed)
    # The residue of a large constant column is rounding error. It is set to zero, so that it cannot swamp the other columns.
    return FeatureMap(mean, np.where(varies, units, 0.0), signed)


def document_weights(rows: Rows) -> np.ndarray:
    """Inverse document frequency of each column: log(1 + n / df), where df is the number of rows with a non-zero entry.

    Columns of zeros have weight 0.

    Examples
    --------
    >>> import numpy as np
    >>> from hashmix.data.rows import as_rows
    >>> from hashmix.hashing.features import document_weights
    >>> document_weights(as_rows(np.array([[1.0, 2.0, 0.0], [0.0, 1.0, 0.0]]))).round(3)
    array([1.099, 0.693, 0.   ])
    """
    df = rows.summary.n_nonzero
    return np.where(df > 0, np.log1p(rows.n_rows / np.maximum(df, 1)), 0.0)


def standard_scale(rows: Rows) -> bool | str:
    """The scaling that ``scale="auto"`` stands for: "idf" for sparse rows, standard deviations for dense rows.

    Examples
    --------
    >>> import numpy as np
    >>> from hashmix.data.rows import as_rows
    >>> from hashmix.hashing.features import standard_scale
    >>> standard_scale(as_rows(np.eye(2)))
    True
    """
    return "idf" if rows.is_sparse else True


def standard_features(rows: Rows) -> FeatureMap:
    """Non-negative features that suit any rows.

    Dense rows are standardised by column and split by sign. Sparse rows are weighted by inverse document frequency, and split
    by sign only if they have negative entries.

    Examples
    --------
    >>> import numpy as np
    >>> from hashmix.data.rows import as_rows
    >>> from hashmix.hashing.features import standard_features
    >>> standard_features(as_rows(np.eye(2))).signed
    True
    """
    dense = not rows.is_sparse
    return column_map(rows, center=dense, scale=standard_scale(rows), signed=dense or has_negative(rows))


# ---- validation ----------------------------------------------------------------------------------------------------------


def check_scaling(owner: str, value: Any) -> bool | str:
    """Validate a ``scale`` parameter.

    Examples
    --------
    >>> from hashmix.hashing.features import check_scaling
    >>> check_scaling("SignProjection", "auto")
    'auto'
    """
    if isinstance(value, str) and value in ("idf", "auto"):
        return value
    if not isinstance(value, (bool, np.bool_)):
        raise bad_parameter(owner, "scale", "True, False, 'idf' or 'auto'", value)
    return bool(value)


def check_auto_flag(owner: str, name: str, value: Any) -> bool | str:
    """Validate a parameter that is True, False or "auto".

    Examples
    --------
    >>> from hashmix.hashing.features import check_auto_flag
    >>> check_auto_flag("WeightedMinHash", "signed", True)
    True
    """
    if isinstance(value, str) and value == "auto":
        return value
    if not isinstance(value, (bool, np.bool_)):
        raise bad_parameter(owner, name, "True, False or 'auto'", value)
    return bool(value)


def has_negative(rows: Rows) -> bool:
    """Whether any entry is negative.

    Examples
    --------
    >>> import numpy as np
    >>> from hashmix.data.rows import as_rows
    >>> from hashmix.hashing.features import has_negative
    >>> has_negative(as_rows(np.array([[1.0, -2.0]])))
    True
    """
    # Dense rows are summarised when they are validated. For sparse rows a scan of the values is cheaper than a summary.
    lows = rows.arrays.values if rows.is_sparse else rows.summary.least
    return len(lows) > 0 and bool(lows.min() < 0)


def smallest_entry(rows: Rows) -> tuple[float, int, int]:
    """The smallest stored entry, its row and its column. Zeros that sparse rows do not store are not considered.

    Examples
    --------
    >>> import numpy as np
    >>> from hashmix.data.rows import as_rows
    >>> from hashmix.hashing.features import smallest_entry
    >>> smallest_entry(as_rows(np.array([[1.0, 2.0], [3.0, -4.0]])))
    (-4.0, 1, 1)
    """
    arrays = rows.arrays
    if not rows.is_sparse:
        column = int(rows.summary.least.argmin())
        row = int(arrays.values[:, column].argmin())
        return float(arrays.values[row, column]), row, column
    if len(arrays.values) == 0:
        return 0.0, 0, 0
    at = int(arrays.values.argmin())
    return float(arrays.values[at]), int(np.searchsorted(arrays.begins, at, side="right")) - 1, int(arrays.columns[at])


def as_row_groups(x: Any, y: Any, owner: str) -> tuple[DenseRows, DenseRows]:
    """Two groups of rows with the same columns, dense or sparse, as dense rows.

    Examples
    --------
    >>> from hashmix.hashing.features import as_row_groups
    >>> x, y = as_row_groups([1.0, 2.0], [[3.0, 4.0], [5.0, 6.0]], "cut_probability")
    >>> x.shape, y.shape
    ((1, 2), (2, 2))
    """
    first, second = _as_dense_group(x, owner), _as_dense_group(y, owner)
    if first.n_columns != second.n_columns:
        widths = f"{first.n_columns} and {second.n_columns}"
        raise ValueError(f"{owner} takes rows with the same number of columns. Got {widths} instead.")
    return first, second


def as_row_pair(x: Any, y: Any, owner: str) -> DenseRows:
    """Two single rows of equal length, dense or sparse, as dense rows.

    Examples
    --------
    >>> from hashmix.hashing.features import as_row_pair
    >>> as_row_pair([1.0, 2.0], [3.0, 4.0], "weighted_jaccard").values.tolist()
    [[1.0, 2.0], [3.0, 4.0]]
    """
    groups = as_row_groups(x, y, owner)
    for name, group in zip(("x", "y"), groups, strict=True):
        if group.n_rows != 1:
            raise bad_parameter(owner, name, "one row", f"{group.n_rows} rows")
    return as_dense(np.concatenate([group.values for group in groups]), owner)


def _as_dense_group(rows: Any, owner: str) -> DenseRows:
    if isinstance(rows, Rows):
        rows = rows.matrix()
    return as_dense(np.atleast_2d(rows.toarray() if hasattr(rows, "tocsr") else np.asarray(rows)), owner)


# ---- kernel verbs --------------------------------------------------------------------------------------------------------


def nonzeros(rows: Any, i: Any, features: Any, columns: Any, values: Any) -> Any:
    """Write the non-zero features of row i and their values, in column order; return their number. For kernels.

    ``rows`` are the ``arrays`` of a :class:`~hashmix.data.rows.Rows`. If features are split by sign, ``columns`` of negative
    entries are offset by the number of columns, and ``values`` are absolute values.
    """


def feature_value(rows: Any, i: Any, features: Any, feature: Any) -> Any:
    """The value of one feature of row i. For kernels."""


@hot_helper
def _keep(x, j, d, features, columns, values, found):
    """Append the feature of entry x in column j unless it is zero; return the new number of features."""
    y = (x - features.origin[j]) * features.scale[j]
    if y == 0.0:
        return found
    columns[found] = j + d if features.signed and y < 0.0 else j
    values[found] = abs(y)
    return found + 1


@hot_helper
def _value(x, j, negative, features):
    """The feature of entry x in column j, or its negative part."""
    y = (x - features.origin[j]) * features.scale[j]
    if features.signed:
        return max(-y, 0.0) if negative else max(y, 0.0)
    return y


@implements(nonzeros, DenseArrays)
def _nonzeros_dense(rows, i, features, columns, values):
    d = rows.values.shape[1]
    found = 0
    for j in range(d):
        found = _keep(rows.values[i, j], j, d, features, columns, values, found)
    return found


@implements(nonzeros, SparseArrays)
def _nonzeros_sparse(rows, i, features, columns, values):
    d = rows.n_features
    found = 0
    for at in range(rows.begins[i], rows.begins[i + 1]):
        found = _keep(rows.values[at], rows.columns[at], d, features, columns, values, found)
    return found


@implements(feature_value, DenseArrays)
def _value_dense(rows, i, features, feature):
    d = rows.values.shape[1]
    j = feature if feature < d else feature - d
    return _value(rows.values[i, j], j, feature >= d, features)


@implements(feature_value, SparseArrays)
def _value_sparse(rows, i, features, feature):
    d = rows.n_features
    j = feature if feature < d else feature - d
    low, high = rows.begins[i], rows.begins[i + 1]
    while low < high:
        middle = (low + high) // 2
        if rows.columns[middle] < j:
            low = middle + 1
        else:
            high = middle
    if low == rows.begins[i + 1] or rows.columns[low] != j:
        return 0.0
    return _value(rows.values[low], j, feature >= d, features)
