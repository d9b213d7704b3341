"""Random numbers inside kernels.

Kernels draw through the verbs below: an integer, a Bernoulli variable, a category or a slice height. The verbs dispatch on the
type of the generator. A :class:`Stream` draws pseudo-random numbers; a :class:`hashmix.testing.Script` replays a list of
outcomes, so that every path through a kernel can be enumerated with its exact probability.

A stream is counter-based (splitmix64) and keyed by (seed, chain, step). A draw depends on nothing else, so results are the
same for any number of workers.

Examples
--------
>>> import numba
>>> from hashmix.core.rng import integer, stream
>>> @numba.njit
... def roll(rng):
...     return integer(rng, 6) + 1
>>> roll(stream(1, 0)) in range(1, 7)
True
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from hashmix.core.compiling import helper, hot_helper, implements

__all__ = [
    "Stream",
    "bernoulli",
    "categorical",
    "chain_keys",
    "height",
    "integer",
    "log_gammas",
    "mix",
    "numpy_generator",
    "shuffle",
    "stream",
    "unit_interval",
]

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_MIX1 = np.uint64(0xBF58476D1CE4E5B9)
_MIX2 = np.uint64(0x94D049BB133111EB)
_S30, _S27, _S31, _S11 = np.uint64(30), np.uint64(27), np.uint64(31), np.uint64(11)
_ONE = np.uint64(1)


class Stream(NamedTuple):
    """A counter-based generator; ``state`` holds its key and the number of draws made so far."""

    state: np.ndarray


@hot_helper
def mix(z):
    """Scramble a 64-bit word (the finaliser of splitmix64, a bijection)."""
    z = (z ^ (z >> _S30)) * _MIX1
    z = (z ^ (z >> _S27)) * _MIX2
    return z ^ (z >> _S31)


def chain_keys(random_state: Any, n_chains: int) -> list[int]:
    """Derive one 64-bit key per chain; the first keys do not depend on how many there are.

    Parameters
    ----------
    random_state : None, int, SeedSequence, Generator or RandomState
        None takes entropy from the operating system. A Generator or RandomState is advanced by one draw.
    n_chains : int

    Examples
    --------
    >>> from hashmix.core.rng import chain_keys
    >>> chain_keys(7, 2) == chain_keys(7, 3)[:2]
    True
    """
    if isinstance(random_state, np.random.RandomState):
        random_state = int(random_state.randint(0, 2**31 - 1))
    elif isinstance(random_state, np.random.Generator):
        random_state = int(random_state.integers(0, 2**63 - 1))
    if isinstance(random_state, np.random.SeedSequence):
        # A copy, because spawning changes a SeedSequence: the same one must give the same keys again.
        sequence = np.random.SeedSequence(random_state.entropy, spawn_key=random_state.spawn_key)
    elif random_state is None or _is_seed(random_state):
        sequence = np.random.SeedSequence(random_state)
    else:
        raise ValueError(f"random_state must be None, an integer ≥ 0, or a NumPy generator. Got {random_state!r} instead.")
    return [int(child.generate_state(1, np.uint64)[0]) for child in sequence.spawn(n_chains)]


def _is_seed(value: Any) -> bool:
    return isinstance(value, (int, np.integer)) and not isinstance(value, bool) and bool(value >= 0)


def _mix_int(z: int) -> int:
    """:func:`mix` for Python integers."""
    mask = (1 << 64) - 1
    z = ((z ^ (z >> 30)) * int(_MIX1)) & mask
    z = ((z ^ (z >> 27)) * int(_MIX2)) & mask
    return z ^ (z >> 31)


def stream(chain_key: int, *step: int) -> Stream:
    """Return the stream of one step of a chain.

    Parameters
    ----------
    chain_key : int
        A key from :func:`chain_keys`.
    *step : int
        Any integers that identify the step, such as (sweep, move).

    Examples
    --------
    >>> from hashmix.core.rng import stream
    >>> stream(1, 0, 3).state.tolist() == stream(1, 0, 3).state.tolist()
    True
    """
    key = chain_key
    for part in step:
        key = _mix_int((key ^ _mix_int((part + 1) * int(_GOLDEN) & ((1 << 64) - 1))) & ((1 << 64) - 1))
    return Stream(np.array([key, 0], dtype=np.uint64))


def unit_interval(chain_key: int, *step: int) -> float:
    """Return a uniform number in [0, 1) for one step of a chain, for choices made outside kernels.

    Examples
    --------
    >>> from hashmix.core.rng import unit_interval
    >>> 0.0 <= unit_interval(1, 5) < 1.0
    True
    """
    return (_mix_int(int(stream(chain_key, *step).state[0])) >> 11) / 2**53


def numpy_generator(chain_key: int, *step: int) -> np.random.Generator:
    """Return a NumPy generator for one step of a chain, for draws made outside kernels.

    Examples
    --------
    >>> from hashmix.core.rng import numpy_generator
    >>> bool(numpy_generator(1, 5).random() == numpy_generator(1, 5).random())
    True
    """
    return np.random.Generator(np.random.Philox(key=int(stream(chain_key, *step).state[0])))


# ---- the verbs -----------------------------------------------------------------------------------------------------


def integer(rng: Any, n: Any) -> Any:
    """Draw a uniform integer from 0, …, n − 1."""


def bernoulli(rng: Any, p: Any) -> Any:
    """Return True with probability p."""


def categorical(rng: Any, weights: Any, k: Any, total: Any) -> Any:
    """Draw an index c < k with probability ``weights[c] / total``; the first k weights are ≥ 0 and sum to ``total``."""


def height(rng: Any, values: Any, m: Any, top: Any) -> Any:
    """Draw a uniform height below ``top``, the largest of the first m values; return the smallest value at or above it."""


@hot_helper
def _uniform(state):
    state[1] += _ONE
    return (mix(state[0] + state[1] * _GOLDEN) >> _S11) * (1.0 / 9007199254740992.0)


@implements(integer, Stream, hot=True)
def _integer(rng, n):
    return int(_uniform(rng.state) * n)


@implements(bernoulli, Stream, hot=True)
def _bernoulli(rng, p):
    return _uniform(rng.state) < p


@implements(categorical, Stream, hot=True)
def _categorical(rng, weights, k, total):
    left = _uniform(rng.state) * total
    last = 0
    for c in range(k):
        if weights[c] > 0.0:
            last = c
            left -= weights[c]
            if left < 0.0:
                return c
    return last  # reached only if rounding left a remainder


@implements(height, Stream)
def _height(rng, values, m, top):
    drawn = _uniform(rng.state) * top
    least = top
    for j in range(m):
        if values[j] >= drawn:
            least = min(least, values[j])
    return least


@helper
def shuffle(rng, values, n):
    """Shuffle the first n values in place, uniformly (Fisher–Yates)."""
    for i in range(n - 1, 0, -1):
        j = integer(rng, i + 1)
        values[i], values[j] = values[j], values[i]


def log_gammas(shapes: np.ndarray, generator: np.random.Generator) -> np.ndarray:
    """Logarithms of gamma variables; finite, even if one is too small for a float.

    Examples
    --------
    >>> import numpy as np
    >>> from hashmix.core.rng import log_gammas
    >>> log_gammas(np.array([1e-9, 5.0]), np.random.default_rng(0)).shape
    (2,)
    """
    return np.log(np.maximum(generator.standard_gamma(shapes), np.finfo(np.float64).tiny))
