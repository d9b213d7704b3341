"""The moves of a chain whose rows are spread over shards: parameters, anchors and acceptances here, rows there.

Each is a move of :mod:`hashmix.moves.parallel` or :mod:`hashmix.moves.hashed`, and leaves the same posterior invariant.
All that is random is keyed by a seed and, for rows, by their global numbers. Anchors and rows are drawn without looking at
labels.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy.special import gammaln

from hashmix.components.contract import add, clear, load, log_predictive, log_predictive_without, remove
from hashmix.core.compiling import borrowed, kernel
from hashmix.core.counter import address, uniform_at
from hashmix.core.rng import log_gammas, numpy_generator
from hashmix.data.rows import DenseRows
from hashmix.engines.contract import Spread
from hashmix.engines.shard import SentPairs
from hashmix.hashing.cells import CellFamily
from hashmix.moves.conditional import normalise
from hashmix.moves.hashed.urn_merge import SPLIT_ROWS
from hashmix.moves.parallel.gibbs import draw_offer
from hashmix.moves.parallel.pairs import MERGES, Pairs
from hashmix.moves.parallel.passes import sizes_of
from hashmix.moves.parallel.split_merge import accept, log_anchors, without_hopeless_merges
from hashmix.partition.leaders import Leaders
from hashmix.priors.contract import log_join_weight, log_new_weight
from hashmix.run.spread.clusters import Clusters

__all__ = ["Done", "Pool", "draw_pool", "gibbs", "single_rows", "split_merge", "urn_merge"]

#: Passes before the recorded one.
_PASSES = 3
#: Rows per cell of the pool that near anchors are drawn from.
_NEAR = 4

# What a generator is for: see the passes of hashmix.moves.parallel for 2 and more.
_ANCHORS, _POOL = 0, 1


class Done(NamedTuple):
    """What a move did: proposals, how many were accepted, and how many of both were splits."""

    proposed: int
    accepted: int
    splits_proposed: int = 0
    splits_accepted: int = 0


# ---- all rows --------------------------------------------------------------------------------------------------------------


def gibbs(spread: Spread, clusters: Clusters, seed: int) -> Done:
    """Draw the parameters of all clusters, then a new cluster for every row but the leaders."""
    capacity = clusters.capacity
    ranks = np.minimum.reduce(spread.ask("leaders", seed=seed, capacity=capacity))
    order = clusters.used[np.argsort(ranks[clusters.used])]
    offer = draw_offer(clusters, np.uint64(seed), Leaders(ranks, order), clusters.slots.sizes[order])
    spread.hold(clusters.model)
    found = spread.sum("assign", seed=seed, offer=offer)
    clusters.set_table(found[:-1].reshape(capacity, -1))
    return Done(clusters.n_rows, int(found[-1]))


# ---- anchors ---------------------------------------------------------------------------------------------------------------


class Pool(NamedTuple):
    """Some rows, drawn for one sweep, by the cells they are in: near anchors are two of a cell."""

    numbers: np.ndarray
    order: np.ndarray
    begins: np.ndarray
    cell: np.ndarray


def draw_pool(spread: Spread, seed: int, n_pool: int) -> Pool:
    """Draw rows, ask for their values and group them into cells."""
    numbers = np.unique(numpy_generator(seed, _POOL).integers(spread.layout.n_rows, size=n_pool))
    cells = CellFamily(_NEAR).build(DenseRows(spread.rows_of(numbers).values), seed, n_jobs=1)
    return Pool(numbers, cells.order, cells.begins, cells.arrays.buckets[:, 0])


class _Drawn(NamedTuple):
    """Pairs of rows before anybody has looked at labels; ``merges`` are coins, for anchors within clusters."""

    u: np.ndarray
    v: np.ndarray
    merges: np.ndarray
    uniforms: np.ndarray
    coins: np.ndarray


def _draw_pairs(seed: int, n: int, n_pairs: int, pool: Pool | None) -> _Drawn:
    """Two uniform rows, or two rows of one cell of a pool."""
    rng = numpy_generator(seed, _ANCHORS)
    if pool is None:
        u, v = rng.integers(n, size=(2, n_pairs))
    else:
        first = rng.integers(len(pool.numbers), size=n_pairs)
        begin, end = pool.begins[pool.cell[first]], pool.begins[pool.cell[first] + 1]
        other = pool.order[begin + (rng.random(n_pairs) * (end - begin)).astype(np.int64)]
        u, v = pool.numbers[first], pool.numbers[other]
    uniforms, coins = rng.random((2, n_pairs))
    return _Drawn(u, v, rng.random(n_pairs) < MERGES, uniforms, coins)


def _disjoint(drawn: _Drawn, of_u: np.ndarray, of_v: np.ndarray, within: bool, sizes: np.ndarray) -> np.ndarray:
    """The pairs that propose something, without those that meet a cluster of an earlier one that was not left out.

    The rule is that of :func:`hashmix.moves.parallel.pairs.disjoint_pairs`. If anchors are drawn ``within`` clusters and the
    coin says split, v is yet to be drawn from u's cluster, and what it was before does not count.
    """
    touched, kept = np.zeros(len(sizes), bool), []
    for b, (u, v, a, c) in enumerate(zip(*(x.tolist() for x in (drawn.u, drawn.v, of_u, of_v)), strict=True)):
        splits = within and not drawn.merges[b]
        c = a if splits else c
        if touched[a] or touched[c] or (u == v and not within):
            continue
        touched[a] = touched[c] = True
        if (splits and sizes[a] > 1) or (not splits and u != v and not (within and a == c)):
            kept.append(b)
    return np.array(kept, np.int64)


# ---- splits and merges by passes -------------------------------------------------------------------------------------------


def split_merge(spread: Spread, clusters: Clusters, seed: int, anchors: str, n_pairs: int, pool: Pool) -> Done:
    """Anchored splits and merges of many clusters at once; ``anchors`` are "within", "near" or "uniform"."""
    n, within = clusters.n_rows, anchors == "within"
    drawn = _draw_pairs(seed, n, n_pairs, pool if anchors == "near" else None)
    asked = spread.rows_of(np.concatenate([drawn.u, drawn.v]))
    of_u, of_v = asked.labels.reshape(2, -1)
    kept = _disjoint(drawn, of_u, of_v, within, clusters.slots.sizes)
    rows = asked.values.reshape(2, n_pairs, -1)[:, kept].copy()
    pairs = Pairs(drawn.u[kept], drawn.v[kept], of_u[kept], of_v[kept], np.log(drawn.uniforms[kept]))
    if within:
        split = np.flatnonzero(~drawn.merges[kept])
        v, values = _least_members(spread, clusters.capacity, seed, pairs.of_u[split], pairs.u[split])
        pairs.v[split], pairs.of_v[split], rows[1, split] = v, pairs.of_u[split], values
    proposed, splits_proposed = len(kept), int(pairs.is_split.sum())
    clusters.ensure(clusters.n_clusters + splits_proposed)
    rows = np.moveaxis(rows, 0, 1)
    place = np.arange(len(kept))
    hopeful, gains = without_hopeless_merges(clusters, pairs._replace(u=place), lambda n, sizes: log_anchors(anchors, n, sizes))
    rows, pairs = rows[hopeful.u], pairs.keep(hopeful.u)
    if len(pairs.u) == 0:
        return Done(proposed, 0, splits_proposed)
    division = _Division(spread, clusters, seed, pairs, rows)
    division.nearest()
    for number in range(_PASSES + 1):
        log_q = division.draw(number, number == _PASSES)
    accepted = _decide(
        clusters, pairs, division.statistics, gains, lambda sizes: log_q - log_anchors(anchors, n, sizes.sum(axis=1))
    )
    _commit(spread, clusters, pairs, division.statistics, accepted)
    return Done(proposed, len(accepted), splits_proposed, int(pairs.is_split[accepted].sum()))


def _least_members(spread: Spread, capacity: int, seed: int, of_u: np.ndarray, u: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """A uniform row of each cluster other than u: that of least rank."""
    wanted = np.full(capacity, -1, np.int32)
    wanted[of_u] = np.arange(len(of_u))
    answers = spread.ask("members", seed=seed, wanted=wanted, without=u)
    best = np.argmin([ranks for ranks, _, _ in answers], axis=0)
    each = np.arange(len(of_u))
    numbers = np.array([numbers for _, numbers, _ in answers])[best, each]
    width = max(values.shape[1] for _, _, values in answers)
    values = np.zeros((len(of_u), width))
    for shard, (_, _, theirs) in enumerate(answers):
        values[best == shard] = theirs[best == shard] if theirs.shape[1] else 0.0
    return numbers, values


class _Division:
    """Passes over the rows of pairs, wherever they are: statistics of the sides, anchors included."""

    def __init__(self, spread: Spread, clusters: Clusters, seed: int, pairs: Pairs, rows: np.ndarray) -> None:
        self.spread, self.clusters, self.seed, self.n_pairs = spread, clusters, seed, len(pairs.u)
        capacity = clusters.capacity
        pair_of, side_of = np.full(capacity, -1, np.int32), np.zeros(capacity, np.int8)
        pair_of[pairs.of_v], side_of[pairs.of_v] = np.arange(self.n_pairs), 1
        pair_of[pairs.of_u], side_of[pairs.of_u] = np.arange(self.n_pairs), 0
        anchors = np.ascontiguousarray(rows.reshape(2 * self.n_pairs, -1), spread.dtype)
        component, model = clusters.component, clusters.model
        self.of_anchors = component.statistics(model, DenseRows(anchors), np.arange(2 * self.n_pairs), 2 * self.n_pairs)
        self.statistics = self.of_anchors
        spread.hold(model)
        spread.later("divide", pairs=SentPairs(pair_of, side_of, pairs.u, pairs.v, anchors, pairs.is_split))

    def nearest(self) -> None:
        """Assign each row to the nearer anchor."""
        self._take(self.spread.sum("nearest"))

    def draw(self, number: int, recorded: bool) -> np.ndarray:
        """Draw parameters of all sides, then the sides of all rows; return log q of every pair."""
        clusters = self.clusters
        generator = numpy_generator(self.seed, 2 + number)
        density = clusters.component.draw_density(clusters.model, self.statistics, generator)
        log_p = log_gammas(sizes_of(self.statistics), generator)
        odds = log_p[0::2] - log_p[1::2]
        return self._take(self.spread.sum("draw", seed=self.seed, number=number, density=density, odds=odds, recorded=recorded))

    def toss(self) -> None:
        """Divide the rows of every pair by coins with a uniform probability: a Pólya urn."""
        share = numpy_generator(self.seed, 2).random(self.n_pairs)
        self._take(self.spread.sum("toss", seed=self.seed, share=share))

    def _take(self, found: np.ndarray) -> np.ndarray:
        self.statistics = self.of_anchors + found[: -self.n_pairs].reshape(2 * self.n_pairs, -1)
        return found[-self.n_pairs :]


def _decide(clusters: Clusters, pairs: Pairs, sides: np.ndarray, gains: np.ndarray, log_q: Any) -> np.ndarray:
    """Which proposals are accepted; ``sides`` are those of all pairs, and ``log_q(sizes)`` their log ratios of proposing."""
    log_sides = clusters.component.log_marginals(clusters.model, sides).reshape(-1, 2)
    sizes = np.rint(sizes_of(sides)).astype(np.int64).reshape(-1, 2)
    gains = np.where(pairs.is_split, log_sides.sum(axis=1) - gains, gains)
    return accept(clusters, pairs, sizes, gains, log_q(sizes))


def _commit(spread: Spread, clusters: Clusters, pairs: Pairs, sides: np.ndarray, accepted: np.ndarray) -> None:
    """Carry out accepted proposals, here and there."""
    split = accepted[pairs.is_split[accepted]]
    into = np.full(len(pairs.u), -1, np.int32)
    into[split] = clusters.free(len(split))
    merged = accepted[~pairs.is_split[accepted]]
    labels = np.arange(max(clusters.capacity, into.max() + 1), dtype=np.int32)
    changed: list[int] = []
    stats: list[np.ndarray] = []
    for b in split.tolist():
        changed += [int(pairs.of_u[b]), int(into[b])]
        stats += [sides[2 * b], sides[2 * b + 1]]
    for b in merged.tolist():
        keep, close = int(pairs.of_u[b]), int(pairs.of_v[b])
        labels[close] = keep
        union = clusters.statistics(np.array([keep]))[0] + clusters.statistics(np.array([close]))[0]
        changed += [keep, close]
        stats += [union, np.zeros_like(union)]
    clusters.set_some(changed, stats)
    if len(split):
        spread.later("commit", into=into)
    if len(merged):
        spread.later("relabel", labels=labels)


# ---- merges without rows ---------------------------------------------------------------------------------------------------


def urn_merge(spread: Spread, clusters: Clusters, seed: int, n_pairs: int, pool: Pool) -> Done:
    """Merges of near clusters from their statistics; the splits that they are the inverse of divide rows by a Pólya urn.

    A split is attempted with a probability that falls with the size of the cluster, and the ratio accounts for it.
    """
    drawn = _draw_pairs(seed, clusters.n_rows, n_pairs, pool)
    of_u, of_v = spread.rows_of(np.concatenate([drawn.u, drawn.v]), values=False).labels.reshape(2, -1)
    kept = _disjoint(drawn, of_u, of_v, False, clusters.slots.sizes)
    pairs = Pairs(drawn.u[kept], drawn.v[kept], of_u[kept], of_v[kept], np.log(drawn.uniforms[kept]))
    attempted = ~pairs.is_split | (drawn.coins[kept] < np.exp(_log_thinned(clusters.slots.sizes[pairs.of_u])))
    pairs = pairs.keep(attempted)
    proposed, splits_proposed = len(pairs.u), int(pairs.is_split.sum())
    clusters.ensure(clusters.n_clusters + splits_proposed)
    pairs, gains = without_hopeless_merges(clusters, pairs, lambda n, sizes: -_log_thinned(sizes))
    if len(pairs.u) == 0:
        return Done(proposed, 0, splits_proposed)
    # The sides of a merge are the clusters as they are.
    sides = np.stack([clusters.statistics(pairs.of_u), clusters.statistics(pairs.of_v)], axis=1)
    split = np.flatnonzero(pairs.is_split)
    division = None
    if len(split):
        parted = pairs.keep(split)
        rows = spread.rows_of(np.concatenate([parted.u, parted.v])).values.reshape(2, len(split), -1)
        division = _Division(spread, clusters, seed, parted, np.moveaxis(rows, 0, 1))
        division.toss()
        sides[split] = division.statistics.reshape(len(split), 2, -1)
    sides = sides.reshape(2 * len(pairs.u), -1)
    accepted = _decide(clusters, pairs, sides, gains, _log_urn)
    # Shards know of the pairs that propose a split only.
    done = np.isin(split, accepted)
    merged = accepted[~pairs.is_split[accepted]]
    if division is not None:
        _commit(spread, clusters, pairs.keep(split), division.statistics, np.flatnonzero(done))
    if len(merged):
        _commit(spread, clusters, pairs, sides, merged)
    return Done(proposed, len(accepted), splits_proposed, int(done.sum()))


def _log_thinned(sizes: np.ndarray) -> np.ndarray:
    """Log of the probability that the split of a cluster of some size is attempted."""
    return np.minimum(0.0, np.log(SPLIT_ROWS) - np.log(sizes))


def _log_urn(sizes: np.ndarray) -> np.ndarray:
    """Log of the probability that a split is attempted and that the urn divides the rows as it did."""
    a, b = sizes[:, 0], sizes[:, 1]
    return gammaln(a) + gammaln(b) - gammaln(a + b) + _log_thinned(a + b)


# ---- single rows -----------------------------------------------------------------------------------------------------------


def single_rows(spread: Spread, clusters: Clusters, seed: int, n_rows: int) -> Done:
    """Full conditionals of some rows, one after the other: a row may open a cluster of its own."""
    numbers = np.unique(numpy_generator(seed, _ANCHORS).integers(clusters.n_rows, size=n_rows))
    asked = spread.rows_of(numbers)
    clusters.ensure(clusters.n_clusters + len(numbers))
    labels = asked.labels.copy()
    data, target = DenseRows(np.ascontiguousarray(asked.values)).arrays, clusters.target
    _full_conditionals(np.uint64(seed), numbers, data, labels, clusters.slots, target.model, target.prior)
    clusters.derive()
    moved = labels != asked.labels
    if moved.any():
        spread.later("write", numbers=numbers[moved], labels=labels[moved])
    return Done(len(numbers), int(moved.sum()))


@kernel
def _full_conditionals(seed, numbers, data, labels, slots, model, prior):
    """Draw the label of every row from its full conditional; free slots are those of size 0, and are cleared."""
    numbers, data, labels = borrowed(numbers), borrowed(data), borrowed(labels)
    slots, model, prior = borrowed(slots), borrowed(model), borrowed(prior)
    capacity, k = len(slots.sizes), 0
    weights = np.empty(capacity + 1)
    places = np.empty(capacity + 1, np.int64)
    for c in range(capacity):
        k += slots.sizes[c] > 0
    for at in range(len(numbers)):
        row, old = load(model, slots, data, at), labels[at]
        alone = slots.sizes[old] == 1
        others = k - 1 if alone else k
        spare, found = 0, 0
        while slots.sizes[spare] > 0:
            spare += 1
        clear(model, slots, spare)
        for c in range(capacity):
            size = slots.sizes[c]
            if size == 0 or (c == old and alone):
                continue
            if c == old:
                weights[found] = log_predictive_without(model, slots, c, row) + log_join_weight(prior, size - 1)
            else:
                weights[found] = log_predictive(model, slots, c, row) + log_join_weight(prior, size)
            places[found] = c
            found += 1
        weights[found] = log_predictive(model, slots, spare, row) + log_new_weight(prior, others)
        places[found] = old if alone else spare
        found += 1
        total, _ = normalise(weights, found)
        left = uniform_at(address(seed, 0, numbers[at]), 0) * total
        chosen = old
        for c in range(found):
            if weights[c] > 0.0:
                chosen = places[c]
                left -= weights[c]
                if left < 0.0:
                    break
        if chosen != old:
            if chosen == spare:
                k += 1
            remove(model, slots, old, row)
            add(model, slots, chosen, row)
            if slots.sizes[old] == 0:
                clear(model, slots, old)
                k -= 1
            labels[at] = chosen
