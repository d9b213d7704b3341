"""Count components: textbook formulas, kernels against array code, the slots of words, learned hyperparameters."""

from __future__ import annotations

import subprocess
import sys

import numba
import numpy as np
import pytest
from scipy.sparse import csr_matrix
from scipy.special import betaln, gammaln

import hashmix as hm
from hashmix.components.contract import (
    add,
    clear,
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
    take,
    union_work,
    unite,
)
from hashmix.components.counts import bernoulli, multinomial, poisson
from hashmix.components.counts.word_slots import WordSlots, change_count, count_of, leave_block, reserve
from hashmix.core.rng import stream
from tests.shared import make_state, name

D = 6
MULTINOMIAL = hm.components.DirichletMultinomial([0.4, 0.7, 0.2, 0.4, 1.1, 3.0])
POISSON = hm.components.GammaPoisson([0.4, 0.7, 0.2, 0.4, 1.1, 3.0], rate=0.6)
BERNOULLI = hm.components.BetaBernoulli(0.3, 0.8)
COMPONENTS = [MULTINOMIAL, POISSON, BERNOULLI]


def counts(component, n, d=D, seed=0, most=None):
    """Counts with an empty row and, but for 0/1 data, some large ones."""
    X = np.random.default_rng(seed).negative_binomial(0.4, 0.2, (n, d))
    X[n // 2] = 0
    if component is BERNOULLI:
        return (X > 0).astype(np.int64)
    if most is not None:
        X[0, 0] = most
    return X


def textbook_log_marginal(component, X):
    """Log m of rows, by the formula over all words, zeros too."""
    X = np.asarray(X, dtype=float)
    n, words = len(X), X.sum(axis=0)
    if isinstance(component, hm.components.BetaBernoulli):
        a, b = component.alpha, component.beta
        return (betaln(a + words, b + n - words) - betaln(a, b)).sum()
    if isinstance(component, hm.components.GammaPoisson):
        a, b = np.broadcast_to(component.shape, X.shape[1]), component.rate
        each = gammaln(a + words) - gammaln(a) + a * np.log(b) - (a + words) * np.log(b + n)
        return each.sum() - gammaln(X + 1).sum()
    a = np.broadcast_to(component.concentration, X.shape[1])
    whole = gammaln(a.sum()) - gammaln(a.sum() + X.sum()) + (gammaln(a + words) - gammaln(a)).sum()
    return whole + (gammaln(X.sum(axis=1) + 1) - gammaln(X + 1).sum(axis=1)).sum()


@pytest.mark.parametrize("component", COMPONENTS, ids=name)
@pytest.mark.parametrize("n", [0, 1, 2, 30])
def test_array_code_is_the_textbooks(component, n):
    X = counts(component, 40, most=700)
    model = component.model(X)
    stats = component.statistics(model, X, np.repeat([0, 1], [n, 40 - n]), 2)
    expected = [textbook_log_marginal(component, X[:n]), textbook_log_marginal(component, X[n:])]
    np.testing.assert_allclose(component.log_marginals(model, stats), expected, rtol=1e-10, atol=1e-10)
    joined = [textbook_log_marginal(component, np.vstack([X[:n], x])) - expected[0] for x in X]
    np.testing.assert_allclose(component.log_predictives(model, stats, X)[:, 0], joined, rtol=1e-8, atol=1e-8)


@numba.njit
def _add_rows(model, slots, X, slot, begin, end):
    clear(model, slots, slot)
    for i in range(begin, end):
        add(model, slots, slot, load(model, slots, X, i))


@numba.njit
def _collect_rows(model, slots, X, slot, begin, end):
    clear(model, slots, slot)
    for i in range(begin, end):
        collect(model, slots, slot, load(model, slots, X, i))
    derive(model, slots, slot)


@numba.njit
def _ask(model, slots, X, slot, i, what):
    row = load(model, slots, X, i)
    if what == 0:
        return log_predictive(model, slots, slot, row)
    if what == 1:
        return log_predictive_without(model, slots, slot, row)
    if what == 2:
        remove(model, slots, slot, row)
    return log_marginal(model, slots, slot)


@numba.njit
def _union(model, slots, a, b, into):
    log_m = log_union(model, slots, a, b, into)
    both = log_m, log_marginal(model, slots, into)
    unite(model, slots, a, b, into)
    return both


@numba.njit
def _difference(model, slots, whole, part, into):
    log_m = log_difference(model, slots, whole, part, into)
    both = log_m, log_marginal(model, slots, into)
    separate(model, slots, whole, part, into)
    return both


@numba.njit
def _take(model, slots, source, into):
    take(model, slots, source, into)


@pytest.mark.parametrize("component", COMPONENTS, ids=name)
@pytest.mark.parametrize("most", [5, 700])
def test_kernels_agree_with_array_code(component, most):
    X = counts(component, 60, most=most)
    rows, model = component.rows(X).arrays, component.model(X)
    slots = component.slots(model, 5)._replace(entries=np.empty((100_000, 2), np.int32))
    n = 45

    def expected(chosen):
        return component.log_marginals(model, component.statistics(model, X[chosen], np.zeros(len(chosen), int), 1))[0]

    _add_rows(model, slots, rows, 0, 0, n)
    _collect_rows(model, slots, rows, 1, 0, n)
    assert _ask(model, slots, rows, 0, 0, 3) == pytest.approx(expected(range(n)), rel=1e-11)
    assert _ask(model, slots, rows, 1, 0, 3) == pytest.approx(expected(range(n)), rel=1e-11)
    for i in (0, 20, 50):
        joined = expected([*range(n), i]) - expected(range(n))
        assert _ask(model, slots, rows, 0, i, 0) == pytest.approx(joined, rel=1e-9, abs=1e-9)
    for i in (0, 22, 30):
        left = [j for j in range(n) if j != i]
        assert _ask(model, slots, rows, 0, i, 1) == pytest.approx(expected(range(n)) - expected(left), rel=1e-9, abs=1e-9)
    left = [j for j in range(n) if j != 0]
    assert _ask(model, slots, rows, 0, 0, 2) == pytest.approx(expected(left), rel=1e-10)
    assert _ask(model, slots, rows, 0, 0, 0) == pytest.approx(expected(range(n)) - expected(left), rel=1e-9)
    _add_rows(model, slots, rows, 2, n, 60)
    union = [*left, *range(n, 60)]
    assert _union(model, slots, 0, 2, 3) == pytest.approx((expected(union), expected(union)), rel=1e-11)
    assert _ask(model, slots, rows, 0, 0, 3) == pytest.approx(expected(union), rel=1e-11)
    joined = expected([*union, 0]) - expected(union)
    assert _ask(model, slots, rows, 0, 0, 0) == pytest.approx(joined, rel=1e-9)
    _take(model, slots, 0, 4)
    assert _ask(model, slots, rows, 4, 0, 0) == pytest.approx(joined, rel=1e-9)
    _collect_rows(model, slots, rows, 1, 10, 35)
    rest = [i for i in union if not 10 <= i < 35]
    assert _difference(model, slots, 4, 1, 3) == pytest.approx((expected(rest), expected(rest)), rel=1e-10)
    assert _ask(model, slots, rows, 4, 0, 3) == pytest.approx(expected(rest), rel=1e-10)
    assert _ask(model, slots, rows, 4, 0, 0) == pytest.approx(expected([*rest, 0]) - expected(rest), rel=1e-9)
    assert slots.sizes[4] == len(rest)


@numba.njit
def _union_work(model, slots, a, b):
    return union_work(model, slots, a, b)


@pytest.mark.parametrize("component", COMPONENTS, ids=name)
def test_work_of_a_union_is_the_words_looked_up_per_words_of_a_row(component):
    # Clusters of 400 and 3 rows of 4 words each, which are all different.
    n, few, words = 403, 3, 4
    X = csr_matrix((np.ones(n * words, int), (np.repeat(np.arange(n), words), np.arange(n * words))), shape=(n, n * words))
    component = component if component is BERNOULLI else type(component)(0.1, **({"rate": 1.0} if component is POISSON else {}))
    state = make_state(X, component, hm.priors.DirichletProcess(1.0), (np.arange(n) < few).astype(int))
    looked_up = n if component is BERNOULLI else few
    for a, b in [(0, 1), (1, 0)]:
        assert looked_up <= _union_work(state.model, state.slots, a, b) <= looked_up + 1


@numba.njit
def _change(slots, slot, words, by):
    reserve(slots, slot, len(words))
    for k in range(len(words)):
        change_count(slots, slot, words[k], by[k])


@numba.njit
def _counts(slots, slot, words):
    return np.array([count_of(slots, slot, word) for word in words])


@numba.njit
def _leave(slots, slot):
    leave_block(slots, slot)


@pytest.mark.parametrize("n_words", [1, 70, 512, 3000])
def test_word_slots_hold_the_words_of_a_matrix(n_words):
    """Random changes against a matrix, with slots that come and go, a pool that is moved, and maps of all words."""
    rng = np.random.default_rng(0)
    slots, matrix = WordSlots.empty(8, n_words), np.zeros((8, n_words), np.int64)
    for step in range(2000):
        if slots.full:
            slots = slots.enlarged()
        slot = int(rng.integers(8))
        if rng.random() < 0.02:
            _leave(slots, slot)
            matrix[slot] = 0
            continue
        words = rng.choice(n_words, int(rng.integers(1, min(60, n_words + 1))), replace=False).astype(np.int32)
        by = rng.integers(0, 3, len(words)) if rng.random() < 0.6 else -np.minimum(matrix[slot, words], 2)
        _change(slots, slot, words, by)
        matrix[slot, words] += by
        if step % 100 == 0:
            slots = slots.grown(8).enlarged()
            for s in range(8):
                np.testing.assert_array_equal(_counts(slots, s, np.arange(n_words, dtype=np.int32)), matrix[s])
    assert len(slots.entries) < 400_000
    assert max(1 << slots.bits) < max(32, 2 * n_words)  # no map is longer than one with a place for every word


def test_memory_follows_the_words_clusters_have():
    """A thousand clusters of a few words each over 100,000 words take megabytes, not 800."""
    rng = np.random.default_rng(0)
    X = csr_matrix((np.ones(20_000, int), (np.arange(20_000) // 10, rng.integers(0, 100_000, 20_000))), shape=(2000, 100_000))
    state = make_state(X, hm.components.DirichletMultinomial(0.1), hm.priors.DirichletProcess(1.0), np.arange(2000) // 2)
    assert state.slots.entries.nbytes < 2_000_000
    state.check()


# ---- learning --------------------------------------------------------------------------------------------------------------

LABELS = np.array([0, 0, 1, 0, 2, 1, 1, 2])


def learning(kind, start=1.0):
    if kind == "multinomial":
        return hm.components.DirichletMultinomial(start * np.array([0.4, 0.7, 0.2, 0.4, 1.1, 3.0]), learn=True)
    if kind == "poisson":
        return hm.components.GammaPoisson(start * np.array([0.4, 0.7, 0.2, 0.4, 1.1, 3.0]), 0.7 * start, learn=True)
    return hm.components.BetaBernoulli(0.3 * start, 0.8 * start, learn=True)


def with_values(component, values):
    return component.with_hyperparameters(dict(values))


GRIDS = {
    "multinomial": {"concentration": (0.1, multinomial.MOST)},
    "poisson": {"shape": (poisson.LEAST, poisson.MOST), "rate": (poisson.LEAST, poisson.MOST)},
    "bernoulli": {"alpha": (bernoulli.LEAST, bernoulli.MOST), "beta": (bernoulli.LEAST, bernoulli.MOST)},
}


@pytest.mark.parametrize("kind", list(GRIDS))
def test_updates_follow_the_posterior_on_a_grid(kind, seed):
    """Averages of a long chain of updates, the partition fixed, against the posterior on a grid of logarithms."""
    component = learning(kind)
    X = np.random.default_rng(5).negative_binomial(0.8, 0.4, (8, D))
    X = (X > 0).astype(int) if kind == "bernoulli" else X
    unit = (1.0 / poisson._mean_entry(component.rows(X))) if kind == "poisson" else 1.0
    axes = []
    for k, bounds in enumerate(GRIDS[kind].values()):
        low, high = np.log(bounds) + (np.log(unit) if k == 1 else 0.0)
        edges = np.linspace(low, high, 401 if len(GRIDS[kind]) == 1 else 121)
        axes.append((edges[1:] + edges[:-1]) / 2)
    points = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, len(axes))
    log_p = np.empty(len(points))
    for g, point in enumerate(points):
        fixed = with_values(component, zip(GRIDS[kind], np.exp(point), strict=True))
        log_p[g] = sum(textbook_log_marginal(fixed, X[c == LABELS]) for c in range(3))
    p = np.exp(log_p - log_p.max())
    p /= p.sum()
    expected, square = p @ points, p @ points**2

    rng = np.random.default_rng([seed, 6])
    state = make_state(X, component, hm.priors.DirichletProcess(1.0), LABELS)
    chain = np.empty((6000, len(axes)))
    for step in range(len(chain)):
        state.learn(rng)
        values = component.hyperparameters(state.model)
        chain[step] = [np.log(float(values[name])) for name in GRIDS[kind]]
    state.check()
    batches = np.stack([chain, chain**2])[:, 500:].reshape(2, 50, 110, -1).mean(axis=2)
    error = batches.std(axis=1, ddof=1) / np.sqrt(50)
    z = (batches.mean(axis=1) - np.stack([expected, square])) / error
    assert abs(z).max() < 5.0, z


@pytest.mark.parametrize("kind", list(GRIDS))
def test_joint_law(kind, seed, monkeypatch):
    """Geweke: (hyperparameters, partition, data) drawn jointly, and by sweeps of the lss moves and updates."""
    low, high = 0.1, 5.0  # wider bounds would make for counts beyond all bounds
    for module in (poisson, bernoulli, multinomial):
        monkeypatch.setattr(module, "MOST", high)
        if module is not multinomial:
            monkeypatch.setattr(module, "LEAST", low)
    rng = np.random.default_rng([seed, 7])
    component, n = learning(kind), 6
    # Lengths that rows may have, and the mean entry that the rate's bounds are in units of, are part of the model: fixed.
    seen = np.array([[3, 0, 1, 0, 2, 1], [1, 0, 0, 0, 1, 0]]) if kind != "bernoulli" else np.eye(6, dtype=int)
    unit = component.model(seen)
    learner = component.learner(unit, seen)
    moves = [move for move, _ in hm.moves.resolve_moves("lss")]
    prior = hm.priors.DirichletProcess(1.0)
    scale = 1.0 / poisson._mean_entry(component.rows(seen)) if kind == "poisson" else 1.0

    def hyperparameters():
        values = {}
        for k, label in enumerate(GRIDS[kind]):
            factor = scale if k == 1 else 1.0
            values[label] = factor * np.exp(rng.uniform(np.log(low), np.log(high)))
        return component.with_hyperparameters(values).model(seen)

    def partition():
        labels = [0]
        for i in range(1, n):
            weights = np.append(np.bincount(labels), 1.0)
            labels.append(int(rng.choice(len(weights), p=weights / (i + 1.0))))
        return np.array(labels)

    def rows(model, labels):
        k = labels.max() + 1
        parameters = component.draw_parameters(model, csr_matrix((k, 2 + D)), rng)
        return component.draw_rows(parameters, labels, rng).toarray().astype(np.int64)

    def summary(model, labels, X):
        values = [np.tanh(np.log(float(v)) / 5) for v in component.hyperparameters(model).values()]
        return [*values, labels.max(), (X > 0).mean(), np.tanh(X.sum() / 20), (X[0] > X[1]).mean()]

    forward = []
    for _ in range(3000):
        model, labels = hyperparameters(), partition()
        forward.append(summary(model, labels, rows(model, labels)))
    backward = []
    model, labels = hyperparameters(), partition()
    for step in range(3000):
        X = rows(model, labels)
        state = make_state(X, component, prior, labels, model=model, key=step)
        for m, move in enumerate(moves):
            move.apply(state, stream(seed, step, m), 2)
        model = learner(state.model, state.slots, state.partition.active[: state.n_clusters], rng)
        labels = state.labels()
        backward.append(summary(model, labels, X))
    forward, backward = np.array(forward), np.array(backward)
    batches = backward.reshape(30, 100, -1).mean(axis=1)
    error = np.sqrt(forward.var(axis=0) / len(forward) + batches.var(axis=0, ddof=1) / len(batches))
    z = (forward.mean(axis=0) - backward.mean(axis=0)) / error
    assert abs(z).max() < 5.0, z


def test_a_row_with_very_many_words_fits(tmp_path):
    # In a process of its own: what this guards against is memory that is written out of bounds.
    program = """
import numpy as np, hashmix as hm
from scipy.sparse import csr_array
X = np.zeros((4, 60_000), np.int64)
X[0], X[1, :40_000], X[2, :3], X[3, 5:9] = 1, 1, 1, 2
for moves in ("lss", "auto"):
    hm.sample(csr_array(X), "multinomial", moves=moves, n_draws=5, random_state=0)
"""
    ran = subprocess.run([sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
