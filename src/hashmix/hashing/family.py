"""The contract of hash families: settings, and how to build the buckets that moves sample from."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from typing import Any, Protocol

import numpy as np

from hashmix.core.declared import Declared
from hashmix.core.threads import Threads
from hashmix.core.validation import bad_parameter, check_integer, check_n_jobs
from hashmix.data.rows import Rows

__all__ = ["BucketIndex", "HashFamily", "check_bits", "in_threads"]

_MOST_BITS = 64


def in_threads(work: Callable[[Any], Any], tasks: Iterable[Any], n_jobs: int | None = None) -> list[Any]:
    """Run ``work`` on every task in a pool of threads.

    Parameters
    ----------
    work : callable
        Must release the GIL to run in parallel, as kernels do.
    tasks : iterable
    n_jobs : int, optional
        Number of threads; None for one per processor.

    Returns
    -------
    list
        Results in the order of the tasks.

    Examples
    --------
    >>> from hashmix.hashing.family import in_threads
    >>> in_threads(abs, [-1, 2, -3], n_jobs=2)
    [1, 2, 3]
    """
    return Threads(check_n_jobs("hashing", n_jobs)).map(work, tasks)


def check_bits(owner: str, n_bits: Any) -> int:
    """Validate the number of bits per code.

    Examples
    --------
    >>> from hashmix.hashing.family import check_bits
    >>> check_bits("SignProjection", 10)
    10
    """
    if not isinstance(n_bits, (int, np.integer)) or isinstance(n_bits, bool) or not 1 <= n_bits <= _MOST_BITS:
        raise bad_parameter(owner, "n_bits", f"an integer from 1 to {_MOST_BITS}", n_bits)
    return int(n_bits)


class BucketIndex(Protocol):
    """Result of :meth:`HashFamily.build`: ``arrays`` is the :class:`~hashmix.hashing.tables.TableArrays` that kernels read."""

    arrays: Any


class HashFamily(Declared, ABC):
    """A way to group similar rows into buckets, described by its parameters.

    A family never looks at a partition. Moves may therefore draw anchors and launch states from its buckets without any
    probability of the hash functions in their acceptance ratio.

    A subclass stores every parameter of ``__init__`` under its own name, and passes ``n_bits`` and ``n_tables`` to
    ``super().__init__``. Names of attributes that depend on data end with an underscore. It must provide :meth:`build`.
    Most families compute codes, and rows with equal codes share a bucket. They subclass
    :class:`~hashmix.hashing.CodeFamily` instead, which implements :meth:`build` in terms of

    - ``_draw_functions(rows)``: draw the hash functions named by ``key_``;
    - ``_hash(rows, begin, end, out)``: write the codes of rows begin … end − 1;
    - ``_fit_columns(rows)``, optional: learn about the columns, usually from ``rows.summary``;
    - ``_check(rows)``, optional: raise a ValueError if rows cannot be hashed;
    - ``opposite(codes)``, optional: codes of the opposite rows. The default is None: there are none.

    Parameters
    ----------
    n_bits : int
        Hashes per code, 1 to 64.
    n_tables : int
        Codes per row.

    Attributes
    ----------
    shared : bool
        Class attribute. Whether all chains of a run share the result of :meth:`build` if it is never refreshed. False by
        default: each chain has its own functions. True suits families that are expensive to build.

    Examples
    --------
    >>> import hashmix as hm
    >>> hm.hashing.NeighbourLists(n_tables=8)
    NeighbourLists(n_bits=32, n_tables=8, n_neighbors=12)
    """

    n_bits: int
    n_tables: int
    shared = False

    def __init__(self, n_bits: int, n_tables: int) -> None:
        owner = type(self).__name__
        self.n_bits = check_bits(owner, n_bits)
        self.n_tables = check_integer(owner, "n_tables", n_tables, low=1)

    @abstractmethod
    def build(self, rows: Rows, key: int, generation: int = 0, n_jobs: int | None = None) -> BucketIndex:
        """Group rows into buckets with the functions named by (key, generation). The family itself is not changed.

        Parameters
        ----------
        rows : Rows
        key : int
            Names the chain.
        generation : int, default=0
            Number of times that the functions of this chain were refreshed.
        n_jobs : int, optional
            Number of threads; None for one per processor. Does not change the result.

        Returns
        -------
        Tables, Neighbours or another object with ``arrays``
            ``arrays`` is a :class:`~hashmix.hashing.tables.TableArrays`. Each row is in its own bucket of each table, once, and
            never in the opposite bucket.
        """
