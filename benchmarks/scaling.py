"""What a sweep of a converged chain costs as rows, clusters and columns grow.

    python benchmarks/scaling.py [--quick]

Data: mixtures of diagonal Gaussians. Chains start from the true labels, so that a sweep is that of a converged chain; seconds
are the median over sweeps after 10 of warm-up. Prints one table, with the ratios that have a target beneath it, and writes
benchmarks/results/scaling.json and .png.
"""

from __future__ import annotations

import argparse

import numpy as np
from chain_trace import trace
from matplotlib.figure import Figure
from matplotlib.ticker import ScalarFormatter
from report import write_picture, write_results

from hashmix.paper import make_mixture

WARMUP = 10
FULL = {
    "n": [(n, 16, 500) for n in (10_000, 100_000, 1_000_000)],
    "K": [(100_000, 16, k) for k in (100, 300, 1000, 3000)],
    "D": [(100_000, d, 200) for d in (4, 16, 64, 256)],
}
QUICK = {
    "n": [(n, 16, 50) for n in (2_000, 10_000, 100_000)],
    "K": [(20_000, 16, k) for k in (30, 100, 300)],
    "D": [(10_000, d, 50) for d in (4, 16, 64)],
}


def sweep(n, d, k, dtype, args):
    """Seconds of a sweep, over how many, and the clusters there were."""
    X, y = make_mixture(n, d, k, seed=0)
    X = X.astype(dtype)
    settings = {"component": args.component, "moves": args.moves, "n_jobs": args.n_jobs, "max_seconds": args.seconds}
    traced = trace(X, init=y, n_warmup=WARMUP, n_sweeps=args.sweeps, **settings)
    each = np.diff([traced["seconds"], traced["proposals"]])
    if each.shape[1] > 1 and traced["seconds"][-1] >= args.seconds:
        each = each[:, :-1]  # the last sweep was cut short
    each = each[:, WARMUP:] if each.shape[1] > WARMUP else each[:, -1:]
    seconds, proposals = np.median(each, axis=1).tolist()
    entry = {"n": n, "D": d, "K": k, "dtype": dtype, "seconds": seconds, "proposals": proposals, "sweeps": each.shape[1]}
    return entry | {"clusters at the end": traced["n_clusters"][-1]}


def picture(rows, component):
    figure = Figure(figsize=(12, 3.8), layout="constrained")
    axes = figure.subplots(1, 3)
    names = {"n": "rows, n", "K": "clusters, K", "D": "columns, D"}
    for axis, (by, entries) in zip(axes, rows.items(), strict=True):
        for dtype, style in (("float64", "o-"), ("float32", "s--")):
            mine = [entry for entry in entries if entry["dtype"] == dtype]
            if mine:
                axis.plot([entry[by] for entry in mine], [entry["seconds"] for entry in mine], style, label=dtype)
        fixed = ", ".join(f"{name} = {entries[0][name]:,}" for name in "nKD" if name != by)
        axis.set(xlabel=names[by], title=fixed, xscale="log")
        if by == "n":
            axis.set_yscale("log")
        else:
            axis.set_ylim(bottom=0)
            ticks = sorted({entry[by] for entry in entries})
            axis.set_xticks(ticks, ticks)
            axis.minorticks_off()
            axis.yaxis.set_major_formatter(ScalarFormatter())
    axes[0].set_ylabel(f"seconds a sweep ({component})")
    axes[2].legend(frameon=False)
    write_picture("scaling", figure)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="fewer rows and clusters")
    parser.add_argument("--moves", default="lss", help="the schedule")
    parser.add_argument("--component", default="gaussian", help="of the chains; the data are diagonal")
    parser.add_argument("--sweeps", type=int, default=20, help="to take the median of")
    parser.add_argument("--seconds", type=float, default=300.0, help="at most, for each chain")
    parser.add_argument("--n-jobs", type=int, default=None, help="threads to hash in")
    args = parser.parse_args()
    plan = QUICK if args.quick else FULL

    print(f"{'by':4s}{'n':>10s}{'D':>6s}{'K':>7s}  {'type':9s}{'ms a sweep':>12s}{'of the first':>14s}", end="")
    print(f"{'ns a proposal':>15s}{'clusters':>10s}")
    rows = {}
    for by, sizes in plan.items():
        rows[by] = []
        for dtype in ("float64", "float32") if by == "D" else ("float64",):
            for n, d, k in sizes:
                entry = sweep(n, d, k, dtype, args)
                rows[by].append(entry)
                ratio, each = entry["seconds"] / rows[by][0]["seconds"], entry["seconds"] / entry["proposals"]
                print(f"{by:4s}{n:10,d}{d:6d}{k:7,d}  {dtype:9s}{entry['seconds'] * 1e3:12.2f}{ratio:14.2f}", end="")
                print(f"{each * 1e9:15.0f}{entry['clusters at the end']:10,d}", flush=True)
    first, last = rows["K"][0], rows["K"][-1]
    few, many = rows["n"][-2:]
    single = [entry["seconds"] for entry in rows["D"] if entry["dtype"] == "float32"]
    double = [entry["seconds"] for entry in rows["D"] if entry["dtype"] == "float64"]
    ratios = {
        f"K {first['K']:,} → {last['K']:,} (target 1.5 for 100 → 3,000)": last["seconds"] / first["seconds"],
        f"n {few['n']:,} → {many['n']:,} (target 11 for 100,000 → 1,000,000)": many["seconds"] / few["seconds"],
        "float32 / float64, geometric mean over D": float(np.exp(np.mean(np.log(np.divide(single, double))))),
    }
    for what, value in ratios.items():
        print(f"{what:62s}{value:8.2f}")
    settings = {name: getattr(args, name) for name in ("moves", "component", "quick")}
    write_results("scaling", settings | {"rows": rows, "ratios": ratios})
    picture(rows, args.component)


if __name__ == "__main__":
    main()
