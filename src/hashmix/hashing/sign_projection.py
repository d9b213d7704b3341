"""Sign random projections: rows in similar directions share bits."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numba import types
from numba.extending import intrinsic

from hashmix.core.compiling import borrowed, helper, kernel
from hashmix.core.counter import address, uniform_at
from hashmix.core.rng import numpy_generator
from hashmix.core.validation import bad_parameter
from hashmix.data.rows import Rows
from hashmix.hashing.codes import CodeFamily
from hashmix.hashing.family import in_threads
from hashmix.hashing.features import as_row_pair, check_scaling, column_map, standard_scale

__all__ = ["SignProjection", "hamming", "sign_collision_probability"]

#: Medians are computed from at most this many rows.
_MEDIAN_ROWS = 10_000
#: Features whose weights one thread draws per task.
_WEIGHT_BLOCK = 1000
#: Bytes per page of memory.
_PAGE = 4096


@intrinsic
def _fma(typing_context, a, b, c):
    """a·b + c with one rounding: the same on every machine, however the compiler transforms the loop around it."""

    def generate(context, builder, signature, arguments):
        return builder.fma(*arguments)

    return types.float64(types.float64, types.float64, types.float64), generate


@helper
def _pack_signs(sums, n_bits, i, codes):
    """Pack the signs of the projections of row i into its codes."""
    h = 0
    for table in range(codes.shape[0]):
        code = np.uint64(0)
        for bit in range(n_bits):
            code |= np.uint64(sums[h + bit] >= 0.0) << np.uint64(n_bits - 1 - bit)
        h += n_bits
        codes[table, i] = code


@kernel
def _draw_normals(key, weights, begin, end):
    """Draw standard normal weights of features begin … end − 1 (Box–Muller), each from its own address (h, j)."""
    for j in range(begin, end):
        for h in range(weights.shape[1]):
            place = address(key, h, j)
            radius = math.sqrt(-2.0 * math.log(uniform_at(place, 0)))
            weights[j, h] = radius * math.cos(2.0 * math.pi * uniform_at(place, 1))


@kernel
def _hash_dense(rows, weights, start, sums, n_bits, begin, end, codes):
    """Compute codes of rows begin … end − 1; ``sums`` are buffers for the projections of four rows.

    Four rows are processed together to load each weight once. Each sum adds the features in order and rounds once per
    feature. Zero entries therefore change nothing, and the result depends on the row alone.
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
    """Compute codes of sparse rows: the sums of :func:`_hash_dense` over the non-zero entries."""
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


def _page_aligned(n: int, m: int) -> np.ndarray:
    """An n × m float64 matrix, not initialised, that begins at a page boundary.

    A processor delays a load if its address equals that of a recent store modulo the page size (4K aliasing). Hashing takes
    up to twice as long if weights and sums are at arbitrary addresses. It does not if both begin at page boundaries.
    """
    buffer = np.empty(8 * n * m + _PAGE, np.uint8)
    begin = -buffer.ctypes.data % _PAGE
    return buffer[begin : begin + 8 * n * m].view(np.float64).reshape(n, m)


class SignProjection(CodeFamily):
    """Sign random projections: bit h of a row x is the sign of w_h · (x − centre), with Gaussian w_h.

    Let θ be the angle between two rows, seen from the centre. They share a bit with probability 1 − θ/π, and a code with
    probability (1 − θ/π)^n_bits. A row shares the code of the opposite of the other with probability (θ/π)^n_bits: a look-up
    of the :meth:`opposite` code finds dissimilar rows.

    A code depends on the row and the functions alone. The number of threads and the storage of the row, dense or sparse, do
    not change it. If data are not centred, all bits of a row of zeros are set. If they are, the bits of a row at the centre
    are determined by rounding errors.

    Parameters
    ----------
    n_bits : int, default=10
        Bits per code, 1 to 64.
    n_tables : int, default=10
        Codes per row.
    center : {None, "mean", "median", "rows"}, default="mean"
        The value that projections are compared with:

        - None: zero. Rows far from the origin then all have the same code.
        - "mean": the projection of the mean row.
        - "median": the median projection, over at most 10,000 rows. Each bit divides the data in half.
        - "rows": the projection of a random row, drawn for each bit. Codes then depend on location, not on direction alone.
    scale : {False, True, "idf", "auto"}, default=False
        Scaling of the columns:

        - True: divide by standard deviations. Units then do not matter.
        - "idf": multiply by inverse document frequencies, log(1 + n / df). Common words then matter little.
        - "auto": "idf" for sparse rows, True for dense rows.
    random_state : None, int, SeedSequence, Generator or RandomState
        Source of the functions.

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

    scale: bool | str
    scale_: bool | str
    columns_: Any
    offsets_: np.ndarray

    def __init__(
        self,
        n_bits: int = 10,
        n_tables: int = 10,
        center: str | None = "mean",
        scale: bool | str = False,
        random_state: Any = None,
    ) -> None:
        super().__init__(n_bits, n_tables, random_state)
        owner = type(self).__name__
        if center not in (None, "mean", "median", "rows"):
            raise bad_parameter(owner, "center", "None, 'mean', 'median' or 'rows'", center)
        self.center, self.scale = center, check_scaling(owner, scale)

    def _fit_columns(self, rows: Rows) -> None:
        self.scale_ = standard_scale(rows) if self.scale == "auto" else self.scale
        self.columns_ = column_map(rows, center=self.center == "mean", scale=self.scale_)

    def _draw_functions(self, rows: Rows) -> None:
        d = rows.n_columns
        weights = _page_aligned(d, self.n_functions)
        in_threads(
            lambda j: _draw_normals(self.key_, weights, j, min(j + _WEIGHT_BLOCK, d)),
            range(0, d, _WEIGHT_BLOCK),
        )
        weights *= self.columns_.scale[:, None]
        self.weights_ = weights
        self.offsets_ = self.columns_.origin @ weights
        if self.center == "median":
            self.offsets_ = np.median(_spaced_rows(rows).matrix() @ weights, axis=0)
        elif self.center == "rows":
            chosen = numpy_generator(int(self.key_), 1).integers(rows.n_rows, size=self.n_functions)
            self.offsets_ = np.diagonal(rows.take(chosen).matrix() @ weights)

    def _hash(self, rows: Rows, begin: int, end: int, out: np.ndarray) -> None:
        run = _hash_sparse if rows.is_sparse else _hash_dense
        run(rows.arrays, self.weights_, -self.offsets_, _page_aligned(4, self.n_functions), self.n_bits, begin, end, out)

    def opposite(self, codes: np.ndarray) -> np.ndarray:
        """The codes of rows reflected in the centre: all bits are flipped.

        Examples
        --------
        >>> import hashmix as hm
        >>> hm.hashing.SignProjection(n_bits=4).opposite([0b0101])
        array([10], dtype=uint64)
        """
        return _as_codes(codes, "codes", "opposite") ^ np.uint64((1 << self.n_bits) - 1)


def _spaced_rows(rows: Rows) -> Rows:
    """At most ``_MEDIAN_ROWS`` rows, evenly spaced."""
    n = rows.n_rows
    return rows if n <= _MEDIAN_ROWS else rows.take(np.linspace(0, n - 1, _MEDIAN_ROWS).astype(np.int64))


@kernel
def _popcounts(words):
    out = np.empty(len(words), np.int64)
    for i in range(len(words)):
        word, count = words[i], 0
        while word != np.uint64(0):  # compiled to one popcount instruction
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
    """Number of bits that differ between codes, elementwise.

    Parameters
    ----------
    codes, others : integers ≥ 0 or arrays of them
        Shapes that broadcast.

    Returns
    -------
    int64 array

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
    """Probability that two rows share the bit of a sign projection without centring: 1 − θ/π.

    Parameters
    ----------
    x, y : array or sparse matrix
        One row each, not zero.

    Examples
    --------
    >>> from hashmix.hashing import sign_collision_probability
    >>> round(sign_collision_probability([1.0, 0.0], [1.0, 1.0]), 12)
    0.75
    """
    rows = as_row_pair(x, y, "sign_collision_probability").values.astype(np.float64)
    largest = abs(rows).max(axis=1)
    if (largest == 0.0).any():
        raise ValueError("sign_collision_probability needs two rows that are not zero: a zero row has no direction.")
    x, y = rows / largest[:, None]  # avoids overflow in the norms
    cosine = float(x @ y / (np.linalg.norm(x) * np.linalg.norm(y)))
    return 1.0 - math.acos(min(1.0, max(-1.0, cosine))) / math.pi
