"""How hashmix with its defaults compares with scikit-learn's clusterings, in quality and in time.

    python benchmarks/peers.py [--part synthetic|real|all] [--sets s1,letter] [--methods hashmix,KMeans]
        [--data ../shared/data] [--cap 600] [--quick]

Two parts, each of which prints one table; together they write benchmarks/results/peers.json, and the second also a picture,
benchmarks/results/peers.png. A part that is not run keeps what an earlier run wrote of it.

synthetic: mixtures of Gaussians; seconds until a chain of ours is as good as asked, and of a whole default fit, against
KMeans given the true K, BayesianGaussianMixture (BGM), HDBSCAN and fast_hdbscan.

real: adjusted Rand index (ARI) and seconds of a fit on labelled sets. KMeans is given the true K, "BGM 2K" twice that; BGM's
default is one component. Both HDBSCANs and BGM get a random sample of --rows rows of larger sets, and are scored on that. Rows
without a label count in the fit, not in the score; HDBSCAN's noise is scored as one cluster. Everyone gets columns as they
are, not standardised, but for the logarithm-like arcsinh(x / 5) usual with cytometry.

Every fit is a process of its own, and is given up after --cap seconds. Neither imports nor compiling count.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import time
import warnings
from pathlib import Path

import numpy as np
import sklearn
from chain_trace import trace
from matplotlib.figure import Figure
from report import FOLDER, shown, write_picture, write_results
from sklearn.cluster import HDBSCAN, KMeans
from sklearn.metrics import adjusted_rand_score, normalized_mutual_info_score
from sklearn.mixture import BayesianGaussianMixture

import hashmix as hm
from hashmix.paper import make_mixture

SETS = ["s1", "s2", "s3", "s4", "a1", "a2", "a3", "birch1", "birch2", "unbalance", "d31", "barcode_flow", "multicenter_cytof"]
SETS += ["mnist_pca50", "letter", "pendigits", "satellite", "shuttle"]
QUICK_SETS = ["s1", "a1", "unbalance", "pendigits"]
METHODS = ["hashmix", "KMeans", "BGM", "BGM 2K", "HDBSCAN", "fast_hdbscan"]
SAMPLED = ["BGM", "BGM 2K", "HDBSCAN", "fast_hdbscan"]


# ---- fits, each in a process of its own ----


def estimator(name, k, settings):
    if name == "hashmix":
        return hm.SplitMergeMixture(random_state=0, **settings)
    if name == "KMeans":
        return KMeans(k, random_state=0, **settings)
    if name == "HDBSCAN":
        return HDBSCAN(**settings)
    if name == "fast_hdbscan":
        import fast_hdbscan

        return fast_hdbscan.HDBSCAN(**settings)
    return BayesianGaussianMixture(random_state=0, **({"n_components": 2 * k} if name == "BGM 2K" else {}), **settings)


def prepare(name, k, settings, X):
    """Compile, on a few rows; nothing to do for the others."""
    warnings.simplefilter("ignore")
    few = X[np.linspace(0, len(X) - 1, min(len(X), 500)).astype(int)]
    if name == "hashmix":
        estimator(name, k, settings | {"n_draws": 2, "n_warmup": 2}).fit(few)
    elif name == "fast_hdbscan":
        estimator(name, k, settings).fit(few)


def fit(name, k, settings, X):
    """Labels of the rows and seconds of the fit."""
    begin = time.perf_counter()
    labels = estimator(name, k, settings).fit_predict(X)
    return labels, time.perf_counter() - begin


def capped(cap, name, k, X, settings=None):
    """What ``fit`` returns, or None and the reason it does not."""
    arguments = name, k, settings or {}, X
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        try:
            pool.apply(prepare, arguments)
            return pool.apply_async(fit, arguments).get(cap)
        except multiprocessing.TimeoutError:
            return None, f"over {cap:g} s"
        except Exception as error:
            return None, f"{type(error).__name__}: {error}"


# ---- synthetic ----


def line(data, what, seconds, nmi=None, k=None, target="", ratio=None):
    """Print one line of the table, and return it."""
    print(f"{data:28s}{what:44s}{shown(seconds, '10.2f')}{shown(nmi, '9.4f')}{shown(k, '7d')}", end="")
    print(f"{shown(ratio, '9.2f')}  {target}", flush=True)
    return {"data": data, "what": what, "seconds": seconds, "NMI": nmi, "K": k, "ratio": ratio, "target": target}


def peer(data, what, name, k, X, y, cap, settings=None, **columns):
    labels, seconds = capped(cap, name, k, X, settings)
    if labels is None:
        return line(data, f"{what}: {seconds}", None)
    found = len(np.unique(labels[labels >= 0]))
    if reference := columns.pop("over", None):
        columns["ratio"] = seconds / reference
    return line(data, what, seconds, float(normalized_mutual_info_score(y, labels)), found, **columns)


def chain(data, X, y, moves, cap, level, k, slack, over=None, under=False, target=""):
    """Our seconds until NMI is at least ``level`` and K within ``slack`` of k (None: any); the ratio to ``over``."""

    def good(entry):
        return entry["nmi"] >= level and (slack is None or abs(entry["n_clusters"] - k) <= slack * k)

    what = f"ours, to NMI {level:.4f}" + ("" if slack is None else f", K ± {slack:.0%}")
    traced = trace(X, y, moves=moves, n_sweeps=10**9, max_seconds=cap, stop=good)
    entry = {name: values[-1] for name, values in traced.items() if name != "labels"}
    seconds = entry["seconds"] if good(entry) else None
    ratio = None if over is None or seconds is None else (over / seconds if under else seconds / over)
    what += "" if seconds else ": not reached"
    return line(data, what, seconds, entry["nmi"], entry["n_clusters"], target, ratio)


def oracle_line(data, y, oracle):
    return line(data, "labels by the true densities", None, float(normalized_mutual_info_score(y, oracle)), len(set(y)))


def synthetic(args):
    ours = {} if args.moves == "lss" else {"moves": args.moves}
    print(f"{'data':28s}{'what':44s}{'seconds':>10s}{'NMI':>9s}{'K':>7s}{'ratio':>9s}  target of the ratio, or of the time")
    rows = []

    n, d, k = (10_000, 32, 50) if args.quick else (100_000, 32, 500)
    data = f"{n:,} × {d}, K = {k}"
    X, y, oracle = make_mixture(n, d, k, seed=0, return_oracle=True)
    rows.append(oracle_line(data, y, oracle))
    best = rows[-1]["NMI"]
    rows.append(peer(data, f"KMeans({k}, n_init=1)", "KMeans", k, X, y, args.cap, {"n_init": 1}))
    kmeans = rows[-1]["seconds"]
    targets = "to KMeans: at most 3, at best 1", "to KMeans: at most 6, at best 2"
    rows.append(chain(data, X, y, args.moves, args.cap, best - 0.01, k, 0.05, kmeans, target=targets[0]))
    rows.append(peer(data, "ours, a whole fit", "hashmix", k, X, y, args.cap, ours, over=kmeans, target=targets[1]))

    n, d, k = (10_000, 32, 20) if args.quick else (100_000, 32, 50)
    data = f"{n:,} × {d}, K = {k}"
    X, y, oracle = make_mixture(n, d, k, seed=0, return_oracle=True)
    rows.append(oracle_line(data, y, oracle))
    settings = {"n_components": k * 3 // 2, "covariance_type": "diag", "max_iter": 500}
    rows.append(peer(data, f"BGM({settings['n_components']}, diag)", "BGM", k, X, y, args.cap, settings))
    # A BGM that was cut short took the cap at least.
    level, slow = rows[-1]["NMI"] or rows[-2]["NMI"] - 0.01, rows[-1]["seconds"] or args.cap
    target = "BGM to ours: at least 10"
    rows.append(chain(data, X, y, args.moves, args.cap, level, k, None, slow, under=True, target=target))

    n, d, k = (3_000, 8, 30) if args.quick else (20_000, 16, 200)
    data = f"{n:,} × {d}, K = {k}, full"
    X, y, oracle = make_mixture(n, d, k, seed=0, covariance="full", return_oracle=True)
    rows.append(oracle_line(data, y, oracle))
    level = rows[-1]["NMI"] - 0.01 if args.quick else 0.995  # small data do not allow as much
    rows.append(chain(data, X, y, args.moves, args.cap, level, k, 0.03, target="at most 10 s"))
    rows.append(peer(data, "ours, a whole fit", "hashmix", k, X, y, args.cap, ours, target="at most 30 s"))
    rows.append(peer(data, "HDBSCAN()", "HDBSCAN", k, X, y, args.cap))
    rows.append(peer(data, "fast_hdbscan.HDBSCAN()", "fast_hdbscan", k, X, y, args.cap))
    settings = {"n_components": k * 3 // 2, "max_iter": 500}
    rows.append(peer(data, f"BGM({settings['n_components']}, full)", "BGM", k, X, y, args.cap, settings))
    return rows


# ---- real ----


def load(folder, name):
    """Rows and labels, −1 for none; None when the set is absent."""
    path = Path(folder, f"{name}.npz")
    if not path.is_file():
        print(f"{name} is left out: there is no file {path}.")
        return None
    with np.load(path) as file:
        X, y = file["X"], file["y"].astype(np.int64)
    if name == "multicenter_cytof":
        X, y = np.arcsinh(X / 5), np.where(y == 0, -1, y)
    return np.ascontiguousarray(X), y


def score(name, X, y, args):
    """ARI, seconds and K of one method on one set."""
    k = len(np.unique(y[y >= 0]))
    if name in SAMPLED and len(X) > args.rows:
        sample = np.sort(np.random.default_rng(0).choice(len(X), args.rows, replace=False))
        X, y = X[sample], y[sample]
    settings = {"moves": args.moves} if name == "hashmix" and args.moves != "lss" else {}
    labels, seconds = capped(args.cap, name, k, X, settings)
    entry = {"n": len(X), "ARI": None, "seconds": None, "K": None}
    if labels is None:
        return entry | {"why": seconds}
    ari = float(adjusted_rand_score(y[y >= 0], labels[y >= 0]))
    return entry | {"ARI": ari, "seconds": seconds, "K": len(np.unique(labels[labels >= 0]))}


def real(args):
    methods = args.methods.split(",")
    print(f"\n{'set':20s}{'n':>9s}{'D':>4s}{'K':>4s}" + "".join(f"{name + ': ARI':>15s}{'s':>8s}{'K':>6s}" for name in methods))
    sets, notes = {}, []
    for name in args.sets:
        loaded = load(args.data, name)
        if loaded is None:
            continue
        X, y = loaded
        k = len(np.unique(y[y >= 0]))
        print(f"{name:20s}{len(X):9,d}{X.shape[1]:4d}{k:4d}", end="", flush=True)
        sets[name] = {"n": len(X), "D": X.shape[1], "true K": k}
        for method in methods:
            sets[name][method] = entry = score(method, X, y, args)
            mark = "*" if entry["n"] < len(X) else " "
            columns = f"{shown(entry['ARI'], '14.3f')}{mark}{shown(entry['seconds'], '8.2f')}{shown(entry['K'], '6d')}"
            print(columns, end="", flush=True)
            if "why" in entry:
                notes.append(f"{method} on {name}: {entry['why']}")
        print()
    means = {}
    for method in methods:
        finished = [entry[method] for entry in sets.values() if entry[method]["ARI"] is not None]
        if finished:
            means[method] = {key: float(np.mean([entry[key] for entry in finished])) for key in ("ARI", "seconds")}
            means[method]["sets"] = len(finished)
    columns = [means.get(method, {"ARI": None, "seconds": None, "sets": 0}) for method in methods]
    print(f"{'mean where finished':37s}", end="")
    print("".join(f"{shown(entry['ARI'], '14.3f')} {shown(entry['seconds'], '8.2f')}{'':6s}" for entry in columns))
    print(f"{'sets finished':37s}" + "".join(f"{entry['sets']:14d}{'':15s}" for entry in columns))
    print(f"* on {args.rows:,} rows drawn at random. Columns as they are for everyone (multicenter_cytof: arcsinh(x / 5)).")
    for note in notes:
        print(note)
    return {"sets": sets, "means": means, "notes": notes, "rows": args.rows}


def picture(found):
    sets, means = found["sets"], found["means"]
    methods = list(means)
    names = [*sets, "mean"]
    figure = Figure(figsize=(max(7.0, 0.9 * len(names) + 1), 4.2), layout="constrained")
    axis = figure.subplots()
    width = 0.84 / len(methods)
    places = np.arange(len(names)) + np.where(np.array(names) == "mean", 0.5, 0.0)
    for m, (method, colour) in enumerate(
        zip(methods, ["#EE6677", "#4477AA", "#CCBB44", "#228833", "#AA3377", "#66CCEE"], strict=False)
    ):
        heights = [entry[method]["ARI"] for entry in sets.values()] + [means.get(method, {}).get("ARI")]
        at = places + (m - (len(methods) - 1) / 2) * width
        axis.bar(at, [0.0 if height is None else max(height, 0.0) for height in heights], width, color=colour, label=method)
        for x, height in zip(at, heights, strict=True):
            if height is None:
                axis.text(x, 0.01, "×", ha="center", color=colour, fontsize="small")
    axis.set_xticks(places, names, rotation=40, ha="right")
    axis.axvline(places[-1] - 0.75, color="0.7", lw=0.8)
    axis.set(ylabel="adjusted Rand index", ylim=(0, 1.02), xlim=(places[0] - 0.6, places[-1] + 0.6))
    axis.legend(frameon=False, ncols=len(methods), loc="lower center", bbox_to_anchor=(0.5, 1.0))
    if any(entry[method]["ARI"] is None for entry in sets.values() for method in methods):
        axis.set_xlabel("× did not finish")
    write_picture("peers", figure)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--part", default="all", choices=["synthetic", "real", "all"])
    parser.add_argument("--sets", help="some of the real sets, joined by commas")
    parser.add_argument("--data", default="../shared/data", help="the folder of the real sets")
    parser.add_argument("--cap", type=float, help="seconds for one fit; 600 by default")
    parser.add_argument("--rows", type=int, default=50_000, help="at most, for HDBSCAN and BGM")
    parser.add_argument("--moves", default="lss", help="our schedule")
    parser.add_argument("--methods", default=",".join(METHODS), help="on real sets, joined by commas")
    parser.add_argument("--quick", action="store_true", help="small mixtures, a few small sets, at most 60 seconds a fit")
    args = parser.parse_args()
    args.cap = args.cap or (60.0 if args.quick else 600.0)
    args.sets = args.sets.split(",") if args.sets else (QUICK_SETS if args.quick else SETS)
    path = FOLDER / "peers.json"
    settings = {"moves": args.moves, "quick": args.quick, "cap": args.cap, "scikit-learn": sklearn.__version__}
    results = json.loads(path.read_text()) if path.is_file() else {}
    if any(results.get(name) != value for name, value in settings.items()):
        results = settings  # nothing of runs with other settings
    if args.part != "real":
        results["synthetic"] = synthetic(args)
    if args.part != "synthetic":
        results["real"] = real(args)
        if results["real"]["sets"]:
            picture(results["real"])
    write_results("peers", results)


if __name__ == "__main__":
    main()
