"""
How many clusters?
==================

The number of clusters is unknown, so it has a posterior like everything else that is unknown. This example shows what
it looks like where it is sharp, where it is not, and what to do if you want fewer clusters than the posterior has.
"""

# %%
# Sharp, and not sharp
# --------------------
# Six groups of fifty rows. In the first fit, the size of clusters is learned, and all clusters are of about that
# size: the posterior is sure that there are six. In the second, we fix a component with round clusters of variance 1,
# and clusters may be as small as one row. The estimate has the same six clusters, but many draws have one or two
# more, of a few rows each.

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
# So the number of clusters of a draw, and the number of clusters worth talking about, are two questions. The estimate
# answers the second: it is the partition nearest to all draws, and clusters that come and go are not in it.

# %%
# Fewer clusters
# --------------
# The tree of the clusters joins near ones first. Cut it where you like; ``labels_`` stays as it is.

model = models["learned"]
hm.plot.tree(model.tree_, np.bincount(model.labels_))
print(np.bincount(model.cut(2)))

# %%
# Which level would another sample show again? Two halves of the rows are clustered separately and compared at every
# level.

hm.plot.levels(model.levels())
print(model.levels().reproducible)

# %%
# The guide :doc:`/how_many_clusters` says when to use which.
