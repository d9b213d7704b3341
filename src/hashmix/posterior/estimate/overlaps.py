"""An estimate and its contingency tables with every draw: what the search for a point estimate reads and changes.

Most visits of a group read only the two largest entries of each of its lists. Write σ(c) for f(|c| + w) − f(|c|) − f(w),
where |c| is the size of cluster c without the group and w the group's weight, and γ(c, s) for the same difference of the cell
of c in the group's list of draw s. Being in c instead of alone changes the loss by S σ(c) − 2 Σ_s γ(c, s). A cell is at most
its cluster, so γ(c, s) ≤ σ(c). Let g(s) be the γ of the largest cell of all clusters but the group's own. For every other
cluster, then, γ(c, s) ≤ min(σ(c), g(s)) ≤ (σ(c) + g(s)) / 2, and the loss changes by at least −Σ g(s); by 0 for a new
cluster. If the group's own cluster changes it by less, the group stays, and the other entries need not be read.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from hashmix.core.compiling import borrowed, helper, inlined, kernel

__all__ = ["INDEX", "NOWHERE", "Overlaps", "allocate", "fill_lists", "list_lengths", "number_lists", "put", "varying_loss"]

# Columns of ``heads``, of ``entries``, and positions in ``counters``.
START, LENGTH, CAPACITY = 0, 1, 2
CLUSTER, COUNT = 0, 1
NUMBERED, VACANT, END, WORK = 0, 1, 2, 3
N_COUNTERS = 4
#: The label of a group that is in no cluster.
NOWHERE = -1
#: The type of what arrays are indexed by: unsigned, because Numba checks signed indices for negative numbers.
INDEX = np.uint32
#: Work is counted in entries read: what looking at a list, and changing it, count for.
WORK_PER_LIST, WORK_PER_CHANGE = 4, 8
#: Added to every gain, so that a cluster whose overlap gains nothing is still marked as seen.
_MARK = 1e-12


class Overlaps(NamedTuple):
    """An estimate and its contingency tables with every draw; changed in place.

    A *list* belongs to one cluster of one draw, and holds the estimate's clusters it overlaps with the number of rows in
    common. Its first entry has the largest number, its second entry the next.
    """

    lists: np.ndarray  # (group, draw) the list of the draw's cluster that the group is in
    heads: np.ndarray  # (list, 3) where its entries start, how many there are, and how many it has memory for
    entries: np.ndarray  # (…, 2) a cluster of the estimate, and the number of rows in common
    weights: np.ndarray  # (group,) number of rows
    labels: np.ndarray  # (group,) cluster in the estimate; −1: in none yet
    sizes: np.ndarray  # (capacity,) rows of each cluster of the estimate
    vacant: np.ndarray  # (capacity,) stack of numbers that were given to clusters which are now empty
    counters: np.ndarray  # numbers given to clusters, vacant ones among them, end of the entries, work done


@inlined
def _swap(entries, a, b):
    cluster, count = entries[a, CLUSTER], entries[a, COUNT]
    entries[a, CLUSTER], entries[a, COUNT] = entries[b, CLUSTER], entries[b, COUNT]
    entries[b, CLUSTER], entries[b, COUNT] = cluster, count


@inlined
def _largest_first(entries, start, end):
    """Bring the entry with the largest count to the start."""
    largest = start
    for at in range(start + 1, end):
        if entries[at, COUNT] > entries[largest, COUNT]:
            largest = at
    if largest != start:
        _swap(entries, start, largest)


@helper
def _change(heads, entries, counters, r, cluster, by):
    """Add to the count of a cluster in list r, and keep the two largest entries first; an entry without rows is removed."""
    start, length = np.int64(heads[r, START]), np.int64(heads[r, LENGTH])
    end = start + length
    at = start
    while at < end and entries[at, CLUSTER] != cluster:
        at += 1
    if at == end:
        if length == heads[r, CAPACITY]:  # the list moves to the end, with twice the capacity
            new = counters[END]
            for k in range(length):
                entries[new + k, CLUSTER], entries[new + k, COUNT] = entries[start + k, CLUSTER], entries[start + k, COUNT]
            counters[END] += 2 * length
            heads[r, START], heads[r, CAPACITY] = new, 2 * length
            start = new
            at = end = start + length
        entries[at, CLUSTER], entries[at, COUNT] = cluster, 0
        end += 1
    entries[at, COUNT] += by
    if by > 0:
        if at > start + 1 and entries[at, COUNT] > entries[start + 1, COUNT]:
            _swap(entries, at, start + 1)
            at = start + 1
        if at == start + 1 and entries[at, COUNT] > entries[start, COUNT]:
            _swap(entries, at, start)
    else:
        if entries[at, COUNT] == 0:
            end -= 1
            _swap(entries, at, end)
        if at == start:
            _largest_first(entries, start, end)
        if at <= start + 1:
            _largest_first(entries, start + 1, end)
    heads[r, LENGTH] = end - start


@inlined
def _may_overflow(t, i):
    """Whether the memory for entries might not suffice for one more entry in all lists of group i."""
    needed = 0
    for s in range(t.lists.shape[1]):
        needed += 2 * t.heads[t.lists[i, s], CAPACITY]
    return t.counters[END] + needed > len(t.entries)


@helper
def _move(t, i, cluster):
    """Put group i into a cluster, or nowhere, wherever it is now.

    Clusters are int64, so that :func:`_change` is compiled once.
    """
    before, weight = np.int64(t.labels[i]), np.int64(t.weights[i])
    for s in range(t.lists.shape[1]):
        if before != NOWHERE:
            _change(t.heads, t.entries, t.counters, t.lists[i, s], before, -weight)
        if cluster != NOWHERE:
            _change(t.heads, t.entries, t.counters, t.lists[i, s], cluster, weight)
    t.counters[WORK] += WORK_PER_CHANGE * t.lists.shape[1]
    if before != NOWHERE:
        t.sizes[before] -= weight
        if t.sizes[before] == 0:
            t.vacant[t.counters[VACANT]] = before
            t.counters[VACANT] += 1
    if cluster != NOWHERE:
        t.sizes[cluster] += weight
    t.labels[i] = cluster


@inlined
def _stays(t, i, values, least_gain):
    """Whether the two largest entries of all lists of group i tell that no cluster is better than the one it is in."""
    n_draws, own, weight = t.lists.shape[1], t.labels[i], t.weights[i]
    alone = values[weight]
    bound = 0.0  # Σ g(s) − 2 Σ γ(own, s)
    for s in range(n_draws):
        r = t.lists[i, s]
        start, length = t.heads[r, START], t.heads[r, LENGTH]
        count = t.entries[start, COUNT]
        if t.entries[start, CLUSTER] == own:
            bound -= 2.0 * (values[count] - values[count - weight] - alone)
            if length > 1:
                count = t.entries[start + INDEX(1), COUNT]
                bound += values[count + weight] - values[count] - alone
        else:
            bound += values[count + weight] - values[count] - alone
            if t.entries[start + INDEX(1), CLUSTER] == own:
                count = t.entries[start + INDEX(1), COUNT]
                bound -= 2.0 * (values[count] - values[count - weight] - alone)
    t.counters[WORK] += WORK_PER_LIST * n_draws
    size = t.sizes[own]
    return bound + n_draws * (values[size] - values[size - np.int64(weight)] - alone) < least_gain


@inlined
def _best_cluster(t, i, values, gains, seen, least_gain):
    """The cluster in which group i adds least to the loss, the others being where they are; −1: a new one.

    The loss is S Σ f(sizes) − 2 Σ f(cells) and a constant, and ``values`` are those of f. ``gains`` are zeros.
    """
    n_draws, own, weight = t.lists.shape[1], t.labels[i], t.weights[i]
    alone = values[weight]
    n_seen = 0
    n_read = np.int64(0)
    for s in range(n_draws):
        r = t.lists[i, s]
        start, length = t.heads[r, START], t.heads[r, LENGTH]
        n_read += np.int64(length)
        for at in range(start, start + length):
            c, count = t.entries[at, CLUSTER], t.entries[at, COUNT]
            if c == own:
                count = INDEX(count - weight)
            if gains[c] == 0.0:
                seen[n_seen] = c
                n_seen += 1
            gains[c] += values[count + weight] - values[count] - alone + _MARK
    t.counters[WORK] += n_read + WORK_PER_LIST * n_draws
    best, least = NOWHERE, 0.0
    for k in range(n_seen):
        c = seen[k]
        size = t.sizes[c]
        if c == own:
            size -= np.int64(weight)
        change = n_draws * (values[size + np.int64(weight)] - values[size] - alone) - 2.0 * gains[c]
        gains[c] = 0.0
        if c == own:
            change -= least_gain
        if change < least:
            best, least = c, change
    return best


@inlined
def _new_cluster(t):
    """A number that no cluster has."""
    if t.counters[VACANT] > 0:
        t.counters[VACANT] -= 1
        number = np.int64(t.vacant[t.counters[VACANT]])
    else:
        number = t.counters[NUMBERED]
        t.counters[NUMBERED] += 1
    return number


@kernel
def allocate(t, order, values, gains, seen, least_gain, begin, most_work):
    """Put the groups of an order, from position ``begin`` on, one by one into the clusters where they add least.

    Returns how many changed their cluster, and the position to continue from: before the last when arrays must grow, or when
    ``most_work`` is done. Groups that are in no cluster yet are placed in any case.
    """
    t, order, values, gains, seen = borrowed(t), borrowed(order), borrowed(values), borrowed(gains), borrowed(seen)
    changed = 0
    for position in range(begin, len(order)):
        i = order[position]
        before = t.labels[i]
        if before != NOWHERE:
            if t.counters[WORK] >= most_work:
                return changed, position
            if _stays(t, i, values, least_gain):
                continue
        best = _best_cluster(t, i, values, gains, seen, least_gain)
        if before != NOWHERE and (best == before or (best == NOWHERE and t.sizes[before] == t.weights[i])):
            continue
        if _may_overflow(t, i) or t.counters[NUMBERED] == len(t.sizes):
            return changed, position
        if best == NOWHERE:
            best = _new_cluster(t)
        _move(t, i, np.int64(best))
        changed += 1
    return changed, len(order)


@kernel
def varying_loss(t, groups, values, marks, mark):
    """S Σ f(sizes) − 2 Σ f(cells), f given by its values, over all clusters and over the lists of some groups.

    ``marks`` has a number for each list; one that is ``mark`` is left out, and all lists that were counted get it.
    """
    t, groups, values, marks = borrowed(t), borrowed(groups), borrowed(values), borrowed(marks)
    total = 0.0
    for c in range(t.counters[NUMBERED]):
        total += t.lists.shape[1] * values[t.sizes[c]]
    n_read = np.int64(0)
    for i in groups:
        for s in range(t.lists.shape[1]):
            r = t.lists[i, s]
            if marks[r] != mark:
                marks[r] = mark
                start, length = t.heads[r, START], t.heads[r, LENGTH]
                n_read += np.int64(length)
                for at in range(start, start + length):
                    total -= 2.0 * values[t.entries[at, COUNT]]
    t.counters[WORK] += n_read + WORK_PER_LIST * len(groups) * t.lists.shape[1]
    return total


@kernel
def put(t, groups, clusters, begin):
    """Put groups into given clusters, or nowhere; returns the position to continue from when arrays must grow."""
    t, groups, clusters = borrowed(t), borrowed(groups), borrowed(clusters)
    for position in range(begin, len(groups)):
        i = groups[position]
        if _may_overflow(t, i):
            return position
        _move(t, i, np.int64(clusters[position]))
    return len(groups)


@kernel
def number_lists(draws, first, lists):
    """Number the lists: those of draw s from ``first[s]`` on. In blocks, because this transposes the draws."""
    draws, first, lists = borrowed(draws), borrowed(first), borrowed(lists)
    n_draws, n_groups = draws.shape
    for start in range(0, n_groups, 64):
        for s in range(n_draws):
            for i in range(start, min(start + 64, n_groups)):
                lists[i, s] = draws[s, i] + first[s]


@kernel
def list_lengths(order, starts, labels, n_labels):
    """How many clusters of ``labels`` each cluster of a draw, whose groups are sorted by cluster, overlaps."""
    order, starts, labels = borrowed(order), borrowed(starts), borrowed(labels)
    last = np.full(n_labels, -1, np.int64)
    lengths = np.zeros(len(starts) - 1, np.int64)
    for c in range(len(lengths)):
        for at in range(starts[c], starts[c + 1]):
            label = labels[order[at]]
            if last[label] != c:
                last[label] = c
                lengths[c] += 1
    return lengths


@kernel
def fill_lists(t, order, starts, first):
    """Write the entries of one draw's lists, numbered from ``first`` on, for the labels that there are."""
    t, order, starts = borrowed(t), borrowed(order), borrowed(starts)
    place = np.full(len(t.sizes), -1, np.int64)  # of the entry of each cluster in the last list that has one
    for c in range(len(starts) - 1):
        r = first + c
        start = np.int64(t.heads[r, START])
        end = start
        for at in range(starts[c], starts[c + 1]):
            i = order[at]
            label = t.labels[i]
            if place[label] < start:
                place[label] = end
                t.entries[end, CLUSTER], t.entries[end, COUNT] = label, 0
                end += 1
            t.entries[place[label], COUNT] += t.weights[i]
        _largest_first(t.entries, start, end)
        _largest_first(t.entries, start + 1, end)
        t.heads[r, LENGTH] = end - start
