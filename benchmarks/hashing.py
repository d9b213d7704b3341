"""Rows hashed per second: sign projections and weighted MinHash against other packages, and tables built from codes.

    python benchmarks/hashing.py [--quick]

Prints one table, writes benchmarks/results/hashing.json. Everyone uses the cores it can use. Timed is what turns rows into
codes, their checks among it, once functions are drawn and kernels compiled; times are the least of several, taken in turns.
faiss and datasketch are timed where they are installed (pip install 'hashmix[benchmark]').
"""

from __future__ import annotations

import argparse
import importlib
import os
import platform
import time
import warnings

import numpy as np
from report import write_results
from scipy.sparse import csr_matrix
from sklearn.exceptions import DataDimensionalityWarning
from sklearn.random_projection import GaussianRandomProjection

from hashmix.hashing import SignProjection, Tables, WeightedMinHash, sign_split

N_BITS = N_TABLES = 16
N_PROJECTIONS = N_BITS * N_TABLES
N_HASHES = 16
REPEATS = 5
#: Seconds before each timing: threads that wait for the next matrix product spin for a while, on a core of ours.
PAUSE = 0.1
#: Rows given to datasketch, which takes milliseconds a row where there are many columns.
PEER_ROWS = 200


def installed(name):
    """A package, or None when it is not installed."""
    try:
        return importlib.import_module(name)
    except ImportError:
        return None


def n_cores():
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()


def gaussian_rows(n, d):
    return np.random.default_rng(0).normal(size=(n, d))


def sparse_counts(n, d, nnz):
    """Counts 1, 2, … in ``nnz`` columns of every row."""
    rng = np.random.default_rng(0)
    columns = np.concatenate([np.sort(rng.choice(d, nnz, replace=False)) for _ in range(n)])
    return csr_matrix((rng.geometric(0.5, n * nnz).astype(np.float64), columns, np.arange(n + 1) * nnz), shape=(n, d))


def least(runs):
    """The least seconds of each run: all are warmed up first, then timed in turns."""
    for run in runs.values():
        run()
    seconds = dict.fromkeys(runs, np.inf)
    for _ in range(REPEATS):
        for name, run in runs.items():
            time.sleep(PAUSE)
            begin = time.perf_counter()
            run()
            seconds[name] = min(seconds[name], time.perf_counter() - begin)
    return seconds


def signs_by_faiss(X):
    """256 bits a row as faiss has them, of rows that are float32 already, as it wants them."""
    faiss = installed("faiss")
    if faiss is None:
        return None
    index, single = faiss.IndexLSH(X.shape[1], N_PROJECTIONS), X.astype(np.float32)
    return lambda: index.sa_encode(single)


def signs_by_sklearn(X):
    """The same number of projections by scikit-learn, and their signs; they are not packed into codes."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataDimensionalityWarning)  # more projections than columns is what we want
        projection = GaussianRandomProjection(N_PROJECTIONS, random_state=0).fit(X)
    return lambda: projection.transform(X) >= 0.0


def minhash_by_datasketch(X, many):
    """Weighted MinHash of a few rows, one by one or (the package calls it experimental) all in one call."""
    datasketch = installed("datasketch")
    if datasketch is None:
        return None
    rows = (X if hasattr(X, "tocsr") else sign_split(X))[:PEER_ROWS].astype(np.float32)
    generator = datasketch.WeightedMinHashGenerator(rows.shape[1], N_HASHES)
    if many:
        return lambda: generator.minhash_many(rows)
    dense = rows.toarray() if hasattr(rows, "tocsr") else rows
    return lambda: [generator.minhash(row) for row in dense]


def sign_runs(X):
    family = SignProjection(N_BITS, N_TABLES, random_state=0).fit(X)
    runs = {
        "SignProjection, 16 bits × 16 tables": lambda: family.codes(X),
        "scikit-learn GaussianRandomProjection(256), signs": signs_by_sklearn(X),
    }
    if not hasattr(X, "tocsr"):
        runs["faiss IndexLSH, 256 bits, float32"] = signs_by_faiss(X)
    return runs


def minhash_runs(X):
    sparse = hasattr(X, "tocsr")
    icws = WeightedMinHash(1, N_HASHES, signed=not sparse, random_state=0).fit(X)
    runs = {"WeightedMinHash icws, 16 hashes": lambda: icws.codes(X)}
    if not sparse:
        rejection = WeightedMinHash(1, N_HASHES, method="rejection", signed=True, random_state=0).fit(X)
        runs["WeightedMinHash rejection, 16 hashes"] = lambda: rejection.codes(X)
    runs[f"datasketch, {PEER_ROWS} rows, one by one"] = minhash_by_datasketch(X, many=False)
    runs[f"datasketch, {PEER_ROWS} rows, minhash_many"] = minhash_by_datasketch(X, many=True)
    return runs


def rates(data, runs, n):
    """Rows of the table: rows per second, and their ratio to the first run's, which is ours."""
    seconds = least({name: run for name, run in runs.items() if run is not None})
    hashed = {name: min(n, PEER_ROWS) if name.startswith("datasketch") else n for name in seconds}
    ours = n / seconds[next(iter(runs))]
    table = []
    for name, run in runs.items():
        rate = hashed[name] / seconds[name] if run is not None else None
        table.append({"data": data, "what": name, "rows/s": rate, "ratio to ours": rate and rate / ours})
    return table


def built_by_numpy(codes):
    """Buckets, and rows in the order of buckets, as one writes it first."""
    for table in codes:
        _, bucket = np.unique(table, return_inverse=True)
        np.argsort(bucket, kind="stable")


def table_runs(X, family):
    """Tables built from codes that are known already."""
    codes = family.fit(X).codes(X)
    family.codes = lambda X, n_jobs=None: codes
    return {"Tables": lambda: Tables(X, family), "NumPy unique and argsort, one core": lambda: built_by_numpy(codes)}


def product_runs(X):
    family = SignProjection(N_BITS, N_TABLES, random_state=0).fit(X)
    weights = family.weights_.astype(X.dtype)
    return {"SignProjection, 16 bits × 16 tables": lambda: family.codes(X), "the product X @ W": lambda: X @ weights}


def measure(shrink):
    table = []
    for n, d in ((100_000 // shrink, 25), (100_000 // shrink, 74), (20_000 // shrink, 512)):
        X, data = gaussian_rows(n, d), f"dense, {n} × {d}"
        table += rates(data, sign_runs(X), n) + rates(data, minhash_runs(X), n)
    n = 20_000 // shrink
    X, data = sparse_counts(n, 100_000, 100), f"sparse, {n} × 100000, 100 a row"
    table += rates(data, sign_runs(X), n) + rates(data, minhash_runs(X), n)

    n = 100_000 // shrink
    X = gaussian_rows(n, 74)
    families = {
        "codes of 16 signs": SignProjection(N_BITS, N_TABLES, random_state=0),
        "codes of 1 MinHash": WeightedMinHash(1, N_TABLES, signed=True, random_state=0),
    }
    for name, family in families.items():
        table += rates(f"{name}, {n} rows × 16 tables", table_runs(X, family), n * N_TABLES)
    for dtype in ("float64", "float32"):
        table += rates(f"product, {n} × 64, {dtype}", product_runs(gaussian_rows(n, 64).astype(dtype)), n)
    return table


def shown(row):
    if row["rows/s"] is None:
        return f"{row['data']:43s} {row['what']:50s} not installed"
    return f"{row['data']:43s} {row['what']:50s} {row['rows/s']:12.0f} {row['ratio to ours']:10.4f}"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="a tenth of the rows")
    table = measure(10 if parser.parse_args().quick else 1)
    print(f"{'data':43s} {'what':50s} {'rows/s':>12s} {'to ours':>10s}")
    for row in table:
        print(shown(row))
    results = {"machine": platform.processor() or platform.machine(), "cores": n_cores()}
    for peer in ("sklearn", "faiss", "datasketch"):
        results[peer] = getattr(installed(peer), "__version__", "not installed")
    results["table"] = table
    for row in table:
        if row["what"] == "the product X @ W":
            name = f"hashing over one matrix product ({row['data'].split()[-1]}; target ≤ 3)"
            results[name] = row["ratio to ours"]
            print(f"{name:94s} {results[name]:12.2f} ×")
    write_results("hashing", results)


if __name__ == "__main__":
    main()
