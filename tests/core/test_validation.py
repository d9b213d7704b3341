"""Parameter checks: what passes, and the sentence for what does not."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest

from hashmix.core.validation import (
    bad_parameter,
    check_choice,
    check_flag,
    check_integer,
    check_n_jobs,
    check_number,
    check_scale,
    check_vector,
    not_finite,
)


def test_sentence():
    error = bad_parameter("sample", "thin", "an integer ≥ 1", "two")
    assert isinstance(error, ValueError)
    assert str(error) == "The 'thin' parameter of sample must be an integer ≥ 1. Got 'two' instead."
    long = str(bad_parameter("sample", "X", "a matrix", list(range(1000))))
    assert long.endswith("… (list) instead.")
    assert len(long) < 250


@pytest.mark.parametrize("value", [1, 1.5, np.float32(0.5), np.int8(3), Fraction(1, 3)])
def test_numbers(value):
    found = check_number("f", "x", value)
    assert type(found) is float
    assert found == float(value)


@pytest.mark.parametrize("value", [0, -1.0, np.nan, np.inf, True, np.True_, "1", None, [1.0], 1j, Decimal(1)])
def test_not_positive_numbers(value):
    with pytest.raises(ValueError, match="The 'x' parameter of f must be a number > 0. Got"):
        check_number("f", "x", value)


def test_bounds():
    assert check_number("f", "x", 0, closed=True) == 0.0
    assert check_number("f", "x", -2.5, low=-3.0) == -2.5
    with pytest.raises(ValueError, match="must be a number ≥ 0 and < 1. Got 1.0 instead"):
        check_number("f", "x", 1.0, high=1.0, closed=True)


def test_integers():
    assert check_integer("f", "n", np.uint8(3), low=3) == 3
    assert type(check_integer("f", "n", np.int64(3), low=0)) is int
    for value in (2, 3.0, True, np.bool_(True), "3", None):
        with pytest.raises(ValueError, match="'n' parameter of f must be an integer ≥ 3. Got"):
            check_integer("f", "n", value, low=3)


def test_flags_and_scales():
    assert check_flag("f", "x", np.True_) is True
    assert check_scale("f", np.False_) is False
    assert check_scale("f", "idf") == "idf"
    for value in (0, 1, None, "yes"):
        with pytest.raises(ValueError, match="'x' parameter of f must be True or False"):
            check_flag("f", "x", value)
        with pytest.raises(ValueError, match="'scale' parameter of f must be True, False or 'idf'"):
            check_scale("f", value)


def test_n_jobs():
    assert check_n_jobs("f", 3) == 3
    assert check_n_jobs("f", None) == check_n_jobs("f", -1) >= 1
    for value in (0, -2, 1.0, True, "all"):
        with pytest.raises(ValueError, match="'n_jobs' parameter of f must be None, -1 or an integer ≥ 1"):
            check_n_jobs("f", value)


def test_choices():
    assert check_choice("f", "x", "b", (letter for letter in "ab")) == "b"
    for value in ("c", None, ["a"]):
        with pytest.raises(ValueError, match="'x' parameter of f must be one of 'a', 'b'. Got"):
            check_choice("f", "x", value, ["a", "b"])


def test_vectors():
    for value in (2, [2.0], np.array(2.0), [2, 2, 2], np.full(3, 2, np.float32)):
        found = check_vector("f", "x", value, 3)
        assert found.dtype == np.float64
        assert found.flags.writeable
        np.testing.assert_array_equal(found, [2.0, 2.0, 2.0])
    for value in ([1, 2], [[1, 2, 3]], np.nan, "a", [1, None, 3]):
        with pytest.raises(ValueError, match=r"must be a finite number, or 3 of them \(one per feature\)"):
            check_vector("f", "x", value, 3)
    with pytest.raises(ValueError, match="must be a positive number, or 3 of them"):
        check_vector("f", "x", [1, 0, 1], 3, positive=True)


@pytest.mark.parametrize(
    ("value", "shown"), [(np.float32("nan"), "NaN"), (float("nan"), "NaN"), (np.float64("inf"), "inf"), (-np.inf, "-inf")]
)
def test_not_finite(value, shown):
    error = not_finite(value, 3, 1)
    assert str(error) == f"X must hold finite numbers only. Got {shown} in row 3, column 1 instead."
