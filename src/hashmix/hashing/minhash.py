"""Weighted MinHash: rows with similar non-negative features share hashes, with the probability of weighted Jaccard.

A hash is the first dart (feature j, height y) of an endless random sequence that falls under the row, y ≤ x_j. Two rows
share it exactly when that dart is the same. Two ways to find it are here, both exact: consistent weighted sampling
(Ioffe), and rejection sampling under known bounds (Shrivastava).
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from hashmix.compiling import borrowed, helper, hot_helper, kernel
from hashmix.hashing.counter import address, uniform_at
from hashmix.hashing.family import HashFamily
from hashmix.hashing.rows import (
    DenseRows,
    FeatureMap,
    SparseRows,
    column_map,
    feature_value,
    n_columns,
    nonzeros,
    smallest_entry,
)
from hashmix.rng import mix
from hashmix.validation import bad_parameter, check_choice, check_flag, check_scale

__all__ = ["ICWS", "ZERO_CODE", "WeightedMinHash", "icws_codes"]

#: The code of rows without a positive feature: a bucket of their own.
ZERO_CODE = np.uint64(0)
#: Draws of this many (feature, function) pairs are kept; beyond, they are drawn again for each row.
_MOST_KEPT = 4_000_000
#: A row that no dart of so many hits cannot be hashed by rejection.
_MOST_DARTS = 1_000_000
_KEPT_DARTS = 256


class ICWS(NamedTuple):
    """Consistent weighted samplers: r, log c − r and b of every (feature, function), or empty arrays to draw them anew."""

    key: np.uint64
    n_functions: int
    r: np.ndarray
    log_c_less_r: np.ndarray
    b: np.ndarray


class ICWSWork(NamedTuple):
    """Room for one row: its non-zeros, and the best dart so far of every function."""

    columns: np.ndarray
    values: np.ndarray
    best: np.ndarray
    best_feature: np.ndarray
    best_level: np.ndarray

    @classmethod
    def empty(cls, n_features: int, n_functions: int) -> ICWSWork:
        """Room for rows of up to ``n_features`` non-zeros."""
        return cls(
            np.empty(n_features, np.int64),
            np.empty(n_features),
            np.empty(n_functions),
            np.empty(n_functions, np.int64),
            np.empty(n_functions),
        )


class Darts(NamedTuple):
    """Darts uniform under bounds: where features' intervals end, and the first darts of every function."""

    key: np.uint64
    ends: np.ndarray
    features: np.ndarray
    heights: np.ndarray


# ---- consistent weighted sampling ----------------------------------------------------------------------------------------


@hot_helper
def _icws_draw(key, function, feature):
    """Draws r ~ Gamma(2, 1); log c − r with c ~ Gamma(2, 1); b uniform: what one function knows of one feature."""
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
    """A code, and one more hash (feature, level) of the row, in 64 bits."""
    word = mix(code ^ mix(np.uint64(np.int64(feature)) + np.uint64(1)) + np.uint64(np.int64(level)))
    return word if word != ZERO_CODE else np.uint64(1)


@helper
def icws_codes(samplers, n_bits, work, found, codes, i):
    """Codes, into column i, of the row whose ``found`` non-zeros are in ``work``.

    For every function and non-zero: t = ⌊ln x / r + b⌋, ln y = r (t − b), ln a = ln c − ln y − r; the hash is the feature
    of the least a, and its t.
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
    """Dart number … of a function: its feature and its height."""
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
    """Codes of rows begin … end − 1; the first row that no dart hits stops it and is returned, or −1."""
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


class WeightedMinHash(HashFamily):
    """Weighted MinHash: rows x, y ≥ 0 share a hash with probability Σ min(x_j, y_j) / Σ max(x_j, y_j).

    Any number of rows share one hash with probability Σ_j min / Σ_j max over all of them. A row has the same hashes
    whether it comes dense or sparse; rows without a positive feature share a code of their own, 0.

    Parameters
    ----------
    n_bits : int, default=1
        Hashes concatenated in a code, 1 to 64: codes agree with the probability above to that power.
    n_tables : int, default=1
        Codes per row.
    method : {"icws", "rejection"}, default="icws"
        Consistent weighted sampling: every non-zero is looked at once per hash. Or rejection: darts are thrown under the
        largest value seen in each column until one falls under the row, which for dense rows takes a few tests whatever
        the number of columns; rows to hash later must stay within those bounds, and fill more than about a 10⁻⁵ of them.
    signed : bool, default=False
        Hash the sign split of rows (:func:`hashmix.hashing.sign_split`), which takes negative entries.
    center : bool, default=False
        Subtract the columns' means (needs ``signed``; not for sparse rows).
    scale : {False, True, "idf"}, default=False
        Divide by the columns' standard deviations: on signed data the similarity depends on origin and units. Or weigh words
        by how few rows have them (see :class:`SignProjection`).
    random_state : None, int, SeedSequence, Generator or RandomState
        Where the functions come from.

    Examples
    --------
    >>> import numpy as np, hashmix as hm
    >>> X = np.array([[1.0, 2.0, 0.0], [1.0, 2.0, 0.0], [0.0, 0.0, 5.0]])
    >>> codes = hm.hashing.WeightedMinHash(random_state=0).fit(X).codes(X)[0]
    >>> bool(codes[0] == codes[1]), bool(codes[0] == codes[2])
    (True, False)
    """

    def __init__(
        self,
        n_bits: int = 1,
        n_tables: int = 1,
        method: str = "icws",
        signed: bool = False,
        center: bool = False,
        scale: bool | str = False,
        random_state: Any = None,
    ) -> None:
        super().__init__(n_bits, n_tables, random_state)
        self.method = check_choice(type(self).__name__, "method", method, ["icws", "rejection"])
        owner = type(self).__name__
        self.signed, self.center = check_flag(owner, "signed", signed), check_flag(owner, "center", center)
        self.scale = check_scale(owner, scale)
        if center and not signed:
            raise bad_parameter(
                type(self).__name__, "signed", "True when center is (centred data have negative entries)", signed
            )

    def _fit_columns(self, rows: DenseRows | SparseRows) -> None:
        self._check_entries(rows)
        self.columns_: FeatureMap = column_map(rows, self.center, self.scale, self.signed)
        if self.method == "rejection":
            self.bounds_ = _largest_features(rows, self.columns_)
            if self.bounds_.max() > np.finfo(np.float64).max / len(self.bounds_):
                raise ValueError("X must hold numbers whose sum is finite. Its columns are too large for method='rejection'.")

    def _draw_functions(self, rows: DenseRows | SparseRows) -> None:
        n_features = self.n_features_in_ * (2 if self.signed else 1)
        if self.method == "rejection":
            ends = np.cumsum(self.bounds_)
            shape = (self.n_functions, min(_KEPT_DARTS, 1 + _MOST_KEPT // self.n_functions))
            self.functions_: Any = Darts(self.key_, ends, np.zeros(shape, np.int64), np.zeros(shape))
            if ends[-1] > 0.0:
                _keep_darts(*self.functions_)
            return
        shape = (n_features if n_features * self.n_functions <= _MOST_KEPT else 0, self.n_functions)
        self.functions_ = ICWS(self.key_, self.n_functions, np.empty(shape), np.empty(shape), np.empty(shape))
        _keep_draws(self.key_, 0, shape[0], *self.functions_[2:])

    def _check(self, rows: DenseRows | SparseRows) -> None:
        self._check_entries(rows)
        if self.method == "rejection":
            beyond = np.flatnonzero(_largest_features(rows, self.columns_) > self.bounds_)
            if len(beyond):
                raise ValueError(
                    f"WeightedMinHash with method='rejection' takes rows within the bounds seen in fit. Got a larger value in "
                    f"column {beyond[0] % n_columns(rows)}; fit on more rows, or take method='icws'."
                )

    def _check_entries(self, rows: DenseRows | SparseRows) -> None:
        if self.center and isinstance(rows, SparseRows):
            raise bad_parameter("WeightedMinHash", "center", "False for sparse rows (centring fills in the zeros)", True)
        if not self.signed:
            value, row, column = smallest_entry(rows)
            if value < 0.0:
                raise ValueError(
                    f"WeightedMinHash takes entries ≥ 0, or any with signed=True. Got {value} in row {row}, column {column}."
                )

    def _hash(self, rows: DenseRows | SparseRows, begin: int, end: int, out: np.ndarray) -> None:
        if self.method == "icws":
            work = ICWSWork.empty(self.n_features_in_, self.n_functions)
            _hash_icws(rows, self.columns_, self.functions_, self.n_bits, work, begin, end, out)
            return
        missed = _hash_darts(rows, self.columns_, self.functions_, self.n_bits, begin, end, out)
        if missed >= 0:
            raise ValueError(
                f"WeightedMinHash with method='rejection' takes rows that fill some of their bounds. Row {missed} was "
                f"not hit by {_MOST_DARTS} darts; take method='icws'."
            )


def _largest_features(rows: DenseRows | SparseRows, features: FeatureMap) -> np.ndarray:
    """The largest value of every feature, which is the feature of a column's largest (or smallest) entry, and at least 0."""
    high = np.maximum((_extreme_entries(rows, np.maximum) - features.origin) * features.scale, 0.0)
    if not features.signed:
        return high
    low = np.minimum((_extreme_entries(rows, np.minimum) - features.origin) * features.scale, 0.0)
    return np.concatenate([high, -low])


def _extreme_entries(rows: DenseRows | SparseRows, extreme: np.ufunc) -> np.ndarray:
    """The largest or smallest entry of every column; of sparse rows, and zero."""
    if not isinstance(rows, SparseRows):
        return extreme.reduce(rows.values, axis=0).astype(np.float64)
    out = np.zeros(rows.n_features)
    extreme.at(out, rows.columns, rows.values)
    return out
