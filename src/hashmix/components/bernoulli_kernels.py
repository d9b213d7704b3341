"""The verbs of Beta–Bernoulli clusters. A row costs its ones; its zeros are in two sums that every cluster keeps.

With n rows of which n_w have word w, out of D words, and r_c(k) = log Γ(c + k) − log Γ(c),

    log m = Σ_w r_a(n_w) + r_b(n − n_w) − r_{a+b}(n).

A row of ``derived`` is (log m; Z = Σ_w log(b + n − n_w); Y = Σ_w log(b + n − 1 − n_w) over the words that not all rows have).
Z is the weight of a row without any ones that joins, Y that of one that was there; a row's ones are put right one by one.
Adding or removing a row brings Z and Y up to date at the cost of the words the cluster has.
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

__all__ = ["BernoulliModel", "rises_up_to"]

#: A product is taken out of a logarithm's sum as long as it stays between these.
_LOW, _HIGH = 1e-200, 1e200


class BernoulliModel(NamedTuple):
    """Hyperparameters of 0/1 data; ``rises_*[k]`` is r(k) of alpha and beta."""

    alpha: float
    beta: float
    n_words: int
    rises_alpha: np.ndarray
    rises_beta: np.ndarray


def rises_up_to(value: float, length: int) -> np.ndarray:
    """Table of r(k), k < length."""
    counts = np.arange(float(length))
    return log_gamma_ratios(value + counts, counts)


@hot_helper
def _rise(table, value, count):
    return table[count] if count < len(table) else log_gamma_ratio(value + count, count)


@implements(load, BernoulliModel, hot=True)
def _load(model, table, data, i):
    begin, end = data.begins[i], data.begins[i + 1]
    return CountRow(data.columns, data.values, begin, end, end - begin, 0.0)


@implements(log_predictive, BernoulliModel)
def _log_predictive(model, table, slot, row):
    n = table.sizes[slot]
    total, product = 0.0, 1.0
    for at in range(row.begin, row.end):
        count = count_of(table, slot, row.columns[at])
        product *= (model.alpha + count) / (model.beta + n - count)
        if product < _LOW or product > _HIGH:
            total += math.log(product)
            product = 1.0
    return table.derived[slot, 1] + total + math.log(product) - model.n_words * math.log(model.alpha + model.beta + n)


@implements(log_predictive_without, BernoulliModel)
def _log_predictive_without(model, table, slot, row):
    n = table.sizes[slot] - 1
    total, product = 0.0, 1.0
    for at in range(row.begin, row.end):
        count = count_of(table, slot, row.columns[at]) - 1
        product *= model.alpha + count
        if count < n:  # a word that all rows have is not in Y
            product /= model.beta + n - 1 - count
        if product < _LOW or product > _HIGH:
            total += math.log(product)
            product = 1.0
    return table.derived[slot, 2] + total + math.log(product) - model.n_words * math.log(model.alpha + model.beta + n)


@helper
def _sum_zeros(model, table, slot):
    """Bring Z and Y up to date."""
    n = table.sizes[slot]
    z = y = 0.0
    product_z = product_y = 1.0
    words = 0
    for k in range(n_places(table, slot)):
        count = count_at(table, slot, k)
        if count > 0:
            words += 1
            left = model.beta + n - count
            product_z *= left
            if count < n:
                product_y *= left - 1.0
            if product_z < _LOW or product_z > _HIGH or product_y < _LOW or product_y > _HIGH:
                z += math.log(product_z)
                y += math.log(product_y)
                product_z = product_y = 1.0
    others = model.n_words - words
    table.derived[slot, 1] = z + math.log(product_z) + others * math.log(model.beta + n)
    table.derived[slot, 2] = y + math.log(product_y) + (others * math.log(model.beta + n - 1.0) if n > 0 else 0.0)


@implements(collect, BernoulliModel)
def _collect(model, table, slot, row):
    make_room(table, slot, row.end - row.begin)
    for at in range(row.begin, row.end):
        change_count(table, slot, row.columns[at], 1)
    table.sizes[slot] += 1
    table.totals[slot] += row.total


@implements(add, BernoulliModel)
def _add(model, table, slot, row):
    table.derived[slot, 0] += log_predictive(model, table, slot, row)
    collect(model, table, slot, row)
    _sum_zeros(model, table, slot)


@implements(remove, BernoulliModel)
def _remove(model, table, slot, row):
    table.derived[slot, 0] -= log_predictive_without(model, table, slot, row)
    for at in range(row.begin, row.end):
        change_count(table, slot, row.columns[at], -1)
    table.sizes[slot] -= 1
    table.totals[slot] -= row.total
    _sum_zeros(model, table, slot)


@hot_helper
def _word(model, n, count):
    """What a word that ``count`` of n rows have adds, compared with one that none has."""
    more = _rise(model.rises_beta, model.beta, n - count) - _rise(model.rises_beta, model.beta, n)
    return _rise(model.rises_alpha, model.alpha, count) + more


@helper
def _base(model, n):
    """The log marginal of n rows without any ones."""
    both = model.alpha + model.beta
    return model.n_words * (_rise(model.rises_beta, model.beta, n) - log_gamma_ratio(both + n, n))


@implements(derive, BernoulliModel)
def _derive(model, table, slot):
    n = table.sizes[slot]
    total = _base(model, n)
    for k in range(n_places(table, slot)):
        count = count_at(table, slot, k)
        if count > 0:
            total += _word(model, n, count)
    table.derived[slot, 0] = total
    _sum_zeros(model, table, slot)


@implements(log_marginal, BernoulliModel)
def _log_marginal(model, table, slot):
    return table.derived[slot, 0]


@implements(log_union, BernoulliModel)
def _log_union(model, table, a, b, room):
    n = table.sizes[a] + table.sizes[b]
    total = _base(model, n)
    for k in range(n_places(table, a)):
        mine = count_at(table, a, k)
        if mine > 0:
            total += _word(model, n, mine + count_of(table, b, word_at(table, a, k)))
    for k in range(n_places(table, b)):
        mine = count_at(table, b, k)
        if mine > 0 and count_of(table, a, word_at(table, b, k)) == 0:
            total += _word(model, n, mine)
    table.derived[room, 0] = total
    return total


@implements(unite, BernoulliModel)
def _unite(model, table, a, b, room):
    absorb(table, a, b)
    leave_block(table, b)
    table.derived[a, 0] = table.derived[room, 0]
    _sum_zeros(model, table, a)


@implements(log_difference, BernoulliModel)
def _log_difference(model, table, whole, part, room):
    n = table.sizes[whole] - table.sizes[part]
    total = _base(model, n)
    for k in range(n_places(table, whole)):
        count = count_at(table, whole, k)
        if count > 0:
            left = count - count_of(table, part, word_at(table, whole, k))
            total += _word(model, n, left) if left > 0 else 0.0
    table.derived[room, 0] = total
    return total


@implements(separate, BernoulliModel)
def _separate(model, table, whole, part, room):
    release(table, whole, part)
    table.derived[whole, 0] = table.derived[room, 0]
    _sum_zeros(model, table, whole)
