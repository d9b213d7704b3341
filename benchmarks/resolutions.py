"""Real sets with known classes: labels, cuts and reproducible levels against peers that are told the number of classes, or not.

Run: ``python benchmarks/resolutions.py --data FOLDER [--half tuned|kept|whole] [--jobs 8] [--methods ours] [NAME …]``. The
folder holds one ``NAME.npz`` per set, with ``X`` and ``y``; iris, wine, breast_cancer and digits come with scikit-learn. At
most 8,000 rows of a set are used, drawn with a fixed seed; with ``--half whole``, all rows of two large sets, with k-means as
the only peer. Peers see standardised columns. Sets are run in ``--jobs`` processes. Results go to
``benchmarks/results/resolutions_*.json``; ``--methods ours`` takes the peers' figures from there, as far as there are any. With
names, only these sets are run and nothing is written.
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from pathlib import Path

import numpy as np
from joblib import Parallel, delayed
from report import write_results
from rivals import choosing_k, told_k
from sklearn import datasets
from sklearn.cluster import KMeans
from sklearn.metrics import adjusted_rand_score
from sklearn.preprocessing import StandardScaler

import hashmix as hm

#: Sets that choices were made on, and sets that were looked at once.
TUNED = ["iris", "breast_cancer", "digits", "satellite", "shuttle", "s1", "s3", "a1", "a3", "birch1", "unbalance"]
KEPT = ["wine", "pendigits", "letter", "mnist_pca50", "s2", "s4", "a2", "birch2", "d31", "barcode_flow", "multicenter_cytof"]
WHOLE = ["mnist_pca50", "multicenter_cytof"]
#: Of both halves: means over these are also printed once both were run.
NINE = ["iris", "wine", "breast_cancer", "digits", "pendigits", "satellite", "letter", "shuttle", "mnist_pca50"]
BUNDLED = ("iris", "wine", "breast_cancer", "digits")
MOST_ROWS = 8000
RESULTS = Path(__file__).parent / "results"


def load(name: str, folder: str, most_rows: int) -> tuple[np.ndarray, np.ndarray]:
    """Rows and classes of a set; rows without a class are left out."""
    if name in BUNDLED:
        X, y = getattr(datasets, f"load_{name}")(return_X_y=True)
    else:
        with np.load(Path(folder) / f"{name}.npz") as file:
            X, y = file["X"], file["y"]
    if name == "multicenter_cytof":
        X, y = np.arcsinh(X / 5.0), y.astype(int) - 1
    X, y = X[y >= 0], y[y >= 0]
    if len(X) > most_rows:
        chosen = np.sort(np.random.default_rng(0).choice(len(X), most_rows, replace=False))
        X, y = X[chosen], y[chosen]
    return np.ascontiguousarray(X), y


def k_means(X: np.ndarray, y: np.ndarray) -> float:
    """Adjusted Rand index of k-means told K, on columns as they are or standardised, whichever is better."""
    k, Z = len(set(y.tolist())), StandardScaler().fit_transform(X.astype(np.float64))
    return max(adjusted_rand_score(y, KMeans(k, n_init=3, random_state=0).fit_predict(data)) for data in (X, Z))


def peers(X: np.ndarray, y: np.ndarray) -> dict[str, float]:
    """Adjusted Rand index of every peer."""
    Z = StandardScaler().fit_transform(X.astype(np.float64))
    found = {name: adjusted_rand_score(y, labels) for name, labels in [*told_k(Z, len(set(y.tolist()))), *choosing_k(Z)]}
    return found | {"k-means told K": k_means(X, y)}


def ours(X: np.ndarray, y: np.ndarray) -> dict[str, float]:
    """Indices and numbers of clusters of the default fit."""
    k, begin = len(set(y.tolist())), time.perf_counter()
    model = hm.SplitMergeMixture(random_state=0).fit(X)
    fitted = time.perf_counter() - begin
    reproducible = model.cut("reproducible")
    return {
        "hashmix labels": adjusted_rand_score(y, model.labels_),
        "hashmix reproducible": adjusted_rand_score(y, reproducible),
        "hashmix cut at K": adjusted_rand_score(y, model.cut(min(k, model.n_clusters_))),
        "K": k,
        "K labels": model.n_clusters_,
        "K reproducible": int(reproducible.max()) + 1,
        "component": type(model.component_).__name__,
        "seconds fit": round(fitted, 1),
        "seconds levels": round(time.perf_counter() - begin - fitted, 1),
    }


def one_set(name: str, folder: str, whole: bool, earlier: dict[str, float] | None) -> dict:
    """All results of a set. Peers are run unless their earlier figures are given."""
    warnings.simplefilter("ignore")
    X, y = load(name, folder, 10**9 if whole else MOST_ROWS)
    if whole:
        ours(X[:2000], y[:2000])  # compiles what is needed
    result = ours(X, y)
    if earlier is None:
        earlier = {"k-means told K": k_means(X, y)} if whole else peers(X, y)
    result |= earlier
    print(name, X.shape, {key: round(v, 3) if isinstance(v, float) else v for key, v in result.items()}, flush=True)
    return result


def known(half: str) -> dict[str, dict]:
    """Results of an earlier run, by set."""
    path = RESULTS / f"resolutions_{half}.json"
    return json.loads(path.read_text(encoding="utf-8"))["sets"] if path.exists() else {}


def peers_known(half: str) -> dict[str, dict[str, float]]:
    """The peers' figures of an earlier run, by set."""
    ours_too = ("hashmix", "K", "component", "seconds")
    return {
        name: {key: value for key, value in result.items() if not key.startswith(ours_too)}
        for name, result in known(half).items()
    }


def means_of(results: dict[str, dict]) -> dict[str, float]:
    """Means of the indices, and the median ratio of the reproducible number of clusters to that of classes."""
    of_first, *others = results.values()
    indices = [key for key, value in of_first.items() if isinstance(value, float) and "seconds" not in key]
    indices = [key for key in indices if all(key in result for result in others)]
    means = {key: round(float(np.mean([result[key] for result in results.values()])), 3) for key in indices}
    ratios = [result["K reproducible"] / result["K"] for result in results.values()]
    return means | {"median K reproducible / K": round(float(np.median(ratios)), 2)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", required=True)
    parser.add_argument("--half", choices=["tuned", "kept", "whole"], default="tuned")
    parser.add_argument("--methods", choices=["all", "ours"], default="all")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("names", nargs="*")
    options = parser.parse_args()
    half = options.half
    names = options.names or {"tuned": TUNED, "kept": KEPT, "whole": WHOLE}[half]
    earlier = peers_known(half) if options.methods == "ours" else None
    found = Parallel(options.jobs)(
        delayed(one_set)(name, options.data, half == "whole", None if earlier is None else earlier.get(name, {}))
        for name in names
    )
    results = dict(zip(names, found, strict=True))
    means = means_of(results)
    print("means", means)
    if not options.names:
        write_results(f"resolutions_{half}", {"means": means, "sets": results})
    both = known("tuned") | known("kept")
    if half != "whole" and not options.names and all(name in both for name in NINE):
        print("means of the nine", means_of({name: both[name] for name in NINE}))


if __name__ == "__main__":
    main()
