"""Are verdicts to be trusted? Clean on easy fits, a warning where chains disagree.

    python benchmarks/verdicts.py [--fits 100] [--quick]

easy: five blobs in 3, 10 and 16 columns, default settings: the share of fits with a clean verdict, and the CPU seconds of a
fit, also of one chain of 100 draws. apart: chains of few sweeps, one from a single cluster and one from clusters of one row, on
data with many small groups: the share of fits that say that chains disagree. Writes benchmarks/results/verdicts.json.
"""

from __future__ import annotations

import argparse
import time
import warnings

import numpy as np
from report import write_results
from sklearn.datasets import make_blobs
from sklearn.metrics import adjusted_rand_score

import hashmix as hm
from hashmix.posterior.verdict import disagreement


def easy(d, n_fits):
    clean, seconds, before, scores, others = 0, [], [], [], []
    for seed in range(n_fits):
        X, y = make_blobs(300, d, centers=5, cluster_std=0.7, random_state=seed)
        begin = time.process_time()
        model = hm.SplitMergeMixture(random_state=seed).fit(X)
        verdict = model.posterior_.verdict()
        seconds.append(time.process_time() - begin)
        clean += verdict.startswith("The chains agree")
        others += [] if verdict.startswith("The chains agree") else [f"{seed}: {verdict}"]
        scores.append(adjusted_rand_score(y, model.labels_))
        if seed < 10:
            begin = time.process_time()
            hm.SplitMergeMixture(n_chains=1, n_draws=100, random_state=seed).fit(X)
            before.append(time.process_time() - begin)
    found = {"D": d, "fits": n_fits, "clean": clean, "ARI": float(np.mean(scores)), "others": others}
    return found | {"CPU seconds": float(np.median(seconds)), "one chain of 100 draws": float(np.median(before))}


def apart(n_draws, n_fits):
    warned = 0
    moves = [(hm.moves.SAMS(), 2)]
    for seed in range(n_fits):
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(400, 6))
        X[:200] += 1.5 * rng.normal(size=(20, 6)).repeat(10, axis=0)
        settings = {"n_draws": n_draws, "n_warmup": 2, "n_chains": 2, "init": ["single", "singletons"]}
        posterior = hm.sample(X, "gaussian", moves=moves, random_state=seed, **settings)
        warned += disagreement(posterior) is not None
    return {"draws": n_draws, "fits": n_fits, "warned": warned}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--fits", type=int, default=100)
    parser.add_argument("--quick", action="store_true", help="5 fits of each")
    args = parser.parse_args()
    n_fits = 5 if args.quick else args.fits
    warnings.simplefilter("ignore")
    easy(3, 1)  # compiles
    results = {"easy": [], "apart": []}
    for d in (3, 10, 16):
        results["easy"].append(easy(d, n_fits))
        print(results["easy"][-1], flush=True)
    for n_draws in (25, 60):
        results["apart"].append(apart(n_draws, n_fits))
        print(results["apart"][-1], flush=True)
    write_results("verdicts", results)


if __name__ == "__main__":
    main()
