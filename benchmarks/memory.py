"""Memory beyond the data and the stored draws, in bytes a point.

    python benchmarks/memory.py [--rows 1000000]

Each run is a process of its own: a chain with one draw over n rows, against the same process before it samples.
Prints one table, writes benchmarks/results/memory.json.
"""

from __future__ import annotations

import argparse
import subprocess
import sys

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
component = hm.components.resolve_component(family, small)
schedule = [(hm.moves.SAMS(), 20), (hm.moves.RGSM(1, launch="nearest"), 20), (hm.moves.Gibbs(), 1)]
hm.sample(small, component, moves=schedule, n_draws=1)  # kernels loaded
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
hm.sample(X, component, moves=schedule, n_draws=1, init=labels, random_state=0)
after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
print((after - before) * 1024 - 4 * n)
"""


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=1_000_000)
    n = parser.parse_args().rows
    results = {"rows": n}
    for family, d, dtype in [("gaussian", 16, "float32"), ("gaussian", 16, "float64"), ("gaussian-full", 8, "float64")]:
        arguments = [str(n), str(d), dtype, family]
        ran = subprocess.run([sys.executable, "-c", CODE, *arguments], capture_output=True, text=True, check=True)
        name = f"{family}, D = {d}, {dtype}: bytes a point beyond X and the draw"
        results[name] = float(ran.stdout) / n
        print(f"{name:75s} {results[name]:6.1f}")
    write_results("memory", results)


if __name__ == "__main__":
    main()
