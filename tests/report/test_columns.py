"""Names of columns, and which columns hold numbers."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_array

from hashmix.report.columns import column_names, numeric_columns
from hashmix.report.numbers import shown_number, shown_rhat


def test_names():
    X = pd.DataFrame({"height": [1.0, 2.0], "colour": ["red", None]})
    assert column_names(X, None, 2, "report") == ["height", "colour"]
    assert column_names(X, ["a", 7], 2, "report") == ["a", "7"]
    assert column_names([[1, 2], [3, 4]], None, 2, "report") == ["0", "1"]
    with pytest.raises(ValueError, match="'X' parameter of report must be the 3 rows that were clustered"):
        column_names(X, None, 3, "report")
    with pytest.raises(ValueError, match="'feature_names' parameter of report must be 2 names"):
        column_names(X, ["a"], 2, "report")


def test_columns_that_hold_numbers():
    X = pd.DataFrame(
        {"a": [1.0, np.nan], "b": ["x", "y"], "c": [None, 3], "d": [True, False], "e": pd.to_datetime(["2020", "2021"])}
    )
    numbers, names = numeric_columns(X, list(X.columns))
    assert names == ["a", "c", "d"]
    np.testing.assert_array_equal(numbers, [[1.0, np.nan, 1.0], [np.nan, 3.0, 0.0]])
    dense = np.eye(3, dtype=np.float32)
    assert numeric_columns(dense, ["a", "b", "c"])[0] is dense
    assert numeric_columns(np.array([["x"], ["y"]]), ["a"])[0].shape == (2, 0)
    assert numeric_columns(csr_array(dense), ["a", "b", "c"])[1] == []


def test_numbers_as_text():
    assert [shown_number(value) for value in (3.0, 0.00012346, -1234.5, np.inf)] == ["3", "0.0001235", "-1,234", "–"]
    shown = [shown_rhat(value) for value in (1.0, 99.999, 100.001, np.inf, np.nan)]
    assert shown == ["1.00", "100.00", "above 100", "above 100", "–"]
