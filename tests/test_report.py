"""The page about a posterior: what it says, that text is shown and not run, and that a browser has nothing to complain of."""

from __future__ import annotations

import re
from html.parser import HTMLParser

import numpy as np
import pandas as pd
import pytest

import hashmix as hm
from hashmix.paper import make_documents
from tests.browser import check_in_browser, needs_browser
from tests.posterior.partitions import as_posterior

NASTY = "<script>document.title = 'run'</script>"


@pytest.fixture(scope="module")
def sampled():
    rng = np.random.default_rng(0)
    X = np.concatenate([rng.normal(4.0 * c, 1.0, (60, 3)) for c in range(4)])
    return X, hm.sample(X, n_draws=60, n_warmup=30, n_chains=2, random_state=0, init="auto")


@pytest.fixture(scope="module")
def page(sampled, tmp_path_factory):
    X, posterior = sampled
    path = tmp_path_factory.mktemp("report") / "report.html"
    posterior.report(path, X, ["height", "weight", NASTY], title="A & B")
    return path


class Reader(HTMLParser):
    def __init__(self):
        super().__init__()
        self.tags, self.links, self.text = [], [], []

    def handle_starttag(self, tag, attributes):
        self.tags.append(tag)
        self.links += [value for name, value in attributes if name in ("src", "href")]

    def handle_data(self, data):
        self.text.append(data)


def test_what_it_says(sampled, page):
    _, posterior = sampled
    reader = Reader()
    reader.feed(page.read_text(encoding="utf-8"))
    text = " ".join(reader.text)
    assert posterior.verdict() in text
    assert NASTY in text  # as text
    assert "script" not in reader.tags
    assert reader.tags.count("img") == 6
    assert all(link.startswith("data:") for link in reader.links)
    assert text.index(posterior.verdict()) < text.index("Clusters", 200)
    for what in ("height", "log joint", "ParallelGibbs", "n_warmup"):
        assert what in text
    assert page.stat().st_size < 5_000_000


def test_counts_without_data_and_few_draws(tmp_path):
    X, y = make_documents(60, n_words=50, n_topics=2, mean_words=12)
    posterior = hm.sample(X, "multinomial", n_draws=5, init=y, random_state=0)
    posterior.report(tmp_path / "a.html", X, [f"word{j}" for j in range(50)])
    text = (tmp_path / "a.html").read_text(encoding="utf-8")
    assert "most telling words" in text
    assert re.search(r'word\d+ <span class="faint">[\d.]+&nbsp;% \([\d.]+&nbsp;–&nbsp;[\d.]+\)</span>, word\d+', text)
    posterior.report(tmp_path / "b.html")
    assert "word1" not in (tmp_path / "b.html").read_text(encoding="utf-8")


def test_columns_of_any_kind(tmp_path):
    """A DataFrame of numbers, blanks and text: means and standard deviations of what holds numbers, no words."""
    rng = np.random.default_rng(0)
    draws = np.tile(np.arange(60) % 3, (40, 1)).astype(np.int32)
    posterior = as_posterior(draws, n_chains=2)
    X = pd.DataFrame({"height": rng.normal(size=60), "colour": ["red", "blue"] * 30, "age": rng.integers(20, 60, 60)})
    X.loc[::3, "age"] = np.nan  # every age of the first cluster
    posterior.report(tmp_path / "a.html", X)
    text = (tmp_path / "a.html").read_text(encoding="utf-8")
    assert "height" in text
    assert "<th>age</th>" in text
    assert "<th>colour</th>" not in text
    assert "telling words" not in text
    assert text.count("<img") == 6
    posterior.report(tmp_path / "b.html", X[["colour"]])
    assert (tmp_path / "b.html").read_text(encoding="utf-8").count("<img") == 5
    frame = posterior.clusters(X)
    assert np.isnan(frame.loc[0, "age_mean"])
    assert frame.loc[1, "age_mean"] == pytest.approx(X["age"][1::3].mean())


def test_chains_that_never_move_are_shown_as_such(tmp_path):
    posterior = as_posterior(np.repeat([[0, 0, 0, 0], [0, 1, 2, 3]], 50, axis=0).astype(np.int32), n_chains=2)
    posterior.report(tmp_path / "a.html")
    text = (tmp_path / "a.html").read_text(encoding="utf-8")
    assert "<td>above 100</td>" in text
    assert "R̂ of the number of clusters is above 100" in text


def test_many_columns(tmp_path):
    """Only the columns in which clusters differ most are shown."""
    rng = np.random.default_rng(0)
    labels = np.arange(90) % 3
    X = rng.normal(size=(90, 12))
    X[:, 7] += 10.0 * labels
    X[:5, 7] = np.nan
    as_posterior(np.tile(labels, (30, 1)).astype(np.int32)).report(tmp_path / "a.html", X)
    text = (tmp_path / "a.html").read_text(encoding="utf-8")
    assert "column 7" in text
    assert sum(f"<th>column {j}</th>" in text for j in range(12)) == 8


def test_nothing_is_left_when_it_cannot_be_written(sampled, tmp_path):
    with pytest.raises(FileNotFoundError):
        sampled[1].report(tmp_path / "missing" / "report.html")
    assert list(tmp_path.iterdir()) == []


@needs_browser
@pytest.mark.parametrize("width", [400, 1400])
def test_in_a_real_browser(page, tmp_path, width):
    check_in_browser(page, tmp_path, width, title="A & B", n_pictures=6)
