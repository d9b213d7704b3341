"""What `make demo` runs: cluster 1200 points whose number of clusters nobody tells, print what was found, draw it."""

from __future__ import annotations

from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
from sklearn.metrics import adjusted_rand_score

import hashmix as hm
from hashmix import plot


def twelve_clusters() -> tuple[np.ndarray, np.ndarray]:
    """1200 rows from twelve Gaussians of different sizes, shapes and orientations, in metres and dollars."""
    rng = np.random.default_rng(7)
    y = rng.choice(12, size=1200, p=rng.dirichlet(np.full(12, 5.0)))
    centres = np.stack(np.meshgrid(np.arange(4), np.arange(3)), axis=-1).reshape(12, 2) * 8.0 + rng.normal(size=(12, 2))
    shapes = rng.normal(size=(12, 2, 2)) * 0.7 + 0.6 * np.eye(2)
    X = centres[y] + np.einsum("nij,nj->ni", shapes[y], rng.normal(size=(1200, 2)))
    return X * [1.0, 2500.0], y


def main() -> None:
    X, y = twelve_clusters()
    print("Clustering 1200 rows, columns in metres and dollars, from 12 clusters. (The first run compiles: about 20 s.)")
    model = hm.SplitMergeMixture(n_chains=2, random_state=0).fit(X)
    print()
    print(model.posterior_)
    print()
    agreement = adjusted_rand_score(y, model.labels_)
    print(f"point estimate: {model.n_clusters_} clusters; adjusted Rand index with the truth {agreement:.3f}")

    figure = plt.figure(figsize=(11, 4.6), layout="constrained")
    left, right = figure.subfigures(1, 2, width_ratios=[1.1, 1])
    ax = plot.clusters(X, model.labels_, ax=left.subplots())
    ax.set(xlabel="metres", ylabel="dollars", title=f"{model.n_clusters_} clusters found")
    axes = plot.trace(model.posterior_, axes=right.subplots(2, 1, sharex=True))
    axes[0].set_title("two chains from one cluster")
    path = Path("demo.png")
    figure.savefig(path, dpi=130)
    print(f"wrote {path}")


if __name__ == "__main__":
    main()
