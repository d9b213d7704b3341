"""The estimator on counts: what it takes, what it refuses, and what it says of clusters."""

from __future__ import annotations

import json

import numpy as np
import pytest
import scipy.sparse
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.metrics import adjusted_rand_score
from sklearn.pipeline import make_pipeline

import hashmix as hm
from hashmix.cli import main
from hashmix.data.counts import as_counts
from hashmix.paper import make_documents

ANIMALS = ["cat dog cat", "dog dog cat fish", "fish cat dog", "cat fish fish", "dog cat", "cat cat dog"]
TREES = ["oak elm oak", "elm elm ash", "ash oak elm", "oak ash", "elm oak ash ash", "oak oak elm"]


@pytest.fixture(scope="module")
def documents():
    X, y = make_documents(300, n_words=400, n_topics=4, concentration=40.0, mean_words=25, seed=1)
    return X, y


@pytest.fixture(scope="module")
def fitted(documents):
    return hm.SplitMergeMixture(random_state=0, n_draws=20).fit(documents[0])


def test_finds_topics(documents, fitted):
    X, y = documents
    assert isinstance(fitted.component_, hm.components.DirichletMultinomial)
    assert adjusted_rand_score(y, fitted.labels_) > 0.95
    assert adjusted_rand_score(y, fitted.predict(X)) > 0.95
    np.testing.assert_allclose(fitted.predict_proba(X[:5]).sum(axis=1), 1.0)
    assert np.isfinite(fitted.score(X))
    rows, clusters = fitted.sample(20)
    assert scipy.sparse.issparse(rows)
    assert rows.shape == (20, 400)
    assert len(clusters) == 20


def test_texts_in_a_pipeline():
    model = hm.SplitMergeMixture(hm.components.DirichletMultinomial(0.3), random_state=0)
    pipeline = make_pipeline(CountVectorizer(), model)
    labels = pipeline.fit_predict(ANIMALS + TREES)
    assert adjusted_rand_score([0] * 6 + [1] * 6, labels) == 1.0
    top = model.top_words(3, feature_names=pipeline[0].get_feature_names_out())
    assert {word.name for word in top[labels[0]]} == {"cat", "dog", "fish"}
    assert all(word.lift > 1.5 for word in top[labels[0]])


def test_words_and_rows_that_stand_for_clusters(documents, fitted):
    X, _ = documents
    for by in ("probability", "lift"):
        top = fitted.top_words(5, by)
        assert len(top) == fitted.n_clusters_
        for c, words in enumerate(top):
            values = [getattr(word, by) for word in words]
            assert values == sorted(values, reverse=True)
            mine = np.asarray(X[fitted.labels_ == c].sum(axis=0)).ravel()
            assert all(mine[int(word.name)] > 0 for word in words)
    profile = (np.asarray(X[fitted.labels_ == 0].sum(axis=0)).ravel() + fitted.component_.concentration).max()
    total = X[fitted.labels_ == 0].sum() + 400 * fitted.component_.concentration
    assert fitted.top_words(1)[0][0].probability == pytest.approx(float(profile / total), rel=1e-9)
    for c, rows in enumerate(fitted.representatives(X, 4)):
        assert (fitted.labels_[rows] == c).all()
        assert len(set(rows.tolist())) == len(rows) == 4


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda model, X: model.top_words(0), "'n_words' parameter"),
        (lambda model, X: model.top_words(by="size"), "'by' parameter of SplitMergeMixture must be one of"),
        (lambda model, X: model.top_words(feature_names=["a"]), "'feature_names' parameter .* 400 names"),
        (lambda model, X: model.representatives(X[:10]), "the 300 rows the model was fitted on"),
    ],
)
def test_bad_questions(call, sentence, documents, fitted):
    with pytest.raises(ValueError, match=sentence):
        call(fitted, documents[0])


def test_words_are_for_counts(three_blobs):
    model = hm.SplitMergeMixture(random_state=0, n_draws=2, n_warmup=2).fit(three_blobs[0])
    with pytest.raises(ValueError, match="top_words needs a component with words"):
        model.top_words()


GOOD = np.array([[1, 0, 2], [0, 3, 0], [1, 1, 0], [0, 0, 0]])


def run(X, component="multinomial"):
    return hm.sample(X, component, n_draws=2, n_warmup=1, random_state=0)


@pytest.mark.parametrize("kind", [np.int8, np.uint8, np.int16, np.int64, np.uint64, np.float32, np.float64, bool])
@pytest.mark.parametrize("sparse", [False, True])
def test_any_type_of_number(kind, sparse):
    X = (GOOD > 0).astype(kind)
    expected = run(GOOD > 0).labels
    np.testing.assert_array_equal(run(scipy.sparse.csr_matrix(X) if sparse else X).labels, expected)


def test_any_sparse_matrix():
    expected = run(GOOD).labels
    messy = scipy.sparse.csr_matrix(
        (np.array([1, 1, 1, 3, 0, 1, 1]), np.array([2, 0, 2, 1, 2, 1, 0]), np.array([0, 3, 5, 7, 7])), shape=(4, 3)
    )  # unsorted, a duplicate, an explicit zero
    np.testing.assert_array_equal(messy.toarray(), GOOD)
    before = messy.data.copy(), messy.indices.copy()
    for X in (messy, scipy.sparse.csc_matrix(GOOD), scipy.sparse.coo_array(GOOD), scipy.sparse.lil_matrix(GOOD)):
        np.testing.assert_array_equal(run(X).labels, expected)
    np.testing.assert_array_equal(messy.data, before[0])  # what was given is as it was
    np.testing.assert_array_equal(messy.indices, before[1])


def test_nothing_is_copied_that_is_right():
    X = scipy.sparse.csr_matrix(GOOD.astype(np.uint8))
    rows = as_counts(X, "sample").arrays
    assert np.shares_memory(rows.columns, X.indices)
    assert np.shares_memory(rows.values, X.data)
    assert as_counts(GOOD * 200, "sample").arrays.values.dtype == np.int32


@pytest.mark.parametrize(
    ("X", "component", "sentence"),
    [
        (GOOD - 1, "multinomial", r"of counts .* Got -1 in row 0, column 1"),
        (GOOD * 0.5, "poisson", r"of counts .* Got 0.5 in row 0, column 0"),
        (scipy.sparse.csr_matrix(GOOD * 0.5), "auto", r"takes sparse matrices, .* Got 0.5 in row 0, column 0"),
        (GOOD, "bernoulli", r"of 0 and 1 only. Got 2 in row 0, column 2"),
        (np.where(GOOD == 3, np.nan, GOOD), "multinomial", r"Got NaN in row 1, column 1"),
        (np.where(GOOD == 3, np.inf, GOOD), "multinomial", r"Got inf in row 1, column 1"),
        (np.full((2, 2), 2**31), "poisson", r"less than 2\^31"),
        (scipy.sparse.csr_matrix((0, 3)), "multinomial", "at least one row and one column"),
        (np.array([["a"]]), "multinomial", "a matrix of counts"),
        (GOOD[0], "multinomial", "a matrix of at least one row"),
        (scipy.sparse.csr_matrix(GOOD), "gaussian", "a dense array"),
    ],
)
def test_bad_counts_get_one_sentence(X, component, sentence):
    with pytest.raises(ValueError, match=sentence):
        run(X, component)


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda: hm.components.DirichletMultinomial(0.0), "'concentration' parameter of DirichletMultinomial"),
        (lambda: hm.components.DirichletMultinomial([1.0, -1.0]), "'concentration' parameter"),
        (lambda: run(GOOD, hm.components.DirichletMultinomial([1.0, 1.0])), "'concentration' parameter .* 3 of them"),
        (lambda: hm.components.GammaPoisson(1.0, 0.0), "'rate' parameter of GammaPoisson"),
        (lambda: hm.components.BetaBernoulli(1.0, "a"), "'beta' parameter of BetaBernoulli"),
        (lambda: make_documents(0), "'n_docs' parameter of make_documents"),
    ],
)
def test_bad_parameters(make, sentence):
    with pytest.raises(ValueError, match=sentence):
        make()


def test_only_empty_rows():
    X = scipy.sparse.csr_matrix((6, 4), dtype=np.uint8)
    for component in ("multinomial", "poisson", "bernoulli"):
        assert run(X, component).labels.shape == (1, 2, 6)


def test_starting_values_are_forgotten(documents):
    """K from concentrations of a hundredth, a third and ten times the default, learned: one apart at most."""
    X, _ = documents
    found = []
    for start in (0.003, 0.1, 3.0):
        component = hm.components.DirichletMultinomial(start, learn=True)
        found.append(hm.SplitMergeMixture(component, random_state=0, n_draws=20).fit(X).n_clusters_)
    assert max(found) - min(found) <= 1, found


def test_command_line(documents, tmp_path, monkeypatch, capsys):
    X, _ = documents
    monkeypatch.chdir(tmp_path)
    words = np.frombuffer("\n".join(f"word{j}" for j in range(400)).encode(), np.uint8)
    np.savez("texts.npz", data=X.data, indices=X.indices, indptr=X.indptr, shape=X.shape, vocab=words)
    assert main(["fit", "texts.npz", "--draws", "10", "--chains", "1", "--quiet"]) == 0
    printed = capsys.readouterr().out
    assert "300 rows, 400 columns: 4 clusters" in printed
    assert "rows in cluster 0: word" in printed
    folder = tmp_path / "texts-clusters"
    summary = json.loads((folder / "summary.json").read_text())
    assert summary["clusters"][0]["top_words"][0]["name"].startswith("word")
    assert summary["clusters"][0]["representative_rows"]
    assert (folder / "words.png").stat().st_size > 10_000
