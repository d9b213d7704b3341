"""
Can I trust the draws?
======================

MCMC is exact in the long run. Whether a run was long enough is a question that the draws can answer in part: run two
or more chains and compare them. This example shows a run to trust and one not to.
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
# ``summary`` has the numbers behind the sentence. R̂ near 1 says that chains agree; ESS says how many independent draws
# the estimates are worth.

posterior.summary().round(2)

# %%
# A run that is too short
# -----------------------
# The same data with one kind of move that changes one row at a time. The two chains start from one cluster, and from
# one cluster per row; after 60 sweeps, they have not met.

short = hm.sample(X, moves="gibbs", n_draws=60, n_chains=2, init=["single", "singletons"], random_state=0)
print(short.verdict())
hm.plot.trace(short)

# %%
# What is certain?
# ----------------
# How often two rows are together, over all draws of the good run, in the order of the estimated clusters. Bright blocks
# are clusters that all draws have; grey stripes are rows between two clusters.

hm.plot.co_clustering(posterior)

# %%
# ``certainty`` gives each row the probability of its cluster. Rows between clusters stand out.

probability, entropy = posterior.certainty()
figure, ax = plt.subplots(figsize=(6, 4.5), layout="constrained")
shown = ax.scatter(*X.T, c=probability, s=12, cmap="viridis", vmin=0.4, vmax=1)
figure.colorbar(shown, ax=ax, label="probability of the row's cluster")
print(f"{np.mean(probability < 0.9):.0%} of the rows have a probability below 0.9")
