"""Columns of categories in descriptions of clusters, against pandas and against their law."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy.stats import beta

from tests.posterior.partitions import as_posterior, noisy_draws


@pytest.fixture(scope="module")
def described():
    rng = np.random.default_rng(0)
    draws = noisy_draws(300, 60, 4, 0.05, seed=1)
    posterior = as_posterior(draws)
    labels = posterior.point_estimate()
    colours = np.where(rng.random(300) < 0.7, np.array(["red", "blue", "grey", "white"])[labels % 4], "black")
    X = pd.DataFrame({"colour": colours, "height": rng.normal(size=300), "tall": (rng.random(300) < 0.5).astype(object)})
    X.loc[rng.random(300) < 0.2, "colour"] = None
    X.loc[labels == 2, "tall"] = None
    return X, labels, posterior.clusters(X)


def test_shares_and_lifts_are_those_of_pandas(described):
    X, labels, frame = described
    shares = X.groupby(labels)["colour"].value_counts(normalize=True)
    overall = X["colour"].value_counts(normalize=True)
    for c, line in frame.iterrows():
        contribution = shares[c] * np.log(shares[c] / overall[shares[c].index])
        assert line["colour_typical"] == contribution.idxmax()
        assert line["colour_share"] == pytest.approx(shares[c][line["colour_typical"]])
        assert line["colour_lift"] == pytest.approx(line["colour_share"] / overall[line["colour_typical"]])
        assert line["colour_share_low"] < line["colour_share"] < line["colour_share_high"]
    assert frame["colour_lift"].min() > 1.5
    assert "height_mean" in frame


def test_a_cluster_of_blanks_has_no_typical_category(described):
    _, _, frame = described
    assert frame.loc[2, ["tall_typical", "tall_share", "tall_share_low", "tall_lift"]].isna().all()
    assert set(frame["tall_typical"].drop(2)) <= {"True", "False"}


def test_intervals_are_those_of_the_share_given_the_rows():
    """Where all draws agree, only the share is unknown: its interval is that of a Beta law."""
    labels = np.repeat([0, 1], [40, 60])
    posterior = as_posterior(np.tile(labels, (100, 1)).astype(np.int32))
    colour = np.array(["red"] * 30 + ["blue"] * 10 + ["blue"] * 60)[:, None]
    line = posterior.clusters(colour.astype(object), feature_names=["colour"]).loc[0]
    assert line["colour_typical"] == "red"
    low, high = beta(30.5, 10.5).ppf([0.05, 0.95])
    assert line["colour_share_low"] == pytest.approx(low, abs=0.005)
    assert line["colour_share_high"] == pytest.approx(high, abs=0.005)
