"""The samplers that are compared: the paper's four (two of them as printed and in an exact version) and hashmix's own."""

from __future__ import annotations

from typing import NamedTuple

from hashmix.components import Component
from hashmix.moves import LSHSM, RGSM, SDDS, Gibbs, MinSM, PublishedLSHSM, PublishedMinSM, Schedule, resolve_moves
from hashmix.moves.contract import Move

__all__ = ["BASELINES", "METHODS", "OURS", "Method"]


class Method(NamedTuple):
    """A sampler.

    Attributes
    ----------
    title : str
        Its name in reports.
    in_paper : str or None
        The sampler of the paper that it corresponds to.
    move : Move or None
        The move that it makes; None stands for a schedule of hashmix.
    per_sweep : int
        Number of proposals per sweep.
    init : str
        Where its chains start.
    moves : str
        The schedule, if there is no move; "auto" depends on the component.

    Examples
    --------
    >>> from hashmix.paper.methods import METHODS
    >>> METHODS["rgsm"].title, METHODS["rgsm"].exact, METHODS["published-minsm"].exact
    ('RGSM', True, False)
    """

    title: str
    in_paper: str | None
    move: Move | None
    per_sweep: int = 1
    init: str = "single"
    moves: str = "lss"

    @property
    def exact(self) -> bool:
        """Whether the sampler draws from the posterior."""
        return self.move is None or self.move.exact

    def schedule(self, gibbs: bool, component: Component | None = None) -> Schedule:
        """Return the moves of a sweep; ``gibbs`` adds a Gibbs scan, except to hashmix's schedules, which have their own."""
        if self.move is None:
            return resolve_moves(self.moves, component=component)
        proposals: Schedule = [(self.move, self.per_sweep)]
        return [*proposals, (Gibbs(), 1)] if gibbs else proposals


#: Cheap proposals come many to a sweep, because recording a point after every sweep takes time, too.
METHODS = {
    "rgsm": Method("RGSM", "RGSM", RGSM(n_scans=5)),
    "sdds": Method("SDDS", "SDDS", SDDS()),
    "published-lshsm": Method("LSHSM, as printed", "LSHSM", PublishedLSHSM(n_bits=10, n_tables=10)),
    "published-minsm": Method("MinSM, as printed", "MinSM", PublishedMinSM(), 100),
    "lshsm": Method("LSHSM, exact", "LSHSM", LSHSM(n_bits=10, n_tables=10), 20),
    "minsm": Method("MinSM, exact", "MinSM", MinSM(n_bits=1, n_tables=1, refresh=100), 20),
    "auto": Method("hashmix (auto)", None, None, moves="auto"),
    "lss": Method("hashmix (lss)", None, None),
    "lss-start": Method("hashmix (lss, own start)", None, None, init="buckets"),
}
#: The better of these sets the level to which all samplers are timed.
BASELINES = ("rgsm", "sdds")
OURS = ("auto", "lss", "lss-start")
