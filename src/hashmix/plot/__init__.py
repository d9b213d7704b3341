"""Plots of a posterior and of a partition, with matplotlib. Functions take ``ax`` and return axes.

Clusters have the numbers of their labels, and one colour each, the same in all plots.
"""

from __future__ import annotations

from hashmix.plot.coarser import levels, tree
from hashmix.plot.draws import moves, n_clusters, trace
from hashmix.plot.map import ClusterDisplay, clusters
from hashmix.plot.partition import co_clustering, sizes
from hashmix.plot.words import words

__all__ = [
    "ClusterDisplay",
    "clusters",
    "co_clustering",
    "levels",
    "moves",
    "n_clusters",
    "sizes",
    "trace",
    "tree",
    "words",
]
