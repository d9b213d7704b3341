"""Delimited text: dialects, headers, and the error messages for text that has no columns. With pyarrow and without it."""

from __future__ import annotations

import sys

import numpy as np
import pytest

from hashmix.data.readers import read_file
from hashmix.data.readers.delimited import is_delimited


@pytest.fixture(params=["pyarrow", "csv"], autouse=True)
def parser(request, monkeypatch):
    """Every test runs with both parsers."""
    if request.param == "csv":
        monkeypatch.setitem(sys.modules, "pyarrow", None)
    return request.param


def read(tmp_path, content, **options):
    """The columns of a file as lists, and the notes."""
    path = tmp_path / "a.csv"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    raw, names = read_file(path, **options)
    assert names == list(raw)
    return {name: column.tolist() for name, column in raw.items()}, raw.notes


def test_columns_by_name_number_and_range(tmp_path):
    (tmp_path / "mixed.csv").write_text("name,u,v\nann,1,2.5\nbob,3,4.5\n")
    rows, names = read_file(tmp_path / "mixed.csv", ["v", "u"])
    assert {name: column.tolist() for name, column in rows.items()} == {"v": [2.5, 4.5], "u": [1, 3]}
    assert names == ["v", "u"]
    assert read_file(tmp_path / "mixed.csv", [1])[0]["u"].tolist() == [1.0, 3.0]
    assert read_file(tmp_path / "mixed.csv", ["1-2"])[1] == ["u", "v"]
    with pytest.raises(ValueError, match="has no column 'w', '2-3'; it has name, u, v"):
        read_file(tmp_path / "mixed.csv", ["w", "u", "2-3"])


@pytest.mark.parametrize(
    ("content", "columns"),
    [
        ("\ufeffu,v\n1,2\n", {"u": [1], "v": [2]}),
        ("u, v\r\n1, 2\r\n\r\n3, 4\r\n", {"u": [1, 3], "v": [2, 4]}),
        ("u\rv\n".replace("v", "1"), {"u": [1]}),
        ("u\n1\n2\n", {"u": [1, 2]}),
        ('"a, b",c\n1,2\n', {"a, b": [1], "c": [2]}),
        ("1 2\n3 4", {"0": [1, 3], "1": [2, 4]}),
        ("  1.5   2\n 3 4  \n", {"0": [1.5, 3], "1": [2, 4]}),
        ("u|v\n1|2\n", {"u": [1], "v": [2]}),
        ("u\tv\n1\tx y\n", {"u": [1], "v": ["x y"]}),
        ("u;v\n1,5;a,b\n2;c\n", {"u": [1.5, 2], "v": ["a,b", "c"]}),
        ("u;v\n1.234,5;a\n2,5;c\n", {"u": [1234.5, 2.5], "v": ["a", "c"]}),
        ("1,NA\n2,3\n", {"0": [1, 2], "1": [None, 3]}),
        ('u,v\n1, "a, b"\n2, c\n', {"u": [1, 2], "v": ["a, b", "c"]}),
        ("zip,u\n01234,1\n99999,2\n", {"zip": ["01234", "99999"], "u": [1, 2]}),
        ("u,v\n1,2,\n3,4,\n", {"u": [1, 3], "v": [2, 4], "Unnamed: 2": [None, None]}),
        ("u,v\na,1,2\nb,3,4\n", {"Unnamed: 0": ["a", "b"], "u": [1, 3], "v": [2, 4]}),
        ("# u v\n1 2\n3 4\n", {"u": [1, 3], "v": [2, 4]}),
        ("# by hand\nu,v\n# and here\n1,2\n", {"u": [1], "v": [2]}),
        ("colour,u\n#ff0000,1\n#00ff00,2\n", {"colour": ["#ff0000", "#00ff00"], "u": [1, 2]}),
        ("u;v\n1,5;2\nlow;3\n", {"u": ["1.5", "low"], "v": [2, 3]}),
        ("#1,5\n#2,6\n", {"0": ["#1", "#2"], "1": [5, 6]}),
        ("u,v\n1,2\nu,v\n3,4\n", {"u": [1, 3], "v": [2, 4]}),
        ("u,u\n1,2\n", {"u": [1], "u.1": [2]}),
        ("t,u\n12:30,1\n12:45,2\n", {"t": ["12:30", "12:45"], "u": [1, 2]}),
        ("u\n0x10\n1_000\n", {"u": ["0x10", "1_000"]}),
    ],
)
def test_layouts(content, columns, tmp_path):
    found, _ = read(tmp_path, content)
    cells = {name: [None if cell != cell else cell for cell in column] for name, column in found.items()}
    assert cells == columns


@pytest.mark.parametrize(
    ("content", "names"),
    [
        ("0,1,2\n0.5,1.5,2.5\n", ["0", "1", "2"]),
        ("0,1,2,3\n3,1,4,1\n5,9,2,6\n", ["0", "1", "2", "3"]),
        (",0,1\n0,0.5,1.5\n1,2.5,3.5\n", ["Unnamed: 0", "0", "1"]),
        (",u,v\n0,0.5,1.5\n1,2.5,3.5\n", ["Unnamed: 0", "u", "v"]),
        ("0\n1.5\n2.5\n", ["0"]),
        ("country,2019,2020,2021\nA,1,2,3\nB,2,3,4\n", ["country", "2019", "2020", "2021"]),
        ("10,20,30\n0.5,1.5,2.5\n0.1,1.2,2.3\n", ["10", "20", "30"]),
        ("colour,shape\nred,round\nblue,flat\nred,flat\n", ["colour", "shape"]),
        ("id,u\nunknown,1\n3,2\n", ["id", "u"]),
    ],
)
def test_first_lines_that_are_names(content, names, tmp_path):
    assert list(read(tmp_path, content)[0]) == names
    assert len(read(tmp_path, content, header=False)[0]) == len(names)


@pytest.mark.parametrize(
    "content",
    [
        "0,1\n1,0\n0,1\n",  # 0/1 data
        "5.1,3.5,setosa\n4.9,3.0,setosa\n",
        "setosa,5,3\nsetosa,4,3\nvirginica,6,2\n",
        "red,round\nblue,flat\nred,flat\n",
        "3,1,4\n1,5,9\n2,6,5\n",
        "5\n1.5\n2.5\n",
        "2020-01-01,a\n2020-01-02,b\n",
    ],
)
def test_first_lines_that_are_rows(content, tmp_path):
    found, notes = read(tmp_path, content)
    assert list(found) == [str(j) for j in range(len(found))]
    assert len(found["0"]) == content.count("\n")
    assert "header: the first line is a row, not names; --header to change" in notes
    assert len(read(tmp_path, content, header=True)[0]["".join(content.split("\n")[0].replace(",", " ").split()[:1])]) > 0


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (b"", "a.csv is empty"),
        (b"\n \n", "a.csv is empty"),
        (b"# nothing\n\n", "a.csv is empty|has a header and no rows"),
        (b"u,v\n", "has a header and no rows"),
        (b"u,v\n1,2\n3\n", "Line 3 of a.csv has 1 value, the first has 2: mend that line, or use --text"),
        (b"# c\nu,v\n1,2\n\n3,4,5\n6,7\n", "Line 5 of a.csv has 3 values, the first has 2"),
        (b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR", "a.csv is not text: byte 6 is 26. Save the data as .csv in UTF-8"),
        (b"\xff\xfeu\0,\0v", "a.csv is not utf-16-le as it claims"),
        (b'u,v\n1,"' + b"2" * 200_000 + b"\n", "cannot be divided into cells .*: is a closing quote missing?"),
    ],
)
def test_malformed_files(content, sentence, tmp_path):
    with pytest.raises(ValueError, match=sentence):
        read(tmp_path, content)


def test_lines_beyond_the_first_blocks(tmp_path):
    """What the first lines suggest is corrected by later ones."""
    lines = "".join(f"{i},{i}\n" for i in range(5000))
    found, _ = read(tmp_path, f"u,v\n{lines}1.5,late\n")
    assert found["u"][-1] == 1.5
    assert found["v"][:2] + found["v"][-1:] == ["0", "1", "late"]
    with pytest.raises(ValueError, match="Line 5002 of a.csv has 3 values, the first has 2"):
        read(tmp_path, f"u,v\n{lines}1,2,3\n")


def test_long_lines(tmp_path):
    wide = ",".join(f"c{j}" for j in range(100_000))
    numbers = ",".join(["0.25"] * 100_000)
    found, _ = read(tmp_path, f"{wide}\n{numbers}\n{numbers}\n")
    assert len(found) == 100_000
    assert found["c99999"] == [0.25, 0.25]
    text = "x" * 100_000
    assert read(tmp_path, f"u,v\n1,{text}\n")[0]["v"] == [text]


def test_what_is_columns_and_what_is_prose(tmp_path):
    path = tmp_path / "a.txt"
    for content, expected in [
        ("1 2\n3 4\n", True),
        ("u v\n1 2\n", True),
        ("name\tu\nann\tx\n", True),
        ("The cat sat.\nOn the mat, it sat.\n", False),
        ("cat dog\ndog cat\n", False),
        ("One text only", False),
    ]:
        path.write_text(content)
        assert is_delimited(path) == expected, content


def test_all_columns_are_float64_bool_dates_or_texts(tmp_path):
    (tmp_path / "a.csv").write_text("u,b,d,t,e\n1,true,2020-01-02,x,\n2,False,2020-01-03 12:00,y,\n")
    raw, _ = read_file(tmp_path / "a.csv")
    assert [column.dtype.kind for column in raw.values()] == list("fbMOf")
    assert raw["d"][1] == np.datetime64("2020-01-03T12:00")
