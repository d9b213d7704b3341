"""What an engine costs against threads of one process, what travels, and what happens when workers are killed.

    python benchmarks/engines.py time kills
    python benchmarks/engines.py kills --kills 3
    python benchmarks/engines.py disk --rows 100000000

Questions, each with its own results in benchmarks/results/engines_<question>.json:

time      10⁶ × 32 float32, K = 500, chains that start at the truth: seconds per sweep after warm-up on two Dask workers of one
          thread each, against hm.engines.Threads(2), in turns; bytes between the client and the workers per sweep
kills     kill -9 of a random worker at a random moment of a short run: how many runs ended in the same draws
disk      rows × 16 float32 in parquet files, 100 clusters: two Dask workers of one thread each whose memory together is limited
          to a quarter of the rows (but not below 640 MB each, most of which Python and its libraries take): seconds per sweep,
          and the peak of memory of each worker and of the client. The system's cache of files is not limited
k_means   the mixture of "time" as a Dask array on two workers: seconds and NMI of dask-ml's k-means told K, and of a fit

Data are made here. Workers are processes on this machine. Kernels are compiled beforehand; nothing else should run.
"""

from __future__ import annotations

import argparse
import contextlib
import itertools
import os
import pickle
import random
import signal
import tempfile
import threading
import time
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import numpy as np
import pyarrow
import pyarrow.parquet
from distributed import Client, LocalCluster, wait
from distributed.comm import tcp
from parallel import gaussian_mixture
from report import write_results
from sklearn.metrics import normalized_mutual_info_score

import hashmix as hm
import hashmix.run.spread.chain as chain_module
from hashmix.core.threads import one_blas_thread
from hashmix.engines.shard import Preparation
from hashmix.problem import Problem
from hashmix.run.chain import Recorder
from hashmix.run.settings import RunSettings
from hashmix.run.spread.chain import MOVES, SpreadChain
from hashmix.run.starts import first_states
from hashmix.spread_sampling import SAMPLE

WORKERS = 2


@contextlib.contextmanager
def local_client(**how):
    """A client of two workers, which are processes of one thread."""
    with (
        LocalCluster(n_workers=WORKERS, threads_per_worker=1, dashboard_address=None, silence_logs=50, **how) as cluster,
        Client(cluster, direct_to_workers=True) as client,
    ):
        yield cluster, client


# ---- time ------------------------------------------------------------------------------------------------------------------


class Wire:
    """Counts the bytes that this process sends to workers and gets from them, as Dask writes them to its sockets."""

    def __init__(self, workers):
        self.workers, self.sent, self.received = set(workers), 0, 0
        write, read = tcp.TCP.write, tcp.read_bytes_rw

        async def counted_write(comm, *args, **kwargs):
            n = await write(comm, *args, **kwargs)
            self.sent += n if comm.peer_address in self.workers else 0
            return n

        async def counted_read(stream, n):
            address, port = stream.socket.getpeername()[:2]
            self.received += n if f"tcp://{address}:{port}" in self.workers else 0
            return await read(stream, n)

        tcp.TCP.write, tcp.read_bytes_rw = counted_write, counted_read

    def take(self):
        """Bytes sent and received since the last call."""
        found, self.sent, self.received = (self.sent, self.received), 0, 0
        return found


def chain_from_the_truth(spread, component, y, n_warmup):
    """A chain on an engine whose first clusters are the true ones of a sample; with no draws in between."""
    settings = RunSettings(n_draws=1, n_warmup=n_warmup, thin=10**6, random_state=0, init="auto")
    n = spread.layout.n_rows
    rows = np.sort(np.random.default_rng(0).choice(n, min(n, SAMPLE), replace=False))
    values = spread.rows_of(rows).values
    problem = Problem.resolve(values, component, "auto", "auto", settings)
    start = first_states(problem.target, [y[rows]], problem.keys, 1)[0]
    record = hm.Posterior.empty(1, 1, len(rows), list(MOVES), {}, {})
    recorder = Recorder(record, time.perf_counter(), None)
    return SpreadChain(0, problem.keys[0], spread, problem.target, rows, problem.settings, recorder, start)


def bytes_of_parameters(spread):
    """Watch messages for the parameters of all clusters; the list gets the size of each."""
    sizes, perform = [], spread.perform

    def watched(messages):
        sizes.extend(len(pickle.dumps(arguments["offer"])) for verb, arguments in messages if verb == "assign")
        return perform(messages)

    spread.perform = watched
    return sizes


def time_of_sweeps(args):
    n, d, k = (20_000, 8, 20) if args.quick else (1_000_000, 32, 500)
    X, y = gaussian_mixture(n, d, k)
    component = hm.components.DiagonalGaussian.from_data(X)
    seconds = {"threads": [], "dask": []}
    travelled, stop = [], threading.Event()
    with local_client() as (_, client), one_blas_thread():
        spreads = {
            "threads": hm.engines.Threads(WORKERS).open(X, "benchmark"),
            "dask": hm.engines.Dask(client).open(X, "benchmark"),
        }
        sizes = bytes_of_parameters(spreads["dask"])
        wire = Wire(spreads["dask"].actors)
        chains = {}
        for name, spread in spreads.items():
            spread.later("prepare", preparation=Preparation(component, np.ones(d, bool), None, 0))
            chains[name] = chain_from_the_truth(spread, component, y, args.warmup)
            for _ in range(args.warmup + 1):
                chains[name].sweep(stop)
        spreads["dask"].perform = type(spreads["dask"]).perform.__get__(spreads["dask"])
        for _, name in itertools.product(range(args.sweeps), seconds):
            wire.take()
            begin = time.perf_counter()
            chains[name].sweep(stop)
            seconds[name].append(time.perf_counter() - begin)
            if name == "dask":
                travelled.append(wire.take())
        same = chains["threads"].seen == chains["dask"].seen
        clusters = chains["dask"].clusters
        statistics = clusters.n_clusters * clusters.table().shape[1] * 8
        for spread in spreads.values():
            spread.close()
    sent, received = np.mean(travelled, axis=0)
    parameters = float(np.mean(sizes[-args.warmup :]))
    threads, dask = (float(np.mean(seconds[name])) for name in ("threads", "dask"))
    return {
        "rows": n,
        "columns": d,
        "clusters": int(clusters.n_clusters),
        "workers": WORKERS,
        "sweeps": args.sweeps,
        "threads, s": threads,
        "dask, s": dask,
        "dask / threads": dask / threads,
        "same states": bool(same),
        "sent per sweep, bytes": float(sent),
        "received per sweep, bytes": float(received),
        "statistics, bytes": statistics,
        "parameters, bytes": parameters,
        "times (statistics + parameters) x workers": float(sent + received) / ((statistics + parameters) * WORKERS),
    }


# ---- kills -----------------------------------------------------------------------------------------------------------------


def labels_of(X, engine, run_dir=None):
    """All draws of a short run."""
    settings = {"n_draws": 20, "n_warmup": 20, "random_state": 0}
    posterior = hm.sample(X, "gaussian", engine=engine, run_dir=run_dir, **settings)
    return np.asarray(posterior.labels), posterior.log_joint


def kill_later(cluster, seconds, killed, done):
    """Kill a random worker after some seconds, unless the run has ended."""
    if not done.wait(seconds):
        pids = [nanny.process.pid for nanny in cluster.workers.values() if nanny.process and nanny.process.pid]
        os.kill(random.choice(pids), signal.SIGKILL)
        killed.set()


def kills(args):
    random.seed(0)
    chain_module.SECONDS = 0.5  # checkpoints of so short a run
    X, _ = gaussian_mixture(20_000, 4, 12, spread=6.0)
    expected = labels_of(X, hm.engines.Threads(1))
    with local_client() as (_, client), tempfile.TemporaryDirectory() as folder:
        labels_of(X, hm.engines.Dask(client))
        begin = time.perf_counter()
        labels_of(X, hm.engines.Dask(client), Path(folder) / "run")
        whole = time.perf_counter() - begin
    runs = []
    while sum(run["killed"] for run in runs) < args.kills and len(runs) < 3 * args.kills:
        at, killed, done = whole * random.random(), threading.Event(), threading.Event()
        with local_client() as (cluster, client), tempfile.TemporaryDirectory() as folder:
            killer = threading.Thread(target=kill_later, args=(cluster, at, killed, done))
            killer.start()
            begin = time.perf_counter()
            # Every third run has no folder, and begins again.
            found = labels_of(X, hm.engines.Dask(client), None if len(runs) % 3 == 2 else Path(folder) / "run")
            took = time.perf_counter() - begin
            done.set()
            killer.join()
        same = all(np.array_equal(a, b) for a, b in zip(found, expected, strict=True))
        runs.append({"killed": killed.is_set(), "after, s": at, "run, s": took, "same draws": bool(same)})
        print(runs[-1], flush=True)
    hit = [run for run in runs if run["killed"]]
    return {
        "kills": len(hit),
        "same draws": sum(run["same draws"] for run in hit),
        "undisturbed run, s": whole,
        "runs": runs,
    }


# ---- disk ------------------------------------------------------------------------------------------------------------------

COLUMNS, CLUSTERS, ROWS_PER_FILE = 16, 100, 1_000_000
LEAST_LIMIT = 640e6


def write_part(folder, part, n):
    """One file of the mixture. The centres are the same in all files."""
    centres = 4.0 * np.random.default_rng(0).standard_normal((CLUSTERS, COLUMNS), dtype=np.float32)
    rng = np.random.default_rng([1, part])
    X = centres[rng.integers(CLUSTERS, size=n)] + rng.standard_normal((n, COLUMNS), dtype=np.float32)
    table = pyarrow.table({f"x{j}": X[:, j] for j in range(COLUMNS)})
    pyarrow.parquet.write_table(table, folder / f"part-{part:06d}.parquet", row_group_size=250_000)


def memory_of_process():
    """Process, bytes of memory at its peak, and bytes that are no pages of files now."""
    lines = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines())
    return os.getpid(), 1024 * int(lines["VmHWM"].split()[0]), 1024 * int(lines["RssAnon"].split()[0])


def disk(args):
    n = 200_000 if args.quick else args.rows
    size = 4 * COLUMNS * n
    limit = max(size / 4 / WORKERS, LEAST_LIMIT)
    with tempfile.TemporaryDirectory(dir=args.folder) as folder:
        with ProcessPoolExecutor(1) as pool:  # the client has never held the rows
            for part, begin in enumerate(range(0, n, ROWS_PER_FILE)):
                pool.submit(write_part, Path(folder), part, min(ROWS_PER_FILE, n - begin)).result()
        how = {"memory_limit": int(limit), "local_directory": folder}
        with local_client(**how) as (_, client):
            before = sorted(client.run(memory_of_process).values())
            client_before = memory_of_process()
            begin = time.perf_counter()
            posterior = hm.sample(
                f"{folder}/part-*.parquet",
                "gaussian",
                engine=hm.engines.Dask(client),
                init="auto",
                n_warmup=args.warmup,
                n_draws=args.sweeps + 1,
                random_state=0,
            )
            whole = time.perf_counter() - begin
            after, client_after = sorted(client.run(memory_of_process).values()), memory_of_process()
    return {
        "rows": n,
        "columns": COLUMNS,
        "clusters": CLUSTERS,
        "rows, bytes": size,
        "workers": WORKERS,
        "limit per worker, bytes": limit,
        "sweeps": args.warmup + args.sweeps + 1,
        "run, s": whole,
        "sweep, s": float(np.diff(posterior.seconds[0]).mean()),
        "clusters found": int(posterior.n_clusters[0, -1]),
        "workers ended by Dask": len({pid for pid, *_ in before} - {pid for pid, *_ in after}),
        "worker before, bytes": [peak for _, peak, _ in before],
        "worker at its peak, bytes": [peak for _, peak, _ in after],
        "client before, bytes": client_before[1],
        "client at its peak, bytes": client_after[1],
    }


# ---- k-means ---------------------------------------------------------------------------------------------------------------


def k_means(args):
    try:
        import dask.array
        from dask_ml.cluster import KMeans
    except ImportError:
        print("k_means is left out: pip install 'hashmix[benchmark]'.")
        return None
    n, d, k = (20_000, 8, 20) if args.quick else (1_000_000, 32, 500)
    X, y = gaussian_mixture(n, d, k)
    ours = {"n_warmup": args.warmup, "n_draws": args.sweeps, "n_chains": 1, "random_state": 0}
    found = {}
    with local_client() as (_, client):
        engine = hm.engines.Dask(client)
        models = {
            "dask-ml k-means told K": KMeans(k, random_state=0),
            "hashmix": hm.SplitMergeMixture("gaussian", engine=engine, **ours),
        }
        hm.SplitMergeMixture("gaussian", engine=engine, **ours).fit(X[:5000])  # compiles what is needed
        for name, model in models.items():
            rows = dask.array.from_array(X, chunks=(n // 16, d)).persist()
            wait(rows)
            begin = time.perf_counter()
            labels = np.asarray(model.fit(rows).labels_)
            seconds = time.perf_counter() - begin
            nmi = float(normalized_mutual_info_score(y, labels))
            found[name] = {"seconds": seconds, "NMI": nmi, "clusters": len(np.unique(labels))}
    return {"rows": n, "columns": d, "clusters": k, "workers": WORKERS, "methods": found}


QUESTIONS = {"time": time_of_sweeps, "kills": kills, "disk": disk, "k_means": k_means}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("questions", nargs="+", choices=list(QUESTIONS))
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--warmup", type=int, default=20, help="sweeps before those that are timed")
    parser.add_argument("--sweeps", type=int, default=20, help="sweeps that are timed on each engine")
    parser.add_argument("--rows", type=int, default=10_000_000, help="of disk")
    parser.add_argument("--folder", help="where disk writes rows, twice; by default the folder for temporary files")
    parser.add_argument("--quick", action="store_true", help="few rows, to see that it works; nothing is written")
    args = parser.parse_args()
    for name in args.questions:
        results = QUESTIONS[name](args)
        print(name, results, flush=True)
        if results and not args.quick:
            write_results(f"engines_{name}", results)


if __name__ == "__main__":
    main()
