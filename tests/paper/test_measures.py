"""NMI, accuracy and the time to reach a level."""

from __future__ import annotations

import numpy as np
import pytest

from hashmix.paper.measures import accuracy, nmi, reached


def test_relabelling_changes_nothing():
    rng = np.random.default_rng(0)
    truth, labels = rng.integers(0, 4, 200), rng.integers(0, 6, 200)
    other = rng.permutation(6)[labels]
    assert nmi(truth, labels) == pytest.approx(nmi(truth, other))
    assert accuracy(truth, labels) == accuracy(truth, other)
    assert nmi(truth, truth) == pytest.approx(1.0)
    assert accuracy(truth, truth) == 1.0


def test_small_examples():
    assert nmi([0, 0, 1, 1], [0, 1, 0, 1]) == pytest.approx(0.0, abs=1e-12)
    # Entropies log 2 and 1.5 log 2 with mutual information log 2: the geometric mean, not the arithmetic one.
    assert nmi([0, 0, 1, 1], [0, 0, 1, 2]) == pytest.approx(1.0 / np.sqrt(1.5))
    assert accuracy([0, 0, 1, 1], [0, 0, 1, 2]) == 0.75  # a true cluster is matched with one cluster only
    assert accuracy([0, 1, 2, 3], [0, 0, 0, 0]) == 0.25


def test_reached():
    curve = {"seconds": [0.0, 1.0, 2.0, 3.0], "log_joint": [-9.0, -5.0, -6.0, -4.0]}
    assert reached(curve, -5.0) == 1.0  # the first time, even if it falls below again
    assert reached(curve, -10.0) == 0.0
    assert reached(curve, -4.5) == 3.0
    assert reached(curve, 0.0) is None
