"""Numbers as text."""

from __future__ import annotations

import numpy as np

from hashmix.report.numbers import shown_number, shown_percent, shown_rhat, shown_with_interval


def test_numbers():
    assert [shown_number(value) for value in (3.0, 0.00012346, -1234.5, np.inf)] == ["3", "0.0001235", "-1,234", "–"]
    assert len(shown_number(9806857692081994e9)) < 12
    shown = [shown_rhat(value) for value in (1.0, 99.999, 100.001, np.inf, np.nan)]
    assert shown == ["1.00", "100.00", "above 100", "above 100", "–"]


def test_shares():
    shares = [0.0, 0.00123, 0.0996, 0.5, 0.9899, 0.9951, 0.99999, 1.0]
    assert [shown_percent(share) for share in shares] == ["0", "0.12", "10", "50", "99", "99.5", "99.9", "100"]


def test_intervals_say_how_many_digits_are_known():
    assert shown_with_interval(-0.0003, -0.21, 0.19) == ("0.00", "-0.21 to 0.19")
    assert shown_with_interval(12345.6, 12000.1, 13000.1) == ("12,346", "12,000 to 13,000")
    assert shown_with_interval(2.0, 2.0, 2.0) == ("2", "2 to 2")
    assert shown_with_interval(np.nan, np.nan, np.nan) == ("–", "–")
