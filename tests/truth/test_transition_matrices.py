"""Exact transition matrices of the shipped kernels leave the exact posterior invariant.

Known to catch (``test_faults.py`` breaks each on purpose): SDDS without its factor 2; an RGSM merge that samples instead
of forcing; a forgotten size factor in SAMS; K off by one for Pitman–Yor; a wrong predictive; a wrong sign in the
acceptance; a singleton weighed as if its cluster were still there.
"""

from __future__ import annotations

import numpy as np
import pytest

from tests.shared import COMPONENTS, MOVES, PRIORS, always, assert_invariant, name
from tests.truth.no_data import NoData

# Two rows alike, one apart, one in between: no symmetry for a mistake to hide behind.
ROWS = np.array([[0.1, 0.4], [0.2, 0.3], [1.9, -0.6], [0.9, 1.3], [-1.0, 0.2]])


@pytest.mark.parametrize("prior", PRIORS, ids=name)
@pytest.mark.parametrize("component", COMPONENTS, ids=name)
@pytest.mark.parametrize("move", MOVES, ids=name)
def test_four_rows(move, component, prior):
    P = assert_invariant(move, ROWS[:4], component, prior)
    assert (np.diagonal(P) < 1.0 - 1e-9).all()  # it does move, from everywhere


@pytest.mark.parametrize(
    "move", [move for move in MOVES if name(move) in ("SAMS()", "SDDS(merge_weight='marginal')")], ids=name
)
@pytest.mark.parametrize("component", COMPONENTS, ids=name)
def test_five_rows(move, component):
    assert_invariant(move, ROWS, component, PRIORS[1])


DUPLICATES = np.array([[0.1, 0.4], [0.1, 0.4], [0.1, 0.4], [2.0, 1.0]])


@pytest.mark.parametrize("component", COMPONENTS, ids=name)
@pytest.mark.parametrize("move", MOVES, ids=name)
def test_duplicate_rows(move, component):
    assert_invariant(move, DUPLICATES, component, PRIORS[0])


@pytest.mark.parametrize("move", always(("Gibbs", "SAMS", "UrnMerge"), MOVES), ids=name)
def test_float32_rows(move):
    assert_invariant(move, ROWS[:4].astype(np.float32), COMPONENTS[0], PRIORS[0])


@pytest.mark.parametrize("prior", PRIORS, ids=name)
@pytest.mark.parametrize("move", always(("Gibbs", "SAMS", "RGSM", "UrnMerge", "BucketCut"), MOVES), ids=name)
def test_without_data_the_prior_is_returned(move, prior):
    assert_invariant(move, np.zeros((4, 1)), NoData(), prior)
