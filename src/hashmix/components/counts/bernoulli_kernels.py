"""The verbs of Beta–Bernoulli clusters. A row costs its ones: its zeros are in two sums that every cluster keeps.

With n rows of which n_w have word w, out of D words, and r_c(k) = log Γ(c + k) − log Γ(c),

    log m = Σ_w r_a(n_w) + r_b(n − n_w) − r_{a+b}(n).

A row of ``derived`` is (log m; Z = Σ_w log(b + n − n_w); Y = Σ_w log(b + n − 1 − n_w) over the words that not all rows have).
Z is the weight of a row without ones that joins the cluster, Y that of such a row that is in it; a row's ones are then
corrected for one by one. Adding or removing a row updates Z and Y at the cost of the words the cluster has.
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

__all__ = ["BernoulliModel", "rises_up_to"]

#: A product of word weights is turned into a logarithm when it leaves this range, far from overflow.
_LOW, _HIGH = 1e-200, 1e200


# Columns of ``derived`` after the log marginal likelihood: Z and Y.
ZEROS_JOINING, ZEROS_PRESENT = 1, 2


class BernoulliModel(NamedTuple):
    """Hyperparameters of 0/1 data; a row has at most ``row_words`` ones; ``rises_*[k]`` is r(k) of alpha and beta."""

    alpha: float
    beta: float
    n_words: int
    row_words: int
    rises_alpha: np.ndarray
    rises_beta: np.ndarray


def rises_up_to(value: float, length: int) -> np.ndarray:
    """Precompute r(k) for k < length."""
    counts = np.arange(float(length))
    return log_gamma_ratios(value + counts, counts)


@hot_helper
def _rise(rises, value, count):
    return rises[count] if count < len(rises) else log_gamma_ratio(value + count, count)


@implements(load, BernoulliModel, hot=True)
def _load(model, slots, data, i):
    begin, end = data.begins[i], data.begins[i + 1]
    return CountRow(data.columns, data.values, begin, end, end - begin, 0.0)


@implements(log_predictive, BernoulliModel)
def _log_predictive(model, slots, slot, row):
    n = slots.sizes[slot]
    total, product = 0.0, 1.0
    for at in range(row.begin, row.end):
        count = count_of(slots, slot, row.columns[at])
        product *= (model.alpha + count) / (model.beta + n - count)
        if product < _LOW or product > _HIGH:
            total += math.log(product)
            product = 1.0
    return (
        slots.derived[slot, ZEROS_JOINING] + total + math.log(product) - model.n_words * math.log(model.alpha + model.beta + n)
    )


@implements(log_predictive_without, BernoulliModel)
def _log_predictive_without(model, slots, slot, row):
    n = slots.sizes[slot] - 1
    total, product = 0.0, 1.0
    for at in range(row.begin, row.end):
        count = count_of(slots, slot, row.columns[at]) - 1
        product *= model.alpha + count
        if count < n:  # a word that all rows have is not in Y
            product /= model.beta + n - 1 - count
        if product < _LOW or product > _HIGH:
            total += math.log(product)
            product = 1.0
    return (
        slots.derived[slot, ZEROS_PRESENT] + total + math.log(product) - model.n_words * math.log(model.alpha + model.beta + n)
    )


@helper
def _sum_zeros(model, slots, slot):
    """Update Z and Y."""
    n = slots.sizes[slot]
    z = y = 0.0
    product_z = product_y = 1.0
    words = 0
    for k in range(n_places(slots, slot)):
        count = count_at(slots, slot, k)
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
    slots.derived[slot, ZEROS_JOINING] = z + math.log(product_z) + others * math.log(model.beta + n)
    slots.derived[slot, ZEROS_PRESENT] = y + math.log(product_y) + (others * math.log(model.beta + n - 1.0) if n > 0 else 0.0)


@implements(collect, BernoulliModel)
def _collect(model, slots, slot, row):
    reserve(slots, slot, row.end - row.begin)
    for at in range(row.begin, row.end):
        change_count(slots, slot, row.columns[at], 1)
    slots.sizes[slot] += 1
    slots.totals[slot] += row.total


@implements(add, BernoulliModel)
def _add(model, slots, slot, row):
    slots.derived[slot, LOG_MARGINAL] += log_predictive(model, slots, slot, row)
    collect(model, slots, slot, row)
    _sum_zeros(model, slots, slot)


@implements(remove, BernoulliModel)
def _remove(model, slots, slot, row):
    slots.derived[slot, LOG_MARGINAL] -= log_predictive_without(model, slots, slot, row)
    for at in range(row.begin, row.end):
        change_count(slots, slot, row.columns[at], -1)
    slots.sizes[slot] -= 1
    slots.totals[slot] -= row.total
    _sum_zeros(model, slots, slot)


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
def _derive(model, slots, slot):
    n = slots.sizes[slot]
    total = _base(model, n)
    for k in range(n_places(slots, slot)):
        count = count_at(slots, slot, k)
        if count > 0:
            total += _word(model, n, count)
    slots.derived[slot, LOG_MARGINAL] = total
    _sum_zeros(model, slots, slot)


@implements(log_marginal, BernoulliModel)
def _log_marginal(model, slots, slot):
    return slots.derived[slot, LOG_MARGINAL]


@implements(log_union, BernoulliModel)
def _log_union(model, slots, a, b, into):
    n = slots.sizes[a] + slots.sizes[b]
    total = _base(model, n)
    for k in range(n_places(slots, a)):
        mine = count_at(slots, a, k)
        if mine > 0:
            total += _word(model, n, mine + count_of(slots, b, word_at(slots, a, k)))
    for k in range(n_places(slots, b)):
        mine = count_at(slots, b, k)
        if mine > 0 and count_of(slots, a, word_at(slots, b, k)) == 0:
            total += _word(model, n, mine)
    slots.derived[into, LOG_MARGINAL] = total
    return total


@implements(union_work, BernoulliModel)
def _union_work(model, slots, a, b):
    # It looks up the words of both clusters; a predictive looks up those of a row.
    rows, ones = slots.sizes[a] + slots.sizes[b], slots.totals[a] + slots.totals[b]
    return 1 + (slots.used[a] + slots.used[b]) * rows // max(ones, rows)


@implements(unite, BernoulliModel)
def _unite(model, slots, a, b, into):
    absorb(slots, a, b)
    leave_block(slots, b)
    slots.derived[a, LOG_MARGINAL] = slots.derived[into, LOG_MARGINAL]
    _sum_zeros(model, slots, a)


@implements(log_difference, BernoulliModel)
def _log_difference(model, slots, whole, part, into):
    n = slots.sizes[whole] - slots.sizes[part]
    total = _base(model, n)
    for k in range(n_places(slots, whole)):
        count = count_at(slots, whole, k)
        if count > 0:
            left = count - count_of(slots, part, word_at(slots, whole, k))
            total += _word(model, n, left) if left > 0 else 0.0
    slots.derived[into, LOG_MARGINAL] = total
    return total


@implements(separate, BernoulliModel)
def _separate(model, slots, whole, part, into):
    release(slots, whole, part)
    slots.derived[whole, LOG_MARGINAL] = slots.derived[into, LOG_MARGINAL]
    _sum_zeros(model, slots, whole)
