"""Clusters' counts of words, in memory that follows the words a cluster has, not the words there are.

Each cluster has a hash table of its own: open addressing, linear probing, a word and its count side by side, so that a
look-up is one access to memory. A thousand clusters over 141,000 words would take 560 MB as rows of a matrix, and ten
thousand at the start of a chain ten times that; topics use a few thousand words each. Tables are blocks of a common pool,
of 16, 32, 64 … entries; a table that fills up moves to a block twice as long, and blocks that are left are handed out again.
A word whose count falls to zero keeps its entry until its table moves.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from hashmix.compiling import borrowed, helper, hot_helper, implements, inlined, kernel
from hashmix.components.contract import clear, derive, is_full, take

__all__ = [
    "SparseTable",
    "absorb",
    "change_count",
    "count_at",
    "count_of",
    "leave_block",
    "make_room",
    "n_places",
    "release",
    "word_at",
]

#: Log2 of the shortest block.
_LEAST_BITS = 4
#: Of how many blocks as long as the longest there must be room before a proposal: two sides that double until they hold a
#: cluster's words, and a union.
_ROOM = 16
#: A table moves when more than 3/4 of its entries are in use.
_FILLED, _OF = 3, 4

# Places in ``counters``.
_END, _MOST_BITS = 0, 1


class SparseTable(NamedTuple):
    """One hash table a cluster.

    Additive: ``sizes``, ``totals`` (sums of counts), ``constants`` (sums of what a row adds to any cluster alike) and words.
    ``derived`` (slot, 3): the log marginal likelihood first, then what the component keeps. Slot s has entries
    ``entries[begins[s] : begins[s] + 2**bits[s]]``, (word, count) each, −1 being no word, of which ``used[s]`` have a word;
    ``bits`` of −1 is no table. ``vacant[b]`` is where the first vacant block of 2**b entries begins (−1: nowhere), and its
    first entry holds where the next does, in units of the shortest block.
    """

    sizes: np.ndarray
    totals: np.ndarray
    constants: np.ndarray
    derived: np.ndarray
    begins: np.ndarray
    bits: np.ndarray
    used: np.ndarray
    entries: np.ndarray
    vacant: np.ndarray
    counters: np.ndarray

    @classmethod
    def empty(cls, capacity: int, n_entries: int = 4096) -> SparseTable:
        """A table of ``capacity`` empty slots."""
        return cls(
            np.zeros(capacity, np.int64),
            np.zeros(capacity, np.int64),
            np.zeros(capacity),
            np.zeros((capacity, 3)),
            np.zeros(capacity, np.int64),
            np.full(capacity, -1, np.int64),
            np.zeros(capacity, np.int64),
            np.empty((n_entries, 2), np.int32),
            np.full(64, -1, np.int64),
            np.array([0, _LEAST_BITS], np.int64),
        )

    @property
    def full(self) -> bool:
        """Whether there might be no room for a proposal."""
        return len(self.entries) - self.counters[_END] < _ROOM << int(self.counters[_MOST_BITS])

    def grown(self, capacity: int) -> SparseTable:
        """The same clusters in a table of more slots."""
        bigger = self.empty(capacity, 0)._replace(entries=self.entries, vacant=self.vacant, counters=self.counters)
        for old, new in zip(self[:7], bigger[:7], strict=True):
            new[: len(old)] = old
        return bigger

    def roomier(self) -> SparseTable:
        """The same clusters in a longer pool, without the gaps there were if these were many."""
        in_use = int((1 << self.bits[self.bits >= 0]).sum())
        length = in_use * 5 // 4 + 2 * _ROOM * (1 << int(self.counters[_MOST_BITS]))
        if 4 * in_use > 3 * self.counters[_END]:
            # In place, for two pools at once would be most of the memory a chain takes; nothing else refers to this one.
            self.entries.resize((max(length, len(self.entries) * 5 // 4), 2), refcheck=False)
            return self
        bigger = self._replace(
            begins=self.begins.copy(),
            entries=np.empty((length, 2), np.int32),
            vacant=np.full(64, -1, np.int64),
            counters=self.counters.copy(),
        )
        _move_blocks(self, bigger)
        return bigger


@kernel
def _move_blocks(old, new):
    """Copy the blocks of all slots into a pool without gaps."""
    old, new = borrowed(old), borrowed(new)
    end = 0
    for slot in range(len(old.bits)):
        if old.bits[slot] >= 0:
            length = 1 << old.bits[slot]
            begin = old.begins[slot]
            for at in range(length):
                new.entries[end + at, 0] = old.entries[begin + at, 0]
                new.entries[end + at, 1] = old.entries[begin + at, 1]
            new.begins[slot] = end
            end += length
    new.counters[_END] = end


@implements(is_full, SparseTable, argument=1)
def _is_full(model, table):
    return len(table.entries) - table.counters[_END] < _ROOM << table.counters[_MOST_BITS]


# ---- blocks ------------------------------------------------------------------------------------------------------------------


@helper
def _take_block(table, bits):
    """Where a block of 2**bits entries without words begins."""
    length = 1 << bits
    begin = table.vacant[bits]
    if begin >= 0:
        following = np.int64(table.entries[begin, 0])
        table.vacant[bits] = following << _LEAST_BITS if following >= 0 else -1
    else:
        begin = table.counters[_END]
        table.counters[_END] = begin + length
        table.counters[_MOST_BITS] = max(table.counters[_MOST_BITS], bits)
    for at in range(begin, begin + length):
        table.entries[at, 0] = -1
    return begin


@helper
def leave_block(table, slot):
    """Give a slot's block back."""
    bits = table.bits[slot]
    if bits >= 0:
        begin = table.begins[slot]
        following = table.vacant[bits]
        table.entries[begin, 0] = following >> _LEAST_BITS if following >= 0 else -1
        table.vacant[bits] = begin
        table.bits[slot] = -1
        table.used[slot] = 0


# ---- words -------------------------------------------------------------------------------------------------------------------


@hot_helper
def _place(entries, begin, bits, word):
    """Where a word is, or the vacant entry where it would be."""
    last = (1 << bits) - 1
    at = np.int64((np.uint64(word) * np.uint64(0x9E3779B97F4A7C15)) >> np.uint64(64 - bits))
    while entries[begin + at, 0] != word and entries[begin + at, 0] >= 0:
        at = (at + 1) & last
    return begin + at


@hot_helper
def count_of(table, slot, word):
    """How often a word occurs in a cluster."""
    if table.bits[slot] < 0:
        return 0
    at = _place(table.entries, table.begins[slot], table.bits[slot], word)
    return np.int64(table.entries[at, 1]) if table.entries[at, 0] >= 0 else 0


@inlined
def n_places(table, slot):
    """How many entries a cluster's table has, to be gone through by :func:`word_at` and :func:`count_at`."""
    return 1 << table.bits[slot] if table.bits[slot] >= 0 else 0


@inlined
def word_at(table, slot, k):
    """The word in entry k of a cluster's table, or −1."""
    return np.int64(table.entries[table.begins[slot] + k, 0])


@inlined
def count_at(table, slot, k):
    """The count in entry k of a cluster's table, 0 where there is no word."""
    at = table.begins[slot] + k
    return np.int64(table.entries[at, 1]) if table.entries[at, 0] >= 0 else 0


@helper
def make_room(table, slot, n_more):
    """See to it that a cluster's table can take this many more words."""
    bits = table.bits[slot]
    if bits >= 0 and _OF * (table.used[slot] + n_more) <= _FILLED << bits:
        return
    words = n_more
    for k in range(n_places(table, slot)):
        words += 1 if count_at(table, slot, k) > 0 else 0
    new_bits = _LEAST_BITS
    while 2 * words > 1 << new_bits:  # half empty, so that it does not move again soon
        new_bits += 1
    begin = _take_block(table, new_bits)
    used = 0
    for k in range(n_places(table, slot)):
        count = count_at(table, slot, k)
        if count > 0:
            word = word_at(table, slot, k)
            at = _place(table.entries, begin, new_bits, word)
            table.entries[at, 0] = word
            table.entries[at, 1] = count
            used += 1
    leave_block(table, slot)
    table.begins[slot] = begin
    table.bits[slot] = new_bits
    table.used[slot] = used


@hot_helper
def change_count(table, slot, word, by):
    """Add to a word's count in a cluster whose table has room."""
    at = _place(table.entries, table.begins[slot], table.bits[slot], word)
    if table.entries[at, 0] < 0:
        table.entries[at, 0] = word
        table.entries[at, 1] = 0
        table.used[slot] += 1
    table.entries[at, 1] += by


# ---- verbs that do not depend on the component -----------------------------------------------------------------------------


@implements(clear, SparseTable, argument=1)
def _clear(model, table, slot):
    leave_block(table, slot)
    table.sizes[slot] = 0
    table.totals[slot] = 0
    table.constants[slot] = 0.0
    derive(model, table, slot)


@implements(take, SparseTable, argument=1)
def _take(model, table, source, into):
    for numbers in (table.sizes, table.totals, table.begins, table.bits, table.used):
        numbers[source], numbers[into] = numbers[into], numbers[source]
    table.constants[source], table.constants[into] = table.constants[into], table.constants[source]
    for k in range(table.derived.shape[1]):
        table.derived[source, k], table.derived[into, k] = table.derived[into, k], table.derived[source, k]


@helper
def absorb(table, slot, other):
    """Add the words and numbers of one cluster to those of another; nothing is derived yet."""
    make_room(table, slot, table.used[other])
    for k in range(n_places(table, other)):
        count = count_at(table, other, k)
        if count > 0:
            change_count(table, slot, word_at(table, other, k), count)
    table.sizes[slot] += table.sizes[other]
    table.totals[slot] += table.totals[other]
    table.constants[slot] += table.constants[other]


@helper
def release(table, slot, part):
    """Take the words and numbers of some rows of a cluster out of it; nothing is derived yet."""
    for k in range(n_places(table, part)):
        count = count_at(table, part, k)
        if count > 0:
            change_count(table, slot, word_at(table, part, k), -count)
    table.sizes[slot] -= table.sizes[part]
    table.totals[slot] -= table.totals[part]
    table.constants[slot] -= table.constants[part]
