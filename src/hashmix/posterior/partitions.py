"""Questions about the partitions that were drawn: a point estimate, what is around it, and its clusters."""

from __future__ import annotations

from typing import Any

import numpy as np

from hashmix.core.validation import bad_parameter, check_choice, check_integer, check_number
from hashmix.data.table import column_names
from hashmix.partition.members import canonical_labels
from hashmix.posterior.describe.clusters import DRAWS_FOR_CLUSTERS, cluster_frame
from hashmix.posterior.estimate.losses import information_lower_bound, losses_to
from hashmix.posterior.estimate.matching import CredibleBall, contingency_table, credible_ball, match_clusters, row_certainty
from hashmix.posterior.estimate.point import GroupedDraws, best_draw, group_draws, n_draws_compared, point_estimate
from hashmix.posterior.record import Record

__all__ = ["Partitions", "check_level"]


def check_level(owner: str, level: Any, closed: bool = False) -> float:
    """The level of an interval: a number between 0 and 1, or equal to 1 if ``closed``.

    Examples
    --------
    >>> from hashmix.posterior.partitions import check_level
    >>> check_level("summary", 0.9)
    0.9
    """
    number = check_number(owner, "level", level)
    if number > 1.0 or (number == 1.0 and not closed):
        raise bad_parameter(owner, "level", "a number above 0, at most 1" if closed else "a number between 0 and 1", level)
    return number


class Partitions(Record):
    """The questions that :class:`hashmix.Posterior` answers about partitions."""

    def n_clusters_probabilities(self) -> dict[int, float]:
        """The posterior of the number of clusters: each number that was drawn, and its share of the draws.

        Examples
        --------
        >>> import numpy as np, hashmix as hm
        >>> posterior = hm.sample(np.eye(4), n_draws=10, random_state=0)
        >>> round(sum(posterior.n_clusters_probabilities().values()), 9)
        1.0
        """
        values, counts = np.unique(self.n_clusters, return_counts=True)
        return {int(value): float(count) / self.n_clusters.size for value, count in zip(values, counts, strict=True)}

    # ---- the point estimate --------------------------------------------------------------------------------------------

    def point_estimate(self, loss: str = "vi", seed: int = 0) -> np.ndarray:
        """One partition that summarises the posterior: labels of shape (n_samples,), numbered by first appearance.

        Parameters
        ----------
        loss : {"vi", "binder", "map"}, default="vi"
            The partition with the least expected variation of information or Binder loss to the draws, found by a search that
            starts from the best draw and from random orders of the rows, and never returns anything worse than that draw; or
            "map", the draw with the highest log joint.
        seed : int, default=0
            Seed of the search.

        Notes
        -----
        The search looks at 200 draws, evenly spread over all draws of all chains; at fewer if they have more than 20 million
        labels in all, but at least at 20. Its time is bounded: a few seconds for a million rows.

        Examples
        --------
        >>> import numpy as np, hashmix as hm
        >>> X = np.array([[0.0], [0.1], [8.0], [8.1]])
        >>> posterior = hm.sample(X, hm.components.DiagonalGaussian(4.0, 0.1, 2.0, 0.1), n_draws=50, random_state=0)
        >>> posterior.point_estimate()
        array([0, 0, 1, 1], dtype=int32)
        """
        check_choice("point_estimate", "loss", loss, ["vi", "binder", "map"])
        key = "estimate", loss, check_integer("point_estimate", "seed", seed, low=0)
        if key not in self._known:
            if loss == "map":
                labels = np.asarray(self.labels[self.point_estimate_draw(loss)])
                self._known[key] = canonical_labels(labels, int(labels.max()) + 1)[0]
            else:
                draws = self._grouped_draws()
                self._known[key] = point_estimate(draws, self._best_draw(draws, loss), loss == "vi", seed)
        return self._known[key].copy()

    def point_estimate_draw(self, loss: str = "vi") -> tuple[int, int]:
        """The best single draw: the chain and the number of the draw with the least expected loss to the draws.

        Parameters
        ----------
        loss : {"vi", "binder", "map"}, default="vi"
            As in :meth:`point_estimate`.

        Examples
        --------
        >>> import numpy as np, hashmix as hm
        >>> posterior = hm.sample(np.eye(4), n_draws=10, random_state=0)
        >>> best = posterior.labels[posterior.point_estimate_draw()]
        >>> posterior.expected_loss(posterior.point_estimate()) <= posterior.expected_loss(best)
        True
        """
        check_choice("point_estimate_draw", "loss", loss, ["vi", "binder", "map"])
        if loss == "map":
            return divmod(int(np.argmax(self.log_joint)), self.n_draws)
        if ("draw", loss) not in self._known:
            self._best_draw(self._grouped_draws(), loss)
        return self._known["draw", loss]

    def _places_compared(self) -> list[tuple[int, int]]:
        """The draws that expected losses are averaged over."""
        return self.spread_places(n_draws_compared(self.n_samples))

    def _grouped_draws(self) -> GroupedDraws:
        places = self._places_compared()
        return group_draws(lambda: (np.asarray(self.labels[place]) for place in places))

    def _best_draw(self, draws: GroupedDraws, loss: str) -> int:
        """Which of the draws compared is the best; its place is remembered."""
        places = self._places_compared()
        best = best_draw(draws, loss == "vi", np.array([self.log_joint[place] for place in places]))
        self._known["draw", loss] = places[best]
        return best

    # ---- distances -----------------------------------------------------------------------------------------------------

    def expected_loss(self, labels: Any, loss: str = "vi") -> float:
        """The mean distance of a partition to the draws.

        Parameters
        ----------
        labels : array of shape (n_samples,)
            The partition.
        loss : {"vi", "binder", "vi-lower-bound"}, default="vi"
            Variation of information in nats; Binder's loss; or the lower bound of the former that depends on the draws only
            through how often rows are together (R's ``VI.lb`` is this in bits plus a constant, with which it is no bound).

        Examples
        --------
        >>> import numpy as np, hashmix as hm
        >>> posterior = hm.sample(np.eye(4), n_draws=10, random_state=0)
        >>> posterior.expected_loss(posterior.point_estimate()) <= posterior.expected_loss([0, 1, 2, 3])
        True
        """
        labels = self._as_partition("expected_loss", labels)
        if check_choice("expected_loss", "loss", loss, ["vi", "binder", "vi-lower-bound"]) == "vi-lower-bound":
            return information_lower_bound(labels, self.each_draw())
        return float(losses_to(labels, self.each_draw(), loss == "vi").mean())

    def credible_ball(self, labels: Any = None, loss: str = "vi", level: float = 0.95) -> CredibleBall:
        """The draws nearest to a partition that make up ``level`` of the posterior.

        Parameters
        ----------
        labels : array of shape (n_samples,), optional
            The partition; the point estimate by default.
        loss : {"vi", "binder"}, default="vi"
            The distance.
        level : float, default=0.95
            Share of the draws.

        Examples
        --------
        >>> import numpy as np, hashmix as hm
        >>> posterior = hm.sample(np.random.default_rng(0).normal(size=(20, 2)), n_draws=40, random_state=0)
        >>> ball = posterior.credible_ball(level=0.9)
        >>> bool((ball.distances <= ball.radius).mean() >= 0.9)
        True
        """
        level = check_level("credible_ball", level, closed=True)
        check_choice("credible_ball", "loss", loss, ["vi", "binder"])
        labels = self._partition_or_estimate("credible_ball", labels, loss)
        distances = losses_to(labels, self.each_draw(), loss == "vi").reshape(self.n_clusters.shape)
        return credible_ball(distances, self.n_clusters, level)

    # ---- rows ----------------------------------------------------------------------------------------------------------

    def certainty(self, labels: Any = None) -> tuple[np.ndarray, np.ndarray]:
        """For every row, the probability that it belongs to its cluster of a partition, and the entropy of its cluster.

        The draws that :meth:`point_estimate` looks at are compared with the partition, after matching their clusters with its
        clusters. The entropy, in nats, is 0 where all draws agree.

        Parameters
        ----------
        labels : array of shape (n_samples,), optional
            The partition; the point estimate by default.

        Examples
        --------
        >>> import numpy as np, hashmix as hm
        >>> posterior = hm.sample(np.random.default_rng(0).normal(size=(20, 2)), n_draws=40, random_state=0)
        >>> probability, entropy = posterior.certainty()
        >>> probability.shape, bool((entropy >= 0).all())
        ((20,), True)
        """
        labels = self._partition_or_estimate("certainty", labels)
        draws = self.spread(n_draws_compared(self.n_samples))
        shape = int(labels.max()) + 1, int(draws.max()) + 1
        matches = np.stack([match_clusters(contingency_table(labels, draw, shape)) for draw in draws])
        return row_certainty(labels, draws, matches)

    def co_clustering(self, rows: Any = 200, seed: int = 0) -> np.ndarray:
        """How often each two of some rows are in the same cluster: a matrix of shares of the draws.

        Parameters
        ----------
        rows : int or array of int, default=200
            The rows, or how many to choose at random (in increasing order).
        seed : int, default=0
            Seed of the choice.

        Examples
        --------
        >>> import numpy as np, hashmix as hm
        >>> posterior = hm.sample(np.eye(4), n_draws=10, random_state=0)
        >>> posterior.co_clustering([0, 3]).diagonal().tolist()
        [1.0, 1.0]
        """
        if isinstance(rows, (int, np.integer)):
            n = min(check_integer("co_clustering", "rows", rows, low=1), self.n_samples)
            rows = np.sort(np.random.default_rng(seed).choice(self.n_samples, n, replace=False))
        rows = np.asarray(rows)
        if rows.ndim != 1 or rows.dtype.kind not in "iu" or rows.min(initial=0) < 0 or rows.max(initial=0) >= self.n_samples:
            allowed = f"a number of rows, or row numbers from 0 to {self.n_samples - 1}"
            raise bad_parameter("co_clustering", "rows", allowed, rows)
        together = np.zeros((len(rows), len(rows)))
        for draw in self.each_draw():
            chosen = draw[rows]
            together += chosen[:, None] == chosen
        return together / self.n_clusters.size

    # ---- clusters ------------------------------------------------------------------------------------------------------

    def clusters(self, X: Any = None, labels: Any = None, feature_names: Any = None, level: float = 0.9) -> Any:
        """The clusters of a partition, with intervals: a DataFrame with one line per cluster, by its number.

        Columns are sizes and weights; ``matched``, the share of draws that have a cluster like it; and ``agreement``, the
        mean share of rows that the two have in common. Given the data, means and standard deviations of the numeric columns
        follow (``name_mean`` and ``name_sd``; blanks are left out), and for columns of categories the most telling one
        (``name_typical``), its share of the cluster (``name_share``), and the ratio of this share to that of all rows
        (``name_lift``). For a sparse matrix of counts, the most telling words and their shares of the cluster's counts follow.
        Columns that end in ``_low`` and ``_high`` are intervals; those of parameters include the uncertainty about the
        partition and that about the parameters given the rows.

        Parameters
        ----------
        X : array, frame, MixedRows or sparse matrix of shape (n_samples, n_features), optional
            The data.
        labels : array of shape (n_samples,), optional
            The partition; the point estimate by default.
        feature_names : sequence of str, optional
            Names of the columns; by default those of a frame, or numbers.
        level : float, default=0.9
            Level of the intervals.

        Examples
        --------
        >>> import numpy as np, hashmix as hm
        >>> X = np.array([[0.0], [0.1], [8.0], [8.1]])
        >>> posterior = hm.sample(X, hm.components.DiagonalGaussian(4.0, 0.1, 2.0, 0.1), n_draws=50, random_state=0)
        >>> posterior.clusters(X, feature_names=["height"])["height_mean"].round(2).tolist()
        [0.05, 8.05]
        """
        level = check_level("clusters", level)
        numbers = None if labels is None else np.unique(labels)
        labels = self._partition_or_estimate("clusters", labels)
        names: list[str] = []
        if X is not None:
            names = column_names(X, feature_names, self.n_samples, "clusters")
        draws = self.spread(min(DRAWS_FOR_CLUSTERS, n_draws_compared(self.n_samples)))
        frame = cluster_frame(draws, labels, X, names, level)
        return frame if numbers is None else frame.set_axis(numbers).rename_axis("cluster")

    def _as_partition(self, owner: str, labels: Any) -> np.ndarray:
        """Labels that the user gave, checked and numbered 0, 1, …"""
        labels = np.asarray(labels)
        if labels.shape != (self.n_samples,) or labels.dtype.kind not in "iu":
            raise bad_parameter(owner, "labels", f"{self.n_samples} integers", labels)
        return np.unique(labels, return_inverse=True)[1].astype(np.int32)

    def _partition_or_estimate(self, owner: str, labels: Any, loss: str = "vi") -> np.ndarray:
        return self.point_estimate(loss) if labels is None else self._as_partition(owner, labels)
