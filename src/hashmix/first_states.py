"""The states chains start in. Of many rows a sample is clustered first, and the others join it by their neighbourhoods."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np

from hashmix.chain import Chain
from hashmix.components.contract import Component
from hashmix.hashing.chain_tables import ChainTables
from hashmix.hashing.rows import n_rows, take_rows
from hashmix.moves import resolve_moves
from hashmix.posterior import Posterior
from hashmix.priors import PartitionPrior
from hashmix.rng import numpy_generator
from hashmix.starts import neighbourhoods, start_labels
from hashmix.state import State

__all__ = ["first_states"]

#: Up to so many rows, a chain starts from neighbourhoods; of more, one in SAMPLED is clustered first, by this many sweeps.
_FEW_ROWS, _SAMPLED, _SWEEPS = 20_000, 8, 30
#: Where no sample is clustered first: beyond so many rows, what is left over between neighbourhoods no longer opens
#: clusters, for they would take too much memory.
_ROWS_FOR_MANY_CLUSTERS = 200_000


def first_states(
    X: Any,
    component: Component,
    prior: PartitionPrior,
    starts: list[Any],
    keys: list[int],
    model: Any,
    n_jobs: int | None,
) -> list[State]:
    """The states chains start in; lists of neighbours are found once for all."""
    first = ChainTables(X, keys[0], n_jobs)
    hashed = [first] + [ChainTables(X, key, n_jobs, first) for key in keys[1:]]
    states = []
    for start, key, tables in zip(starts, keys, hashed, strict=True):
        by_neighbours = isinstance(start, str) and start in ("auto", "buckets")
        labels = hashed_labels(X, component, prior, key, tables) if by_neighbours else start_labels(start, n_rows(X))
        states.append(State(X, component, prior, labels, model, tables))
    return states


def hashed_labels(X: Any, component: Component, prior: PartitionPrior, key: int, tables: ChainTables) -> np.ndarray:
    """Labels to start from: neighbourhoods, joined where rows of theirs are in one cluster of a sample that was clustered.

    Neighbourhoods alone are many and small. Where clusters are not what the component says they are, pieces of them hold
    their own for long; a sample has less evidence for pieces.
    """
    n = n_rows(X)
    order = numpy_generator(key, 0).permutation(n).astype(np.int32)
    few = n > (_FEW_ROWS if component.starts_from_sample else _ROWS_FOR_MANY_CLUSTERS)
    pieces = neighbourhoods(tables.neighbours().lists, order, few)
    if n <= _FEW_ROWS or not component.starts_from_sample:
        return pieces
    chosen = np.sort(order[: max(n // _SAMPLED, _FEW_ROWS // 2)])
    labels = _clustered(component.rows(take_rows(X, chosen)), component, prior, key, tables.n_jobs)
    # The cluster most of a piece's chosen rows are in: of equal pairs, counted, the last and largest stays.
    n_pieces, k = int(pieces.max()) + 1, int(labels.max()) + 1
    pairs, counts = np.unique(pieces[chosen].astype(np.int64) * k + labels, return_counts=True)
    pairs = pairs[np.argsort(counts, kind="stable")]
    joined = k + np.arange(n_pieces)
    joined[pairs // k] = pairs % k
    return joined[pieces]


def _clustered(X: Any, component: Component, prior: PartitionPrior, key: int, n_jobs: int | None) -> np.ndarray:
    """Labels after some sweeps of the default schedule."""
    tables = ChainTables(X, key, n_jobs)
    state = State(X, component, prior, hashed_labels(X, component, prior, key, tables), hashed=tables)
    chain = Chain(0, key, state, resolve_moves("lss"), Posterior.empty(1, 1, 0, [], {}, {}), _SWEEPS + 1, 1, 0.0)
    for _ in range(_SWEEPS):
        chain.sweep(threading.Event())
    return state.labels()
