"""Delimited text, and the error messages for text that is not a table."""

from __future__ import annotations

import pytest

from hashmix.data.readers import read_file


def test_columns_by_name(tmp_path):
    (tmp_path / "mixed.csv").write_text("name,u,v\nann,1,2.5\nbob,3,4.5\n")
    rows, names = read_file(tmp_path / "mixed.csv", ["v", "u"])
    assert rows.tolist() == [[2.5, 1.0], [4.5, 3.0]]
    assert names == ["v", "u"]
    assert read_file(tmp_path / "mixed.csv", [1])[0].tolist() == [[1.0], [3.0]]


@pytest.mark.parametrize(
    ("content", "rows", "names"),
    [
        ("\ufeffu,v\n1,2\n", [[1, 2]], ["u", "v"]),
        ("u, v\r\n1, 2\r\n\r\n3, 4\r\n", [[1, 2], [3, 4]], ["u", "v"]),
        ("u\n1\n2\n", [[1], [2]], ["u"]),
        ('"a, b",c\n1,2\n', [[1, 2]], ["a, b", "c"]),
        ("1 2\n3 4", [[1, 2], [3, 4]], ["0", "1"]),
    ],
)
def test_layouts(content, rows, names, tmp_path):
    (tmp_path / "a.csv").write_text(content, encoding="utf-8", newline="")
    found, found_names = read_file(tmp_path / "a.csv")
    assert found.tolist() == rows
    assert found_names == names


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (b"", "a.csv is empty"),
        (b"u,v\n", "has a header and no rows"),
        (b"u,v\n1,2\n3\n", "Line 3 of a.csv has 1 values, the first has 2"),
        (b"u,v\n1,2\n3,x\n", r"Column 'v' of a.csv is not numeric \(line 3: 'x'\): choose others with --columns"),
        (b"u,v\n1,\n", "Column 'v' of a.csv is not numeric"),
        (b"1,NA\n2,3\n", "The first line of a.csv must be all names or all numbers. Got '1,NA' instead"),
        (b'u,v\n1,"' + b"2" * 200_000 + b"\n", "is not a table of comma-separated values"),
    ],
)
def test_malformed_files(content, sentence, tmp_path):
    (tmp_path / "a.csv").write_bytes(content)
    with pytest.raises(ValueError, match=sentence):
        read_file(tmp_path / "a.csv")


def test_unknown_columns(tmp_path):
    (tmp_path / "a.csv").write_text("u,v\n1,2\n")
    with pytest.raises(ValueError, match="has no column 'w'; it has u, v"):
        read_file(tmp_path / "a.csv", ["w"])
