"""Bags of words that resemble PubMed abstracts: topics over a vocabulary with Zipf frequencies."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.sparse import csr_matrix

from hashmix.core.validation import check_integer, check_number

__all__ = ["make_documents"]

#: Standard deviation of the log lengths, and the mean number of tokens per distinct word.
_LENGTH_SD, _TOKENS_PER_WORD = 0.4, 1.3
#: Documents that the oracle scores at once.
_BLOCK = 2048


def make_documents(
    n_docs: int,
    n_words: int = 141_043,
    n_topics: int = 1000,
    concentration: float = 1000.0,
    mean_words: float = 90.0,
    seed: Any = 0,
    return_oracle: bool = False,
) -> tuple[csr_matrix, np.ndarray] | tuple[csr_matrix, np.ndarray, np.ndarray]:
    """Draw bags of words of documents that have one topic each.

    Base frequencies of words are proportional to 1, 1/2, 1/3, …. The word probabilities of a topic are drawn from a Dirichlet
    distribution with parameter ``concentration`` times the base frequencies. Topic weights are drawn from
    Dirichlet(2, …, 2), and document lengths from a log-normal distribution. Topics are processed one by one, so peak
    memory is about twice that of the result.

    Parameters
    ----------
    n_docs, n_words, n_topics : int
        Numbers of documents, words and topics.
    concentration : float, default=1000
        The larger it is, the more similar topics are.
    mean_words : float, default=90
        Approximate mean number of distinct words per document.
    seed : int or Generator, default=0
        Seed of the random numbers.
    return_oracle : bool, default=False
        Whether to score every document under every true topic, too. This takes n_docs · n_topics · mean_words operations.

    Returns
    -------
    X : csr_matrix of uint8, shape (n_docs, n_words)
    y : int array of shape (n_docs,)
        The topic of each document.
    oracle : int array of shape (n_docs,), only if ``return_oracle``
        The topic under which each document is most probable.

    Examples
    --------
    >>> from hashmix.paper import make_documents
    >>> X, y = make_documents(100, n_words=500, n_topics=5, mean_words=20)
    >>> X.shape, y.shape
    ((100, 500), (100,))
    """
    owner = "make_documents"
    n_docs, n_words = check_integer(owner, "n_docs", n_docs, low=1), check_integer(owner, "n_words", n_words, low=2)
    n_topics = check_integer(owner, "n_topics", n_topics, low=1)
    concentration = check_number(owner, "concentration", concentration)
    mean_words = check_number(owner, "mean_words", mean_words)
    rng = np.random.default_rng(seed)
    base = 1.0 / np.arange(1.0, n_words + 1.0)
    base /= base.sum()
    weights = rng.dirichlet(np.full(n_topics, 2.0))
    y = rng.choice(n_topics, n_docs, p=weights)
    log_mean = np.log(_TOKENS_PER_WORD * mean_words) - 0.5 * _LENGTH_SD**2
    lengths = np.maximum(1, np.rint(np.exp(rng.normal(log_mean, _LENGTH_SD, n_docs)))).astype(np.int64)

    begins = np.zeros(n_docs + 1, np.int64)
    pieces = []
    log_topics = np.empty((n_topics if return_oracle else 0, n_words), np.float32)
    for topic in range(n_topics):
        probabilities = np.maximum(rng.standard_gamma(concentration * base), 1e-300)
        probabilities /= probabilities.sum()
        if return_oracle:
            log_topics[topic] = np.log(probabilities)
        documents = np.flatnonzero(y == topic)
        words, counts, n_distinct = _draw(probabilities, lengths[documents], rng)
        begins[documents + 1] = n_distinct
        pieces.append((documents, words, counts))
    np.cumsum(begins, out=begins)
    columns, values = np.empty(begins[-1], np.int32), np.empty(begins[-1], np.uint8)
    while pieces:
        documents, words, counts = pieces.pop()
        sizes = begins[documents + 1] - begins[documents]
        # The entries of a document go to consecutive places from its start on.
        places = np.repeat(begins[documents] - np.cumsum(sizes) + sizes, sizes) + np.arange(len(words))
        columns[places], values[places] = words, counts
    X = csr_matrix((values, columns, begins), shape=(n_docs, n_words))
    if not return_oracle:
        return X, y
    log_weights = np.log(weights).astype(np.float32)
    scored = [
        (X[start : start + _BLOCK].astype(np.float32) @ log_topics.T + log_weights).argmax(axis=1)
        for start in range(0, n_docs, _BLOCK)
    ]
    return X, y, np.concatenate(scored)


def _draw(
    probabilities: np.ndarray, lengths: np.ndarray, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Draw documents of one topic; return their words and counts, document by document, and the distinct words of each."""
    ends = np.cumsum(probabilities)
    tokens = np.searchsorted(ends, rng.random(lengths.sum()) * ends[-1])
    documents = np.repeat(np.arange(len(lengths)), lengths)
    pairs, counts = np.unique(documents * len(probabilities) + tokens, return_counts=True)
    owners = pairs // len(probabilities)
    words = (pairs - owners * len(probabilities)).astype(np.int32)
    return words, np.minimum(counts, 255).astype(np.uint8), np.bincount(owners, minlength=len(lengths))
