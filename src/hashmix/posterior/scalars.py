"""Scalars of the draws that do not depend on how clusters are numbered: what convergence is judged by."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from hashmix.core.compiling import borrowed, kernel
from hashmix.posterior.estimate.losses import losses_to

if TYPE_CHECKING:
    from hashmix.posterior.partitions import Partitions

__all__ = ["entropy_and_largest", "scalars"]

#: Rows that distances are measured on, at most, evenly spaced: as a measure of convergence, more are not worth their time.
ROWS_FOR_DISTANCE = 1_000_000


@kernel
def _entropy_and_largest(labels, n_labels):
    labels = borrowed(labels)
    counts = np.zeros(n_labels, np.int64)
    for label in labels:
        counts[label] += 1
    entropy = 0.0
    for count in counts:
        if count > 0:
            share = count / len(labels)
            entropy -= share * math.log(share)
    return entropy, counts.max()


def entropy_and_largest(labels: np.ndarray) -> tuple[float, int]:
    """The entropy of the cluster sizes of a partition, in nats, and the size of its largest cluster.

    Examples
    --------
    >>> import numpy as np
    >>> from hashmix.posterior.scalars import entropy_and_largest
    >>> entropy, largest = entropy_and_largest(np.array([0, 0, 1, 1]))
    >>> round(entropy, 4), largest
    (0.6931, 2)
    """
    return _entropy_and_largest(np.ascontiguousarray(labels, dtype=np.int32), int(labels.max()) + 1)


def scalars(posterior: Partitions) -> dict[str, np.ndarray]:
    """See :meth:`hashmix.Posterior.scalars`."""
    shape = posterior.n_clusters.shape
    sizes = np.array([entropy_and_largest(draw) for draw in posterior.each_draw()])
    out = {
        "n_clusters": posterior.n_clusters.astype(np.float64),
        "log_joint": posterior.log_joint,
        "log_likelihood": posterior.log_likelihood,
        "entropy": sizes[:, 0].reshape(shape),
        "largest_cluster": sizes[:, 1].reshape(shape),
        "concentration": posterior.concentration,
    }
    every = -(-posterior.n_samples // ROWS_FOR_DISTANCE)
    reference = np.asarray(posterior.labels[posterior.point_estimate_draw()])[::every]
    distances = losses_to(reference, (draw[::every] for draw in posterior.each_draw()), by_information=True)
    out["distance"] = distances.reshape(shape)
    for name, values in posterior.hyperparameters.items():
        # A component may have a concentration, too: it must not replace that of the prior.
        title = f"component_{name}" if name in out else name
        if values.ndim == 2:
            out[title] = values
            continue
        # Of a matrix, what belongs to one column: entries off the diagonal are many, and move with these.
        each = np.diagonal(values, axis1=2, axis2=3) if values.ndim == 4 else values
        columns = posterior.settings.get("hyperparameter_names", {}).get(name, range(each.shape[2]))
        out |= {f"{title}[{column}]": each[:, :, j] for j, column in enumerate(columns)}
    return out
