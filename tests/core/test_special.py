"""Ratios of gamma functions against mpmath."""

from __future__ import annotations

import mpmath
import numba
import numpy as np
import pytest

from hashmix.core.special import log_gamma_ratio, log_gamma_ratios


@numba.njit
def one(z, h):
    return log_gamma_ratio(z, h)


@pytest.mark.parametrize("z", [0.7, 3.0, 1999.9, 2000.6, 12345.5, 1e7, 1e12])
@pytest.mark.parametrize("h", [0.5, 0.1])
def test_ratios_equal_mpmath(z, h):
    with mpmath.workdps(50):
        wanted = float(mpmath.loggamma(mpmath.mpf(z)) - mpmath.loggamma(mpmath.mpf(z) - mpmath.mpf(h)))
    # Below 2,000 the difference of two lgamma values up to 13,000 has an absolute error of about 1e-12.
    assert one(z, h) == pytest.approx(wanted, rel=1e-11, abs=5e-12)
    assert log_gamma_ratios(np.array([z]), h)[0] == pytest.approx(one(z, h), rel=1e-12, abs=5e-12)


def test_array_form_broadcasts():
    z, h = np.array([2.0, 5000.0, 1e6]), np.array([1.0, 0.5, 1.0])
    np.testing.assert_allclose(log_gamma_ratios(z, h), [one(a, b) for a, b in zip(z, h, strict=True)], rtol=1e-12, atol=1e-12)
