"""Starts of texts: labels relabelled by shared words."""

from __future__ import annotations

import numpy as np
from scipy.sparse import csr_array
from sklearn.metrics import normalized_mutual_info_score

import hashmix as hm
from hashmix.core.threads import Threads
from hashmix.data.rows import as_sparse
from hashmix.problem import Problem
from hashmix.run import shared_words, starts
from hashmix.run.settings import RunSettings


def short_texts(n, topics, seed):
    """Texts of about six words: 500 words per topic, and each word in about seven topics."""
    rng = np.random.default_rng(seed)
    n_words = 66 * topics
    own, labels = rng.integers(0, n_words, (topics, 500)), rng.integers(0, topics, n)
    rows = np.repeat(np.arange(n), rng.poisson(5, n) + 1)
    words = own[labels[rows], (500 * rng.random(len(rows)) ** 2).astype(int)]
    return csr_array((np.ones(len(rows)), (rows, words)), shape=(n, n_words)), labels


def probabilities(X, labels, i, concentration):
    """Slow and obvious: of all clusters that have a word of row i, in which other row ever."""
    others, of_others = np.delete(X, i, axis=0), np.delete(labels, i)
    weights = np.zeros(labels.max() + 1)
    for c in range(len(weights)):
        counts = others[of_others == c].sum(axis=0)
        if (counts[X[i] > 0] > 0).any():
            profile = (concentration + counts) / (concentration * X.shape[1] + counts.sum())
            weights[c] = (of_others == c).sum() * np.prod(profile ** X[i])
    return weights / weights.sum() if weights.any() else np.eye(len(weights))[labels[i]]


def test_rows_draw_their_cluster_by_what_the_others_say(monkeypatch, seed):
    monkeypatch.setattr(shared_words, "_ROUNDS", 1)
    rng = np.random.default_rng(seed)
    X = rng.poisson(0.4, (9, 7)).astype(float)
    X[4] = 0.0  # a text without words
    labels, n_keys = np.array([0, 1, 2, 0, 1, 2, 0, 1, 3]), 4000
    # Clusters that lose all rows have no number afterwards: twelve more texts, of other words, keep all numbers in use.
    kept = np.repeat(np.arange(4), 3)
    Y = np.zeros((21, 11))
    Y[:9, :7] = X
    Y[np.arange(9, 21), 7 + kept] = 1.0
    labels = np.concatenate([labels, kept])
    rows = as_sparse(csr_array(Y))
    drawn = np.array([shared_words.relabelled(rows, labels, 0.3, key, Threads(1)) for key in range(n_keys)])
    for i in range(21):
        expected = probabilities(Y, labels, i, 0.3)
        seen = np.bincount(drawn[:, i], minlength=4) / n_keys
        assert (abs(seen - expected) < 5.0 * np.sqrt(expected * (1.0 - expected) / n_keys) + 1e-9).all()


def test_threads_do_not_change_the_labels(monkeypatch):
    monkeypatch.setattr(shared_words, "_WORDS", 100)
    monkeypatch.setattr(shared_words, "_ROWS", 100)
    X, _ = short_texts(1000, 10, 0)
    rows, labels = as_sparse(X), np.arange(1000) % 50
    one, two = (shared_words.relabelled(rows, labels, 0.2, 5, Threads(n)) for n in (1, 2))
    np.testing.assert_array_equal(one, two)


def test_topics_of_short_texts_are_found():
    """Neighbourhoods alone are still hundreds after these sweeps."""
    X, y = short_texts(4000, 20, 1)
    settings = {"n_warmup": 6, "n_draws": 4, "random_state": 0}
    found = hm.sample(X, component="multinomial", init="auto", **settings)
    pieces = hm.sample(X, component="multinomial", init="buckets", **settings)
    assert normalized_mutual_info_score(y, found.labels[0, -1]) > 0.75
    assert found.n_clusters[0, -1] < 30 < 300 < pieces.n_clusters[0, -1]
    assert found.log_joint[0, -1] > pieces.log_joint[0, -1] + 10_000.0


def test_what_takes_too_long_is_left_out(monkeypatch):
    X, _ = short_texts(1000, 10, 2)
    problem = Problem.resolve(X, "multinomial", "auto", "auto", RunSettings(n_draws=1, random_state=0, n_jobs=1))

    def n_clusters(init):
        return starts.first_states(problem.target, [init], problem.keys, 1)[0].n_clusters

    pieces = n_clusters("buckets")
    assert n_clusters("auto") < pieces
    monkeypatch.setattr(starts, "_MOST_LOOKED_UP", shared_words.n_looked_up(problem.target.rows, pieces) // 1000 - 1)
    assert n_clusters("auto") == pieces
