"""NumPy files: dense and sparse matrices, and the error messages for other arrays."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse

from hashmix.data.readers import read_file

X = np.array([[1.0, 2.5], [3.0, 4.5], [5.0, -6.0]])
COUNTS = scipy.sparse.csr_matrix(np.array([[2, 0, 1, 0], [0, 0, 0, 0], [0, 300, 0, 1]]))
PARTS = {"data": COUNTS.data, "indices": COUNTS.indices, "indptr": COUNTS.indptr, "shape": COUNTS.shape}


def test_sparse_matrix_saved_by_scipy(tmp_path):
    scipy.sparse.save_npz(tmp_path / "a.npz", COUNTS)
    found, names = read_file(tmp_path / "a.npz")
    np.testing.assert_array_equal(found.toarray(), COUNTS.toarray())
    assert names == ["0", "1", "2", "3"]
    found, names = read_file(tmp_path / "a.npz", ["3", "0"])
    np.testing.assert_array_equal(found.toarray(), COUNTS.toarray()[:, [3, 0]])
    assert names == ["3", "0"]


def test_vocabulary(tmp_path):
    words = np.frombuffer("ape\nbée\ncat\ndog".encode(), np.uint8)
    np.savez(tmp_path / "a.npz", **PARTS, y=np.zeros(3), vocab=words, format="csr")
    found, names = read_file(tmp_path / "a.npz")
    np.testing.assert_array_equal(found.toarray(), COUNTS.toarray())
    assert names == ["ape", "bée", "cat", "dog"]
    np.savez(tmp_path / "b.npz", **PARTS, vocab=words[:3])  # as many words as columns, or they are not names
    assert read_file(tmp_path / "b.npz")[1] == ["0", "1", "2", "3"]


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.npy", b"not numpy"),
        ("a.npz", b"PK\x03\x04broken"),
        ("open.npy", b"\x93NUMPY\x01\x00\x76\x00{'descr': '<f8', 'shape': (12, 3" + 84 * b" " + b"\n"),
    ],
)
def test_malformed_files(name, content, tmp_path):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(ValueError, match="is not a NumPy file of plain arrays"):
        read_file(tmp_path / name)


def test_other_arrays(tmp_path):
    np.save(tmp_path / "a.npy", np.arange(3))
    with pytest.raises(ValueError, match=r"must hold a matrix of numbers. Got shape \(3,\)"):
        read_file(tmp_path / "a.npy")
    np.save(tmp_path / "b.npy", np.array([[{}]], dtype=object), allow_pickle=True)
    with pytest.raises(ValueError, match="plain arrays"):
        read_file(tmp_path / "b.npy")
    np.savez(tmp_path / "c.npz", a=X, b=X)
    with pytest.raises(ValueError, match="an array named X, or a single matrix. It holds a, b"):
        read_file(tmp_path / "c.npz")
    np.savez(tmp_path / "d.npz", **PARTS | {"indices": COUNTS.indices + 9})
    with pytest.raises(ValueError, match=r"d.npz does not hold a sparse matrix"):
        read_file(tmp_path / "d.npz")
    np.savez(tmp_path / "wide.npz", **PARTS | {"shape": (3, 999_999_999)})
    with pytest.raises(ValueError, match=r"3 rows and 999,999,999 columns for 4 numbers: it is damaged"):
        read_file(tmp_path / "wide.npz")
    scipy.sparse.save_npz(tmp_path / "e.npz", COUNTS.tocsc())
    with pytest.raises(ValueError, match=r"e.npz must hold a sparse matrix in CSR format"):
        read_file(tmp_path / "e.npz")


def test_a_file_that_python_2_wrote(tmp_path):
    np.save(tmp_path / "a.npy", X)
    content = (tmp_path / "a.npy").read_bytes()
    (tmp_path / "a.npy").write_bytes(content.replace(b"(3, 2), }   ", b"(3L, 2L), } "))
    np.testing.assert_array_equal(read_file(tmp_path / "a.npy")[0], X)
