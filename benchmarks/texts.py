"""How hashmix with its defaults compares on labelled texts, in quality and in time.

    python benchmarks/texts.py [--data ../shared/data] [--sets tweet,ng20] [--methods hashmix,KMeans] [--cap 300] [--quick]

Adjusted Rand index (ARI), normalised mutual information (NMI) and seconds of a fit, against scikit-learn's latent Dirichlet
allocation (the likeliest topic of a document; given the true K), KMeans on 50 singular vectors of tf-idf (given the true K),
and the collapsed Gibbs sampler of the same mixture ("gibbs": our moves="gibbs" from one cluster, the method known for short
texts as GSDMM). Documents without a label count in the fit, not in the score. Samplers stop after --cap seconds with what they
have; other fits are given up. Neither imports nor compiling count. Prints one table, writes benchmarks/results/texts.json and
.png.
"""

from __future__ import annotations

import argparse
import multiprocessing
import time
import warnings
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure
from report import shown, write_picture, write_results
from scipy.sparse import csr_matrix
from sklearn.cluster import KMeans
from sklearn.decomposition import LatentDirichletAllocation, TruncatedSVD
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.metrics import adjusted_rand_score, normalized_mutual_info_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import Normalizer

import hashmix as hm

SETS = ["tweet", "googlenews_t", "searchsnippets", "stackoverflow", "pubmed_drugreviews", "ng20", "dblp_titles"]
SETS += ["pubmed_medline", "debian_l10n"]
METHODS = ["hashmix", "gibbs", "KMeans", "LDA"]


def prepare(name, X):
    """Compile, on a few rows; nothing to do for the others."""
    warnings.simplefilter("ignore")
    if name in ("hashmix", "gibbs"):
        moves = "lss" if name == "hashmix" else "gibbs"
        hm.SplitMergeMixture("multinomial", moves=moves, n_draws=2, n_warmup=2, random_state=0).fit(X[:500])


def fit(name, k, X, cap):
    """Labels of the documents and seconds of the fit."""
    begin = time.perf_counter()
    if name == "hashmix":
        labels = hm.SplitMergeMixture("multinomial", random_state=0, max_seconds=cap).fit(X).labels_
    elif name == "gibbs":
        model = hm.SplitMergeMixture("multinomial", moves="gibbs", init="single", random_state=0, max_seconds=cap)
        labels = model.fit(X).labels_
    elif name == "KMeans":
        vectors = make_pipeline(TfidfTransformer(), TruncatedSVD(50, random_state=0), Normalizer()).fit_transform(X)
        labels = KMeans(k, n_init=1, random_state=0).fit_predict(vectors)
    else:
        labels = LatentDirichletAllocation(k, random_state=0, n_jobs=-1).fit_transform(X).argmax(axis=1)
    return labels, time.perf_counter() - begin


def capped(name, k, X, cap):
    """What ``fit`` returns, or None and the reason it does not."""
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        try:
            pool.apply(prepare, (name, X))
            # Samplers keep to the cap themselves, but for finding neighbours, the start and the point estimate.
            return pool.apply_async(fit, (name, k, X, cap)).get(cap if name in ("KMeans", "LDA") else 3 * cap)
        except multiprocessing.TimeoutError:
            return None, f"over {cap:g} s"
        except Exception as error:
            return None, f"{type(error).__name__}: {error}"


def load(folder, name):
    """Counts and labels, −1 for none; None when the set is absent."""
    path = Path(folder, f"{name}.npz")
    if not path.is_file():
        print(f"{name} is left out: there is no file {path}.")
        return None
    with np.load(path) as file:
        X = csr_matrix((file["data"], file["indices"], file["indptr"]), shape=tuple(file["shape"]))
        return X, file["y"].astype(np.int64)


def picture(sets, methods):
    figure = Figure(figsize=(11, 6), layout="constrained")
    axes = figure.subplots(2, 1, sharex=True)
    width = 0.84 / len(methods)
    places = np.arange(len(sets))
    for axis, what in zip(axes, ("NMI", "ARI"), strict=True):
        for m, (method, colour) in enumerate(zip(methods, ["#EE6677", "#AA3377", "#4477AA", "#CCBB44"], strict=False)):
            heights = [entry[method][what] or 0.0 for entry in sets.values()]
            axis.bar(places + (m - (len(methods) - 1) / 2) * width, heights, width, color=colour, label=method)
        axis.set_ylabel(what)
    axes[0].legend(frameon=False, ncols=len(methods), loc="lower center", bbox_to_anchor=(0.5, 1.0))
    axes[1].set_xticks(places, list(sets), rotation=30, ha="right")
    write_picture("texts", figure)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", default="../shared/data", help="the folder of the sets")
    parser.add_argument("--sets", help="some of the sets, joined by commas")
    parser.add_argument("--methods", default=",".join(METHODS), help="joined by commas")
    parser.add_argument("--cap", type=float, default=300.0, help="seconds for one fit")
    parser.add_argument("--quick", action="store_true", help="the three smallest sets, at most 30 seconds a fit")
    args = parser.parse_args()
    cap = 30.0 if args.quick else args.cap
    names = args.sets.split(",") if args.sets else (SETS[:3] if args.quick else SETS)
    methods = args.methods.split(",")
    print(f"{'set':20s}{'n':>9s}{'words':>7s}{'K':>5s}", end="")
    print("".join(f"{method + ': NMI':>14s}{'ARI':>7s}{'K':>6s}{'s':>7s}" for method in methods))
    sets = {}
    for name in names:
        loaded = load(args.data, name)
        if loaded is None:
            continue
        X, y = loaded
        known = y >= 0
        k = len(np.unique(y[known]))
        sets[name] = {"n": X.shape[0], "words": X.shape[1], "true K": k}
        print(f"{name:20s}{X.shape[0]:9,d}{X.shape[1]:7d}{k:5d}", end="", flush=True)
        for method in methods:
            labels, seconds = capped(method, k, X, cap)
            entry = {"NMI": None, "ARI": None, "K": None, "seconds": None}
            if labels is None:
                entry["why"] = seconds
            else:
                entry["NMI"] = float(normalized_mutual_info_score(y[known], labels[known]))
                entry["ARI"] = float(adjusted_rand_score(y[known], labels[known]))
                entry["K"], entry["seconds"] = len(np.unique(labels)), seconds
            sets[name][method] = entry
            print(f"{shown(entry['NMI'], '14.3f')}{shown(entry['ARI'], '7.3f')}", end="")
            print(f"{shown(entry['K'], '6d')}{shown(entry['seconds'], '7.0f')}", end="", flush=True)
        print()
    write_results("texts", {"cap": cap, "sets": sets})
    if sets:
        picture(sets, methods)


if __name__ == "__main__":
    main()
