"""
How many clusters?
==================

The number of clusters is unknown, so it has a posterior distribution, like every other unknown quantity. This example
shows a posterior that is concentrated on one number, a posterior that is not, and what to do if you want fewer
clusters.
"""

# %%
# Two posteriors
# --------------
# The data are six groups of fifty rows each. In the first fit, the spread of the clusters is learned, and the posterior
# is certain that there are six. In the second fit, we fix a component with a variance of about 1 and a prior that makes
# small clusters cheap. The estimate has the same six clusters, but many draws have additional clusters of a few rows.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_blobs

import hashmix as hm

centres = 6.0 * np.array([[0, 0], [1, 0], [2, 0], [0, 1], [1, 1], [2, 1]])
X, _ = make_blobs(300, centers=centres, cluster_std=1.0, random_state=0)
known = hm.components.DiagonalGaussian(mean=4.0, kappa=0.05, shape=60.0, rate=60.0)
models = {
    "learned": hm.SplitMergeMixture(random_state=0).fit(X),
    "fixed": hm.SplitMergeMixture(known, n_draws=400, thin=5, random_state=0).fit(X),
}

figure, axes = plt.subplots(2, 2, figsize=(9, 6), layout="constrained")
for (name, model), (left, right) in zip(models.items(), axes, strict=True):
    hm.plot.clusters(X, model.labels_, ax=left)
    hm.plot.n_clusters(model.posterior_, ax=right)
    left.set_title(f"{name}: {model.n_clusters_} clusters in the estimate")

# %%
# The probabilities as numbers:

for name, model in models.items():
    print(name, model.posterior_.n_clusters_probabilities())

# %%
# The number of clusters in a draw therefore differs from the number of clusters that are stable over draws. The estimate
# shows the latter: it is the partition with the least expected distance to the draws, and clusters that occur in few
# draws only are not part of it.

# %%
# Fewer clusters
# --------------
# The tree of the clusters joins near clusters first. It can be cut at any level; ``labels_`` does not change.

model = models["learned"]
hm.plot.tree(model.tree_, np.bincount(model.labels_))
print(np.bincount(model.cut(2)))

# %%
# Which level would another sample also show? ``levels`` clusters two halves of the rows separately and compares them at
# every level.

hm.plot.levels(model.levels())
print(model.levels().reproducible)

# %%
# The user guide, :doc:`/how_many_clusters`, explains when to use which view.
