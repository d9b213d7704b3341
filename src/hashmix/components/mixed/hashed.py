"""Mixed columns as hashing sees them: numbers only, none of them blank."""

from __future__ import annotations

import numpy as np

from hashmix.components.mixed.kernels import CATEGORY, COUNT
from hashmix.data.mixed import MixedRows
from hashmix.data.rows import DenseRows

__all__ = ["hashed_columns"]

#: A column of more categories than this has codes of so many random signs instead of one coordinate per category.
_MOST_COORDINATES = 16


def hashed_columns(rows: MixedRows, kinds: np.ndarray) -> DenseRows:
    """Standardised numbers, roots of counts, and coordinates of categories; a blank is at the mean of its column.

    Two different categories are at a distance of 1, a number and another at that in standard deviations. Hashing may use any
    coordinates that do not depend on the partition.
    """
    parts = []
    for j, kind in enumerate(kinds):
        column = rows.values[:, j]
        seen = ~np.isnan(column)
        if kind == CATEGORY:
            codes = _codes(int(rows.levels[j]), j)
            parts.append(np.zeros((rows.n_rows, codes.shape[1])))
            parts[-1][seen] = codes[column[seen].astype(np.int64)]
        else:
            x = np.sqrt(column[seen]) if kind == COUNT else column[seen]
            parts.append(np.zeros((rows.n_rows, 1)))
            if len(x):
                parts[-1][seen, 0] = (x - x.mean()) / max(x.std(), 1e-300)
    return DenseRows(np.concatenate(parts, axis=1))


def _codes(levels: int, j: int) -> np.ndarray:
    """Coordinates of every category of column j: different ones are at a distance of 1, or nearly."""
    if levels <= _MOST_COORDINATES:
        return np.eye(levels) / np.sqrt(2.0)
    signs = np.random.default_rng(j).choice([-1.0, 1.0], (levels, _MOST_COORDINATES))
    return signs / np.sqrt(2.0 * _MOST_COORDINATES)
