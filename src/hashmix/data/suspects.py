"""Cells that may stand for a blank: -999 in a column of ages, or one cell of 10⁹ among numbers near 1."""

from __future__ import annotations

import warnings
from collections.abc import Sequence

import numpy as np

from hashmix.core.wording import counted
from hashmix.data.mixed import MixedRows
from hashmix.data.rows import DenseRows, Rows, extreme_cells

__all__ = ["SuspiciousCells", "suspicious_cells", "warn_of_cells"]

#: A code is far from the other values of its column if the gap is more than so many deviations of their bulk.
_FAR = 10.0
#: A column with fewer other values than this is too short to say what is far.
_FEW = 4
#: A column with more codes than this holds powers of ten.
_MOST_CODES = 2
_LIMITS = {2.0**bits - one for bits in (15, 16, 31, 32, 63) for one in (0, 1)}


class SuspiciousCells(UserWarning):
    """Some cells look as if they stood for a blank."""


def warn_of_cells(rows: Rows, names: Sequence[str | int]) -> None:
    """Warn of cells that may stand for a blank, one warning per column; sparse rows are not looked at.

    Examples
    --------
    >>> import numpy as np
    >>> from hashmix.data.rows import as_dense
    >>> from hashmix.data.suspects import warn_of_cells
    >>> warn_of_cells(as_dense(np.eye(9)), "abcdefghi")
    """
    if isinstance(rows, DenseRows):
        for sentence in suspicious_cells(rows, names):
            warnings.warn(sentence, SuspiciousCells, stacklevel=4)


def suspicious_cells(rows: DenseRows, names: Sequence[str | int], remedy: str = "replace it by NaN") -> list[str]:
    """Describe cells that may stand for a blank, a sentence for every column that has such.

    These are values that people and programs use as codes (9999, -99, 10⁹, limits of integers) far outside the other values of
    the column, or, if there are several, the only negative ones; and a few cells extremely far outside.

    Parameters
    ----------
    rows : DenseRows or MixedRows
    names : sequence of str or int
        Names of the columns, or their numbers.
    remedy : str
        What to do about a code; ``{code}`` in it is replaced by the code.

    Examples
    --------
    >>> import numpy as np
    >>> from hashmix.data.rows import as_dense
    >>> from hashmix.data.suspects import suspicious_cells
    >>> ages = np.array([31, -999, 28, 45, 67, -999, 52])
    >>> print(*suspicious_cells(as_dense(ages[:, None]), ["age"]))
    Column 'age' holds -999 in 2 cells, far from its other values (28 to 67). If it stands for a blank, replace it by NaN.
    """
    least, most = rows.summary.least, rows.summary.most
    numbers = [column.kind in ("numeric", "count") for column in rows.columns] if isinstance(rows, MixedRows) else None
    found: dict[int, str] = {}
    # A code outside the other values is the least or the largest one: other columns need not be read.
    for j in np.flatnonzero(_are_codes(least) | _are_codes(most)).tolist():
        if numbers is None or numbers[j]:
            column = rows.values[:, j]
            sentences = [
                f"Column {names[j]!r} holds {code:.15g} in {counted(n, 'cell')}, far from its other values "
                f"({low:.6g} to {high:.6g}). If it stands for a blank, {remedy.format(code=f'{code:.15g}')}."
                for code, n, low, high in _far_codes(column[~np.isnan(column)].astype(np.float64))
            ]
            if sentences:
                found[j] = " ".join(sentences)
    if not isinstance(rows, MixedRows):
        for j, low, middle, high, _ in extreme_cells(rows.values, rows.summary):
            row = int(np.argmax(np.abs(rows.values[:, j] - middle)))
            found.setdefault(
                j,
                f"Column {names[j]!r} has the value {rows.values[row, j]:g} in row {row}, where four rows in five lie between "
                f"{low:.3g} and {high:.3g}: remove it if it stands for a missing value.",
            )
    return [found[j] for j in sorted(found)]


def _are_codes(values: np.ndarray) -> np.ndarray:
    """Which numbers people and programs write for a blank: two nines or more, large powers of ten, limits of integers."""
    sizes = np.abs(np.asarray(values, np.float64))
    with np.errstate(divide="ignore", over="ignore"):
        digits = np.rint(np.log10(sizes + 1.0))
        nines = (sizes == 10.0**digits - 1.0) & (digits >= 2)
        powers = np.isclose(sizes, 10.0 ** np.rint(np.log10(sizes)), rtol=1e-6, atol=0.0) & (sizes >= 1e6)  # float32 rounds
    return nines | powers | np.isin(sizes, list(_LIMITS))


def _far_codes(column: np.ndarray) -> list[tuple[float, int, float, float]]:
    """Codes far outside the other values of a column: the code, in how many cells, and the range of the others."""
    values, counts = np.unique(column, return_counts=True)
    codes = _are_codes(values)
    others = np.repeat(values[~codes], counts[~codes])
    if len(others) < _FEW or others[0] == others[-1]:
        return []
    low, high = others[0], others[-1]
    with np.errstate(over="ignore", invalid="ignore"):
        tenth, last_tenth = np.percentile(others, [10.0, 90.0])
        deviation = (last_tenth - tenth) / 2.563 or others.std()
    found = []
    for code, n in zip(values[codes].tolist(), counts[codes].tolist(), strict=True):
        gap = max(low - code, code - high)
        # Tails are heavy: a single cell must be further away than the others are from each other.
        far = gap > _FAR * deviation and (n > 1 or gap > high - low)
        if far or (n > 1 and code < 0.0 <= low):
            found.append((code, n, float(low), float(high)))
    return found if len(found) <= _MOST_CODES else []
