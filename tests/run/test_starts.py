"""Where chains start: the better of short chains, by evidence."""

from __future__ import annotations

import numpy as np

import hashmix as hm


def test_learned_hyperparameters_do_not_stand_in_for_a_cluster():
    """Noise in more columns than there are rows: with every row a cluster, the log joint is higher by hundreds of nats."""
    X = np.random.default_rng(0).normal(size=(50, 200))
    for component in ("gaussian", "auto"):
        model = hm.SplitMergeMixture(component, n_draws=20, n_warmup=20, random_state=0).fit(X)
        assert isinstance(model.component_, hm.components.DiagonalGaussian)  # correlations cannot be told
        assert (model.posterior_.n_clusters == 1).all()


def test_clusters_of_few_rows_in_many_columns_are_found():
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1, 2], 20)
    X = 2.0 * rng.normal(size=(3, 200))[y] + rng.normal(size=(60, 200))
    model = hm.SplitMergeMixture(n_draws=20, n_warmup=20, random_state=0).fit(X)
    assert (model.posterior_.n_clusters == 3).all()
