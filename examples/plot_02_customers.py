"""
A table of customers
====================

Real tables have numbers, counts, categories and blanks. hashmix accepts such a data frame directly: it recognises the
kinds of the columns, ignores ids, and leaves blank cells out of the likelihood. Nothing is imputed and nothing is
scaled.
"""

# %%
# The table
# ---------
# A shop has three kinds of customers, but it does not know which customer is of which kind. One cell in ten is blank.

import warnings

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

import hashmix as hm

rng = np.random.default_rng(1)
kind = rng.choice(3, size=600, p=[0.5, 0.3, 0.2])
customers = pd.DataFrame(
    {
        "customer": [f"C{i:05d}" for i in range(600)],
        "age": rng.normal(np.array([35.0, 62.0, 24.0])[kind], 5.0).round(1),
        "spent": np.exp(rng.normal(np.array([4.0, 5.5, 3.0])[kind], 0.4)).round(2),
        "visits": rng.poisson(np.array([4, 12, 2])[kind]),
        "channel": np.array(["shop", "web", "phone"])[
            [rng.choice(3, p=p) for p in np.array([[0.6, 0.4, 0.0], [0.2, 0.1, 0.7], [0.05, 0.95, 0.0]])[kind]]
        ],
        "newsletter": np.where(rng.random(600) < np.array([0.2, 0.8, 0.5])[kind], "yes", "no"),
    }
)
blank = rng.random(customers.shape) < 0.1
blank[:, 0] = False
customers = customers.mask(blank)
customers.head()

# %%
# The fit
# -------
# A warning names the columns that are set aside. Here it is the id of the customer, which differs in every row.

with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    model = hm.SplitMergeMixture(random_state=0).fit(customers)
for warning in caught:
    print(warning.message)
print(f"{model.n_clusters_} clusters of {np.bincount(model.labels_).tolist()} customers")

# %%
# Describing the clusters
# -----------------------

print(customers.groupby(model.labels_)[["age", "spent", "visits"]].mean().round(1))
print(pd.crosstab(model.labels_, customers["channel"], rownames=["cluster"], normalize="index").round(2))

# %%
# The data are simulated, so the true kinds are known. The clusters agree with them:

print(pd.crosstab(model.labels_, kind, rownames=["cluster"], colnames=["kind"]))

# %%
# Age and spending of the clusters, and how certain the cluster of each customer is:

figure, axes = plt.subplots(1, 2, figsize=(9, 3.6), layout="constrained")
for cluster in range(model.n_clusters_):
    chosen = model.labels_ == cluster
    axes[0].scatter(customers["age"][chosen], customers["spent"][chosen], s=12, label=f"cluster {cluster}")
axes[0].set(xlabel="age", ylabel="spent", yscale="log")
axes[0].legend()
axes[1].hist(model.probabilities_, bins=np.linspace(0, 1, 21))
axes[1].set(xlabel="probability of the row's cluster", ylabel="customers")

# %%
# Rows with many blanks are less certain than others, as ``probabilities_`` shows. ``model.predict`` labels new customers
# in a frame with the same columns, which may also have blanks.

print(model.predict(customers.head(5)))
