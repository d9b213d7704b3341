"""The page about a posterior: what it says, that text is shown and not run, and that a browser has nothing to complain of."""

from __future__ import annotations

import re
from html.parser import HTMLParser

import numpy as np
import pytest

import hashmix as hm
from hashmix.paper import make_documents
from tests.browser import check_in_browser, needs_browser

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
    for what in ("height", "log joint", "HashedGibbs", "n_warmup"):
        assert what in text
    assert page.stat().st_size < 5_000_000


def test_counts_without_data_and_few_draws(tmp_path):
    X, y = make_documents(60, n_words=50, n_topics=2, mean_words=12)
    posterior = hm.sample(X, "multinomial", n_draws=5, init=y, random_state=0)
    posterior.report(tmp_path / "a.html", X, [f"word{j}" for j in range(50)])
    text = (tmp_path / "a.html").read_text(encoding="utf-8")
    assert "words that tell most" in text
    assert re.search(r'word\d+ <span class="faint">[\d.]+&nbsp;% \([\d.]+&nbsp;–&nbsp;[\d.]+\)</span>, word\d+', text)
    posterior.report(tmp_path / "b.html")
    assert "word1" not in (tmp_path / "b.html").read_text(encoding="utf-8")


def test_nothing_is_left_when_it_cannot_be_written(sampled, tmp_path):
    with pytest.raises(FileNotFoundError):
        sampled[1].report(tmp_path / "missing" / "report.html")
    assert list(tmp_path.iterdir()) == []


@needs_browser
@pytest.mark.parametrize("width", [400, 1400])
def test_in_a_real_browser(page, tmp_path, width):
    check_in_browser(page, tmp_path, width, title="A & B", n_pictures=6)
