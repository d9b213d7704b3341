"""What the columns of mixed rows are like in a cluster."""

from __future__ import annotations

import numpy as np
import pytest

from hashmix.data.mixed import Column, MixedRows
from hashmix.posterior.describe.typical import typical_columns

NAN = float("nan")


def test_shares_lifts_and_moments_are_those_of_the_cells_that_are_there():
    values = np.array([[1.0, 0.0], [3.0, 0.0], [NAN, 1.0], [10.0, 1.0], [14.0, NAN], [12.0, 1.0]])
    rows = MixedRows(values, [Column("age", "numeric"), Column("colour", "categorical", ("blue", "red", "green"))])
    first, second = ({column["column"]: column for column in found} for found in typical_columns(rows, np.repeat([0, 1], 3), 2))
    assert first["age"]["mean"] == pytest.approx(2.0)
    assert first["age"]["sd"] == pytest.approx(1.0)
    assert second["age"]["mean"] == pytest.approx(12.0)
    assert (first["colour"]["typical"], second["colour"]["typical"]) == ("blue", "red")
    assert first["colour"]["share"] == pytest.approx(2 / 3)
    assert first["colour"]["lift"] == pytest.approx((2 / 3) / (2 / 5))
    assert second["colour"]["share"] == 1.0


def test_telling_columns_come_first_and_blank_ones_say_nothing():
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1], 50)
    values = np.column_stack([rng.normal(size=100), rng.normal(size=100) + 9.0 * y, np.where(y == 0, NAN, 1.0), 2.0 * y + 1.0])
    values[y == 0, 3] = NAN
    columns = [
        Column("noise", "numeric"),
        Column("shift", "numeric"),
        Column("flag", "binary", ("no", "yes")),
        Column("n", "count"),
    ]
    first, second = typical_columns(MixedRows(values, columns), y, 2)
    assert first[0]["column"] == second[0]["column"] == "shift"
    blank = {column["column"]: column for column in first}
    assert blank["flag"] == {"column": "flag", "typical": None, "share": None, "lift": None}
    assert blank["n"] == {"column": "n", "mean": None, "sd": None}
