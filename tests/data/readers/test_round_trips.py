"""What pandas and polars write is read back as it was, whatever it is; and both parsers agree."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from unittest.mock import patch

import numpy as np
import pandas as pd
import polars as pl
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from hashmix.data.cells import BLANKS, parse_texts
from hashmix.data.readers import read_file

FLOATS = st.floats(allow_nan=False, allow_infinity=False, width=64)
INTEGERS = st.integers(-(2**53), 2**53)
TEXT = st.text(st.characters(codec="utf-8", exclude_categories=("Cc", "Cs", "Zs", "Zl", "Zp")), min_size=1, max_size=8)
WORDS = TEXT.filter(lambda text: text == text.strip() and text not in BLANKS and not text.startswith(("#", "\ufeff")))
PROPERTY = settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))


@st.composite
def columns(draw, kinds=("float", "integer", "text", "truth")):
    """Columns with blanks; every row has a cell that is not blank."""
    n = draw(st.integers(2, 12))
    cells = {"float": FLOATS, "integer": INTEGERS, "text": WORDS, "truth": st.booleans()}
    out = {}
    for j, kind in enumerate(draw(st.lists(st.sampled_from(kinds), min_size=1, max_size=5))):
        blank = st.none() if draw(st.booleans()) and j else st.nothing()
        out[f"{kind} {j}"] = draw(st.lists(cells[kind] | blank, min_size=n, max_size=n))
    return out


def expected(cells):
    """What a column must be read as: the cells as texts, parsed."""
    return parse_texts([None if cell is None else str(cell) for cell in cells]).values


def read_back(write, **options):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "a.csv")
        write(path)
        raw, _ = read_file(path, **options)
        with patch.dict(sys.modules, {"pyarrow": None}):
            again, _ = read_file(path, **options)
    assert_equal(raw, again)
    return raw


def assert_equal(raw, columns):
    assert list(raw) == list(columns)
    for name, column in columns.items():
        assert raw[name].dtype == column.dtype, name
        np.testing.assert_array_equal(raw[name], column)


@PROPERTY
@given(columns(), st.sampled_from(",;\t|"), st.booleans())
def test_pandas(cells, separator, quoted):
    frame = pd.DataFrame({name: pd.Series(column, dtype=object) for name, column in cells.items()})
    raw = read_back(lambda path: frame.to_csv(path, index=False, sep=separator, quoting=int(quoted)))
    assert_equal(raw, {name: expected(column) for name, column in cells.items()})


@PROPERTY
@given(columns(), st.sampled_from(",;\t|"))
def test_polars(cells, separator):
    frame = pl.DataFrame(cells, strict=False)
    raw = read_back(lambda path: frame.write_csv(path, separator=separator))
    assert_equal(raw, {name: expected(column) for name, column in cells.items()})


@PROPERTY
@given(columns(("float", "integer")), st.booleans())
def test_numbers_without_names_of_columns(cells, with_index):
    """The header 0, 1, 2, … of pandas is a header, with an index and without."""
    assume(len(cells) > 1)
    X = np.array(list(cells.values()), float).T
    raw = read_back(lambda path: pd.DataFrame(X).to_csv(path, index=with_index))
    values = np.column_stack(list(raw.values()))
    np.testing.assert_array_equal(values[:, 1:] if with_index else values, X)


@PROPERTY
@given(columns(("float",)))
def test_decimal_commas(cells):
    frame = pd.DataFrame(cells, dtype=float)
    assume(frame.map(lambda x: x == x and x != np.round(x) and 1e-3 < abs(x) < 1e9).any().any())
    raw = read_back(lambda path: frame.to_csv(path, index=False, sep=";", decimal=","))
    assert_equal(raw, {name: expected(column) for name, column in cells.items()})


@PROPERTY
@given(columns())
def test_header_and_no_header(cells):
    """Said by the user, the first line is what it is said to be. Without a header, other delimiters in texts may mislead."""
    assume(not any(sign in str(cell) for column in cells.values() for cell in column for sign in ";|, '\""))
    frame = pd.DataFrame({name: pd.Series(column, dtype=object) for name, column in cells.items()})
    assume(not frame.iloc[0].isna().all())
    raw = read_back(lambda path: frame.to_csv(path, index=False, header=False), header=False)
    assert_equal(raw, {str(j): expected(column) for j, column in enumerate(cells.values())})
