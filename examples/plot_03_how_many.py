"""
How many clusters?
==================

The number of clusters is unknown, so it has a posterior like everything else that is unknown. This example shows what it looks
like where it is sharp, where it is not, and what to do if you want fewer clusters than the posterior has.
"""

# %%
# Sharp, and not sharp
# --------------------
# Six Gaussians far apart, and the same six closer together. The data decide how sure one can be.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_blobs

import hashmix as hm

centres = np.array([[0, 0], [4, 0], [8, 0], [0, 4], [4, 4], [8, 4]])
posteriors = []
for spread in (0.6, 1.3):
    X, _ = make_blobs(400, centers=centres, cluster_std=spread, random_state=0)
    model = hm.SplitMergeMixture(n_chains=2, n_draws=300, random_state=0).fit(X)
    posteriors.append((X, model))

figure, axes = plt.subplots(2, 2, figsize=(9, 6), layout="constrained")
for (X, model), (left, right) in zip(posteriors, axes, strict=True):
    hm.plot.clusters(X, model.labels_, ax=left)
    hm.plot.n_clusters(model.posterior_, ax=right)
    left.set_title(f"{model.n_clusters_} clusters in the estimate")

# %%
# The probabilities as numbers:

print(posteriors[1][1].posterior_.n_clusters_probabilities())

# %%
# Fewer clusters
# --------------
# The tree of the clusters joins near ones first. Cut it where you like; ``labels_`` stays as it is.

X, model = posteriors[0]
hm.plot.tree(model.tree_, np.bincount(model.labels_))
print(np.bincount(model.cut(2)))

# %%
# Which level would another sample show again? Two halves of the rows are clustered separately and compared at every level.

hm.plot.levels(model.levels())
print(model.levels().reproducible)

# %%
# The guide :doc:`/how_many_clusters` says when to use which.
