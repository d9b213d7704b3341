"""The driver owns memory, acceptance, counts and commits: a law cannot get them wrong."""

from __future__ import annotations

import math
import subprocess
import sys
import textwrap
from typing import NamedTuple

import numpy as np
import pytest
from scipy.sparse import csr_matrix

import hashmix as hm
from hashmix.components.contract import clear
from hashmix.core.compiling import implements
from hashmix.core.rng import bernoulli, integer, stream
from hashmix.moves.allocation import fill_sides, gather, toss_coins
from hashmix.moves.anchors import log_pair_probability, uniform_pair
from hashmix.moves.driver import choose, divide, merge, nothing, sides_of, split, weigh_merge
from hashmix.moves.tally import ACCEPTED, PROPOSED, SPLITS_ACCEPTED, SPLITS_PROPOSED, WORK
from hashmix.partition.members import n_clusters
from hashmix.priors.contract import PriorWeights
from tests.shared import COMPONENTS, PRIORS, assert_invariant, make_state, name


class UniformCoins(NamedTuple):
    """A uniform cluster is split by coins, or two uniform ones are merged: written from the verbs alone."""

    nothing_more: int = 0


@implements(choose, UniformCoins, argument=1)
def _choose(rng, law, arrays, target, tally):
    partition = arrays.partition
    k = n_clusters(partition)
    if bernoulli(rng, 0.5):
        return split(partition.active[integer(rng, k)], -1, -1, 0)
    if k == 1:
        return nothing()
    first, second = uniform_pair(rng, partition)
    return merge(first, second, -1, -1, 0)


@implements(divide, UniformCoins, argument=1)
def _divide(rng, law, arrays, target, change, tally):
    k, m = n_clusters(arrays.partition), gather(arrays, change.first, change.first, -1, -1)
    sides = sides_of(arrays, change, m)
    toss_coins(rng, arrays, m)
    clear(target.model, arrays.slots, sides.a)
    clear(target.model, arrays.slots, sides.b)
    fill_sides(arrays, target, sides)
    if arrays.slots.sizes[sides.a] == 0 or arrays.slots.sizes[sides.b] == 0:
        return -math.inf
    return log_pair_probability(k + 1) + math.log(k) + (m - 1) * math.log(2.0)


@implements(weigh_merge, UniformCoins, argument=1)
def _weigh_merge(rng, law, arrays, target, change, tally):
    k, both = n_clusters(arrays.partition), arrays.slots.sizes[change.first] + arrays.slots.sizes[change.second]
    return -math.log(k - 1) - (both - 1) * math.log(2.0) - log_pair_probability(k)


class CoinSplit(hm.moves.Proposal):
    def law(self, state):
        return UniformCoins()


@pytest.mark.parametrize("prior", PRIORS, ids=name)
@pytest.mark.parametrize("component", COMPONENTS, ids=name)
def test_a_law_from_the_verbs_alone_is_exact(component, prior):
    assert_invariant(CoinSplit(), np.array([[0.1, 0.4], [0.2, 0.3], [1.9, -0.6], [0.9, 1.3]]), component, prior)


@pytest.mark.parametrize("component", ["multinomial", "gaussian"])
@pytest.mark.parametrize("move", [hm.moves.UrnMerge(n_bits=1, n_tables=2), hm.moves.WithinSplit()], ids=name)
def test_what_is_remembered_changes_nothing_but_the_work(component, move):
    """Unions are remembered within a call of the kernel: many proposals in one call, and as many calls of one."""
    rng = np.random.default_rng(0)
    labels = np.arange(120) % 8
    X = rng.poisson(0.3 + 3.0 * (np.arange(24) // 3 == labels[:, None]))
    X = X.astype(float) if component == "gaussian" else csr_matrix(X)
    if component == "gaussian":  # as it is, not spread within cells
        component = hm.components.DiagonalGaussian.from_data(X, learn=True)
    states = [make_state(X, component, PRIORS[0], (np.arange(120) // 2)) for _ in range(2)]
    remembered = 0
    for step in range(5):
        in_one, one_by_one = stream(step), stream(step)
        tally = move.apply(states[0], in_one, 400)
        single = sum(move.apply(states[1], one_by_one) for _ in range(400))
        np.testing.assert_array_equal(states[0].labels(), states[1].labels())
        assert states[0].log_joint() == states[1].log_joint()
        np.testing.assert_array_equal(tally[:WORK], single[:WORK])
        remembered += single[WORK] - tally[WORK]
    assert remembered > 0
    states[0].check()


def test_counts_are_consistent(three_blobs):
    state = make_state(three_blobs[0], "gaussian", PRIORS[0], np.zeros(60, int))
    tally = hm.moves.WithinSplit().apply(state, stream(0), 500)
    assert 0 < tally[SPLITS_PROPOSED] <= tally[PROPOSED] <= 500
    assert 0 < tally[SPLITS_ACCEPTED] <= tally[ACCEPTED] <= tally[PROPOSED]
    # From one cluster, splits less merges is the number of clusters more.
    merged = tally[ACCEPTED] - tally[SPLITS_ACCEPTED]
    assert state.n_clusters == 1 + tally[SPLITS_ACCEPTED] - merged


class Eager(hm.priors.PartitionPrior):
    """A prior so fond of clusters that every split is accepted."""

    start_concentration = 1.0

    def weights(self, n, max_clusters, concentration):
        return PriorWeights(1e4 * np.arange(max_clusters + 2), 0.0, True)


@pytest.mark.parametrize("component", ["multinomial", "gaussian"])
def test_a_law_outside_the_package_never_runs_out_of_memory(component):
    """The driver checks before every proposal; thousands of accepted splits of counts grow the slots many times."""
    rng = np.random.default_rng(0)
    X = (rng.random((400, 300)) < 0.2).astype(float)
    state = make_state(X if component == "gaussian" else csr_matrix(X), component, Eager(), np.zeros(400, int))
    for step in range(20):
        CoinSplit().apply(state, stream(step), 200)
        state.check()
    assert state.n_clusters > 100


EXTENSION = """
    from typing import NamedTuple
    import numpy as np
    import hashmix as hm
    from scipy.sparse import csr_matrix
    from hashmix.core.compiling import implements
    from hashmix.core.rng import integer
    from hashmix.moves.allocation import COINS, Allocation
    from hashmix.moves.anchored import Anchored
    from hashmix.moves.anchors import draw_anchors
    from hashmix.priors.contract import PriorWeights

    class Eager(hm.priors.PartitionPrior):
        start_concentration = 1.0

        def weights(self, n, max_clusters, concentration):
            return PriorWeights(1e4 * np.arange(max_clusters + 2), 0.0, True)

    class Any2(NamedTuple):
        nothing_more: int

    @implements(draw_anchors, Any2, argument=1)
    def _draw(rng, anchors, partition):
        n = len(partition.labels)
        u = integer(rng, n)
        v = integer(rng, n - 1)
        return u, v + (v >= u)

    class Mine(hm.moves.Proposal):
        def law(self, state):
            return Anchored(Any2(0), Allocation(COINS))

    X = csr_matrix((np.random.default_rng(0).random((500, 400)) < 0.3).astype(int))
    posterior = hm.sample(X, "multinomial", Eager(), [(Mine(), 2000)], n_draws=5, random_state=0)
    print(posterior.n_clusters[0, -1])
"""


def test_a_move_outside_the_package_does_not_corrupt_memory_with_counts(tmp_path):
    """Once, a move that only looked at free slots wrote beyond the pool of words: "free(): invalid next size"."""
    path = tmp_path / "mine.py"
    path.write_text(textwrap.dedent(EXTENSION), encoding="utf-8")
    ran = subprocess.run([sys.executable, str(path)], capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
    assert int(ran.stdout) > 100
