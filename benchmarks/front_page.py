"""The table of the README: hashmix with its defaults beside what people use otherwise, on small sets that everybody has.

Run: ``python benchmarks/front_page.py``. Iris, wine, breast_cancer and digits come with scikit-learn; "40 Gaussians"
are 4,000 rows in 8 columns, of clusters of unequal sizes; "moons" are two half circles, which are not what a Gaussian
mixture is for. Methods that are told the number of classes are marked. Peers see standardised columns, hashmix sees
columns as they are. Takes a few minutes.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator

import numpy as np
from report import write_results
from rivals import choosing_k, told_k
from sklearn import datasets
from sklearn.metrics import adjusted_rand_score
from sklearn.preprocessing import StandardScaler

import hashmix as hm


def forty_gaussians() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    y = rng.choice(40, size=4000, p=rng.dirichlet(np.full(40, 2.0)))
    return 2.5 * rng.normal(size=(40, 8))[y] + rng.normal(size=(4000, 8)), y


SETS = {
    "iris": lambda: datasets.load_iris(return_X_y=True),
    "wine": lambda: datasets.load_wine(return_X_y=True),
    "breast_cancer": lambda: datasets.load_breast_cancer(return_X_y=True),
    "digits": lambda: datasets.load_digits(return_X_y=True),
    "40 Gaussians": forty_gaussians,
    "moons": lambda: datasets.make_moons(1000, noise=0.06, random_state=0),
}


def all_labels(X: np.ndarray, k: int) -> Iterator[tuple[str, np.ndarray]]:
    """Name and labels of every method."""
    Z = StandardScaler().fit_transform(X.astype(np.float64))
    yield from told_k(Z, k)
    yield from choosing_k(Z)
    model = hm.SplitMergeMixture(random_state=0).fit(X)
    yield "hashmix", model.labels_
    yield "hashmix, reproducible level", model.cut("reproducible")


def main() -> None:
    warnings.simplefilter("ignore")
    results: dict[str, dict] = {}
    for name, make in SETS.items():
        X, y = make()
        classes = len(set(y.tolist()))
        results[name] = {"rows": len(X), "columns": X.shape[1], "classes": classes, "methods": {}}
        for method, labels in all_labels(X, classes):
            found = {"ARI": round(float(adjusted_rand_score(y, labels)), 3), "K": len(set(labels[labels >= 0].tolist()))}
            results[name]["methods"][method] = found
            print(f"{name:14s} {method:28s} {found}", flush=True)
        write_results("front_page", {"sets": results})


if __name__ == "__main__":
    main()
