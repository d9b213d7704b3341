"""Better labels to start from for texts: rows draw their cluster again and again by the words they share with it.

Two texts of six words on one subject mostly share no word. Their neighbourhoods are tiny, of mixed subjects, and as many as the
rows. A sweep moves each row among a few of them, and the sweeps of a default fit do not make subjects of them. Here all rows
look at all clusters at once, which is cheap as long as words are listed with their clusters: only clusters that have one of its
words are candidates of a row. Rows do not wait for each other, and no cluster is opened: this is a start, not a move.
"""

from __future__ import annotations

import math
from functools import partial
from typing import Any

import numpy as np

from hashmix.core.compiling import borrowed, kernel
from hashmix.core.counter import address, uniform_at
from hashmix.core.rng import stream
from hashmix.core.threads import Threads
from hashmix.data.rows import SparseRows

__all__ = ["n_looked_up", "relabelled"]

#: How often all rows draw their cluster, at most, and the share of rows that must change theirs to go on. Most clusters that
#: will die have died by then.
_ROUNDS, _FEW_CHANGES = 20, 0.01
#: Words, and rows, that one thread processes per task.
_WORDS, _ROWS = 1024, 4096
#: Clusters whose log probability is this far below the best are left out.
_NEGLIGIBLE = 25.0


@kernel
def _list_clusters(entries, labels, n_clusters, concentration, clusters, block):
    """List the clusters that have each word first … end − 1: its count there, and the log factor it is worth to a row.

    The list of a word begins where its entries do, and is no longer than they are.
    """
    first, end = block
    rows, values, begins, labels = borrowed(entries[0]), borrowed(entries[1]), borrowed(entries[2]), borrowed(labels)
    lists, gains, counts, lengths = borrowed(clusters[0]), borrowed(clusters[1]), borrowed(clusters[2]), borrowed(clusters[3])
    place_of = np.full(n_clusters, -1, np.int64)
    for word in range(first, end):
        stop = begins[word]
        for at in range(begins[word], begins[word + 1]):
            c = labels[rows[at]]
            if values[at] <= 0:
                continue
            if place_of[c] < begins[word]:
                place_of[c] = stop
                lists[stop], counts[stop] = c, 0.0
                stop += 1
            counts[place_of[c]] += values[at]
        lengths[word] = stop - begins[word]
        for place in range(begins[word], stop):
            gains[place] = math.log1p(counts[place] / concentration)


@kernel
def _draw_labels(seed, rows, begins, clusters, concentration, labels, drawn, block):
    """Draw the cluster of each row first … end − 1 among those that have one of its words; the row itself does not count."""
    first, end = block
    lists, gains, counts, lengths = borrowed(clusters[0]), borrowed(clusters[1]), borrowed(clusters[2]), borrowed(clusters[3])
    sizes, totals, rows, begins = borrowed(clusters[4]), borrowed(clusters[5]), borrowed(rows), borrowed(begins)
    labels, drawn = borrowed(labels), borrowed(drawn)
    whole = concentration * rows.n_features
    log_sizes, log_totals = np.log(sizes), np.log(whole + totals)
    scores, found = np.zeros(len(sizes)), np.empty(len(sizes), np.int32)
    for i in range(first, end):
        own, k, length = labels[i], 0, 0.0
        for at in range(rows.begins[i], rows.begins[i + 1]):
            x, word = float(rows.values[at]), rows.columns[at]
            length += x
            for place in range(begins[word], begins[word] + lengths[word]):
                c, gain = lists[place], float(gains[place])
                if c == own:
                    others = counts[place] - x
                    if others <= 0.0:
                        continue
                    gain = math.log1p(others / concentration)
                if scores[c] == 0.0:
                    found[k] = c
                    k += 1
                scores[c] += x * gain
        top = -np.inf
        for j in range(k):
            c = found[j]
            if c == own:
                scores[c] += math.log(sizes[c] - 1.0) - length * math.log(whole + totals[c] - length)
            else:
                scores[c] += log_sizes[c] - length * log_totals[c]
            top = max(top, scores[c])
        total = 0.0
        for j in range(k):
            score = scores[found[j]] - top
            scores[found[j]] = math.exp(score) if score > -_NEGLIGIBLE else 0.0
            total += scores[found[j]]
        left, drawn[i] = total * uniform_at(address(seed, 0, i), 0), own
        for j in range(k):
            if left >= 0.0 and scores[found[j]] > 0.0:
                drawn[i] = found[j]
            left -= scores[found[j]]
            scores[found[j]] = 0.0


def _blocks(n: int, size: int) -> list[tuple[int, int]]:
    return [(first, min(first + size, n)) for first in range(0, n, size)]


def n_looked_up(rows: SparseRows, n_clusters: int) -> int:
    """Most entries of lists that a round looks up, given the number of clusters.

    Examples
    --------
    >>> from scipy.sparse import csr_array
    >>> from hashmix.data.rows import as_sparse
    >>> from hashmix.run.shared_words import n_looked_up
    >>> n_looked_up(as_sparse(csr_array([[1, 1, 0], [0, 1, 1], [0, 1, 0]])), n_clusters=2)
    8
    """
    frequencies = np.bincount(rows.arrays.columns, minlength=rows.n_columns)
    return int(frequencies @ np.minimum(frequencies, n_clusters))


def relabelled(rows: SparseRows, labels: np.ndarray, concentration: float, key: int, threads: Threads) -> np.ndarray:
    """Labels after some rounds in which all rows draw their cluster at once, given the labels of the others.

    Parameters
    ----------
    rows : SparseRows
        Counts of words.
    labels : int array of shape (n_rows,)
        Labels to start from: 0, 1, …, all of them used.
    concentration : float
        Of the Dirichlet prior of a cluster's word probabilities, for every word.
    key : int
        Names the random numbers.
    threads : Threads
        Do not change the result.

    Returns
    -------
    int array of shape (n_rows,)

    Examples
    --------
    >>> import numpy as np
    >>> from scipy.sparse import csr_array
    >>> from hashmix.core.threads import Threads
    >>> from hashmix.data.rows import as_sparse
    >>> from hashmix.run.shared_words import relabelled
    >>> X = as_sparse(csr_array(np.repeat([[1, 1, 0, 0], [0, 0, 1, 1]], 20, axis=0)))
    >>> labels = relabelled(X, np.arange(40) % 10, 0.1, key=1, threads=Threads(1))
    >>> set(labels[:20]) & set(labels[20:])
    set()
    """
    n, n_words = rows.n_rows, rows.n_columns
    by_word = rows.matrix().tocsc()
    begins = by_word.indptr.astype(np.int64)
    entries = by_word.indices, by_word.data, begins
    words_of_rows = np.asarray(rows.matrix().sum(axis=1, dtype=np.float64)).ravel()
    lists: tuple[Any, ...] = np.empty(by_word.nnz, np.int32), np.empty(by_word.nnz, np.float32), np.empty(by_word.nnz)
    lists += (np.empty(n_words, np.int64),)
    labels, drawn = labels.astype(np.int32), np.empty(n, np.int32)
    for number in range(_ROUNDS):
        sizes, totals = np.bincount(labels).astype(np.float64), np.bincount(labels, words_of_rows)
        threads.map(partial(_list_clusters, entries, labels, len(sizes), concentration, lists), _blocks(n_words, _WORDS))
        seed, clusters = stream(key, number).state[0], (*lists, sizes, totals)
        draw_labels = partial(_draw_labels, seed, rows.arrays, begins, clusters, concentration, labels, drawn)
        threads.map(draw_labels, _blocks(n, _ROWS))
        changed = np.count_nonzero(drawn != labels)
        labels = np.unique(drawn, return_inverse=True)[1].astype(np.int32)
        if changed < _FEW_CHANGES * n:
            break
    return labels
