"""A Problem: what is sampled and how, resolved and validated once. Everything downstream takes it."""

from __future__ import annotations

import hashlib
import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.metadata import version
from typing import Any

import numpy as np

from hashmix.components import COMPONENTS, Component, resolve_component
from hashmix.core.progress import can_show, is_watched
from hashmix.core.rng import chain_keys
from hashmix.core.threads import one_blas_thread
from hashmix.core.validation import bad_parameter, check_integer
from hashmix.data.mixed import Column
from hashmix.data.rows import Rows
from hashmix.data.suspects import warn_of_cells
from hashmix.moves import Move, Schedule, Work, default_prior, resolve_moves
from hashmix.partition.target import Target
from hashmix.posterior import Posterior
from hashmix.priors import PartitionPrior, resolve_prior
from hashmix.run.ahead import compile_ahead
from hashmix.run.chain import leaves, move_names
from hashmix.run.evidence import Choice, choose_component
from hashmix.run.folder import known_keys
from hashmix.run.settings import RunSettings
from hashmix.run.starts import check_starts

__all__ = ["Problem"]

#: What a run may differ in and still be resumed: the version, and the evidence, which follows from the rest.
_NOT_COMPARED = ("hashmix_version", "chosen", "evidence", "hyperparameter_names")


@dataclass(frozen=True)
class Problem:
    """What is sampled and how.

    Attributes
    ----------
    target : Target
        Rows, component, prior and model.
    columns : bool array of shape (n_features,)
        Which columns of the data the rows have: constant ones may have been left out.
    schedule : Schedule
        The moves of a sweep, with their weights.
    settings : RunSettings
        How long chains run and where draws go, validated.
    starts, keys : list
        Where every chain starts, and the key of its random numbers.
    dequantised : bool array of shape (n_features,)
        Which columns of the data were spread within cells (:mod:`hashmix.data.dequantise`).
    source : Rows
        The rows before that: what identifies the data.
    choice : Choice or None
        How "auto" chose the component, if it had candidates.
    names : list of str or None
        The names of the data's columns, if they have any.

    Examples
    --------
    >>> import numpy as np
    >>> from hashmix.problem import Problem
    >>> from hashmix.run.settings import RunSettings
    >>> problem = Problem.resolve(np.eye(5), "gaussian", "auto", "lss", RunSettings(n_draws=10, random_state=0))
    >>> problem.target.rows.shape, problem.settings.total_sweeps
    ((5, 5), 10)
    """

    target: Target
    columns: np.ndarray
    schedule: Schedule
    settings: RunSettings
    starts: list[Any]
    keys: list[int]
    dequantised: np.ndarray
    source: Rows
    choice: Choice | None = None
    names: list[str] | None = None

    @classmethod
    def resolve(
        cls,
        X: Any,
        component: str | Component,
        prior: str | PartitionPrior,
        moves: str | Move | Sequence[tuple[Move, float | Work]],
        settings: RunSettings,
        owner: str = "sample",
        feature_names: Any = None,
    ) -> Problem:
        """Resolve strings to objects and validate everything, looking at the data once."""
        resolve_moves(moves, owner)  # names are checked before the data are looked at
        keys = chain_keys(settings.random_state, check_integer(owner, "n_chains", settings.n_chains, low=1))
        if settings.run_dir is not None and not isinstance(settings.run_dir, (str, os.PathLike)):
            raise bad_parameter(owner, "run_dir", "a path or None", settings.run_dir)
        if settings.run_dir is not None and settings.random_state is None:
            keys = known_keys(settings.run_dir) or keys
        resolved = resolve_component(component, X, owner, keys[0])
        rows, chosen, choice = resolved.rows, resolved.component, None
        names = _names_of(X) if feature_names is None else [str(name) for name in feature_names]
        used = np.flatnonzero(resolved.columns).tolist()
        warn_of_cells(resolved.source, used if names is None else [names[j] for j in used])
        schedule = resolve_moves(moves, owner, chosen)
        resolved_prior = resolve_prior(prior, owner, default_prior(schedule))
        settings = settings.checked(owner, rows.n_rows)
        starts = check_starts(settings.init, rows.n_rows, settings.n_chains, owner)
        if isinstance(component, str) and isinstance(moves, str):
            families = [type(candidate) for candidate in resolved.candidates]
            wanted = [name for name in COMPONENTS.names if COMPONENTS[name] in families]
            compile_ahead(wanted, moves, rows.arrays[0].dtype.name, settings.progress or is_watched())
        if len(resolved.candidates) > 1:
            with one_blas_thread():
                choice = choose_component(rows, resolved.candidates, resolved_prior, keys[0], settings.n_jobs, resolved.counts)
            chosen, rows = choice.component, choice.rows
            schedule = resolve_moves(moves, owner, chosen)
            if settings.progress and can_show():
                print(f"component: {choice.describe()}", file=sys.stderr)
        target = Target(rows, chosen, resolved_prior, chosen.model(rows))
        dequantised = resolved.dequantised & (rows is resolved.rows)
        return cls(target, resolved.columns, schedule, settings, starts, keys, dequantised, resolved.source, choice, names)

    def describe(self) -> dict[str, Any]:
        """The settings that a posterior records, as text and numbers."""
        seed = self.settings.random_state
        return {
            "component": repr(self.target.component),
            "prior": repr(self.target.prior),
            "moves": repr(self.schedule),
            "exact": all(move.exact for move, _ in self.schedule),
            **self._why(),
            **({"dequantised": np.flatnonzero(self.dequantised).tolist()} if self.dequantised.any() else {}),
            **({"hyperparameter_names": named} if (named := self._hyperparameter_names()) else {}),
            "n_warmup": self.settings.n_warmup,
            "thin": self.settings.thin,
            "random_state": int(seed) if isinstance(seed, (int, np.integer)) else None,
            "hashmix_version": version("hashmix"),
        }

    def _why(self) -> dict[str, Any]:
        """How the component was chosen, if there was a choice: in words, and the evidence of the candidates."""
        return {} if self.choice is None else {"chosen": self.choice.describe(), "evidence": self.choice.evidence}

    def _hyperparameter_names(self) -> dict[str, list[str]]:
        """The columns that hyperparameters are about, by name, or by number in the data, if these are not simply 0, 1, …"""
        used = np.flatnonzero(self.columns)
        named = {}
        for name, columns in self.target.component.hyperparameter_columns(self.target.model).items():
            places = used[columns]
            if self.names is not None:
                named[name] = [self.names[j] for j in places]
            elif not np.array_equal(places, np.arange(len(places))):
                named[name] = [str(j) for j in places]
        return named

    def empty_record(self) -> Posterior:
        """A posterior with space for all draws."""
        n_chains, n_draws, n_rows = self.settings.n_chains, self.settings.n_draws, self.target.rows.n_rows
        try:
            return Posterior.empty(
                n_chains,
                n_draws,
                n_rows,
                move_names(self.schedule),
                self.describe(),
                self.target.component.hyperparameters(self.target.model),
                stored=self.settings.run_dir is not None,
            )
        except MemoryError:
            gigabytes = 4e-9 * n_chains * n_draws * n_rows
            raise MemoryError(
                f"n_draws={n_draws} draws of {n_rows:,} rows in {n_chains} chain{'s' * (n_chains > 1)} need "
                f"{gigabytes:,.0f} GB of memory: lower n_draws, raise thin instead, or keep labels on disk with run_dir."
            ) from None

    def identity(self, record: Posterior) -> dict[str, Any]:
        """What a run folder stores to refuse other data or settings, and to be read."""
        model = hashlib.sha256()
        for leaf in leaves(self.target.model):
            model.update(np.ascontiguousarray(leaf).data)
        starts = [
            start if isinstance(start, str) else hashlib.sha256(np.ascontiguousarray(start).data).hexdigest()
            for start in self.starts
        ]
        settings = {name: value for name, value in self.describe().items() if name not in _NOT_COMPARED and value is not None}
        # The component may depend on the seed, so that another seed is to be named first.
        if "random_state" in settings:
            settings = {"random_state": settings["random_state"]} | settings
        return {
            "settings": settings
            | {
                "n_chains": record.n_chains,
                "keys": [str(key) for key in self.keys],
                "init": starts,
                "model": model.hexdigest(),
            },
            "data": self.source.fingerprint(),
            "recorded": {
                "n_samples": record.n_samples,
                "moves": list(record.move_stats),
                "hyperparameters": {name: list(values.shape[2:]) for name, values in record.hyperparameters.items()},
                "hyperparameter_names": self._hyperparameter_names(),
                **self._why(),
            },
        }


def _names_of(X: Any) -> list[str] | None:
    """The names of the columns of mixed rows or of a frame."""
    columns = getattr(X, "columns", None)
    if columns is None or callable(columns):
        return None
    return [column.name if isinstance(column, Column) else str(column) for column in columns]
