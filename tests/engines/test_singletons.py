"""Merges of clusters of one row over shards: every path of the kernel, its ratio against a reference, and what shards do."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import logsumexp

import hashmix as hm
from hashmix.engines.blocks import share_out
from hashmix.engines.shard import Preparation
from hashmix.run.spread.clusters import Clusters
from hashmix.run.spread.singletons import singleton_merge
from hashmix.testing import exact_posterior, partitions, transition_matrix
from tests.engines.test_same_draws import COMPONENT, N, Several, X, several
from tests.shared import COMPONENTS, DIAGONAL, FULL, PRIORS, SpreadSingletons, assert_invariant, name

ROWS = np.array([[0.1, 0.4], [0.2, 0.3], [1.9, -0.6], [0.9, 1.3], [-1.0, 0.2]])


@pytest.mark.parametrize("prior", PRIORS, ids=name)
@pytest.mark.parametrize("component", COMPONENTS, ids=name)
def test_every_path(component, prior):
    """The matrix is reversible, and that of the move in one process."""
    P = assert_invariant(SpreadSingletons(), ROWS, component, prior)
    assert abs(P - transition_matrix(hm.moves.SingletonMerge(), ROWS, component, prior)).max() < 1e-12
    assert (P > 0).sum() > 2 * len(P)


@pytest.mark.parametrize("component", [DIAGONAL, FULL], ids=name)
def test_several_proposals(component):
    """Rows that are cut out, merged, and cut out again: what is remembered of labels and slots is not mixed up."""
    P = transition_matrix(SpreadSingletons(2), ROWS[:3], component, PRIORS[1])
    one = transition_matrix(SpreadSingletons(), ROWS[:3], component, PRIORS[1])
    assert abs(P - one @ one).max() < 1e-12


def reference(prior, component, labels, i):
    """Probability of the cut of row i, and of its inverse: the ratio from the definition, with marginal likelihoods."""
    every = partitions(len(ROWS))
    log_pi = dict(zip(every, np.log(list(exact_posterior(ROWS, component, prior).values())), strict=True))

    def of(labels):
        _, first, inverse = np.unique(labels, return_index=True, return_inverse=True)
        return tuple(np.argsort(np.argsort(first))[inverse].tolist())

    after = np.where(np.arange(len(labels)) == i, max(labels) + 1, labels)
    # The full conditional is proportional to the posterior of the partitions in which the row has joined a cluster.
    joined = [np.where(np.arange(len(labels)) == i, c, after) for c in np.unique(np.delete(labels, i))]
    log_choice = log_pi[of(labels)] - logsumexp([log_pi[of(each)] for each in joined])
    n, singletons = len(labels), int((np.bincount(np.unique(after, return_inverse=True)[1]) == 1).sum())
    log_ratio = log_pi[of(after)] - log_pi[of(labels)] + log_choice + np.log(n) - np.log(singletons)
    there, back = 0.5 / n, 0.5 / singletons * np.exp(log_choice)
    return of(labels), of(after), there * min(1.0, np.exp(log_ratio)), back * min(1.0, np.exp(-log_ratio))


@pytest.mark.parametrize("prior", PRIORS, ids=name)
def test_ratio_of_a_cut_and_of_its_inverse(prior):
    P, every = transition_matrix(SpreadSingletons(), ROWS, FULL, prior), partitions(len(ROWS))
    for labels, i in [((0, 0, 1, 1, 2), 0), ((0, 0, 0, 1, 1), 2), ((0, 1, 1, 1, 1), 4), ((0, 0, 0, 0, 1), 3)]:
        before, after, there, back = reference(prior, FULL, np.array(labels), i)
        if sum(c == labels[i] for c in labels) == 2:
            # The other row of the two might have left, with the same outcome.
            other = next(j for j, c in enumerate(labels) if c == labels[i] and j != i)
            _, _, more_there, more_back = reference(prior, FULL, np.array(labels), other)
            there, back = there + more_there, back + more_back
        assert P[every.index(before), every.index(after)] == pytest.approx(there, rel=1e-9)
        assert P[every.index(after), every.index(before)] == pytest.approx(back, rel=1e-9)


# ---- over shards ------------------------------------------------------------------------------------------------------------


def after_moves(spread, n_moves=25, n_proposals=40):
    """Labels of all rows and the clusters, of which many have one row at first."""
    model = COMPONENT.model(X)
    labels = np.where(np.arange(N) % 9 == 0, 4 + np.arange(N), np.random.default_rng(5).integers(4, size=N)).astype(np.int32)
    spread.later("prepare", preparation=Preparation(COMPONENT, np.ones(X.shape[1], bool), None, 0))
    spread.hold(model)
    spread.later("write", numbers=np.arange(N), labels=labels)
    table = spread.sum("statistics", capacity=4 + N).reshape(4 + N, -1)
    clusters = Clusters(COMPONENT, hm.priors.DirichletProcess(5.0), model, None, N, table)
    done = np.zeros(4, int)
    for seed in range(n_moves):
        done += singleton_merge(spread, clusters, seed, n_proposals)
        if seed == 10:
            spread.later("relabel", labels=clusters.compact())
    found = spread.rows_of(np.arange(N), values=False).labels
    return found, clusters, done


def sizes_agree(labels, clusters):
    return np.array_equal(np.bincount(labels, minlength=clusters.capacity), clusters.slots.sizes[: clusters.capacity])


def test_labels_and_clusters_agree():
    """Shards are told of labels; the client keeps statistics."""
    labels, clusters, done = after_moves(several(3))
    assert done[1] - done[3] > 50  # merges
    assert done[3] > 0
    assert sizes_agree(labels, clusters)
    stats = COMPONENT.statistics(clusters.model, X, labels, clusters.capacity)
    np.testing.assert_allclose(clusters.table(), stats, rtol=1e-9, atol=1e-9)
    assert clusters.n_clusters < N // 9 - 40


def test_the_same_for_any_shards():
    labels, clusters, done = after_moves(hm.engines.Threads(1).open(X, "test"))
    layout = several(1).layout
    for spread in (
        hm.engines.Threads(2).open(X, "test"),
        hm.engines.Threads(5).open(X, "test"),
        several(2),
        Several(X, share_out(layout.n_blocks, 5), [4, 2, 0, 1, 3]),
    ):
        again, others, counts = after_moves(spread)
        assert np.array_equal(again, labels)
        assert np.array_equal(others.table(), clusters.table())
        assert np.array_equal(counts, done)


@pytest.mark.parametrize("verb", ["relabel", "write"])
def test_a_message_that_is_not_sent_is_noticed(monkeypatch, verb):
    """Shards that are not told of merges, or of cuts."""
    later = Several.later

    def forgets(self, what, **arguments):
        if what != verb or len(arguments.get("numbers", ())) == N:  # the first labels must come
            later(self, what, **arguments)

    assert sizes_agree(*after_moves(several(3), 1, 400)[:2])
    monkeypatch.setattr(Several, "later", forgets)
    assert not sizes_agree(*after_moves(several(3), 1, 400)[:2])
