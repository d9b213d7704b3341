"""How long a new process takes: import, first fit with an empty cache, fit with a warm one.

    python benchmarks/start_up.py

Prints one table, writes benchmarks/results/start_up.json.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time

from report import write_results

IMPORT = "import hashmix"
FIT = """
import numpy as np, hashmix as hm
X = np.random.default_rng(0).normal(size=(1000, 2)) + np.arange(1000)[:, None] % 4 * 6
model = hm.SplitMergeMixture(random_state=0).fit(X)
print(model.posterior_.seconds.max())
"""


def run(code, cache):
    environment = {**os.environ, "HASHMIX_CACHE_DIR": cache}
    begin = time.perf_counter()
    ran = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    return time.perf_counter() - begin, float(ran.stdout or 0)


def main():
    with tempfile.TemporaryDirectory() as cache:
        run("import sklearn.base, numba", cache)  # the file system's cache, not ours
        imported = min(run(IMPORT, cache)[0] for _ in range(3))
        bare = min(run("pass", cache)[0] for _ in range(3))
        first, _ = run(FIT, cache)
        runs = [run(FIT, cache) for _ in range(3)]
    whole, sampling = min(runs, key=lambda times: times[0] - times[1])
    results = {
        "import hashmix, without Python's own start, s": imported - bare,
        "first fit of 1000 × 2 in a fresh cache, whole process, s": first,
        "fit of 1000 × 2 in a second process, whole process, s": whole,
        "the same without its sampling (300 sweeps), s": whole - sampling,
    }
    for what, value in results.items():
        print(f"{what:60s} {value:6.2f}")
    write_results("start_up", results)


if __name__ == "__main__":
    main()
