"""Data of any kind as numbers and categories."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy.sparse import csr_array

from hashmix.data.mixed import Column, MixedRows
from hashmix.data.table import as_table, column_names

MIXED = MixedRows(
    np.array([[31.0, 1.0, 2.0], [np.nan, np.nan, 0.0]]),
    [Column("age", "numeric"), Column("colour", "categorical", ("blue", "red")), Column("visits", "count")],
)


def test_names():
    X = pd.DataFrame({"height": [1.0, 2.0], "colour": ["red", None]})
    assert column_names(X, None, 2, "report") == ["height", "colour"]
    assert column_names(pl.from_pandas(X), None, 2, "report") == ["height", "colour"]
    assert column_names(pa.table({"height": [1.0, 2.0]}), None, 2, "report") == ["height"]
    assert column_names(MIXED, None, 2, "report") == ["age", "colour", "visits"]
    assert column_names(X, ["a", 7], 2, "report") == ["a", "7"]
    assert column_names([[1, 2], [3, 4]], None, 2, "report") == ["0", "1"]
    with pytest.raises(ValueError, match="'X' parameter of report must be the 3 rows that were clustered"):
        column_names(X, None, 3, "report")
    with pytest.raises(ValueError, match="'feature_names' parameter of report must be 2 names"):
        column_names(X, ["a"], 2, "report")


def test_columns_of_a_frame():
    X = pd.DataFrame(
        {"a": [1.0, np.nan], "b": ["x", None], "c": [None, 3], "d": [True, False], "e": pd.to_datetime(["2020", "2021"])}
    )
    table = as_table(X, list(X.columns))
    assert table.numeric == ["a", "c"]
    np.testing.assert_array_equal(table.numbers, [[1.0, np.nan], [np.nan, 3.0]])
    found = [(category.name, category.levels, category.codes.tolist()) for category in table.categories]
    assert found == [("b", ("x",), [0, -1]), ("d", ("False", "True"), [1, 0])]


def test_columns_of_arrays():
    dense = np.eye(3, dtype=np.float32)
    assert as_table(dense, ["a", "b", "c"]).numbers is dense
    table = as_table(np.array([["x"], ["y"]]), ["a"])
    assert table.numbers.shape == (2, 0)
    assert table.categories[0].levels == ("x", "y")
    assert as_table(csr_array(dense), ["a", "b", "c"]).numeric == []


def test_mixed_rows():
    table = as_table(MIXED, ["age", "colour", "visits"])
    assert table.numeric == ["age", "visits"]
    np.testing.assert_array_equal(table.numbers, [[31.0, 2.0], [np.nan, 0.0]])
    assert table.categories[0].codes.tolist() == [1, -1]


def test_free_text_is_not_a_category():
    texts = np.array([[f"text {i}"] for i in range(80)], dtype=object)
    assert as_table(texts, ["a"]).categories == []
    assert len(as_table(np.concatenate([texts[:40]] * 2), ["a"]).categories[0].levels) == 40
