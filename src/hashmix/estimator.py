"""SplitMergeMixture: the scikit-learn estimator, a thin layer on a :class:`hashmix.problem.Problem`."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from functools import cached_property
from typing import Any

import numpy as np
from scipy.special import softmax
from sklearn.base import BaseEstimator, ClusterMixin, DensityMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from hashmix.core.rng import chain_keys, numpy_generator
from hashmix.core.validation import bad_parameter, check_choice, check_flag, check_integer
from hashmix.data.encode import decode
from hashmix.data.mixed import MixedRows
from hashmix.engines import engine_for
from hashmix.engines.dask import is_collection
from hashmix.engines.sources import FileSpan
from hashmix.estimator_input import InputChecks, some_rows
from hashmix.estimator_spread import SpreadFit
from hashmix.posterior import Posterior
from hashmix.posterior.describe.words import Word, representative_rows, top_words
from hashmix.posterior.estimate.matching import contingency_table, match_clusters
from hashmix.posterior.predictive import Matched, Predictive, cluster_probabilities, log_density
from hashmix.posterior.verdict import disagreement
from hashmix.problem import Problem
from hashmix.resolutions import Resolutions
from hashmix.run.settings import RunSettings
from hashmix.sampling import run_problem

__all__ = ["SplitMergeMixture", "sampled_rows"]


class SplitMergeMixture(InputChecks, SpreadFit, Resolutions, ClusterMixin, DensityMixin, BaseEstimator):
    """Bayesian clustering with an unknown number of clusters.

    Draws partitions of the rows from their posterior by split–merge MCMC. The point estimate is the partition with the least
    expected variation of information to the draws. Columns may be in any units.

    Parameters
    ----------
    component : str or Component, default="auto"
        The distribution of the rows of a cluster: "gaussian" (diagonal covariance) or "gaussian-full"; for counts
        "multinomial" (texts), "poisson" (events) and "bernoulli" (0/1); "categorical"; "mixed" for columns of different kinds,
        with blanks; "auto" (dense: diagonal or full Gaussian, for small whole numbers also Poisson or multinomial, chosen by
        evidence on a sample of the rows, or Bernoulli if all entries are 0 or 1; mixed if there are blanks or categories;
        sparse: multinomial, or Bernoulli if all entries are 1); or an object of :mod:`hashmix.components`. The hyperparameters
        of a named component are learned. For named Gaussians, constant columns are left out, and values that many rows share
        are spread within their cells (:mod:`hashmix.data.dequantise`).
    prior : str or PartitionPrior, default="auto"
        The distribution of partitions: "dirichlet-process" (concentration learned), "pitman-yor",
        "mixture-of-finite-mixtures", "flat", or an object of :mod:`hashmix.priors`. "auto" is the Dirichlet process, and
        flat for the published moves.
    moves : str, Move or list of (Move, weight), default="auto"
        The schedule: "auto" (all rows at once, on all cores), "lss" (locality-sensitive sampling), "split-merge" (SAMS and
        RGSM proposals, and a Gibbs scan),
        "sams", "rgsm", "sdds", "random-split-merge", "lshsm", "minsm", "gibbs", or objects of :mod:`hashmix.moves`;
        "published-lshsm" and "published-minsm" follow the paper as printed, and warn that their draws are not from the
        posterior.
    n_draws : int or "auto", default="auto"
        Draws to keep per chain. "auto": 200 up to 1,500 rows, 40 from 7,500 rows.
    n_warmup : int or "auto", default="auto"
        Sweeps before the first draw, during which the schedule is tuned. "auto": 200 up to 1,500 rows, 20 from 15,000 rows,
        in between as many as visit 300,000 rows.
    thin : int, default=1
        Sweeps per draw.
    n_chains : int, default=2
        Independent chains. With two or more, fit warns if they disagree; one cannot show whether it mixed.
    sample_size : int, optional
        Sample the posterior given a random sample of this many rows, and label all rows by its predictive distribution. Use it
        for huge data, or for fewer clusters: a sample has less evidence for small deviations from the component.
    max_seconds : float, optional
        Stop sampling after this time and keep the draws so far.
    init : str or array of labels, default="auto"
        Where chains start: "auto" (for Gaussians, the better of short trial chains from one cluster and from hashed
        neighbourhoods; for short texts, the latter relabelled by shared words; else the latter), "buckets" (hashed
        neighbourhoods), "single" (one cluster), "singletons", labels, or the ``posterior_`` of an earlier fit of the
        same rows; see :func:`hashmix.sample`.
    engine : str or Engine, default="threads"
        Where rows are. "threads": in this process, with all moves. "dask", "cuda" or an object of
        :mod:`hashmix.engines`: rows stay on the workers of a cluster, or on a GPU, and X may be files that are read there (a
        pattern or a list of .npy or .parquet); for Gaussians, with a schedule of parallel moves. For "dask" X may be a Dask
        array or DataFrame. These imply "dask" unless another engine is asked for.
    n_jobs : int, optional
        Threads that run chains; None or -1 for one per processor. Does not change the result.
    random_state : None, int, RandomState or Generator
        Source of randomness.
    progress : bool, default=False
        Show a progress bar (needs tqdm).
    run_dir : path, optional
        A folder for draws and checkpoints: a fit that was killed resumes from there; see :func:`hashmix.sample`.

    Attributes
    ----------
    labels_ : int array of shape (n_samples,)
        Cluster of each row in the point estimate (``posterior_.point_estimate()``), numbered in the order of first appearance.
    n_clusters_ : int
        Number of clusters in the point estimate.
    weights_ : array of shape ``(n_clusters_,)``
        Posterior predictive weight of each cluster, given the point estimate.
    means_, covariances_ : arrays
        Posterior expectation of each cluster's parameters (components that have means), of shapes
        ``(n_clusters_, n_features)``, and the same or ``(n_clusters_, n_features, n_features)``.
    probabilities_ : array of shape (n_samples,)
        The probability of each row's cluster, given the estimate; computed when it is asked for.
    tree_ : array of shape ``(n_clusters_ - 1, 4)``
        Which clusters belong together, as a linkage matrix of SciPy; see :meth:`cut`.
    posterior_ : Posterior
        All draws, with diagnostics.
    sample_indices_ : int array
        The rows that the posterior is of, in increasing order: all of them unless ``sample_size`` was given.
    component_ : Component
        The component that was used; learned hyperparameters have their values of the best draw
        (``posterior_.point_estimate_draw()``).
    n_iter_ : int
        Sweeps per chain.
    n_features_in_, feature_names_in_ :
        As everywhere in scikit-learn.

    Notes
    -----
    To go on from a fit that was too short, give ``run_dir`` and call ``fit`` again with more ``n_draws``: the draws are those
    of one long fit. Without a folder, ``init=model.labels_`` starts all chains from the estimate of a fit; chains that start
    together say less about convergence.

    ``predict`` and related methods use the posterior predictive given the point estimate, over the clusters it found; the
    probability of a new cluster is not considered. On borderline rows ``predict(X)`` may differ from ``labels_``.

    Examples
    --------
    >>> import hashmix as hm
    >>> from sklearn.datasets import make_blobs
    >>> X, y = make_blobs(300, centers=4, cluster_std=0.6, random_state=0)
    >>> model = hm.SplitMergeMixture(random_state=0).fit(X)
    >>> model.n_clusters_
    4
    """

    sample_indices_: np.ndarray
    posterior_: Posterior
    labels_: np.ndarray
    component_: Any
    n_clusters_: int
    weights_: np.ndarray
    means_: np.ndarray
    covariances_: np.ndarray

    def __init__(
        self,
        component: Any = "auto",
        prior: Any = "auto",
        moves: Any = "auto",
        n_draws: int | str = "auto",
        n_warmup: int | str = "auto",
        thin: int = 1,
        n_chains: int = 2,
        sample_size: int | None = None,
        max_seconds: float | None = None,
        init: Any = "auto",
        engine: Any = "threads",
        n_jobs: int | None = None,
        random_state: Any = None,
        progress: bool = False,
        run_dir: Any = None,
    ) -> None:
        self.component = component
        self.prior = prior
        self.moves = moves
        self.n_draws = n_draws
        self.n_warmup = n_warmup
        self.thin = thin
        self.n_chains = n_chains
        self.sample_size = sample_size
        self.max_seconds = max_seconds
        self.init = init
        self.engine = engine
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.progress = progress
        self.run_dir = run_dir

    # ---- fitting -----------------------------------------------------------------------------------------------------------

    def fit(self, X: Any, y: Any = None) -> SplitMergeMixture:
        """Sample the posterior of the rows' partition.

        Parameters
        ----------
        X : array, sparse matrix or frame of shape (n_samples, n_features)
            A frame of pandas, polars or pyarrow may have categories, dates and blanks; ids, row numbers and columns of one
            value are set aside, with a warning that names them. In an array, NaN is a blank.
        y : ignored

        Returns
        -------
        self

        Examples
        --------
        >>> import numpy as np, hashmix as hm
        >>> X = np.array([[1.0], [1.1], [0.9], [7.0], [7.1], [6.9]])
        >>> component = hm.components.DiagonalGaussian(mean=4.0, kappa=0.1, shape=2.0, rate=0.1)
        >>> hm.SplitMergeMixture(component, random_state=0).fit(X).labels_
        array([0, 0, 0, 1, 1, 1])
        """
        engine = engine_for(X, self.engine, type(self).__name__)
        X = X if engine is not None else self._validated(X, reset=True)
        settings = RunSettings(
            n_draws=self.n_draws,
            n_warmup=self.n_warmup,
            thin=self.thin,
            n_chains=self.n_chains,
            random_state=self.random_state,
            init=self.init,
            max_seconds=self.max_seconds,
            n_jobs=self.n_jobs,
            progress=self.progress,
            run_dir=self.run_dir,
        )
        owner = type(self).__name__
        if engine is not None:
            return self._fit_spread(X, engine, settings)
        self.sample_indices_ = sampled_rows(X.shape[0], self.sample_size, self.random_state, owner)
        sampled = len(self.sample_indices_) < X.shape[0]
        problem = Problem.resolve(
            some_rows(X, self.sample_indices_) if sampled else X,
            self.component,
            self.prior,
            self.moves,
            settings,
            owner,
            self._used_names(),
        )
        self.posterior_, self._clusters = run_problem(problem), None
        if sampled:
            self.posterior_.settings["sample_size"] = f"{len(self.sample_indices_)} of {X.shape[0]} rows"
        self._target, self._columns, self._key = problem.target, problem.columns, problem.keys[0]
        for name in ("tree_", "probabilities_", "_levels"):  # of an earlier fit
            self.__dict__.pop(name, None)
        self.n_iter_: int = max(1, self.posterior_.settings["n_sweeps"])
        self._set_estimate()
        if sampled:
            self.labels_ = self._predictive.labels(self._checked_rows(X), self.n_jobs)
        self._rows_to_label = X if sampled else None
        # The values of columns that were left out, which are the same in every row.
        self._template = None if self._target.rows.is_sparse else _first_values(X)
        self._set_parameters()
        if (found := disagreement(self.posterior_)) is not None:
            advice = "Raise n_warmup or n_draws, and compare posterior_.n_clusters between chains."
            warnings.warn(f"{found} {advice}", ConvergenceWarning, stacklevel=2)
        return self

    def _set_estimate(self) -> None:
        """Labels of the point estimate, and what the predictive given it needs."""
        draw = self.posterior_.point_estimate_draw()
        self.component_ = self._component_of(draw)
        estimate = self.posterior_.point_estimate().astype(np.intp)
        self.labels_ = self._estimate = estimate
        self.n_clusters_ = int(estimate.max()) + 1
        concentration = float(self.posterior_.concentration[draw])
        self._predictive = Predictive.given(estimate, self.component_, self._target.prior, self._target.rows, concentration)
        self.weights_ = self._predictive.weights

    def _component_of(self, draw: tuple[int, int]) -> Any:
        """The component with the hyperparameters of a draw."""
        learned = {name: values[draw] for name, values in self.posterior_.hyperparameters.items()}
        return self._target.component.with_hyperparameters(learned)

    @cached_property
    def probabilities_(self) -> np.ndarray:
        """The probability of each training row's cluster, given the estimate."""
        check_is_fitted(self)
        if isinstance(self._rows_to_label, FileSpan) or is_collection(self._rows_to_label):
            return self._spread_probabilities()
        rows = self._target.rows if self._rows_to_label is None else self._checked_rows(self._rows_to_label)
        return self._predictive.probabilities_of(rows, self.labels_, self.n_jobs)

    def _set_parameters(self) -> None:
        if not self.component_.has_means:
            return
        parameters = self.component_.expected_parameters(self._predictive.model, self._predictive.stats)
        assert self._template is not None
        # A column that was left out has one value: that mean, and no variance.
        d, columns = len(self._columns), np.flatnonzero(self._columns)
        self.means_ = np.tile(self._template, (self.n_clusters_, 1))
        self.means_[:, columns] = parameters.means
        self.covariances_ = np.zeros((self.n_clusters_,) + (d,) * (parameters.covariances.ndim - 1))
        place: Any = (columns,) if parameters.covariances.ndim == 2 else np.ix_(columns, columns)
        self.covariances_[(slice(None), *place)] = parameters.covariances

    # ---- the posterior predictive given the point estimate -----------------------------------------------------------------

    def _checked_rows(self, X: Any) -> Any:
        check_is_fitted(self)
        X = self._validated(X, reset=False)
        return self.component_.rows(self._used(X), type(self).__name__)

    def _used(self, X: Any) -> Any:
        """The columns that were not left out."""
        if self._columns.all():
            return X
        return X.select_columns(self._columns) if isinstance(X, MixedRows) else X[:, self._columns]

    def _draws(self, n_draws: Any) -> Iterator[Matched]:
        """The predictives of some draws, and the estimate's clusters that theirs match; None stands for the estimate."""
        check_is_fitted(self)
        if n_draws is None:
            yield Matched(self._predictive, np.arange(self.n_clusters_))
            return
        for draw in self.posterior_.spread_places(check_integer(type(self).__name__, "n_draws", n_draws, low=1)):
            labels, predictive = np.asarray(self.posterior_.labels[draw]), self._predictive_of(draw)
            table = contingency_table(self._estimate, labels, (self.n_clusters_, len(predictive.weights)))
            yield Matched(predictive, match_clusters(table))

    def _predictive_of(self, draw: tuple[int, int]) -> Predictive:
        """The predictive given a draw."""
        component = self._component_of(draw)
        if self._clusters is not None:
            return self._predictive_of_all_rows(draw, component)
        labels, concentration = np.asarray(self.posterior_.labels[draw]), float(self.posterior_.concentration[draw])
        return Predictive.given(labels, component, self._target.prior, self._target.rows, concentration)

    def predict(self, X: Any) -> np.ndarray:
        """The most probable cluster of each row; for a Dask array or DataFrame, a Dask array that is computed when asked for.

        Examples
        --------
        >>> import hashmix as hm
        >>> from sklearn.datasets import make_blobs
        >>> X, y = make_blobs(100, centers=[[-5], [5]], random_state=0)
        >>> model = hm.SplitMergeMixture(random_state=0).fit(X)
        >>> bool(model.predict([[-5.0]]) != model.predict([[5.0]]))
        True
        """
        if is_collection(X):
            return self._predict_lazily(X)
        rows = self._checked_rows(X)
        return self._predictive.labels(rows, self.n_jobs)

    def predict_proba(self, X: Any, n_draws: int | None = None, new_cluster: bool = False) -> np.ndarray:
        """The probability of each cluster for each row, of shape ``(n_samples, n_clusters_)``.

        Parameters
        ----------
        X : array, sparse matrix, Dask array or DataFrame of shape (n_samples, n_features)
            For a collection of Dask, what is returned is a Dask array that is computed when asked for.
        n_draws : int, optional
            Average over this many draws, evenly spread, instead of conditioning on the estimate. Clusters of draws are matched
            with those of the estimate; the probability of clusters without a match is divided in proportion.
        new_cluster : bool, default=False
            Add a last column: the probability that the row belongs to none of the clusters. Needs ``n_draws=None``.

        Examples
        --------
        >>> import hashmix as hm
        >>> from sklearn.datasets import make_blobs
        >>> X, y = make_blobs(100, centers=[[-5], [5]], random_state=0)
        >>> model = hm.SplitMergeMixture(random_state=0).fit(X)
        >>> model.predict_proba(X).shape
        (100, 2)
        >>> model.predict_proba([[5.0], [500.0]], new_cluster=True)[:, 2].round(2)
        array([0., 1.])
        """
        if check_flag(type(self).__name__, "new_cluster", new_cluster) and n_draws is not None:
            raise bad_parameter(type(self).__name__, "n_draws", "None if new_cluster is given", n_draws)
        if is_collection(X):
            return self._predict_proba_lazily(X, list(self._draws(n_draws)), new_cluster)
        rows = self._checked_rows(X)
        if new_cluster:
            return self._predictive.probabilities_and_new(rows)
        if n_draws is None:
            return softmax(self._predictive.log_joint(rows), axis=1)
        return cluster_probabilities(rows, self._draws(n_draws), self.n_clusters_)

    def score_samples(self, X: Any, n_draws: int | None = None) -> np.ndarray:
        """The log posterior predictive density of each row.

        Parameters
        ----------
        X : array, sparse matrix, Dask array or DataFrame of shape (n_samples, n_features)
            For a collection of Dask, what is returned is a Dask array that is computed when asked for.
        n_draws : int, optional
            Average the density over this many draws, evenly spread, instead of conditioning on the estimate.

        Examples
        --------
        >>> import hashmix as hm
        >>> from sklearn.datasets import make_blobs
        >>> X, y = make_blobs(100, centers=[[-5], [5]], random_state=0)
        >>> model = hm.SplitMergeMixture(random_state=0).fit(X)
        >>> bool(model.score_samples([[5.0]])[0] > model.score_samples([[0.0]])[0])
        True
        """
        if is_collection(X):
            return self._score_lazily(X, list(self._draws(n_draws)))
        return log_density(self._checked_rows(X), self._draws(n_draws))

    def score(self, X: Any, y: Any = None) -> float:
        """The mean log posterior predictive density of the rows; that of a collection of Dask is added up block by block.

        Examples
        --------
        >>> import hashmix as hm
        >>> from sklearn.datasets import make_blobs
        >>> X, y = make_blobs(100, centers=[[-5], [5]], random_state=0)
        >>> -4 < hm.SplitMergeMixture(random_state=0).fit(X).score(X) < -1
        True
        """
        found = self.score_samples(X).mean()
        return float(found.compute() if is_collection(X) else found)

    def sample(self, n_samples: int = 1) -> tuple[np.ndarray, np.ndarray]:
        """Draw new rows from the posterior predictive; return them and the cluster each came from.

        The parameters of its cluster are drawn for every row, so that their uncertainty is included. Rows of a frame with
        categories are an array of objects, with the columns that were not set aside; no cell is blank. As in scikit-learn's
        mixtures, an integer ``random_state`` gives the same rows at every call.

        Examples
        --------
        >>> import hashmix as hm
        >>> from sklearn.datasets import make_blobs
        >>> X, y = make_blobs(100, centers=[[-5], [5]], random_state=0)
        >>> rows, clusters = hm.SplitMergeMixture(random_state=0).fit(X).sample(10)
        >>> rows.shape, clusters.shape
        ((10, 1), (10,))
        """
        check_is_fitted(self)
        n_samples = check_integer(type(self).__name__, "n_samples", n_samples, low=1)
        if not self.component_.draws_parameters:
            raise ValueError(f"sample needs a component that can draw rows. Got {self.component_!r} instead.")
        if isinstance(self.random_state, np.random.RandomState):
            rng = np.random.default_rng(self.random_state.randint(2**31 - 1))
        else:
            rng = np.random.default_rng(self.random_state)
        drawn, clusters = self._predictive.draw(n_samples, len(self._columns), rng)
        if self._template is None:
            return drawn, clusters
        rows = np.tile(self._template, (n_samples, 1))
        rows[:, self._columns] = drawn
        return (rows if self._frame is None or self._frame.plain else decode(rows, self._frame.columns)), clusters

    # ---- what clusters are about -------------------------------------------------------------------------------------------

    def top_words(self, n_words: int = 10, by: str = "probability", feature_names: Any = None) -> list[list[Word]]:
        """The most characteristic words of each cluster of counts: name, probability (or rate), and lift over all rows.

        Parameters
        ----------
        n_words : int, default=10
            Largest number of words per cluster.
        by : {"probability", "lift"}, default="probability"
            Order of the words. By lift, words that are rare in the cluster are left out.
        feature_names : sequence of str, optional
            Names of the columns, such as a vectorizer's ``get_feature_names_out()``; by default those seen in fit, or numbers.

        Examples
        --------
        >>> import hashmix as hm
        >>> X = [[3, 1, 0, 0], [2, 2, 0, 0], [0, 0, 1, 4], [0, 0, 3, 2]]
        >>> model = hm.SplitMergeMixture("multinomial", random_state=0).fit(X)
        >>> [word.name for word in model.top_words(2, feature_names=["cat", "dog", "oak", "elm"])[0]]
        ['cat', 'dog']
        """
        check_is_fitted(self)
        owner = type(self).__name__
        if not self.component_.has_words:
            raise ValueError(f"top_words needs a component with words, for counts. Got {self.component_!r} instead.")
        n_words = check_integer(owner, "n_words", n_words, low=1)
        by = check_choice(owner, "by", by, ["probability", "lift"])
        if feature_names is None:
            feature_names = self._used_names() or range(len(self._columns))
        names = [str(name) for name in feature_names]
        if len(names) != len(self._columns):
            raise bad_parameter(owner, "feature_names", f"{len(self._columns)} names", f"{len(names)} names")
        return top_words(self.component_, self._predictive.model, self._predictive.stats, names, n_words, by)

    def representatives(self, X: Any, n_rows: int = 3) -> list[np.ndarray]:
        """The most typical rows of each cluster: their numbers in the training data, the best first.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_samples, n_features)
            The data the model was fitted on.
        n_rows : int, default=3
            Largest number of rows per cluster.

        Examples
        --------
        >>> import numpy as np, hashmix as hm
        >>> X = np.array([[0.0], [0.1], [0.5], [9.0], [9.3], [9.1]])
        >>> component = hm.components.DiagonalGaussian(mean=4.0, kappa=0.01, shape=2.0, rate=0.1)
        >>> model = hm.SplitMergeMixture(component, random_state=0).fit(X)
        >>> [rows.tolist() for rows in model.representatives(X, 1)]
        [[1], [5]]
        """
        check_is_fitted(self)
        n_rows = check_integer(type(self).__name__, "n_rows", n_rows, low=1)
        X = self._validated(X, reset=False)
        if X.shape[0] != len(self.labels_):
            given = f"{X.shape[0]} rows"
            raise bad_parameter(type(self).__name__, "X", f"the {len(self.labels_)} rows the model was fitted on", given)
        predictive = self._predictive
        return representative_rows(self.component_, predictive.model, predictive.stats, self._used(X), self.labels_, n_rows)


def _first_values(X: Any) -> np.ndarray:
    """The first value of every column that is not blank."""
    if isinstance(X, MixedRows):
        first = np.isnan(X.values).argmin(axis=0)
        return X.values[first, np.arange(X.n_columns)]
    return X[0].astype(np.float64)


def sampled_rows(n: int, sample_size: Any, random_state: Any, owner: str) -> np.ndarray:
    """The rows to sample the posterior of, in increasing order.

    Examples
    --------
    >>> from hashmix.estimator import sampled_rows
    >>> len(sampled_rows(100, 10, 0, "SplitMergeMixture"))
    10
    """
    if sample_size is None:
        return np.arange(n)
    m = check_integer(owner, "sample_size", sample_size, low=2)
    if m >= n:
        return np.arange(n)
    return np.sort(numpy_generator(chain_keys(random_state, 1)[0], 4).choice(n, m, replace=False))
