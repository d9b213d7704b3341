"""How fast samplers get to good partitions: log joint and NMI against seconds and against proposals.

    python benchmarks/convergence.py [--quick] [--seconds 600] [--path data.npz] [--samplers rgsm,sdds] [--name convergence]

Every sampler starts from the same partition, one cluster, with the same fixed concentration and hyperparameters; ours also
runs from its own start (init="auto"), and for a tenth of the time at most. Data: 100,000 rows of 32 columns in 500 diagonal
Gaussian clusters, or a file: .npz with X and perhaps y, or anything hashmix.data.readers reads. Prints one table, writes
benchmarks/results/NAME.json and .png. In the table, "reached" is when a sampler first had the log joint it ended with, "ours"
is when ours (from its own start) first had it, and the ratio is of these two. Seconds include hashing and the start;
compiling and scoring are left out. The Gibbs update of one point counts as one proposal.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

import numpy as np
from chain_trace import trace
from matplotlib import colormaps
from matplotlib.figure import Figure
from report import shown, write_picture, write_results

import hashmix as hm
from hashmix.components import informative_columns, resolve_component
from hashmix.core.rng import stream
from hashmix.data.ingest import read_data
from hashmix.data.rows import as_dense
from hashmix.paper import make_mixture
from hashmix.paper.measures import reached
from hashmix.partition.state import State
from hashmix.partition.target import Target

BASELINES = ["minsm", "lshsm", "sams", "rgsm", "sdds", "split-merge", "gibbs"]
FIXED = hm.priors.DirichletProcess(1.0)
LINES = ["seconds", "proposals", "log_joint", "n_clusters", "nmi"]


def read(path):
    """Rows and, where an .npz holds them, labels."""
    X = read_data(path).X
    if Path(path).suffix == ".npz":
        with np.load(path) as file:
            return X[:, informative_columns(as_dense(X))], file.get("y")
    return X[:, informative_columns(as_dense(X))], None


def predictive_ns(X, labels, component):
    """Ns of a predictive in a Gibbs scan, which is where most samplers here spend their time."""
    state = State(Target.of(X, component, FIXED), labels)
    gibbs = hm.moves.Gibbs()
    gibbs.compile(state)
    begin = time.perf_counter()
    gibbs.apply(state, stream(1))
    return (time.perf_counter() - begin) / (len(X) * (len(np.unique(labels)) + 1)) * 1e9


def picture(name_of_results, traces, n, ours, names):
    figure = Figure(figsize=(11, 7.5), layout="constrained")
    axes = figure.subplots(2, 2, sharex="col", sharey="row")
    colours = dict(zip([name for name in traces if "," not in name], colormaps["tab10"].colors, strict=False))
    for name, traced in traces.items():
        style = {"color": colours[name.split(",")[0]], "lw": 2.2 if name.startswith(ours) else 1.3, "label": name}
        style["ls"] = "--" if "," in name else "-"
        for row, quantity in enumerate(names):
            for column, against in enumerate(("seconds", "proposals")):
                scale = n if quantity == "log_joint" else 1
                skip = column  # the start has no proposals, which a logarithmic axis cannot show
                axes[row, column].plot(traced[against][skip:], np.array(traced[quantity][skip:]) / scale, **style)
    words = {"log_joint": "log joint, a row", "nmi": "NMI", "n_clusters": "clusters"}
    for row, quantity in enumerate(names):
        axes[row, 0].set_ylabel(words[quantity])
    for column, against in enumerate(("seconds", "proposals")):
        axes[1, column].set_xlabel(against)
        axes[1, column].set_xscale("log")
    axes[1, 1].legend(frameon=False, fontsize="small")
    write_picture(name_of_results, figure)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="10,000 rows in 50 clusters, 10 seconds for each sampler")
    parser.add_argument("--seconds", type=float, help="for each sampler; 600 by default")
    parser.add_argument("--path", help="a file of rows, instead of the mixture")
    parser.add_argument("--moves", default="lss", help="our schedule")
    parser.add_argument("--samplers", default=",".join(BASELINES), help="what to compare with")
    parser.add_argument("--init", default="single", help="where every sampler starts")
    parser.add_argument("--standardise", action="store_true", help="divide columns by their standard deviations")
    parser.add_argument("--name", default="convergence", help="of the results")
    args = parser.parse_args()
    seconds = args.seconds or (10.0 if args.quick else 600.0)
    if args.path:
        X, y = read(args.path)
        X = as_dense((X - X.mean(axis=0)) / X.std(axis=0) if args.standardise else X).values
    else:
        X, y = make_mixture(*((10_000, 32, 50) if args.quick else (100_000, 32, 500)), seed=0)
    component = type(resolve_component("auto", X).component).from_data(X)
    results = {"data": args.path or "mixture", "n": len(X), "D": X.shape[1], "component": type(component).__name__}
    results |= {"true K": None if y is None else len(np.unique(y[y >= 0])), "seconds": seconds, "init": args.init}
    best_of_ours = f"{args.moves}, init auto"
    runs = {best_of_ours: (args.moves, "auto")}
    runs |= {name: (name, args.init) for name in [args.moves, *args.samplers.split(",")]}

    print(f"{'sampler':24s}{'sweeps':>9s}{'proposals':>14s}{'seconds':>9s}{'K':>7s}{'NMI':>8s}{'log joint':>16s}", end="")
    print(f"{'reached, s':>12s}{'ours, s':>10s}{'ratio':>9s}")
    traces = {}
    for name, (moves, init) in runs.items():
        limits = {"n_sweeps": 10**9, "max_seconds": 0.1 * seconds if moves == args.moves else seconds}
        traced = trace(X, y, component=component, prior=FIXED, moves=moves, init=init, **limits)
        end = {line: traced[line][-1] for line in LINES if line in traced}
        itself = reached(traced, end["log_joint"])
        ours = reached(traces.get(best_of_ours, traced), end["log_joint"])
        ratio = None if ours is None else itself / ours
        entry = end | {"sweeps": len(traced["seconds"]) - 1, "reached, s": itself, "ours, s": ours, "ratio": ratio}
        kept = np.unique(np.linspace(0, entry["sweeps"], 300).astype(int))  # of thousands of sweeps
        results[name] = entry | {"trace": {line: [traced[line][j] for j in kept] for line in end}}
        traces[name] = traced
        print(f"{name:24s}{entry['sweeps']:9d}{end['proposals']:14,d}{end['seconds']:9.1f}{end['n_clusters']:7d}", end="")
        print(f"{shown(end.get('nmi'), '8.4f')}{end['log_joint']:16,.0f}{itself:12.2f}", end="")
        print(f"{shown(ours, '10.2f')}{shown(ratio, '9.1f')}", flush=True)
    best = max(traces.values(), key=lambda traced: traced["log_joint"][-1])
    results["ns a predictive, Gibbs"] = predictive_ns(X, best["labels"] if y is None else np.maximum(y, 0), component)
    print(f"Gibbs, one core: {results['ns a predictive, Gibbs']:.0f} ns a predictive.")
    write_results(args.name, results)
    picture(args.name, traces, len(X), args.moves, ["log_joint", "n_clusters" if y is None else "nmi"])


if __name__ == "__main__":
    main()
