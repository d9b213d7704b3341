"""Memory beyond the data and the stored draws: bytes a point, and a run on ten million rows.

    python benchmarks/memory.py [--rows 1000000]
    python benchmarks/memory.py --big [--quick]

Each run is a process of its own. The first command: a chain with one draw over n rows, against the same process before it
samples; it prints one table and writes benchmarks/results/memory.json. The second: 10⁷ rows (--quick: 10⁶) of 16 float32
columns in 1000 clusters, made by another process; its peak is against the process before it loads the data, so that it counts
data and all, and is shown as a multiple of the data; it prints one table and writes benchmarks/results/memory_big.json.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path

from report import write_results

CODE = """
import resource, sys
import numpy as np, hashmix as hm
n, d, dtype, family = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3], sys.argv[4]
rng = np.random.default_rng(0)
labels = np.arange(n, dtype=np.int32) % 10
X = rng.standard_normal((n, d), dtype=dtype)
X += (labels * 8)[:, None].astype(dtype)
small = np.ascontiguousarray(X[:1000])
component = hm.components.resolve_component(family, small).component
schedule = [(hm.moves.SAMS(), 20), (hm.moves.RGSM(1, launch="nearest"), 20), (hm.moves.Gibbs(), 1)]
hm.sample(small, component, moves=schedule, n_draws=1)  # kernels loaded
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
hm.sample(X, component, moves=schedule, n_draws=1, init=labels, random_state=0)
after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
print((after - before) * 1024 - 4 * n)
"""

# The mixture of hashmix.paper.make_mixture, a block of rows at a time.
MAKE = """
import sys
import numpy as np
folder, n, d, k = sys.argv[1], *map(int, sys.argv[2:])
rng = np.random.default_rng(0)
means = (rng.normal(size=(k, d)) * 9.0 / np.sqrt(2 * d)).astype(np.float32)
scales = (0.8 * np.exp(0.2 * rng.normal(size=(k, d)))).astype(np.float32)
y = rng.choice(k, n, p=rng.dirichlet(np.full(k, 2.0))).astype(np.int32)
X = np.lib.format.open_memmap(folder + "/X.npy", "w+", np.float32, (n, d))
for start in range(0, n, 500_000):
    block = y[start : start + 500_000]
    X[start : start + 500_000] = means[block] + scales[block] * rng.standard_normal((len(block), d), dtype=np.float32)
X.flush()
np.save(folder + "/y.npy", y)
"""

# Peaks are read before anything that only scores; one set of labels, which is what a draw stores, is left out.
BIG = """
import json, resource, sys
sys.path.insert(0, sys.argv[1])
import numpy as np
from sklearn.metrics import normalized_mutual_info_score
from chain_trace import trace
folder, settings = sys.argv[2], json.loads(sys.argv[3])
peak = lambda: resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
trace(np.load(folder + "/X.npy", mmap_mode="r")[:2000].copy(), **settings | {"n_warmup": 1, "n_sweeps": 1})  # kernels loaded
before = peak()
X = np.load(folder + "/X.npy")
traced = trace(X, **settings)
used = peak() - before - traced["labels"].nbytes
y = np.load(folder + "/y.npy")
each = np.diff(traced["seconds"])
print(json.dumps({
    "n": len(X),
    "D": X.shape[1],
    "data, MB": X.nbytes / 1e6,
    "process before loading, MB": before / 1e6,
    "peak beyond that and one draw, MB": used / 1e6,
    "peak / data": used / X.nbytes,
    "bytes a point beyond the data": (used - X.nbytes) / len(X),
    "start, s": traced["seconds"][0],
    "sweeps": len(each),
    "a sweep, s (median of the last ten)": float(np.median(each[-10:])),
    "all, s": traced["seconds"][-1],
    "clusters at the start": traced["n_clusters"][0],
    "clusters at the end": traced["n_clusters"][-1],
    "NMI at the end": float(normalized_mutual_info_score(y, traced["labels"])),
}))
"""


def python(code, *arguments):
    return subprocess.run(
        [sys.executable, "-c", code, *map(str, arguments)], stdout=subprocess.PIPE, text=True, check=True
    ).stdout


def points(n):
    results = {"rows": n}
    for family, d, dtype in [("gaussian", 16, "float32"), ("gaussian", 16, "float64"), ("gaussian-full", 8, "float64")]:
        name = f"{family}, D = {d}, {dtype}: bytes a point beyond X and the draw"
        results[name] = float(python(CODE, n, d, dtype, family)) / n
        print(f"{name:75s} {results[name]:6.1f}")
    write_results("memory", results)


def big(n, k, settings):
    with tempfile.TemporaryDirectory() as folder:
        python(MAKE, folder, n, 16, k)
        results = json.loads(python(BIG, Path(__file__).parent, folder, json.dumps(settings)))
    results = {"true K": k} | results
    for what, value in results.items():
        print(f"{what:40s} {value:14,.3f}" if isinstance(value, float) else f"{what:40s} {value:14,d}")
    write_results("memory_big", settings | results)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, help="10⁶ by default, 10⁷ with --big")
    parser.add_argument("--big", action="store_true", help="the run on ten million rows")
    parser.add_argument("--quick", action="store_true", help="a tenth of the rows")
    parser.add_argument("--clusters", type=int, default=1000, help="of the data of --big")
    parser.add_argument("--moves", default="lss", help="the schedule of --big")
    parser.add_argument("--component", default="gaussian", help="of --big")
    parser.add_argument("--sweeps", type=int, default=20, help="of --big, half of them warm-up")
    parser.add_argument("--seconds", type=float, default=3600.0, help="of --big, at most")
    args = parser.parse_args()
    n = (args.rows or (10**7 if args.big else 10**6)) // (10 if args.quick else 1)
    if not args.big:
        return points(n)
    settings = {"moves": args.moves, "init": "auto", "component": args.component, "max_seconds": args.seconds}
    return big(n, args.clusters, settings | {"n_warmup": args.sweeps // 2, "n_sweeps": args.sweeps - args.sweeps // 2})


if __name__ == "__main__":
    main()
