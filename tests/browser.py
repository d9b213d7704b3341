"""Pages in a real browser."""

from __future__ import annotations

import json
import re
import shutil
import subprocess

import pytest

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
# A browser is no dependency, and pip cannot install one: where there is none, pages are checked as text only.
needs_browser = pytest.mark.skipif(CHROMIUM is None, reason="no Chromium on this machine")

PROBE = """
<script>addEventListener("load", () => {
  const out = document.createElement("pre"); out.id = "probe";
  out.textContent = JSON.stringify({
    drawn: [...document.images].map(image => image.naturalWidth),
    wide: document.documentElement.scrollWidth, window: innerWidth, title: document.title,
    requests: performance.getEntriesByType("resource").map(entry => entry.name).filter(name => !name.startsWith("data:")),
  }); document.body.append(out);
});</script></body>"""


def check_in_browser(page, folder, width, title, n_pictures):
    """Figures are drawn, nothing overflows, no console message, no request beyond the file itself."""
    copy = folder / "page.html"
    copy.write_text(page.read_text(encoding="utf-8").replace("</body>", PROBE), encoding="utf-8")
    flags = "--headless --no-sandbox --disable-gpu --no-first-run --disable-background-networking --disable-component-update"
    flags += f" --disable-sync --disable-quic --window-size={width},1000 --enable-logging=stderr --v=0"
    done = subprocess.run(
        [CHROMIUM, *flags.split(), f"--user-data-dir={folder / 'user'}", "--dump-dom", copy.as_uri()],
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
    )
    found = json.loads(re.search(r'<pre id="probe">(.*?)</pre>', done.stdout, re.S).group(1).replace("&amp;", "&"))
    assert len(found["drawn"]) == n_pictures
    assert min(found["drawn"]) > 100
    assert found["wide"] <= found["window"]
    assert found["title"] == title
    assert found["requests"] == []
    assert "CONSOLE" not in done.stderr
