"""The data sets of the paper: files in every format, the stand-in, and passing data to other processes."""

from __future__ import annotations

import gzip

import numpy as np
import pytest
from scipy.sparse import issparse, save_npz

from hashmix.paper import make_documents
from hashmix.paper.datasets import MissingData, load, read_data, write_data


def test_kdd_files(tmp_path):
    X = np.random.default_rng(0).normal(size=(5, 74)).round(3).astype(np.float32)
    with pytest.raises(MissingData, match="KDD needs a file"):
        load("KDD", tmp_path)
    np.savez(tmp_path / "kdd.npz", X=X)
    assert np.array_equal(load("KDD", tmp_path).X, X)
    np.savetxt(tmp_path / "KDDCUP04Bio.txt", X + 1.0)
    assert pytest.approx(X + 1.0) == load("KDD", tmp_path).X
    np.savetxt(tmp_path / "bio_train.dat", np.column_stack([np.arange(15).reshape(5, 3), X + 2.0]), delimiter="\t")
    data = load("KDD", tmp_path)
    assert pytest.approx(X + 2.0) == data.X
    assert data.X.flags.c_contiguous
    assert data.y is None
    assert load("KDD", file=tmp_path / "kdd.npz").about.startswith("kdd.npz, 5 rows")
    np.savetxt(tmp_path / "few.txt", X[:, :3])
    with pytest.raises(ValueError, match="must have 74 columns"):
        load("KDD", file=tmp_path / "few.txt")
    with pytest.raises(MissingData, match="There is no file"):
        load("KDD", file=tmp_path / "missing.txt")
    (tmp_path / "empty.txt").touch()
    with pytest.raises(ValueError, match=r"empty.txt is not a table of numbers \(loadtxt: input contained no data"):
        load("KDD", file=tmp_path / "empty.txt")
    X[3, 5] = np.nan
    np.savez(tmp_path / "nan.npz", X=X)
    with pytest.raises(ValueError, match="finite numbers only. Got NaN in row 3, column 5"):
        load("KDD", file=tmp_path / "nan.npz")


def test_pubmed_files(tmp_path):
    stand_in = load("PubMed", documents=50)
    assert "a stand-in, not PubMed" in stand_in.about
    assert stand_in.X.shape == (50, 141_043)
    X, _ = make_documents(20, n_words=30, n_topics=2, mean_words=5)
    save_npz(tmp_path / "pubmed.npz", X)
    assert (X[:7] != load("PubMed", tmp_path, documents=7).X).nnz == 0
    coo = X.tocoo()
    lines = sorted(zip(coo.row + 1, coo.col + 1, coo.data, strict=True))
    with gzip.open(tmp_path / "docword.pubmed.txt.gz", "wt") as file:
        file.write(f"20\n30\n{X.nnz}\n" + "".join(f"{d} {w} {c}\n" for d, w, c in lines))
    (tmp_path / "vocab.pubmed.txt").write_text("".join(f"w{j}\n" for j in range(30)))
    data = load("PubMed", tmp_path)
    assert (data.X != X).nnz == 0
    assert data.about == "docword.pubmed.txt.gz, 20 documents, 30 words"
    arrays = {"data": X.data, "indices": X.indices, "indptr": X.indptr, "shape": np.array(X.shape), "format": "csr"}
    np.savez(tmp_path / "some.npz", **arrays, y=np.where(np.arange(20) < 5, 1, -1))
    np.savez(tmp_path / "none.npz", **arrays, y=np.full(20, -1))
    assert (load("PubMed", file=tmp_path / "some.npz").y >= 0).sum() == 5
    assert load("PubMed", file=tmp_path / "none.npz").y is None
    save_npz(tmp_path / "negative.npz", -X.astype(np.int16))
    with pytest.raises(ValueError, match="negative|counts"):
        load("PubMed", file=tmp_path / "negative.npz")
    np.savez(tmp_path / "dense.npz", X=np.zeros((3, 2)))
    with pytest.raises(ValueError, match="must hold a sparse matrix"):
        load("PubMed", file=tmp_path / "dense.npz")


def test_separation_moves_the_means_of_the_synthetic_sets():
    far, near = load("S2"), load("S2", separation=2.0)
    assert "separation=9," in far.about
    assert "separation=2," in near.about
    assert (far.y == far.oracle).mean() > 0.999
    assert (near.y == near.oracle).mean() < 0.9


@pytest.mark.parametrize("name", ["S1", "PubMed"])
def test_data_sets_are_passed_on_unchanged(name, tmp_path):
    data = load(name, documents=30)
    write_data(tmp_path / "a.npz", data)
    again = read_data(tmp_path / "a.npz")
    assert (again.name, again.about) == (data.name, data.about)
    same = (again.X != data.X).nnz == 0 if issparse(data.X) else np.array_equal(again.X, data.X)
    assert same
    assert np.array_equal(again.oracle, data.oracle)
