"""Fitting rows that an engine spreads over shards, and predicting for collections that are computed elsewhere."""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from hashmix.core.validation import bad_parameter
from hashmix.engines import Dask, Engine
from hashmix.engines.dask import is_collection
from hashmix.engines.kept import read_values
from hashmix.engines.sources import FileSource, FileSpan, as_source, is_files
from hashmix.estimator_input import FrameColumns
from hashmix.posterior.predictive import Matched, Predictive, cluster_probabilities, log_density
from hashmix.posterior.verdict import disagreement
from hashmix.run.settings import RunSettings
from hashmix.run.spread.chain import DrawnClusters
from hashmix.spread_sampling import Sampled, sample_spread

__all__ = ["SpreadFit"]

#: Rows of files that are labelled at a time in this process, and bytes of them in a chunk of a Dask array.
_ROWS, _CHUNK = 65_536, 1 << 27


class SpreadFit:
    """What :class:`~hashmix.SplitMergeMixture` does with an engine.

    The estimate is the draw that is nearest to all others, judged by the rows of a sample. Its clusters have the statistics of
    all rows, and ``labels_`` are the most probable clusters given these.
    """

    component: Any
    prior: Any
    moves: Any
    engine: Any
    n_jobs: int | None
    sample_size: int | None
    labels_: Any
    _frame: FrameColumns | None
    _predictive: Predictive
    _clusters: list[list[DrawnClusters]] | None
    _component_of: Callable[[tuple[int, int]], Any]

    def _fit_spread(self, X: Any, engine: Engine, settings: RunSettings) -> Any:
        owner = type(self).__name__
        if self.sample_size is not None:
            raise bad_parameter(owner, "sample_size", "None with an engine", self.sample_size)
        spread = engine.open(X, owner)
        try:
            sampled = sample_spread(spread, self.component, self.prior, self.moves, settings, owner)
            self.n_features_in_ = spread.n_columns
            self.__dict__.pop("feature_names_in_", None)
            if spread.feature_names is not None:
                self.feature_names_in_ = np.array(spread.feature_names, object)
        finally:
            spread.close()
        for name in ("tree_", "probabilities_", "_levels"):  # of an earlier fit
            self.__dict__.pop(name, None)
        self._take(sampled)
        self._label(X, engine)
        if (found := disagreement(self.posterior_)) is not None:
            advice = "Raise n_warmup or n_draws, and compare posterior_.n_clusters between chains."
            warnings.warn(f"{found} {advice}", ConvergenceWarning, stacklevel=3)
        return self

    def _take(self, sampled: Sampled) -> None:
        """Take the draw that is the estimate."""
        self.posterior_, self._clusters, problem = sampled.posterior, sampled.clusters, sampled.problem
        self.sample_indices_ = sampled.rows
        self._target, self._columns, self._key = problem.target, problem.columns, problem.keys[0]
        self._frame = self._rows_to_label = None
        self._template: np.ndarray | None = sampled.first
        self.n_iter_ = max(1, self.posterior_.settings["n_sweeps"])
        draw = self.posterior_.point_estimate_draw()
        self.component_ = self._component_of(draw)
        self._estimate = np.asarray(self.posterior_.labels[draw]).astype(np.intp)
        self._predictive = self._predictive_of_all_rows(draw, self.component_)
        self.n_clusters_ = len(self._predictive.weights)
        self.weights_ = self._predictive.weights
        self._set_parameters()  # type: ignore[attr-defined]

    def _predictive_of_all_rows(self, draw: tuple[int, int], component: Any) -> Predictive:
        """The predictive given a draw, from the statistics of all rows, not only of those whose labels are recorded."""
        assert self._clusters is not None
        model, concentration, stats = self._clusters[draw[0]][draw[1]]
        return Predictive.of_clusters(component, model, stats, stats[:, 0], self._target.prior, concentration)

    def _label(self, X: Any, engine: Engine) -> None:
        """Label all rows: now if they are in this process, else when labels are asked for."""
        if is_collection(X):
            self._rows_to_label = X
            self.labels_ = self._predict_lazily(X)
        elif is_files(X) and isinstance(engine, Dask):
            self._rows_to_label = _files_as_dask(as_source(X, type(self).__name__))
            self.labels_ = self._predict_lazily(self._rows_to_label)
        else:
            source = as_source(X, type(self).__name__)
            parts = source.describe(map)
            self._rows_to_label = source.span(parts, 0, parts.n_rows)
            self.labels_ = self._for_all(label_block, self._rows_to_label)

    def _for_all(self, work: Callable[..., np.ndarray], rows: Any) -> np.ndarray:
        """What a function says of rows in this process, or of those in files, which are read in parts."""
        parts = rows.chunks(_ROWS) if isinstance(rows, FileSpan) else [rows]
        return np.concatenate([work(part, self._predictive, self._columns) for part in parts])

    def _predict_lazily(self, X: Any) -> Any:
        check_is_fitted(self)
        rows = self._as_array(X)
        return rows.map_blocks(label_block, self._predictive, self._columns, drop_axis=1, dtype=np.intp)

    def _predict_proba_lazily(self, X: Any, draws: list[Matched], new_cluster: bool) -> Any:
        rows = self._as_array(X)
        chunks = (rows.chunks[0], (self.n_clusters_ + new_cluster,))
        if new_cluster:
            return rows.map_blocks(_new_block, self._predictive, self._columns, chunks=chunks, dtype=np.float64)
        return rows.map_blocks(_proba_block, draws, self.n_clusters_, self._columns, chunks=chunks, dtype=np.float64)

    def _score_lazily(self, X: Any, draws: list[Matched]) -> Any:
        return self._as_array(X).map_blocks(_density_block, draws, self._columns, drop_axis=1, dtype=np.float64)

    def _spread_probabilities(self) -> Any:
        """The probability of each training row's cluster, of rows that are in files or in a collection."""
        if isinstance(self._rows_to_label, FileSpan):
            return self._for_all(_own_block, self._rows_to_label)
        rows = self._as_array(self._rows_to_label)
        return rows.map_blocks(_own_block, self._predictive, self._columns, drop_axis=1, dtype=np.float64)

    def _as_array(self, X: Any) -> Any:
        """A Dask array whose chunks are whole rows."""
        array = X.to_dask_array() if hasattr(X, "columns") else X
        if array.ndim != 2 or array.shape[1] != self.n_features_in_:
            given = f"{array.ndim} dimensions, {array.shape[-1]} columns"
            raise bad_parameter(type(self).__name__, "X", f"{self.n_features_in_} columns", given)
        return array.rechunk({1: -1}) if array.numblocks[1] > 1 else array


def _used(block: Any, predictive: Predictive, columns: np.ndarray) -> Any:
    values = np.asarray(block)
    return predictive.component.rows(values if columns.all() else values[:, columns], "predict")


def label_block(block: Any, predictive: Predictive, columns: np.ndarray) -> np.ndarray:
    """The most probable clusters of the rows of a block."""
    return predictive.labels(_used(block, predictive, columns), 1) if len(block) else np.zeros(0, np.intp)


def _proba_block(block: Any, draws: list[Matched], n_clusters: int, columns: np.ndarray) -> np.ndarray:
    if not len(block):
        return np.zeros((0, n_clusters))
    return cluster_probabilities(_used(block, draws[0].predictive, columns), draws, n_clusters)


def _new_block(block: Any, predictive: Predictive, columns: np.ndarray) -> np.ndarray:
    if not len(block):
        return np.zeros((0, len(predictive.weights) + 1))
    return predictive.probabilities_and_new(_used(block, predictive, columns))


def _density_block(block: Any, draws: list[Matched], columns: np.ndarray) -> np.ndarray:
    return log_density(_used(block, draws[0].predictive, columns), draws) if len(block) else np.zeros(0)


def _own_block(block: Any, predictive: Predictive, columns: np.ndarray) -> np.ndarray:
    if not len(block):
        return np.zeros(0)
    rows = _used(block, predictive, columns)
    return predictive.probabilities_of(rows, predictive.labels(rows, 1), 1)


def _files_as_dask(source: Any) -> Any:
    """Files as a Dask array, whose chunks are parts of files and read when they are needed."""
    assert isinstance(source, FileSource)
    import dask
    import dask.array

    parts = source.describe(map)
    step = max(1, _CHUNK // (parts.n_columns * np.dtype(parts.dtype).itemsize))
    chunks = []
    for first, last in itertools.pairwise(parts.firsts.tolist()):
        for begin in range(first, last, step):
            end = min(begin + step, last)
            read = dask.delayed(partial(read_values, begin, source.span(parts, begin, end)))()
            chunks.append(dask.array.from_delayed(read, shape=(end - begin, parts.n_columns), dtype=parts.dtype))
    return dask.array.concatenate(chunks)
