"""What a move counts: proposals, acceptances and work."""

from __future__ import annotations

import numpy as np

__all__ = ["ACCEPTED", "FIELDS", "PROPOSED", "SPLITS_ACCEPTED", "SPLITS_PROPOSED", "WORK", "new_tally"]

#: Names of the entries of a tally. "work" is counted in predictives evaluated.
FIELDS = ("proposed", "accepted", "splits_proposed", "splits_accepted", "work")
PROPOSED, ACCEPTED, SPLITS_PROPOSED, SPLITS_ACCEPTED, WORK = range(len(FIELDS))


def new_tally() -> np.ndarray:
    """A tally of nothing so far; kernels add to it.

    Examples
    --------
    >>> from hashmix.moves.tally import PROPOSED, new_tally
    >>> int(new_tally()[PROPOSED])
    0
    """
    return np.zeros(len(FIELDS), np.int64)
