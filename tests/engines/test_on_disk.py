"""Shards that are larger than memory: rows are in a temporary file, and nothing else is different."""

from __future__ import annotations

import errno
import os
import random
import re
import signal
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest

import hashmix as hm
from hashmix import estimator_spread
from hashmix.data.rows import as_dense
from hashmix.engines import kept, remote
from hashmix.engines.kept import InMemory, OnDisk
from hashmix.engines.shard import Preparation
from hashmix.engines.sources import as_source
from tests.engines.test_same_draws import COMPONENT, N, X, draws, same

ON_DISK = hm.engines.Threads(2, memory=1)
IN_MEMORY = hm.engines.Threads(1)


@pytest.fixture
def files(tmp_path):
    """The rows in three files of two formats, whose ends are not those of blocks."""
    pyarrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    np.save(tmp_path / "1.npy", X[:123])
    table = pyarrow.table({"a": X[123:600, 0], "b": X[123:600, 1]})
    parquet.write_table(table, tmp_path / "2.parquet", row_group_size=50)
    np.save(tmp_path / "3.npy", np.asfortranarray(X[600:]))
    return [tmp_path / "1.npy", tmp_path / "3.npy"], tmp_path / "2.parquet"


@pytest.fixture
def npy(tmp_path):
    np.save(tmp_path / "rows.npy", X)
    return str(tmp_path / "rows.npy")


@pytest.fixture(scope="module")
def expected():
    return draws(IN_MEMORY.open(X, "test"))


def are_on_disk(spread):
    return [isinstance(part.rows, OnDisk) for part in spread.shard.parts]


@pytest.mark.parametrize("at_once", [1, 1000, 1 << 24])
def test_same_draws(expected, npy, monkeypatch, at_once):
    monkeypatch.setattr(kept, "_AT_ONCE", at_once)
    spread = ON_DISK.open(npy, "test")
    assert are_on_disk(spread) == [True]
    assert same(draws(spread), expected)
    assert are_on_disk(IN_MEMORY.open(npy, "test")) == [False]
    assert are_on_disk(ON_DISK.open(X, "test")) == [False]  # an array is where it is


@pytest.mark.parametrize("component", ["gaussian", "gaussian-full"])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_rows_that_are_prepared(tmp_path, monkeypatch, component, dtype):
    """Columns are left out, and values spread within cells, in parts of the file."""
    data = np.column_stack([np.ones(N), np.round(X[:, 0]), X[:, 1]]).astype(dtype)
    np.save(tmp_path / "x.npy", data)
    expected = draws(IN_MEMORY.open(data, "test"), component, 6)
    monkeypatch.setattr(kept, "_AT_ONCE", 1000)
    for engine in (ON_DISK, IN_MEMORY):
        assert same(draws(engine.open(str(tmp_path / "x.npy"), "test"), component, 6), expected)


def test_files_of_two_formats(files):
    for some in files:
        one, other = (draws(engine.open(some, "test"), n_draws=4) for engine in (ON_DISK, IN_MEMORY))
        assert same(one, other)
    values = np.concatenate(
        list(as_source(files[0], "test").span(as_source(files[0], "test").describe(map), 100, 200).chunks(7))
    )
    np.testing.assert_array_equal(values, np.concatenate([X[100:123], X[600:677]]))
    source = as_source(files[1], "test")
    chunks = list(source.span(source.describe(map), 70, 301).chunks(30))
    assert max(map(len, chunks)) <= 30
    np.testing.assert_array_equal(np.concatenate(chunks), X[193:424])


def test_rows_on_disk_are_those_in_memory(npy):
    source = as_source(npy, "test")
    memory, disk = InMemory(X), OnDisk(0, source.span(source.describe(map), 0, N), None)
    for _ in range(2):
        np.testing.assert_array_equal(disk.block(64, 128), memory.block(64, 128))
        chosen = np.array([5, 699, 0, 5])
        np.testing.assert_array_equal(disk.take(chosen), memory.take(chosen))
        assert (disk.n_rows, disk.n_columns, disk.dtype) == (memory.n_rows, memory.n_columns, memory.dtype)
        memory, disk = (rows.change(1, lambda begin, values: values[:, -1:] + begin) for rows in (memory, disk))
    assert disk._file.seek(0, os.SEEK_END) == 8 * N


def test_passes_over_the_file(npy, monkeypatch):
    """It is written once, prepared in one pass if need be, and read once by a verb that looks at all rows."""
    rows = {"_read": 0, "_write": 0}

    def counted(name):
        method = getattr(OnDisk, name)

        def count(self, begin, values):
            rows[name] += len(values)
            method(self, begin, values)

        monkeypatch.setattr(OnDisk, name, count)

    counted("_read")
    counted("_write")
    shard = ON_DISK.open(npy, "test").shard
    assert (rows["_read"], rows["_write"]) == (0, N)
    everything, key = np.ones(2, bool), 0
    shard.prepare(Preparation(COMPONENT, everything, None, key))
    assert (rows["_read"], rows["_write"]) == (0, N)
    shard.prepare(Preparation(COMPONENT, np.array([True, False]), None, key))
    assert (rows["_read"], rows["_write"]) == (N, 2 * N)
    shard.hold(COMPONENT.model(as_dense(X[:, :1])))
    shard.statistics(1)
    assert (rows["_read"], rows["_write"]) == (2 * N, 2 * N)


def test_a_fit_reads_files_in_parts(npy, monkeypatch):
    monkeypatch.setattr(estimator_spread, "_ROWS", 50)
    models = [
        hm.SplitMergeMixture(COMPONENT, n_draws=4, n_warmup=6, init="single", engine=engine, random_state=3).fit(data)
        for engine, data in ((ON_DISK, npy), (IN_MEMORY, X))
    ]
    for name in ("labels_", "probabilities_", "means_"):
        np.testing.assert_array_equal(*(getattr(model, name) for model in models))


@pytest.mark.skipif(sys.platform != "linux", reason="looks at the open files of the process")
def test_the_file_has_no_name_and_is_closed(npy, tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "scratch"))
    (tmp_path / "scratch").mkdir()

    def there():
        links = [os.readlink(link) for link in Path("/proc/self/fd").iterdir() if link.is_symlink()]
        return [link for link in links if "scratch" in link]

    spread = ON_DISK.open(npy, "test")
    assert len(there()) == 1
    assert not list((tmp_path / "scratch").iterdir())
    spread.close()
    assert there() == []


def test_a_full_disk(npy, monkeypatch):
    class Full:
        def close(self):
            pass

        def seek(self, place):
            return place

        def write(self, content):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(kept.tempfile, "TemporaryFile", lambda **how: Full())
    monkeypatch.setattr("tempfile.tempdir", "somewhere")
    says = "1.12e-05 GB of rows that do not fit into memory cannot be written to somewhere: No space left on device."
    with pytest.raises(OSError, match=f"^{re.escape(says)}$"):
        ON_DISK.open(npy, "test")


def test_a_blank_is_found_while_rows_are_read(tmp_path):
    holes = X.copy()
    holes[300, 1] = np.inf
    np.save(tmp_path / "x.npy", holes)
    with pytest.raises(ValueError, match="row 300, column 1"):
        ON_DISK.open(str(tmp_path / "x.npy"), "test")


def test_what_memory_may_be(npy):
    with pytest.raises(ValueError, match="'memory' parameter of Threads must be"):
        hm.engines.Threads(memory=0).open(npy, "test")
    assert hm.engines.Threads(1).open(npy, "test").shard.parts[0].rows.n_rows == N


# ---- workers ----------------------------------------------------------------------------------------------------------------

distributed = pytest.importorskip("distributed")


class LittleMemory(distributed.WorkerPlugin):
    """Workers have no memory for rows, also those that are started later."""

    def setup(self, worker):
        remote.SHARE_OF_MEMORY = 1e-12


@pytest.mark.filterwarnings("ignore")
def test_workers_with_little_memory(expected, npy, monkeypatch):
    monkeypatch.setattr(remote, "SHARE_OF_MEMORY", 1e-12)
    folders = []
    monkeypatch.setattr(kept.OnDisk, "__init__", noting(kept.OnDisk.__init__, folders))
    with (
        distributed.LocalCluster(n_workers=3, threads_per_worker=1, processes=False, dashboard_address=None) as cluster,
        distributed.Client(cluster) as client,
    ):
        spread = hm.engines.Dask(client).open(npy, "test")
        assert same(draws(spread), expected)
        assert sorted(folders) == sorted(worker.local_directory for worker in cluster.workers.values())
        spread.close()


def noting(init, folders):
    def noted(self, first, source, folder):
        folders.append(folder)
        init(self, first, source, folder)

    return noted


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("times", [1, pytest.param(10, marks=pytest.mark.slow)])
def test_a_killed_worker_changes_nothing(expected, npy, tmp_path, monkeypatch, times):
    monkeypatch.setattr("hashmix.run.spread.chain.SECONDS", 0.2)
    for k in range(times):
        with (
            distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None, silence_logs=50) as cluster,
            distributed.Client(cluster, direct_to_workers=True) as client,
        ):
            client.register_plugin(LittleMemory())

            def kill(cluster=cluster):
                time.sleep(2.0 if times == 1 else 4.0 * random.random())
                pids = [nanny.process.pid for nanny in cluster.workers.values() if nanny.process and nanny.process.pid]
                os.kill(random.choice(pids), signal.SIGKILL)

            killer = threading.Thread(target=kill)
            killer.start()
            spread = hm.engines.Dask(client).open(npy, "test")
            found = draws(spread, run_dir=tmp_path / f"run-{k}")
            killer.join()
            spread.close()
            assert same(found, expected)
