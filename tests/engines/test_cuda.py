"""A shard on a device of PyTorch answers every verb as one in arrays does; chains on it are the same in every run.

The device is the CPU here, or what HASHMIX_TEST_DEVICE says.
"""

from __future__ import annotations

import os
import re
from typing import Any, NamedTuple

import numba
import numpy as np
import pytest

import hashmix as hm
from hashmix.components.densities import DiagonalDensity
from hashmix.core.counter import address, uniform_at
from hashmix.data.dequantise import Lattice
from hashmix.data.rows import DenseRows
from hashmix.engines.blocks import block_size, climb
from hashmix.engines.device import choosing, words
from hashmix.engines.device import shard as shard_module
from hashmix.engines.device.shard import DeviceShard
from hashmix.engines.shard import Layout, Preparation, SentPairs, Shard
from hashmix.moves.parallel.choosing import DRAW, make_offer
from hashmix.partition.leaders import Leaders, rank_of
from hashmix.run.settings import RunSettings
from hashmix.spread_sampling import sample_spread

torch = pytest.importorskip("torch")

DEVICE = os.environ.get("HASHMIX_TEST_DEVICE", "cpu")
N, D, K = 700, 3, 9
LAYOUT = Layout(N, block_size(N))
#: Rows of two parts, so that numbers of rows differ from their places, by more in the second.
PARTS = [(128, 320), (448, N)]
HERE = np.concatenate([np.arange(*part) for part in PARTS])
SEED = 2**64 - 12345
DIAGONAL = hm.components.DiagonalGaussian(mean=0.0, kappa=0.05, shape=2.0, rate=1.0)
FULL = hm.components.FullGaussian(mean=0.0, kappa=0.05, dof=6.0, scale=2.0)
BOTH = pytest.mark.parametrize("component", [DIAGONAL, FULL], ids=lambda component: type(component).__name__)
TYPES = pytest.mark.parametrize("dtype", [np.float32, np.float64], ids=["float32", "float64"])


@pytest.fixture(autouse=True)
def _one_thread():
    """Tests run side by side: threads of PyTorch would wait for each other."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def rows(dtype=np.float64, spread=1.5, n=N):
    """Rows of clusters that overlap."""
    rng = np.random.default_rng(0)
    return (spread * rng.normal(size=(K, D))[rng.integers(K, size=n)] + rng.normal(size=(n, D))).astype(dtype)


@numba.njit
def ranks_of(seed, numbers):
    """Ranks, as kernels compute them."""
    return np.array([rank_of(seed, i) for i in numbers])


@numba.njit
def uniforms_of(seed, purpose, numbers):
    """Uniform numbers, as kernels compute them."""
    return np.array([uniform_at(address(seed, purpose, i), 0) for i in numbers])


class Two(NamedTuple):
    """The same rows and labels in arrays and on a device."""

    array: Shard
    device: DeviceShard
    component: Any
    model: Any

    def ask(self, verb, **arguments):
        return [shard.answer(verb, arguments) for shard in (self.array, self.device)]

    def labels(self):
        array, device = (answer.labels for answer in self.ask("rows_of", numbers=HERE))
        assert array.dtype == device.dtype
        return array, device


def two(component, dtype=np.float64, X=None, model=None):
    X = rows(dtype) if X is None else X
    spans = [(begin, X[begin:end]) for begin, end in PARTS]
    array, device = Shard(LAYOUT, spans), DeviceShard(LAYOUT, spans, torch.device(DEVICE))
    shards = Two(array, device, component, component.model(X) if model is None else model)
    shards.ask("prepare", preparation=Preparation(component, np.ones(D, bool), None, 5))
    shards.ask("hold", model=shards.model)
    labels = np.random.default_rng(1).integers(K, size=len(HERE)).astype(np.int32)
    shards.ask("write", numbers=HERE, labels=labels)
    return shards


def assert_same_sums(array, device, exact):
    """Sums over the same blocks; ``exact`` of them are whole numbers, or masks of such."""
    assert array.keys() == device.keys()
    for node, expected in array.items():
        found = device[node]
        assert found.dtype == np.float64
        assert np.array_equal(found[exact], expected[exact])
        # Relative to the sums of magnitudes: a sum that cancels is near 0.
        np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-9)


def whole(n_labels, width, n_more=0):
    """Mask of the sizes among the statistics of some labels, followed by some more numbers."""
    return np.append((np.arange(n_labels * width) % width == 0), np.zeros(n_more, bool))


# ---- random numbers ---------------------------------------------------------------------------------------------------------


def test_random_numbers_are_those_of_kernels():
    numbers = np.concatenate([np.arange(300), 2**31 + np.arange(9), 10**12 + np.arange(9)])
    there = torch.from_numpy(numbers).to(DEVICE)
    for seed in (0, 7, 2**63, SEED):
        ranks = ranks_of(np.uint64(seed), numbers)
        assert np.array_equal(words.as_ranks(words.ranks_of(seed, there)), ranks)
        ordered = words.ranks_of(seed, there).cpu().numpy()
        assert np.array_equal(np.argsort(ordered), np.argsort(ranks))
        assert np.array_equal(words.as_ordered(ranks), ordered)
        for purpose in (1, 8, 11):
            expected = uniforms_of(np.uint64(seed), purpose, numbers)
            assert np.array_equal(words.uniforms_of(seed, purpose, there).cpu().numpy(), expected)


# ---- rows and labels --------------------------------------------------------------------------------------------------------


@TYPES
def test_rows_and_labels(dtype, tmp_path):
    shards = two(DIAGONAL, dtype)
    numbers = np.random.default_rng(2).permutation(N)
    for values in (True, False):
        array, device = shards.ask("rows_of", numbers=numbers, values=values)
        for expected, found in zip(array, device, strict=True):
            assert expected.dtype == found.dtype
            assert np.array_equal(expected, found)
    shards.ask("write", numbers=numbers[:200], labels=np.arange(200) % 5)
    shards.ask("relabel", labels=np.random.default_rng(3).permutation(K).astype(np.int32))
    array, device = shards.labels()
    assert np.array_equal(array, device)
    (tmp_path / "array").mkdir()
    (tmp_path / "device").mkdir()
    files = shards.array.save(str(tmp_path / "array"))
    assert files == shards.device.save(str(tmp_path / "device"))
    shards.ask("start")
    assert not np.any(shards.labels())
    shards.device.restore(str(tmp_path / "array"), files)
    assert np.array_equal(shards.labels()[1], array)


@TYPES
def test_columns_are_left_out_and_spread(dtype):
    X = np.round(rows(dtype))
    columns = np.array([True, False, True])
    shards, lattice = two(DIAGONAL, X=X), Lattice.of(DenseRows(np.ascontiguousarray(X[:, columns])))
    shards.device.at_once = 100
    shards.ask("prepare", preparation=Preparation(DIAGONAL, columns, lattice, 5))
    array, device = shards.ask("rows_of", numbers=HERE)
    assert array.values.dtype == device.values.dtype
    assert np.array_equal(array.values, device.values)
    assert not np.array_equal(array.values, X[HERE][:, columns])


# ---- all rows at once -------------------------------------------------------------------------------------------------------


@BOTH
@TYPES
def test_statistics(component, dtype):
    shards = two(component, dtype)
    array, device = shards.ask("statistics", capacity=K + 2)
    assert_same_sums(array, device, whole(K + 2, next(iter(array.values())).size // (K + 2)))


def test_leaders():
    array, device = two(DIAGONAL).ask("leaders", seed=SEED, capacity=K + 2)
    assert array.dtype == device.dtype
    assert np.array_equal(array, device)


def test_members():
    shards = two(DIAGONAL)
    wanted = np.full(K, -1, np.int32)
    wanted[[2, 5, 7]] = [1, 2, 0]
    least = shards.array.members(3, wanted, np.full(3, -1))[1]
    for without in (np.full(3, -1), least, np.roll(least, 1)):
        array, device = shards.ask("members", seed=3, wanted=wanted, without=without)
        assert np.array_equal(array[1] != least, without == least)
        for expected, found in zip(array, device, strict=True):
            assert expected.dtype == found.dtype
            assert np.array_equal(expected, found)
    shards.ask("relabel", labels=np.where(np.arange(K) == 5, 6, np.arange(K)))  # nobody has the label 5
    array, device = shards.ask("members", seed=3, wanted=wanted, without=least)
    assert device[1][2] == -1
    assert all(np.array_equal(expected, found) for expected, found in zip(array, device, strict=True))
    nobody = shards.ask("members", seed=3, wanted=np.full(K, -1), without=np.zeros(0, np.int64))[1]
    assert [len(part) for part in nobody] == [0, 0, 0]


def offer_for(shards, seed, capacity=K + 2):
    """Drawn parameters of the clusters that there are, under the leaders of a seed."""
    X = np.concatenate([part.rows.values for part in shards.array.parts])
    labels = shards.labels()[0]
    stats = shards.component.statistics(shards.model, X, labels, K)
    ranks = shards.array.leaders(seed, capacity)
    order = np.argsort(ranks)[:K].astype(np.int32)
    rng = np.random.default_rng(4)
    density = shards.component.draw_density(shards.model, stats[order], rng)
    return make_offer(Leaders(ranks, order), density, np.log(stats[order, 0] * rng.gamma(5.0, size=K)), capacity)


def log_weights_of(offer, X):
    """Log weights of all clusters in float64, from differences that do not cancel, (n, K)."""
    density = offer.density
    t = (X.astype(np.float64)[:, None] - density.origin) * density.unit - density.means
    if isinstance(density, DiagonalDensity):
        distances = (density.precisions * t * t).sum(axis=2)
    else:
        distances = np.einsum("nkj,kji,nki->nk", t, density.precisions, t)
    return density.constants + offer.log_weights - 0.5 * distances


def assert_drawn(offer, X, before, after, precision):
    """Every row is in the cluster that its uniform number says, up to an error of log weights; leaders are where they were."""
    ranks = ranks_of(np.uint64(SEED), HERE)
    logs = np.where(offer.ranks < ranks[:, None], log_weights_of(offer, X), -np.inf)
    leaders = np.isin(ranks, offer.ranks)
    assert np.array_equal(before[leaders], after[leaders])
    with np.errstate(invalid="ignore"):
        weights = np.exp(logs - logs.max(axis=1, keepdims=True))
    ends = np.cumsum(weights, axis=1) / weights.sum(axis=1, keepdims=True)
    uniforms = uniforms_of(np.uint64(SEED), DRAW, HERE)
    chosen, each = offer.columns[after], np.arange(len(HERE))
    begin = np.where(chosen > 0, ends[each, chosen - 1], 0.0)
    others = ~leaders
    assert (weights[each, chosen][others] > 0).all()  # no row joins a cluster whose leader comes after it
    assert (begin[others] - precision < uniforms[others]).all()
    assert (uniforms[others] < ends[each, chosen][others] + precision).all()


@BOTH
@TYPES
def test_assign(component, dtype):
    X = rows(dtype)
    shards = two(component, X=X)
    before, offer = shards.labels()[0], offer_for(shards, SEED)
    array, device = shards.ask("assign", seed=SEED, offer=offer)
    assert_same_sums(array, device, np.append(whole(K + 2, (next(iter(array.values())).size - 1) // (K + 2)), True))
    of_array, of_device = shards.labels()
    assert (of_array != before).mean() > 0.3
    # Uniform numbers that are within rounding of a boundary could come out either way: with these rows there are none.
    assert np.array_equal(of_array, of_device)
    assert_drawn(offer, X[HERE], before, of_device, 1e-5)


@BOTH
def test_assign_where_float32_is_not_enough(component, monkeypatch):
    """Rows in two heaps a hundred thousand scales apart, each with clusters that overlap."""
    X = rows() + 1e5 * np.random.default_rng(5).integers(2, size=(N, 1))
    shards = two(component, X=X)
    heap = (X[HERE, 0] > 5e4) * 4
    shards.ask("write", numbers=HERE, labels=(heap + np.random.default_rng(6).integers(4, size=len(HERE))).astype(np.int32))
    shards.ask("write", numbers=HERE[:1], labels=np.array([8]))
    before, offer = shards.labels()[0], offer_for(shards, SEED)
    shards.ask("assign", seed=SEED, offer=offer)
    of_array, of_device = shards.labels()
    assert np.array_equal(of_array, of_device)
    assert_drawn(offer, X[HERE], before, of_device, 1e-8)
    # In float32 alone they would be wrong.
    shards.ask("write", numbers=HERE, labels=before)
    monkeypatch.setattr(choosing, "PRECISION", np.inf)
    shards.ask("assign", seed=SEED, offer=offer)
    assert (shards.labels()[1] != of_device).any()


def test_assign_rows_beyond_float32():
    """Log weights that overflow in float32 are weighed in float64; rows that have none stay where they are."""
    shards = two(DIAGONAL)
    X = rows()
    X[150], X[151], X[500] = 1e16, 1e160, 1e22
    far = two(DIAGONAL, X=X, model=shards.model)
    offer = offer_for(shards, SEED)
    before = far.labels()[0]
    with np.errstate(all="ignore"):
        far.ask("assign", seed=SEED, offer=offer)
    of_array, of_device = far.labels()
    assert np.array_equal(of_array, of_device)
    assert (of_device != before).any()
    hopeless = HERE == 151
    assert of_device[hopeless] == before[hopeless]


def test_tf32_is_off_for_log_weights_and_then_as_before():
    matmul = torch.backends.cuda.matmul
    before = matmul.allow_tf32
    matmul.allow_tf32 = True
    try:
        with choosing.full_float32():
            assert not hasattr(matmul, "fp32_precision") or matmul.fp32_precision == "ieee"
        assert matmul.allow_tf32
    finally:
        matmul.allow_tf32 = before


# ---- splits and merges ------------------------------------------------------------------------------------------------------


def sent_pairs(shards):
    """Two splits and two merges; one anchor and one cluster are in no shard."""
    labels, X = shards.labels()[0], rows(np.float64)
    of_u, of_v = np.array([0, 1, 2, 8]), np.array([0, 3, 2, 4])
    member = {c: HERE[np.flatnonzero(labels == c)] for c in range(K)}
    u = np.array([member[c][3] for c in of_u])
    v = np.array([member[c][7] for c in of_v])
    v[3] = 20
    pair_of, side_of = np.full(K, -1, np.int32), np.zeros(K, np.int8)
    for b in range(len(u)):
        pair_of[of_v[b]], side_of[of_v[b]] = b, 1
        pair_of[of_u[b]], side_of[of_u[b]] = b, 0
    anchors = np.stack([X[u], X[v]], axis=1).reshape(-1, D)
    return SentPairs(pair_of, side_of, u, v, anchors, of_u == of_v)


def sides_of(shards, into):
    """The labels once the rows of v's sides of all pairs have new ones."""
    shards.ask("commit", into=into)
    array, device = shards.labels()
    assert np.array_equal(array, device)
    return array


@BOTH
@TYPES
def test_splits_and_merges(component, dtype):
    shards = two(component, dtype)
    pairs = sent_pairs(shards)
    shards.ask("divide", pairs=pairs)
    n, before = len(pairs.u), shards.labels()[0]
    array, device = shards.ask("nearest")
    width = (next(iter(array.values())).size // n - 1) // 2
    mask = whole(2 * n, width, n)
    assert_same_sums(array, device, mask)
    rng = np.random.default_rng(7)
    stats = component.statistics(shards.model, rows()[HERE], np.arange(len(HERE)) % (2 * n), 2 * n)
    for number, recorded in ((0, False), (1, False), (2, True)):
        density, odds = component.draw_density(shards.model, stats, rng), rng.normal(size=n)
        array, device = shards.ask("draw", seed=SEED, number=number, density=density, odds=odds, recorded=recorded)
        assert_same_sums(array, device, mask)
        log_q = sum(value[-n:] for value in device.values())
        assert np.array_equal(log_q != 0, np.full(n, recorded))
    after = sides_of(shards, np.array([K, -1, K + 1, -1]))
    moved = after != before
    assert 5 < moved.sum() < len(moved) / 2
    assert set(after[moved]) == {K, K + 1}


def test_toss():
    shards = two(FULL)
    pairs = sent_pairs(shards)
    shards.ask("divide", pairs=pairs)
    array, device = shards.ask("toss", seed=SEED, share=np.array([0.3, 0.5, 0.9, 0.1]))
    width = (next(iter(array.values())).size // 4 - 1) // 2
    assert_same_sums(array, device, whole(8, width, 4))
    after = sides_of(shards, np.arange(K, K + 4))
    assert set(after) >= set(range(K, K + 4))


# ---- what does not change results -------------------------------------------------------------------------------------------


def draws(spread, component=DIAGONAL, n_draws=12, **settings):
    """Labels of all draws, log joints and statistics of the last clusters."""
    settings = RunSettings(n_draws=n_draws, n_warmup=6, random_state=3, init="single", **settings)
    sampled = sample_spread(spread, component, "auto", "auto", settings)
    labels = np.array([sampled.posterior.labels[0, draw] for draw in range(n_draws)])
    return labels, sampled.posterior.log_joint, sampled.clusters[0][-1].stats


def same(one, other):
    return all(np.array_equal(a, b) for a, b in zip(one, other, strict=True))


def on_device(X):
    return hm.engines.Cuda(DEVICE).open(X, "test")


@BOTH
def test_chains_are_the_same_in_every_run(component, monkeypatch):
    X = rows(np.float32, 6.0)
    expected = draws(on_device(X), component)
    assert same(draws(on_device(X), component), expected)
    assert len({labels.tobytes() for labels in expected[0]}) > 8
    assert expected[0].max() > 3
    for at_once in (100, 10_000):
        spread = on_device(X)
        spread.shard.at_once = at_once
        monkeypatch.setattr(choosing, "_AT_ONCE", at_once)
        assert same(draws(spread, component), expected)


def test_steps_fit_into_memory(monkeypatch):
    class Properties(NamedTuple):
        total_memory: int

    for gigabytes, power in ((8, 23), (139, 27)):
        monkeypatch.setattr(torch.cuda, "get_device_properties", lambda _, n=gigabytes: Properties(n * 2**30))
        assert shard_module.numbers_at_once(torch.device("cuda")) == 2**power


@BOTH
@TYPES
def test_chains_are_those_of_threads_up_to_rounding(component, dtype):
    """No uniform number of these chains is within rounding of a boundary."""
    X = rows(dtype, 6.0)
    threads, device = draws(hm.engines.Threads(1).open(X, "test"), component), draws(on_device(X), component)
    assert np.array_equal(threads[0], device[0])
    np.testing.assert_allclose(device[1], threads[1], rtol=1e-9)
    np.testing.assert_allclose(device[2], threads[2], rtol=1e-9, atol=1e-9)


def test_components_by_name():
    """Hyperparameters are learned, and columns with few values are spread within cells."""
    X = rows(np.float32, 6.0)
    X = np.column_stack([np.round(X[:, 0]), X[:, 1], np.ones(N, np.float32)])
    threads, device = (draws(spread, "gaussian-full", 5) for spread in (hm.engines.Threads(1).open(X, "test"), on_device(X)))
    assert np.array_equal(threads[0], device[0])


def test_a_run_that_is_resumed_ends_in_the_same_draws(tmp_path, monkeypatch):
    monkeypatch.setattr("hashmix.run.spread.chain.SECONDS", 0.0)
    X = rows(np.float64, 6.0)
    expected, spread, sweeps = draws(on_device(X)), on_device(X), []
    assign = spread.shard.assign

    def dies(**arguments):
        sweeps.append(1)
        if len(sweeps) == 11:
            raise KeyError("killed")
        return assign(**arguments)

    spread.shard.assign = dies
    with pytest.raises(KeyError, match="killed"):
        draws(spread, run_dir=tmp_path / "run")
    assert same(draws(on_device(X), run_dir=tmp_path / "run"), expected)
    assert same(draws(on_device(X), run_dir=tmp_path / "run"), expected)  # nothing is left to do


# ---- faults: the tests above would notice -----------------------------------------------------------------------------------


@pytest.mark.parametrize("verb", ["leaders", "assign", "draw", "toss"])
def test_local_numbers_of_rows_are_noticed(verb, monkeypatch):
    shards = two(DIAGONAL)
    pairs, offer = sent_pairs(shards), offer_for(shards, SEED)
    shards.ask("divide", pairs=pairs)
    shards.device.division = shards.device.division._replace(numbers=shards.device.division.rows)
    batches = DeviceShard._batches

    def local(self, width):
        return ((begin, end, torch.arange(begin, end, device=DEVICE)) for begin, end, _ in batches(self, width))

    monkeypatch.setattr(DeviceShard, "_batches", local)
    stats = DIAGONAL.statistics(shards.model, pairs.anchors, np.arange(8), 8)
    density = DIAGONAL.draw_density(shards.model, stats, np.random.default_rng(0))
    arguments = {
        "leaders": {"seed": SEED, "capacity": K},
        "assign": {"seed": SEED, "offer": offer},
        "draw": {"seed": SEED, "number": 0, "density": density, "odds": np.zeros(4), "recorded": False},
        "toss": {"seed": SEED, "share": np.full(4, 0.5)},
    }[verb]
    array, device = shards.ask(verb, **arguments)
    if verb == "leaders":
        assert not np.array_equal(array, device)
    else:
        assert not all(np.allclose(array[node], device[node]) for node in array)


def test_a_stale_model_is_noticed():
    shards = two(DIAGONAL)
    shards.array.hold(hm.components.DiagonalGaussian(0.5, 0.05, 2.0, 2.0).model(rows()))
    array, device = shards.ask("statistics", capacity=K)
    assert not all(np.allclose(array[node], device[node]) for node in array)


def test_sums_travel_in_complete_subtrees():
    found = two(DIAGONAL).device.statistics(K)
    assert climb(found, LAYOUT.n_blocks).keys() == found.keys()
    assert len(found) < sum(-(-(end - begin) // LAYOUT.block) for begin, end in PARTS)


# ---- the engine -------------------------------------------------------------------------------------------------------------


@TYPES
def test_fit(dtype):
    X = rows(dtype, 8.0)
    model = hm.SplitMergeMixture("gaussian", n_draws=20, engine=hm.engines.Cuda(DEVICE), random_state=0).fit(X)
    assert model.labels_.shape == (N,)
    assert np.array_equal(model.predict(X), model.labels_)
    assert 2 < model.n_clusters_ < 15


def test_rows_of_the_user_are_not_changed():
    X = np.round(rows(np.float32, 6.0))
    before = X.copy()
    X.flags.writeable = False
    draws(on_device(X), "gaussian", 2)
    assert np.array_equal(X, before)


def test_fit_on_the_command_line(tmp_path, monkeypatch, capsys):
    from hashmix.cli import main

    monkeypatch.chdir(tmp_path)
    X = rows(np.float32, 8.0)
    np.save("a.npy", X[:300])
    np.save("b.npy", X[300:])
    common = ["fit", "?.npy", "--draws", "5", "--engine", "cuda", "--device", DEVICE]
    assert main([*common, "--out", "run"]) == 0
    assert "700 rows, 3 columns" in capsys.readouterr().out
    assert [len(np.load(f"run/part-00000{k}.labels.npy")) for k in range(2)] == [300, 400]
    os.remove("run/part-000001.labels.npy")
    assert main(["resume", "run"]) == 0
    assert len(np.load("run/part-000001.labels.npy")) == 400
    capsys.readouterr()
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 0)
    assert main([*common[:-1], "cuda:1", "--out", "other"]) != 0
    assert "PyTorch finds 0 here, and cuda:1 is not among them" in capsys.readouterr().err
    assert main([*common, "--out", "other", "--workers", "2"]) != 0
    assert "'--workers' parameter of hashmix fit must be left out with --engine cuda" in capsys.readouterr().err
    assert main(["fit", "?.npy", "--device", DEVICE, "--out", "other"]) != 0
    assert "'--device' parameter of hashmix fit must be left out without --engine cuda" in capsys.readouterr().err


@pytest.mark.parametrize("device", ["rubbish", "mps", 3.5, "cuda:x"])
def test_devices_that_cannot_be(device):
    with pytest.raises(ValueError, match="'device' parameter of Cuda must be 'cuda', 'cuda:0'"):
        hm.engines.Cuda(device).open(rows(), "test")


def test_without_a_gpu(monkeypatch):
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 0)
    says = "engine='cuda' needs a CUDA device. PyTorch finds 0 here, and cuda is not among them."
    with pytest.raises(ValueError, match=re.escape(says)):
        hm.SplitMergeMixture("gaussian", engine="cuda").fit(rows())


def test_other_components():
    with pytest.raises(ValueError, match="must be a Gaussian"):
        hm.SplitMergeMixture(engine=hm.engines.Cuda(DEVICE)).fit((rows() > 0).astype(int))
    shards = two(DIAGONAL)
    with pytest.raises(ValueError, match=r"engine='cuda' takes DiagonalGaussian and FullGaussian\. Got DiagonalGaussian\("):
        shards.device.hold(object())


def test_a_device_that_is_full(monkeypatch):
    shards = two(DIAGONAL)

    def full(*_):
        raise torch.cuda.OutOfMemoryError("CUDA out of memory")

    monkeypatch.setattr(shard_module, "least_by_label", full)
    with pytest.raises(MemoryError, match="has too little memory for 444 rows: take fewer, or engine='dask'"):
        shards.device.answer("leaders", {"seed": 1, "capacity": K})


def test_parts_begin_with_blocks():
    with pytest.raises(ValueError, match="A part must begin with a block of 64 rows"):
        DeviceShard(LAYOUT, [(3, rows()[3:])], torch.device(DEVICE))
