"""Chains on a Dask cluster: the draws of threads, for any number of workers, whatever happens to them."""

from __future__ import annotations

import os
import random
import signal
import threading
import time

import numpy as np
import pytest

import hashmix as hm
from hashmix.engines import dask as module
from hashmix.engines.remote import WorkerError
from tests.engines.test_same_draws import COMPONENT, N, X, draws, same

distributed = pytest.importorskip("distributed")
da = pytest.importorskip("dask.array")
pytestmark = pytest.mark.filterwarnings("ignore")  # of Dask's own


@pytest.fixture(scope="module")
def expected():
    return draws(hm.engines.Threads(1).open(X, "test"))


@pytest.fixture
def client():
    """Workers in this process: they cost no time to start."""
    with (
        distributed.LocalCluster(n_workers=3, threads_per_worker=1, processes=False, dashboard_address=None) as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client


@pytest.mark.parametrize("n_workers", [1, 2, 4, 7])
def test_any_number_of_workers(expected, n_workers):
    with (
        distributed.LocalCluster(n_workers=n_workers, threads_per_worker=1, processes=False, dashboard_address=None) as cluster,
        distributed.Client(cluster) as client,
    ):
        spread = hm.engines.Dask(client).open(X, "test")
        assert len(spread.actors) == n_workers
        assert same(draws(spread), expected)
        spread.close()


def fitted(X, engine="dask"):
    return hm.SplitMergeMixture(COMPONENT, n_draws=4, n_warmup=6, init="single", engine=engine, random_state=3).fit(X)


def test_collections_and_files(client, tmp_path):
    here = fitted(X, hm.engines.Threads(1))
    np.save(tmp_path / "1.npy", X[:100])
    np.save(tmp_path / "2.npy", X[100:])
    array = da.from_array(X, chunks=(123, 1))
    for data in (array, str(tmp_path / "*.npy"), X):
        model = fitted(data)
        np.testing.assert_array_equal(np.asarray(model.labels_), here.labels_)
        np.testing.assert_array_equal(model.means_, here.means_)
        np.testing.assert_array_equal(np.asarray(model.probabilities_), here.probabilities_)
    model = fitted(array, "threads")  # a collection says that it is one
    assert isinstance(model.labels_, da.Array)
    assert isinstance(model.predict(array), da.Array)
    np.testing.assert_array_equal(model.predict(array).compute(), model.predict(X))
    np.testing.assert_allclose(model.predict_proba(array).compute(), model.predict_proba(X))
    np.testing.assert_array_equal(model.cut(2).compute(), here.cut(2))


def test_collections_are_not_computed_in_the_client(client, monkeypatch):
    """What is asked of all rows of a collection is lazy, and worked on block by block."""

    def computed(self, *args, **kwargs):
        raise AssertionError("all rows are in the client")

    monkeypatch.setattr(da.Array, "__array__", computed)
    array = da.from_array(X, chunks=(100, 2))
    model = fitted(X, hm.engines.Threads(1))
    asked = {
        "score_samples": [{}, {"n_draws": 3}],
        "predict_proba": [{}, {"n_draws": 3}, {"new_cluster": True}],
    }
    for method, ways in asked.items():
        for how in ways:
            lazy = getattr(model, method)(array, **how)
            assert isinstance(lazy, da.Array), method
            here = getattr(model, method)(X, **how)
            np.testing.assert_allclose(lazy.compute(), here)
            assert lazy.shape == here.shape
    assert model.score(array) == pytest.approx(model.score(X))
    assert isinstance(model.score(array), float)
    with pytest.raises(ValueError, match="'n_draws' parameter of SplitMergeMixture must be None if new_cluster is given"):
        model.predict_proba(array, n_draws=2, new_cluster=True)
    with pytest.raises(ValueError, match="'n_draws' parameter of SplitMergeMixture must be an integer"):
        model.score_samples(array, n_draws=0)
    with pytest.raises((ValueError, TypeError), match="'X' parameter of SplitMergeMixture must be rows in memory here"):
        model.representatives(array)
    with pytest.raises((ValueError, TypeError), match="'X' parameter of .* must be an array or files with this engine"):
        fitted(array, hm.engines.Threads(1))


def test_sample_on_workers(client, expected):
    settings = {"n_draws": 15, "n_warmup": 6, "random_state": 3}
    for data, engine in ((da.from_array(X, chunks=(123, 1)), "threads"), (X, "dask"), (X, hm.engines.Dask(client))):
        posterior = hm.sample(data, COMPONENT, engine=engine, **settings)
        assert same([*posterior.labels[0], posterior.log_joint], expected[:-1])


def test_a_frame(client):
    dd = pytest.importorskip("dask.dataframe")
    pd = pytest.importorskip("pandas")
    frame = dd.from_pandas(pd.DataFrame(X, columns=["a", "b"]), npartitions=4)
    model = fitted(frame)
    assert model.feature_names_in_.tolist() == ["a", "b"]
    np.testing.assert_array_equal(np.asarray(model.labels_), fitted(X, hm.engines.Threads(1)).labels_)
    assert model.predict(frame).compute().shape == (N,)
    np.testing.assert_allclose(model.score_samples(frame).compute(), model.score_samples(frame.compute()))
    assert model.score(frame) == pytest.approx(model.score(frame.compute()))


def test_what_is_wrong_is_said_with_part_and_worker(client, tmp_path):
    np.save(tmp_path / "a.npy", X)
    np.save(tmp_path / "b.npy", X[:, :1])
    with pytest.raises(FileNotFoundError, match=r"There is no file .*z.npy \(on worker \S+\)\."):
        fitted([tmp_path / "a.npy", tmp_path / "z.npy"])
    with pytest.raises(
        ValueError, match=r"all parts must be alike\. .*a.npy has columns 2, .*b.npy \(read by worker \S+\) 1\."
    ):
        fitted([tmp_path / "a.npy", tmp_path / "b.npy"])
    holes = X.copy()
    holes[300, 1] = np.nan
    with pytest.raises(ValueError, match=r"NaN|nan.*\(on worker \S+\)"):
        fitted(da.from_array(holes, chunks=(100, 2)))


def test_workers_must_have_the_same_version(client, monkeypatch):
    monkeypatch.setattr(module, "version", lambda name: "0.0.1")
    with pytest.raises(RuntimeError, match=r"Worker \S+ has hashmix \S+, the client 0.0.1"):
        fitted(X)


def test_no_client():
    with pytest.raises(ValueError, match="engine='dask' needs a client"):
        fitted(X)


def test_errors_keep_their_kind():
    assert isinstance(WorkerError("MemoryError", "too little memory: 8 GB", "tcp://a").error(), MemoryError)
    assert "KeyError: 'x' (on worker tcp://a)" in str(WorkerError("KeyError", "'x'", "tcp://a").error())


# ---- workers that die -------------------------------------------------------------------------------------------------------


def killed_once(cluster, client, seconds, run_dir):
    """A chain during which a random worker is killed after some seconds."""

    def kill():
        time.sleep(seconds)
        pids = [nanny.process.pid for nanny in cluster.workers.values() if nanny.process and nanny.process.pid]
        os.kill(random.choice(pids), signal.SIGKILL)

    killer = threading.Thread(target=kill)
    killer.start()
    spread = hm.engines.Dask(client).open(X, "test")
    found = draws(spread, run_dir=run_dir)
    killer.join()
    spread.close()
    return found


@pytest.mark.parametrize("times", [1, pytest.param(20, marks=pytest.mark.slow)])
def test_a_killed_worker_changes_nothing(expected, tmp_path, monkeypatch, times):
    """Whether a nanny starts another worker in time, or the one that is left takes all rows."""
    monkeypatch.setattr("hashmix.run.spread.chain.SECONDS", 0.2)
    for k in range(times):
        with (
            distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None, silence_logs=50) as cluster,
            distributed.Client(cluster, direct_to_workers=True) as client,
        ):
            seconds = 4.0 * random.random() if times > 1 else 2.0
            found = killed_once(cluster, client, seconds, tmp_path / f"run-{k}" if k % 3 < 2 else None)
            assert same(found, expected)
