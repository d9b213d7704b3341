"""
Why not k-means?
================

k-means needs the number of clusters, treats all columns as if they had the same unit, and prefers clusters of equal
size. The data here are four groups of people by height in metres and income in dollars. One group is small. The number
of groups is not given to hashmix.
"""

# %%
# The data
# --------
# Incomes vary by thousands, heights by tenths. Three groups have 300 people each and one has 40.

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
# k-means is given the right number. It uses only the income, because a dollar counts as much as a metre, and it
# divides large groups. hashmix learns the scale of each column from the data.

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
# Standardising the columns would help k-means here. In general, however, the right scale depends on the clusters, which
# are not known in advance.
