"""UCI bags of words: a round trip, and error messages that name the bad line."""

from __future__ import annotations

import gzip

import numpy as np
import pytest
import scipy.sparse

from hashmix.data.readers import docword, read_docword, read_file

X = np.array([[2, 0, 1, 0], [0, 0, 0, 0], [0, 300, 0, 1]])
DOCWORD = "3\n4\n4\n1 1 2\n1 3 1\n3 2 300\n3 4 1\n"


@pytest.fixture(params=[".txt", ".txt.gz"])
def path(request, tmp_path):
    path = tmp_path / f"docword.counts{request.param}"
    path.write_bytes(gzip.compress(DOCWORD.encode()) if request.param.endswith("gz") else DOCWORD.encode())
    return path


def test_round_trip(path):
    found, names = read_file(path)
    np.testing.assert_array_equal(found.toarray(), X)
    assert names == ["0", "1", "2", "3"]
    some, names = read_file(path, ["3", "0"])
    np.testing.assert_array_equal(some.toarray(), X[:, [3, 0]])
    assert names == ["3", "0"]


def test_read_table_shows_progress(path, capsys):
    found, _ = read_file(path, progress=True)
    np.testing.assert_array_equal(found.toarray(), X)
    err = capsys.readouterr().err
    assert path.name in err
    assert "entries" in err
    read_file(path)
    assert capsys.readouterr().err == ""


def test_vocabulary_in_the_same_folder(path, tmp_path):
    (tmp_path / "vocab.counts.txt").write_text("ape\nbee\ncat\ndog\n")
    found, words = read_docword(path)
    assert words == ["ape", "bee", "cat", "dog"]
    assert found.dtype == np.int32
    some, words = read_file(path, ["dog", "0"])
    np.testing.assert_array_equal(some.toarray(), X[:, [3, 0]])
    assert words == ["dog", "ape"]
    (tmp_path / "vocab.counts.txt").write_text("ape\nbee\n")
    with pytest.raises(ValueError, match=r"vocab.counts.txt must have 4 words, one per line. It has 2"):
        read_docword(path)
    (tmp_path / "vocab.counts.txt").unlink()
    (tmp_path / "vocab.counts.txt.gz").write_bytes(gzip.compress(b"ape\r\nbee\r\ncat\r\ndog"))
    assert read_docword(path)[1] == ["ape", "bee", "cat", "dog"]


def test_vocabulary_elsewhere(path, tmp_path):
    (tmp_path / "words.txt").write_text("w\nx\ny\nz\n")
    assert read_docword(path, tmp_path / "words.txt")[1] == ["w", "x", "y", "z"]
    with pytest.raises(FileNotFoundError, match="There is no file .*none.txt"):
        read_docword(path, tmp_path / "none.txt")


def test_block_size_does_not_matter(tmp_path, monkeypatch):
    rng = np.random.default_rng(0)
    wide = scipy.sparse.random(200, 50, 0.2, "csr", random_state=0, data_rvs=lambda k: rng.integers(1, 9, k)).astype(np.uint8)
    lines = [f"{i + 1} {j + 1} {wide[i, j]}" for i, j in zip(*wide.nonzero(), strict=True)]
    path = tmp_path / "docword.wide.txt"
    path.write_text("\n".join(["200", "50", str(len(lines)), *lines]))  # and no newline at the end
    for block in (40, 1000, 1 << 24):
        monkeypatch.setattr(docword, "_BLOCK", block)
        found, _ = read_docword(path)
        assert found.dtype == np.uint8
        assert (found != wide).nnz == 0


def test_large_counts_after_small_ones(tmp_path, monkeypatch):
    monkeypatch.setattr(docword, "_BLOCK", 8)  # one line per block: values change type on the way
    path = tmp_path / "docword.grow.txt"
    path.write_text("2\n2\n3\n1 1 200\n1 2 70000\n2 1 3\n")
    assert read_docword(path)[0].toarray().tolist() == [[200, 70000], [3, 0]]


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("3\n4\nmany\n1 1 1\n", "must begin with .* one per line. Got b'many.*' in line 3"),
        ("3\n4\n2\n1 1 1\n", "cut short: it ends in line 4, after 1 of 2 entries"),
        ("3\n4\n1\n1 1 1\n2 1 1\n", "more entries than the 1 .* line 5"),
        ("3\n4\n2\n1 1 1\n2 x 1\n", "Line 5 .* must be docID wordID count. Got '2 x 1'"),
        ("3\n4\n2\n1 1 1\n2 1\n", "Line 5 .* must be docID wordID count"),
        ("3\n4\n2\n1 1 1\n2 1 1 1\n", "Line 5 .* must be docID wordID count"),
        ("3\n4\n2\n1 1 1\n2 5 1\n", "Line 5 .* a wordID from 1 to 4"),
        ("3\n4\n2\n2 1 1\n1 1 1\n", "Line 5 .* a docID from 2 to 3, in order"),
        ("3\n4\n2\n1 1 1\n4 1 1\n", "Line 5 .* a docID from 1 to 3, in order"),
        ("3\n4\n2\n1 1 1\n2 1 0\n", "Line 5 .* a count ≥ 1"),
        ("3\n4\n2\n1 1 1\n2 1 -2\n", "Line 5 .* must be docID wordID count"),
        ("3\n4\n2\n1 1 1\n\n2 1 1\n", "Line 5 .* must be docID wordID count"),
        ("", "must begin with"),
        ("3\n99999999999\n1\n1 1 1\n", "announces 3 rows and 99,999,999,999 columns for 1 number: it is damaged"),
        ("3\n4\n99999999999\n1 1 1\n", "it is too small for 99,999,999,999 entries"),
    ],
)
@pytest.mark.parametrize("block", [7, 1 << 24])
def test_damaged_files_name_the_line(text, sentence, block, tmp_path, monkeypatch):
    monkeypatch.setattr(docword, "_BLOCK", block)
    path = tmp_path / "docword.bad.txt"
    path.write_text(text)
    with pytest.raises(ValueError, match=sentence):
        read_file(path)


def test_files_that_cannot_be_read(tmp_path):
    whole = gzip.compress(DOCWORD.encode() * 50)
    (tmp_path / "docword.cut.txt.gz").write_bytes(whole[: len(whole) // 2])
    with pytest.raises(ValueError, match=r"docword.cut.txt.gz is cut short or damaged"):
        read_file(tmp_path / "docword.cut.txt.gz")
    with pytest.raises(FileNotFoundError, match="There is no file"):
        read_docword(tmp_path / "docword.none.txt")
