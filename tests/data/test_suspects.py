"""Cells that may stand for a blank are named by their column, and ordinary columns are not."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest

import hashmix as hm
from hashmix.data.ingest import read_data
from hashmix.data.mixed import MixedRows
from hashmix.data.rows import as_dense
from hashmix.data.suspects import SuspiciousCells, suspicious_cells

RNG = np.random.default_rng(0)
AGES = RNG.integers(0, 104, 400).astype(float)


def told(column, remedy="replace it by NaN"):
    return suspicious_cells(as_dense(np.asarray(column, np.float64)[:, None]), ["age"], remedy)


def with_cells(column, value, n):
    column = np.array(column, np.float64)
    column[RNG.permutation(len(column))[:n]] = value
    return column


@pytest.mark.parametrize("n", [2, 37, 300])
@pytest.mark.parametrize("code", [-999, -9999, -99, 9999, 999, 1e9, -32768, 2**31 - 1])
def test_codes_are_named_with_their_column_and_number(code, n):
    (sentence,) = told(with_cells(AGES, code, n))
    assert sentence.startswith(f"Column 'age' holds {code:.15g} in {n} cells, far from its other values (")
    if n == 37:
        assert sentence.endswith("If it stands for a blank, replace it by NaN.")


def test_two_codes_in_a_column_and_the_remedy():
    (sentence,) = told(with_cells(with_cells(AGES, -999, 20), -9999, 5), "use --blank={code}")
    assert "-9999 in 5 cells" in sentence
    assert "-999 in 20 cells" in sentence
    assert sentence.endswith("use --blank=-999.")


def test_a_single_cell():
    (sentence,) = told(with_cells(AGES, -999, 1))
    assert "holds -999 in 1 cell, far" in sentence
    (sentence,) = told(with_cells(RNG.normal(size=1000), -700, 1))  # no code, but 700 deviations away
    assert "'age' has the value -700 in row" in sentence
    assert told(with_cells(AGES, -99, 1)) == []  # no further from the others than these are from each other


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_precision_does_not_matter(dtype):
    for code in (1e9, 1e20, -9999.0):
        assert len(suspicious_cells(as_dense(with_cells(AGES, code, 9).astype(dtype)[:, None]), ["age"])) == 1


@pytest.mark.parametrize(
    "column",
    [
        AGES,
        with_cells(AGES, 99, 30),
        RNG.integers(-120, 1100, 4000),  # -99 and 999 among others
        with_cells(RNG.standard_cauchy(2000), 999, 1),
        with_cells(np.exp(4 * RNG.normal(size=2000)), 9999, 1),
        np.repeat([999.0, 1000.0], 50),
        np.full(50, 999.0),
        np.repeat([1.0, 999.0], 50),  # a code with nothing to compare it to
        [-999.0, 5.0],
        RNG.poisson(3, 500),
        10.0 ** RNG.integers(0, 9, 500),
    ],
)
def test_ordinary_columns_are_left_alone(column):
    assert [sentence for sentence in told(column) if "holds" in sentence] == []


def test_the_only_negative_value_is_a_code_though_it_is_near():
    assert "holds -99 in 3 cells" in told(with_cells(RNG.uniform(0, 1e6, 300), -99, 3))[0]
    assert told(with_cells(RNG.uniform(-1e5, 1e6, 300), -99, 3)) == []


def test_columns_with_blanks_and_categories():
    ages = with_cells(AGES, -999, 10)
    ages[:7] = np.nan
    ages[7] = -999
    rows = MixedRows(ages[:, None])
    assert "Column 3 holds -999" in suspicious_cells(rows, [3])[0]
    zips = pd.Categorical.from_codes(np.arange(400) % 3, ["1", "2", "9999"])
    frame = pd.DataFrame({"zip": zips, "id": np.arange(400), "age": ages})
    model = hm.SplitMergeMixture(n_draws=2, n_warmup=2, n_chains=1, random_state=0)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model.fit(frame)
    (found,) = [str(found.message) for found in caught if found.category is SuspiciousCells]
    assert f"Column 'age' holds -999 in {(ages == -999).sum()} cells" in found


def test_fit_and_sample_warn_once_and_levels_do_not_again():
    X = np.column_stack([RNG.normal(size=400), with_cells(AGES, -999, 37)])
    with pytest.warns(SuspiciousCells, match="Column 1 holds -999 in 37 cells") as caught:
        hm.sample(X, n_draws=2, n_warmup=2, random_state=0)
    assert len(caught) == 1
    frame = pd.DataFrame(X, columns=["height", "age"])
    frame.insert(0, "id", np.arange(400))
    model = hm.SplitMergeMixture(n_draws=10, n_warmup=2, n_chains=1, random_state=0)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model.fit(frame)
    assert ["Column 'age' holds -999" in str(found.message) for found in caught if found.category is SuspiciousCells] == [True]
    assert model.posterior_.settings["hyperparameter_names"]["mean"] == ["height", "age"]
    with warnings.catch_warnings():
        warnings.simplefilter("error", SuspiciousCells)
        model.levels()


def test_of_a_file(tmp_path):
    path = tmp_path / "people.csv"
    pd.DataFrame({"age": with_cells(AGES, -999, 37), "u": RNG.normal(size=400)}).to_csv(path, index=False)
    assert "Column 'age' holds -999 in 37 cells" in read_data(path).lines[-1]
    assert read_data(path).lines[-1].endswith("use --blank=-999.")
    assert not any("holds" in line for line in read_data(path, blank=["-999"]).lines)
    np.save(tmp_path / "a.npy", np.column_stack([RNG.normal(size=400), with_cells(AGES, -999, 37)]))
    assert "Column '1' holds -999" in read_data(tmp_path / "a.npy").lines[-1]
