"""
Anomaly scores
==============

The posterior predictive distribution has a density, which separates usual rows from unusual ones. There are two scores:
the log density of a row, and the probability that it belongs to none of the clusters.
"""

# %%
# Machines in three states
# ------------------------
# The data are temperature and vibration of a machine that idles, works or is under load. Training data are from usual
# days. On the day to be scored, the machine breaks.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.metrics import roc_auc_score

import hashmix as hm

rng = np.random.default_rng(0)


def usual(n):
    """Measurements of n usual minutes."""
    state = rng.choice(3, size=n, p=[0.3, 0.5, 0.2])
    centres = np.array([[30.0, 0.2], [55.0, 1.0], [75.0, 1.6]])
    return centres[state] + rng.normal(size=(n, 2)) * np.array([[2.0, 0.05], [3.0, 0.15], [2.5, 0.1]])[state]


train = usual(1000)
today = np.concatenate([usual(400), rng.normal([65.0, 0.5], [4.0, 0.15], size=(20, 2))])
broken = np.arange(420) >= 400

# %%
# Two scores
# ----------

model = hm.SplitMergeMixture(random_state=0).fit(train)
surprise = -model.score_samples(today)
outside = model.predict_proba(today, new_cluster=True)[:, -1]
print(f"{model.n_clusters_} states")
for name, score in (("density", surprise), ("new cluster", outside)):
    print(f"area under the ROC curve by {name}: {roc_auc_score(broken, score):.3f}")

# %%
# As the threshold of an alarm, we take the 0.1 % quantile of the log density of the training data:

limit = np.quantile(model.score_samples(train), 0.001)
alarm = surprise > -limit
print(f"{np.sum(alarm & broken)} of 20 broken minutes raise an alarm, and {np.sum(alarm & ~broken)} of 400 usual ones")

# %%
# The probability of a new cluster is more conservative: it compares the clusters with the broad prior predictive density
# of a new one. It is near one for rows that are far from all clusters, and it needs no calibration.

print(model.predict_proba([[55.0, 1.0], [60.0, 30.0]], new_cluster=True)[:, -1].round(3))

# %%

figure, axes = plt.subplots(1, 2, figsize=(10, 4), layout="constrained", sharey=True)
grid = np.stack(np.meshgrid(np.linspace(20, 90, 120), np.linspace(-0.2, 2.2, 120)), axis=-1)
density = model.score_samples(grid.reshape(-1, 2)).reshape(120, 120)
axes[0].contourf(grid[..., 0], grid[..., 1], density, levels=np.linspace(-25, density.max(), 20), extend="min", cmap="Blues")
axes[0].scatter(*train.T, s=3, color="k", alpha=0.3)
axes[0].set(title="log density learned from usual days", xlabel="temperature", ylabel="vibration")
for chosen, colour, name in ((~alarm, "#4477AA", "usual"), (alarm, "#EE6677", "alarm")):
    axes[1].scatter(*today[chosen].T, s=14, color=colour, label=name)
axes[1].set(title="today", xlabel="temperature")
axes[1].legend()
