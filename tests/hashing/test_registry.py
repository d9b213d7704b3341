"""Named families, families given as objects, and a family written outside the package."""

from __future__ import annotations

import threading

import numpy as np
import pytest
from scipy.sparse import csr_array

import hashmix.hashing as hashing
from hashmix.data.counts import as_counts
from hashmix.data.rows import as_rows
from hashmix.hashing import FAMILIES, CodeFamily, HashFamily, NeighbourLists, SignProjection, Tables, WeightedMinHash
from hashmix.hashing.chain_tables import ChainTables
from hashmix.hashing.tables import TableArrays

X = np.random.default_rng(0).normal(size=(200, 3)) * [1.0, 50.0, 0.1] + 4.0
COUNTS = csr_array(np.random.default_rng(1).poisson(0.3, size=(150, 20)))


class Grid(CodeFamily):
    """Random shifts of a grid: rows in one cell of ``width`` standard deviations share a code. Dense rows only."""

    def __init__(self, n_bits=2, n_tables=3, width=1.0, random_state=None):
        super().__init__(n_bits, n_tables, random_state)
        self.width = width

    def _fit_columns(self, rows):
        self.units_ = self.width * np.sqrt(rows.summary.variance)

    def _draw_functions(self, rows):
        rng = np.random.default_rng(int(self.key_))
        self.columns_ = rng.integers(rows.n_columns, size=(self.n_tables, self.n_bits))
        self.shifts_ = rng.random((self.n_tables, self.n_bits))

    def _check(self, rows):
        if rows.is_sparse:
            raise ValueError("Grid takes dense rows.")

    def _hash(self, rows, begin, end, out):
        block = rows.matrix()[begin:end]
        for t, (columns, shifts) in enumerate(zip(self.columns_, self.shifts_, strict=True)):
            cells = np.floor(block[:, columns] / self.units_[columns] + shifts).astype(np.int64)
            code = np.zeros(end - begin, np.int64)
            for bit in range(self.n_bits):
                code = 1009 * code + cells[:, bit]
            out[t, begin:end] = code.astype(np.uint64)


class Pairs(HashFamily):
    """Rows 2k and 2k + 1 share a bucket: a family without codes."""

    def build(self, rows, key, generation=0, n_jobs=None):
        n = rows.n_rows

        class Index:
            arrays = TableArrays(
                (np.arange(n, dtype=np.int32) // 2)[:, None],
                np.minimum(np.arange(0, n + 2, 2), n),
                np.arange(n, dtype=np.int32),
                np.full((n + 1) // 2, -1, np.int32),
            )

        return Index()


def test_names():
    assert FAMILIES.names == ["sign-projection", "minhash", "neighbours"]
    assert FAMILIES.parameter == "family"
    assert FAMILIES.kind is HashFamily


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("sign-projection", SignProjection(4, 2, scale="auto")),
        ("minhash", WeightedMinHash(4, 2, signed="auto", center="auto", scale="auto")),
        ("neighbours", NeighbourLists(4, 2)),
    ],
)
@pytest.mark.parametrize("rows", [as_rows(X), as_counts(COUNTS)], ids=["dense", "counts"])
def test_names_stand_for_families_that_suit_any_rows(name, expected, rows):
    family = hashing.resolve_family(name, 4, 2)
    assert family == expected
    arrays = family.build(rows, key=3).arrays
    assert isinstance(arrays, TableArrays)
    assert len(arrays.buckets) == rows.n_rows
    for a, b in zip(arrays, family.build(rows, key=3, generation=0, n_jobs=2).arrays, strict=True):
        assert np.array_equal(a, b)
    fresh = family.build(rows, key=3, generation=1).arrays
    assert not (np.array_equal(arrays.order, fresh.order) and np.array_equal(arrays.begins, fresh.begins))


def test_a_family_object_is_accepted_where_a_name_is():
    family = SignProjection(5, 7, center="median")
    assert hashing.resolve_family(family, 4, 2) is family
    grid = Grid()
    assert hashing.resolve_family(grid, 4, 2) is grid


@pytest.mark.parametrize("bad", ["simhash", None, 3, SignProjection])
def test_other_values_are_rejected(bad):
    message = "'family' parameter of UrnMerge must be one of 'sign-projection', 'minhash', 'neighbours', or a HashFamily"
    with pytest.raises(ValueError, match=message):
        hashing.resolve_family(bad, 4, 2, "UrnMerge")


# ---- a family written outside the package ------------------------------------------------------------------------------


def test_an_outside_family_makes_tables():
    tables = Tables(X, Grid(random_state=1))
    codes = tables.family.codes(X)
    for t in range(3):
        for i in (0, 5, 199):
            assert np.array_equal(tables.bucket(i, t), np.flatnonzero(codes[t] == codes[t, i]))
    mates = {int(j) for t in range(3) for j in tables.mates(0, t)}
    assert set(tables.sample(0, size=50, random_state=0).tolist()) <= mates | {-1}
    before = tables.arrays.order.copy()
    assert not np.array_equal(before, tables.refresh().arrays.order)


def test_an_outside_family_is_declared():
    assert repr(Grid(width=0.5)) == "Grid(n_bits=2, n_tables=3, width=0.5, random_state=None)"
    assert Grid() == Grid()
    assert Grid() != Grid(width=2.0)
    assert Grid().opposite(np.zeros(2, np.uint64)) is None
    with pytest.raises(ValueError, match="'n_bits' parameter of Grid must be an integer from 1 to 64"):
        Grid(n_bits=0)
    with pytest.raises(ValueError, match="True: Grid does not define the opposite"):
        Tables(X, Grid(random_state=0)).sample(0, similar=False)
    with pytest.raises(ValueError, match="Grid takes dense rows"):
        Tables(COUNTS, Grid(random_state=0))


def test_outside_families_work_in_chains():
    chain = ChainTables(as_rows(X), key=1)
    tables = chain.tables(Grid(), sweep=0, refresh=5)
    assert tables is chain.tables(Grid(), sweep=4, refresh=5)
    assert not np.array_equal(tables.arrays.order, chain.tables(Grid(), sweep=5, refresh=5).arrays.order)
    assert chain.tables(Pairs(1, 1)).arrays.buckets[3, 0] == 1


# ---- the tables of a chain -----------------------------------------------------------------------------------------------


def test_chains_have_their_own_functions_but_share_neighbours():
    rows = as_rows(X)
    first = ChainTables(rows, key=1)
    second = ChainTables(rows, key=2, first=first)
    projections = SignProjection(6, 2)
    assert not np.array_equal(first.tables(projections).arrays.order, second.tables(projections).arrays.order)
    lists = NeighbourLists(8, 2)
    assert first.tables(lists) is second.tables(lists)
    assert first.tables(lists, 0, 10) is not second.tables(lists, 0, 10)
    assert not np.array_equal(first.tables(lists, 0, 10).lists, second.tables(lists, 0, 10).lists)


def test_settings_and_refresh_tell_tables_apart():
    chain = ChainTables(as_rows(X), key=1)
    tables = chain.tables(SignProjection(6, 2), 3, 2)
    assert tables is chain.tables(SignProjection(6, 2), 2, 2)
    assert tables is not chain.tables(SignProjection(6, 3), 2, 2)
    assert tables is not chain.tables(SignProjection(6, 2), 2, None)
    assert chain.tables(SignProjection(6, 2), 0, None) is chain.tables(SignProjection(6, 2), 99, None)


def test_shared_lists_are_built_once_by_many_threads(monkeypatch):
    calls = []
    build = NeighbourLists.build
    monkeypatch.setattr(NeighbourLists, "build", lambda self, *settings: calls.append(1) or build(self, *settings))
    rows = as_rows(X)
    first = ChainTables(rows, key=1)
    chains = [first] + [ChainTables(rows, key=k, first=first) for k in range(2, 6)]
    found = []
    threads = [threading.Thread(target=lambda c=chain: found.append(c.tables(NeighbourLists(8, 2)))) for chain in chains]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(calls) == 1
    assert all(lists is found[0] for lists in found)


@pytest.mark.parametrize("rows", [as_rows(X), as_counts(COUNTS)], ids=["dense", "counts"])
def test_features_of_a_chain_are_those_of_auto(rows):
    features = ChainTables(rows, key=1).features()
    expected = hashing.resolve_family("minhash", 1, 1).build(rows, 1).family.columns_
    assert features.signed == expected.signed
    assert np.array_equal(features.origin, expected.origin)
    assert np.array_equal(features.scale, expected.scale)
