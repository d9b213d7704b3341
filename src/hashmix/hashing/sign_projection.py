"""Sign random projections: rows in a similar direction share bits."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numba import types
from numba.extending import intrinsic
from scipy.sparse import csr_matrix

from hashmix.compiling import borrowed, helper, kernel
from hashmix.hashing.counter import address, uniform_at
from hashmix.hashing.family import HashFamily, in_threads
from hashmix.hashing.rows import DenseRows, SparseRows, as_row_pair, column_map, n_rows
from hashmix.rng import numpy_generator
from hashmix.validation import bad_parameter, check_scale

__all__ = ["SignProjection", "hamming", "sign_collision_probability"]

#: Rows that medians are taken of.
_MEDIAN_ROWS = 10_000
_PAGE = 4096


@intrinsic
def _fma(typing_context, a, b, c):
    """a·b + c rounded once: the same on every machine, whatever the compiler makes of the loop around it."""

    def generate(context, builder, signature, arguments):
        return builder.fma(*arguments)

    return types.float64(types.float64, types.float64, types.float64), generate


@helper
def _pack_signs(sums, n_bits, i, codes):
    """The signs of one row's projections as its codes."""
    h = 0
    for table in range(codes.shape[0]):
        code = np.uint64(0)
        for bit in range(n_bits):
            code |= np.uint64(sums[h + bit] >= 0.0) << np.uint64(n_bits - 1 - bit)
        h += n_bits
        codes[table, i] = code


@kernel
def _draw_normals(key, weights, begin, end):
    """Standard normal weights of features begin … end − 1, (d, n_functions), each known by its own address."""
    for j in range(begin, end):
        for h in range(weights.shape[1]):
            place = address(key, h, j)
            radius = math.sqrt(-2.0 * math.log(uniform_at(place, 0)))
            weights[j, h] = radius * math.cos(2.0 * math.pi * uniform_at(place, 1))


@kernel
def _hash_dense(rows, weights, start, sums, n_bits, begin, end, codes):
    """Codes of rows begin … end − 1; ``sums`` is room for four rows of projections.

    Four rows share every weight that is read. Each sum runs through the features in order and rounds once a step, so that
    a zero entry changes nothing, and neither does anything else but the row.
    """
    X, weights, start = borrowed(rows.values), borrowed(weights), borrowed(start)
    sums, codes = borrowed(sums), borrowed(codes)
    d, n_functions = weights.shape
    f8 = np.float64
    s0, s1, s2, s3 = sums[0], sums[1], sums[2], sums[3]
    for i in range(begin, end, 4):
        i1, i2, i3 = min(i + 1, end - 1), min(i + 2, end - 1), min(i + 3, end - 1)
        for h in range(n_functions):
            s0[h] = start[h]
            s1[h] = start[h]
            s2[h] = start[h]
            s3[h] = start[h]
        j = 0
        while j + 4 <= d:
            x00, x01, x02, x03 = f8(X[i, j]), f8(X[i, j + 1]), f8(X[i, j + 2]), f8(X[i, j + 3])
            x10, x11, x12, x13 = f8(X[i1, j]), f8(X[i1, j + 1]), f8(X[i1, j + 2]), f8(X[i1, j + 3])
            x20, x21, x22, x23 = f8(X[i2, j]), f8(X[i2, j + 1]), f8(X[i2, j + 2]), f8(X[i2, j + 3])
            x30, x31, x32, x33 = f8(X[i3, j]), f8(X[i3, j + 1]), f8(X[i3, j + 2]), f8(X[i3, j + 3])
            w0, w1, w2, w3 = weights[j], weights[j + 1], weights[j + 2], weights[j + 3]
            for h in range(n_functions):
                v0, v1, v2, v3 = w0[h], w1[h], w2[h], w3[h]
                s0[h] = _fma(x03, v3, _fma(x02, v2, _fma(x01, v1, _fma(x00, v0, s0[h]))))
                s1[h] = _fma(x13, v3, _fma(x12, v2, _fma(x11, v1, _fma(x10, v0, s1[h]))))
                s2[h] = _fma(x23, v3, _fma(x22, v2, _fma(x21, v1, _fma(x20, v0, s2[h]))))
                s3[h] = _fma(x33, v3, _fma(x32, v2, _fma(x31, v1, _fma(x30, v0, s3[h]))))
            j += 4
        while j < d:
            x0, x1, x2, x3, w0 = f8(X[i, j]), f8(X[i1, j]), f8(X[i2, j]), f8(X[i3, j]), weights[j]
            for h in range(n_functions):
                s0[h] = _fma(x0, w0[h], s0[h])
                s1[h] = _fma(x1, w0[h], s1[h])
                s2[h] = _fma(x2, w0[h], s2[h])
                s3[h] = _fma(x3, w0[h], s3[h])
            j += 1
        for r in range(min(4, end - i)):
            _pack_signs(sums[r], n_bits, i + r, codes)


@kernel
def _hash_sparse(rows, weights, start, sums, n_bits, begin, end, codes):
    """Codes of sparse rows: the sums of :func:`_hash_dense` over the non-zeros."""
    values, columns, begins = borrowed(rows.values), borrowed(rows.columns), borrowed(rows.begins)
    weights, start, sums, codes = borrowed(weights), borrowed(start), borrowed(sums), borrowed(codes)
    n_functions = weights.shape[1]
    s0 = sums[0]
    for i in range(begin, end):
        for h in range(n_functions):
            s0[h] = start[h]
        for at in range(begins[i], begins[i + 1]):
            x, w = np.float64(values[at]), weights[columns[at]]
            for h in range(n_functions):
                s0[h] = _fma(x, w[h], s0[h])
        _pack_signs(s0, n_bits, i, codes)


def _from_a_page(n: int, m: int) -> np.ndarray:
    """Room for an n × m matrix that begins with a page of memory.

    A processor takes a read for that of a word just written when both lie equally far into their pages, and waits. With
    weights and sums anywhere, hashing takes up to twice as long; with both at the beginning of a page, it does not.
    """
    room = np.empty(8 * n * m + _PAGE, np.uint8)
    begin = -room.ctypes.data % _PAGE
    return room[begin : begin + 8 * n * m].view(np.float64).reshape(n, m)


class SignProjection(HashFamily):
    """Sign random projections: bit h of a row x is the sign of w_h · (x − centre), with Gaussian w_h.

    Two rows at an angle θ seen from the centre share a bit with probability 1 − θ/π, and a code of ``n_bits`` bits with
    (1 − θ/π)^n_bits. A row shares a code with the opposite of another with (θ/π)^n_bits: :meth:`opposite` turns a query
    for similar rows into one for dissimilar ones.

    Without centring, a row of zeros has all its bits set; which bits a row at the centre has is a matter of rounding.

    Each projection adds up the features in order and zeros change nothing, so a code depends on the row and the functions
    alone: not on threads, nor on whether the row came dense or sparse.

    Parameters
    ----------
    n_bits : int, default=10
        Bits in a code, 1 to 64.
    n_tables : int, default=10
        Codes per row.
    center : {None, "mean", "median", "rows"}, default="mean"
        What projections are compared with: zero, the projection of the data's mean, the median of the projections of the
        data (of at most 10,000 rows), which halves the data with every bit, or the projection of a random row, another
        one for every bit: codes then tell rows apart by where they are, not by their direction alone. Without centring,
        data far from the origin all have the same code.
    scale : {False, True, "idf"}, default=False
        Whether columns are divided by their standard deviations first, so that units do not matter; or, for counts of words,
        multiplied by the logarithm of 1 + n / (rows that have the word), so that common words matter little.
    random_state : None, int, SeedSequence, Generator or RandomState
        Where the functions come from.

    Examples
    --------
    >>> import numpy as np, hashmix as hm
    >>> X = np.array([[3.0, 0.1], [3.0, 0.0], [-3.0, 0.2], [-3.0, -0.3]])
    >>> family = hm.hashing.SignProjection(n_bits=16, n_tables=1, random_state=0).fit(X)
    >>> codes = family.codes(X)[0]
    >>> distances = hm.hashing.hamming(codes, codes[0])
    >>> bool(distances[1] < 4 < 12 < distances[2])
    True
    """

    def __init__(
        self,
        n_bits: int = 10,
        n_tables: int = 10,
        center: str | None = "mean",
        scale: bool | str = False,
        random_state: Any = None,
    ) -> None:
        super().__init__(n_bits, n_tables, random_state)
        if center not in (None, "mean", "median", "rows"):
            raise bad_parameter(type(self).__name__, "center", "None, 'mean', 'median' or 'rows'", center)
        self.center, self.scale = center, check_scale(type(self).__name__, scale)

    def _fit_columns(self, rows: DenseRows | SparseRows) -> None:
        self.columns_ = column_map(rows, self.center == "mean", self.scale, False)

    def _draw_functions(self, rows: DenseRows | SparseRows) -> None:
        weights = _from_a_page(self.n_features_in_, self.n_functions)
        d = self.n_features_in_
        in_threads(lambda j: _draw_normals(self.key_, weights, j, min(j + 1000, d)), range(0, d, 1000))
        weights *= self.columns_.scale[:, None]
        self.weights_ = weights
        offsets = self.columns_.origin @ weights
        if self.center == "median":
            offsets = np.median(_some_rows(rows) @ weights, axis=0)
        elif self.center == "rows":
            chosen = numpy_generator(int(self.key_), 1).integers(n_rows(rows), size=self.n_functions)
            offsets = np.diagonal(_take_rows(rows, chosen) @ weights)
        self.offsets_ = offsets

    def _check(self, rows: DenseRows | SparseRows) -> None:
        pass

    def _hash(self, rows: DenseRows | SparseRows, begin: int, end: int, out: np.ndarray) -> None:
        run = _hash_sparse if isinstance(rows, SparseRows) else _hash_dense
        run(rows, self.weights_, -self.offsets_, _from_a_page(4, self.n_functions), self.n_bits, begin, end, out)

    def opposite(self, codes: np.ndarray) -> np.ndarray:
        """The codes of the rows reflected in the centre: every bit turned."""
        return _as_codes(codes, "codes", "opposite") ^ np.uint64((1 << self.n_bits) - 1)


def _some_rows(rows: DenseRows | SparseRows) -> Any:
    """At most ``_MEDIAN_ROWS`` rows, evenly spaced."""
    return _take_rows(rows, np.linspace(0, n_rows(rows) - 1, min(n_rows(rows), _MEDIAN_ROWS)).astype(np.int64))


def _take_rows(rows: DenseRows | SparseRows, chosen: np.ndarray) -> Any:
    if isinstance(rows, SparseRows):
        matrix = csr_matrix((rows.values, rows.columns, rows.begins), shape=(n_rows(rows), rows.n_features))
        return matrix[chosen]
    return rows.values[chosen]


@kernel
def _popcounts(words):
    out = np.empty(len(words), np.int64)
    for i in range(len(words)):
        word, count = words[i], 0
        while word != np.uint64(0):  # the compiler knows this loop as the processor's popcount
            word &= word - np.uint64(1)
            count += 1
        out[i] = count
    return out


def _as_codes(codes: Any, name: str, owner: str) -> np.ndarray:
    array = np.asarray(codes) if np.size(codes) else np.empty(0, np.uint64)
    if array.dtype.kind not in "ui" or (array.dtype.kind == "i" and array.size and array.min() < 0):
        raise bad_parameter(owner, name, "integers ≥ 0", codes)
    return array.astype(np.uint64, copy=False)


def hamming(codes: Any, others: Any) -> np.ndarray:
    """How many bits differ between codes, elementwise.

    Examples
    --------
    >>> import numpy as np
    >>> from hashmix.hashing import hamming
    >>> hamming(np.array([0b1011, 0b1000], dtype=np.uint64), np.uint64(0b1110))
    array([2, 2])
    """
    words = np.bitwise_xor(_as_codes(codes, "codes", "hamming"), _as_codes(others, "others", "hamming"))
    return _popcounts(words.ravel()).reshape(words.shape)


def sign_collision_probability(x: Any, y: Any) -> float:
    """Probability that a sign projection gives two (centred) rows the same bit: 1 − θ/π.

    Examples
    --------
    >>> from hashmix.hashing import sign_collision_probability
    >>> round(sign_collision_probability([1.0, 0.0], [1.0, 1.0]), 12)
    0.75
    """
    rows = as_row_pair(x, y, "sign_collision_probability").astype(np.float64)
    largest = abs(rows).max(axis=1)
    if (largest == 0.0).any():
        raise ValueError("sign_collision_probability needs two rows that are not zero: a zero row has no direction.")
    x, y = rows / largest[:, None]
    cosine = float(x @ y / (np.linalg.norm(x) * np.linalg.norm(y)))
    return 1.0 - math.acos(min(1.0, max(-1.0, cosine))) / math.pi
