"""``hashmix data``: downloads, their checksums, and what happens when they fail."""

from __future__ import annotations

import hashlib
import http.server
import threading

import pytest

from hashmix.cli import main
from hashmix.paper.downloads import download, verify


@pytest.fixture
def server():
    """A local HTTP server with two files; ``/cut`` announces more bytes than it sends."""
    files = {"/a.txt": b"first " * 1000, "/b.txt": b"second"}

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            content = files.get(self.path)
            if content is None and self.path != "/cut":
                self.send_error(404)
                return
            self.send_response(200)
            self.send_header("Content-Length", str(len(content) if content else 10))
            self.end_headers()
            self.wfile.write(content or b"short")

        def log_message(self, *_):
            pass

    running = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=running.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{running.server_port}", files
    running.shutdown()
    running.server_close()


def test_downloads_are_recorded_and_verified(server, tmp_path):
    address, files = server
    sources = {"both": (f"{address}/a.txt", f"{address}/b.txt")}
    folder = tmp_path / "new"
    paths = download("both", folder, sources=sources)
    assert [path.read_bytes() for path in paths] == list(files.values())
    digests = [hashlib.sha256(content).hexdigest() for content in files.values()]
    assert (folder / "SHA256SUMS").read_text() == f"{digests[0]}  a.txt\n{digests[1]}  b.txt\n"
    files["/a.txt"] = b"never asked for"
    assert download("both", folder, sources=sources) == paths
    paths[1].write_bytes(b"other")
    with pytest.raises(ValueError, match=r"b.txt is not the file that was downloaded: its SHA-256 is"):
        verify(paths[1])
    with pytest.raises(ValueError, match="not the file that was downloaded"):
        download("both", folder, sources=sources)
    paths[0].unlink()
    with pytest.raises(ValueError, match="has changed since it was first downloaded"):
        download("both", folder, sources=sources)
    assert not paths[0].exists()


@pytest.mark.parametrize("path", ["cut", "missing.txt"])
def test_failed_downloads_leave_no_files(server, tmp_path, path):
    address, _ = server
    with pytest.raises((ValueError, ConnectionError), match="nothing was kept"):
        download("it", tmp_path, sources={"it": (f"{address}/{path}",)})
    assert list(tmp_path.iterdir()) == []


def test_offline(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr("hashmix.paper.downloads.SOURCES", {"kdd": ("http://127.0.0.1:9/KDDCUP04Bio.txt",)})
    assert main(["data", "kdd", "--to", str(tmp_path / "new")]) == 2
    err = capsys.readouterr().err
    assert "http://127.0.0.1:9/KDDCUP04Bio.txt cannot be reached" in err
    assert err.count("\n") == 1
    assert list(tmp_path.iterdir()) == []
