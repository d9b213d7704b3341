"""Tables of columns of different kinds with blanks: hashmix against peers, in quality and in time; and reading CSV.

    python benchmarks/mixed.py [--part mixed|blanks|csv|all] [--methods hashmix,StepMix] [--cap 600] [--quick]

mixed: a synthetic table (20,000 rows; 6 numeric, 6 categorical, 4 yes/no and 4 count columns; 20 % blanks; 30 clusters).
hashmix finds the number of clusters. StepMix (EM for mixed columns with blanks) is given it, and chooses it by BIC among
10, 20, 30, 40 and 50; it has no counts, which it takes as numbers. k-prototypes (kmodes) and k-means of the one-hot columns are
given it too; they take no blanks, so that these are filled with the column's mean or its most frequent category.
Peers: pip install stepmix kmodes.

blanks: numeric data, complete and with 10 % blanks. csv: seconds to read 10⁶ × 10 numbers.

Every fit is a process of its own, and is given up after --cap seconds. Neither imports nor compiling count. Each part
is written to benchmarks/results/tables_<part>.json.
"""

from __future__ import annotations

import argparse
import multiprocessing
import tempfile
import time
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
from report import shown, write_results
from scipy.special import gammaln
from sklearn.cluster import KMeans
from sklearn.metrics import adjusted_rand_score, normalized_mutual_info_score

import hashmix as hm
from hashmix.data.ingest import read_data
from hashmix.paper import make_mixture

KINDS = {"number": 6, "category": 6, "flag": 4, "count": 4}
METHODS = ["hashmix", "StepMix", "StepMix by BIC", "k-prototypes", "k-means"]
GRID = [10, 20, 30, 40, 50]


# ---- data ----


def table(n, k, blanks, seed=0):
    """A DataFrame, the clusters of its rows, and the labels that the true densities of the cells that are there give."""
    rng = np.random.default_rng(seed)
    weights = rng.dirichlet(np.full(k, 5.0))
    y = rng.choice(k, n, p=weights)
    columns, log_p = {}, np.tile(np.log(weights), (n, 1))
    for j in range(KINDS["number"]):
        mean = rng.normal(0.0, 3.0, k)
        x = mean[y] + rng.normal(size=n)
        add(columns, log_p, f"number {j}", x, -0.5 * (x[:, None] - mean) ** 2, rng.random(n) < blanks)
    for j in range(KINDS["category"]):
        levels = 3 + j
        shares = rng.dirichlet(np.full(levels, 0.3), k).clip(1e-9)
        x = (np.cumsum(shares, axis=1)[y] < rng.random(n)[:, None]).sum(axis=1).clip(max=levels - 1)
        names = np.array([f"level {c}" for c in range(levels)], object)
        add(columns, log_p, f"category {j}", names[x], np.log(shares.T[x]), rng.random(n) < blanks)
    for j in range(KINDS["flag"]):
        share = rng.beta(0.5, 0.5, k).clip(1e-9, 1 - 1e-9)
        x = rng.random(n) < share[y]
        names = np.where(x, "yes", "no").astype(object)
        add(columns, log_p, f"flag {j}", names, np.log(np.where(x[:, None], share, 1 - share)), rng.random(n) < blanks)
    for j in range(KINDS["count"]):
        rate = rng.gamma(1.0, 5.0, k) + 0.1
        x = rng.poisson(rate[y]).astype(float)
        terms = x[:, None] * np.log(rate) - rate - gammaln(x + 1.0)[:, None]
        add(columns, log_p, f"count {j}", x, terms, rng.random(n) < blanks)
    return pd.DataFrame(columns), y, log_p.argmax(axis=1)


def add(columns, log_p, name, values, terms, blank):
    columns[name] = np.where(blank, None if values.dtype == object else np.nan, values)
    log_p += np.where(blank[:, None], 0.0, terms)


def filled(frame):
    """Numbers standardised, categories as they are; no blanks."""
    out = {}
    for name, column in frame.items():
        if column.dtype.kind == "O":
            out[name] = column.fillna(column.mode()[0])
        else:
            out[name] = ((column - column.mean()) / column.std()).fillna(0.0)
    return pd.DataFrame(out)


# ---- fits, each in a process of its own ----


def fit(name, frame, k):
    """Labels of the rows, and the seconds of the fit."""
    warnings.simplefilter("ignore")
    if name == "hashmix":
        hm.SplitMergeMixture(n_draws=2, n_warmup=2, random_state=0).fit(frame[:500])
        begin = time.perf_counter()
        labels = hm.SplitMergeMixture(random_state=0).fit(frame).labels_
    elif name.startswith("StepMix"):
        begin = time.perf_counter()
        labels = step_mix(frame, [k] if name == "StepMix" else GRID)
    elif name == "k-prototypes":
        from kmodes.kprototypes import KPrototypes

        begin = time.perf_counter()
        table = filled(frame)
        places = [j for j, (_, column) in enumerate(table.items()) if column.dtype.kind == "O"]
        labels = KPrototypes(k, n_init=1, random_state=0).fit_predict(table.to_numpy(), categorical=places)
    else:
        begin = time.perf_counter()
        labels = KMeans(k, n_init=10, random_state=0).fit_predict(pd.get_dummies(filled(frame)).to_numpy(float))
    return labels, time.perf_counter() - begin


def step_mix(frame, numbers):
    """Labels of the fit with the least BIC."""
    from stepmix.stepmix import StepMix
    from stepmix.utils import get_mixed_descriptor

    data, kinds = {}, {"continuous_nan": [], "categorical_nan": [], "binary_nan": []}
    for name, column in frame.items():
        kind = name.split()[0]
        data[name] = column if kind in ("number", "count") else column.astype("category").cat.codes.replace(-1, np.nan)
        kinds[{"category": "categorical_nan", "flag": "binary_nan"}.get(kind, "continuous_nan")].append(name)
    data, descriptor = get_mixed_descriptor(pd.DataFrame(data), **kinds)
    best = None
    for number in numbers:
        model = StepMix(number, measurement=descriptor, n_init=1, max_iter=200, random_state=0, progress_bar=0)
        model.fit(data)
        if len(numbers) == 1:
            return model.predict(data)
        bic = model.bic(data)
        if best is None or bic < best[0]:
            best = bic, model.predict(data)
    return best[1]


def numbers(component, X):
    """Labels, and the seconds of a fit of numbers."""
    warnings.simplefilter("ignore")
    hm.SplitMergeMixture(component, n_draws=2, n_warmup=2, random_state=0).fit(X[:500])
    begin = time.perf_counter()
    labels = hm.SplitMergeMixture(component, random_state=0).fit(X).labels_
    return labels, time.perf_counter() - begin


def read(path):
    begin = time.perf_counter()
    return read_data(path).X.shape, time.perf_counter() - begin


def capped(cap, work, *arguments):
    """What ``work`` returns, or None and the reason why not."""
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        try:
            return pool.apply_async(work, arguments).get(cap)
        except multiprocessing.TimeoutError:
            return None, f"over {cap:g} s"
        except Exception as error:
            return None, f"{type(error).__name__}: {error}"


# ---- parts ----


def line(what, y, labels, seconds):
    """Print one line of the table, and return it."""
    if labels is None and isinstance(seconds, str):
        print(f"{what:44s}{seconds}", flush=True)
        return {"what": what, "why": seconds, "seconds": None, "NMI": None, "ARI": None, "K": None}
    nmi, ari = float(normalized_mutual_info_score(y, labels)), float(adjusted_rand_score(y, labels))
    found = len(np.unique(labels))
    print(f"{what:44s}{shown(seconds, '10.2f')}{nmi:9.4f}{ari:9.4f}{found:7d}", flush=True)
    return {"what": what, "seconds": seconds, "NMI": nmi, "ARI": ari, "K": found}


def mixed(args):
    n, k = (3_000, 10) if args.quick else (20_000, 30)
    frame, y, oracle = table(n, k, 0.2)
    print(f"{n:,} × {frame.shape[1]}, 20 % blanks, K = {k}\n{'':44s}{'seconds':>10s}{'NMI':>9s}{'ARI':>9s}{'K':>7s}")
    rows = [line("labels by the true densities", y, oracle, None)]
    for name in args.methods.split(","):
        rows.append(line(name, y, *capped(args.cap, fit, name, frame, k)))
    return {"n": n, "K": k, "rows": rows}


def blanks(args):
    n, d, k = (5_000, 10, 10) if args.quick else (50_000, 10, 20)
    X, y = make_mixture(n, d, k, seed=0)
    missing = X.copy()
    missing[np.random.default_rng(0).random(X.shape) < 0.1] = np.nan
    print(f"\n{n:,} × {d} numbers, K = {k}\n{'':44s}{'seconds':>10s}{'NMI':>9s}{'ARI':>9s}{'K':>7s}")
    works = ("complete", "auto", X), ("complete, diagonal", "gaussian", X), ("10 % blanks", "auto", missing)
    rows = [line(what, y, *capped(args.cap, numbers, component, data)) for what, component, data in works]
    times = [row["seconds"] for row in rows]
    ratios = {name: None if None in times else times[2] / times[j] for j, name in enumerate(("auto", "diagonal"))}
    print(f"blanks to complete: {ratios} (target: at most 2)")
    return {"n": n, "D": d, "K": k, "rows": rows, "ratios": ratios}


def csv(args):
    n = 100_000 if args.quick else 1_000_000
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "numbers.csv")
        pd.DataFrame(np.random.default_rng(0).normal(size=(n, 10)), columns=list("abcdefghij")).to_csv(path, index=False)
        shape, seconds = capped(args.cap, read, path)
    print(f"\nread {n:,} × 10 from CSV: {seconds if shape is None else f'{seconds:.2f} s'} (target for 10⁶: at most 5 s)")
    return {"rows": n, "seconds": None if shape is None else seconds}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parts = {"mixed": mixed, "blanks": blanks, "csv": csv}
    parser.add_argument("--part", default="all", choices=[*parts, "all"])
    parser.add_argument("--methods", default=",".join(METHODS), help="joined by commas")
    parser.add_argument("--cap", type=float, default=600.0, help="seconds for one fit")
    parser.add_argument("--quick", action="store_true", help="small data")
    args = parser.parse_args()
    for name, part in parts.items():
        if args.part in (name, "all"):
            write_results(f"tables_{name}", {"quick": args.quick, "cap": args.cap} | part(args))


if __name__ == "__main__":
    main()
