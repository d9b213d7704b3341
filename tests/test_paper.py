"""hashmix paper and hashmix data: what they write, that they go on, and what they refuse."""

from __future__ import annotations

import csv
import gzip
import hashlib
import http.server
import json
import threading
import time
from pathlib import Path

import numpy as np
import pytest
from scipy.sparse import issparse, save_npz

from hashmix.cli import main
from hashmix.paper import experiment, make_documents
from hashmix.paper.datasets import MissingData, load, read_data, write_data
from hashmix.paper.downloads import download, verify
from hashmix.paper.methods import METHODS
from tests.browser import check_in_browser, needs_browser


@pytest.fixture(scope="module")
def toy(tmp_path_factory):
    """Every sampler on 100 rows for a fifth of a second."""
    folder = tmp_path_factory.mktemp("paper") / "out"
    assert main(["paper", "--only", "s1", "--seconds", "0.2", "--seeds", "1", "--jobs", "2", "-o", str(folder), "--quiet"]) == 0
    return folder


def curves(folder):
    with (folder / "curves.csv").open(newline="") as file:
        lines = list(csv.DictReader(file))
    return {method: [line for line in lines if line["method"] == method] for method in METHODS}


def test_files_and_curves(toy):
    names = {"S1.png", "curves.csv", "report.html", "report.md", "results.json", "runs"}
    assert {path.name for path in toy.iterdir()} == names
    starts = set()
    for method, lines in curves(toy).items():
        assert list(lines[0]) == ["data", "method", "seed", *experiment.CURVE], method
        starts.add((lines[0]["log_likelihood"], lines[0]["log_joint"], lines[0]["seconds"], lines[0]["proposals"]))
        for clock in ("seconds", "proposals", "accepted"):
            assert (np.diff([float(line[clock]) for line in lines]) >= 0).all(), (method, clock)
        assert int(lines[-1]["proposals"]) > 0, method
        assert float(lines[-1]["seconds"]) < 5.0
    assert len(starts) == 1
    results = json.loads((toy / "results.json").read_text())
    table = {line["method"]: line for line in results["table"]}
    assert set(table) == set(METHODS)
    assert table["lss"]["nmi"] > 0.95
    assert results["settings"]["about"]["S1"]["nmi"] > 0.99  # the oracle's
    assert (toy / "S1.png").read_bytes().startswith(b"\x89PNG")


def test_report(toy):
    text = (toy / "report.md").read_text(encoding="utf-8")
    assert "0.96 / 0.95" in text  # the paper's own
    assert "what they draw from is no posterior" in text
    for method in METHODS.values():
        assert method.title in text
    assert "RGSM on S1: " in text
    assert text.count("![S1") == 1
    assert "|---|" in text


@needs_browser
@pytest.mark.parametrize("width", [400, 1400])
def test_page_in_a_real_browser(toy, tmp_path, width):
    check_in_browser(toy / "report.html", tmp_path, width, title="The paper's comparison", n_pictures=1)


def test_what_was_run_is_not_run_again(toy, tmp_path, monkeypatch):
    command = ["paper", "--only", "S1", "--methods", "sdds", "--seconds", "0.2", "--seeds", "1", "-o", str(toy), "--quiet"]
    before = (toy / "runs" / "S1-sdds-0.json").read_text()
    monkeypatch.setattr(experiment, "_Worker", None)  # starting one would fail
    assert main(command) == 0
    assert (toy / "runs" / "S1-sdds-0.json").read_text() == before
    monkeypatch.undo()
    (toy / "runs" / "S1-sdds-0.json").write_text(before[: len(before) // 2])
    assert main(command) == 0
    assert json.loads((toy / "runs" / "S1-sdds-0.json").read_text())["proposals"] > 0
    command[command.index("0.2")] = "0.3"
    begin = time.monotonic()
    assert main(command) == 0
    assert time.monotonic() - begin > 0.3
    assert main(["paper", "--only", "S1", "--seconds", "0.2", "--seeds", "1", "-o", str(toy), "--quiet"]) == 0


def test_a_proposal_that_never_ends(tmp_path, monkeypatch, capsys):
    """LSHSM as printed sums over pairs: on 10,000 rows a proposal takes seconds."""
    monkeypatch.setattr(experiment, "_GRACE", 0.1)
    command = [
        "paper",
        "--only",
        "S3",
        "--methods",
        "published-lshsm",
        "--seconds",
        "0.1",
        "--seeds",
        "2",
        "-o",
        str(tmp_path / "out"),
    ]
    assert main(command) == 0
    err = capsys.readouterr().err
    assert "S3, LSHSM, as printed, seed 0 (run): no proposal finished" in err
    assert "seed 1 (not tried): no proposal finished" in err
    assert "no proposal finished" in (tmp_path / "out" / "report.md").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--only", "S1,S9"], "--only must be some of S1, S2, S3, KDD, PubMed. Got 'S9' instead."),
        (["--methods", "magic"], "--methods must be some of rgsm, sdds,"),
        (["--seeds", "0"], "--seeds must be a number above 0. Got 0 instead."),
        (["--only", "KDD"], "KDD needs a file: one of bio_train.dat,"),
        (["--only", "KDD", "--data", "nowhere"], "--data must be a folder. Got 'nowhere' instead."),
        (["--only", "S1", "--out", "no/where"], "--out must be a folder inside an existing folder."),
    ],
)
def test_what_it_refuses(arguments, message, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert main(["paper", *arguments]) == 2
    err = capsys.readouterr().err
    assert message in err
    assert err.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


# ---- data ------------------------------------------------------------------------------------------------------------------


def test_kdd_files(tmp_path):
    X = np.random.default_rng(0).normal(size=(5, 74)).round(3).astype(np.float32)
    with pytest.raises(MissingData, match="KDD needs a file"):
        load("KDD", tmp_path)
    np.savez(tmp_path / "kdd.npz", X=X)
    assert np.array_equal(load("KDD", tmp_path).X, X)
    np.savetxt(tmp_path / "KDDCUP04Bio.txt", X + 1.0)
    assert pytest.approx(X + 1.0) == load("KDD", tmp_path).X
    np.savetxt(tmp_path / "bio_train.dat", np.column_stack([np.arange(15).reshape(5, 3), X + 2.0]), delimiter="\t")
    data = load("KDD", tmp_path)
    assert pytest.approx(X + 2.0) == data.X
    assert data.X.flags.c_contiguous
    assert data.y is None
    assert load("KDD", file=tmp_path / "kdd.npz").about.startswith("kdd.npz, 5 rows")
    np.savetxt(tmp_path / "few.txt", X[:, :3])
    with pytest.raises(ValueError, match="must have 74 columns"):
        load("KDD", file=tmp_path / "few.txt")
    with pytest.raises(MissingData, match="There is no file"):
        load("KDD", file=tmp_path / "missing.txt")
    (tmp_path / "empty.txt").touch()
    with pytest.raises(ValueError, match=r"empty.txt is not a table of numbers \(loadtxt: input contained no data"):
        load("KDD", file=tmp_path / "empty.txt")
    X[3, 5] = np.nan
    np.savez(tmp_path / "nan.npz", X=X)
    with pytest.raises(ValueError, match="finite numbers only. Got nan in row 3, column 5"):
        load("KDD", file=tmp_path / "nan.npz")


def test_pubmed_files(tmp_path):
    stand_in = load("PubMed", documents=50)
    assert "a stand-in, not PubMed" in stand_in.about
    assert stand_in.X.shape == (50, 141_043)
    X, _ = make_documents(20, n_words=30, n_topics=2, mean_words=5)
    save_npz(tmp_path / "pubmed.npz", X)
    assert (X[:7] != load("PubMed", tmp_path, documents=7).X).nnz == 0
    coo = X.tocoo()
    lines = sorted(zip(coo.row + 1, coo.col + 1, coo.data, strict=True))
    with gzip.open(tmp_path / "docword.pubmed.txt.gz", "wt") as file:
        file.write(f"20\n30\n{X.nnz}\n" + "".join(f"{d} {w} {c}\n" for d, w, c in lines))
    (tmp_path / "vocab.pubmed.txt").write_text("".join(f"w{j}\n" for j in range(30)))
    data = load("PubMed", tmp_path)
    assert (data.X != X).nnz == 0
    assert data.about == "docword.pubmed.txt.gz, 20 documents, 30 words"
    save_npz(tmp_path / "negative.npz", -X.astype(np.int16))
    with pytest.raises(ValueError, match="negative|counts"):
        load("PubMed", file=tmp_path / "negative.npz")
    np.savez(tmp_path / "dense.npz", X=np.zeros((3, 2)))
    with pytest.raises(ValueError, match="must hold a sparse matrix"):
        load("PubMed", file=tmp_path / "dense.npz")


@pytest.mark.parametrize("name", ["S1", "PubMed"])
def test_data_survives_being_handed_on(name, tmp_path):
    data = load(name, documents=30)
    write_data(tmp_path / "a.npz", data)
    again = read_data(tmp_path / "a.npz")
    assert (again.name, again.about) == (data.name, data.about)
    same = (again.X != data.X).nnz == 0 if issparse(data.X) else np.array_equal(again.X, data.X)
    assert same
    assert np.array_equal(again.oracle, data.oracle)


@pytest.fixture
def server():
    """Files over HTTP on this machine; ``/cut`` announces more than it sends."""
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


def test_downloads_are_recorded_and_checked(server, tmp_path):
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
    with pytest.raises(ValueError, match=r"b.txt is not the file that was fetched: its SHA-256 is"):
        verify(paths[1])
    with pytest.raises(ValueError, match="not the file that was fetched"):
        download("both", folder, sources=sources)
    paths[0].unlink()
    with pytest.raises(ValueError, match="is no longer the file of before"):
        download("both", folder, sources=sources)
    assert not paths[0].exists()


@pytest.mark.parametrize("path", ["cut", "missing.txt"])
def test_downloads_that_fail_leave_nothing(server, tmp_path, path):
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
    assert list(Path(tmp_path).iterdir()) == []
