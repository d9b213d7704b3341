"""What columns are recognised as, and how they are encoded."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from hashmix.data.encode import encode, plain_matrix
from hashmix.data.frames import raw_columns
from hashmix.data.kinds import is_plain, recognise
from hashmix.data.mixed import Column, MixedRows

RNG = np.random.default_rng(0)
X = RNG.normal(size=60)
LETTERS = RNG.choice(["a", "b", "c"], 60)
WORDS = [f"word {i}" for i in range(60)]


def kinds(**columns):
    found = recognise(raw_columns(columns))
    return {column.name: column.kind for column in found.columns}


@pytest.mark.parametrize(
    ("name", "cells", "reason"),
    [
        ("", np.arange(60) * 3 % 61, "all different"),
        ("Unnamed: 0", X, "all different"),
        ("index", np.arange(60), "row numbers"),
        ("order_id", RNG.permutation(60), "all different"),
        ("OrderID", RNG.permutation(60), "all different"),
        ("order id", WORDS, "all different"),
        ("anything", np.arange(10, 70), "row numbers"),
        ("customer", RNG.permutation(60), "all different"),
        ("customer", 70_000 + 2 * RNG.permutation(60), "all different"),
        ("anything", WORDS, "all different"),
        ("anything", [*WORDS[:58], "word 0", "word 1"], "almost all different"),
        ("anything", [f"what somebody wrote on day {i}" for i in range(60)], "texts, all different"),
        (
            "anything",
            [f"what somebody wrote on day {max(i, 2)}" for i in range(60)],
            "texts, almost all different",
        ),
        ("anything", [5] * 60, "a single value"),
        ("anything", ["x", None] * 30, "a single value"),
        ("anything", [None] * 60, "all blank"),
    ],
)
def test_set_aside(name, cells, reason):
    found = recognise(raw_columns({name: cells, "x": X}))
    assert found.set_aside == {name: reason}
    assert [column.name for column in found.columns] == ["x"]
    by_words = "anything: --text anything clusters the texts of a column by their words"
    assert found.notes == ([by_words] if reason.startswith("texts") else [])
    named = reason == "all different"
    assert found.id == (name if named or reason == "row numbers" else None)


@pytest.mark.parametrize(
    ("name", "cells"),
    [
        ("idea", RNG.permutation(20)),  # too few to tell
        ("visitors", RNG.permutation(60) * 7),  # by chance, only four pairs would be equal
        ("visitors", RNG.permutation(60) + np.eye(60)[0] / 2),  # not whole
        ("id", X),  # not whole
        ("id", [1, 2] * 30),
        ("Unnamed: 0", LETTERS),
        ("anything", np.arange(60) * 7),
        ("anything", [*WORDS[:50], *WORDS[:10]]),
    ],
)
def test_used(name, cells):
    assert name in [column.name for column in recognise(raw_columns({name: cells, "x": X[: len(cells)]})).columns]


def test_ids_that_repeat_are_mentioned():
    found = recognise(raw_columns({"id": [1, 2] * 30, "x": X}))
    assert found.notes == ["id looks like an id but has repeated values: it is used (--drop to change)"]


def test_numbers_that_may_be_ids_are_mentioned():
    cells = RNG.permutation(60) * 1000
    found = recognise(raw_columns({"customer": cells, "x": X}))
    assert found.notes == ["customer: whole numbers that are all different; it is used (--id customer if it names the rows)"]
    assert recognise(raw_columns({"customer": cells, "x": X}), numeric=["customer"]).notes == []


def test_plain_numbers_stay_numbers():
    columns = {"x": X, "n": RNG.poisson(2, 60), "b": RNG.integers(0, 2, 60)}
    assert set(kinds(**columns).values()) == {"numeric"}
    raw = raw_columns(columns)
    found = recognise(raw)
    assert is_plain(raw, found.columns)
    np.testing.assert_array_equal(plain_matrix(raw, found.columns), np.column_stack(list(columns.values())))


@pytest.mark.parametrize("other", [LETTERS, [None, *X[1:]], [True, False] * 30], ids=["categories", "a blank", "booleans"])
def test_kinds_among_others(other):
    columns = {
        "x": X,
        "n": RNG.poisson(2, 60),
        "many": RNG.poisson(200, 60) * (np.arange(60) > 0),
        "from_one": 1 + RNG.poisson(2, 60),
        "b": RNG.integers(0, 2, 60),
        "b_blank": [0.0, None, 1.0] * 20,
        "two": ["no", "yes"] * 30,
        "truth": [True, False] * 30,
        "maybe": [True, False, None] * 20,
        "letters": LETTERS,
        "other": other,
    }
    found = kinds(**columns)
    assert found.pop("other") in ("categorical", "numeric", "binary")
    assert found == {
        "x": "numeric",
        "n": "count",
        "many": "numeric",
        "from_one": "numeric",
        "b": "binary",
        "b_blank": "binary",
        "two": "binary",
        "truth": "binary",
        "maybe": "binary",
        "letters": "categorical",
    }


def test_categories():
    sizes = pd.Categorical(["large", "small"] * 30, ["small", "middle", "large"])
    raw = raw_columns({"letters": LETTERS, "truth": [True, False, None] * 20, "two": ["no", "yes"] * 30})
    raw |= raw_columns(pd.DataFrame({"size": sizes}))
    found = {column.name: column.categories for column in recognise(raw).columns}
    assert found["letters"] == ("a", "b", "c")
    assert found["truth"] == ("False", "True")
    assert found["two"] == ("no", "yes")
    assert found["size"] == ("small", "middle", "large")


def test_options():
    raw = raw_columns({"zip": [10, 9, 10.5] * 20, "row": np.arange(60), "x": X, "y": X, "z": X})
    found = recognise(raw, categorical=["zip"], numeric=["row"], ids=["y"], drop=["z"])
    assert found.columns == (
        Column("zip", "categorical", ("9", "10", "10.5")),
        Column("row", "numeric"),
        Column("x", "numeric"),
    )
    assert found.set_aside == {"y": "id", "z": "dropped"}
    assert found.id == "y"
    with pytest.raises(ValueError, match=r"There is no column 'age' \(numeric\), 'sex' \(drop\); there are zip, row, x"):
        recognise(raw, numeric=["age"], drop=["sex"])
    with pytest.raises(ValueError, match="Column 'x' must be categorical or numeric. Got both instead"):
        recognise(raw, numeric=["x"], categorical=["x"])
    with pytest.raises(ValueError, match=r"No column is left to cluster by; .* Set aside: x \(dropped\)"):
        recognise(raw_columns({"x": X}), drop=["x"])
    with pytest.raises(ValueError, match=r"or cluster its words with --text note. Set aside: note \(all different\)"):
        recognise(raw_columns({"note": WORDS}))


def test_all_texts_among_numbers_are_named_at_once():
    texts = {"a": ["low", *X[1:]], "b": [*X[:-1], "high"], "c": LETTERS}
    sentence = r"2 columns have texts among their numbers: a \('low' in row 0\), b \('high' in row 59\); .* --drop a,b\."
    with pytest.raises(ValueError, match=sentence):
        recognise(raw_columns(texts))
    with pytest.raises(ValueError, match=r"c \('[abc]' in row 0\), a .*--categorical c,a|a .*c .*--categorical"):
        recognise(raw_columns(texts), numeric=["a", "b", "c"])
    # A few codes with letters among them are categories.
    assert kinds(x=X, code=["1", "2", "3A"] * 20)["code"] == "categorical"


def test_dates_are_numbers():
    raw = raw_columns({"day": np.array(["2020-01-01", "2020-01-03"] * 30, "datetime64[D]"), "x": X})
    found = recognise(raw)
    assert found.notes == ["day: dates, as days since 1970-01-01"]
    assert is_plain(raw, found.columns)
    assert plain_matrix(raw, found.columns)[:2, 0].tolist() == [18262, 18264]


def test_encode():
    raw = raw_columns({"x": X, "c": LETTERS, "b": [True, False] * 30, "maybe": [0, None, 1] * 20})
    columns = recognise(raw).columns
    rows = encode(raw, columns)
    assert isinstance(rows, MixedRows)
    assert rows.columns == columns
    np.testing.assert_array_equal(rows.values[:, 0], X)
    assert [columns[1].categories[int(code)] for code in rows.values[:, 1]] == LETTERS.tolist()
    assert rows.values[:2, 2].tolist() == [1, 0]
    np.testing.assert_array_equal(rows.values[:3, 3], [0, np.nan, 1])
    # New rows, with columns in another order and of other types.
    new = raw_columns({"extra": [1], "maybe": [True], "b": ["True"], "c": ["b"], "x": ["1.5"]})
    with pytest.warns(UserWarning, match="taken as blank: 'True' in 'maybe'"):
        assert encode(new, columns).values[0, :3].tolist() == [1.5, 1, 1]


def test_encode_names_what_is_wrong():
    columns = (Column("x", "numeric"), Column("c", "categorical", ("a", "b")), Column("d", "categorical", ("a", "b")))
    with pytest.raises(ValueError, match="It lacks 'c', 'd'; it has x, y"):
        encode(raw_columns({"x": [1], "y": [2]}), columns)
    with pytest.raises(ValueError, match="Column 'x' must be numeric. Got the text 'one' instead"):
        encode(raw_columns({"x": ["one"], "c": ["a"], "d": ["b"]}), columns)
    with pytest.warns(
        UserWarning, match=r"^Categories that the fit did not see are taken as blank: 'q' in 'c'; 'r', 's' in 'd'\.$"
    ):
        rows = encode(raw_columns({"x": [1, 2], "c": ["q", "a"], "d": ["r", "s"]}), columns)
    np.testing.assert_array_equal(rows.values, [[1, np.nan, np.nan], [2, 0, np.nan]])
