"""Frames of pandas, polars and pyarrow, and dicts, as raw columns."""

from __future__ import annotations

import datetime
import subprocess
import sys
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy.sparse import csr_matrix

import hashmix as hm
from hashmix.data.frames import raw_columns

NAN = np.nan
DAYS = [datetime.datetime(2020, 1, 2), None, datetime.datetime(2020, 1, 3, 12)]
CELLS = {
    "whole": [1, None, 3],
    "real": [1.5, None, float("nan")],
    "text": ["x", None, "NA"],
    "truth": [True, False, True],
    "maybe": [True, None, False],
    "day": DAYS,
    "span": [datetime.timedelta(days=1), None, datetime.timedelta(hours=6)],
    "digits": ["1", "2.5", ""],
}
EXPECTED = {
    "whole": np.array([1, NAN, 3]),
    "real": np.array([1.5, NAN, NAN]),
    "text": np.array(["x", None, None], object),
    "truth": np.array([True, False, True]),
    "maybe": np.array(["True", None, "False"], object),
    "day": np.array(["2020-01-02", "NaT", "2020-01-03T12"], "datetime64[us]"),
    "span": np.array([1, NAN, 0.25]),
    "digits": np.array([1, 2.5, NAN]),
}


def assert_expected(raw):
    assert list(raw) == list(EXPECTED)
    for name, column in EXPECTED.items():
        assert raw[name].dtype == column.dtype, name
        np.testing.assert_array_equal(raw[name], column, err_msg=name)


@pytest.mark.parametrize(
    "frame",
    [
        CELLS,
        {name: np.array(cells, object) for name, cells in CELLS.items()},
        pd.DataFrame(CELLS),
        pd.DataFrame(CELLS).convert_dtypes(),
        pd.DataFrame({name: pd.Series(cells, dtype=object) for name, cells in CELLS.items()}),
        pl.DataFrame(CELLS, strict=False),
        pl.DataFrame(CELLS, strict=False).lazy(),
        pa.table(CELLS),
        pd.DataFrame(CELLS).convert_dtypes(dtype_backend="pyarrow"),
        {name: pd.Series(cells) for name, cells in CELLS.items()},
        {name: pl.Series(cells, strict=False) for name, cells in CELLS.items()},
    ],
    ids=[
        "dict",
        "arrays",
        "pandas",
        "nullable",
        "objects",
        "polars",
        "lazy",
        "pyarrow",
        "pandas-pyarrow",
        "series",
        "polars-series",
    ],
)
def test_every_library_gives_the_same(frame):
    raw = raw_columns(frame)
    assert_expected(raw)
    assert raw.notes == ["span: times, as numbers of days"]


def test_declared_categories_keep_their_order():
    sizes = ["small", "large", "middle"]
    for frame in (
        pd.DataFrame({"size": pd.Categorical(["large", None, "small"], sizes)}),
        pa.table({"size": pa.DictionaryArray.from_arrays(pa.array([1, None, 0]), sizes)}),
        pl.DataFrame({"size": pl.Series(["large", None, "small"], dtype=pl.Enum(sizes))}),
    ):
        column = raw_columns(frame)["size"]
        assert column.tolist() == ["large", None, "small"]
        assert column.categories == tuple(sizes)
        assert column[:2].categories == tuple(sizes)
    assert raw_columns(pd.DataFrame({"n": pd.Categorical([3, 1])}))["n"].categories == ("1", "3")


def test_odd_cells():
    raw = raw_columns(
        {
            "decimal": [Decimal("1.5"), 2],
            "mixed": [1, "x"],
            "bytes": [b"a", b"b"],
            "zoned": [datetime.datetime(2020, 1, 1, 1, tzinfo=datetime.timezone(datetime.timedelta(hours=1))), None],
            "date": [datetime.date(2020, 1, 1), None],
            "list": [[1], [2, 3]],
            "nothing": [None, None],
        }
    )
    assert raw["decimal"].tolist() == [1.5, 2]
    assert raw["mixed"].tolist() == ["1", "x"]
    assert raw["bytes"].tolist() == ["a", "b"]
    assert str(raw["zoned"][0]) == "2020-01-01T00:00:00.000000"
    assert str(raw["date"][0])[:10] == "2020-01-01"
    assert raw["list"].tolist() == ["[1]", "[2, 3]"]
    assert np.isnan(raw["nothing"]).all()
    zoned = raw_columns(pd.DataFrame({"t": pd.to_datetime(["2020-01-01T01:00+01:00"])}))
    assert str(zoned["t"][0]) == "2020-01-01T00:00:00.000000"


def test_names():
    frame = pd.DataFrame([[1, 2, 3]], columns=["a", "a", "a.1"])
    raw = raw_columns(frame)
    assert list(raw) == ["a", "a.1", "a.1.1"]
    assert raw.notes[0] == "duplicate names: another a is now a.1"
    assert list(raw_columns(pd.DataFrame([[1, 2]]))) == ["0", "1"]
    assert list(raw_columns(pd.DataFrame([[1]], columns=pd.MultiIndex.from_tuples([("a", "b")])))) == ["a_b"]
    with pytest.raises(ValueError, match="same number of rows. Got a: 2, b: 1 instead"):
        raw_columns({"a": [1, 2], "b": [3]})
    with pytest.raises(ValueError, match=r"one dimension. Got shape \(2, 2\) instead"):
        raw_columns({"a": np.eye(2)})


def test_what_is_not_a_frame():
    for thing in (np.eye(2), [[1, 2]], csr_matrix(np.eye(2)), pd.Series([1, 2]), pl.Series([1]), pa.array([1]), "text", None):
        assert raw_columns(thing) is None


def test_no_library_is_imported():
    code = """
import sys
import hashmix as hm
from hashmix.data.frames import raw_columns

before = set(sys.modules)
raw_columns({"a": [1], "b": ["x"]})
raw_columns([[1]])
assert not {name.split(".")[0] for name in set(sys.modules) - before} & {"pandas", "polars", "pyarrow"}
"""
    subprocess.run([sys.executable, "-c", code], check=True)


def test_texts_need_a_component_for_mixed_columns():
    frame = pd.DataFrame({"age": [31.0, 45.0, 28.0], "colour": ["red", "blue", "red"]})
    sentence = r"'component' parameter of SplitMergeMixture must be 'auto' or 'mixed', because columns hold texts \(colour\)"
    with pytest.raises(ValueError, match=sentence):
        hm.SplitMergeMixture("gaussian").fit(frame)


def test_frames_with_too_few_rows():
    frame = pd.DataFrame({"age": [31.0, 45.0, None], "colour": ["red", "blue", "red"]})
    for rows, found in ((frame[:0], "0 rows"), (frame[:1], "1 row")):
        with pytest.raises(ValueError, match=f"X must have at least 2 rows. Got {found} instead"):
            hm.SplitMergeMixture().fit(rows)
    model = hm.SplitMergeMixture(n_draws=2, n_warmup=2, random_state=0).fit(frame)
    with pytest.raises(ValueError, match="X must have at least 1 row. Got 0 rows instead"):
        model.predict(frame[:0])
    assert len(model.predict(frame[:1])) == 1


def test_predictions_averaged_over_draws_for_any_frame():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"age": rng.normal(size=30), "colour": rng.choice(["red", "blue", "green"], 30)})
    model = hm.SplitMergeMixture(n_draws=5, n_warmup=5, random_state=0).fit(frame)
    wanted = model.predict_proba(frame, n_draws=3)
    for other in (frame.to_dict("list"), pl.from_pandas(frame), pa.Table.from_pandas(frame)):
        np.testing.assert_allclose(model.predict_proba(other, n_draws=3), wanted)
