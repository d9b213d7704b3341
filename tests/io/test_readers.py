"""Tables from files, and sentences for files that are none."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from hashmix.io import read_table

X = np.array([[1.0, 2.5], [3.0, 4.5], [5.0, -6.0]])


def test_every_kind_of_file(tmp_path):
    np.save(tmp_path / "a.npy", X)
    np.savez(tmp_path / "a.npz", X=X, y=np.arange(3))
    np.savez(tmp_path / "b.npz", table=X, y=np.arange(3))
    frame = pd.DataFrame(X, columns=["u", "v"])
    frame.to_csv(tmp_path / "a.csv", index=False)
    frame.to_csv(tmp_path / "bare.csv", index=False, header=False)
    frame.to_csv(tmp_path / "a.tsv", index=False, sep="\t")
    frame.to_csv(tmp_path / "semi.csv", index=False, sep=";")
    frame.to_csv(tmp_path / "space.txt", index=False, sep=" ", header=False)
    frame.to_parquet(tmp_path / "a.parquet")
    for path in tmp_path.iterdir():
        rows, names = read_table(path)
        np.testing.assert_array_equal(rows, X)
        assert names == (["u", "v"] if path.name in ("a.csv", "a.tsv", "semi.csv", "a.parquet") else ["0", "1"])
        np.testing.assert_array_equal(read_table(path, ["1"])[0], X[:, 1:])


def test_columns_by_name(tmp_path):
    (tmp_path / "mixed.csv").write_text("name,u,v\nann,1,2.5\nbob,3,4.5\n")
    rows, names = read_table(tmp_path / "mixed.csv", ["v", "u"])
    assert rows.tolist() == [[2.5, 1.0], [4.5, 3.0]]
    assert names == ["v", "u"]


@pytest.mark.parametrize(
    ("file", "content", "sentence"),
    [
        ("a.xls", b"", "must be one of .csv, .tsv"),
        ("a.csv", b"", "a.csv is empty"),
        ("a.csv", b"u,v\n", "has a header and no rows"),
        ("a.csv", b"u,v\n1,2\n3\n", "Line 3 of a.csv has 1 values, the first has 2"),
        ("a.csv", b"u,v\n1,2\n3,x\n", r"Column 'v' of a.csv is not numeric \(line 3: 'x'\): choose others with --columns"),
        ("a.csv", b"u,v\n1,\n", "Column 'v' of a.csv is not numeric"),
        ("a.csv", b"1,NA\n2,3\n", "The first line of a.csv must be all names or all numbers. Got '1,NA' instead"),
        ("a.csv", b'u,v\n1,"' + b"2" * 200_000 + b"\n", "is not a table of comma-separated values"),
        ("a.npy", b"not numpy", "is not a NumPy file of plain arrays"),
        ("a.npz", b"PK\x03\x04broken", "is not a NumPy file of plain arrays"),
        ("a.parquet", b"not parquet", "is not a Parquet file"),
    ],
)
def test_malformed_files(tmp_path, file, content, sentence):
    (tmp_path / file).write_bytes(content)
    with pytest.raises(ValueError, match=sentence):
        read_table(tmp_path / file)


def test_other_arrays(tmp_path):
    np.save(tmp_path / "a.npy", np.arange(3))
    with pytest.raises(ValueError, match=r"must hold a matrix of numbers. Got shape \(3,\)"):
        read_table(tmp_path / "a.npy")
    np.save(tmp_path / "b.npy", np.array([[{}]], dtype=object), allow_pickle=True)
    with pytest.raises(ValueError, match="plain arrays"):
        read_table(tmp_path / "b.npy")
    np.savez(tmp_path / "c.npz", a=X, b=X)
    with pytest.raises(ValueError, match="an array named X, or a single matrix. It holds a, b"):
        read_table(tmp_path / "c.npz")
    (tmp_path / "d.csv").write_text("u,v\n1,2\n")
    with pytest.raises(ValueError, match="has no column 'w'; it has u, v"):
        read_table(tmp_path / "d.csv", ["w"])
    with pytest.raises(FileNotFoundError, match="There is no file"):
        read_table(tmp_path / "missing.csv")
