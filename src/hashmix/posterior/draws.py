"""Posterior: the draws of all chains, and what can be asked of them."""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from hashmix.posterior.arviz import to_arviz
from hashmix.posterior.diagnostics import ess, rhat
from hashmix.posterior.partitions import Partitions, check_level
from hashmix.posterior.scalars import scalars
from hashmix.posterior.summaries import move_frame, summary_frame
from hashmix.posterior.verdict import grade, verdict
from hashmix.report.notebook import notebook_html
from hashmix.report.numbers import shown_rhat
from hashmix.report.posterior_page import write_report

__all__ = ["Posterior"]

#: Labels of all draws up to which a notebook shows the verdict at once.
_QUICK = 10_000_000


class Posterior(Partitions):
    """Draws of partitions from their posterior.

    Attributes
    ----------
    labels : int32 array of shape (chain, draw, n_samples)
        Cluster of each row, numbered 0, 1, … in the order of first appearance. Those of a run folder are read from disk when
        they are asked for: ``labels[chain, draw]``, or ``np.asarray(labels)`` for all.
    n_clusters, log_joint, log_likelihood, concentration, seconds : arrays of shape (chain, draw)
        Number of clusters; log p(ρ) + Σ log m(c), given the draw's concentration; Σ log m(c); the concentration; and
        seconds since sampling began.
    hyperparameters : dict
        The learned hyperparameters of the component: name and array of shape (chain, draw, …), in the units of the data.
    move_stats : dict
        For each move: ``proposed``, ``accepted``, ``splits_proposed``, ``splits_accepted``, ``work`` (in predictives) and
        ``seconds``, arrays of shape (chain, draw), each counted since the previous draw.
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

    # ---- convergence ---------------------------------------------------------------------------------------------------

    def scalars(self) -> dict[str, np.ndarray]:
        """Quantities that do not depend on how clusters are numbered, of shape (chain, draw): convergence is judged by them.

        Number of clusters, log joint, log likelihood, entropy of the sizes, size of the largest cluster, concentration of the
        prior, distance to the best draw (variation of information on a million rows, at most), and the learned
        hyperparameters of the component.

        Examples
        --------
        >>> import numpy as np, hashmix as hm
        >>> posterior = hm.sample(np.eye(4), n_draws=10, n_chains=2, random_state=0)
        >>> posterior.scalars()["entropy"].shape
        (2, 10)
        """
        if "scalars" not in self._known:
            self._known["scalars"] = scalars(self)
        return self._known["scalars"]

    def rhat(self) -> dict[str, float]:
        """Rank-normalised split R̂ of all :meth:`scalars`.

        It is NaN for a quantity that never varies, and infinite for one that is constant within chains but not between them.

        Examples
        --------
        >>> import numpy as np, hashmix as hm
        >>> posterior = hm.sample(np.eye(4), n_draws=100, n_chains=2, random_state=0)
        >>> posterior.rhat()["log_joint"] < 1.2
        True
        """
        if "rhat" not in self._known:
            self._known["rhat"] = {name: rhat(values) for name, values in self.scalars().items()}
        return dict(self._known["rhat"])

    def ess(self) -> dict[str, float]:
        """Bulk effective sample size of all :meth:`scalars` (NaN for a quantity that never varies).

        Examples
        --------
        >>> import numpy as np, hashmix as hm
        >>> posterior = hm.sample(np.eye(4), n_draws=100, n_chains=2, random_state=0)
        >>> posterior.ess()["log_joint"] > 10
        True
        """
        if "ess" not in self._known:
            self._known["ess"] = {name: ess(values) for name, values in self.scalars().items()}
        return dict(self._known["ess"])

    def verdict(self) -> str:
        """Whether the draws can be trusted, in plain words, and what to do if not.

        Examples
        --------
        >>> import numpy as np, hashmix as hm
        >>> hm.sample(np.eye(4), n_draws=10, random_state=0).verdict()
        'There are too few draws to judge: 10 per chain. Run longer.'
        """
        return verdict(self)

    # ---- summaries -----------------------------------------------------------------------------------------------------

    def summary(self, level: float = 0.9) -> Any:
        """Mean, standard deviation, interval, bulk and tail effective sample size and R̂ of all :meth:`scalars`: a DataFrame.

        Examples
        --------
        >>> import numpy as np, hashmix as hm
        >>> posterior = hm.sample(np.eye(4), n_draws=10, n_chains=2, random_state=0)
        >>> posterior.summary().columns.tolist()
        ['mean', 'sd', '5.0%', '95.0%', 'ess_bulk', 'ess_tail', 'rhat']
        """
        return summary_frame(self.scalars(), check_level("summary", level))

    def moves(self) -> Any:
        """What each move proposed, how often it was accepted, and what it cost: a DataFrame with one line per move.

        Examples
        --------
        >>> import numpy as np, hashmix as hm
        >>> hm.sample(np.eye(4), moves="gibbs", n_draws=10, random_state=0).moves().index.tolist()
        ['Gibbs']
        """
        return move_frame(self.move_stats)

    def to_arviz(self) -> Any:
        """The draws' scalars for ArviZ: an InferenceData (0.x) or a DataTree (1.x) that follows its schema.

        Group "posterior" holds the :meth:`scalars` except the log densities; "sample_stats" holds these ("lp" is the log joint)
        and the acceptance rates of moves. Labels are left out: their numbers mean nothing across draws.

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
        path: str | os.PathLike[str],
        X: Any = None,
        feature_names: Any = None,
        labels: Any = None,
        title: str = "Clusters",
        tree: Any = None,
        levels: Any = None,
    ) -> None:
        """Write one self-contained HTML page: verdict, number of clusters, clusters, map, traces, moves and settings.

        Clusters have the numbers of their labels, everywhere. The page follows the reader's light or dark theme.

        Parameters
        ----------
        path : path
            The file.
        X : array, frame, MixedRows or sparse matrix of shape (n_samples, n_features), optional
            The data: for the map, and to describe the clusters.
        feature_names : sequence of str, optional
            Names of the columns; by default those of a frame, or numbers.
        labels : array of shape (n_samples,), optional
            The partition to show; the point estimate by default.
        title : str, default="Clusters"
            Title of the page.
        tree : array, optional
            ``tree_`` of a fitted model: which clusters belong together.
        levels : Levels, optional
            ``levels()`` of a fitted model: how many clusters another sample would show.

        Examples
        --------
        >>> import pathlib, tempfile, numpy as np, hashmix as hm
        >>> posterior = hm.sample(np.random.default_rng(0).normal(size=(40, 2)), n_draws=30, n_chains=2, random_state=0)
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     posterior.report(f"{folder}/report.html")
        ...     print(pathlib.Path(f"{folder}/report.html").read_text(encoding="utf-8")[:15])
        <!doctype html>
        """
        checked = self._partition_or_estimate("report", labels)
        shown = checked if labels is None else np.asarray(labels)
        write_report(self, path, X, feature_names, shown, title, grade(self), (tree, levels))

    def _repr_html_(self) -> str:
        quick = "rhat" in self._known or self.n_clusters.size * self.n_samples <= _QUICK
        return notebook_html(self, grade(self) if quick else None)

    def __repr__(self) -> str:
        probabilities = self.n_clusters_probabilities()
        likely = sorted(probabilities, key=lambda k: -probabilities[k])[:3]
        shares = ", ".join(f"{k} ({probabilities[k]:.0%})" for k in likely) + (", …" if len(probabilities) > 3 else "")
        lines = [("clusters", shares), ("log joint", f"{self.log_joint.mean():.1f} ± {self.log_joint.std():.1f}")]
        if not self.settings.get("exact", True):
            lines.insert(0, ("not exact", "moves as printed in the paper: these draws are not from the posterior"))
        if self.n_chains > 1:
            # The numbers of rhat() and ess(), but only for what takes no time to compute: printing must be quick.
            for label, values in (("log joint", self.log_joint), ("clusters", self.n_clusters)):
                if np.ptp(values) > 0:
                    lines.append(("R̂ / ESS", f"{shown_rhat(rhat(values))} / {ess(values):.0f} ({label})"))
        for move, fields in self.move_stats.items():
            proposed, accepted = fields["proposed"].sum(), fields["accepted"].sum()
            share = accepted / max(proposed, 1)
            lines.append((move, f"{proposed} proposed, {share:.2%} accepted, {fields['seconds'].sum():.2f} s"))
        title = f"Posterior: {self.n_chains} chain{'s' * (self.n_chains > 1)} × {self.n_draws} draws of {self.n_samples} rows"
        width = max(10, *(len(label) for label, _ in lines))
        hat = "\u0302"  # the part of R̂ that has no width
        return "\n".join([title] + [f"  {label.ljust(width + label.count(hat))} {text}" for label, text in lines])
