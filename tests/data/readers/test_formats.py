"""The registry of file formats: dispatch, error messages, help texts, and formats added by a user."""

from __future__ import annotations

import sys

import numpy as np
import pandas as pd
import pytest

from hashmix.data.readers import READERS, FileFormat, formats_help, read_file
from hashmix.data.readers.contract import FormatRegistry, column_positions

X = np.array([[1.0, 2.5], [3.0, 4.5], [5.0, -6.0]])


def read_constant(path, columns, progress):
    """A reader of a user's own, without column selection."""
    return X.copy(), ["u", "v"]


@pytest.fixture
def added():
    """A format that is registered for the duration of a test."""
    READERS.add("constant", FileFormat(suffixes=(".Const",), read=read_constant, help="always the same"))
    yield READERS["constant"]
    del READERS._makers["constant"]


def test_every_dense_format(tmp_path):
    np.save(tmp_path / "a.npy", X)
    np.savez(tmp_path / "a.npz", X=X, y=np.arange(3))
    np.savez(tmp_path / "b.npz", points=X, y=np.arange(3))
    frame = pd.DataFrame(X, columns=["u", "v"])
    frame.to_csv(tmp_path / "a.csv", index=False)
    frame.to_csv(tmp_path / "bare.csv", index=False, header=False)
    frame.to_csv(tmp_path / "a.tsv", index=False, sep="\t")
    frame.to_csv(tmp_path / "semi.csv", index=False, sep=";")
    frame.to_csv(tmp_path / "space.txt", index=False, sep=" ", header=False)
    frame.to_parquet(tmp_path / "a.parquet")
    for path in tmp_path.iterdir():
        rows, names = read_file(path)
        np.testing.assert_array_equal(matrix(rows), X)
        assert names == (["u", "v"] if path.name in ("a.csv", "a.tsv", "semi.csv", "a.parquet") else ["0", "1"])
        np.testing.assert_array_equal(matrix(read_file(path, ["1"])[0]), X[:, 1:])


def matrix(rows):
    return np.column_stack(list(rows.values())) if isinstance(rows, dict) else rows


@pytest.mark.parametrize("ending", [".gz", ".zst"])
def test_compressed_text(ending, tmp_path):
    path = tmp_path / f"a.csv{ending}"
    pd.DataFrame(X, columns=["u", "v"]).to_csv(path, index=False)
    np.testing.assert_array_equal(matrix(read_file(path)[0]), X)
    path.write_bytes(path.read_bytes()[:-12])
    with pytest.raises(ValueError, match=f"a.csv{ending} is cut short or damaged"):
        read_file(path)


def test_zstd_without_pyarrow(tmp_path, monkeypatch):
    pd.DataFrame(X).to_csv(tmp_path / "a.csv.zst")
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(ImportError, match="Reading a.csv.zst needs pyarrow: pip install 'hashmix"):
        read_file(tmp_path / "a.csv.zst")


def test_only_delimited_text_has_a_header(tmp_path):
    np.save(tmp_path / "a.npy", X)
    with pytest.raises(ValueError, match="--header and --no-header are for delimited text. Got 'a.npy' instead"):
        read_file(tmp_path / "a.npy", header=True)


def test_formats_help():
    assert formats_help() == ".csv, .tsv, .txt, .npy, .npz, .parquet, .svm, .svmlight, .libsvm, .mtx, docword.*"
    details = formats_help(details=True).splitlines()
    assert len(details) == len(READERS.names)
    assert ".mtx (also with .gz): a Matrix Market matrix" in details


@pytest.mark.parametrize(
    ("name", "format_name"),
    [
        ("a.csv", "delimited"),
        ("A.CSV", "delimited"),
        ("a.mtx", "matrix-market"),
        ("a.mtx.gz", "matrix-market"),
        ("a.b.libsvm", "svmlight"),
        ("a.csv.gz", "delimited"),
        ("a.TXT.zst", "delimited"),
        ("docword.nips.txt", "docword"),
        ("DocWord.nips.txt.gz", "docword"),
        ("docword.npz", "docword"),
        ("my.docword.txt", "delimited"),
    ],
)
def test_dispatch_by_name(name, format_name, tmp_path):
    assert READERS.find(tmp_path / name) is READERS[format_name]


@pytest.mark.parametrize("name", ["a.xls", "a", "a.npy.gz", "acsv", "docword"])
def test_unknown_formats(name, tmp_path):
    (tmp_path / name).touch()
    with pytest.raises(ValueError, match=rf"must be one of .csv, .tsv, .*, docword.\*. Got '{name}' instead"):
        read_file(tmp_path / name)


def test_missing_files(tmp_path):
    with pytest.raises(FileNotFoundError, match="There is no file"):
        read_file(tmp_path / "missing.csv")
    (tmp_path / "parts.csv").mkdir()
    for name in ("parts.csv", "."):
        with pytest.raises(IsADirectoryError, match="is a folder: name a file in it"):
            read_file(tmp_path / name)


def test_format_of_a_user(added, tmp_path):
    (tmp_path / "a.const").touch()
    rows, names = read_file(tmp_path / "a.const", ["v", "0"])
    np.testing.assert_array_equal(rows, X[:, [1, 0]])
    assert names == ["v", "u"]
    with pytest.raises(ValueError, match="a.const has no column 'w'; it has u, v"):
        read_file(tmp_path / "a.const", ["w"])
    assert formats_help().endswith(".const")
    assert formats_help(details=True).endswith(".const: always the same")
    assert "read_constant" in repr(added)


def test_readers_get_what_was_asked_for(tmp_path):
    calls = []

    def read(path, columns, progress):
        calls.append((path.name, columns, progress))
        return X[:, :1], ["u"]

    formats = FormatRegistry()
    formats.add("own", FileFormat(suffixes=(".own",), read=read, selects_columns=True))
    rows, names = formats.find(tmp_path / "a.own")(tmp_path / "a.own", ("u",), True)
    assert calls == [("a.own", ["u"], True)]
    assert rows.shape == (3, 1)
    assert names == ["u"]


def test_what_cannot_be_added(added):
    with pytest.raises(ValueError, match="'maker' parameter of READERS.add must be a FileFormat"):
        READERS.add("fits", read_constant)
    with pytest.raises(ValueError, match="There already is a format for .csv"):
        READERS.add("mine", FileFormat(suffixes=(".mine", ".CSV"), read=read_constant))
    with pytest.raises(ValueError, match="There already is a format named 'constant'"):
        READERS.add("constant", FileFormat(suffixes=(".other",), read=read_constant))
    with pytest.raises(ValueError, match="'suffixes' parameter of FileFormat must be a sequence of strings"):
        FileFormat(suffixes=".fits", read=read_constant)
    with pytest.raises(ValueError, match="strings that start with a dot"):
        FileFormat(suffixes=("fits",), read=read_constant)
    with pytest.raises(ValueError, match="at least one suffix if there is no pattern"):
        FileFormat(suffixes=(), read=read_constant)


def test_column_positions(tmp_path):
    path = tmp_path / "a.csv"
    assert column_positions(None, ["u", "v"], path) == [0, 1]
    assert column_positions(["v", "0", "v"], ["u", "v"], path) == [1, 0, 1]
    assert column_positions(["1"], ["1", "0"], path) == [0]  # a name takes precedence over a number
    assert column_positions(["u"], ["t", "u", "u"], path) == [1]
    assert column_positions(["1-2", "0-0"], ["u", "v", "w"], path) == [1, 2, 0]
    assert column_positions(["0-1"], ["u", "v", "0-1"], path) == [2]
    for unknown in ("w", "2", "-1", "½", "1-2", "1-0", "0-"):
        with pytest.raises(ValueError, match="a.csv has no column"):
            column_positions([unknown], ["u", "v"], path)
