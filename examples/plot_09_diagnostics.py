"""
Can I trust the draws?
======================

The draws of a Markov chain are from the posterior only after the chain has converged. To check convergence, run two or
more chains and compare them. This example shows a run that has converged and one that has not.
"""

# %%
# A good run
# ----------

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_blobs

import hashmix as hm

X, y = make_blobs(500, centers=8, cluster_std=0.9, random_state=3)
posterior = hm.sample(X, n_draws=400, n_warmup="auto", n_chains=2, init="auto", random_state=0)
print(posterior.verdict())
hm.plot.trace(posterior)

# %%
# ``summary`` has the numbers behind the verdict. If R̂ is near 1, then the chains agree. The effective sample size (ESS)
# is the number of independent draws that would be as informative.

posterior.summary().round(2)

# %%
# A run that is too short
# -----------------------
# The same data, sampled by Gibbs updates only, which change one row at a time. One chain starts from one cluster, the
# other from one cluster per row. After 60 sweeps, their numbers of clusters are still far apart.

short = hm.sample(X, moves="gibbs", n_draws=60, n_chains=2, init=["single", "singletons"], random_state=0)
print(short.verdict())
hm.plot.trace(short)

# %%
# Which rows are certain?
# -----------------------
# The picture shows how often two rows are in the same cluster, over all draws of the good run. Rows are sorted by
# estimated cluster. Bright blocks are clusters that occur in all draws; dimmer stripes are rows between two clusters.

hm.plot.co_clustering(posterior)

# %%
# ``certainty`` returns the probability of the cluster of each row. It is low for rows between clusters.

probability, entropy = posterior.certainty()
figure, ax = plt.subplots(figsize=(6, 4.5), layout="constrained")
shown = ax.scatter(*X.T, c=probability, s=12, cmap="viridis", vmin=0.4, vmax=1)
figure.colorbar(shown, ax=ax, label="probability of the row's cluster")
print(f"{np.mean(probability < 0.9):.0%} of the rows have a probability below 0.9")
