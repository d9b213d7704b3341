"""Draws do not depend on how rows are spread: threads and workers, chunks and files, to the last bit."""

from __future__ import annotations

import re
from functools import partial

import numpy as np
import pytest

import hashmix as hm
from hashmix import estimator_spread
from hashmix.engines import shard as shard_module
from hashmix.engines.blocks import block_size, climb, share_out, total
from hashmix.engines.contract import Spread
from hashmix.engines.shard import Layout, Shard
from hashmix.run.settings import RunSettings
from hashmix.spread_sampling import sample_spread

N = 700
COMPONENT = hm.components.DiagonalGaussian(mean=0.0, kappa=0.05, shape=2.0, rate=1.0)


def rows(n=N):
    rng = np.random.default_rng(0)
    return (8.0 * rng.normal(size=(9, 2)))[rng.integers(9, size=n)] + rng.normal(size=(n, 2))


X = rows()


class Several(Spread):
    """Several shards in this process, asked in any order."""

    def __init__(self, X, bounds, order=None):
        super().__init__(Layout(len(X), block_size(len(X))), X.shape[1], X.dtype)
        block = self.layout.block
        spans = [(a * block, X[a * block : b * block]) for a, b in bounds if a < b]
        self.shards = [Shard(self.layout, [span], 1 + k % 2) for k, span in enumerate(spans)]
        self.order = order or list(range(len(self.shards)))

    def perform(self, messages):
        return [[self.shards[k].answer(*message) for message in messages][-1] for k in self.order]

    def recover(self):
        raise AssertionError

    def close(self):
        pass


def several(n_shards, order=None):
    layout = Layout(N, block_size(N))
    return Several(X, share_out(layout.n_blocks, n_shards), order)


def draws(spread, component=COMPONENT, n_draws=15, **settings):
    """Labels, log joints and hyperparameters of a chain."""
    settings = RunSettings(n_draws=n_draws, n_warmup=6, random_state=3, init="single", **settings)
    sampled = sample_spread(spread, component, "auto", "auto", settings)
    clusters = sampled.clusters[0][-1]
    return [np.asarray(sampled.posterior.labels[0, d]) for d in range(n_draws)] + [sampled.posterior.log_joint, clusters.stats]


def same(one, other):
    return all(np.array_equal(a, b) for a, b in zip(one, other, strict=True))


@pytest.fixture(scope="module")
def expected():
    return draws(hm.engines.Threads(1).open(X, "test"))


def test_the_chain_moves(expected):
    assert len({labels.tobytes() for labels in expected[:15]}) > 10
    assert expected[14].max() > 3


@pytest.mark.parametrize("n_threads", [2, 5])
def test_threads(expected, n_threads):
    assert same(draws(hm.engines.Threads(n_threads).open(X, "test")), expected)


@pytest.mark.parametrize("n_shards", [2, 3, 5, 7])
def test_shards_in_any_order(expected, n_shards):
    spread = several(n_shards)
    assert same(draws(spread), expected)
    backwards = several(n_shards, list(range(len(spread.shards)))[::-1])
    assert same(draws(backwards), expected)


def test_learned_hyperparameters_and_spread_columns():
    """Columns with few values are spread within cells, keyed by the global number of the row."""
    global_X = np.column_stack([np.round(X[:, 0]), X[:, 1], np.ones(N)])
    layout = Layout(N, block_size(N))
    one, other = hm.engines.Threads(1).open(global_X, "test"), Several(global_X, share_out(layout.n_blocks, 3))
    assert same(draws(one, "gaussian-full", 6), draws(other, "gaussian-full", 6))


def test_sums_of_blocks_are_rounded_alike():
    values = np.random.default_rng(1).normal(size=37) * 10.0 ** np.random.default_rng(2).integers(-8, 8, 37)
    found = set()
    for n_shares in range(1, 12):
        shares = share_out(37, n_shares)
        assert shares[0][0] == 0
        assert shares[-1][1] == 37
        parts = [climb({(0, k): values[k] for k in range(a, b)}, 37) for a, b in shares]
        found.add(float(total(parts[::-1], 37)))
    assert len(found) == 1


def test_sample_takes_an_engine(expected):
    """The public function gives the draws of the engine that it is told."""
    settings = {"n_draws": 15, "n_warmup": 6, "random_state": 3}
    for n_threads in (1, 2):
        posterior = hm.sample(X, COMPONENT, engine=hm.engines.Threads(n_threads), **settings)
        assert same([*posterior.labels[0], posterior.log_joint], expected[:-1])
    assert "ParallelSplitMerge" in posterior.move_stats
    with pytest.raises(ValueError, match="'moves' parameter of sample must be 'auto' with an engine"):
        hm.sample(X, COMPONENT, moves="lss", engine=hm.engines.Threads(1), **settings)
    with pytest.raises(ValueError, match="'engine' parameter of sample must be"):
        hm.sample(X, COMPONENT, engine="mpi", **settings)


# ---- faults: the tests above would notice -----------------------------------------------------------------------------------


def test_local_numbers_of_rows_are_noticed(expected, monkeypatch):
    choose = shard_module.choose_among_all
    monkeypatch.setattr(shard_module, "choose_among_all", lambda *a: choose(*a[:3], 0, *a[4:]))
    assert not same(draws(several(3)), expected)


def test_sums_in_order_of_arrival_are_noticed(expected, monkeypatch):
    def arrived(self, verb, **arguments):
        return sum(value for answer in self.ask(verb, **arguments)[::-1] for value in answer.values())

    monkeypatch.setattr(Spread, "sum", arrived)
    assert not same(draws(several(7)), expected)


def test_stale_parameters_are_noticed(expected):
    """A shard that goes on with the parameters of the sweep before."""
    spread = several(3)
    shard, kept = spread.shards[1], []
    assign = shard.assign

    def stale(**arguments):
        kept.append(arguments)
        old = kept[-2] if len(kept) > 1 else arguments
        if len(old["offer"].columns) == len(arguments["offer"].columns):
            arguments = old
        return assign(**arguments)

    shard.assign = stale
    try:
        found = draws(spread)
    except (RuntimeError, IndexError):
        return
    assert not same(found, expected)


def test_a_shard_taken_as_empty_is_noticed():
    spread = several(3)
    spread.shards[1] = Shard(spread.layout, [])
    with pytest.raises(Exception, match=r"missing|no shard"):
        draws(spread)


def test_a_shard_that_answers_twice_is_noticed():
    spread = several(3)
    spread.order = [0, 1, 1, 2]
    with pytest.raises(Exception, match=r"in two|stale"):
        draws(spread)


# ---- what is refused --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("data", "settings", "says"),
    [
        (X, {"moves": "lss"}, "'moves' parameter of SplitMergeMixture must be 'auto' with an engine"),
        (X, {"init": "singletons"}, "'init' parameter of SplitMergeMixture must be 'auto' or 'single' with an engine"),
        (X, {"sample_size": 9}, "'sample_size' parameter of SplitMergeMixture must be None with an engine"),
        (X.astype(str), {}, "'X' parameter of SplitMergeMixture must be a matrix of numbers"),
        (np.where(X > 20, np.nan, X * np.nan), {}, "NaN"),
        ((X > 0).astype(int), {}, "'component' parameter of SplitMergeMixture must be a Gaussian"),
        ("nothing-*.npy", {}, "There is no file nothing-*.npy"),
        (["a.csv"], {}, "'X' parameter of SplitMergeMixture must be files that end in .npy or .parquet"),
    ],
)
def test_what_engines_do_not_take(data, settings, says):
    model = hm.SplitMergeMixture(engine=hm.engines.Threads(1), n_draws=2, **settings)
    with pytest.raises((ValueError, FileNotFoundError, TypeError), match=re.escape(says)):
        model.fit(data)


def test_files_that_do_not_fit_together(tmp_path):
    np.save(tmp_path / "a.npy", X)
    np.save(tmp_path / "b.npy", X[:, :1])
    np.save(tmp_path / "c.npy", X.astype(np.float32))
    np.save(tmp_path / "d.npy", np.array([{}]), allow_pickle=True)
    for name, says in [("b", "columns 2"), ("c", "numbers of type float64"), ("d", "plain numbers"), ("e", "no file")]:
        model = hm.SplitMergeMixture(engine=hm.engines.Threads(1))
        with pytest.raises((ValueError, FileNotFoundError), match=f"{says}.*{name}.npy|{name}.npy.*{says}"):
            model.fit([tmp_path / "a.npy", tmp_path / f"{name}.npy"])


def test_files_are_one_array(expected, tmp_path):
    pytest.importorskip("pyarrow")
    import pyarrow
    import pyarrow.parquet

    np.save(tmp_path / "1.npy", X[:123])
    table = pyarrow.table({"a": X[123:, 0], "b": X[123:, 1]})
    pyarrow.parquet.write_table(table, tmp_path / "2.parquet", row_group_size=50)
    np.save(tmp_path / "3.npy", X[123:])
    assert same(draws(hm.engines.Threads(2).open(str(tmp_path / "[13].npy"), "test")), expected)
    pyarrow.parquet.write_table(pyarrow.table({"a": X[:123, 0], "b": X[:123, 1]}), tmp_path / "1.parquet")
    assert same(draws(hm.engines.Threads(2).open(str(tmp_path / "*.parquet"), "test")), expected)


# ---- checkpoints ------------------------------------------------------------------------------------------------------------


def test_a_run_that_is_resumed_ends_in_the_same_draws(expected, tmp_path, monkeypatch):
    """The second process has other shards than the first."""
    monkeypatch.setattr("hashmix.run.spread.chain.SECONDS", 0.0)
    spread, sweeps = several(3), []
    assign = spread.shards[0].assign

    def dies(**arguments):
        sweeps.append(1)
        if len(sweeps) == 13:
            raise KeyError("killed")
        return assign(**arguments)

    spread.shards[0].assign = dies
    with pytest.raises(KeyError, match="killed"):
        draws(spread, run_dir=tmp_path / "run")
    assert same(draws(several(2), run_dir=tmp_path / "run"), expected)
    again = draws(several(1), run_dir=tmp_path / "run")  # nothing is left to do
    assert same(again, expected)
    assert hm.Posterior.load(tmp_path / "run").n_draws == 15


def test_a_damaged_checkpoint_is_noticed(tmp_path):
    draws(several(2), run_dir=tmp_path / "run", n_draws=3)
    file = next((tmp_path / "run" / "chain-0").glob("rows-*/labels-*.npy"))
    file.write_bytes(file.read_bytes()[:-1] + b"\1")
    with pytest.raises(ValueError, match=r"is not what was written \(checksum\)"):
        draws(several(2), run_dir=tmp_path / "run", n_draws=5)


def test_labels_of_executable_content_are_refused(tmp_path):
    from hashmix.engines.checkpoints import LabelFile, read_labels
    from hashmix.posterior.stored import checksum

    np.save(tmp_path / "x.npy", np.array([print]), allow_pickle=True)
    with pytest.raises(ValueError, match="allow_pickle=False"):
        read_labels(tmp_path, [LabelFile(0, 1, "x.npy", checksum(tmp_path / "x.npy"))], 0, np.zeros(1, np.int32))


class Mortal(Several):
    """Shards of which one dies at some message, and is made again without labels."""

    def __init__(self, at, **how):
        super().__init__(X, share_out(Layout(N, block_size(N)).n_blocks, 3), **how)
        self.left, self.preparation = at, None

    def perform(self, messages):
        from hashmix.engines.contract import LostShardError

        self.preparation = next((a for verb, a in messages if verb == "prepare"), self.preparation)
        self.left -= 1
        if self.left == 0:
            for verb, arguments in messages[:1]:  # it may have done some of it
                self.shards[0].answer(verb, arguments)
            raise LostShardError("test")
        return super().perform(messages)

    def recover(self):
        part = self.shards[2].parts[0]
        self.shards[2] = Shard(self.layout, [(part.first, X[part.first : part.end])])
        self.shards[2].answer("prepare", self.preparation)


@pytest.mark.parametrize("at", [5, 61, 100, 137, 180])
def test_a_lost_shard_changes_nothing(expected, tmp_path, monkeypatch, at):
    monkeypatch.setattr("hashmix.run.spread.chain.SECONDS", 0.0 if at % 2 else 10.0)
    assert same(draws(Mortal(at), run_dir=tmp_path / "run" if at != 61 else None), expected)


# ---- predictions from draws --------------------------------------------------------------------------------------------------


def fitted():
    return hm.SplitMergeMixture("gaussian", n_draws=6, n_warmup=6, engine=hm.engines.Threads(1), random_state=3).fit(X)


def test_predictions_from_draws_use_the_statistics_of_all_rows(monkeypatch):
    """Labels are recorded of a sample only."""
    monkeypatch.setattr(estimator_spread, "sample_spread", partial(sample_spread, sample_size=60))
    model = fitted()
    assert model.posterior_.labels.shape == (2, 6, 60)
    for matched in model._draws(4):
        assert matched.predictive.stats[:, 0].sum() == N
    shares = model.predict_proba(X, n_draws=4)
    np.testing.assert_allclose(shares.sum(axis=1), 1.0)
    assert (shares.argmax(axis=1) == model.labels_).mean() > 0.9


def test_statistics_of_draws_are_in_the_order_of_their_labels():
    model = fitted()
    used = []
    for draw, matched in zip(model.posterior_.spread_places(4), model._draws(4), strict=True):
        stats, target = matched.predictive.stats, model._target
        labels = np.asarray(model.posterior_.labels[draw])
        np.testing.assert_allclose(
            stats, target.component.statistics(matched.predictive.model, target.rows, labels, len(stats))
        )
        used.append(draw)
    assert len(set(used)) == 4
