"""
Patches of a picture
====================

Each row is a patch of 5 × 5 pixels of a photograph: its mean colour and its contrast. A fit to a sample of the patches
labels all of them. The number of clusters is not given.
"""

# %%
# From a picture to rows
# ----------------------

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_sample_image

import hashmix as hm

picture = load_sample_image("china.jpg")[:425, :640] / 255.0
patches = picture.reshape(85, 5, 128, 5, 3).swapaxes(1, 2).reshape(85 * 128, 25, 3)
X = np.column_stack([patches.mean(axis=1), np.log(0.01 + patches.std(axis=1).mean(axis=1))])
print(X.shape)

# %%
# The fit
# -------
# With ``sample_size``, the posterior is that of 1,500 random rows, and all rows are labelled by its predictive
# distribution. This is faster and coarser than a fit to all rows: 1,500 rows have less evidence for small differences.

model = hm.SplitMergeMixture(sample_size=1500, random_state=0).fit(X)
print(f"{model.n_clusters_} kinds of patches")

# %%
# Each patch in the mean colour of its cluster:

figure, axes = plt.subplots(1, 2, figsize=(10, 3.5), layout="constrained")
axes[0].imshow(picture)
axes[1].imshow(np.clip(model.means_[model.labels_, :3], 0, 1).reshape(85, 128, 3))
for ax, title in zip(axes, ("the picture", f"{model.n_clusters_} clusters"), strict=True):
    ax.set(title=title, xticks=[], yticks=[])

# %%
# Fewer groups, from the tree of the clusters:

figure, axes = plt.subplots(1, 3, figsize=(11, 2.7), layout="constrained")
for ax, k in zip(axes, (3, 5, 8), strict=True):
    groups = model.cut(min(k, model.n_clusters_))
    colours = np.stack([X[groups == g, :3].mean(axis=0) for g in range(groups.max() + 1)])
    ax.imshow(colours[groups].reshape(85, 128, 3))
    ax.set(title=f"cut({k})", xticks=[], yticks=[])
