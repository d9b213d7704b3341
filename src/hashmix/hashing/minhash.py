"""Weighted MinHash: the probability that two non-negative rows share a hash is their weighted Jaccard similarity.

Throw an infinite sequence of random darts (feature j, height y). The hash of a row x is the first dart that falls under it,
y ≤ x_j. Two rows share a hash if and only if this dart is the same. It is found by one of two exact methods: consistent
weighted sampling (Ioffe), or rejection sampling under known bounds (Shrivastava).
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from hashmix.core.compiling import borrowed, helper, hot_helper, kernel
from hashmix.core.counter import address, uniform_at
from hashmix.core.rng import mix
from hashmix.core.validation import bad_parameter, check_choice
from hashmix.data.rows import Rows
from hashmix.hashing.codes import CodeFamily
from hashmix.hashing.features import (
    FeatureMap,
    check_auto_flag,
    check_scaling,
    column_map,
    count_features,
    feature_value,
    has_negative,
    nonzeros,
    smallest_entry,
    standard_scale,
)

__all__ = ["ICWS", "ZERO_CODE", "ICWSWork", "WeightedMinHash", "combine", "icws_codes"]

#: The code of rows without a positive feature. No other row has it.
ZERO_CODE = np.uint64(0)
#: The draws of at most this many (feature, function) pairs are stored. More are drawn again for each row.
_MOST_KEPT = 4_000_000
#: Rejection sampling fails for a row that is not hit by this many darts.
_MOST_DARTS = 1_000_000
#: Darts stored per function. Later darts are drawn again for each row.
_KEPT_DARTS = 256


class ICWS(NamedTuple):
    """Consistent weighted samplers: the draws r, log c − r and b of each (feature, function).

    Empty arrays mean that the draws are repeated for each row.
    """

    key: np.uint64
    n_functions: int
    r: np.ndarray
    log_c_less_r: np.ndarray
    b: np.ndarray


class ICWSWork(NamedTuple):
    """Buffers for one row: its non-zero features, and the best dart so far of each function."""

    columns: np.ndarray
    values: np.ndarray
    best: np.ndarray
    best_feature: np.ndarray
    best_level: np.ndarray

    @classmethod
    def empty(cls, n_features: int, n_functions: int) -> ICWSWork:
        """Allocate buffers for rows with at most ``n_features`` non-zero features.

        Examples
        --------
        >>> from hashmix.hashing.minhash import ICWSWork
        >>> len(ICWSWork.empty(n_features=6, n_functions=2).best)
        2
        """
        return cls(
            np.empty(n_features, np.int64),
            np.empty(n_features),
            np.empty(n_functions),
            np.empty(n_functions, np.int64),
            np.empty(n_functions),
        )


class Darts(NamedTuple):
    """Uniform darts under the bounds: cumulative sums of the bounds, and the first darts of each function."""

    key: np.uint64
    ends: np.ndarray
    features: np.ndarray
    heights: np.ndarray


# ---- consistent weighted sampling ----------------------------------------------------------------------------------------


@hot_helper
def _icws_draw(key, function, feature):
    """The draws of one function for one feature: r ~ Gamma(2, 1), log c − r with c ~ Gamma(2, 1), and uniform b."""
    place = address(key, function, feature)
    r = -math.log(uniform_at(place, 0) * uniform_at(place, 1))
    c = -math.log(uniform_at(place, 2) * uniform_at(place, 3))
    return r, math.log(c) - r, uniform_at(place, 4)


@kernel
def _keep_draws(key, begin, end, r, log_c_less_r, b):
    for feature in range(begin, end):
        for function in range(r.shape[1]):
            draw = _icws_draw(key, function, feature)
            r[feature, function], log_c_less_r[feature, function], b[feature, function] = draw


@hot_helper
def combine(code, feature, level):
    """Append a hash (feature, level) to a code of 64 bits. For kernels."""
    word = mix(code ^ mix(np.uint64(np.int64(feature)) + np.uint64(1)) + np.uint64(np.int64(level)))
    return word if word != ZERO_CODE else np.uint64(1)


@helper
def icws_codes(samplers, n_bits, work, found, codes, i):
    """Write to column i the codes of the row whose ``found`` non-zero features are in ``work``. For kernels.

    For each function and non-zero feature: t = ⌊ln x / r + b⌋, ln y = r (t − b), ln a = ln c − ln y − r. The hash is the
    feature with the smallest a, together with its t.
    """
    best, best_feature, best_level = work.best, work.best_feature, work.best_level
    for h in range(samplers.n_functions):
        best[h] = np.inf
    for k in range(found):
        feature, log_x = work.columns[k], math.log(work.values[k])
        if len(samplers.r) > 0:
            r, log_c_less_r, b = samplers.r[feature], samplers.log_c_less_r[feature], samplers.b[feature]
            for h in range(samplers.n_functions):
                level = np.floor(log_x / r[h] + b[h])
                log_a = log_c_less_r[h] - r[h] * (level - b[h])
                better = log_a < best[h]
                best[h] = log_a if better else best[h]
                best_level[h] = level if better else best_level[h]
                best_feature[h] = feature if better else best_feature[h]
        else:
            for h in range(samplers.n_functions):
                r_h, log_c_less_r_h, b_h = _icws_draw(samplers.key, h, feature)
                level = np.floor(log_x / r_h + b_h)
                log_a = log_c_less_r_h - r_h * (level - b_h)
                if log_a < best[h]:
                    best[h], best_level[h], best_feature[h] = log_a, level, feature
    h = 0
    for table in range(codes.shape[0]):
        code = ZERO_CODE
        if found > 0:
            for _ in range(n_bits):
                code = combine(code, best_feature[h], best_level[h])
                h += 1
        codes[table, i] = code


@kernel
def _hash_icws(rows, features, samplers, n_bits, work, begin, end, codes):
    rows, features, samplers = borrowed(rows), borrowed(features), borrowed(samplers)
    work, codes = borrowed(work), borrowed(codes)
    for i in range(begin, end):
        found = nonzeros(rows, i, features, work.columns, work.values)
        icws_codes(samplers, n_bits, work, found, codes, i)


# ---- rejection -------------------------------------------------------------------------------------------------------------


@helper
def _dart(key, function, number, ends):
    """The feature and the height of a dart of a function."""
    p = uniform_at(address(key, function, number), 0) * ends[-1]
    low, high = 0, len(ends) - 1
    while low < high:
        middle = (low + high) // 2
        if ends[middle] <= p:
            low = middle + 1
        else:
            high = middle
    return low, p - (ends[low - 1] if low > 0 else 0.0)


@kernel
def _keep_darts(key, ends, features, heights):
    for function in range(features.shape[0]):
        for number in range(features.shape[1]):
            features[function, number], heights[function, number] = _dart(key, function, number, ends)


@kernel
def _hash_darts(rows, features, darts, n_bits, begin, end, codes):
    """Compute codes of rows begin … end − 1. Stop at the first row that no dart hits and return it; else return −1."""
    rows, features, darts, codes = borrowed(rows), borrowed(features), borrowed(darts), borrowed(codes)
    n_features = len(darts.ends)
    kept = darts.features.shape[1]
    for i in range(begin, end):
        empty = True
        for feature in range(n_features):
            if feature_value(rows, i, features, feature) > 0.0:
                empty = False
                break
        h = 0
        for table in range(codes.shape[0]):
            code = ZERO_CODE
            for _ in range(0 if empty else n_bits):
                number = 0
                while True:
                    if number < kept:
                        feature, height = darts.features[h, number], darts.heights[h, number]
                    else:
                        feature, height = _dart(darts.key, h, number, darts.ends)
                    if height < feature_value(rows, i, features, feature):
                        break
                    number += 1
                    if number == _MOST_DARTS:
                        return i
                code = combine(code, number, 0)
                h += 1
            codes[table, i] = code
    return -1


# ---- the family --------------------------------------------------------------------------------------------------------------


class WeightedMinHash(CodeFamily):
    """Weighted MinHash: rows x, y ≥ 0 share a hash with probability Σ min(x_j, y_j) / Σ max(x_j, y_j).

    Any number of rows share a hash with probability Σ_j min / Σ_j max over all of them. Dense and sparse rows with the same
    entries have the same codes. Rows without a positive feature have code 0, which no other row has.

    Parameters
    ----------
    n_bits : int, default=1
        Hashes per code, 1 to 64. Codes are equal with the probability above to this power.
    n_tables : int, default=1
        Codes per row.
    method : {"icws", "rejection"}, default="icws"
        How the first dart is found:

        - "icws": consistent weighted sampling. The cost per hash is proportional to the number of non-zero features.
        - "rejection": throw darts under the largest value in each column, until one falls under the row. For dense rows this
          takes a few tests, independent of the number of columns. Rows that are hashed later must be within the bounds and
          fill more than about 10⁻⁵ of them.
    signed : {False, True, "auto"}, default=False
        Hash the sign split of rows (:func:`hashmix.hashing.sign_split`). Required for negative entries. "auto": True for
        dense rows and for negative entries.
    center : {False, True, "auto"}, default=False
        Subtract column means. Requires ``signed``. Not available for sparse rows. "auto": True if possible.
    scale : {False, True, "idf", "auto"}, default=False
        Divide columns by their standard deviations, or weight them by inverse document frequency, as in
        :class:`SignProjection`. The similarity of signed data depends on origin and units.
    random_state : None, int, SeedSequence, Generator or RandomState
        Source of the functions.

    Attributes
    ----------
    columns_ : FeatureMap
        The features that are hashed.
    functions_ : ICWS or Darts
        The functions as kernels read them.
    signed_, center_, scale_
        The settings after "auto" is resolved.

    Examples
    --------
    >>> import numpy as np, hashmix as hm
    >>> X = np.array([[1.0, 2.0, 0.0], [1.0, 2.0, 0.0], [0.0, 0.0, 5.0]])
    >>> codes = hm.hashing.WeightedMinHash(random_state=0).fit(X).codes(X)[0]
    >>> bool(codes[0] == codes[1]), bool(codes[0] == codes[2])
    (True, False)
    """

    signed: bool | str
    center: bool | str
    scale: bool | str
    scale_: bool | str
    columns_: FeatureMap
    bounds_: np.ndarray

    def __init__(
        self,
        n_bits: int = 1,
        n_tables: int = 1,
        method: str = "icws",
        signed: bool | str = False,
        center: bool | str = False,
        scale: bool | str = False,
        random_state: Any = None,
    ) -> None:
        super().__init__(n_bits, n_tables, random_state)
        owner = type(self).__name__
        self.method: str = check_choice(owner, "method", method, ["icws", "rejection"])
        self.signed, self.center = check_auto_flag(owner, "signed", signed), check_auto_flag(owner, "center", center)
        self.scale = check_scaling(owner, scale)
        if self.center is True and self.signed is False:
            raise bad_parameter(owner, "signed", "True when center is (centred data have negative entries)", signed)

    def _fit_columns(self, rows: Rows) -> None:
        dense = not rows.is_sparse
        self.signed_: bool = dense or has_negative(rows) if self.signed == "auto" else bool(self.signed)
        self.center_: bool = dense and self.signed_ if self.center == "auto" else bool(self.center)
        self.scale_ = standard_scale(rows) if self.scale == "auto" else self.scale
        self._check_entries(rows)
        self.columns_ = column_map(rows, self.center_, self.scale_, self.signed_)
        if self.method == "rejection":
            self.bounds_ = _largest_features(rows, self.columns_)
            if self.bounds_.max() > np.finfo(np.float64).max / len(self.bounds_):
                raise ValueError("X must hold numbers whose sum is finite. Its columns are too large for method='rejection'.")

    def _draw_functions(self, rows: Rows) -> None:
        if self.method == "rejection":
            ends = np.cumsum(self.bounds_)
            shape = (self.n_functions, min(_KEPT_DARTS, 1 + _MOST_KEPT // self.n_functions))
            self.functions_: Any = Darts(self.key_, ends, np.zeros(shape, np.int64), np.zeros(shape))
            if ends[-1] > 0.0:
                _keep_darts(*self.functions_)
            return
        n_features = count_features(self.columns_)
        shape = (n_features if n_features * self.n_functions <= _MOST_KEPT else 0, self.n_functions)
        self.functions_ = ICWS(self.key_, self.n_functions, np.empty(shape), np.empty(shape), np.empty(shape))
        _keep_draws(self.key_, 0, shape[0], *self.functions_[2:])

    def _check(self, rows: Rows) -> None:
        self._check_entries(rows)
        if self.method == "rejection":
            beyond = np.flatnonzero(_largest_features(rows, self.columns_) > self.bounds_)
            if len(beyond):
                raise ValueError(
                    f"WeightedMinHash with method='rejection' takes rows within the bounds seen in fit. Got a larger value in "
                    f"column {beyond[0] % rows.n_columns}. Fit on more rows, or use method='icws'."
                )

    def _check_entries(self, rows: Rows) -> None:
        if self.center_ and rows.is_sparse:
            raise bad_parameter("WeightedMinHash", "center", "False for sparse rows (centring fills in the zeros)", True)
        if not self.signed_ and has_negative(rows):
            value, row, column = smallest_entry(rows)
            raise ValueError(
                f"WeightedMinHash takes entries ≥ 0, or any with signed=True. Got {value} in row {row}, column {column}."
            )

    def _hash(self, rows: Rows, begin: int, end: int, out: np.ndarray) -> None:
        if self.method == "icws":
            work = ICWSWork.empty(self.n_features_in_, self.n_functions)
            _hash_icws(rows.arrays, self.columns_, self.functions_, self.n_bits, work, begin, end, out)
            return
        missed = _hash_darts(rows.arrays, self.columns_, self.functions_, self.n_bits, begin, end, out)
        if missed >= 0:
            raise ValueError(
                f"WeightedMinHash with method='rejection' takes rows that fill part of their bounds. Row {missed} was "
                f"not hit by {_MOST_DARTS} darts. Use method='icws'."
            )


def _largest_features(rows: Rows, features: FeatureMap) -> np.ndarray:
    """The largest value of each feature, at least 0. It belongs to the largest or smallest entry of a column."""
    high = np.maximum((rows.summary.most - features.origin) * features.scale, 0.0)
    if not features.signed:
        return high
    low = np.minimum((rows.summary.least - features.origin) * features.scale, 0.0)
    return np.concatenate([high, -low])
