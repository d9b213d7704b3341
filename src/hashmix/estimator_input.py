"""What an estimator is given: arrays, sparse matrices or frames, checked, and the columns of a frame as fit saw them."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import issparse
from sklearn.utils.validation import validate_data

from hashmix.components import COMPONENTS, Component
from hashmix.core.validation import bad_parameter
from hashmix.core.wording import counted
from hashmix.data.encode import encode, plain_matrix
from hashmix.data.frames import raw_columns
from hashmix.data.kinds import as_numbers, is_plain, recognise
from hashmix.data.mixed import Column, MixedRows, as_mixed
from hashmix.data.rows import Rows
from hashmix.engines.dask import is_collection

__all__ = ["FrameColumns", "InputChecks", "some_rows"]


class FrameColumns(NamedTuple):
    """The columns of a frame that a fit uses, and whether a plain matrix holds them."""

    columns: tuple[Column, ...]
    plain: bool


def some_rows(X: Any, rows: np.ndarray) -> Any:
    """Some rows of a matrix or of Rows.

    Examples
    --------
    >>> import numpy as np
    >>> from hashmix.estimator_input import some_rows
    >>> some_rows(np.array([[1], [2], [3]]), np.array([0, 2])).tolist()
    [[1], [3]]
    """
    return X.take(rows) if isinstance(X, Rows) else X[rows]


def _holds_texts(X: Any) -> bool:
    """Whether an array or a list of rows has cells that are texts."""
    if not isinstance(X, (np.ndarray, list, tuple)):
        return False
    cells = np.asarray(X, object)
    return cells.ndim == 2 and any(isinstance(cell, str) for cell in cells.ravel().tolist())


def _names_of(frame: Any) -> list[str]:
    return [str(name) for name in (frame.column_names if hasattr(frame, "column_names") else frame.columns)]


class InputChecks:
    """How :class:`~hashmix.SplitMergeMixture` checks its input."""

    component: Any
    n_features_in_: int
    feature_names_in_: np.ndarray
    _frame: FrameColumns | None

    def _family(self) -> type[Component] | None:
        """The class of the component, if it is known before the data are seen."""
        if isinstance(self.component, Component):
            return type(self.component)
        if self.component not in COMPONENTS:
            return None
        family: Any = COMPONENTS[self.component]
        return family

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()  # type: ignore[misc]
        family = self._family()
        tags.input_tags.sparse = family is not None and family.takes_sparse
        tags.input_tags.positive_only = family is not None and family.takes_counts
        tags.input_tags.allow_nan = family is None or family.takes_blanks
        tags.input_tags.categorical = family is not None and family.takes_blanks
        return tags

    def _validated(self, X: Any, reset: bool) -> Any:
        """X as an array, a sparse matrix, or mixed rows if columns have blanks or categories.

        Counts may be sparse and keep their type; values are checked with the component.
        """
        if is_collection(X):
            raise bad_parameter(type(self).__name__, "X", "rows in memory here: compute() it, or a part of it", type(X))
        family = self._family()
        blanks = family is None or family.takes_blanks
        if isinstance(X, MixedRows):
            self._set_names([column.name for column in X.columns], reset)
            return self._same_columns(X, reset)
        if blanks and not issparse(X) and (raw := raw_columns(X)) is not None:  # some sparse matrices are mappings, too
            return self._from_frame(X, raw, reset)
        if (
            not reset
            and self._frame is not None
            and not (self._frame.plain and len(self._frame.columns) == self.n_features_in_)
        ):
            raise bad_parameter(type(self).__name__, "X", "a frame with the columns that fit was given", type(X))
        if reset:
            self._frame = None
        if family.takes_sparse if family is not None else issparse(X):
            how: dict[str, Any] = {"accept_sparse": "csr", "dtype": "numeric"}
        else:
            how = {"dtype": [np.float64, np.float32], "order": "C", "ensure_all_finite": False}
        try:
            X = validate_data(self, X, **how, reset=reset, ensure_min_samples=2 if reset else 1)
        except (TypeError, ValueError):
            if _holds_texts(X):
                allowed = "an array of numbers; texts and categories need a frame of pandas, polars or pyarrow"
                raise bad_parameter(type(self).__name__, "X", allowed, X) from None
            raw = raw_columns(X)
            if raw is None or not (texts := [name for name, column in raw.items() if as_numbers(column) is None]):
                raise
            columns = f"{', '.join(texts[:5])}{' …' if len(texts) > 5 else ''}"
            allowed = f"'auto' or 'mixed', because columns hold texts ({columns})"
            raise bad_parameter(type(self).__name__, "component", allowed, self.component) from None
        return as_mixed(X, type(self).__name__) if family is not None and family.takes_blanks else X

    def _from_frame(self, X: Any, raw: Any, reset: bool) -> Any:
        owner = type(self).__name__
        if isinstance(X, Mapping):
            self._set_names(list(raw), reset)
        elif repeated := [name for name, count in Counter(_names_of(X)).items() if count > 1]:
            raise bad_parameter(owner, "X", "a frame whose columns have different names", f"{repeated[0]!r} more than once")
        else:
            validate_data(self, X, skip_check_array=True, reset=reset)
        n_rows, least = len(next(iter(raw.values()), ())), 2 if reset else 1
        if raw and n_rows < least:
            raise ValueError(f"X must have at least {counted(least, 'row')}. Got {counted(n_rows, 'row')} instead.")
        if reset:
            if (n := len(next(iter(raw.values()), ()))) < 2:
                raise bad_parameter(owner, "X", "at least 2 rows", f"{n} row{'' if n == 1 else 's'}")
            found = recognise(raw)
            if found.set_aside:
                warnings.warn(f"Columns {found.aside()}.", UserWarning, stacklevel=4)
            self._frame = FrameColumns(found.columns, is_plain(raw, found.columns))
        elif self._frame is None:
            return self._validated(np.column_stack([np.asarray(column, np.float64) for column in raw.values()]), reset)
        assert self._frame is not None
        if self._frame.plain:
            return plain_matrix(raw, self._frame.columns)
        rows = encode(raw, self._frame.columns)
        family = self._family()
        return rows if family is None or family.takes_blanks else rows.values

    def _set_names(self, names: list[str], reset: bool) -> None:
        """Store the names of the columns, or check that they are those of fit."""
        if reset:
            self.n_features_in_, self.feature_names_in_ = len(names), np.array(names, object)
        elif hasattr(self, "feature_names_in_") and self._frame is None and names != list(self.feature_names_in_):
            raise bad_parameter(type(self).__name__, "X", "the columns that fit was given", f"{', '.join(names[:5])} …")

    def _used_names(self) -> list[str] | None:
        """The names of the columns that fit uses, if there are any: those of a frame that were set aside are left out."""
        if self._frame is not None:
            return [column.name for column in self._frame.columns]
        return list(self.feature_names_in_) if hasattr(self, "feature_names_in_") else None

    def _same_columns(self, X: MixedRows, reset: bool) -> MixedRows:
        if reset:
            self._frame = FrameColumns(X.columns, False)
        elif self._frame is not None and X.columns != self._frame.columns:
            raise bad_parameter(type(self).__name__, "X", "rows with the columns and categories of fit", "others")
        return X
