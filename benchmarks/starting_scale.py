"""Whether the number of clusters hinges on the scale a component starts from, learned or fixed.

    python benchmarks/starting_scale.py [--quick] [--sets a3,d31,pendigits] [--data ../shared/data] [--name starting_scale]

For each set and each factor on the default scale (of counts, the concentration of words), the clusters of the point
estimate: with hyperparameters learned from there on, and with the same hyperparameters fixed. Prints one table, writes
benchmarks/results/NAME.json and .png.
"""

from __future__ import annotations

import argparse
import warnings
from copy import copy
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure
from report import write_picture, write_results
from scipy.sparse import csr_matrix

import hashmix as hm
from hashmix.components import resolve_component

FACTORS = [0.01, 0.1, 1.0, 10.0, 100.0]


def clusters(X, factor, learn, n_warmup):
    component = copy(resolve_component("auto", X).component)
    name = getattr(component, "scale_name", "concentration")
    setattr(component, name, factor * getattr(component, name))
    component.learn = learn
    model = hm.SplitMergeMixture(component, n_warmup=n_warmup, random_state=0).fit(X)
    return model.n_clusters_


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sets", default="a3,d31,pendigits")
    parser.add_argument("--data", default="../shared/data", help="the folder of the real sets")
    parser.add_argument("--name", default="starting_scale", help="of the results")
    parser.add_argument("--quick", action="store_true", help="fewer sweeps, and three factors")
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    factors = FACTORS[::2] if args.quick else FACTORS
    results = {"factors": factors}
    print(f"{'set':16s}{'true K':>8s}{'':>10s}" + "".join(f"{f'× {factor:g}':>8s}" for factor in factors))
    for name in args.sets.split(","):
        path = Path(args.data, f"{name}.npz")
        if not path.is_file():
            print(f"{name} is left out: there is no file {path}.")
            continue
        with np.load(path) as file:
            if "X" in file:
                X = file["X"].astype(np.float64)
            else:
                X = csr_matrix((file["data"], file["indices"], file["indptr"]), shape=tuple(file["shape"]))
            y = file["y"]
        results[name] = {"true K": len(np.unique(y[y >= 0]))}
        for kind, learn in (("learned", True), ("fixed", False)):
            found = [clusters(X, factor, learn, 50 if args.quick else 200) for factor in factors]
            results[name][kind] = found
            print(f"{name:16s}{results[name]['true K']:8d}{kind:>10s}" + "".join(f"{k:8d}" for k in found), flush=True)
    write_results(args.name, results)
    sets = [name for name in results if name != "factors"]
    figure = Figure(figsize=(4.0 * len(sets), 3.4), layout="constrained")
    for axis, name in zip(np.atleast_1d(figure.subplots(1, len(sets))), sets, strict=True):
        axis.plot(factors, results[name]["learned"], "o-", label="learned")
        axis.plot(factors, results[name]["fixed"], "s--", label="fixed")
        axis.axhline(results[name]["true K"], color="0.7", lw=1, zorder=0, label="classes")
        axis.set(title=name, xscale="log", yscale="log", xlabel="starting scale, × default", ylabel="clusters")
        axis.legend(frameon=False)
    write_picture(args.name, figure)


if __name__ == "__main__":
    main()
