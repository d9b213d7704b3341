"""The clusterings that hashmix is compared with, as scikit-learn has them, and fast_hdbscan if it is installed."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from sklearn.cluster import HDBSCAN, AgglomerativeClustering, KMeans
from sklearn.mixture import BayesianGaussianMixture, GaussianMixture

#: Numbers of components that BIC chooses from.
BIC_FROM = (1, 2, 3, 4, 5, 6, 8, 10, 12, 15, 20, 25, 30, 40, 60)


def told_k(Z: np.ndarray, k: int) -> Iterator[tuple[str, np.ndarray]]:
    """Labels of methods that are told the number of clusters; columns are standardised."""
    yield "k-means told K", KMeans(k, n_init=3, random_state=0).fit_predict(Z)
    yield "Gaussian mixture told K", _full(Z, k).predict(Z)
    yield "Ward told K", AgglomerativeClustering(k).fit_predict(Z)


def choosing_k(Z: np.ndarray) -> Iterator[tuple[str, np.ndarray]]:
    """Labels of methods that choose the number of clusters; columns are standardised. HDBSCAN calls noise −1."""
    mixtures = (_full(Z, n) for n in BIC_FROM if n < len(Z) // 5)
    yield "Gaussian mixture by BIC", min(mixtures, key=lambda mixture: mixture.bic(Z)).predict(Z)
    bayes = BayesianGaussianMixture(n_components=min(30, len(Z) // 5), reg_covar=1e-3, max_iter=300, random_state=0)
    yield "BayesianGaussianMixture", bayes.fit(Z).predict(Z)
    yield "HDBSCAN", HDBSCAN(min_cluster_size=max(5, len(Z) // 200), copy=True).fit_predict(Z)
    try:
        import fast_hdbscan
    except ImportError:
        print("fast_hdbscan is left out: pip install 'hashmix[benchmark]'.")
        return
    yield "fast_hdbscan", fast_hdbscan.HDBSCAN(min_cluster_size=max(5, len(Z) // 200)).fit_predict(Z)


def _full(Z: np.ndarray, n: int) -> GaussianMixture:
    return GaussianMixture(n, reg_covar=1e-3, random_state=0).fit(Z)
