"""Posterior: the draws of all chains, with what was recorded along the way."""

from __future__ import annotations

import json
import os
import zipfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from hashmix.posterior.diagnostics import ess, rhat
from hashmix.posterior.losses import pairwise_losses
from hashmix.validation import check_choice

__all__ = ["Posterior"]

#: Draws that expected losses are averaged over, spread evenly over all draws when there are more; fewer, but at least 20,
#: where comparing all pairs of them would mean looking at more rows than this.
_DRAWS_FOR_LOSS, _ROWS_FOR_LOSS = 200, 2e8


@dataclass(frozen=True, repr=False, eq=False)
class Posterior:
    """Draws of partitions from their posterior.

    Attributes
    ----------
    labels : int32 array of shape (chain, draw, n_samples)
        Cluster of each row, numbered 0, 1, … in the order of first appearance.
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

    labels: np.ndarray
    n_clusters: np.ndarray
    log_joint: np.ndarray
    log_likelihood: np.ndarray
    concentration: np.ndarray
    seconds: np.ndarray
    hyperparameters: dict[str, np.ndarray]
    move_stats: dict[str, dict[str, np.ndarray]]
    settings: dict[str, Any]

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
    ) -> Posterior:
        """Room for draws, to be filled in by the sampler; ``hyperparameters`` are there for their shapes."""
        shape = (n_chains, n_draws)

        def zeros(field: str) -> np.ndarray:
            return np.zeros(shape, np.float64 if field == "seconds" else np.int64)

        return cls(
            labels=np.empty((*shape, n_samples), np.int32),
            n_clusters=np.zeros(shape, np.int64),
            **{name: np.zeros(shape) for name in cls.SCALARS[1:]},
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

    def point_estimate(self, loss: str = "vi") -> np.ndarray:
        """One partition to stand for the posterior: labels of shape (n_samples,).

        Parameters
        ----------
        loss : {"vi", "binder", "map"}, default="vi"
            The draw with the least expected variation of information or Binder loss to the draws (to 200 of them,
            evenly spread over all chains, when there are more; to fewer from 10,000 rows on, 63 at 100,000), or the draw
            with the highest log joint.

        Examples
        --------
        >>> import numpy as np, hashmix as hm
        >>> X = np.array([[0.0], [0.1], [8.0], [8.1]])
        >>> posterior = hm.sample(X, hm.components.DiagonalGaussian(4.0, 0.1, 2.0, 0.1), n_draws=50, random_state=0)
        >>> posterior.point_estimate("map")
        array([0, 0, 1, 1], dtype=int32)
        """
        return self.labels[self.point_estimate_draw(loss)].copy()

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
        draws = self.labels.reshape(-1, self.n_samples)
        log_joint = self.log_joint.ravel()
        if loss == "map":
            return divmod(int(np.argmax(log_joint)), self.n_draws)
        most = int(np.clip(np.sqrt(2 * _ROWS_FOR_LOSS / self.n_samples), 20, _DRAWS_FOR_LOSS))
        chosen = np.unique(np.linspace(0, len(draws) - 1, min(len(draws), most)).round().astype(int))
        losses = pairwise_losses(np.ascontiguousarray(draws[chosen]), int(self.n_clusters.max()), loss == "vi").mean(axis=1)
        best = chosen[losses <= losses.min() + 1e-12]
        return divmod(int(best[np.argmax(log_joint[best])]), self.n_draws)

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
        arrays = {"labels": self.labels, **{name: getattr(self, name) for name in self.SCALARS}}
        for m, fields in enumerate(self.move_stats.values()):
            for field, values in fields.items():
                arrays[f"move_{m}_{field}"] = values
        arrays.update({f"hyperparameter_{name}": values for name, values in self.hyperparameters.items()})
        about = {
            "format": "hashmix-posterior-1",
            "moves": list(self.move_stats),
            "hyperparameters": list(self.hyperparameters),
            "settings": self.settings,
        }
        path = Path(path)
        # Written beside the target and moved there when complete: a reader never sees half a file.
        temporary = path.with_name(f"{path.name}.{os.getpid()}.part")
        try:
            with temporary.open("wb") as file:
                np.savez_compressed(file, about=np.array(json.dumps(about)), **arrays)
            os.replace(temporary, path)
        except BaseException:
            temporary.unlink(missing_ok=True)
            raise

    @classmethod
    def load(cls, path: str | os.PathLike) -> Posterior:
        """Read what :meth:`save` wrote. Nothing in the file is executed.

        Examples
        --------
        >>> import hashmix as hm
        >>> hm.Posterior.load("missing.npz")
        Traceback (most recent call last):
        ...
        FileNotFoundError: [Errno 2] No such file or directory: 'missing.npz'
        """
        try:
            with open(path, "rb") as handle, np.load(handle, allow_pickle=False) as file:
                about = json.loads(str(file["about"]))
                if about["format"] != "hashmix-posterior-1":
                    raise KeyError(about["format"])
                return cls(
                    labels=file["labels"],
                    **{name: file[name] for name in cls.SCALARS},
                    hyperparameters={name: file[f"hyperparameter_{name}"] for name in about["hyperparameters"]},
                    move_stats={
                        move: {field: file[f"move_{m}_{field}"] for field in cls.MOVE_FIELDS}
                        for m, move in enumerate(about["moves"])
                    },
                    settings=about["settings"],
                )
        except (KeyError, ValueError, zipfile.BadZipFile, EOFError, TypeError) as error:
            raise ValueError(f"{os.fspath(path)!r} is not a file written by Posterior.save ({error}).") from None

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
