"""The record of draws: arrays that the sampler fills, and their files."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Self

import numpy as np

from hashmix.posterior.estimate.point import evenly_spread
from hashmix.posterior.run_folder import load_run
from hashmix.posterior.saving import read_posterior, write_posterior
from hashmix.posterior.stored import StoredLabels

__all__ = ["Record"]


@dataclass(frozen=True, repr=False, eq=False)
class Record:
    """The arrays of :class:`hashmix.Posterior`, which describes them."""

    labels: np.ndarray | StoredLabels
    n_clusters: np.ndarray
    log_joint: np.ndarray
    log_likelihood: np.ndarray
    concentration: np.ndarray
    seconds: np.ndarray
    hyperparameters: dict[str, np.ndarray]
    move_stats: dict[str, dict[str, np.ndarray]]
    settings: dict[str, Any]
    #: Answers that take long to compute, by question.
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
    ) -> Self:
        """Arrays for draws, to be filled by the sampler.

        Parameters
        ----------
        n_chains, n_draws, n_samples : int
            Shape of the labels.
        moves : sequence of str
            Names of the moves.
        settings : dict
            What was asked for, as text and numbers.
        hyperparameters : dict
            The learned hyperparameters of the component; only their shapes are looked at.
        stored : bool, default=False
            Whether labels are kept on disk instead of in memory.

        Examples
        --------
        >>> import hashmix as hm
        >>> hm.Posterior.empty(2, 10, 4, ["Gibbs"], {}, {}).labels.shape
        (2, 10, 4)
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
        """Number of draws per chain."""
        return self.labels.shape[1]

    @property
    def n_samples(self) -> int:
        """Number of rows that were clustered."""
        return self.labels.shape[2]

    def rectangle(self, chains: Sequence[int], n_draws: int) -> Self:
        """The first ``n_draws`` draws of some chains.

        Examples
        --------
        >>> import numpy as np, hashmix as hm
        >>> posterior = hm.sample(np.eye(4), n_draws=6, n_chains=2, random_state=0)
        >>> posterior.rectangle([1], 3).labels.shape
        (1, 3, 4)
        """
        take = slice(None) if list(chains) == list(range(self.n_chains)) else list(chains)
        return type(self)(
            labels=self.labels[take, :n_draws],
            **{name: getattr(self, name)[take, :n_draws] for name in self.SCALARS},
            hyperparameters={name: values[take, :n_draws] for name, values in self.hyperparameters.items()},
            move_stats={
                move: {field: values[take, :n_draws] for field, values in fields.items()}
                for move, fields in self.move_stats.items()
            },
            settings=self.settings,
        )

    # ---- draws one by one ----------------------------------------------------------------------------------------------

    def each_draw(self) -> Iterator[np.ndarray]:
        """The labels of the draws one after another, chain by chain.

        Examples
        --------
        >>> import numpy as np, hashmix as hm
        >>> len(list(hm.sample(np.eye(4), n_draws=10, random_state=0).each_draw()))
        10
        """
        for c, d in np.ndindex(self.n_chains, self.n_draws):
            yield np.asarray(self.labels[c, d])

    def spread(self, most: int) -> np.ndarray:
        """The labels of at most ``most`` draws, evenly spread over all draws of all chains, of shape (draw, n_samples).

        Examples
        --------
        >>> import numpy as np, hashmix as hm
        >>> hm.sample(np.eye(4), n_draws=10, random_state=0).spread(3).shape
        (3, 4)
        """
        if most >= self.n_clusters.size and isinstance(self.labels, np.ndarray) and self.labels.flags.c_contiguous:
            return self.labels.reshape(-1, self.n_samples)
        return np.stack([self.labels[place] for place in self.spread_places(most)])

    def spread_places(self, most: int) -> list[tuple[int, int]]:
        """Chain and number of at most ``most`` draws, evenly spread over all.

        Examples
        --------
        >>> import numpy as np, hashmix as hm
        >>> posterior = hm.sample(np.random.default_rng(0).normal(size=(9, 2)), n_draws=10, n_chains=2, random_state=0)
        >>> posterior.spread_places(2)
        [(0, 0), (1, 9)]
        """
        return [divmod(int(draw), self.n_draws) for draw in evenly_spread(self.n_chains * self.n_draws, most)]

    # ---- files ---------------------------------------------------------------------------------------------------------

    def save(self, path: str | os.PathLike[str]) -> None:
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
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Read a file written by :meth:`save`, or the draws of a run folder. Nothing in the files is executed.

        Examples
        --------
        >>> import hashmix as hm
        >>> hm.Posterior.load("missing.npz")
        Traceback (most recent call last):
        ...
        FileNotFoundError: [Errno 2] No such file or directory: 'missing.npz'
        """
        return load_run(cls, path) if os.path.isdir(path) else read_posterior(cls, path)
