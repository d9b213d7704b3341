"""
Stop, resume, extend
====================

With a run folder, draws are written to disk during the run. A run that was stopped can be resumed and gives the same
draws as an uninterrupted run. A finished run can be extended.
"""

# %%
# A run that is interrupted
# -------------------------
# A callback stops the run after 60 sweeps, like a time limit or Ctrl-C.

import tempfile
import warnings
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_blobs

import hashmix as hm

X, y = make_blobs(500, centers=6, random_state=4)
settings = {"n_draws": 100, "n_warmup": 50, "init": "auto", "random_state": 0}
folder = Path(tempfile.mkdtemp())

with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    hm.sample(X, run_dir=folder / "run", callback=lambda sweep: sweep.number >= 60, **settings)
print(caught[0].message)

# %%
# Resume
# ------
# The same call without the callback continues the run. The result equals that of an uninterrupted run, bit for bit.

resumed = hm.sample(X, run_dir=folder / "run", **settings)
whole = hm.sample(X, **settings)
print(f"{resumed.n_draws} draws; the same as of one run: {np.array_equal(resumed.labels, whole.labels)}")

# %%
# Extend
# ------
# A larger ``n_draws`` extends the run. The first hundred draws stay the same.

extended = hm.sample(X, run_dir=folder / "run", **{**settings, "n_draws": 200})
hm.plot.trace(extended)

# %%
# Any process can read the folder, also during the run. Labels stay on disk until they are needed.

loaded = hm.Posterior.load(folder / "run")
print(loaded.n_draws, sorted(path.name for path in (folder / "run").iterdir()))
plt.show()
