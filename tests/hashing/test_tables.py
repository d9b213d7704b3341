"""Tables hold each row in the bucket of its code, and sample by their exact law."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csr_array
from scipy.stats import chi2

from hashmix.data.rows import as_rows
from hashmix.hashing import NeighbourLists, SignProjection, Tables, WeightedMinHash

X = np.random.default_rng(0).normal(size=(2000, 4))
FAMILIES = [
    SignProjection(6, 3, random_state=0),
    SignProjection(64, 2, random_state=0),
    WeightedMinHash(2, 3, signed=True, random_state=0),
]


@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: f"{type(family).__name__}-{family.n_bits}")
def test_buckets_are_equal_codes(family):
    tables = Tables(X, family)
    codes = tables.family.codes(X)
    for t in range(tables.n_tables):
        for i in (0, 7, 1999):
            expected = np.flatnonzero(codes[t] == codes[t, i])
            assert np.array_equal(tables.bucket(i, t), expected)
            assert np.array_equal(tables.mates(i, t), expected[expected != i])
        assert sorted(tables.arrays.order[t * 2000 : (t + 1) * 2000].tolist()) == list(range(2000))


@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: f"{type(family).__name__}-{family.n_bits}")
def test_any_number_of_threads(family):
    for one, two in zip(Tables(X, family, n_jobs=1).arrays, Tables(X, family, n_jobs=2).arrays, strict=True):
        assert np.array_equal(one, two)


def test_refresh_draws_other_functions_and_is_reproducible():
    tables, again = (Tables(X, SignProjection(6, 3, random_state=5)) for _ in range(2))
    before = tables.arrays.buckets.copy()
    assert not np.array_equal(before, tables.refresh().arrays.buckets)
    assert np.array_equal(tables.arrays.buckets, again.refresh().arrays.buckets)
    assert not np.array_equal(tables.arrays.buckets, tables.refresh().arrays.buckets)


def exact_law(tables, codes, query_codes, but):
    """The average of 1{j in bucket} / (number of other rows) over the tables whose bucket holds another row."""
    n = codes.shape[1]
    laws = []
    for t in range(len(codes)):
        others = (codes[t] == query_codes[t]) & (np.arange(n) != but)
        if others.any():
            laws.append(others / others.sum())
    return np.mean(laws, axis=0)


def assert_law(draws, law):
    assert law[draws].all()
    likely = law > 0
    counts = np.bincount(draws, minlength=len(law))[likely]
    expected = law[likely] * len(draws)
    assert ((counts - expected) ** 2 / expected).sum() < chi2.isf(1e-5, max(1, likely.sum() - 1))


@pytest.mark.parametrize("similar", [True, False])
def test_sampler_follows_its_exact_law(similar, seed):
    # With few rows and many bits, some buckets are empty and further tables are probed.
    rows = X[:60]
    tables = Tables(rows, SignProjection(5, 8, random_state=seed + 1))
    family = tables.family
    codes = family.codes(rows)
    for i in (0, 1, 2):
        query = codes[:, i] if similar else family.opposite(codes[:, i])
        law = exact_law(tables, codes, query, i)
        assert_law(tables.sample(i, similar=similar, size=20_000, random_state=seed), law)
    row = np.array([0.3, -1.0, 0.2, 0.4])
    query = family.codes(row[None])[:, 0]
    law = exact_law(tables, codes, query if similar else family.opposite(query), -1)
    assert_law(tables.sample(row, similar=similar, size=20_000, random_state=seed), law)


def test_sampling_over_random_tables_follows_the_formula(seed):
    """P(i) = a_i (1 − e^L) / (1 − e), where B is the bucket without the query, a_i = E[1{i in B}/|B|] and e = P(B is empty).

    Example: two other rows with p = 1 and 1/2, one bit, two tables. The second is drawn with probability 1/4.
    """
    rows = np.array([[1.0, 0.0], [2.0, 0.0], [0.0, 1.0]])  # angles 0 and π/2 with row 0
    hits = np.zeros(3)
    for key in range(4000):
        tables = Tables(rows, SignProjection(1, 2, center=None, random_state=key + 10_000 * seed), n_jobs=1)
        hits[tables.sample(0, random_state=key)] += 1
    assert hits[0] == 0
    assert abs(hits[2] / 4000 - 0.25) < 4 * np.sqrt(0.25 * 0.75 / 4000)


def test_the_given_family_is_not_changed():
    family = SignProjection(random_state=0)
    Tables(X, family)
    family.build(as_rows(X), 1)
    assert not family.is_fitted


def test_rows_are_used_as_they_are():
    rows = as_rows(X)
    assert Tables(rows, SignProjection(4, 1, random_state=0)).rows is rows


def test_a_row_of_a_sparse_matrix_is_a_query():
    rows = abs(X[:50])
    tables = Tables(csr_array(rows), WeightedMinHash(1, 5, random_state=0))
    draws = [tables.sample(row, size=9, random_state=1).tolist() for row in (rows[3], csr_array(rows)[3], csr_array(rows)[[3]])]
    assert draws[0] == draws[1] == draws[2]


def test_nothing_to_sample():
    tables = Tables(np.array([[1.0, 0.0], [0.0, 1.0]]), WeightedMinHash(4, 3, random_state=0))
    assert tables.sample(0) == -1
    assert tables.mates(0).tolist() == []
    assert tables.sample(0, size=2).tolist() == [-1, -1]


@pytest.mark.parametrize(
    ("ask", "message"),
    [
        (lambda tables: tables.bucket(2000), "the number of a row, 0 to 1999"),
        (lambda tables: tables.bucket(1.5), "the number of a row, 0 to 1999. Got 1.5"),
        (lambda tables: tables.sample(True), "the number of a row, 0 to 1999. Got True"),
        (lambda tables: Tables(X, tables.family, n_jobs=-2), "'n_jobs' parameter of Tables must be None, -1 or an integer ≥ 1"),
        (lambda tables: tables.bucket(0, 9), "the number of a table, 0 to 2"),
        (lambda tables: tables.sample(0, similar=False), "True: WeightedMinHash does not define the opposite of a row"),
        (lambda tables: tables.sample(X[:2]), "the number of a row, or one row"),
        (lambda tables: Tables(X, "minhash"), "'family' parameter of Tables must be a SignProjection, a WeightedMinHash or"),
        (lambda tables: Tables(X, NeighbourLists()), "or another CodeFamily. Got NeighbourLists"),
    ],
)
def test_bad_input(ask, message):
    with pytest.raises(ValueError, match=message):
        ask(Tables(X, WeightedMinHash(1, 3, signed=True, random_state=0)))
