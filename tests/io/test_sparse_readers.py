"""Sparse files: what is written comes back, and what is damaged says where."""

from __future__ import annotations

import gzip

import numpy as np
import pytest
import scipy.io
import scipy.sparse
from sklearn.datasets import dump_svmlight_file

from hashmix.io import read_docword, read_table

X = scipy.sparse.csr_matrix(np.array([[2, 0, 1, 0], [0, 0, 0, 0], [0, 300, 0, 1]]))
DOCWORD = "3\n4\n4\n1 1 2\n1 3 1\n3 2 300\n3 4 1\n"


def write(folder, kind):
    path = folder / f"counts{kind}"
    if kind == ".npz":
        scipy.sparse.save_npz(path, X)
    elif kind == "-plain.npz":
        words = np.frombuffer("ape\nbée\ncat\ndog".encode(), np.uint8)
        np.savez(path, data=X.data, indices=X.indices, indptr=X.indptr, shape=X.shape, y=np.zeros(3), vocab=words)
    elif kind == ".svmlight":
        dump_svmlight_file(X, np.zeros(3), str(path))
    elif kind == ".mtx":
        scipy.io.mmwrite(path, X)
    else:
        path = folder / f"docword.counts{kind}"
        path.write_bytes(gzip.compress(DOCWORD.encode()) if kind.endswith("gz") else DOCWORD.encode())
    return path


@pytest.mark.parametrize("kind", [".npz", "-plain.npz", ".svmlight", ".mtx", ".txt", ".txt.gz"])
def test_what_is_written_comes_back(kind, tmp_path):
    found, names = read_table(write(tmp_path, kind))
    np.testing.assert_array_equal(found.toarray(), X.toarray())
    assert names == (["ape", "bée", "cat", "dog"] if kind == "-plain.npz" else ["0", "1", "2", "3"])
    some, names = read_table(write(tmp_path, kind), ["3", "0"])
    np.testing.assert_array_equal(some.toarray(), X.toarray()[:, [3, 0]])


def test_words_beside_a_bag_of_words(tmp_path):
    path = write(tmp_path, ".txt.gz")
    (tmp_path / "vocab.counts.txt").write_text("ape\nbee\ncat\ndog\n")
    found, words = read_docword(path)
    assert words == ["ape", "bee", "cat", "dog"]
    assert found.dtype == np.int32
    (tmp_path / "vocab.counts.txt").write_text("ape\nbee\n")
    with pytest.raises(ValueError, match=r"vocab.counts.txt must have 4 words, one a line. It has 2"):
        read_docword(path)


def test_blocks_do_not_matter(tmp_path, monkeypatch):
    rng = np.random.default_rng(0)
    wide = scipy.sparse.random(200, 50, 0.2, "csr", random_state=0, data_rvs=lambda k: rng.integers(1, 9, k)).astype(np.uint8)
    lines = [f"{i + 1} {j + 1} {wide[i, j]}" for i, j in zip(*wide.nonzero(), strict=True)]
    path = tmp_path / "docword.wide.txt"
    path.write_text("\n".join(["200", "50", str(len(lines)), *lines]))  # and no newline at the end
    for block in (40, 1000, 1 << 24):
        monkeypatch.setattr("hashmix.io.sparse_readers._BLOCK", block)
        found, _ = read_docword(path)
        assert found.dtype == np.uint8
        assert (found != wide).nnz == 0


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("3\n4\nmany\n1 1 1\n", "must begin with .* Got b'many.*' in line 3"),
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
    ],
)
def test_damaged_bags_of_words_say_where(text, sentence, tmp_path):
    path = tmp_path / "docword.bad.txt"
    path.write_text(text)
    with pytest.raises(ValueError, match=sentence):
        read_table(path)


def test_damaged_files_say_so(tmp_path):
    whole = gzip.compress(DOCWORD.encode() * 50)
    (tmp_path / "docword.cut.txt.gz").write_bytes(whole[: len(whole) // 2])
    with pytest.raises(ValueError, match=r"docword.cut.txt.gz is cut short or damaged"):
        read_table(tmp_path / "docword.cut.txt.gz")
    (tmp_path / "bad.mtx").write_text("not a matrix")
    with pytest.raises(ValueError, match=r"bad.mtx is not a Matrix Market file"):
        read_table(tmp_path / "bad.mtx")
    (tmp_path / "bad.svm").write_text("1 a:b\n")
    with pytest.raises(ValueError, match=r"bad.svm is not an svmlight file"):
        read_table(tmp_path / "bad.svm")
    np.savez(tmp_path / "bad.npz", data=X.data, indices=X.indices + 9, indptr=X.indptr, shape=X.shape)
    with pytest.raises(ValueError, match=r"bad.npz does not hold a sparse matrix"):
        read_table(tmp_path / "bad.npz")
    with pytest.raises(FileNotFoundError, match="There is no file"):
        read_docword(tmp_path / "docword.none.txt")
