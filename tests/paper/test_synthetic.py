"""Synthetic mixtures and documents: shapes, seeds, oracles and rejected parameters."""

from __future__ import annotations

import numpy as np
import pytest

from hashmix.paper import make_documents, make_mixture


@pytest.mark.parametrize("covariance", ["diagonal", "full"])
def test_mixtures(covariance):
    X, y, oracle = make_mixture(3000, 6, 4, separation=12.0, seed=3, covariance=covariance, return_oracle=True)
    assert X.shape == (3000, 6)
    assert set(np.unique(y)) <= set(range(4))
    assert (y == oracle).mean() > 0.95
    again = make_mixture(3000, 6, 4, separation=12.0, seed=3, covariance=covariance)
    assert len(again) == 2
    np.testing.assert_array_equal(again[0], X)
    assert not np.array_equal(make_mixture(3000, 6, 4, seed=4, covariance=covariance)[0], X)


def test_documents():
    X, y, oracle = make_documents(400, n_words=300, n_topics=3, concentration=30.0, mean_words=20, seed=1, return_oracle=True)
    assert X.shape == (400, 300)
    assert X.dtype == np.uint8
    assert X.has_canonical_format
    assert X.data.min() >= 1
    assert (y == oracle).mean() > 0.95
    assert 10 < np.diff(X.indptr).mean() < 30
    frequencies = np.asarray(X.sum(axis=0)).ravel()
    assert frequencies[:30].sum() > frequencies[150:].sum()  # Zipf
    again, labels = make_documents(400, n_words=300, n_topics=3, concentration=30.0, mean_words=20, seed=1)
    assert (again != X).nnz == 0
    np.testing.assert_array_equal(labels, y)


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda: make_mixture(0, 2, 2), "'n' parameter of make_mixture must be an integer ≥ 1"),
        (lambda: make_mixture(5, 2, 2, separation=-1.0), "'separation' parameter of make_mixture"),
        (lambda: make_mixture(5, 2, 2, covariance="round"), "'covariance' parameter of make_mixture must be one of"),
        (lambda: make_mixture(5, 2, 2, return_oracle=1), "'return_oracle' parameter of make_mixture"),
        (lambda: make_documents(0), "'n_docs' parameter of make_documents"),
        (lambda: make_documents(5, n_words=1), "'n_words' parameter of make_documents must be an integer ≥ 2"),
        (lambda: make_documents(5, mean_words=0), "'mean_words' parameter of make_documents"),
    ],
)
def test_rejected_parameters(make, sentence):
    with pytest.raises(ValueError, match=sentence):
        make()
