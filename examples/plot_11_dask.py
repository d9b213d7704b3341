"""
Streaming off a Dask cluster
============================

Large data are often stored on a cluster, in parts that do not fit into one process together. In this example, the rows
are the requests to a web service, in one part per hour. The workers read and hold the parts. The client receives only
statistics and a sample of the rows. The target is still the posterior given all rows.
"""

# %%
# A cluster
# ---------
# We start two workers in threads of this process, so that the example runs anywhere. For a real cluster, use
# ``client = Client("tcp://scheduler:8786", direct_to_workers=True)`` instead of the last two lines. Nothing else changes.

import dask
import dask.array as da
import matplotlib.pyplot as plt
import numpy as np
from distributed import Client, LocalCluster

import hashmix as hm

cluster = LocalCluster(n_workers=2, threads_per_worker=1, processes=False, dashboard_address=":0")
client = Client(cluster)

# %%
# The rows
# --------
# ``read_hour`` represents a function that reads one part from files or from a database. The workers call it when a part
# is needed. Each row is a request, described by its latency, size and processor time on a log scale. There are four
# kinds of requests. From 15:00 on, a crawler adds an unexpected fifth kind.

CENTRES = np.array([[1.0, 3.0, 0.0], [2.2, 4.5, 1.4], [3.2, 3.6, 2.8], [4.0, 6.0, 1.0], [1.6, 6.4, 3.4]])


def read_hour(hour):
    """The 2,000 requests of an hour."""
    rng = np.random.default_rng(hour)
    busy = np.sin(np.pi * (hour % 24) / 24)
    crawler = 0.06 * min(max(hour - 14, 0), 9) / 9
    shares = np.array([0.6 - 0.3 * busy, 0.2 + 0.2 * busy, 0.05 + 0.1 * busy, 0.15, crawler])
    kind = rng.choice(5, size=2_000, p=shares / shares.sum())
    return CENTRES[kind] + rng.normal(scale=0.25, size=(2_000, 3))


def as_dask(hours):
    """A Dask array with one chunk per hour."""
    read = dask.delayed(read_hour)
    return da.concatenate([da.from_delayed(read(hour), shape=(2_000, 3), dtype=float) for hour in hours])


requests = as_dask(range(24))
print(requests.shape, requests.numblocks)

# %%
# The fit
# -------
# A Dask array goes to the workers of the client. The draws are the same, bit for bit, for any number of workers.

model = hm.SplitMergeMixture("gaussian", n_draws=150, random_state=0).fit(requests)
print(model.n_clusters_, model.weights_.round(3))
print(model.posterior_.verdict())

# %%
# ``labels_`` is a Dask array, which is computed on demand. If you reduce it on the workers, then only the result is sent
# to the client. Here, the result is the number of requests per hour and cluster.


def count(labels, k):
    """The sizes of the clusters in a chunk, as one row."""
    return np.bincount(labels, minlength=k)[None, :]


k = model.n_clusters_
print(model.labels_)
per_hour = model.labels_.map_blocks(count, k, new_axis=1, chunks=((1,) * 24, (k,)), dtype=int).compute()

# %%
# What happened during the day
# ----------------------------
# The left picture shows a sample of the rows; only these are sent to the client. The right picture shows the shares of
# the clusters per hour. The crawler appears in the afternoon as a cluster of its own.

some = model.sample_indices_[::10]
rows, labels = dask.compute(requests[some], model.labels_[some])
figure, axes = plt.subplots(1, 2, figsize=(10, 4), layout="constrained")
shares = per_hour / per_hour.sum(axis=1, keepdims=True)
for number in range(k):
    axes[0].scatter(*rows[labels == number, :2].T, s=6)
    axes[1].plot(100 * shares[:, number], label=f"cluster {number}")
axes[0].set(xlabel="log latency", ylabel="log size", title="a sample of the requests")
axes[1].set(xlabel="hour", ylabel="% of the requests", ylim=(-2, 85), title="shares during the day")
axes[1].legend(ncols=3, loc="upper center")

# %%
# The next day
# ------------
# ``predict`` labels new parts as they arrive, without a new fit. A NumPy array is labelled at once, and a Dask array is
# labelled on the workers, chunk by chunk.

first = model.predict(read_hour(24))
print(np.bincount(first, minlength=k))

day = model.predict(as_dask(range(24, 48)))
print(da.bincount(day, minlength=k).compute())

# %%
# Finally, close the client and the cluster.

client.close()
cluster.close()

# %%
# The user guide, :doc:`/scaling_out`, describes the communication between client and workers, and what happens if a
# worker fails.
