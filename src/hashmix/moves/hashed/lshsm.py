"""LSHSM: the paper's sampler with sign projections, exact."""

from __future__ import annotations

from hashmix.moves.composite import CompositeMove
from hashmix.moves.contract import Move
from hashmix.moves.hashed.dissimilar_split import DissimilarSplit
from hashmix.moves.hashed.tables import check_tables
from hashmix.moves.hashed.urn_merge import UrnMerge

__all__ = ["LSHSM"]


class LSHSM(CompositeMove):
    """Split–merge with anchors from sign-projection tables: one dissimilar pair, then one similar pair.

    A dissimilar pair is split by a smart allocation (:class:`DissimilarSplit`); a similar pair is merged, or split by a
    Pólya urn (:class:`UrnMerge`). The ratios need no collision probability (``docs/exactness.md``); the paper's own ratios
    are in :class:`PublishedLSHSM`. If no cluster reaches around the mean, opposite rows are rarely in one cluster, and most
    splits are left to the other moves of a schedule.

    Parameters
    ----------
    n_bits, n_tables : int, default=10
        Size and number of the hash tables.
    refresh : int or None, default=10
        Sweeps between fresh hash functions; None keeps the first ones, as the paper does.

    Examples
    --------
    >>> import numpy as np, hashmix as hm
    >>> X = np.concatenate([np.random.default_rng(0).normal(c, 1, (30, 2)) for c in (-6, 0, 6)])
    >>> moves = [(hm.moves.LSHSM(n_bits=4), 20), (hm.moves.Gibbs(), 1)]
    >>> posterior = hm.sample(X, moves=moves, n_draws=50, n_warmup=50, random_state=0)
    >>> int(np.median(posterior.n_clusters))
    3
    """

    n_bits: int
    n_tables: int
    refresh: int | None

    def __init__(self, n_bits: int = 10, n_tables: int = 10, refresh: int | None = 10) -> None:
        self.n_bits, self.n_tables, self.refresh = check_tables("LSHSM", n_bits, n_tables, refresh)

    @property
    def parts(self) -> list[Move]:
        settings = self.n_bits, self.n_tables, self.refresh
        return [DissimilarSplit(*settings), UrnMerge(*settings)]
