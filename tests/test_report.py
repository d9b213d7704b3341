"""The page about a posterior: what it says, that text is shown and not run, and that a browser has nothing to complain of."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from html.parser import HTMLParser

import numpy as np
import pytest

import hashmix as hm
from hashmix.paper import make_documents

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
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


@pytest.mark.skipif(CHROMIUM is None, reason="no Chromium on this machine")
@pytest.mark.parametrize("width", [400, 1400])
def test_in_a_real_browser(page, tmp_path, width):
    """Figures are drawn, nothing overflows, no console message, no request beyond the file itself."""
    probe = """
    <script>addEventListener("load", () => {
      const out = document.createElement("pre"); out.id = "probe";
      out.textContent = JSON.stringify({
        drawn: [...document.images].map(image => image.naturalWidth),
        wide: document.documentElement.scrollWidth, window: innerWidth, title: document.title,
        requests: performance.getEntriesByType("resource").map(entry => entry.name).filter(name => !name.startsWith("data:")),
      }); document.body.append(out);
    });</script></body>"""
    copy = tmp_path / "page.html"
    copy.write_text(page.read_text(encoding="utf-8").replace("</body>", probe), encoding="utf-8")
    log = tmp_path / "log.json"
    flags = "--headless --no-sandbox --disable-gpu --no-first-run --disable-background-networking --disable-component-update"
    flags += f" --disable-sync --disable-quic --window-size={width},1000 --enable-logging=stderr --v=0"
    done = subprocess.run(
        [CHROMIUM, *flags.split(), f"--user-data-dir={tmp_path / 'user'}", f"--log-net-log={log}", "--dump-dom", copy.as_uri()],
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
    )
    found = json.loads(re.search(r'<pre id="probe">(.*?)</pre>', done.stdout, re.S).group(1).replace("&amp;", "&"))
    assert len(found["drawn"]) == 6
    assert min(found["drawn"]) > 100
    assert found["wide"] <= found["window"]
    assert found["title"] == "A & B"
    assert found["requests"] == []
    assert "CONSOLE" not in done.stderr
