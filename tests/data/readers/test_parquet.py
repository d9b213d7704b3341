"""Parquet files."""

from __future__ import annotations

import sys

import numpy as np
import pandas as pd
import pytest

from hashmix.data.readers import read_file


def test_columns_of_any_type(tmp_path):
    path = tmp_path / "a.parquet"
    frame = pd.DataFrame(
        {
            "name": ["ann", None],
            "u": [1, 3],
            "v": [2.5, np.nan],
            "w": [True, False],
            "day": pd.to_datetime(["2020-01-02", None]),
            "size": pd.Categorical(["small", "large"], ["small", "large"]),
        }
    )
    frame.to_parquet(path)
    raw, names = read_file(path)
    assert names == list(frame.columns)
    assert raw["name"].tolist() == ["ann", None]
    assert raw["u"].tolist() == [1.0, 3.0]
    np.testing.assert_array_equal(raw["v"], [2.5, np.nan])
    assert raw["w"].tolist() == [True, False]
    assert str(raw["day"][0])[:10] == "2020-01-02"
    assert np.isnat(raw["day"][1])
    assert raw["size"].categories == ("small", "large")
    assert read_file(path, ["w", "1"])[1] == ["w", "u"]
    with pytest.raises(ValueError, match="has no column 'x'; it has name, u, v"):
        read_file(path, ["x"])


def test_no_rows(tmp_path):
    pd.DataFrame({"u": []}).to_parquet(tmp_path / "a.parquet")
    with pytest.raises(ValueError, match="a.parquet has no rows"):
        read_file(tmp_path / "a.parquet")


def test_malformed_files(tmp_path):
    (tmp_path / "a.parquet").write_bytes(b"not parquet")
    with pytest.raises(ValueError, match="is not a Parquet file"):
        read_file(tmp_path / "a.parquet")


def test_without_pyarrow(tmp_path, monkeypatch):
    (tmp_path / "a.parquet").touch()
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(ImportError, match=r"pip install 'hashmix\[parquet\]'"):
        read_file(tmp_path / "a.parquet")
