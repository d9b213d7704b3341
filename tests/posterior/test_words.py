"""Words and representative rows ask the component what it has, and never which class it is."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csr_array

from hashmix.posterior.describe.words import representative_rows, top_words

NAMES = ["cat", "the", "oak", "never"]
#: Size and counts of each cluster.
STATS = np.array([[10.0, 30.0, 20.0, 0.0, 0.0], [5.0, 1.0, 10.0, 15.0, 0.0]])


class Shares:
    """A component with words that hashmix does not know: its profile are smoothed shares of the counts."""

    has_words = True

    def word_profile(self, model, stats):
        counts = (stats.toarray() if hasattr(stats, "toarray") else stats)[:, 1:] + 0.1
        return counts / counts.sum(axis=1, keepdims=True)

    def log_predictives(self, model, stats, rows):
        rows = rows.toarray() if hasattr(rows, "toarray") else rows
        return rows @ np.log(self.word_profile(model, stats)).T


class Wordless(Shares):
    has_words = False


@pytest.mark.parametrize("form", [np.asarray, csr_array])
def test_top_words(form):
    stats = form(STATS)
    by_probability = top_words(Shares(), None, stats, NAMES, 2, "probability")
    assert [[word.name for word in words] for words in by_probability] == [["cat", "the"], ["oak", "the"]]
    by_lift = top_words(Shares(), None, stats, NAMES, 3, "lift")
    assert [[word.name for word in words] for words in by_lift] == [["cat", "the"], ["oak", "the"]]
    profile, overall = (Shares().word_profile(None, each)[0] for each in (STATS, STATS.sum(axis=0, keepdims=True)))
    assert by_probability[0][0].probability == pytest.approx(profile[0])
    assert by_probability[0][0].lift == pytest.approx(profile[0] / overall[0])


def test_words_of_a_component_without_words():
    with pytest.raises(ValueError, match="top_words is for components that have words"):
        top_words(Wordless(), None, STATS, NAMES, 2, "lift")


@pytest.mark.parametrize("form", [np.asarray, csr_array])
def test_representative_rows(form):
    X = form(np.array([[6.0, 2, 0, 0], [1, 0, 0, 0], [0, 1, 5, 0], [0, 5, 1, 0], [3, 5, 0, 0]]))
    labels = np.array([0, 0, 1, 1, 0])
    # By words: the second row is short, and the last one says less about its cluster than the first.
    assert [rows.tolist() for rows in representative_rows(Shares(), None, form(STATS), X, labels, 1)] == [[0], [2]]
    # By density, the shortest row is best.
    assert representative_rows(Wordless(), None, form(STATS), X, labels, 1)[0].tolist() == [1]
