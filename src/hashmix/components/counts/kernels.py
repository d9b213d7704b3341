"""The verbs of components whose words are independent given the total: Dirichlet–multinomial and Gamma–Poisson.

The marginal likelihood of a cluster of n rows with N counts in all, n_w of word w, is

    log m = base(n, N) + Σ_w r_w(n_w) + Σ_rows constant,   r_w(k) = log Γ(a_w + k) − log Γ(a_w),

with base(n, N) = log Γ(A) − log Γ(A + N) for the multinomial, A = Σ a_w, and A log b − (A + N) log(b + n) for Poisson rates.
Words that a cluster does not have add nothing. Words share levels: a_w = values[levels[w]].
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from hashmix.components.contract import (
    add,
    collect,
    derive,
    load,
    log_difference,
    log_marginal,
    log_predictive,
    log_predictive_without,
    log_union,
    remove,
    separate,
    union_work,
    unite,
)
from hashmix.components.counts.word_slots import (
    LOG_MARGINAL,
    absorb,
    change_count,
    count_at,
    count_of,
    leave_block,
    n_places,
    release,
    reserve,
    word_at,
)
from hashmix.core.compiling import helper, hot_helper, implements
from hashmix.core.special import log_gamma_ratio, log_gamma_ratios
from hashmix.data.counts import CountRow

__all__ = ["CountModel", "log_factorials", "rises_of"]

#: Log factorials of counts below this are precomputed.
N_FACTORIALS = 256
#: A product of word weights is turned into a logarithm when it leaves this range, far from overflow.
_LOW, _HIGH = 1e-200, 1e200


class CountModel(NamedTuple):
    """Hyperparameters of counts.

    ``rate`` is that of Poisson rates, or 0 for a multinomial; ``total`` is A; ``rises[l, k]`` is r(k) of words of level l.
    ``lengths`` are totals of observed rows, from which the totals of new rows are drawn; ``row_words`` is the largest number
    of words that a row has.
    """

    rate: float
    total: float
    levels: np.ndarray
    values: np.ndarray
    rises: np.ndarray
    factorials: np.ndarray
    lengths: np.ndarray
    row_words: int

    @property
    def n_words(self) -> int:
        """Number of words, or columns."""
        return len(self.levels)


def log_factorials() -> np.ndarray:
    """Log k! for small k."""
    return np.concatenate([[0.0], np.cumsum(np.log(np.arange(1.0, N_FACTORIALS)))])


def rises_of(values: np.ndarray) -> np.ndarray:
    """Precompute r(k) for every level, for as many counts as memory allows."""
    counts = np.arange(float(max(8, min(512, 2_000_000 // len(values)))))
    return log_gamma_ratios(values[:, None] + counts, counts)


@hot_helper
def _rise(model, word, count):
    """Log Γ(a_w + count) − log Γ(a_w)."""
    level = model.levels[word]
    if count < model.rises.shape[1]:
        return model.rises[level, count]
    return log_gamma_ratio(model.values[level] + count, count)


@helper
def _base(model, n, total):
    if model.rate > 0.0:
        return -model.total * math.log1p(n / model.rate) - total * math.log(model.rate + n)
    return -log_gamma_ratio(model.total + total, total)


@hot_helper
def _base_ratio(model, n, total, more):
    """base(n + 1, total + more) − base(n, total)."""
    if model.rate > 0.0:
        rate = model.rate + n
        return -(model.total + total) * math.log1p(1.0 / rate) - more * math.log(rate + 1.0)
    return -log_gamma_ratio(model.total + total + more, more)


@hot_helper
def _predict(model, slots, slot, row, without):
    """Σ_w log Γ(a_w + n_w + x_w) − log Γ(a_w + n_w), where n_w excludes the row itself if ``without``."""
    total, product = 0.0, 1.0
    for at in range(row.begin, row.end):
        word, x = row.columns[at], np.int64(row.values[at])
        start = model.values[model.levels[word]] + count_of(slots, slot, word)
        if without:
            start -= x
        if x <= 4:
            for k in range(x):
                product *= start + k
            if product < _LOW or product > _HIGH:
                total += math.log(product)
                product = 1.0
        else:
            total += log_gamma_ratio(start + x, x)
    return total + math.log(product)


@implements(load, CountModel, hot=True)
def _load(model, slots, data, i):
    total, constant = 0, 0.0
    for at in range(data.begins[i], data.begins[i + 1]):
        x = np.int64(data.values[at])
        total += x
        if x > 1:
            constant -= model.factorials[x] if x < len(model.factorials) else math.lgamma(x + 1.0)
    if model.rate == 0.0:
        constant += model.factorials[total] if total < len(model.factorials) else math.lgamma(total + 1.0)
    return CountRow(data.columns, data.values, data.begins[i], data.begins[i + 1], total, constant)


@implements(log_predictive, CountModel)
def _log_predictive(model, slots, slot, row):
    ratio = _base_ratio(model, slots.sizes[slot], slots.totals[slot], row.total)
    return ratio + _predict(model, slots, slot, row, False) + row.constant


@implements(log_predictive_without, CountModel)
def _log_predictive_without(model, slots, slot, row):
    ratio = _base_ratio(model, slots.sizes[slot] - 1, slots.totals[slot] - row.total, row.total)
    return ratio + _predict(model, slots, slot, row, True) + row.constant


@implements(add, CountModel)
def _add(model, slots, slot, row):
    slots.derived[slot, LOG_MARGINAL] += log_predictive(model, slots, slot, row)
    collect(model, slots, slot, row)


@implements(collect, CountModel)
def _collect(model, slots, slot, row):
    reserve(slots, slot, row.end - row.begin)
    for at in range(row.begin, row.end):
        change_count(slots, slot, row.columns[at], np.int64(row.values[at]))
    slots.sizes[slot] += 1
    slots.totals[slot] += row.total
    slots.constants[slot] += row.constant


@implements(remove, CountModel)
def _remove(model, slots, slot, row):
    slots.derived[slot, LOG_MARGINAL] -= log_predictive_without(model, slots, slot, row)
    for at in range(row.begin, row.end):
        change_count(slots, slot, row.columns[at], -np.int64(row.values[at]))
    slots.sizes[slot] -= 1
    slots.totals[slot] -= row.total
    slots.constants[slot] -= row.constant


@implements(derive, CountModel)
def _derive(model, slots, slot):
    total = _base(model, slots.sizes[slot], slots.totals[slot]) + slots.constants[slot]
    for k in range(n_places(slots, slot)):
        count = count_at(slots, slot, k)
        if count > 0:
            total += _rise(model, word_at(slots, slot, k), count)
    slots.derived[slot, LOG_MARGINAL] = total


@implements(log_marginal, CountModel)
def _log_marginal(model, slots, slot):
    return slots.derived[slot, LOG_MARGINAL]


@implements(log_union, CountModel)
def _log_union(model, slots, a, b, into):
    # Only words that both clusters have distinguish the union from the two.
    if slots.used[a] > slots.used[b]:
        a, b = b, a
    total = slots.derived[a, LOG_MARGINAL] + slots.derived[b, LOG_MARGINAL]
    for k in range(n_places(slots, a)):
        mine = count_at(slots, a, k)
        if mine > 0:
            word = word_at(slots, a, k)
            other = count_of(slots, b, word)
            if other > 0:
                total += _rise(model, word, mine + other) - _rise(model, word, mine) - _rise(model, word, other)
    total -= _base(model, slots.sizes[a], slots.totals[a]) + _base(model, slots.sizes[b], slots.totals[b])
    total += _base(model, slots.sizes[a] + slots.sizes[b], slots.totals[a] + slots.totals[b])
    slots.derived[into, LOG_MARGINAL] = total
    return total


@implements(union_work, CountModel)
def _union_work(model, slots, a, b):
    # It looks up the words of the cluster that has fewer of them; a predictive looks up about as many as a row has counts.
    rows, counts = slots.sizes[a] + slots.sizes[b], slots.totals[a] + slots.totals[b]
    return 1 + min(slots.used[a], slots.used[b]) * rows // max(counts, rows)


@implements(unite, CountModel)
def _unite(model, slots, a, b, into):
    absorb(slots, a, b)
    leave_block(slots, b)
    slots.derived[a, LOG_MARGINAL] = slots.derived[into, LOG_MARGINAL]


@implements(log_difference, CountModel)
def _log_difference(model, slots, whole, part, into):
    # Only words of the part distinguish what is left from the whole.
    total = slots.derived[whole, LOG_MARGINAL] - slots.constants[part]
    for k in range(n_places(slots, part)):
        count = count_at(slots, part, k)
        if count > 0:
            word = word_at(slots, part, k)
            before = count_of(slots, whole, word)
            total += _rise(model, word, before - count) - _rise(model, word, before)
    total -= _base(model, slots.sizes[whole], slots.totals[whole])
    total += _base(model, slots.sizes[whole] - slots.sizes[part], slots.totals[whole] - slots.totals[part])
    slots.derived[into, LOG_MARGINAL] = total
    return total


@implements(separate, CountModel)
def _separate(model, slots, whole, part, into):
    release(slots, whole, part)
    slots.derived[whole, LOG_MARGINAL] = slots.derived[into, LOG_MARGINAL]
