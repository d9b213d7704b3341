"""What people ask of a posterior, and what it costs: estimate and credible ball, the report, checkpoints.

    python benchmarks/posterior.py [--quick]

Draws of 50 (500) clusters in which a third of the rows sit between two of them, so that draws disagree: 1,000 draws of 10,000
rows, and 100 draws of 1,000,000. Seconds of point_estimate and credible_ball, its expected variation of information beside
that of the best draw, and peak memory beyond the draws as a multiple of them. Then the report of a run on 1,000,000 rows of 8
columns, and what a run folder adds to the time of sampling. Prints one table, writes benchmarks/results/posterior.json.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from report import write_results

import hashmix as hm
from hashmix.paper import make_mixture

ESTIMATE = """
import json, resource, sys, time
import numpy as np
from hashmix.posterior import Posterior
n, n_draws, k = map(int, sys.argv[1:])

def disagreeing(n, n_draws, k):
    rng = np.random.default_rng(0)
    first = rng.integers(0, k, n)
    second = (first + 1) % k
    chance = np.where(rng.random(n) < 1 / 3, rng.random(n), 0.0)
    posterior = Posterior.empty(1, n_draws, n, [], {}, {})
    for d in range(n_draws):
        posterior.labels[0, d] = np.where(rng.random(n) < chance, second, first)
        posterior.n_clusters[0, d] = k
    return posterior

disagreeing(50, 10, 3).credible_ball()  # compiles
posterior = disagreeing(n, n_draws, k)
peak = lambda: resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
before = peak()
begin = time.perf_counter()
estimate = posterior.point_estimate()
searched = time.perf_counter() - begin
posterior.credible_ball(estimate)
seconds = time.perf_counter() - begin
print(json.dumps({
    "rows": n, "draws": n_draws, "estimate, s": searched, "estimate and ball, s": seconds,
    "expected VI": posterior.expected_loss(estimate),
    "of the best draw": posterior.expected_loss(posterior.labels[posterior.point_estimate_draw()]),
    "clusters": int(estimate.max()) + 1,
    "memory / draws": 1.0 + (peak() - before) / posterior.labels.nbytes,
}))
"""


def estimate(n, n_draws, k):
    done = subprocess.run(
        [sys.executable, "-c", ESTIMATE, str(n), str(n_draws), str(k)], capture_output=True, text=True, check=True
    )
    return json.loads(done.stdout)


def runs(n, n_sweeps):
    """Seconds of sampling with and without a run folder, one after the other twice, and of the report."""
    X, _ = make_mixture(n, 8, 100, separation=8.0, seed=0)[:2]
    settings = {"n_draws": n_sweeps, "n_warmup": 20, "init": "auto", "random_state": 0}
    hm.sample(X[:5000], **settings | {"n_draws": 2})
    out = {"rows": n, "sweeps": n_sweeps}
    for _ in range(2):
        for where in ("memory", "folder"):
            with tempfile.TemporaryDirectory() as folder:
                run = Path(folder, "run") if where == "folder" else None
                begin = time.perf_counter()
                posterior = hm.sample(X, **settings, run_dir=run)
                out.setdefault(f"sampling, {where}, s", []).append(time.perf_counter() - begin)
                if run is not None:
                    begin = time.perf_counter()
                    hm.Posterior.load(run).report(Path(folder, "report.html"), X)
                    out["report, s"] = time.perf_counter() - begin
                    out["report, MB"] = Path(folder, "report.html").stat().st_size / 1e6
            del posterior
    out["folder / memory"] = sum(out["sampling, folder, s"]) / sum(out["sampling, memory, s"])
    return out


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="a tenth of the rows")
    args = parser.parse_args()
    part = 10 if args.quick else 1
    results = {}
    for what, measure in (
        ("small", lambda: estimate(10_000 // part, 1000, 50)),
        ("large", lambda: estimate(1_000_000 // part, 100, 500)),
        ("run folder", lambda: runs(1_000_000 // part, 60)),
    ):
        results[what] = measure()
        print(what)
        for name, value in results[what].items():
            print(f"    {name:28s} {value if not isinstance(value, float) else format(value, '.4g')}", flush=True)
    write_results("posterior", results)


if __name__ == "__main__":
    main()
