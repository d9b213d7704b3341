"""Similarities, and the law that the paper's Prob is."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csr_matrix

from hashmix.data.rows import as_rows
from hashmix.hashing import collision_probability, cut_probability, sign_collision_probability, sign_split, weighted_jaccard

ROWS = np.array([[2.0, 1.0, 0.0], [1.0, 1.0, 2.0], [0.5, 3.0, 0.0]])


def test_weighted_jaccard():
    assert weighted_jaccard(ROWS[0], ROWS[1]) == pytest.approx(2 / 5)
    assert weighted_jaccard(csr_matrix(ROWS[:1]), csr_matrix(ROWS[1:2])) == pytest.approx(2 / 5)
    assert weighted_jaccard([0.0], [0.0]) == 1.0
    assert collision_probability(ROWS) == pytest.approx(1.5 / 7)
    assert weighted_jaccard([1e308, 1e308], [1e308, 1e308]) == 1.0
    assert collision_probability(np.full((2, 20), 3e38, np.float32)) == 1.0
    assert cut_probability([[1e308, 1e308]], [[0.0, 0.0]]) == 1.0


def test_rows_objects_are_accepted():
    dense, sparse = as_rows(ROWS), as_rows(csr_matrix(ROWS))
    assert collision_probability(dense) == collision_probability(sparse) == collision_probability(ROWS)
    assert cut_probability(dense, sparse) == cut_probability(ROWS, ROWS)
    assert np.array_equal(sign_split(sparse).toarray(), sign_split(dense))


def test_sign_split_of_sparse_rows():
    X = np.array([[1.0, -2.0, 0.0], [0.0, 3.0, -4.0]])
    assert np.array_equal(sign_split(csr_matrix(X)).toarray(), sign_split(X))
    assert sign_split(csr_matrix(np.array([[1, 2]], dtype=np.uint8))).toarray().tolist() == [[1, 2, 0, 0]]


def test_angles_do_not_depend_on_lengths():
    for length in (1e-200, 1.0, 1e200):
        assert sign_collision_probability([length, 0.0], [1.0, 1.0]) == pytest.approx(0.75)


def test_cut_probability_is_the_law_of_a_dart_under_the_envelope(seed):
    rng = np.random.default_rng(seed)
    envelope = ROWS.max(axis=0)
    n = 100_000
    j = rng.choice(3, n, p=envelope / envelope.sum())
    under = rng.random(n)[:, None] * envelope[j][:, None] <= ROWS[:, j].T
    for inside, outside in [([0], [1, 2]), ([0, 1], [2]), ([1], [0, 2]), ([2], [0, 1])]:
        seen = (under[:, inside].all(axis=1) & ~under[:, outside].any(axis=1)).mean()
        p = cut_probability(ROWS[inside], ROWS[outside])
        assert abs(seen - p) <= 4 * np.sqrt(p * (1 - p) / n) + 1e-12


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: weighted_jaccard([-1.0], [1.0]), "weighted_jaccard takes rows of entries ≥ 0"),
        (lambda: weighted_jaccard([1.0], [1.0, 2.0]), "the same number of columns. Got 1 and 2"),
        (lambda: weighted_jaccard([[1.0], [2.0]], [1.0]), "'x' parameter of weighted_jaccard must be one row. Got '2 rows'"),
        (lambda: collision_probability([[1.0], [-2.0]]), "takes rows of entries ≥ 0 .* Got -2.0"),
        (lambda: cut_probability([[1.0, 2.0]], [[1.0]]), "the same number of columns. Got 2 and 1"),
        (lambda: sign_split(csr_matrix([[np.nan]])), "finite numbers only. Got NaN in row 0, column 0"),
        (lambda: sign_collision_probability([np.nan], [1.0]), "finite numbers only"),
        (lambda: cut_probability([[0.0]], [[0.0]]), "needs a row that is not zero"),
        (lambda: sign_collision_probability([0.0], [1.0]), "needs two rows that are not zero"),
    ],
)
def test_bad_input(make, message):
    with pytest.raises(ValueError, match=message):
        make()
