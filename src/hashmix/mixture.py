"""SplitMergeMixture: the scikit-learn estimator, a thin layer on :func:`hashmix.sample`."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy.sparse import issparse, vstack
from scipy.special import logsumexp, softmax
from sklearn.base import BaseEstimator, ClusterMixin, DensityMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted, validate_data

from hashmix.components import prepare
from hashmix.components.counts import CountComponent
from hashmix.components.gaussian import GaussianComponent
from hashmix.hashing.rows import SparseRows, n_rows
from hashmix.moves import default_prior, resolve_moves
from hashmix.moves.hashed_gibbs import settle
from hashmix.posterior.matching import match_clusters, table_of
from hashmix.priors import PartitionPrior, resolve_prior
from hashmix.sampling import sample_and_tables
from hashmix.state import State
from hashmix.validation import bad_parameter, check_choice, check_integer
from hashmix.words import Word, representative_rows, top_words

__all__ = ["SplitMergeMixture"]

#: Chains whose R̂ exceeds this are said to disagree.
_RHAT_LIMIT = 1.1


def auto_warmup(n: int) -> int:
    """Sweeps of warm-up meant by "auto": small data are cheap to be patient with."""
    return min(400, max(50, 2_000_000 // n))


def predictive_weights(prior: PartitionPrior, labels: np.ndarray) -> np.ndarray:
    """The weight of each cluster for the next row, a new cluster left out.

    Examples
    --------
    >>> import numpy as np, hashmix as hm
    >>> from hashmix.mixture import predictive_weights
    >>> predictive_weights(hm.priors.DirichletProcess(1.0), np.array([0, 0, 0, 1]))
    array([0.75, 0.25])
    """
    sizes = np.bincount(labels).astype(np.float64)
    table = prior.table(len(labels) + 1, len(sizes), prior.start_concentration)
    weights = np.ones_like(sizes) if table.flat else sizes + table.shift
    return weights / weights.sum()


class SplitMergeMixture(ClusterMixin, DensityMixin, BaseEstimator):
    """Bayesian clustering with an unknown number of clusters.

    Draws partitions of the rows from their posterior by split–merge MCMC. The point estimate is the draw with the least
    expected variation of information, in which rows between clusters are then moved to the more probable one. Columns may be
    in any units.

    Parameters
    ----------
    component : str or Component, default="auto"
        How a cluster makes data: "gaussian" (diagonal covariance), "gaussian-full"; for counts "multinomial" (texts), "poisson"
        (events) and "bernoulli" (0/1); "auto" (dense: Gaussian with a full covariance up to 16 columns, diagonal above;
        sparse: multinomial, or Bernoulli where all entries are 1); or an object of :mod:`hashmix.components`. A string means
        hyperparameters that are learned; Gaussian columns with a single value are then left out.
    prior : str or PartitionPrior, default="auto"
        How clusters share points: "dirichlet-process" (concentration learned), "pitman-yor",
        "mixture-of-finite-mixtures", "flat", or an object of :mod:`hashmix.priors`. "auto" is the Dirichlet process, and
        flat for the published moves.
    moves : str, Move or list of (Move, weight), default="lss"
        The schedule: "lss" (locality-sensitive sampling), "split-merge" (both SAMS and RGSM proposals, and a Gibbs scan),
        "sams", "rgsm", "sdds", "random-split-merge", "lshsm", "minsm", "gibbs", or objects of :mod:`hashmix.moves`;
        "published-lshsm" and "published-minsm" follow the paper as printed, and warn that their draws are not from the
        posterior.
    n_draws : int, default=100
        Draws kept of each chain.
    n_warmup : int or "auto", default="auto"
        Sweeps before the first draw, in which the schedule is tuned. "auto": 400 up to 5,000 rows, 50 from 40,000 on, as many
        as pass 2 million rows in between.
    thin : int, default=1
        Sweeps per draw.
    n_chains : int, default=1
        Independent chains. With two or more, fit warns when they disagree.
    max_seconds : float, optional
        Stop sampling after this time, with the draws so far.
    init : str or array of labels, default="auto"
        Where chains start: "auto" or "buckets" (hashed neighbourhoods), "single" (one cluster), "singletons", or labels;
        see :func:`hashmix.sample`.
    n_jobs : int, optional
        Threads to run chains in; None or -1 for one per processor. Does not change the result.
    random_state : None, int, RandomState or Generator
        Where randomness comes from.
    progress : bool, default=False
        Show a progress bar (needs tqdm).
    run_dir : path, optional
        A folder to keep draws and checkpoints in: a fit that was killed goes on from there; see :func:`hashmix.sample`.

    Attributes
    ----------
    labels_ : int array of shape (n_samples,)
        Cluster of each row in the point estimate, numbered in the order of first appearance.
    n_clusters_ : int
        Number of clusters in the point estimate.
    weights_ : array of shape (n_clusters_,)
        Posterior predictive weight of each cluster, given the point estimate.
    means_, covariances_ : arrays
        Posterior expectation of each cluster's parameters (Gaussian components): (n_clusters_, n_features), and
        (n_clusters_, n_features) or (n_clusters_, n_features, n_features).
    posterior_ : Posterior
        All draws, with diagnostics.
    component_ : Component
        The component that was used; what was learned of it has its value of the point estimate.
    n_iter_ : int
        Sweeps each chain made.
    n_features_in_, feature_names_in_ :
        As everywhere in scikit-learn.

    Notes
    -----
    ``predict`` and its relatives use the posterior predictive given the point estimate, over the clusters it found; the
    chance of a new cluster is left out. On borderline rows ``predict(X)`` may differ from ``labels_``.

    Examples
    --------
    >>> import hashmix as hm
    >>> from sklearn.datasets import make_blobs
    >>> X, y = make_blobs(300, centers=4, cluster_std=0.6, random_state=0)
    >>> model = hm.SplitMergeMixture(random_state=0).fit(X)
    >>> model.n_clusters_
    4
    """

    def __init__(
        self,
        component: Any = "auto",
        prior: Any = "auto",
        moves: Any = "lss",
        n_draws: int = 100,
        n_warmup: int | str = "auto",
        thin: int = 1,
        n_chains: int = 1,
        max_seconds: float | None = None,
        init: Any = "auto",
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
        self.max_seconds = max_seconds
        self.init = init
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.progress = progress
        self.run_dir = run_dir

    # ---- fitting -------------------------------------------------------------------------------------------------------

    def fit(self, X: Any, y: Any = None) -> SplitMergeMixture:
        """Sample the posterior of the rows' partition.

        Parameters
        ----------
        X : array, sparse matrix or DataFrame of shape (n_samples, n_features)
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
        X = self._validated(X, reset=True)
        component, used, self._columns = prepare(self.component, X, type(self).__name__)
        schedule = resolve_moves(self.moves, type(self).__name__)
        prior = resolve_prior(self.prior, type(self).__name__, default_prior(schedule))
        n_warmup: Any = auto_warmup(n_rows(used)) if self.n_warmup == "auto" else self.n_warmup
        self._base, self._prior, self._rows = component, prior, used
        self.posterior_, tables = sample_and_tables(
            used,
            component,
            prior,
            schedule,
            n_draws=self.n_draws,
            n_warmup=n_warmup,
            thin=self.thin,
            n_chains=self.n_chains,
            random_state=self.random_state,
            init=self.init,
            max_seconds=self.max_seconds,
            n_jobs=self.n_jobs,
            progress=self.progress,
            run_dir=self.run_dir,
        )
        draw = self.posterior_.point_estimate_draw()
        self.n_iter_ = max(1, self.posterior_.settings["n_sweeps"])
        learned = {name: values[draw] for name, values in self.posterior_.hyperparameters.items()}
        self.component_ = component.with_hyperparameters(learned)
        self._model = self.component_.model(used)
        state = State(used, self.component_, prior, self.posterior_.labels[draw], self._model, tables)
        state.set_concentration(float(self.posterior_.concentration[draw]))
        settle(state)
        self.labels_ = state.labels().astype(np.intp)
        self.n_clusters_ = state.n_clusters
        self._stats = self.component_.statistics(self._model, used, self.labels_, self.n_clusters_)
        self.weights_ = predictive_weights(prior, self.labels_)
        # What columns that were left out hold in every row.
        self._template = None if isinstance(used, SparseRows) else X[0].astype(np.float64)
        self._set_parameters()
        self._warn_if_chains_disagree()
        return self

    def _takes_counts(self) -> bool:
        return isinstance(self.component, CountComponent) or self.component in ("multinomial", "bernoulli", "poisson")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = tags.input_tags.positive_only = self._takes_counts()
        return tags

    def _validated(self, X: Any, reset: bool) -> Any:
        """X as scikit-learn would have it: counts may be sparse and keep their type."""
        if self._takes_counts() or (isinstance(self.component, str) and self.component == "auto" and issparse(X)):
            how: dict[str, Any] = {"accept_sparse": "csr", "dtype": "numeric"}
        else:
            how = {"dtype": [np.float64, np.float32], "order": "C"}
        return validate_data(self, X, **how, reset=reset, ensure_min_samples=2 if reset else 1)

    def _set_parameters(self) -> None:
        if not isinstance(self.component_, GaussianComponent):
            return
        parameters = self.component_.expected_parameters(self._model, self._stats)
        assert self._template is not None
        # A column that was left out has one value: that mean, and no variance.
        d, columns = len(self._columns), np.flatnonzero(self._columns)
        self.means_ = np.tile(self._template, (self.n_clusters_, 1))
        self.means_[:, columns] = parameters.means
        self.covariances_ = np.zeros((self.n_clusters_,) + (d,) * (parameters.covariances.ndim - 1))
        place: Any = (columns,) if parameters.covariances.ndim == 2 else np.ix_(columns, columns)
        self.covariances_[(slice(None), *place)] = parameters.covariances

    def _warn_if_chains_disagree(self) -> None:
        if self.posterior_.n_chains < 2:
            return
        worst = {name: value for name, value in self.posterior_.rhat().items() if value > _RHAT_LIMIT}
        if worst:
            values = ", ".join(f"{name} {value:.2f}" for name, value in worst.items())
            warnings.warn(
                f"The chains disagree (R̂ above {_RHAT_LIMIT}: {values}). Raise n_warmup or n_draws, or look at "
                "posterior_.n_clusters chain by chain before trusting the number of clusters.",
                ConvergenceWarning,
                stacklevel=3,
            )

    # ---- the posterior predictive given the point estimate -----------------------------------------------------------------

    def _checked_rows(self, X: Any) -> Any:
        check_is_fitted(self)
        X = self._validated(X, reset=False)
        return X if self._columns.all() else X[:, self._columns]

    def _log_joint_with_clusters(self, X: Any) -> np.ndarray:
        """Log weight + log predictive of every row in every cluster."""
        rows = self._checked_rows(X)
        return self.component_.log_predictives(self._model, self._stats, rows) + np.log(self.weights_)

    def _each_draw(self, X: Any, n_draws: Any) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Log weight + log predictive of every row in every cluster of some draws, and what these are in the estimate."""
        rows = self._checked_rows(X)
        n_draws = check_integer(type(self).__name__, "n_draws", n_draws, low=1)
        for labels, learned in self.posterior_.spread_with_hyperparameters(n_draws):
            k = int(labels.max()) + 1
            component = self._base.with_hyperparameters(learned)
            model = component.model(self._rows)
            stats = component.statistics(model, self._rows, labels, k)
            log_p = component.log_predictives(model, stats, rows) + np.log(predictive_weights(self._prior, labels))
            yield log_p, match_clusters(table_of(self.labels_, labels, (self.n_clusters_, k)))

    def predict(self, X: Any) -> np.ndarray:
        """The most probable cluster of each row.

        Examples
        --------
        >>> import hashmix as hm
        >>> from sklearn.datasets import make_blobs
        >>> X, y = make_blobs(100, centers=[[-5], [5]], random_state=0)
        >>> model = hm.SplitMergeMixture(random_state=0).fit(X)
        >>> bool(model.predict([[-5.0]]) != model.predict([[5.0]]))
        True
        """
        return self._log_joint_with_clusters(X).argmax(axis=1)

    def predict_proba(self, X: Any, n_draws: int | None = None) -> np.ndarray:
        """The probability of each cluster for each row, (n_samples, n_clusters_).

        Parameters
        ----------
        X : array or sparse matrix of shape (n_samples, n_features)
        n_draws : int, optional
            Average over so many draws, evenly spread, instead of taking the estimate for granted. Draws' clusters are matched
            with the estimate's; the probability of clusters without a match is shared out in proportion.

        Examples
        --------
        >>> import hashmix as hm
        >>> from sklearn.datasets import make_blobs
        >>> X, y = make_blobs(100, centers=[[-5], [5]], random_state=0)
        >>> hm.SplitMergeMixture(random_state=0).fit(X).predict_proba(X).shape
        (100, 2)
        """
        if n_draws is None:
            return softmax(self._log_joint_with_clusters(X), axis=1)
        total = np.zeros((X.shape[0] if hasattr(X, "shape") else len(X), self.n_clusters_))
        for log_p, match in self._each_draw(X, n_draws):
            total[:, match[match >= 0]] += softmax(log_p, axis=1)[:, match >= 0]
        return total / np.maximum(total.sum(axis=1, keepdims=True), np.finfo(np.float64).tiny)

    def score_samples(self, X: Any, n_draws: int | None = None) -> np.ndarray:
        """The log posterior predictive density of each row.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_samples, n_features)
        n_draws : int, optional
            Average the density over so many draws, evenly spread, instead of taking the estimate for granted.

        Examples
        --------
        >>> import hashmix as hm
        >>> from sklearn.datasets import make_blobs
        >>> X, y = make_blobs(100, centers=[[-5], [5]], random_state=0)
        >>> model = hm.SplitMergeMixture(random_state=0).fit(X)
        >>> bool(model.score_samples([[5.0]])[0] > model.score_samples([[0.0]])[0])
        True
        """
        if n_draws is None:
            return logsumexp(self._log_joint_with_clusters(X), axis=1)
        each = [logsumexp(log_p, axis=1) for log_p, _ in self._each_draw(X, n_draws)]
        return logsumexp(each, axis=0) - np.log(len(each))

    def score(self, X: Any, y: Any = None) -> float:
        """The mean log posterior predictive density of the rows.

        Examples
        --------
        >>> import hashmix as hm
        >>> from sklearn.datasets import make_blobs
        >>> X, y = make_blobs(100, centers=[[-5], [5]], random_state=0)
        >>> -4 < hm.SplitMergeMixture(random_state=0).fit(X).score(X) < -1
        True
        """
        return float(self.score_samples(X).mean())

    def sample(self, n_samples: int = 1) -> tuple[np.ndarray, np.ndarray]:
        """New rows from the posterior predictive, and the cluster each came from.

        Every row draws its cluster's parameters anew, so that their uncertainty is included. As in scikit-learn's
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
        if isinstance(self.random_state, np.random.RandomState):
            rng = np.random.default_rng(self.random_state.randint(2**31 - 1))
        else:
            rng = np.random.default_rng(self.random_state)
        clusters = rng.choice(self.n_clusters_, n_samples, p=self.weights_)
        at_once = max(1, min(4096, 2**24 // len(self._columns)))
        drawn = []
        for start in range(0, n_samples, at_once):
            block = clusters[start : start + at_once]
            parameters = self.component_.draw_parameters(self._model, self._stats[block], rng)
            drawn.append(self.component_.draw_rows(parameters, np.arange(len(block)), rng))
        if self._template is None:
            return vstack(drawn, format="csr"), clusters
        rows = np.tile(self._template, (n_samples, 1))
        rows[:, self._columns] = np.concatenate(drawn)
        return rows, clusters

    # ---- what clusters are about -------------------------------------------------------------------------------------------

    def top_words(self, n_words: int = 10, by: str = "probability", feature_names: Any = None) -> list[list[Word]]:
        """The words that tell most about each cluster of counts: name, probability (or rate), and lift over all rows.

        Parameters
        ----------
        n_words : int, default=10
            How many, at most.
        by : {"probability", "lift"}, default="probability"
            What they are ordered by. By lift, words that are rare in the cluster are left out.
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
        if not isinstance(self.component_, CountComponent):
            raise ValueError(f"top_words is for counts. Got a {owner} whose component is {self.component_!r} instead.")
        n_words = check_integer(owner, "n_words", n_words, low=1)
        by = check_choice(owner, "by", by, ["probability", "lift"])
        if feature_names is None:
            feature_names = getattr(self, "feature_names_in_", range(self.n_features_in_))
        names = [str(name) for name in feature_names]
        if len(names) != self.n_features_in_:
            raise bad_parameter(owner, "feature_names", f"{self.n_features_in_} names", f"{len(names)} names")
        return top_words(self.component_, self._model, self._stats, names, n_words, by)

    def representatives(self, X: Any, n_rows: int = 3) -> list[np.ndarray]:
        """The rows of the training data that stand for each cluster: their numbers, the best first.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_samples, n_features)
            What the model was fitted on.
        n_rows : int, default=3
            How many for each cluster, at most.

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
        used = X if self._columns.all() else X[:, self._columns]
        return representative_rows(self.component_, self._model, self._stats, used, self.labels_, n_rows)
