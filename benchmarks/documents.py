"""Texts at PubMed's scale: what a sweep costs, how soon the topics are found, and the memory that takes.

    python benchmarks/documents.py [--docs 1000000] [--topics 1000] [--sweeps 20] [--seconds 900] [--clusters] [--quick]

Documents of hashmix.paper.make_documents over 141,043 words, one topic each, made by another process and kept as CSR (uint8
counts, 32-bit columns). A chain with our defaults starts from scratch; after every sweep, NMI with the true topics. Peak memory
counts the CSR and everything but one draw, as a multiple of the CSR. --clusters instead: seconds a sweep of a converged chain
over 20,000 words for K = 100 … 3000, with the concentrations the documents were made with, so that K stays what it is. Prints
one table, writes benchmarks/results/documents.json or documents_clusters.json.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
from chain_trace import trace
from report import write_results

import hashmix as hm
from hashmix.paper import make_documents

MAKE = """
import sys
import numpy as np
from hashmix.paper import make_documents
folder, n, k = sys.argv[1], *map(int, sys.argv[2:])
X, y = make_documents(n, n_topics=k)
for name in ("data", "indices", "indptr"):
    np.save(f"{folder}/{name}.npy", getattr(X, name))
np.save(folder + "/y.npy", y.astype(np.int32))
"""

RUN = """
import json, resource, sys, time
sys.path.insert(0, sys.argv[1])
import numpy as np
from scipy.sparse import csr_matrix
from sklearn.metrics import normalized_mutual_info_score
from chain_trace import trace
folder, settings = sys.argv[2], json.loads(sys.argv[3])
peak = lambda: resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
few = csr_matrix((np.ones(4, np.uint8), np.arange(4), np.arange(5)), shape=(4, 10))
trace(few, component="multinomial", n_warmup=1, n_sweeps=1)  # kernels loaded
before = peak()
X = csr_matrix(tuple(np.load(f"{folder}/{name}.npy") for name in ("data", "indices", "indptr")), shape=(-1 + len(np.load(
    folder + "/indptr.npy", mmap_mode="r")), 141043))
size = X.data.nbytes + X.indices.nbytes + X.indptr.nbytes
y = np.load(folder + "/y.npy")
scored = np.sort(np.random.default_rng(0).choice(len(y), min(len(y), 100_000), replace=False))

def watch(entry):
    print(f"{entry['seconds']:10.1f} s {entry['n_clusters']:8,d} clusters, NMI {entry['nmi']:.4f}", file=sys.stderr, flush=True)
    return False

partial = np.full(len(y), -1)
partial[scored] = y[scored]
traced = trace(X, partial, component="multinomial", stop=watch, **settings)
used = peak() - before - 4 * len(y)
each = np.diff(traced["seconds"])
good = [s for s, nmi in zip(traced["seconds"], traced["nmi"]) if nmi >= 0.95]
print(json.dumps({
    "documents": len(y),
    "non-zeros": int(X.nnz),
    "CSR, MB": size / 1e6,
    "peak beyond one draw, MB": used / 1e6,
    "peak / CSR": used / size,
    "start, s": traced["seconds"][0],
    "clusters at the start": traced["n_clusters"][0],
    "sweeps": len(each),
    "a sweep, s (median of the last five)": float(np.median(each[-5:])) if len(each) else None,
    "to NMI 0.95, s": good[0] if good else None,
    "all, s": traced["seconds"][-1],
    "clusters at the end": traced["n_clusters"][-1],
    "NMI at the end": traced["nmi"][-1],
}))
"""


def python(code, *arguments):
    return subprocess.run(
        [sys.executable, "-c", code, *map(str, arguments)], stdout=subprocess.PIPE, text=True, check=True
    ).stdout


def large(args):
    settings = {"n_warmup": 10**6, "n_sweeps": 0, "max_seconds": args.seconds}
    if args.sweeps:
        settings["n_warmup"] = args.sweeps
    with tempfile.TemporaryDirectory() as folder:
        python(MAKE, folder, args.docs, args.topics)
        results = json.loads(python(RUN, Path(__file__).parent, folder, json.dumps(settings)))
    results = {"true K": args.topics} | results
    for what, value in results.items():
        print(f"{what:40s} {value:16,.3f}" if isinstance(value, float) else f"{what:40s} {value!s:>16s}")
    write_results(args.name, results)


def clusters(args):
    results = {}
    for k in (30, 300) if args.quick else (100, 300, 1000, 3000):
        X, y = make_documents(20_000 if args.quick else 100_000, n_words=20_000, n_topics=k)
        base = 1.0 / np.arange(1.0, 20_001.0)
        component = hm.components.DirichletMultinomial(1000.0 * base / base.sum())
        traced = trace(X, component=component, init=y, n_warmup=5, n_sweeps=5, max_seconds=args.seconds)
        seconds = float(np.median(np.diff(traced["seconds"])[-5:]))
        results[k] = {"seconds a sweep": seconds, "clusters": traced["n_clusters"][-1]}
        first = next(iter(results.values()))["seconds a sweep"]
        print(f"K = {k:5d}: {seconds:7.3f} s a sweep, {seconds / first:5.2f} of the first; {traced['n_clusters'][-1]} clusters")
    write_results("documents_clusters", results)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--docs", type=int, default=1_000_000)
    parser.add_argument("--topics", type=int, default=1000)
    parser.add_argument("--sweeps", type=int, default=20, help="at most; 0: until time is up")
    parser.add_argument("--seconds", type=float, default=900.0, help="at most, for the start and the sweeps")
    parser.add_argument("--clusters", action="store_true", help="what a sweep costs as K grows")
    parser.add_argument("--name", default="documents", help="of the results")
    parser.add_argument("--quick", action="store_true", help="20,000 documents, 100 topics, one minute")
    args = parser.parse_args()
    if args.quick:
        args.docs, args.topics, args.seconds = 20_000, 100, 60.0
    if args.clusters:
        clusters(args)
    else:
        large(args)


if __name__ == "__main__":
    main()
