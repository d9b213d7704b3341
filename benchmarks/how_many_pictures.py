"""The pictures and figures of docs/how_many_clusters.md. Run: ``python benchmarks/how_many_pictures.py``."""

from __future__ import annotations

import warnings
from pathlib import Path

import matplotlib
import matplotlib.pyplot as plt
import numpy as np
from report import write_results
from sklearn.datasets import load_breast_cancer, load_digits
from sklearn.metrics import adjusted_rand_score

import hashmix as hm

IMAGES = Path(__file__).parent.parent / "docs" / "images"


def digits() -> None:
    """Three resolutions, the tree, and the levels."""
    X, y = load_digits(return_X_y=True)
    model = hm.SplitMergeMixture(random_state=0).fit(X)
    views = {"the estimate": model.labels_, "reproducible": model.cut("reproducible"), "cut at 10": model.cut(10)}
    figure, axes = plt.subplots(1, 3, figsize=(12, 4.2), layout="constrained")
    for ax, (name, labels) in zip(axes, views.items(), strict=True):
        hm.plot.clusters(X, labels, ax)
        ax.set_title(f"{name}: {labels.max() + 1} clusters, ARI {adjusted_rand_score(y, labels):.2f}", fontsize="medium")
        ax.set(xlabel="", ylabel="", xticks=[], yticks=[])
        print(f"digits, {name}: {labels.max() + 1} clusters, ARI {adjusted_rand_score(y, labels):.3f}")
    figure.savefig(IMAGES / "how_many_resolutions.png", dpi=90)
    figure, axes = plt.subplots(1, 2, figsize=(12, 4.2), layout="constrained", width_ratios=[1.4, 1.0])
    hm.plot.tree(model.tree_, np.bincount(model.labels_), axes[0])
    hm.plot.levels(model.levels(), axes[1])
    figure.savefig(IMAGES / "how_many_tree.png", dpi=90)


def breast_cancer() -> None:
    """Every view of a set of two classes."""
    X, y = load_breast_cancer(return_X_y=True)
    model = hm.SplitMergeMixture(random_state=0).fit(X)
    print("breast_cancer:", model.posterior_.settings["chosen"])
    views = {"labels_": model.labels_, 'cut("reproducible")': model.cut("reproducible")}
    views |= {f"cut({k})": model.cut(k) for k in (5, 3, 2)}
    views |= {f"sample_size={m}": hm.SplitMergeMixture(sample_size=m, random_state=0).fit(X).labels_ for m in (100, 200)}
    found = {}
    for name, labels in views.items():
        sizes = np.sort(np.bincount(labels))[::-1]
        index = round(float(adjusted_rand_score(y, labels)), 3)
        found[name] = {"clusters": len(sizes), "ARI": index, "largest": sizes[:5].tolist()}
    write_results("breast_cancer", {"views": found})


if __name__ == "__main__":
    matplotlib.use("Agg")
    warnings.simplefilter("ignore")
    digits()
    breast_cancer()
