"""Slots with the word counts of every cluster, in memory proportional to the words that clusters have.

Each cluster has a hash map of its own: open addressing, linear probing, a word and its count side by side, so that a
look-up is one access to memory. A thousand clusters over 141,000 words would take 560 MB as rows of a matrix, and ten
thousand at the start of a chain ten times that; topics use a few thousand words each. Maps are blocks of a common pool, of
16, 32, 64 … entries. A map that fills up moves to a block twice as long, and the block it leaves is used again. A word
whose count falls to zero keeps its entry until its map moves. A map as long as there are words has an entry for each,
and a word is found there without searching.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from hashmix.components.contract import clear, derive, is_full, take
from hashmix.core.compiling import borrowed, helper, hot_helper, implements, inlined, kernel

__all__ = [
    "LOG_MARGINAL",
    "WordSlots",
    "absorb",
    "change_count",
    "count_at",
    "count_of",
    "leave_block",
    "n_places",
    "release",
    "reserve",
    "word_at",
]

#: Log2 of the shortest block.
_LEAST_BITS = 4
#: Before a proposal, the pool must have free space for this many blocks as long as the longest: two sides that double
#: until they hold a cluster's words, and a union.
_BLOCKS_AHEAD = 16
#: A worker moves one row at a time, which takes at most a block of four times the length.
_WORKER_BLOCKS_AHEAD = 4
#: A map moves when more than 3/4 of its entries are in use.
_FILLED, _OF = 3, 4

#: 2**64 divided by the golden ratio: multiples of it are spread evenly.
_GOLDEN_RATIO = np.uint64(0x9E3779B97F4A7C15)
#: Column of ``derived`` that holds the log marginal likelihood.
LOG_MARGINAL = 0
# Entries of ``counters``: end of the used part of the pool, log2 of the longest block, how many blocks of that length must be
# free, and log2 of a block with an entry for every word.
_END, _MOST_BITS, _AHEAD, _ALL_BITS = range(4)


class WordSlots(NamedTuple):
    """Slots with one hash map of words per cluster.

    Additive: ``sizes``, ``totals`` (sums of counts), ``constants`` (sums of what a row adds to any cluster alike) and words.
    ``derived`` (slot, 3): the log marginal likelihood, then what the component keeps. The map of slot s is
    ``entries[begins[s] : begins[s] + 2**bits[s]]``, (word, count) each, (−1, 0) for no word; ``used[s]`` entries have a word;
    ``bits`` of −1 means no map. ``vacant[b]`` is where the first vacant block of 2**b entries begins (−1: nowhere); its
    first entry holds where the next one does, in units of the shortest block.
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
    def empty(cls, capacity: int, n_words: int, row_words: int = 1, n_entries: int = 4096) -> WordSlots:
        """Make ``capacity`` empty slots for words 0 … n_words − 1; a row has at most ``row_words`` of them.

        A map that gets the words of one row may become that long at once, so it counts as the longest from the beginning.
        """
        all_bits = max(_LEAST_BITS, (n_words - 1).bit_length())
        most_bits = min(all_bits, max(_LEAST_BITS, (2 * row_words - 1).bit_length()))
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
            np.array([0, most_bits, _BLOCKS_AHEAD, all_bits], np.int64),
        )

    @property
    def full(self) -> bool:
        """Whether the pool might be too short for another proposal."""
        return len(self.entries) - self.counters[_END] < self._longest(_BLOCKS_AHEAD)

    @property
    def _in_use(self) -> int:
        """Number of entries in the blocks of all slots."""
        return int((1 << self.bits[self.bits >= 0]).sum())

    def _longest(self, n_blocks: int) -> int:
        """The length of this many blocks as long as the longest."""
        return n_blocks << int(self.counters[_MOST_BITS])

    def grown(self, capacity: int) -> WordSlots:
        """The same clusters with more slots."""
        bigger = self.empty(capacity, 1, n_entries=0)._replace(entries=self.entries, vacant=self.vacant, counters=self.counters)
        for old, new in zip(self[:7], bigger[:7], strict=True):
            new[: len(old)] = old
        return bigger

    def enlarged(self, n_free: int = 0) -> WordSlots:
        """The same clusters in a longer pool, with at least ``n_free`` entries free; gaps are removed if there were many."""
        in_use = self._in_use
        length = in_use + max(in_use // 4 + self._longest(2 * _BLOCKS_AHEAD), n_free)
        if 4 * in_use > 3 * self.counters[_END]:
            # In place: two pools at once would be most of the memory a chain takes, and nothing else refers to this one.
            length = max(length, len(self.entries) * 5 // 4, int(self.counters[_END]) + n_free)
            self.entries.resize((length, 2), refcheck=False)
            return self
        bigger = self._replace(
            begins=self.begins.copy(),
            entries=np.empty((length, 2), np.int32),
            vacant=np.full(64, -1, np.int64),
            counters=self.counters.copy(),
        )
        _move_blocks(self, bigger)
        return bigger

    def for_workers(self, n: int, proposals: bool = False) -> tuple[WordSlots, list[WordSlots]]:
        """The same clusters, and n views of them; see :meth:`hashmix.components.contract.DenseSlots.for_workers`.

        Every worker takes new blocks from a range of the pool of its own. A worker whose range might run short is full.
        """
        # Whole blocks of the shortest length, so that links between vacant blocks stay exact.
        ahead = _BLOCKS_AHEAD if proposals else _WORKER_BLOCKS_AHEAD
        room = max(self._longest(2 * ahead), self._in_use // (8 * n) >> _LEAST_BITS << _LEAST_BITS)
        slots = self
        if len(self.entries) - self.counters[_END] < n * room:
            slots = self.enlarged(n * room)
        end, most_bits = (int(slots.counters[k]) for k in (_END, _MOST_BITS))
        return slots, [
            slots._replace(
                entries=slots.entries[: end + (k + 1) * room],
                vacant=np.full(64, -1, np.int64),
                counters=np.array([end + k * room, most_bits, ahead, slots.counters[_ALL_BITS]], np.int64),
            )
            for k in range(n)
        ]

    def after_workers(self, views: list[WordSlots]) -> None:
        """Make one pool of the ranges again. The views must not be used any more."""
        for view in views:
            self.counters[_MOST_BITS] = max(self.counters[_MOST_BITS], view.counters[_MOST_BITS])
            _recover_vacant(self, view.vacant)
        _close_gaps(self, np.argsort(self.begins, kind="stable"))


@kernel
def _recover_vacant(slots, vacant):
    """Take over the vacant blocks of a worker, except those in the ranges: these are gaps, to be closed."""
    slots, vacant = borrowed(slots), borrowed(vacant)
    for bits in range(len(vacant)):
        begin = vacant[bits]
        while begin >= 0:
            following = np.int64(slots.entries[begin, 0])
            if begin < slots.counters[_END]:
                slots.entries[begin, 0] = slots.vacant[bits] >> _LEAST_BITS if slots.vacant[bits] >= 0 else -1
                slots.vacant[bits] = begin
            begin = following << _LEAST_BITS if following >= 0 else -1


@kernel
def _close_gaps(slots, order):
    """Move the blocks that workers took down to the end of the pool. ``order`` lists slots by where their blocks begin."""
    slots, order = borrowed(slots), borrowed(order)
    for k in range(len(order)):
        slot = order[k]
        begin, end = slots.begins[slot], slots.counters[_END]
        if slots.bits[slot] >= 0 and begin >= end:
            length = 1 << slots.bits[slot]
            if begin > end:
                for at in range(length):
                    slots.entries[end + at, 0] = slots.entries[begin + at, 0]
                    slots.entries[end + at, 1] = slots.entries[begin + at, 1]
                slots.begins[slot] = end
            slots.counters[_END] = end + length


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


@implements(is_full, WordSlots, argument=1)
def _is_full(model, slots):
    return len(slots.entries) - slots.counters[_END] < slots.counters[_AHEAD] << slots.counters[_MOST_BITS]


# ---- blocks ------------------------------------------------------------------------------------------------------------------


@helper
def _take_block(slots, bits):
    """Where a block of 2**bits entries without words begins."""
    length = 1 << bits
    begin = slots.vacant[bits]
    if begin >= 0:
        following = np.int64(slots.entries[begin, 0])
        slots.vacant[bits] = following << _LEAST_BITS if following >= 0 else -1
    else:
        begin = slots.counters[_END]
        slots.counters[_END] = begin + length
        slots.counters[_MOST_BITS] = max(slots.counters[_MOST_BITS], bits)
    for at in range(begin, begin + length):
        slots.entries[at, 0] = -1
        slots.entries[at, 1] = 0
    return begin


@helper
def leave_block(slots, slot):
    """Free the block of a slot."""
    bits = slots.bits[slot]
    if bits >= 0:
        begin = slots.begins[slot]
        following = slots.vacant[bits]
        slots.entries[begin, 0] = following >> _LEAST_BITS if following >= 0 else -1
        slots.vacant[bits] = begin
        slots.bits[slot] = -1
        slots.used[slot] = 0


# ---- words -------------------------------------------------------------------------------------------------------------------


@hot_helper
def _place(slots, begin, bits, word):
    """Where a word is, or the vacant entry where it would be.

    It is searched for from the first bits of its number times an odd one, modulo the least power of 2 above all words. All
    bits of the product permute the words: in a map that long, each has a place of its own. Maps of all lengths have their
    words in about the same order, so that looking up those of one in another reads memory in one direction.
    """
    entries, last = slots.entries, (1 << bits) - 1
    shift = np.uint64(64 - slots.counters[_ALL_BITS])
    odd = (_GOLDEN_RATIO >> shift | np.uint64(1)) << shift
    at = np.int64((np.uint64(word) * odd) >> np.uint64(64 - bits))
    while entries[begin + at, 0] != word and entries[begin + at, 0] >= 0:
        at = (at + 1) & last
    return begin + at


@hot_helper
def count_of(slots, slot, word):
    """How often a word occurs in a cluster."""
    if slots.bits[slot] < 0:
        return 0
    return np.int64(slots.entries[_place(slots, slots.begins[slot], slots.bits[slot], word), 1])


@inlined
def n_places(slots, slot):
    """Number of entries in a cluster's map, for loops over :func:`word_at` and :func:`count_at`."""
    return 1 << slots.bits[slot] if slots.bits[slot] >= 0 else 0


@inlined
def word_at(slots, slot, k):
    """The word in entry k of a cluster's map, or −1."""
    return np.int64(slots.entries[slots.begins[slot] + k, 0])


@inlined
def count_at(slots, slot, k):
    """The count in entry k of a cluster's map, 0 where there is no word."""
    return np.int64(slots.entries[slots.begins[slot] + k, 1])


@helper
def reserve(slots, slot, n_more):
    """Make sure that a cluster's map can take this many more words."""
    bits = slots.bits[slot]
    all_bits = slots.counters[_ALL_BITS]
    if bits == all_bits or (bits >= 0 and _OF * (slots.used[slot] + n_more) <= _FILLED << bits):
        return
    words = n_more
    for k in range(n_places(slots, slot)):
        words += 1 if count_at(slots, slot, k) > 0 else 0
    new_bits = _LEAST_BITS
    while 2 * words > 1 << new_bits and new_bits < all_bits:  # half empty, so that it does not move again soon
        new_bits += 1
    begin = _take_block(slots, new_bits)
    used = 0
    for k in range(n_places(slots, slot)):
        count = count_at(slots, slot, k)
        if count > 0:
            word = word_at(slots, slot, k)
            at = _place(slots, begin, new_bits, word)
            slots.entries[at, 0] = word
            slots.entries[at, 1] = count
            used += 1
    leave_block(slots, slot)
    slots.begins[slot] = begin
    slots.bits[slot] = new_bits
    slots.used[slot] = used


@hot_helper
def change_count(slots, slot, word, by):
    """Add to a word's count in a cluster; :func:`reserve` was called for it."""
    at = _place(slots, slots.begins[slot], slots.bits[slot], word)
    if slots.entries[at, 0] < 0:
        slots.entries[at, 0] = word
        slots.entries[at, 1] = 0
        slots.used[slot] += 1
    slots.entries[at, 1] += by


# ---- verbs that do not depend on the component -----------------------------------------------------------------------------


@implements(clear, WordSlots, argument=1)
def _clear(model, slots, slot):
    leave_block(slots, slot)
    slots.sizes[slot] = 0
    slots.totals[slot] = 0
    slots.constants[slot] = 0.0
    derive(model, slots, slot)


@implements(take, WordSlots, argument=1)
def _take(model, slots, source, into):
    for numbers in (slots.sizes, slots.totals, slots.begins, slots.bits, slots.used):
        numbers[source], numbers[into] = numbers[into], numbers[source]
    slots.constants[source], slots.constants[into] = slots.constants[into], slots.constants[source]
    for k in range(slots.derived.shape[1]):
        slots.derived[source, k], slots.derived[into, k] = slots.derived[into, k], slots.derived[source, k]


@helper
def absorb(slots, slot, other):
    """Add the words and numbers of one cluster to another; nothing is derived yet."""
    reserve(slots, slot, slots.used[other])
    for k in range(n_places(slots, other)):
        count = count_at(slots, other, k)
        if count > 0:
            change_count(slots, slot, word_at(slots, other, k), count)
    slots.sizes[slot] += slots.sizes[other]
    slots.totals[slot] += slots.totals[other]
    slots.constants[slot] += slots.constants[other]


@helper
def release(slots, slot, part):
    """Remove the words and numbers of slot ``part`` from a cluster; nothing is derived yet."""
    for k in range(n_places(slots, part)):
        count = count_at(slots, part, k)
        if count > 0:
            change_count(slots, slot, word_at(slots, part, k), -count)
    slots.sizes[slot] -= slots.sizes[part]
    slots.totals[slot] -= slots.totals[part]
    slots.constants[slot] -= slots.constants[part]
