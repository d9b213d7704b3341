"""Coarser views of an estimate: the tree of its clusters, cuts of the tree, and which level another sample would show."""

from __future__ import annotations

import warnings
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from hashmix.core.rng import numpy_generator
from hashmix.core.validation import bad_parameter, check_integer, check_number
from hashmix.data.mixed import MixedRows
from hashmix.data.rows import Rows
from hashmix.data.suspects import SuspiciousCells
from hashmix.moves.parallel.passes import sizes_of
from hashmix.posterior.estimate.matching import contingency_table
from hashmix.posterior.tree import Levels, compare_levels, cut_linkage, join_clusters

if TYPE_CHECKING:
    from hashmix.posterior.predictive import Predictive

__all__ = ["Resolutions"]

#: Rows that two halves are compared on, at most.
_ROWS_COMPARED = 20_000


class Resolutions:
    """What :class:`~hashmix.SplitMergeMixture` offers to see fewer clusters than its estimate has."""

    labels_: np.ndarray
    n_clusters_: int
    component: Any
    component_: Any
    random_state: Any
    _estimate: np.ndarray  # labels of the rows the posterior is of
    _predictive: Predictive
    _target: Any
    _key: int

    @cached_property
    def tree_(self) -> np.ndarray:
        """The tree of the estimate's clusters: a linkage matrix as SciPy has it.

        Clusters are joined by their sizes and positions (:mod:`hashmix.posterior.tree`); no rows are looked at.

        Examples
        --------
        >>> import hashmix as hm
        >>> from sklearn.datasets import make_blobs
        >>> X, y = make_blobs(300, centers=[[-9], [-7], [9]], cluster_std=0.3, random_state=0)
        >>> hm.SplitMergeMixture(random_state=0).fit(X).tree_.shape
        (2, 4)
        """
        check_is_fitted(self)
        predictive = self._predictive
        sizes = np.rint(sizes_of(predictive.stats)).astype(np.int64)
        return join_clusters(self.component_.positions(predictive.model, predictive.stats), sizes)

    def cut(
        self, n_clusters: int | str | None = None, height: float | None = None, min_cluster_size: int | None = None
    ) -> np.ndarray:
        """Labels of the training rows when the tree of clusters is cut.

        Parameters
        ----------
        n_clusters : int or "reproducible", optional
            Number of groups, at most ``n_clusters_``; "reproducible" takes the level that :meth:`levels` suggests.
        height : float, optional
            Join clusters up to this height of the tree instead. With neither, the labels of the estimate.
        min_cluster_size : int, optional
            Rows of smaller groups get the label −1.

        Returns
        -------
        int array of shape (n_samples,)
            Groups, numbered in the order of first appearance among the clusters.

        Examples
        --------
        >>> import numpy as np, hashmix as hm
        >>> from sklearn.datasets import make_blobs
        >>> X, y = make_blobs(300, centers=[[-9], [-7], [9]], cluster_std=0.3, random_state=0)
        >>> np.bincount(hm.SplitMergeMixture(random_state=0).fit(X).cut(2))
        array([200, 100])
        """
        check_is_fitted(self)
        owner = type(self).__name__
        if n_clusters is not None and height is not None:
            raise bad_parameter(owner, "height", "None if n_clusters is given", height)
        if isinstance(n_clusters, str):
            if n_clusters != "reproducible":
                raise bad_parameter(owner, "n_clusters", "an integer or 'reproducible'", n_clusters)
            n_clusters = min(self.levels().reproducible, self.n_clusters_)
        if height is not None:
            low = check_number(owner, "height", height, low=0.0)
            n_clusters = self.n_clusters_ - int((self.tree_[:, 2] <= low).sum())
        k = self.n_clusters_ if n_clusters is None else check_integer(owner, "n_clusters", n_clusters, low=1)
        if k > self.n_clusters_:
            raise bad_parameter(owner, "n_clusters", f"an integer from 1 to {self.n_clusters_}, the clusters found", n_clusters)
        groups = cut_linkage(self.tree_, k) if self.n_clusters_ > 1 else np.zeros(1, np.intp)
        if not isinstance(self.labels_, np.ndarray):  # a Dask array, whose labels are not here
            if min_cluster_size is not None:
                raise bad_parameter(owner, "min_cluster_size", "None for labels that are a Dask array", min_cluster_size)
            return self.labels_.map_blocks(groups.__getitem__, dtype=groups.dtype)
        labels = groups[self.labels_]
        return labels if min_cluster_size is None else _without_small(labels, min_cluster_size, owner)

    def levels(self) -> Levels:
        """How many clusters another sample of half the size would show: two disjoint halves of the rows are compared.

        Each half is clustered by itself and its tree is cut at every level. All rows are labelled by both halves, and the
        adjusted Rand index of the two labellings says how well they agree. Takes about as long as ``fit``; the result is
        stored.

        Returns
        -------
        Levels
            ``n_clusters``, ``agreement``, and ``reproducible``: the finest level with an agreement within 0.05 of the best.

        Examples
        --------
        >>> import hashmix as hm
        >>> from sklearn.datasets import make_blobs
        >>> X, y = make_blobs(600, centers=3, cluster_std=0.6, random_state=0)
        >>> hm.SplitMergeMixture(random_state=0).fit(X).levels().reproducible
        3
        """
        check_is_fitted(self)
        if not hasattr(self, "_levels"):
            self._levels = self._compare_halves()
        return self._levels

    def _compare_halves(self) -> Levels:
        rows = self._target.rows
        n = rows.n_rows
        if n < 4:
            return Levels(np.array([1]), np.array([1.0]), 1)
        order = numpy_generator(self._key, 3).permutation(n)
        learned = bool(getattr(self._target.component, "learn", False))
        halves = []
        for part in (order[: n // 2], order[n // 2 :]):
            half = rows.take(np.sort(part))
            component = type(self._target.component).from_data(half, learn=True) if learned else self._target.component
            settings: Any = {"component": component, "n_chains": 1, "sample_size": None, "init": "auto"}
            settings |= {"run_dir": None, "progress": False, "engine": "threads"}
            model = clone(self).set_params(**settings, random_state=self._key % 2**31)
            with warnings.catch_warnings():  # of its cells, fit has warned
                warnings.simplefilter("ignore", SuspiciousCells)
                halves.append(model.fit(_as_given(half)))
        shown = rows if n <= _ROWS_COMPARED else rows.take(np.sort(order[:_ROWS_COMPARED]))
        first, second = (half._predictive.labels(shown) for half in halves)
        table = contingency_table(first, second, tuple(half.n_clusters_ for half in halves))
        return compare_levels(_dense(table), *(half.tree_ for half in halves))


def _as_given(rows: Rows) -> Any:
    """Rows as an estimator takes them."""
    return rows if isinstance(rows, MixedRows) else rows.matrix()


def _dense(table: Any) -> np.ndarray:
    return table.toarray() if hasattr(table, "toarray") else np.asarray(table)


def _without_small(labels: np.ndarray, min_cluster_size: Any, owner: str) -> np.ndarray:
    """Labels with −1 for clusters of fewer rows."""
    least = check_integer(owner, "min_cluster_size", min_cluster_size, low=1)
    return np.where(np.bincount(labels)[labels] < least, -1, labels)
