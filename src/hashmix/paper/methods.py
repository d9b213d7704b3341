"""The samplers that are compared: the paper's four, two of them as printed and exact, and ours."""

from __future__ import annotations

from typing import NamedTuple

from hashmix.moves import LSHSM, RGSM, SDDS, Gibbs, MinSM, PublishedLSHSM, PublishedMinSM, Schedule, resolve_moves
from hashmix.moves.contract import Move

__all__ = ["BASELINES", "METHODS", "OURS", "Method"]


class Method(NamedTuple):
    """A sampler: its name, which of the paper's it is, its move, so many proposals of which make a sweep, and its start."""

    title: str
    in_paper: str | None
    move: Move | None
    per_sweep: int = 1
    init: str = "single"

    @property
    def exact(self) -> bool:
        return self.move is None or self.move.exact

    def schedule(self, gibbs: bool) -> Schedule:
        """The moves of a sweep, perhaps with a Gibbs scan; ours has its own."""
        if self.move is None:
            return resolve_moves("lss")
        proposals: Schedule = [(self.move, self.per_sweep)]
        return [*proposals, (Gibbs(), 1)] if gibbs else proposals


#: Sweeps of one proposal where that is expensive; of many where not, for what is recorded after a sweep costs time too.
METHODS = {
    "rgsm": Method("RGSM", "RGSM", RGSM(n_scans=5)),
    "sdds": Method("SDDS", "SDDS", SDDS()),
    "published-lshsm": Method("LSHSM, as printed", "LSHSM", PublishedLSHSM(n_bits=10, n_tables=10)),
    "published-minsm": Method("MinSM, as printed", "MinSM", PublishedMinSM(), 100),
    "lshsm": Method("LSHSM, exact", "LSHSM", LSHSM(n_bits=10, n_tables=10), 20),
    "minsm": Method("MinSM, exact", "MinSM", MinSM(n_bits=1, n_tables=1, refresh=100), 20),
    "lss": Method("hashmix (lss)", None, None),
    "lss-start": Method("hashmix (lss, own start)", None, None, init="auto"),
}
#: Whose end sets the level that the others are timed to.
BASELINES = ("rgsm", "sdds")
OURS = ("lss", "lss-start")
