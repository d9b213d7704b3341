"""Posterior: the draws of all chains, with what was recorded along the way."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from hashmix.partition import canonical_labels
from hashmix.posterior.arviz import to_arviz
from hashmix.posterior.clusters import DRAWS_FOR_CLUSTERS, cluster_table
from hashmix.posterior.diagnostics import ess, rhat
from hashmix.posterior.losses import information_lower_bound, loss_to, pairwise_losses
from hashmix.posterior.matching import CredibleBall, credible_ball, match_clusters, row_certainty, table_of
from hashmix.posterior.saving import read_posterior, write_posterior
from hashmix.posterior.search import least_expected_loss
from hashmix.posterior.stored import StoredLabels
from hashmix.posterior.tables import move_table, summary_table
from hashmix.posterior.verdict import verdict
from hashmix.validation import bad_parameter, check_choice, check_integer, check_number

__all__ = ["Posterior"]

#: Draws that expected losses are averaged over, spread evenly over all draws when there are more; fewer, but at least 20,
#: where comparing all pairs of them would mean looking at more rows than this.
_DRAWS_FOR_LOSS, _ROWS_FOR_LOSS = 200, 2e8
#: Labels (rows × draws) the search for an estimate looks at, at most: of more draws, some are left out.
_LABELS_FOR_ESTIMATE = 200_000_000


@dataclass(frozen=True, repr=False, eq=False)
class Posterior:
    """Draws of partitions from their posterior.

    Attributes
    ----------
    labels : int32 array of shape (chain, draw, n_samples)
        Cluster of each row, numbered 0, 1, … in the order of first appearance. Of a run folder, draws are read from disk when
        they are asked for: ``labels[chain, draw]``, or ``np.asarray(labels)`` for all.
    n_clusters, log_joint, log_likelihood, concentration, seconds : arrays of shape (chain, draw)
        Number of clusters; log p(ρ) + Σ log m(c), given the draw's concentration; Σ log m(c); the concentration; and
        seconds since sampling began.
    hyperparameters : dict
        What was learned of the component: name and array of shape (chain, draw, …), in the units of the data.
    move_stats : dict
        For each move: ``proposed``, ``accepted``, ``splits_proposed``, ``splits_accepted``, ``work`` (in predictives) and
        ``seconds``, arrays of shape (chain, draw) that count what happened since the draw before.
    settings : dict
        What was asked for, as text and numbers.

    Examples
    --------
    >>> import numpy as np, hashmix as hm
    >>> X = np.random.default_rng(0).normal(size=(30, 2))
    >>> posterior = hm.sample(X, n_draws=20, n_chains=2, random_state=0)
    >>> posterior.n_chains, posterior.n_draws
    (2, 20)
    >>> posterior.point_estimate().shape
    (30,)
    """

    labels: np.ndarray | StoredLabels
    n_clusters: np.ndarray
    log_joint: np.ndarray
    log_likelihood: np.ndarray
    concentration: np.ndarray
    seconds: np.ndarray
    hyperparameters: dict[str, np.ndarray]
    move_stats: dict[str, dict[str, np.ndarray]]
    settings: dict[str, Any]
    #: Answers that took long, kept.
    _known: dict[Any, Any] = field(default_factory=dict)

    SCALARS: ClassVar = ("n_clusters", "log_joint", "log_likelihood", "concentration", "seconds")
    MOVE_FIELDS: ClassVar = ("proposed", "accepted", "splits_proposed", "splits_accepted", "work", "seconds")

    @classmethod
    def empty(
        cls,
        n_chains: int,
        n_draws: int,
        n_samples: int,
        moves: Sequence[str],
        settings: dict[str, Any],
        hyperparameters: dict[str, np.ndarray],
        stored: bool = False,
    ) -> Posterior:
        """Room for draws, to be filled in by the sampler; ``hyperparameters`` are there for their shapes.

        Labels are in memory, or on disk if they are ``stored``.
        """
        shape = (n_chains, n_draws)

        def zeros(field: str) -> np.ndarray:
            return np.zeros(shape, np.float64 if field == "seconds" else np.int64)

        scalars: Any = {name: np.zeros(shape) for name in cls.SCALARS[1:]}
        return cls(
            labels=StoredLabels((*shape, n_samples)) if stored else np.empty((*shape, n_samples), np.int32),
            n_clusters=np.zeros(shape, np.int64),
            **scalars,
            hyperparameters={name: np.zeros((*shape, *np.shape(value))) for name, value in hyperparameters.items()},
            move_stats={move: {field: zeros(field) for field in cls.MOVE_FIELDS} for move in moves},
            settings=settings,
        )

    @property
    def n_chains(self) -> int:
        """Number of chains."""
        return self.labels.shape[0]

    @property
    def n_draws(self) -> int:
        """Draws in each chain."""
        return self.labels.shape[1]

    @property
    def n_samples(self) -> int:
        """Rows that were clustered."""
        return self.labels.shape[2]

    def rectangle(self, chains: Sequence[int], n_draws: int) -> Posterior:
        """The first ``n_draws`` draws of some chains.

        Examples
        --------
        >>> import numpy as np, hashmix as hm
        >>> posterior = hm.sample(np.eye(4), n_draws=6, n_chains=2, random_state=0)
        >>> posterior.rectangle([1], 3).labels.shape
        (1, 3, 4)
        """
        take = slice(None) if list(chains) == list(range(self.n_chains)) else list(chains)
        return Posterior(
            labels=self.labels[take, :n_draws],
            **{name: getattr(self, name)[take, :n_draws] for name in self.SCALARS},
            hyperparameters={name: values[take, :n_draws] for name, values in self.hyperparameters.items()},
            move_stats={
                move: {field: values[take, :n_draws] for field, values in fields.items()}
                for move, fields in self.move_stats.items()
            },
            settings=self.settings,
        )

    # ---- questions -----------------------------------------------------------------------------------------------------

    def n_clusters_probabilities(self) -> dict[int, float]:
        """The posterior of the number of clusters: each value seen, and its share of the draws.

        Examples
        --------
        >>> import numpy as np, hashmix as hm
        >>> posterior = hm.sample(np.eye(4), n_draws=10, random_state=0)
        >>> round(sum(posterior.n_clusters_probabilities().values()), 9)
        1.0
        """
        values, counts = np.unique(self.n_clusters, return_counts=True)
        return {int(value): float(count) / self.n_clusters.size for value, count in zip(values, counts, strict=True)}

    def point_estimate(self, loss: str = "vi", seed: int = 0) -> np.ndarray:
        """One partition to stand for the posterior: labels of shape (n_samples,).

        Parameters
        ----------
        loss : {"vi", "binder", "map"}, default="vi"
            Search for the partition with the least expected variation of information or Binder loss to the draws (it starts
            from the best draw and from random orders of the rows, and never returns anything worse than that draw); or take
            the draw with the highest log joint.
        seed : int, default=0
            Of the search.

        Examples
        --------
        >>> import numpy as np, hashmix as hm
        >>> X = np.array([[0.0], [0.1], [8.0], [8.1]])
        >>> posterior = hm.sample(X, hm.components.DiagonalGaussian(4.0, 0.1, 2.0, 0.1), n_draws=50, random_state=0)
        >>> posterior.point_estimate()
        array([0, 0, 1, 1], dtype=int32)
        """
        best = self.labels[self.point_estimate_draw(loss)]
        if loss != "map":
            key = loss, check_integer("point_estimate", "seed", seed, low=0)
            if key not in self._known:
                draws = self.spread(max(1, _LABELS_FOR_ESTIMATE // self.n_samples))
                self._known[key] = least_expected_loss(draws, best, loss == "vi", seed)
            best = self._known[key]
        return canonical_labels(best.astype(np.int32), int(best.max()) + 1)[0]

    def expected_loss(self, labels: Any, loss: str = "vi") -> float:
        """The mean distance of a partition to the draws.

        Parameters
        ----------
        labels : array of shape (n_samples,)
            The partition.
        loss : {"vi", "binder", "vi-lower-bound"}, default="vi"
            Variation of information in nats; Binder's loss; or the lower bound of the first that knows the draws only through
            how often rows are together (R's ``VI.lb`` is this in bits plus a constant, which makes it no bound).

        Examples
        --------
        >>> import numpy as np, hashmix as hm
        >>> posterior = hm.sample(np.eye(4), n_draws=10, random_state=0)
        >>> posterior.expected_loss(posterior.point_estimate()) <= posterior.expected_loss([0, 1, 2, 3])
        True
        """
        labels = self._as_partition(labels)
        if check_choice("expected_loss", "loss", loss, ["vi", "binder", "vi-lower-bound"]) == "vi-lower-bound":
            return information_lower_bound(labels, self.each_draw())
        return float(self._distances(labels, loss).mean())

    def credible_ball(self, labels: Any = None, loss: str = "vi", level: float = 0.95) -> CredibleBall:
        """The draws nearest to a partition (the point estimate, by default) that make up ``level`` of the posterior.

        Examples
        --------
        >>> import numpy as np, hashmix as hm
        >>> posterior = hm.sample(np.random.default_rng(0).normal(size=(20, 2)), n_draws=40, random_state=0)
        >>> ball = posterior.credible_ball(level=0.9)
        >>> bool((ball.distances <= ball.radius).mean() >= 0.9)
        True
        """
        level = check_number("credible_ball", "level", level)
        if level > 1.0:
            raise bad_parameter("credible_ball", "level", "a number above 0, at most 1", level)
        labels = self.point_estimate(loss) if labels is None else self._as_partition(labels)
        return credible_ball(self._distances(labels, loss), self.n_clusters, level)

    def certainty(self, labels: Any = None) -> tuple[np.ndarray, np.ndarray]:
        """For every row, the probability that it is in its cluster of a partition (the point estimate), and the entropy.

        Draws' clusters are matched with the partition's; of more than 200 draws, 200 are looked at. The entropy, in nats, is
        that of the cluster a row is in: 0 where all draws agree.

        Examples
        --------
        >>> import numpy as np, hashmix as hm
        >>> posterior = hm.sample(np.random.default_rng(0).normal(size=(20, 2)), n_draws=40, random_state=0)
        >>> probability, entropy = posterior.certainty()
        >>> probability.shape, bool((entropy >= 0).all())
        ((20,), True)
        """
        labels = self.point_estimate() if labels is None else self._as_partition(labels)
        draws = self.spread(_DRAWS_FOR_LOSS)
        k, k_draws = int(labels.max()) + 1, int(self.n_clusters.max())
        matches = np.stack([match_clusters(table_of(labels, draw, (k, k_draws))) for draw in draws])
        return row_certainty(labels, draws, matches)

    def co_clustering(self, rows: Any = 200, seed: int = 0) -> np.ndarray:
        """How often each two of some rows are in one cluster: a matrix of shares of the draws.

        Parameters
        ----------
        rows : int or array of int, default=200
            The rows, or how many to choose at random (they come in increasing order).
        seed : int, default=0
            For choosing them.

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
            raise bad_parameter(
                "co_clustering", "rows", f"a number of rows, or row numbers from 0 to {self.n_samples - 1}", rows
            )
        together = np.zeros((len(rows), len(rows)))
        for draw in self.each_draw():
            mine = draw[rows]
            together += mine[:, None] == mine
        return together / self.n_clusters.size

    def scalars(self) -> dict[str, np.ndarray]:
        """What convergence is judged by: numbers that do not depend on how clusters are numbered, of shape (chain, draw).

        Number of clusters, log joint, log likelihood, entropy of the sizes, size of the largest cluster, concentration, what
        was learned of the component, and the distance to a partition that does not depend on the draws' order (the best draw).

        Examples
        --------
        >>> import numpy as np, hashmix as hm
        >>> posterior = hm.sample(np.eye(4), n_draws=10, n_chains=2, random_state=0)
        >>> posterior.scalars()["entropy"].shape
        (2, 10)
        """
        if "scalars" not in self._known:
            entropy, largest = np.empty(self.n_clusters.shape), np.empty(self.n_clusters.shape)
            for (c, d), draw in zip(np.ndindex(*self.n_clusters.shape), self.each_draw(), strict=True):
                sizes = np.bincount(draw)
                shares = sizes[sizes > 0] / self.n_samples
                entropy[c, d], largest[c, d] = -(shares * np.log(shares)).sum(), sizes.max()
            out = {name: getattr(self, name).astype(np.float64) for name in ("n_clusters", "log_joint", "log_likelihood")}
            out |= {"entropy": entropy, "largest_cluster": largest, "concentration": self.concentration}
            for name, values in self.hyperparameters.items():
                flat = values.reshape(*self.n_clusters.shape, -1)
                out |= {name if flat.shape[2] == 1 else f"{name}[{j}]": flat[:, :, j] for j in range(flat.shape[2])}
            reference = self.labels[self.point_estimate_draw()]
            out["distance"] = self._distances(reference, "vi")
            self._known["scalars"] = out
        return self._known["scalars"]

    def summary(self, level: float = 0.9) -> Any:
        """Mean, standard deviation, interval, bulk and tail effective sample size and R̂ of all :meth:`scalars`: a DataFrame.

        Examples
        --------
        >>> import numpy as np, hashmix as hm
        >>> posterior = hm.sample(np.eye(4), n_draws=10, n_chains=2, random_state=0)
        >>> posterior.summary().columns.tolist()
        ['mean', 'sd', '5.0%', '95.0%', 'ess_bulk', 'ess_tail', 'rhat']
        """
        return summary_table(self.scalars(), _check_level("summary", level))

    def moves(self) -> Any:
        """What each move proposed, had accepted and cost: a DataFrame with a line a move.

        Examples
        --------
        >>> import numpy as np, hashmix as hm
        >>> hm.sample(np.eye(4), moves="gibbs", n_draws=10, random_state=0).moves().index.tolist()
        ['Gibbs']
        """
        return move_table(self.move_stats)

    def clusters(self, X: Any = None, labels: Any = None, feature_names: Any = None, level: float = 0.9) -> Any:
        """The clusters of a partition (the point estimate, by default) with intervals: a DataFrame with a line a cluster.

        Sizes and weights; ``matched``, the share of draws that have a cluster like it; ``agreement``, the mean share of rows
        it has in common with that. Given the data, of every column ``name``, ``name_mean`` and ``name_sd``; of a sparse X the
        words that tell most, and their shares of the cluster's counts. All of them but the names of words with intervals:
        columns that end in ``_low`` and ``_high``. Those of parameters hold what the partition and what the rows leave open.

        Examples
        --------
        >>> import numpy as np, hashmix as hm
        >>> X = np.array([[0.0], [0.1], [8.0], [8.1]])
        >>> posterior = hm.sample(X, hm.components.DiagonalGaussian(4.0, 0.1, 2.0, 0.1), n_draws=50, random_state=0)
        >>> posterior.clusters(X, feature_names=["height"])["height_mean"].round(2).tolist()
        [0.05, 8.05]
        """
        level = _check_level("clusters", level)
        labels = self.point_estimate() if labels is None else self._as_partition(labels)
        names: list[str] = []
        if X is not None:
            X = X.tocsr() if hasattr(X, "tocsr") else np.asarray(X)
            if X.ndim != 2 or X.shape[0] != self.n_samples:
                raise bad_parameter("clusters", "X", f"the {self.n_samples} rows that were clustered", f"shape {X.shape}")
            names = [str(name) for name in (range(X.shape[1]) if feature_names is None else feature_names)]
            if len(names) != X.shape[1]:
                raise bad_parameter("clusters", "feature_names", f"{X.shape[1]} names", f"{len(names)} names")
        return cluster_table(self.spread(DRAWS_FOR_CLUSTERS), labels, X, names, level)

    def verdict(self) -> str:
        """Whether the draws can be trusted, in plain words, and what to do if not.

        Examples
        --------
        >>> import numpy as np, hashmix as hm
        >>> hm.sample(np.eye(4), n_draws=10, random_state=0).verdict()
        'Too few draws to judge: 10 a chain. Run longer.'
        """
        return verdict(self)

    def each_draw(self) -> Iterator[np.ndarray]:
        """The draws' labels one after the other, chain by chain.

        Examples
        --------
        >>> import numpy as np, hashmix as hm
        >>> len(list(hm.sample(np.eye(4), n_draws=10, random_state=0).each_draw()))
        10
        """
        for c, d in np.ndindex(self.n_chains, self.n_draws):
            yield np.asarray(self.labels[c, d])

    def spread(self, most: int) -> np.ndarray:
        """At most so many draws, evenly spread over all: labels of shape (draw, n_samples).

        Examples
        --------
        >>> import numpy as np, hashmix as hm
        >>> hm.sample(np.eye(4), n_draws=10, random_state=0).spread(3).shape
        (3, 4)
        """
        if most >= self.n_clusters.size and isinstance(self.labels, np.ndarray) and self.labels.flags.c_contiguous:
            return self.labels.reshape(-1, self.n_samples)
        return np.stack([self.labels[place] for place in self._spread_places(most)])

    def spread_with_hyperparameters(self, most: int) -> Iterator[tuple[np.ndarray, dict[str, np.ndarray]]]:
        """At most so many draws, evenly spread over all: labels, and what was learned of the component.

        Examples
        --------
        >>> import numpy as np, hashmix as hm
        >>> posterior = hm.sample(np.random.default_rng(0).normal(size=(9, 2)), n_draws=10, random_state=0)
        >>> [sorted(learned) for _, learned in posterior.spread_with_hyperparameters(2)]
        [['kappa', 'mean', 'scale'], ['kappa', 'mean', 'scale']]
        """
        for place in self._spread_places(most):
            yield np.asarray(self.labels[place]), {name: values[place] for name, values in self.hyperparameters.items()}

    def _spread_places(self, most: int) -> list[tuple[int, int]]:
        total = self.n_chains * self.n_draws
        chosen = np.unique(np.linspace(0, total - 1, min(total, most)).round().astype(int))
        return [divmod(int(draw), self.n_draws) for draw in chosen]

    def _as_partition(self, labels: Any) -> np.ndarray:
        labels = np.asarray(labels)
        if labels.shape != (self.n_samples,) or labels.dtype.kind not in "iu":
            raise bad_parameter("Posterior", "labels", f"{self.n_samples} integers", labels)
        return np.unique(labels, return_inverse=True)[1].astype(np.int32)

    def _distances(self, labels: np.ndarray, loss: str) -> np.ndarray:
        """The distance of every draw to a partition with labels 0, 1, …, (chain, draw)."""
        check_choice("Posterior", "loss", loss, ["vi", "binder"])
        k = max(int(self.n_clusters.max()), int(labels.max()) + 1)
        out = [loss_to(labels, draw, k, loss == "vi") for draw in self.each_draw()]
        return np.array(out).reshape(self.n_clusters.shape)

    def point_estimate_draw(self, loss: str = "vi") -> tuple[int, int]:
        """Which draw the point estimate is: its chain and its number.

        Examples
        --------
        >>> import numpy as np, hashmix as hm
        >>> posterior = hm.sample(np.eye(4), n_draws=10, random_state=0)
        >>> chain, draw = posterior.point_estimate_draw()
        >>> bool((posterior.labels[chain, draw] == posterior.point_estimate()).all())
        True
        """
        check_choice("point_estimate", "loss", loss, ["vi", "binder", "map"])
        if loss == "map":
            return divmod(int(np.argmax(self.log_joint)), self.n_draws)
        most = int(np.clip(np.sqrt(2 * _ROWS_FOR_LOSS / self.n_samples), 20, _DRAWS_FOR_LOSS))
        losses = pairwise_losses(self.spread(most), int(self.n_clusters.max()), loss == "vi").mean(axis=1)
        best = [place for place, each in zip(self._spread_places(most), losses, strict=True) if each <= losses.min() + 1e-12]
        return max(best, key=lambda place: self.log_joint[place])

    def rhat(self) -> dict[str, float]:
        """Rank-normalised split R̂ of the log joint and of the number of clusters (NaN where a quantity never varies).

        Examples
        --------
        >>> import numpy as np, hashmix as hm
        >>> posterior = hm.sample(np.eye(4), n_draws=100, n_chains=2, random_state=0)
        >>> posterior.rhat()["log_joint"] < 1.2
        True
        """
        return {name: rhat(getattr(self, name)) for name in ("log_joint", "n_clusters")}

    def ess(self) -> dict[str, float]:
        """Bulk effective sample size of the log joint and of the number of clusters (NaN where one never varies).

        Examples
        --------
        >>> import numpy as np, hashmix as hm
        >>> posterior = hm.sample(np.eye(4), n_draws=100, n_chains=2, random_state=0)
        >>> posterior.ess()["log_joint"] > 10
        True
        """
        return {name: ess(getattr(self, name)) for name in ("log_joint", "n_clusters")}

    def to_arviz(self) -> Any:
        """The draws' scalars for ArviZ: an InferenceData (0.x) or a DataTree (1.x), by its schema.

        Group "posterior" holds what :meth:`scalars` has but the log densities; "sample_stats" these ("lp" is the log joint)
        and the acceptance rates of moves. Labels stay here: they mean nothing outside a partition.

        Examples
        --------
        >>> import pytest
        >>> arviz = pytest.importorskip("arviz")
        >>> import numpy as np, hashmix as hm
        >>> data = hm.sample(np.eye(4), n_draws=10, n_chains=2, random_state=0).to_arviz()
        """
        return to_arviz(self)

    def report(
        self,
        path: str | os.PathLike,
        X: Any = None,
        feature_names: Any = None,
        labels: Any = None,
        title: str = "Clusters",
    ) -> None:
        """Write one self-contained HTML page: verdict, number of clusters, clusters, map, traces, moves and settings.

        Parameters
        ----------
        path : path
            The file.
        X : array or sparse matrix of shape (n_samples, n_features), optional
            The data: for the map, and for what is in the clusters.
        feature_names : sequence of str, optional
            Names of its columns.
        labels : array of shape (n_samples,), optional
            The partition to show; by default the point estimate, or the best draw where that would take long.
        title : str, default="Clusters"

        Examples
        --------
        >>> import pathlib, tempfile, numpy as np, hashmix as hm
        >>> posterior = hm.sample(np.random.default_rng(0).normal(size=(40, 2)), n_draws=30, n_chains=2, random_state=0)
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     posterior.report(f"{folder}/report.html")
        ...     print(pathlib.Path(f"{folder}/report.html").read_text(encoding="utf-8")[:15])
        <!doctype html>
        """
        from hashmix.report import write_report  # which needs this module

        write_report(self, path, X, feature_names, labels, title)

    # ---- keeping -------------------------------------------------------------------------------------------------------

    def save(self, path: str | os.PathLike) -> None:
        """Write everything to one ``.npz`` file: plain arrays and a JSON text, no pickle.

        Examples
        --------
        >>> import tempfile, numpy as np, hashmix as hm
        >>> posterior = hm.sample(np.eye(4), n_draws=5, random_state=0)
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     posterior.save(f"{folder}/draws.npz")
        ...     again = hm.Posterior.load(f"{folder}/draws.npz")
        >>> bool((again.labels == posterior.labels).all())
        True
        """
        write_posterior(self, path)

    @classmethod
    def load(cls, path: str | os.PathLike) -> Posterior:
        """Read what :meth:`save` wrote, or the draws of a run folder. Nothing in the files is executed.

        Examples
        --------
        >>> import hashmix as hm
        >>> hm.Posterior.load("missing.npz")
        Traceback (most recent call last):
        ...
        FileNotFoundError: [Errno 2] No such file or directory: 'missing.npz'
        """
        if os.path.isdir(path):
            from hashmix.runs import load_run  # which needs this module

            return load_run(path)
        return read_posterior(cls, path)

    def __repr__(self) -> str:
        probabilities = self.n_clusters_probabilities()
        likely = sorted(probabilities, key=lambda k: -probabilities[k])[:3]
        shares = ", ".join(f"{k} ({probabilities[k]:.0%})" for k in likely) + (", …" if len(probabilities) > 3 else "")
        lines = [("clusters", shares), ("log joint", f"{self.log_joint.mean():.1f} ± {self.log_joint.std():.1f}")]
        if not self.settings.get("exact", True):
            lines.insert(0, ("not exact", "moves as printed in the paper: these draws are not from the posterior"))
        if self.n_chains > 1:
            for label, name in (("log joint", "log_joint"), ("clusters", "n_clusters")):
                if np.ptp(getattr(self, name)) > 0:
                    lines.append(("R̂ / ESS", f"{self.rhat()[name]:.3f} / {self.ess()[name]:.0f} ({label})"))
        for move, fields in self.move_stats.items():
            proposed, accepted = fields["proposed"].sum(), fields["accepted"].sum()
            share = accepted / max(proposed, 1)
            lines.append((move, f"{proposed} proposed, {share:.2%} accepted, {fields['seconds'].sum():.2f} s"))
        title = f"Posterior: {self.n_chains} chain{'s' * (self.n_chains > 1)} × {self.n_draws} draws of {self.n_samples} rows"
        width = max(10, *(len(label) for label, _ in lines))
        hat = "\u0302"  # a character of R̂ that takes no room
        return "\n".join([title] + [f"  {label.ljust(width + label.count(hat))} {text}" for label, text in lines])


def _check_level(owner: str, level: Any) -> float:
    level = check_number(owner, "level", level)
    if level >= 1.0:
        raise bad_parameter(owner, "level", "a number between 0 and 1", level)
    return level
