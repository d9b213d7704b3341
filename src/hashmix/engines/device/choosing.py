"""How rows on a device choose their clusters: the rule of :mod:`hashmix.moves.parallel.choosing`, for many rows at once."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from hashmix.components.densities import EPS
from hashmix.engines.device.lazy import torch
from hashmix.engines.device.words import as_ordered, ranks_of, uniforms_of
from hashmix.moves.parallel.choosing import DRAW, FAR, OVERFLOW, PRECISION, Offer

__all__ = ["DeviceOffer", "choose", "full_float32"]

#: Numbers that a step over pairs of rows and clusters may take, float64.
_AT_ONCE = 2**24


class DeviceOffer(NamedTuple):
    """What rows choose from, one column per cluster in the order of its leader's rank."""

    weights: Any  # (K, terms) float32
    intercepts: Any  # (K,) with log w, float32
    ranks: Any  # (K,) signed, increasing
    slots: Any  # (K,) the clusters
    columns: Any  # (capacity,) the column of each cluster
    means: Any  # (K, D)
    precisions: Any  # (K, D) or (K, D, D)
    constants: Any  # (K,) with log w, of the densities about their means
    magnitude: Any  # (D + 1,)

    @classmethod
    def of(cls, offer: Offer, to: Callable[..., Any]) -> DeviceOffer:
        """Send an offer to a device."""
        density = offer.density
        return cls(
            to(density.weights),
            to(offer.intercepts),
            to(as_ordered(offer.ranks)),
            to(offer.slots),
            to(offer.columns),
            to(density.means),
            to(density.precisions),
            to(density.constants + offer.log_weights),
            to(density.magnitude),
        )


@contextlib.contextmanager
def full_float32() -> Iterator[None]:
    """Let products of float32 matrices keep all digits of float32, whatever the process has chosen: no TF32."""
    settings = torch.backends.cuda.matmul
    name, full = ("fp32_precision", "ieee") if hasattr(settings, "fp32_precision") else ("allow_tf32", False)
    before = getattr(settings, name)
    setattr(settings, name, full)
    try:
        yield
    finally:
        setattr(settings, name, before)


def choose(family: Any, seed: int, offer: DeviceOffer, numbers: Any, Y: Any, own: Any) -> Any:
    """Draw the columns of rows; their ``own`` for leaders, and for rows that no density is a positive number for.

    Log weights are products in float32. Columns that are near the best are then weighed in float64: by these log weights if
    they are precise enough, else by densities about the mean. Only the products exist for all columns.
    """
    error = EPS * (offer.magnitude[-1] + (Y * Y) @ offer.magnitude[:-1])
    ranks = ranks_of(seed, numbers)
    logits = family.features(Y.float()) @ offer.weights.T
    logits += offer.intercepts
    columns = torch.arange(logits.shape[1], device=Y.device)
    n_before = torch.searchsorted(offer.ranks, ranks)
    logits.masked_fill_(columns >= n_before[:, None], -torch.inf)
    top = logits.amax(1)
    near = logits > (top.double() - (FAR + 2.0 * error)).float()[:, None]
    overflows = ~(error < OVERFLOW)
    if bool(overflows.any()):
        near[overflows] = columns < n_before[overflows, None]
    n_near = near.sum(1)
    row, column = near.nonzero(as_tuple=True)
    log_weights = (logits[row, column] - top[row]).double()
    (unsure,) = ((error > PRECISION) & (n_near > 1))[row].nonzero(as_tuple=True)
    for some in unsure.split(max(1, _AT_ONCE // offer.precisions[0].numel())):
        at, c = row[some], column[some]
        log_weights[some] = offer.constants[c] - family.half_distances(Y[at] - offer.means[c], offer.precisions[c])
    # One line per row, as wide as the most columns near one.
    begins = n_near.cumsum(0) - n_near
    place = torch.arange(len(row), device=Y.device) - begins[row]
    shape = (len(Y), max(1, int(n_near.max())))
    lines = torch.full(shape, -torch.inf, dtype=torch.float64, device=Y.device)
    candidates = torch.zeros(shape, dtype=torch.int64, device=Y.device)
    lines[row, place], candidates[row, place] = log_weights.masked_fill(log_weights.isnan(), -torch.inf), column
    found = _drawn(lines, uniforms_of(seed, DRAW, numbers))
    chosen = torch.where(found >= 0, candidates.gather(1, found.clamp(min=0)[:, None])[:, 0], own)
    return torch.where(ranks == offer.ranks[own], own, chosen)


def _drawn(log_weights: Any, uniforms: Any) -> Any:
    """The place in its line that every row draws; −1 if no weight is positive."""
    lines = log_weights - log_weights.amax(1, keepdim=True)
    weights = torch.where(lines > -FAR - 2.0 * PRECISION, torch.exp(lines), 0.0)
    running, step = weights, 1
    while step < weights.shape[1]:  # sums of 2, 4, 8, … weights: torch.cumsum need not round alike twice
        running = torch.cat([running[:, :step], running[:, step:] + running[:, :-step]], 1)
        step *= 2
    places = torch.arange(weights.shape[1], device=weights.device)
    possible = weights > 0.0
    first = torch.where(possible & (running > uniforms[:, None] * running[:, -1:]), places, len(places)).amin(1)
    last = torch.where(possible, places, -1).amax(1)
    return torch.where(first < len(places), first, last)
