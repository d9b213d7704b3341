"""Tools to prove a move correct: all set partitions, exact posteriors, exact transition matrices.

A :class:`Script` takes the place of a random stream. It answers a kernel's questions (which integer, which side of a coin,
which category) from a list of choices, and records how probable each answer was. Going through all lists of choices visits
every path through the *shipped, compiled* kernel with its exact probability, acceptance included.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
from scipy.special import logsumexp

from hashmix.components.contract import Component
from hashmix.core.compiling import implements
from hashmix.core.rng import bernoulli, categorical, height, integer
from hashmix.core.validation import bad_parameter
from hashmix.moves.contract import Move
from hashmix.moves.parallel.regions import begin_row
from hashmix.partition.state import State
from hashmix.partition.target import Target
from hashmix.priors.contract import PartitionPrior, log_prior

__all__ = ["Script", "exact_posterior", "partitions", "paths", "transition_matrix"]

_LONGEST = 4096


class Script(NamedTuple):
    """A generator that follows a script and records the questions it was asked."""

    choices: np.ndarray  # which of the possible answers to give; 0 beyond the end
    options: np.ndarray  # how many answers were possible
    probabilities: np.ndarray  # how probable the given one was
    cursor: np.ndarray


def _script(choices: list[int]) -> Script:
    padded = np.zeros(_LONGEST, np.int64)
    padded[: len(choices)] = choices
    return Script(padded, np.zeros(_LONGEST, np.int64), np.zeros(_LONGEST), np.zeros(1, np.int64))


@implements(integer, Script)
def _integer(rng, n):
    at = rng.cursor[0]
    rng.cursor[0] += 1
    rng.options[at] = n
    rng.probabilities[at] = 1.0 / n
    return rng.choices[at]


@implements(bernoulli, Script)
def _bernoulli(rng, p):
    if not p > 0.0:
        return False
    if p >= 1.0:
        return True
    at = rng.cursor[0]
    rng.cursor[0] += 1
    rng.options[at] = 2
    rng.probabilities[at] = p if rng.choices[at] == 0 else 1.0 - p
    return rng.choices[at] == 0


@implements(categorical, Script)
def _categorical(rng, weights, k, total):
    at = rng.cursor[0]
    rng.cursor[0] += 1
    left = rng.choices[at]
    possible = 0
    chosen = -1
    for c in range(k):
        if weights[c] > 0.0:
            if left == possible:
                chosen = c
            possible += 1
    rng.options[at] = possible
    rng.probabilities[at] = weights[chosen] / total
    return chosen


@implements(height, Script)
def _height(rng, values, m, top):
    levels = np.unique(values[:m])
    first = 1 if levels[0] <= 0.0 else 0
    at = rng.cursor[0]
    rng.cursor[0] += 1
    rng.options[at] = len(levels) - first
    chosen = first + rng.choices[at]
    below = levels[chosen - 1] if chosen > 0 else 0.0
    rng.probabilities[at] = (levels[chosen] - below) / top
    return levels[chosen]


@implements(begin_row, Script)
def _begin_row(rng, seed, i):
    pass  # a script goes on; only a stream starts again at every row


def paths(run: Callable[[Script], Any]) -> Iterator[tuple[float, Any]]:
    """Every path through ``run(script)``, as (probability, what it returned).

    Examples
    --------
    >>> import numba
    >>> from hashmix.core.rng import integer
    >>> from hashmix.testing import paths
    >>> @numba.njit
    ... def two_dice(rng):
    ...     return integer(rng, 6) + integer(rng, 6) + 2
    >>> round(sum(p for p, total in paths(two_dice) if total == 7), 12)
    0.166666666667
    """
    choices: list[int] = []
    while True:
        script = _script(choices)
        result = run(script)
        asked = int(script.cursor[0])
        yield float(np.prod(script.probabilities[:asked])), result
        choices = script.choices[:asked].tolist()
        while choices and choices[-1] + 1 >= script.options[len(choices) - 1]:
            choices.pop()
        if not choices:
            return
        choices[-1] += 1


def partitions(n: int) -> list[tuple[int, ...]]:
    """All set partitions of n points as tuples of labels numbered by first appearance.

    Examples
    --------
    >>> from hashmix.testing import partitions
    >>> partitions(3)
    [(0, 0, 0), (0, 0, 1), (0, 1, 0), (0, 1, 1), (0, 1, 2)]
    """
    found: list[tuple[int, ...]] = [(0,)]
    for _ in range(n - 1):
        found = [labels + (c,) for labels in found for c in range(max(labels) + 2)]
    return found


def exact_posterior(X: Any, component: Component, prior: PartitionPrior) -> dict[tuple[int, ...], float]:
    """The posterior probability of every partition of a few rows, by enumeration; the concentration is not learned.

    Examples
    --------
    >>> import numpy as np, hashmix as hm
    >>> from hashmix.testing import exact_posterior
    >>> X = np.array([[0.0], [0.1], [9.0]])
    >>> posterior = exact_posterior(X, hm.components.DiagonalGaussian(0.0, 0.1, 2.0, 0.1), hm.priors.DirichletProcess(1.0))
    >>> max(posterior, key=posterior.get)
    (0, 0, 1)
    """
    rows = component.rows(X)
    n, model = rows.n_rows, component.model(rows)
    weights = prior.weights(n, n, prior.start_concentration)
    log_p = []
    every = partitions(n)
    for labels in every:
        sizes = np.bincount(labels)
        stats = component.statistics(model, rows, np.array(labels), len(sizes))
        log_p.append(log_prior(weights, sizes) + component.log_marginals(model, stats).sum())
    p = np.exp(np.array(log_p) - logsumexp(log_p))
    return dict(zip(every, p.tolist(), strict=True))


class _Start:
    """A state to start from again and again: its arrays are copied back, which is faster than building it."""

    def __init__(self, state: State) -> None:
        self.state = state
        self._objects = state.partition, state.slots
        self._arrays = [array for part in self._objects for array in part if isinstance(array, np.ndarray)]
        self._copies = [array.copy() for array in self._arrays]

    def again(self) -> State:
        """The state as it was. Scratch buffers keep what the last path left there: it must not matter."""
        self.state.partition, self.state.slots = self._objects
        for array, copy in zip(self._arrays, self._copies, strict=True):
            array[...] = copy
        return self.state


def transition_matrix(move: Move, X: Any, component: Component, prior: PartitionPrior, key: int = 0) -> np.ndarray:
    """The exact transition matrix of one application of a move, over ``partitions(n_rows)``.

    Every path through the compiled kernel is followed, so this is for 3 to 6 rows, and for moves with few choices: give hashed
    moves one or two tables (``n_bits=1, n_tables=1``), and enumerate a scan one row at a time. ``key`` names the hash
    functions of a move that hashes: an exact move is exact given any of them.

    Examples
    --------
    >>> import numpy as np, hashmix as hm
    >>> from hashmix.testing import exact_posterior, transition_matrix
    >>> X = np.array([[0.0], [0.1], [1.0]])
    >>> component, prior = hm.components.DiagonalGaussian(0.0, 0.1, 2.0, 0.1), hm.priors.DirichletProcess(1.0)
    >>> P = transition_matrix(hm.moves.SAMS(), X, component, prior)
    >>> pi = np.array(list(exact_posterior(X, component, prior).values()))
    >>> bool(abs(pi @ P - pi).max() < 1e-12)
    True
    """
    for what, given, kind in (("move", move, Move), ("component", component, Component), ("prior", prior, PartitionPrior)):
        if not isinstance(given, kind):
            raise bad_parameter("transition_matrix", what, f"a {kind.__name__}", given)
    target = Target.of(X, component, prior)
    every = partitions(target.rows.n_rows)
    index = {labels: i for i, labels in enumerate(every)}
    hashed = State(target, every[0], key=key).hashed
    matrix = np.zeros((len(every), len(every)))
    for i, labels in enumerate(every):
        start = _Start(State(target, labels, hashed))

        def run(script: Script, start: _Start = start) -> int:
            state = start.again()
            move.apply(state, script)
            return index[tuple(state.labels().tolist())]

        for probability, j in paths(run):
            matrix[i, j] += probability
    return matrix
