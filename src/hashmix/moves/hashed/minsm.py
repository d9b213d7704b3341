"""MinSM: the paper's sampler with weighted MinHash, exact."""

from __future__ import annotations

from hashmix.moves.composite import CompositeMove
from hashmix.moves.contract import Move
from hashmix.moves.hashed.bucket_cut import BucketCut
from hashmix.moves.hashed.bucket_split import BucketSplit
from hashmix.moves.hashed.envelope_cut import EnvelopeCut
from hashmix.moves.hashed.exchange import Exchange
from hashmix.moves.hashed.tables import check_tables
from hashmix.moves.hashed.urn_merge import UrnMerge

__all__ = ["MinSM"]


class MinSM(CompositeMove):
    """Split–merge with weighted MinHash: proposals of five kinds, each exact alone.

    These are a split launched from hash buckets and finished by one recorded restricted scan (:class:`BucketSplit`, the
    workhorse); three exchanges of rows between the clusters of hashed mates (:class:`Exchange`); a merge of hashed mates
    (:class:`UrnMerge`); and, a tenth as often, a cut by the bucket itself (:class:`BucketCut`) and a cut by a dart
    (:class:`EnvelopeCut`), which are seldom accepted. All are exact for any number of bits and tables
    (``docs/exactness.md``); the paper's own ratios are in :class:`PublishedMinSM`.

    Parameters
    ----------
    n_bits, n_tables : int, default=1 and 10
        Size and number of the hash tables.
    refresh : int or None, default=10
        Sweeps between fresh hash functions; None keeps the first ones, as the paper does.

    Examples
    --------
    >>> import numpy as np, hashmix as hm
    >>> X = np.concatenate([np.random.default_rng(0).normal(c, 1, (30, 2)) for c in (-6, 0, 6)])
    >>> moves = [(hm.moves.MinSM(), 20), (hm.moves.Gibbs(), 1)]
    >>> posterior = hm.sample(X, moves=moves, n_draws=50, n_warmup=50, random_state=0)
    >>> int(np.median(posterior.n_clusters))
    3
    """

    n_bits: int
    n_tables: int
    refresh: int | None

    def __init__(self, n_bits: int = 1, n_tables: int = 10, refresh: int | None = 10) -> None:
        self.n_bits, self.n_tables, self.refresh = check_tables("MinSM", n_bits, n_tables, refresh)

    @property
    def parts(self) -> list[Move]:
        settings = self.n_bits, self.n_tables, self.refresh
        merge = UrnMerge(*settings, "minhash")
        return [BucketSplit(*settings), Exchange(*settings), merge, BucketCut(*settings), EnvelopeCut()]

    @property
    def rates(self) -> list[float]:
        return [1.0, 3.0, 1.0, 0.1, 0.1]
