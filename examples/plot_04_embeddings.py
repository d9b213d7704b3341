"""
Embeddings of images
====================

Embeddings have dozens of columns and an unknown number of groups. This example uses a simple embedding: principal
components of the handwritten digits of scikit-learn. The clusters turn out to be styles of writing, not the ten digits.
"""

# %%
# From pictures to clusters
# -------------------------

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.decomposition import PCA

import hashmix as hm

digits = load_digits()
X = PCA(12, random_state=0).fit_transform(digits.data)
model = hm.SplitMergeMixture(random_state=0).fit(X)
print(f"{model.n_clusters_} clusters of {len(X)} pictures")

# %%
# The most typical pictures of the largest clusters
# -------------------------------------------------
# ``representatives`` returns the most typical rows of each cluster.

typical = model.representatives(X, 8)
largest = np.argsort(-np.bincount(model.labels_))[:10]
figure, axes = plt.subplots(10, 8, figsize=(5, 6.4))
for row, cluster in zip(axes, largest, strict=True):
    for ax in row:
        ax.axis("off")
    for ax, i in zip(row, typical[cluster], strict=False):
        ax.imshow(digits.images[i], cmap="gray_r")
    row[0].set_title(f"{np.sum(model.labels_ == cluster)} pictures", fontsize="small", loc="left")
figure.tight_layout(pad=0.2)

# %%
# Which digits are in which cluster?
# ----------------------------------
# Most clusters contain mainly one digit. Most digits have several clusters, because they are written in several ways.

share = sum(np.bincount(digits.target[model.labels_ == c]).max() for c in range(model.n_clusters_)) / len(X)
print(f"{share:.0%} of the pictures are in a cluster whose most frequent digit is theirs")

# %%
# Ten groups
# ----------
# If you know that there are ten digits, then cut the tree into ten groups. The classes are not used.

groups = model.cut(min(10, model.n_clusters_))
table = np.zeros((groups.max() + 1, 10), int)
np.add.at(table, (groups, digits.target), 1)
figure, ax = plt.subplots(figsize=(5, 4), layout="constrained")
ax.imshow(table, cmap="Blues")
for i, j in np.argwhere(table > 15):
    ax.text(j, i, table[i, j], ha="center", va="center", fontsize=8)
ax.set(xlabel="digit", ylabel="group", xticks=range(10), yticks=range(len(table)))
