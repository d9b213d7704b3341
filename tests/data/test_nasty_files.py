"""Files as people have them: each is read right, or refused in one sentence that names the fix. With pyarrow and without it."""

from __future__ import annotations

import codecs
import gzip
import sys
import uuid

import numpy as np
import pytest

from hashmix.data.ingest import read_data
from hashmix.data.mixed import MixedRows

RNG = np.random.default_rng(0)
NAN = np.nan


def lines(*rows):
    return "".join(f"{row}\n" for row in rows)


def numbers(n, d=2):
    return RNG.normal(size=(n, d)).round(3)


def joined(rows, delimiter=","):
    return lines(*(delimiter.join(map(str, row)) for row in rows))


FIVE = "1.5,2.5\n3.5,4.5\n0.5,7.5\n2.25,1.5\n9.5,0.5\n"
FIVE_ROWS = [[1.5, 2.5], [3.5, 4.5], [0.5, 7.5], [2.25, 1.5], [9.5, 0.5]]
PLAIN = ("numeric", "numeric")
MANY = numbers(40, 1).ravel()

#: Name: content, kinds of the columns used, first row, what is set aside. An ending other than .csv is given in the name.
READ = {
    "utf8-bom": (codecs.BOM_UTF8 + f"u,v\n{FIVE}".encode(), {"u": "numeric", "v": "numeric"}, [1.5, 2.5], {}),
    "utf16": (f"\ufeffu,v\n{FIVE}".encode("utf-16-le"), {"u": "numeric", "v": "numeric"}, [1.5, 2.5], {}),
    "utf16-big": (f"\ufeffu,v\n{FIVE}".encode("utf-16-be"), {"u": "numeric", "v": "numeric"}, [1.5, 2.5], {}),
    "utf16-without-mark": (f"u,v\n{FIVE}".encode("utf-16-le"), {"u": "numeric", "v": "numeric"}, [1.5, 2.5], {}),
    "latin1": (f"größe,v\n{FIVE}".encode("latin-1"), {"größe": "numeric", "v": "numeric"}, [1.5, 2.5], {}),
    "emoji-names": (f"🙂,ü v\n{FIVE}", {"🙂": "numeric", "ü v": "numeric"}, [1.5, 2.5], {}),
    "crlf": (f"u,v\n{FIVE}".replace("\n", "\r\n"), {"u": "numeric", "v": "numeric"}, [1.5, 2.5], {}),
    "old-mac": (f"u,v\n{FIVE}".replace("\n", "\r"), {"u": "numeric", "v": "numeric"}, [1.5, 2.5], {}),
    "no-last-newline": (f"u,v\n{FIVE}".rstrip(), {"u": "numeric", "v": "numeric"}, [1.5, 2.5], {}),
    "semicolons": (f"u,v\n{FIVE}".replace(",", ";"), {"u": "numeric", "v": "numeric"}, [1.5, 2.5], {}),
    "decimal-commas": (
        f"u,v\n{FIVE}".replace(",", ";").replace(".", ","),
        {"u": "numeric", "v": "numeric"},
        [1.5, 2.5],
        {},
    ),
    "tab-decimal-commas": (
        f"u,v\n{FIVE}".replace(",", "\t").replace(".", ","),
        {"u": "numeric", "v": "numeric"},
        [1.5, 2.5],
        {},
    ),
    "tabs.tsv": (f"u,v\n{FIVE}".replace(",", "\t"), {"u": "numeric", "v": "numeric"}, [1.5, 2.5], {}),
    "pipes": (f"u,v\n{FIVE}".replace(",", "|"), {"u": "numeric", "v": "numeric"}, [1.5, 2.5], {}),
    "spaces.txt": (f"u,v\n{FIVE}".replace(",", "   "), {"u": "numeric", "v": "numeric"}, [1.5, 2.5], {}),
    "comma-space": (f"u,v\n{FIVE}".replace(",", ", "), {"u": "numeric", "v": "numeric"}, [1.5, 2.5], {}),
    "trailing-comma": (
        f"u,v\n{FIVE}".replace("\n", ",\n"),
        {"u": "numeric", "v": "numeric"},
        [1.5, 2.5],
        {"Unnamed: 2": "all blank"},
    ),
    "no-header": (FIVE, {"0": "numeric", "1": "numeric"}, [1.5, 2.5], {}),
    "numeric-header": (f"0,1\n{FIVE}", {"0": "numeric", "1": "numeric"}, [1.5, 2.5], {}),
    "index": (
        ",u,v\n" + lines(*(f"{i},{row}" for i, row in enumerate(FIVE.split()))),
        {"u": "numeric", "v": "numeric"},
        [1.5, 2.5],
        {"Unnamed: 0": "row numbers"},
    ),
    "index-numeric-header": (
        ",0,1\n" + lines(*(f"{i},{row}" for i, row in enumerate(FIVE.split()))),
        {"0": "numeric", "1": "numeric"},
        [1.5, 2.5],
        {"Unnamed: 0": "row numbers"},
    ),
    "row-names-as-r-writes-them": (
        '"u" "v"\n' + lines(*(f'"r{i}" {row.replace(",", " ")}' for i, row in enumerate(FIVE.split()))),
        {"u": "numeric", "v": "numeric"},
        [1.5, 2.5],
        {"Unnamed: 0": "all different"},
    ),
    "id": (
        "customer_id,u,v\n" + lines(*(f"{i * 37 % 101},{row}" for i, row in enumerate(FIVE.split()))),
        {"u": "numeric", "v": "numeric"},
        [1.5, 2.5],
        {"customer_id": "all different"},
    ),
    "id-by-another-name": (
        "kunde,u,v\n" + "".join(f"{9000 + 7 * i % 40},{x},{2 * x}\n" for i, x in enumerate(MANY)),
        {"u": "numeric", "v": "numeric"},
        [MANY[0], 2 * MANY[0]],
        {"kunde": "all different"},
    ),
    "camel-id": (
        "u,userId\n" + lines(*(f"{row.split(',')[0]},{i * 37 % 101}" for i, row in enumerate(FIVE.split()))),
        {"u": "numeric"},
        [1.5],
        {"userId": "all different"},
    ),
    "row-numbers-by-another-name": (
        "u,zahl\n" + lines(*(f"{row.split(',')[0]},{i}" for i, row in enumerate(FIVE.split(), 100))),
        {"u": "numeric"},
        [1.5],
        {"zahl": "row numbers"},
    ),
    "uuid": (
        "key,u\n" + lines(*(f"{uuid.UUID(int=i * 7919)},{x}" for i, x in enumerate(MANY))),
        {"u": "numeric"},
        [MANY[0]],
        {"key": "all different"},
    ),
    "names": (
        "person,u\n" + lines(*(f"Ms {i} Smith,{x}" for i, x in enumerate(MANY))),
        {"u": "numeric"},
        [MANY[0]],
        {"person": "all different"},
    ),
    "quotes-and-newlines": (
        'u,note\n1.5,"a ""quoted"" word\nand a line"\n2.5,b\n3.5,c\n',
        {"u": "numeric", "note": "categorical"},
        [1.5, 0],
        {},
    ),
    "blanks-of-all-sorts": (
        "u,v\n1,1.5\n,2.5\nNA,\nNaN,1\nnull,?\nNone,7\n3,0.5\nn/a,0\n5,1\n",
        {"u": "numeric", "v": "numeric"},
        [1, 1.5],
        {},
    ),
    "categories-and-blanks": (
        "colour,size\nred,1.5\nblue,\n,2.5\ngreen,1\nred,2\n",
        {"colour": "categorical", "size": "numeric"},
        [2, 1.5],
        {},
    ),
    "yes-no": ("smokes,u\nyes,1.5\nno,2.5\nno,3.5\n", {"smokes": "binary", "u": "numeric"}, [1, 1.5], {}),
    "booleans": ("b,u\nTrue,1.5\nfalse,2.5\nTRUE,3.5\n", {"b": "binary", "u": "numeric"}, [1, 1.5], {}),
    "booleans-and-blanks": ("b,u\nTrue,1.5\nfalse,2.5\n,3.5\n", {"b": "binary", "u": "numeric"}, [1, 1.5], {}),
    "counts-among-categories": (
        "visits,ill,c\n0,0,x\n3,1,y\n2,1,z\n0,0,x\n",
        {"visits": "count", "ill": "binary", "c": "categorical"},
        [0, 0, 0],
        {},
    ),
    "dates": ("day,u\n2020-01-05,1.5\n2020-01-09,2.5\n2021-01-01,3.5\n", {"day": "numeric", "u": "numeric"}, [18266, 1.5], {}),
    "german-dates": ("day;u\n05.01.2020;1,5\n09.01.2020;2,5\n", {"day": "numeric", "u": "numeric"}, [18266, 1.5], {}),
    "dates-and-times": (
        "when;u\n05.01.2020 06:00;1,5\n5.1.2020 18:00:00;2,5\n",
        {"when": "numeric", "u": "numeric"},
        [18266.25, 1.5],
        {},
    ),
    "halves-of-days": (
        'when,u\n"1/5/2020, 6:00 PM",1.5\n12/31/2020 12:00 am,2.5\n',
        {"when": "numeric", "u": "numeric"},
        [18266.75, 1.5],
        {},
    ),
    "american-dates": ("day,u\n01/05/2020,1.5\n12/31/2020,2.5\n", {"day": "numeric", "u": "numeric"}, [18266, 1.5], {}),
    "constant-and-blank-columns": (
        "k,u,e\n7,1.5,\n7,2.5,\n",
        {"u": "numeric"},
        [1.5],
        {"k": "a single value", "e": "all blank"},
    ),
    "duplicate-names": (f"u,u\n{FIVE}", {"u": "numeric", "u.1": "numeric"}, [1.5, 2.5], {}),
    "comments": (f"# made by hand\nu,v\n{FIVE}# the end\n", {"u": "numeric", "v": "numeric"}, [1.5, 2.5], {}),
    "savetxt-header": (f"# u,v\n{FIVE}", {"u": "numeric", "v": "numeric"}, [1.5, 2.5], {}),
    "repeated-header": (f"u,v\n{FIVE}u,v\n{FIVE}", {"u": "numeric", "v": "numeric"}, [1.5, 2.5], {}),
    "thousands": ('u,v\n"1,200",1.5\n"13,500",2.5\n80,3.5\n', {"u": "numeric", "v": "numeric"}, [1200, 1.5], {}),
    "percent": ("u,v\n12%,1.5\n7.5%,2.5\n", {"u": "numeric", "v": "numeric"}, [12, 1.5], {}),
    "percent-in-part": ("u,v\n12%,1.5\n0.3,2.5\n5%,1\n", {"u": "categorical", "v": "numeric"}, [1, 1.5], {}),
    "currency": ('u,v\n"$1,200.50",1.5\n-$3,2.5\n', {"u": "numeric", "v": "numeric"}, [1200.5, 1.5], {}),
    "huge-numbers": (
        "u,v\n1e300,12345678901234567890\n-1e-300,1\n",
        {"u": "numeric", "v": "numeric"},
        [1e300, 12345678901234567890.0],
        {},
    ),
    "beyond-integers": (
        "u,v\n9223372036854775808.64,\n0.5,1.5\n2.5,3.5\n",
        {"u": "numeric", "v": "numeric"},
        [9223372036854775808.64, NAN],
        {},
    ),
    "postal-codes": (
        "zip,u\n" + lines(*(f"0{i % 3}234,{x}" for i, x in enumerate(MANY))),
        {"zip": "categorical", "u": "numeric"},
        [0, MANY[0]],
        {},
    ),
    "one-column": ("u\n1.5\n2.5\n4.5\n", {"u": "numeric"}, [1.5], {}),
    "one-row": ("u,v\n1.5,2.5\n", {"u": "numeric", "v": "numeric"}, [1.5, 2.5], {}),
    "gzip.csv.gz": (gzip.compress(f"u,v\n{FIVE}".encode()), {"u": "numeric", "v": "numeric"}, [1.5, 2.5], {}),
}

#: Name: content, and the sentence that refuses it.
REFUSED = {
    "empty": ("", "empty.csv is empty"),
    "header-only": ("u,v\n", "has a header and no rows"),
    "ragged": (f"u,v\n{FIVE}1,2,3\n", "Line 7 of ragged.csv has 3 values, the first has 2: mend that line, or use --text"),
    "short-line": (f"u,v\n{FIVE}1\n", "Line 7 of short-line.csv has 1 value, the first has 2"),
    "junk": (bytes(range(256)), "junk.csv is not text: byte 0 is 0. Save the data as .csv in UTF-8"),
    "zip-archive": (b"PK\x03\x04\x14\0\0\0\x08\0", "zip-archive.csv is not text"),
    "damaged.csv.gz": (gzip.compress(FIVE.encode())[:-9], "damaged.csv.gz is cut short or damaged"),
    "open-quote-in-a-small-file": (f'u,v\n{FIVE}1,"2\n{FIVE}', "Line 7 of .*.csv opens a quote that is never closed"),
    "open-quote": ('u,v\n1,"' + "2,3\n" * 50_000, "is a closing quote missing?"),
    "infinite": (
        "u,v\n1,x\ninf,y\n2,z\n",
        r"must be finite or blank. Got inf in row 1 \(u\): make such cells blank \(--blank inf,-inf\), .* \(--drop u\)",
    ),
    "texts-among-numbers": (
        "u,v\n" + lines(*(f"{x},{'low' if i == 3 else y}" for i, (x, y) in enumerate(numbers(40)))),
        r"One column has texts among its numbers: v \('low' in row 3\); .* --blank, or use --categorical v or --drop v",
    ),
    "texts-among-numbers-twice": (
        "u,v,w\n" + lines(*(f"{x},{y},{'<5' if i == 3 else i + 0.5}" for i, (x, y) in enumerate(numbers(40))), "none,1,2"),
        r"2 columns have texts among their numbers: u \('none' in row 40\), w \('<5' in row 3\)",
    ),
    "nothing-left": ("id,k\n1,7\n2,7\n", r"No column is left .* Set aside: id \(row numbers\), k \(a single value\)"),
    "prose": ("I came, I saw, I won\nYes, no\nA, b, c, d\n", "mend that line, or use --text for one text per line"),
}


@pytest.fixture(params=["pyarrow", "csv"])
def parser(request, monkeypatch):
    if request.param == "csv":
        monkeypatch.setitem(sys.modules, "pyarrow", None)


def written(folder, name, content):
    path = folder / (name if "." in name else f"{name}.csv")
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def test_there_are_enough():
    assert len(READ) + len(REFUSED) >= 40


@pytest.mark.parametrize("name", READ)
def test_read_right(name, parser, tmp_path):
    content, kinds, first, aside = READ[name]
    data = read_data(written(tmp_path, name, content))
    assert data.names == list(kinds)
    if isinstance(data.X, MixedRows):
        assert {column.name: column.kind for column in data.X.columns} == kinds
        values = data.X.values
    else:
        assert set(kinds.values()) == {"numeric"}
        values = data.X
        assert not np.isnan(values).any()
    assert values.dtype == np.float64
    np.testing.assert_array_equal(values[0], first)
    if FIVE.encode() in (content if isinstance(content, bytes) else content.encode()):
        np.testing.assert_array_equal(values[:5], FIVE_ROWS)
    for column, reason in aside.items():
        assert f"{column} ({reason})" in "\n".join(data.lines)
    assert ("set aside" in "\n".join(data.lines)) == bool(aside)


@pytest.mark.parametrize("name", REFUSED)
def test_refused_in_one_sentence(name, parser, tmp_path):
    content, sentence = REFUSED[name]
    with pytest.raises(ValueError, match=sentence) as refusal:
        read_data(written(tmp_path, name, content))
    assert "\n" not in str(refusal.value)
    assert len(str(refusal.value)) < 300


def test_a_hundred_thousand_columns(tmp_path):
    X = RNG.normal(size=(4, 100_000)).round(3)
    path = written(tmp_path, "wide", joined([[f"c{j}" for j in range(100_000)], *X]))
    np.testing.assert_array_equal(read_data(path).X, X)


def test_options_win(tmp_path):
    path = written(tmp_path, "a", "id,zip,n,u\n1,10115,3,-999\n2,20095,x,1.5\n3,10115,4,2.5\n4,1,5,3.5\n5,2,7,1\n")
    data = read_data(path, categorical=["zip"], numeric=["id"], blank=["x", "-999"], drop=["3-3"])
    assert [(column.name, column.kind) for column in data.X.columns] == [
        ("id", "numeric"),
        ("zip", "categorical"),
        ("n", "numeric"),
    ]
    assert data.X.columns[1].categories == ("1", "2", "10115", "20095")
    np.testing.assert_array_equal(data.X.values[:, 2], [3, NAN, 4, 5, 7])
    assert data.ids is None
    data = read_data(path, columns=["u"], id="zip")
    assert (data.ids, data.id_name) == (["10115", "20095", "10115", "1", "2"], "zip")
    assert data.X.shape == (5, 1)
    with pytest.raises(ValueError, match="a.csv has no column 'age', 'sex'; it has id, zip, n, u"):
        read_data(path, drop=["age", "sex"])
    with pytest.raises(ValueError, match=r"texts among its numbers: n \('x' in row 1\)"):
        read_data(path, numeric=["n"])


def test_texts(tmp_path):
    prose = "The cat sat on the mat.\n\nDogs and cats: a story\nA dog\n"
    data = read_data(written(tmp_path, "prose.txt", prose))
    assert data.X.shape == (3, len(data.names))
    assert data.names == ["cat", "cats", "dog", "dogs", "mat", "sat", "story"]
    assert data.lines == ["texts: 3, with 7 different words (lower case, two letters or more, no English stop words)"]
    frame = written(tmp_path, "reviews", 'id,stars,review\na1,5,"Good, good"\nb2,1,bad\nc3,2,\n')
    data = read_data(frame, text="review")
    assert data.names == ["bad", "good"]
    assert data.X.toarray().tolist() == [[0, 2], [1, 0], [0, 0]]
    assert data.ids == ["a1", "b2", "c3"]
    lines = read_data(frame, text="")
    assert lines.X.shape[0] == 4
    assert lines.lines[0] == "every line is a text, also the first; --text COLUMN for the texts of a column: id, stars, review"
    assert len(read_data(written(tmp_path, "prose", prose), text="").lines) == 1
    with pytest.raises(ValueError, match="has no column 'comment'"):
        read_data(frame, text="comment")
    with pytest.raises(ValueError, match="The texts have no words to count"):
        read_data(frame, text="stars")


def test_matrices_and_their_vocabulary(tmp_path):
    X = numbers(5, 3)
    np.save(tmp_path / "a.npy", X)
    (tmp_path / "words.txt").write_text("ape\nbee\ncat\n")
    data = read_data(tmp_path / "a.npy", vocabulary=tmp_path / "words.txt", drop=["bee"])
    np.testing.assert_array_equal(data.X, X[:, [0, 2]])
    assert data.names == ["ape", "cat"]
    X[1, 2] = np.nan
    np.save(tmp_path / "a.npy", X)
    data = read_data(tmp_path / "a.npy")
    assert isinstance(data.X, MixedRows)
    assert data.lines == ["columns: 3 numeric; 1 of 15 cells are blank"]
    with pytest.raises(ValueError, match="--id, --numeric: only for files of columns, such as .csv. Got 'a.npy' instead"):
        read_data(tmp_path / "a.npy", id="0", numeric=["1"])
    np.save(tmp_path / "b.npy", X[:, :2])
    with pytest.raises(ValueError, match="words.txt must have 2 words, one per line. It has 3"):
        read_data(tmp_path / "b.npy", vocabulary=tmp_path / "words.txt")
    with pytest.raises(ValueError, match="--vocabulary is for matrices without names of columns. b.csv has them"):
        read_data(written(tmp_path, "b", FIVE), vocabulary=tmp_path / "words.txt")
