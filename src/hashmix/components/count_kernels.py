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

from hashmix.compiling import helper, hot_helper, implements
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
    unite,
)
from hashmix.components.count_rows import CountRow
from hashmix.components.sparse_table import (
    absorb,
    change_count,
    count_at,
    count_of,
    leave_block,
    make_room,
    n_places,
    release,
    word_at,
)
from hashmix.components.special import log_gamma_ratio, log_gamma_ratios

__all__ = ["CountModel", "log_factorials", "rises_of"]

#: Counts up to this have their log factorial in a table.
N_FACTORIALS = 256
#: Words a product is taken over stay far from overflow between these.
_LOW, _HIGH = 1e-200, 1e200


class CountModel(NamedTuple):
    """Hyperparameters of counts.

    ``rate`` is that of Poisson rates, or 0 for a multinomial; ``total`` is A; ``rises[l, k]`` is r(k) of words of level l.
    ``lengths`` are totals of rows that were seen, which rows to be drawn may have.
    """

    rate: float
    total: float
    levels: np.ndarray
    values: np.ndarray
    rises: np.ndarray
    factorials: np.ndarray
    lengths: np.ndarray


def log_factorials() -> np.ndarray:
    """Log k! for small k."""
    return np.concatenate([[0.0], np.cumsum(np.log(np.arange(1.0, N_FACTORIALS)))])


def rises_of(values: np.ndarray) -> np.ndarray:
    """Table of r(k) for every level, as long as memory allows."""
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
def _predict(model, table, slot, row, without):
    """Σ_w log Γ(a_w + n_w + x_w) − log Γ(a_w + n_w), where n_w leaves the row itself out if ``without``."""
    total, product = 0.0, 1.0
    for at in range(row.begin, row.end):
        word, x = row.columns[at], np.int64(row.values[at])
        start = model.values[model.levels[word]] + count_of(table, slot, word)
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
def _load(model, table, data, i):
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
def _log_predictive(model, table, slot, row):
    ratio = _base_ratio(model, table.sizes[slot], table.totals[slot], row.total)
    return ratio + _predict(model, table, slot, row, False) + row.constant


@implements(log_predictive_without, CountModel)
def _log_predictive_without(model, table, slot, row):
    ratio = _base_ratio(model, table.sizes[slot] - 1, table.totals[slot] - row.total, row.total)
    return ratio + _predict(model, table, slot, row, True) + row.constant


@implements(add, CountModel)
def _add(model, table, slot, row):
    table.derived[slot, 0] += log_predictive(model, table, slot, row)
    collect(model, table, slot, row)


@implements(collect, CountModel)
def _collect(model, table, slot, row):
    make_room(table, slot, row.end - row.begin)
    for at in range(row.begin, row.end):
        change_count(table, slot, row.columns[at], np.int64(row.values[at]))
    table.sizes[slot] += 1
    table.totals[slot] += row.total
    table.constants[slot] += row.constant


@implements(remove, CountModel)
def _remove(model, table, slot, row):
    table.derived[slot, 0] -= log_predictive_without(model, table, slot, row)
    for at in range(row.begin, row.end):
        change_count(table, slot, row.columns[at], -np.int64(row.values[at]))
    table.sizes[slot] -= 1
    table.totals[slot] -= row.total
    table.constants[slot] -= row.constant


@implements(derive, CountModel)
def _derive(model, table, slot):
    total = _base(model, table.sizes[slot], table.totals[slot]) + table.constants[slot]
    for k in range(n_places(table, slot)):
        count = count_at(table, slot, k)
        if count > 0:
            total += _rise(model, word_at(table, slot, k), count)
    table.derived[slot, 0] = total


@implements(log_marginal, CountModel)
def _log_marginal(model, table, slot):
    return table.derived[slot, 0]


@implements(log_union, CountModel)
def _log_union(model, table, a, b, room):
    # Only words that both have tell the union from the two.
    if table.used[a] > table.used[b]:
        a, b = b, a
    total = table.derived[a, 0] + table.derived[b, 0]
    for k in range(n_places(table, a)):
        mine = count_at(table, a, k)
        if mine > 0:
            word = word_at(table, a, k)
            other = count_of(table, b, word)
            if other > 0:
                total += _rise(model, word, mine + other) - _rise(model, word, mine) - _rise(model, word, other)
    total -= _base(model, table.sizes[a], table.totals[a]) + _base(model, table.sizes[b], table.totals[b])
    total += _base(model, table.sizes[a] + table.sizes[b], table.totals[a] + table.totals[b])
    table.derived[room, 0] = total
    return total


@implements(unite, CountModel)
def _unite(model, table, a, b, room):
    absorb(table, a, b)
    leave_block(table, b)
    table.derived[a, 0] = table.derived[room, 0]


@implements(log_difference, CountModel)
def _log_difference(model, table, whole, part, room):
    # Only words of the part tell what is left from the whole.
    total = table.derived[whole, 0] - table.constants[part]
    for k in range(n_places(table, part)):
        count = count_at(table, part, k)
        if count > 0:
            word = word_at(table, part, k)
            before = count_of(table, whole, word)
            total += _rise(model, word, before - count) - _rise(model, word, before)
    total -= _base(model, table.sizes[whole], table.totals[whole])
    total += _base(model, table.sizes[whole] - table.sizes[part], table.totals[whole] - table.totals[part])
    table.derived[room, 0] = total
    return total


@implements(separate, CountModel)
def _separate(model, table, whole, part, room):
    release(table, whole, part)
    table.derived[whole, 0] = table.derived[room, 0]
