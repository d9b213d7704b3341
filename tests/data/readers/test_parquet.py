"""Parquet files."""

from __future__ import annotations

import sys

import pandas as pd
import pytest

from hashmix.data.readers import read_file


def test_only_selected_columns_must_be_numeric(tmp_path):
    path = tmp_path / "a.parquet"
    pd.DataFrame({"name": ["ann", "bob"], "u": [1, 3], "v": [2.5, 4.5], "w": [True, False]}).to_parquet(path)
    rows, names = read_file(path, ["v", "u", "w"])
    assert rows.tolist() == [[2.5, 1.0, 1.0], [4.5, 3.0, 0.0]]
    assert names == ["v", "u", "w"]
    with pytest.raises(ValueError, match=r"Column 'name' of a.parquet is not numeric \((large_)?string\)"):
        read_file(path)
    with pytest.raises(ValueError, match="has no column 'x'; it has name, u, v"):
        read_file(path, ["x"])


def test_malformed_files(tmp_path):
    (tmp_path / "a.parquet").write_bytes(b"not parquet")
    with pytest.raises(ValueError, match="is not a Parquet file"):
        read_file(tmp_path / "a.parquet")


def test_without_pyarrow(tmp_path, monkeypatch):
    (tmp_path / "a.parquet").touch()
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(ImportError, match=r"pip install 'hashmix\[parquet\]'"):
        read_file(tmp_path / "a.parquet")
