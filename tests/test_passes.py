"""Before the first sweep, the rows are looked at twice: once to check and measure them, once to hash them.

Hashing itself sorts the rows several times and compares neighbours; it is one phase here. Building the first state adds every
row to the statistics of its cluster: that is where sampling starts.
"""

from __future__ import annotations

import threading
import warnings

import numpy as np
import pytest

import hashmix as hm
from hashmix.data import rows as data_rows
from hashmix.hashing.neighbours import Neighbours
from hashmix.partition.state import State
from hashmix.run.chain import Chain

N = 30_000  # more than the 20,000 rows beyond which a sample is clustered first


class Counted(np.ndarray):
    """An array that counts the rows NumPy visits, in any element-wise operation or reduction of it or of its blocks."""

    visited = 0

    def __getitem__(self, key):
        part = super().__getitem__(key)
        return np.asarray(part) if isinstance(key, np.ndarray) else part  # a sample of the rows is no pass

    def __array_ufunc__(self, ufunc, method, *inputs, **settings):
        Counted.visited += max(len(x) for x in inputs if isinstance(x, Counted) and x.ndim == 2) if self.ndim == 2 else 0
        plain = [np.asarray(x) if isinstance(x, Counted) else x for x in inputs]
        return getattr(ufunc, method)(*plain, **settings)


@pytest.fixture
def phases(monkeypatch):
    """What goes over all rows up to the first sweep, in order; Counted.visited is what NumPy visits besides."""
    seen = []
    lock = threading.Lock()
    Counted.visited = 0

    def count(place, attribute, name, n_of):
        function = getattr(place, attribute)

        def wrapper(*arguments, **settings):
            if n_of(*arguments) >= N:
                with lock:
                    seen.append(name)
            plain = [np.asarray(a) if isinstance(a, Counted) else a for a in arguments]  # counted by name already
            return function(*plain, **settings)

        monkeypatch.setattr(place, attribute, wrapper)

    def first_sweep(self, stop, sweep=Chain.sweep):
        if self.recorder is not None and "sweep" not in seen:
            seen.extend(["sweep", Counted.visited])
        return sweep(self, stop)

    count(data_rows, "summarise_dense", "measure", lambda values: len(values))
    count(Neighbours, "_fill_dense", "hash", lambda self, rows, *_: rows.n_rows)
    count(State, "_build", "build", lambda self, labels: len(labels))
    monkeypatch.setattr(Chain, "sweep", first_sweep)

    # Whatever Python code does with all rows after they were measured goes through here.
    def values(self):
        return self.arrays.values.view(Counted) if len(self.arrays.values) == N else self.arrays.values

    monkeypatch.setattr(data_rows.DenseRows, "values", property(values))
    return seen


@pytest.mark.parametrize("component", ["gaussian", "gaussian-full"])
@pytest.mark.parametrize("how", ["estimator", "sample"])
@pytest.mark.parametrize(
    ("moves", "init", "expected"),
    [("auto", "auto", ["measure", "build", "build"]), ("lss", "buckets", ["measure", "hash", "build", "build"])],
)
def test_rows_are_measured_once_and_hashed_once(phases, how, component, moves, init, expected):
    rng = np.random.default_rng(0)
    X = (rng.normal(size=(N, 3)) + rng.integers(0, 4, (N, 1)) * 8).view(Counted)
    settings = {"n_draws": 1, "n_warmup": 1, "random_state": 0, "moves": moves, "init": init, "n_chains": 2}
    if how == "estimator":
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # one draw cannot show that chains agree
            hm.SplitMergeMixture(component, **settings).fit(X)
    else:
        hm.sample(X, component, **settings)
    at = phases.index("sweep")
    assert phases[:at] == expected  # a state per chain; cells are built when the first move needs them
    assert phases[at + 1] < N / 2  # nothing else goes over the rows


def test_visits_are_counted():
    Counted.visited = 0
    X = np.zeros((N, 2)).view(Counted)
    X.sum(axis=0)
    np.isfinite(X[:100])
    assert Counted.visited == N + 100
