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
        ("bad.svm", b"1 a:b\n", "bad.svm is not an svmlight file"),
        ("bad.svm.gz", b"not gzip", "bad.svm.gz is not an svmlight file"),
    ],
)
def test_malformed_files(name, content, sentence, tmp_path):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(ValueError, match=sentence):
        read_file(tmp_path / name)
