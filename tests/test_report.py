"""The page about a posterior: what it says, that text is shown and not run, and that a browser has nothing to complain of."""

from __future__ import annotations

import base64
import re
from html.parser import HTMLParser

import numpy as np
import pandas as pd
import pytest

import hashmix as hm
from hashmix.core.wording import counted
from hashmix.paper import make_documents
from hashmix.plot.style import colour_of
from hashmix.posterior.tree import Levels, join_clusters
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
    """The tags, links and text of a page, the text in folded parts by itself, and the rows of tables outside of these."""

    def __init__(self, html):
        super().__init__()
        self.tags, self.links, self.text, self.folded, self.rows = [], [], [], [], []
        self._open, self._in_summary = 0, False
        self.feed(html)

    def handle_starttag(self, tag, attributes):
        self.tags.append(tag)
        self.links += [value for name, value in attributes if name in ("src", "href")]
        self._open += tag == "details"
        self._in_summary |= tag == "summary"
        if tag == "tr" and not self._open:
            self.rows.append([])

    def handle_endtag(self, tag):
        self._open -= tag == "details"
        self._in_summary &= tag != "summary"

    def handle_data(self, data):
        folded = self._open and not self._in_summary
        (self.folded if folded else self.text).append(data)
        if not folded and self.rows:
            self.rows[-1].append(data)


def read(path):
    return Reader(path.read_text(encoding="utf-8"))


def stuck(n_rows=60, k=3, n_draws=40):
    """A posterior of draws that are all the same."""
    return as_posterior(np.tile(np.arange(n_rows) % k, (n_draws, 1)).astype(np.int32), n_chains=2)


def test_what_it_says(sampled, page):
    _, posterior = sampled
    reader = read(page)
    text = " ".join(reader.text)
    assert posterior.verdict() in text
    assert NASTY in text  # as text
    assert "script" not in reader.tags
    assert reader.tags.count("img") == 6
    assert all(link.startswith("data:") for link in reader.links)
    assert text.index(posterior.verdict()) < text.index("Typical of it")
    assert "height" in text
    for what in ("log joint", "ParallelGibbs", "n_warmup", "nats"):  # on demand only
        assert what in " ".join(reader.folded)
        assert what not in text
    assert page.stat().st_size < 5_000_000


def test_figures_take_the_colours_of_the_theme(page):
    figures = re.findall(r"data:image/svg\+xml;base64,([^\"]+)", page.read_text(encoding="utf-8"))
    assert len(figures) == 6
    for figure in figures:
        svg = base64.b64decode(figure).decode()
        assert "prefers-color-scheme: dark" in svg
        assert "fill: var(--paper)" in svg
        drawn = svg[svg.index("</style>") :]
        assert "#1d2433" not in drawn
        assert "#000000" not in drawn.lower()  # ink that dark screens would hide
        assert "date" not in svg[: svg.index("<g ")]


def test_the_colour_of_the_verdict_is_that_of_its_meaning(tmp_path):
    """Chains that agree, too few draws, chains that disagree, and moves that are not exact."""
    rng = np.random.default_rng(0)
    varied = np.array([np.append(np.arange(60) % 3, rng.integers(0, 3, 60)) for _ in range(800)], np.int32)
    apart = np.repeat([[0, 0, 0, 0], [0, 1, 2, 3]], 50, axis=0).astype(np.int32)
    inexact = stuck()
    inexact.settings["exact"] = False
    cases = [(as_posterior(varied, 2), "good"), (stuck(n_draws=10), "caution")]
    cases += [(as_posterior(apart, 2), "bad"), (inexact, "bad")]
    for posterior, grade in cases:
        posterior.report(tmp_path / "a.html")
        found = re.findall(r'class="verdict (\w+)"', (tmp_path / "a.html").read_text(encoding="utf-8"))
        assert found == [grade], posterior.verdict()
        colour = {"good": "#2e9d55", "caution": "#c98a00", "bad": "#d9483f"}[grade]
        assert f"solid {colour}" in posterior._repr_html_()
        assert posterior.verdict() in posterior._repr_html_()


def test_clusters_have_the_numbers_of_their_labels(tmp_path):
    """Whatever these are, and in the order of their sizes."""
    labels = np.repeat([7, -1, 40], [10, 20, 30])
    posterior = as_posterior(np.tile(np.repeat([0, 1, 2], [10, 20, 30]), (40, 1)).astype(np.int32))
    posterior.report(tmp_path / "a.html", np.arange(60.0)[:, None], ["x"], labels)
    rows = [row for row in read(tmp_path / "a.html").rows if row[0] != "Cluster"]
    assert [(row[0], row[1]) for row in rows] == [("40", "30"), ("-1", "20"), ("7", "10")]
    assert [row[row.index("x ") + 1] for row in rows] == ["44.5", "19.5", "4.5"]
    assert posterior.clusters(labels=labels)["size"].to_dict() == {-1: 20, 7: 10, 40: 30}
    assert f'style="background: {colour_of(7)}"></span>7<' in (tmp_path / "a.html").read_text(encoding="utf-8")


def test_many_clusters_are_shown_on_demand(tmp_path):
    stuck(n_rows=700, k=230).report(tmp_path / "a.html")
    reader = read(tmp_path / "a.html")
    assert len([row for row in reader.rows if row[0].isdigit()]) == 25
    assert "200 smaller clusters" in reader.text
    assert "The 225 largest of 230 clusters." in reader.text


def test_counts_without_data_and_few_draws(tmp_path):
    X, y = make_documents(60, n_words=50, n_topics=2, mean_words=12)
    posterior = hm.sample(X, "multinomial", n_draws=5, init=y, random_state=0)
    posterior.report(tmp_path / "a.html", X, [f"word{j}<i>" for j in range(50)])
    reader = read(tmp_path / "a.html")
    frame = posterior.clusters(X, feature_names=[f"word{j}<i>" for j in range(50)])
    for words in frame["top_words"]:
        assert set(words) < set(reader.text)
    assert "against all rows" in reader.folded
    assert "i" not in reader.tags
    posterior.report(tmp_path / "b.html")
    assert "word1" not in (tmp_path / "b.html").read_text(encoding="utf-8")


def test_columns_of_any_kind(tmp_path):
    """A DataFrame of numbers, blanks and categories: means of what holds numbers, shares and lifts of the others."""
    rng = np.random.default_rng(0)
    posterior = stuck()
    colours = np.array(["red", "blue", NASTY])[np.arange(60) % 3]
    X = pd.DataFrame({"height": rng.normal(size=60), "colour": colours, "age": rng.integers(20, 60, 60)})
    X.loc[::3, "age"] = np.nan  # every age of the first cluster, as every letter
    X.loc[[0, 3], "colour"] = "blue"
    X["letter"] = np.array([None, "a", "b"], dtype=object)[np.arange(60) % 3]
    posterior.report(tmp_path / "a.html", X)
    reader = read(tmp_path / "a.html")
    first, second, third = ("".join(row) for row in reader.rows[-3:])
    assert "colour red 90\xa0% (" in first
    assert "; 3\xa0× as often as in all rows" in first
    assert "<td>letter</td><td>–</td><td>–</td>" in (tmp_path / "a.html").read_text(encoding="utf-8")
    assert "nan" not in first
    assert "colour blue 100\xa0%" in second
    assert f"colour {NASTY} 100\xa0%" in third
    assert "script" not in reader.tags
    assert reader.tags.count("img") == 6
    posterior.report(tmp_path / "b.html", X[["colour"]])
    assert read(tmp_path / "b.html").tags.count("img") == 6


def test_long_names_are_cut(tmp_path):
    stuck().report(tmp_path / "a.html", np.arange(60.0)[:, None], ["long" * 100])
    assert "long" * 15 not in (tmp_path / "a.html").read_text(encoding="utf-8")


def test_chains_that_never_move_are_shown_as_such(tmp_path):
    posterior = as_posterior(np.repeat([[0, 0, 0, 0], [0, 1, 2, 3]], 50, axis=0).astype(np.int32), n_chains=2)
    posterior.report(tmp_path / "a.html")
    text = (tmp_path / "a.html").read_text(encoding="utf-8")
    assert "<td>above 100</td>" in text
    assert "R̂ of the number of clusters is above 100" in text


def test_the_worst_quantities_are_listed(tmp_path):
    posterior = stuck()
    values = np.random.default_rng(0).normal(size=(2, 20, 30))
    values[1, :, 27] += 50.0
    posterior.hyperparameters["scale"] = values
    posterior.report(tmp_path / "a.html")
    text = (tmp_path / "a.html").read_text(encoding="utf-8")
    assert "scale of column 27" in posterior.verdict()
    assert "<td>scale[27]</td>" in text
    assert len(re.findall(r"<td>scale\[", text)) < 20


def test_a_run_that_is_not_finished_says_so(tmp_path):
    posterior = stuck()
    posterior.settings["n_draws"] = 20
    posterior.report(tmp_path / "a.html")
    assert "unfinished" not in (tmp_path / "a.html").read_text(encoding="utf-8")
    posterior.settings["n_draws"] = 1500
    posterior.report(tmp_path / "a.html")
    expected = "2 chains of 20 draws, unfinished: 1,500 draws per chain were asked for"
    assert expected in (tmp_path / "a.html").read_text(encoding="utf-8")


def test_levels_and_tree(tmp_path):
    posterior, sizes = stuck(), np.array([20, 20, 20])
    tree = join_clusters(np.array([[0.0], [1.0], [9.0]]), sizes)
    posterior.report(tmp_path / "a.html", tree=tree, levels=Levels(np.arange(2, 5), np.array([0.9, 0.94, 0.4]), 3))
    reader = read(tmp_path / "a.html")
    at = reader.text.index("How many clusters would another sample show?")
    assert reader.text[at + 1] == "3 clusters."
    assert "adjusted Rand index 0.94" in reader.text[at + 2]
    assert reader.tags.count("img") == 7
    posterior.report(tmp_path / "a.html", levels=Levels(np.arange(2, 5), np.array([0.1, 0.2, 0.1]), 1))
    assert "None for certain." in read(tmp_path / "a.html").text
    posterior.report(tmp_path / "a.html")
    assert "another sample" not in (tmp_path / "a.html").read_text(encoding="utf-8")


def test_why_this_component(sampled, tmp_path):
    """The candidates, the best first; the same from a folder that is opened again; nothing if there was no choice."""
    X, posterior = sampled
    evidence = posterior.settings["evidence"]
    best, other = sorted(evidence, key=lambda name: -evidence[name])
    settings = {"n_draws": 3, "n_warmup": 1, "random_state": 0, "run_dir": tmp_path / "run"}
    hm.sample(X, **settings)
    hm.sample(X, **settings | {"n_draws": 4})  # what was chosen does not keep a run from being resumed
    again = hm.Posterior.load(tmp_path / "run")
    assert again.settings["evidence"] == evidence
    assert again.settings["chosen"] == posterior.settings["chosen"]
    for shown in (posterior, again):
        shown.report(tmp_path / "a.html")
        reader = read(tmp_path / "a.html")
        assert "Why this component" in reader.text
        shown_in_order = [best, f"{evidence[best]:.2f}", "0.00"]
        shown_in_order += [other, f"{evidence[other]:.2f}", f"{evidence[best] - evidence[other]:.2f}"]
        at = reader.folded.index("evidence, nats per row")
        assert reader.folded[at + 2 : at + 8] == shown_in_order
    stuck().report(tmp_path / "a.html")
    assert "Why this component" not in (tmp_path / "a.html").read_text(encoding="utf-8")


def test_many_columns(tmp_path):
    """Only the columns in which clusters differ most are shown, numbers or categories."""
    rng = np.random.default_rng(0)
    labels = np.arange(90) % 3
    X = pd.DataFrame({f"u{j}": rng.normal(size=90) for j in range(12)})
    X["u7"] += 10.0 * labels
    X.loc[:5, "u7"] = np.nan
    X["letter"] = np.array(["a", "b", "c"])[labels]
    X["noise"] = rng.choice(["a", "b", "c"], 90)
    as_posterior(np.tile(labels, (30, 1)).astype(np.int32)).report(tmp_path / "a.html", X)
    text = (tmp_path / "a.html").read_text(encoding="utf-8")
    shown = [name for name in X.columns if f"<th>{name}</th>" in text]
    assert {"u7", "letter"} < set(shown)
    assert len(shown) == 8


def test_nothing_is_left_when_it_cannot_be_written(sampled, tmp_path):
    with pytest.raises(FileNotFoundError):
        sampled[1].report(tmp_path / "missing" / "report.html")
    assert list(tmp_path.iterdir()) == []


def test_in_a_notebook():
    posterior = stuck()
    html = posterior._repr_html_()
    assert "60 rows" in html
    assert "3 clusters</td>" in html
    assert "100&nbsp;%" in html
    many = as_posterior(np.array([np.minimum(np.arange(60), s) for s in range(40)], np.int32))
    shares = re.findall(r">([\d.]+)&nbsp;%", many._repr_html_())
    assert len(shares) == 9
    assert sum(map(float, shares)) == pytest.approx(100.0)


def test_a_notebook_does_not_wait_for_the_verdict(monkeypatch):
    monkeypatch.setattr("hashmix.posterior.draws._QUICK", 100)
    posterior = stuck()
    assert "takes a moment" in posterior._repr_html_()
    assert "rhat" not in posterior._known
    posterior.rhat()
    assert posterior.verdict() in posterior._repr_html_()


def test_one_and_many():
    assert [counted(n, "cluster") for n in (0, 1, 2, 1000)] == ["0 clusters", "1 cluster", "2 clusters", "1,000 clusters"]


@needs_browser
@pytest.mark.parametrize("width", [400, 1400])
def test_in_a_real_browser(page, tmp_path, width):
    check_in_browser(page, tmp_path, width, title="A & B", n_pictures=6)
