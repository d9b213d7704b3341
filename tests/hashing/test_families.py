"""Collision probabilities agree with theory, and a code depends on the row alone."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import coo_array, csr_matrix

import hashmix as hm
from hashmix.hashing import SignProjection, WeightedMinHash, collision_probability, sign_collision_probability, sign_split

N_HASHES = 100_000
# Rows with different sums, with zeros, ties and one pair of equal rows.
POSITIVE = np.array(
    [
        [1.0, 0.5, 0.0, 2.0, 0.0, 0.3],
        [0.7, 0.5, 0.4, 1.0, 0.0, 0.0],
        [0.0, 1.5, 0.4, 3.0, 0.1, 0.2],
        [1.0, 0.5, 0.0, 2.0, 0.0, 0.3],
    ]
)
SIGNED = np.array([[1.0, -0.5, 0.0, 2.0], [0.7, 0.5, -0.4, 1.0], [-1.0, -1.5, 0.4, 3.0]])


def agrees(frequency, p, n=N_HASHES):
    """Whether a frequency is within 4 standard errors of a probability."""
    return abs(frequency - p) <= 4.0 * np.sqrt(p * (1.0 - p) / n) + 1e-12


@pytest.mark.parametrize("as_given", [np.asarray, csr_matrix], ids=["dense", "sparse"])
@pytest.mark.parametrize("method", ["icws", "rejection"])
def test_minhash_collides_like_jaccard(method, as_given, seed):
    X = as_given(POSITIVE)
    codes = WeightedMinHash(n_tables=N_HASHES, method=method, random_state=seed).fit(X).codes(X)
    for group in [(0, 1), (0, 2), (1, 2), (0, 3), (0, 1, 2), (0, 1, 2, 3)]:
        together = (codes[:, group] == codes[:, group[:1]]).all(axis=1).mean()
        assert agrees(together, collision_probability(POSITIVE[list(group)])), group


def test_concatenated_minhash_collides_like_a_power(seed):
    codes = WeightedMinHash(n_bits=3, n_tables=N_HASHES, random_state=seed).fit(POSITIVE).codes(POSITIVE)
    assert agrees((codes[:, 0] == codes[:, 1]).mean(), collision_probability(POSITIVE[:2]) ** 3)


def test_minhash_of_signed_rows(seed):
    family = WeightedMinHash(n_tables=N_HASHES, signed=True, random_state=seed).fit(SIGNED)
    codes = family.codes(SIGNED)
    split = sign_split(SIGNED)
    for group in [(0, 1), (1, 2), (0, 1, 2)]:
        together = (codes[:, group] == codes[:, group[:1]]).all(axis=1).mean()
        assert agrees(together, collision_probability(split[list(group)])), group
    unsigned = WeightedMinHash(n_tables=50, random_state=seed).fit(split).codes(split)
    assert np.array_equal(unsigned, WeightedMinHash(n_tables=50, signed=True, random_state=seed).fit(SIGNED).codes(SIGNED))


@pytest.mark.parametrize("as_given", [np.asarray, csr_matrix], ids=["dense", "sparse"])
def test_signs_collide_like_angles(as_given, seed):
    X = as_given(SIGNED)
    family = SignProjection(n_bits=1, n_tables=N_HASHES, center=None, random_state=seed).fit(X)
    codes = family.codes(X)
    for i, j in [(0, 1), (0, 2), (1, 2)]:
        p = sign_collision_probability(SIGNED[i], SIGNED[j])
        assert agrees((codes[:, i] == codes[:, j]).mean(), p)
        assert agrees((codes[:, i] == family.opposite(codes[:, j])).mean(), 1.0 - p)
    two = SignProjection(n_bits=2, n_tables=N_HASHES, center=None, random_state=seed + 1).fit(X).codes(X)
    assert agrees((two[:, 0] == two[:, 1]).mean(), sign_collision_probability(SIGNED[0], SIGNED[1]) ** 2)


def test_centred_angles_are_seen_from_the_mean(seed):
    far = SIGNED + 1e6
    codes = SignProjection(n_bits=1, n_tables=N_HASHES, random_state=seed).fit(far).codes(far)
    centred = SIGNED - SIGNED.mean(axis=0)
    assert agrees((codes[:, 0] == codes[:, 1]).mean(), sign_collision_probability(centred[0], centred[1]))


def test_a_large_constant_column_changes_nothing(seed):
    X = np.random.default_rng(seed).normal(size=(200, 3))
    codes = SignProjection(8, 3, random_state=seed).fit(np.c_[X, np.zeros(200)]).codes(np.c_[X, np.zeros(200)])
    for constant in (1.0, 1e18):
        Z = np.c_[X, np.full(200, constant)]
        assert np.array_equal(SignProjection(8, 3, random_state=seed).fit(Z).codes(Z), codes)


def test_medians_halve_the_data(seed):
    X = np.random.default_rng(seed).exponential(size=(1001, 5)) ** 3
    codes = SignProjection(n_bits=1, n_tables=40, center="median", random_state=seed).fit(X).codes(X)
    assert (abs(codes.mean(axis=1) - 0.5) < 0.01).all()


def test_scaled_codes_do_not_depend_on_units(seed):
    X = np.random.default_rng(seed).normal(size=(200, 3))
    units = np.array([1.0, 1024.0, 2.0**-20])
    for family in (
        SignProjection(scale=True, random_state=seed),
        WeightedMinHash(3, 4, signed=True, center=True, scale=True, random_state=seed),
    ):
        assert np.array_equal(family.fit(X).codes(X), family.fit(X * units).codes(X * units))


FAMILIES = [
    SignProjection(10, 10, random_state=1),
    SignProjection(64, 3, center="median", scale=True, random_state=1),
    WeightedMinHash(2, 5, random_state=1),
    WeightedMinHash(2, 5, scale=True, random_state=1),
    WeightedMinHash(1, 7, method="rejection", random_state=1),
]


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: f"{type(family).__name__}-{family.n_bits}")
def test_code_depends_on_the_row_alone(family, dtype):
    rng = np.random.default_rng(0)
    X = (rng.exponential(size=(9001, 37)) * (rng.random((9001, 37)) < 0.3)).astype(dtype)
    dense = family.fit(X).codes(X, n_jobs=1)
    assert np.array_equal(dense, family.codes(X, n_jobs=2))
    assert np.array_equal(dense, family.codes(csr_matrix(X), n_jobs=2))
    assert np.array_equal(dense[:, 4321:4331], family.codes(X[4321:4331]))
    if dtype is np.float32:
        assert np.array_equal(dense, family.codes(X.astype(np.float64)))


def test_untidy_sparse_matrices_hash_like_tidy_ones():
    tidy = csr_matrix(POSITIVE)
    untidy = csr_matrix(
        (np.array([0.3, 0.0, 2.0, 0.5, 0.25, 0.75]), np.array([5, 2, 3, 1, 0, 0]), np.array([0, 6])), shape=(1, 6)
    )
    for family in FAMILIES:
        family.fit(tidy)
        assert np.array_equal(family.codes(untidy), family.codes(tidy[:1]))


def test_huge_vocabularies_draw_on_the_fly(monkeypatch):
    X = csr_matrix(POSITIVE)
    kept = WeightedMinHash(2, 3, random_state=4).fit(X).codes(X)
    monkeypatch.setattr(hm.hashing.minhash, "_MOST_KEPT", 0)
    anew = WeightedMinHash(2, 3, random_state=4).fit(X)
    assert len(anew.functions_.r) == 0
    assert np.array_equal(anew.codes(X), kept)


@pytest.mark.parametrize("method", ["icws", "rejection"])
def test_rows_of_zeros_share_a_code_of_their_own(method):
    X = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 0.0], [0.0, 2.0]])
    for rows in (X, csr_matrix(X)):
        codes = WeightedMinHash(2, 30, method=method, random_state=0).fit(rows).codes(rows)
        assert (codes[:, [0, 2]] == 0).all()
        assert (codes[:, [1, 3]] != 0).all()


def dense_and_sparse(seed, n=300, d=6):
    X = np.random.default_rng(seed).poisson(0.7, size=(n, d)).astype(np.float64)
    return X, csr_matrix(X)


def test_auto_standardises_dense_rows_and_weights_sparse_rows(seed):
    X, sparse = dense_and_sparse(seed)
    auto = SignProjection(8, 3, scale="auto", random_state=seed)
    for rows, scale in ((X, True), (sparse, "idf")):
        expected = SignProjection(8, 3, scale=scale, random_state=seed).fit(rows).codes(rows)
        assert np.array_equal(auto.fit(rows).codes(rows), expected)
        assert auto.scale_ == scale
        assert auto.scale == "auto"


def test_auto_minhash_splits_dense_rows_by_sign(seed):
    X, sparse = dense_and_sparse(seed)
    auto = WeightedMinHash(2, 3, signed="auto", center="auto", scale="auto", random_state=seed)
    centred = WeightedMinHash(2, 3, signed=True, center=True, scale=True, random_state=seed)
    assert np.array_equal(auto.fit(X).codes(X), centred.fit(X).codes(X))
    weighted = WeightedMinHash(2, 3, scale="idf", random_state=seed)
    assert np.array_equal(auto.fit(sparse).codes(sparse), weighted.fit(sparse).codes(sparse))
    assert (auto.signed_, auto.center_, auto.scale_) == (False, False, "idf")
    # Negative entries of sparse rows are split by sign, too.
    signed = WeightedMinHash(2, 3, signed=True, scale="idf", random_state=seed)
    assert np.array_equal(auto.fit(-sparse).codes(-sparse), signed.fit(-sparse).codes(-sparse))


def test_auto_centres_only_if_rows_are_split_by_sign():
    family = WeightedMinHash(signed=False, center="auto").fit(POSITIVE)
    assert (family.signed_, family.center_) == (False, False)
    family = WeightedMinHash(signed="auto", center=True).fit(POSITIVE)
    assert (family.signed_, family.center_) == (True, True)


def test_repr_and_equality_follow_the_parameters():
    assert repr(SignProjection(4, 2, scale="auto")) == (
        "SignProjection(n_bits=4, n_tables=2, center='mean', scale='auto', random_state=None)"
    )
    fitted = SignProjection(4, 2, random_state=1).fit(POSITIVE)
    assert fitted == SignProjection(4, 2, random_state=1)
    assert repr(fitted) == repr(SignProjection(4, 2, random_state=1))
    assert fitted != SignProjection(4, 3, random_state=1)


def test_hamming():
    assert hm.hashing.hamming([], []).tolist() == []
    rng = np.random.default_rng(0)
    a, b = rng.integers(0, 2**64, (2, 5, 7), dtype=np.uint64)
    expected = [[bin(int(x) ^ int(y)).count("1") for x, y in zip(*rows, strict=True)] for rows in zip(a, b, strict=True)]
    assert hm.hashing.hamming(a, b).tolist() == expected


def test_redrawn_functions_are_others_and_reproducible():
    for family in FAMILIES:
        family.fit(POSITIVE)
        twin = family.redrawn(POSITIVE, 1)
        assert not np.array_equal(twin.codes(POSITIVE), family.codes(POSITIVE))
        assert np.array_equal(twin.codes(POSITIVE), family.redrawn(POSITIVE, 1).codes(POSITIVE))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: SignProjection(n_bits=0), "'n_bits' parameter of SignProjection must be an integer from 1 to 64. Got 0"),
        (lambda: SignProjection(n_bits=65), "'n_bits' parameter of SignProjection must be an integer from 1 to 64"),
        (lambda: WeightedMinHash(n_tables=0), "'n_tables' parameter of WeightedMinHash must be an integer ≥ 1"),
        (
            lambda: SignProjection(center="mode"),
            "'center' parameter of SignProjection must be None, 'mean', 'median' or 'rows'",
        ),
        (lambda: WeightedMinHash(method="exact"), "'method' parameter of WeightedMinHash must be one of"),
        (lambda: WeightedMinHash(center=True), "'signed' parameter of WeightedMinHash must be True when center is"),
        (lambda: WeightedMinHash().fit(SIGNED), r"takes entries ≥ 0, or any with signed=True. Got -1.5 in row 2, column 1"),
        (lambda: WeightedMinHash().fit(csr_matrix(SIGNED)), r"Got -1.5 in row 2, column 1"),
        (
            lambda: WeightedMinHash(signed=True, center=True).fit(csr_matrix(SIGNED)),
            "'center' parameter of WeightedMinHash must be False for sparse rows",
        ),
        (lambda: SignProjection().fit([[np.nan, 1.0]]), "finite numbers only. Got NaN in row 0, column 0"),
        (lambda: SignProjection().fit(csr_matrix([[0.0, 1.0], [np.inf, 0.0]])), "Got inf in row 1, column 0"),
        (lambda: SignProjection().codes(POSITIVE), "call fit before codes"),
        (lambda: SignProjection().redrawn(POSITIVE, 1), "call fit before redrawn"),
        (lambda: SignProjection(scale="yes"), "'scale' parameter of SignProjection must be True, False, 'idf' or 'auto'"),
        (lambda: WeightedMinHash(signed="no"), "'signed' parameter of WeightedMinHash must be True, False or 'auto'"),
        (lambda: SignProjection().fit(POSITIVE).codes(POSITIVE, n_jobs=0), "'n_jobs' parameter of hashing must be None, -1 or"),
        (lambda: SignProjection(scale=True).fit([[1e200], [-1e200]]), "Column 0 is too large to centre and scale"),
        (lambda: hm.hashing.hamming(1.5, 0), "'codes' parameter of hamming must be integers ≥ 0. Got 1.5"),
        (lambda: hm.hashing.hamming(1, -1), "'others' parameter of hamming must be integers ≥ 0. Got -1"),
        (lambda: SignProjection().fit(POSITIVE).codes(SIGNED), "must be a matrix of 6 columns. Got '4 columns'"),
        (
            lambda: SignProjection().fit(coo_array([1.0, 2.0])),
            r"one row and one column. Got 'shape \(2,\)'",
        ),
        (lambda: WeightedMinHash(method="rejection").fit([[1e308, 1e308]]), "too large for method='rejection'"),
        (lambda: SignProjection().fit(csr_matrix((0, 4))), "a matrix of at least one row and one column"),
        (lambda: WeightedMinHash(method="rejection").fit(POSITIVE).codes(2 * POSITIVE), "within the bounds seen in fit"),
        (
            lambda: WeightedMinHash(method="rejection").fit([[1e9, 0.0], [0.0, 1e-6]]).codes([[0.0, 1e-6]]),
            "Row 0 was not hit by 1000000 darts. Use method='icws'",
        ),
    ],
)
def test_bad_input(make, message):
    with pytest.raises(ValueError, match=message):
        make()
