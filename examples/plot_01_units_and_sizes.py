"""
Why not k-means?
================

k-means needs to be told the number of clusters, measures all columns in the same unit, and likes clusters of equal
size. Here are four groups of people by height in metres and income in dollars, one of them small. Nobody tells
hashmix that there are four.
"""

# %%
# The data
# --------
# Incomes vary by thousands and heights by tenths. Three groups have 300 people each and one has 40.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.cluster import KMeans
from sklearn.metrics import adjusted_rand_score

import hashmix as hm

rng = np.random.default_rng(0)
centres = np.array([[1.55, 30_000], [1.85, 30_000], [1.70, 70_000], [1.95, 95_000]])
y = np.repeat([0, 1, 2, 3], [300, 300, 300, 40])
X = centres[y] + rng.normal(size=(len(y), 2)) * [0.05, 4_000]

# %%
# Two fits
# --------
# k-means is given the right number. It sees income only, because a dollar counts as much as a metre, and it divides
# groups that have many people. hashmix learns the scale of every column from the data.

k_means = KMeans(4, n_init=10, random_state=0).fit(X)
model = hm.SplitMergeMixture(random_state=0).fit(X)
print(f"hashmix found {model.n_clusters_} clusters")
for name, labels in (("k-means", k_means.labels_), ("hashmix", model.labels_)):
    print(f"{name}: adjusted Rand index {adjusted_rand_score(y, labels):.2f}")

# %%

figure, axes = plt.subplots(1, 2, figsize=(9, 4), layout="constrained", sharey=True)
for ax, labels, title in zip(axes, (k_means.labels_, model.labels_), ("k-means, told K = 4", "hashmix"), strict=True):
    hm.plot.clusters(X, labels, ax=ax)
    ax.set(title=title, xlabel="height in metres", ylabel="income in dollars")

# %%
# Standardising the columns would have helped k-means here. But which scale is right depends on the clusters, and
# these are not known before they are found.
