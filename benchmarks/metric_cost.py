"""What a learned metric and a tree cost, and whether "auto" and its reproducible level find the clusters of Gaussian mixtures.

    python benchmarks/metric_cost.py [metric] [tree] [mixtures] [--quick]

metric: seconds per sweep of full covariances in 16 columns, with the metric learned, and held at the same values; both chains
start from the true labels, and take turns. tree: seconds to join 500 and 5,000 clusters. mixtures: a default fit of mixtures of
50 to 1,000 Gaussians and its reproducible level. Nothing of it counts the time to compile. Each part is written to
``benchmarks/results/``, as metric_cost.json, tree_cost.json and mixture_levels.json; with ``--quick``, nothing is written.
"""

from __future__ import annotations

import argparse
import threading
import time
import warnings

import numpy as np
from report import write_results
from sklearn.metrics import normalized_mutual_info_score

import hashmix as hm
from hashmix.paper import make_mixture
from hashmix.posterior.tree import join_clusters
from hashmix.problem import Problem
from hashmix.run.chain import Chain
from hashmix.run.settings import RunSettings
from hashmix.run.starts import first_states

#: Rows, columns, clusters and covariances of the mixtures.
MIXTURES = [
    (100_000, 32, 50, "diagonal"),
    (100_000, 16, 200, "full"),
    (100_000, 32, 500, "diagonal"),
    (100_000, 16, 1000, "diagonal"),
]
QUICK_MIXTURES = [(10_000, 32, 50, "diagonal"), (20_000, 16, 200, "full")]


def chain_on(X: np.ndarray, labels: np.ndarray, component: hm.components.Component) -> Chain:
    """A chain from these labels whose hyperparameters move from the first sweep."""
    problem = Problem.resolve(X, component, "auto", "auto", RunSettings(1, 0, random_state=0, init=labels), "metric_cost")
    state = first_states(problem.target, problem.starts, problem.keys, None)[0]
    return Chain(0, problem.keys[0], state, problem.schedule, problem.settings)


def seconds_of(chain: Chain) -> float:
    begin = time.perf_counter()
    chain.sweep(threading.Event())
    return time.perf_counter() - begin


def metric_cost(quick: bool) -> dict[str, dict[str, float]]:
    """Seconds per sweep with the metric learned and held, by data; the lower quartile of many sweeps."""
    found = {}
    for n, k in [(20_000, 50)] if quick else [(20_000, 50), (100_000, 50), (100_000, 500)]:
        X, y = make_mixture(n, 16, k, seed=0, covariance="full")
        learning = chain_on(X, y, hm.components.FullGaussian.from_data(X, learn=True))
        for _ in range(10):
            learning.sweep(threading.Event())
        learned_now = learning.state.component.hyperparameters(learning.state.model)
        values = {name: value[()] for name, value in learned_now.items()}
        held = chain_on(X, learning.state.labels(), learning.state.component.with_hyperparameters(values))
        held.sweep(threading.Event())
        times = np.array([[seconds_of(learning), seconds_of(held)] for _ in range(20)])
        learned, fixed = np.quantile(times, 0.25, axis=0).tolist()
        found[f"{n:,} × 16, K = {k}"] = {"learned": learned, "held": fixed, "ratio": learned / fixed}
    return found


def tree_cost(quick: bool) -> dict[str, float]:
    """Seconds to join clusters, by their number."""
    rng, found = np.random.default_rng(0), {}
    join_clusters(rng.normal(size=(10, 16)), np.ones(10))  # compiles
    for k in (500,) if quick else (500, 5000):
        positions, sizes = rng.normal(size=(k, 16)), rng.integers(1, 500, k)
        begin = time.perf_counter()
        join_clusters(positions, sizes)
        found[str(k)] = time.perf_counter() - begin
    return found


def mixture_levels(quick: bool) -> dict[str, dict[str, float | str]]:
    """Numbers of clusters and agreement of default fits."""
    found = {}
    for n, d, k, covariance in QUICK_MIXTURES if quick else MIXTURES:
        X, y, best = make_mixture(n, d, k, seed=0, covariance=covariance, return_oracle=True)
        model = hm.SplitMergeMixture(random_state=0).fit(X)
        level = model.cut("reproducible")
        found[f"{n:,} × {d}, K = {k}, {covariance}"] = {
            "K": k,
            "component": type(model.component_).__name__,
            "clusters": model.n_clusters_,
            "reproducible": int(level.max()) + 1,
            "NMI": float(normalized_mutual_info_score(y, model.labels_)),
            "NMI, reproducible": float(normalized_mutual_info_score(y, level)),
            "NMI of the true densities": float(normalized_mutual_info_score(y, best)),
        }
        print(found[f"{n:,} × {d}, K = {k}, {covariance}"], flush=True)
    return found


def main() -> None:
    parts = {"metric": metric_cost, "tree": tree_cost, "mixtures": mixture_levels}
    names = {"metric": "metric_cost", "tree": "tree_cost", "mixtures": "mixture_levels"}
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="*", metavar="PART", help=f"{', '.join(parts)} (default: all)")
    parser.add_argument("--quick", action="store_true")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    for part in options.parts or parts:
        found = parts[part](options.quick)
        print(part, found, flush=True)
        if not options.quick:
            write_results(names[part], found)


if __name__ == "__main__":
    main()
