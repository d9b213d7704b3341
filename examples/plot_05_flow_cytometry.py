"""
Flow cytometry: rare populations
================================

A cytometer measures a few markers on thousands of cells. Populations differ in size by orders of magnitude, and the
rare ones are often the interesting ones. A Dirichlet process mixture can represent clusters of very different sizes:
here, a distinct cluster of 40 cells among 6,000 is found.
"""

# %%
# Cells
# -----
# The data are simulated: six populations and four markers, on the arcsinh scale that is usual in this field. The rarest
# population has 40 cells.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.cluster import KMeans

import hashmix as hm

rng = np.random.default_rng(3)
markers = ["CD3", "CD4", "CD8", "CD19"]
centres = np.array(
    [
        [4.5, 4.6, 0.6, 0.4],
        [4.4, 0.7, 4.8, 0.5],
        [0.5, 1.2, 0.6, 4.4],
        [0.6, 2.6, 0.7, 0.5],
        [4.5, 4.2, 4.6, 0.6],
        [2.4, 0.6, 2.6, 0.4],
    ]
)
sizes = [2500, 1500, 1000, 760, 40, 200]
population = np.repeat(np.arange(6), sizes)
roots = 0.35 * np.eye(4) + rng.normal(0.0, 0.12, size=(6, 4, 4))
cells = centres[population] + np.einsum("nij,nj->ni", roots[population], rng.normal(size=(len(population), 4)))

# %%
# The fit
# -------
# ``component="auto"`` compares Gaussians with diagonal and with full covariances on a sample of the rows, and takes the
# one with the higher marginal likelihood.

model = hm.SplitMergeMixture(random_state=0).fit(cells)
print(type(model.component_).__name__, np.sort(np.bincount(model.labels_))[::-1])

# %%
# Was the rare population found? We compare with k-means, which is given the right number of clusters.

rare = population == 4
k_means = KMeans(6, n_init=10, random_state=0).fit_predict(cells)
for name, labels in (("hashmix", model.labels_), ("k-means", k_means)):
    home = np.bincount(labels[rare]).argmax()
    print(f"{name}: {np.sum(labels[rare] == home)} of 40 cells are in one cluster, which has {np.sum(labels == home)} cells")

# %%

figure, axes = plt.subplots(1, 3, figsize=(11, 3.7), layout="constrained")
for ax, (i, j) in zip(axes, [(1, 2), (0, 3), (0, 2)], strict=True):
    hm.plot.clusters(cells[:, [i, j]], model.labels_, ax=ax)
    ax.set(xlabel=markers[i], ylabel=markers[j], title="")

# %%
# The clusters as a table, with their mean markers and intervals of their sizes:

columns = ["size", "size_low", "size_high", *(f"{marker}_mean" for marker in markers)]
model.posterior_.clusters(cells, feature_names=markers)[columns].round(2)
