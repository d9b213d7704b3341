"""sample(): records, reproducibility, stopping."""

from __future__ import annotations

import _thread
import signal
import time

import numpy as np
import pytest

import hashmix as hm
from hashmix.moves.tally import PROPOSED
from hashmix.paper import make_mixture
from tests.shared import make_state


def test_records_have_their_shapes_and_meaning(three_blobs):
    X, _ = three_blobs
    component, prior = hm.components.FullGaussian.from_data(X), hm.priors.DirichletProcess(0.5)
    posterior = hm.sample(X, component, prior, "rgsm", n_draws=7, n_warmup=3, thin=2, n_chains=2, random_state=0)
    assert posterior.labels.shape == (2, 7, 60)
    assert posterior.labels.dtype == np.int32
    for c in range(2):
        for d in range(7):
            labels = posterior.labels[c, d]
            state = make_state(X, component, prior, labels)
            assert posterior.n_clusters[c, d] == labels.max() + 1 == state.n_clusters
            assert posterior.log_joint[c, d] == pytest.approx(state.log_joint(), rel=1e-9)
            assert posterior.log_likelihood[c, d] == pytest.approx(state.log_likelihood(), rel=1e-9)
            assert np.array_equal(labels, state.labels())  # numbered by first appearance
    assert (posterior.concentration == 0.5).all()
    assert (np.diff(posterior.seconds, axis=1) > 0).all()
    assert list(posterior.move_stats) == ["RGSM", "Gibbs"]
    assert (posterior.move_stats["RGSM"]["proposed"] == 2).all()
    assert (posterior.move_stats["Gibbs"]["proposed"] == 120).all()
    assert (posterior.move_stats["Gibbs"]["accepted"] <= 120).all()


def test_same_seed_same_draws_for_any_number_of_workers(three_blobs):
    X, _ = three_blobs
    runs = [hm.sample(X, n_draws=5, n_chains=3, random_state=4, n_jobs=jobs) for jobs in (1, 2, 3, None)]
    for run in runs[1:]:
        assert np.array_equal(run.labels, runs[0].labels)
        assert np.array_equal(run.log_joint, runs[0].log_joint)
        assert np.array_equal(run.concentration, runs[0].concentration)
    assert not np.array_equal(runs[0].concentration[0], runs[0].concentration[1])
    other = hm.sample(X, n_draws=5, n_chains=3, random_state=5)
    assert not np.array_equal(other.concentration, runs[0].concentration)


def test_same_draws_for_any_number_of_threads_within_a_chain():
    """Hashing is what one chain does in threads, from 10 000 rows on."""
    X, _ = make_mixture(12_000, 4, 10, seed=0)
    one, two = (hm.sample(X, n_draws=3, n_warmup=3, init="auto", random_state=1, n_jobs=jobs) for jobs in (1, 2))
    assert (one.labels == two.labels).all()
    assert (one.log_joint == two.log_joint).all()


def test_what_is_tuned_is_frozen_after_warm_up(three_blobs):
    X, _ = three_blobs
    posterior = hm.sample(X, moves="lss", n_draws=20, n_warmup=20, random_state=0)
    for move in ("UrnMerge", "NeighbourMerge", "WithinSplit", "Gibbs"):
        assert f"{move}(" in posterior.settings["tuned_moves"][0]
    assert len(set(posterior.move_stats["Gibbs"]["proposed"][0].tolist())) == 1
    assert posterior.settings["tuned_moves"][0].endswith(
        f"(Gibbs(n_points=1), {posterior.move_stats['Gibbs']['proposed'][0, 0]})]"
    )


def test_callback_sees_every_sweep(three_blobs):
    X, _ = three_blobs
    seen = []
    posterior = hm.sample(X, n_draws=4, n_warmup=3, thin=2, n_chains=2, random_state=0, n_jobs=2, callback=seen.append)
    for chain in range(2):
        mine = [sweep for sweep in seen if sweep.chain == chain]
        assert [sweep.number for sweep in mine] == list(range(1, 12))
        assert (np.diff([sweep.seconds for sweep in mine]) > 0).all()
        assert [sweep.log_joint for sweep in mine[4::2]] == posterior.log_joint[chain].tolist()
        drawn = sum(sweep.tallies[:, PROPOSED] for sweep in mine[3:])
        assert drawn.tolist() == [fields["proposed"][chain].sum() for fields in posterior.move_stats.values()]


def test_callback_stops(three_blobs):
    X, _ = three_blobs
    with pytest.warns(UserWarning, match="Stopped by the callback: 7 of 50 draws"):
        posterior = hm.sample(X, n_draws=50, random_state=0, callback=lambda sweep: sweep.number == 7)
    assert np.array_equal(posterior.labels, hm.sample(X, n_draws=50, random_state=0).labels[:, :7])
    with pytest.raises(ZeroDivisionError):
        hm.sample(X, n_draws=50, random_state=0, callback=lambda sweep: 1 / 0)


def test_tuning_needs_no_warm_up(three_blobs):
    X, _ = three_blobs
    posterior = hm.sample(X, n_draws=30, init="auto", random_state=0)
    assert posterior.n_clusters[0, -1] == 3


@pytest.mark.parametrize("weight", [hm.moves.Work(-1.0), hm.moves.Work("much"), "often"])
def test_bad_work(weight, three_blobs):
    with pytest.raises(ValueError, match=r"'moves \(weight of SAMS\)' parameter"):
        hm.sample(three_blobs[0], moves=[(hm.moves.SAMS(), weight)], n_draws=1)


@pytest.mark.parametrize(
    "make",
    [lambda: 3, lambda: np.random.SeedSequence(3), lambda: np.random.default_rng(3), lambda: np.random.RandomState(3)],
)
def test_sources_of_randomness(make, three_blobs):
    X, _ = three_blobs
    a, b = (hm.sample(X, n_draws=3, random_state=make()) for _ in range(2))
    assert np.array_equal(a.concentration, b.concentration)


def test_global_random_state_is_left_alone(three_blobs):
    before = np.random.get_state()[1].copy()  # noqa: NPY002
    hm.sample(three_blobs[0], n_draws=2, random_state=0)
    assert np.array_equal(before, np.random.get_state()[1])  # noqa: NPY002


def test_starts(three_blobs):
    X, y = three_blobs
    quiet = [(hm.moves.RandomSplitMerge(), 1e-9)]  # practically never moves: the first draw is the start
    fixed = hm.priors.DirichletProcess(1.0)

    def first(init, n_chains=1):
        return (
            hm.sample(X, "gaussian", fixed, quiet, n_draws=1, init=init, n_chains=n_chains, random_state=0)
            .n_clusters[:, 0]
            .tolist()
        )

    assert first("single") == [1]
    assert first("auto") == [3]  # found by short chains
    assert 3 < first("buckets")[0] < 20
    assert first("singletons") == [60]
    assert first(y) == [3]
    assert first(y * 100 + 7) == [3]
    assert first(["single", "singletons", y], 3) == [1, 60, 3]
    assert first(np.stack([y, y * 0]), 2) == [3, 1]
    ended = hm.sample(X, "gaussian", fixed, quiet, n_draws=2, init=[y, y * 0], n_chains=2, random_state=1)
    assert first(ended, 2) == [3, 1]
    with pytest.raises(ValueError, match=r"must be a Posterior with at least 3 chains. Got '2 chains' instead"):
        first(ended, 3)


@pytest.mark.parametrize(
    "init", ["random", [0, 1], np.zeros(60), -np.ones(60, int), ["single"], np.zeros((3, 60), int), 5, None]
)
def test_bad_starts(init, three_blobs):
    with pytest.raises(
        ValueError, match="'init' parameter of sample must be one of 'auto', 'buckets', 'single', 'singletons', 60 labels"
    ):
        hm.sample(three_blobs[0], n_draws=1, n_chains=2, init=init)


def test_max_seconds_returns_what_there_is(three_blobs):
    X, _ = three_blobs
    hm.sample(X, moves="lss", n_draws=1)  # compiled
    with pytest.warns(UserWarning, match=r"Out of time \(max_seconds\): \d+ of 1000000 draws in \d of 2 chains"):
        posterior = hm.sample(X, moves="lss", n_draws=1_000_000, n_chains=2, max_seconds=1.0, random_state=0)
    assert 1 <= posterior.n_draws < 1_000_000
    assert (posterior.n_clusters > 0).all()
    assert (posterior.labels.max(axis=2) + 1 == posterior.n_clusters).all()
    whole = hm.sample(X, moves="lss", n_draws=posterior.n_draws, n_chains=2, random_state=0)
    # A chain that got much farther than the other, on a busy machine, is kept alone.
    assert all(any(np.array_equal(mine, chain) for chain in whole.labels) for mine in posterior.labels)


def test_time_that_ends_during_warmup_leaves_one_state(three_blobs):
    with pytest.warns(UserWarning, match="not a sample from the posterior"):
        posterior = hm.sample(three_blobs[0], n_draws=5, n_warmup=10**9, max_seconds=0.3, n_chains=2)
    assert posterior.labels.shape == (2, 1, 60)


def test_max_seconds_before_the_first_of_thinned_draws(three_blobs):
    with pytest.warns(UserWarning, match=r"after \d+ sweeps, before the first draw"):
        hm.sample(three_blobs[0], n_draws=5, thin=10**9, max_seconds=0.3)


def test_interrupt_returns_the_draws_so_far(three_blobs):
    """What Ctrl-C does: a KeyboardInterrupt in the main thread while chains run."""
    X, _ = three_blobs
    hm.sample(X, n_draws=1)
    # A shell starts background jobs with this signal ignored; then Python installs no handler of its own.
    previous = signal.signal(signal.SIGINT, signal.default_int_handler)
    begin = []

    def interrupt_once(sweep):
        if sweep.number > 50 and not begin:
            begin.append(time.perf_counter())
            _thread.interrupt_main()

    with pytest.warns(UserWarning, match="Interrupted: "):
        posterior = hm.sample(X, n_draws=1_000_000, n_chains=3, n_jobs=2, random_state=0, callback=interrupt_once)
    signal.signal(signal.SIGINT, previous)
    assert time.perf_counter() - begin[0] < 10
    assert posterior.n_draws >= 1
    whole = hm.sample(X, n_draws=posterior.n_draws, n_chains=3, random_state=0)
    # One of the two workers has one chain, which gets farther: it may be all that is kept.
    assert all(any(np.array_equal(mine, chain) for chain in whole.labels) for mine in posterior.labels)


def test_an_error_in_a_chain_is_raised(three_blobs):
    class Broken(hm.moves.Move):
        def run_units(self, rng, state, begin, end, tally):
            raise RuntimeError("broken on purpose")

    with pytest.raises(RuntimeError, match="broken on purpose"):
        hm.sample(three_blobs[0], moves=Broken(), n_draws=3, n_chains=2)


def test_data_are_not_copied():
    for dtype in (np.float32, np.float64):
        X = np.ascontiguousarray(np.random.default_rng(0).normal(size=(30, 2)).astype(dtype))
        seen = []

        class Spy(hm.moves.Gibbs):
            def run_units(self, rng, state, begin, end, tally, seen=seen):
                seen.append(state.target.data.values)
                return super().run_units(rng, state, begin, end, tally)

        hm.sample(X, moves=Spy(), n_draws=1)
        assert np.shares_memory(seen[-1], X)  # the first were two rows to compile for
        assert seen[-1].dtype == dtype
        assert X.flags.writeable


def test_repeated_moves_are_told_apart(three_blobs):
    moves = [(hm.moves.RGSM(0), 1), (hm.moves.RGSM(3), 2)]
    posterior = hm.sample(three_blobs[0], moves=moves, n_draws=2)
    assert list(posterior.move_stats) == ["RGSM", "RGSM-2"]
    assert (posterior.move_stats["RGSM-2"]["proposed"] == 2).all()


def test_progress_bar_shows_only_when_asked_and_seen(three_blobs, capsys, monkeypatch):
    hm.sample(three_blobs[0], n_draws=3)
    hm.sample(three_blobs[0], n_draws=3, progress=True)  # no terminal here
    assert capsys.readouterr().err == ""
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    hm.sample(three_blobs[0], n_draws=3, progress=True)
    shown = capsys.readouterr().err
    assert "3/3" in shown
    assert "clusters, log joint" in shown
