"""svmlight and Matrix Market files."""

from __future__ import annotations

import gzip

import numpy as np
import pytest
import scipy.io
import scipy.sparse
from sklearn.datasets import dump_svmlight_file

from hashmix.data.readers import read_file

X = scipy.sparse.csr_matrix(np.array([[2, 0, 1, 0], [0, 0, 0, 0], [0, 300, 0, 1]]))


def write(folder, ending):
    path = folder / f"counts{ending.removesuffix('.gz')}"
    if ".mtx" in ending:
        scipy.io.mmwrite(path, X)
    else:
        dump_svmlight_file(X, np.zeros(3), str(path))
    if ending.endswith(".gz"):
        path, plain = path.with_name(f"{path.name}.gz"), path
        path.write_bytes(gzip.compress(plain.read_bytes()))
    return path


@pytest.mark.parametrize("ending", [".svm", ".svmlight", ".libsvm", ".svmlight.gz", ".mtx", ".mtx.gz"])
def test_round_trip(ending, tmp_path):
    path = write(tmp_path, ending)
    found, names = read_file(path)
    np.testing.assert_array_equal(found.toarray(), X.toarray())
    assert names == ["0", "1", "2", "3"]
    some, names = read_file(path, ["3", "0"])
    np.testing.assert_array_equal(some.toarray(), X.toarray()[:, [3, 0]])
    assert names == ["3", "0"]


@pytest.mark.parametrize(
    ("name", "content", "sentence"),
    [
        ("bad.mtx", b"not a matrix", "bad.mtx is not a Matrix Market file"),
        ("zero.mtx", b"%%MatrixMarket matrix array real general\n2 1\n1\0\n2\n", "it has text among its numbers"),
        ("more.mtx", b"%%MatrixMarket matrix array real general\n2 1\n1\n2\n3\n", "announces 2 numbers, and it has 3"),
        ("place.mtx", b"%%MatrixMarket matrix coordinate real general\n2 2 1\n3 1 5\n", "rows must be whole, from 1 to 2"),
        ("huge.mtx", b"%%MatrixMarket matrix coordinate real general\n2 999999999 1\n2 1 5\n", "it is damaged"),
        ("complex.mtx", b"%%MatrixMarket matrix array complex general\n1 1\n1 1\n", "its numbers are complex"),
        ("oblong.mtx", b"%%MatrixMarket matrix array real symmetric\n2 1\n1\n1\n", "symmetric and not square"),
        ("huge.svm", b"1 999999999:1\n", "huge.svm announces 1 row and 999,999,999 columns for 1 number: it is damaged"),
        ("bad.svm", b"1 a:b\n", "bad.svm is not an svmlight file"),
        ("bad.svm.gz", b"not gzip", "bad.svm.gz is not an svmlight file"),
    ],
)
def test_malformed_files(name, content, sentence, tmp_path):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(ValueError, match=sentence):
        read_file(tmp_path / name)


A = np.array([[1.5, -2.0, 0.0], [0.25, 3.0, 0.0], [-1.0, 0.0, 7.0]])


@pytest.mark.parametrize("make", [np.asarray, scipy.sparse.coo_matrix], ids=["dense", "sparse"])
@pytest.mark.parametrize(
    ("matrix", "symmetry"),
    [(A, "general"), (A + A.T, "symmetric"), (A - A.T, "skew-symmetric")],
    ids=["general", "symmetric", "skew"],
)
def test_matrix_market_as_scipy_reads_it(make, matrix, symmetry, tmp_path):
    scipy.io.mmwrite(tmp_path / "a.mtx", make(matrix), symmetry=symmetry)
    np.testing.assert_array_equal(read_file(tmp_path / "a.mtx")[0].toarray(), matrix)


def test_matrix_market_patterns(tmp_path):
    scipy.io.mmwrite(tmp_path / "a.mtx", scipy.sparse.coo_matrix(A != 0), field="pattern")
    np.testing.assert_array_equal(read_file(tmp_path / "a.mtx")[0].toarray(), A != 0)
