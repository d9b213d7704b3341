"""``hashmix paper``: its output, repeated runs, and the error messages."""

from __future__ import annotations

import csv
import json
import time

import numpy as np
import pytest
from scipy.sparse import csr_matrix

from hashmix.cli import main
from hashmix.paper import experiment
from hashmix.paper.methods import METHODS
from tests.browser import check_in_browser, needs_browser


@pytest.fixture(scope="module")
def toy(tmp_path_factory):
    """The output folder of every sampler on 100 rows for a fifth of a second."""
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
    comparison = {line["method"]: line for line in results["comparison"]}
    assert set(comparison) == set(METHODS)
    assert comparison["lss"]["nmi"] > 0.95
    assert results["settings"]["about"]["S1"]["nmi"] > 0.99  # the oracle's
    assert (toy / "S1.png").read_bytes().startswith(b"\x89PNG")


def test_report(toy):
    text = (toy / "report.md").read_text(encoding="utf-8")
    assert "0.96 / 0.95" in text  # the paper's number
    assert "they do not sample a posterior" in text
    for method in METHODS.values():
        assert method.title in text
    assert "RGSM on S1: " in text
    assert text.count("![S1") == 1
    assert "|---|" in text


@needs_browser
@pytest.mark.parametrize("width", [400, 1400])
def test_page_in_a_real_browser(toy, tmp_path, width):
    check_in_browser(toy / "report.html", tmp_path, width, title="The paper's comparison", n_pictures=1)


def test_chains_are_run_once(toy, tmp_path, monkeypatch):
    command = ["paper", "--only", "S1", "--methods", "sdds", "--seconds", "0.2", "--seeds", "1", "-o", str(toy), "--quiet"]
    before = (toy / "runs" / "S1-sdds-0.json").read_text()
    monkeypatch.setattr(experiment, "_Worker", None)  # so that starting a process fails
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


def test_rows_without_a_label_do_not_count(tmp_path):
    """Of 60 documents of two subjects, 20 have a label; taken as one more class, the others would halve the NMI."""
    X = np.repeat([[9, 8, 0, 0], [0, 0, 9, 8]], 30, axis=0)
    counts = csr_matrix(X)
    y = np.where(np.arange(60) % 3 == 0, np.arange(60) // 30, -1)
    arrays = {"data": counts.data, "indices": counts.indices, "indptr": counts.indptr, "shape": np.array(X.shape)}
    np.savez(tmp_path / "texts.npz", **arrays, format="csr", y=y)
    options = [
        "--only",
        "PubMed",
        "--pubmed",
        str(tmp_path / "texts.npz"),
        "--methods",
        "lss",
        "--seconds",
        "1",
        "--seeds",
        "1",
    ]
    assert main(["paper", *options, "-o", str(tmp_path / "out"), "--quiet"]) == 0
    (line,) = json.loads((tmp_path / "out" / "results.json").read_text())["comparison"]
    assert line["nmi"] == pytest.approx(1.0)


def test_a_proposal_that_never_ends(tmp_path, monkeypatch, capsys):
    """LSHSM as printed sums over all pairs of rows: with 10,000 rows a proposal takes seconds."""
    monkeypatch.setattr(experiment, "_GRACE", 0.1)
    options = ["--only", "S3", "--methods", "published-lshsm", "--seconds", "0.1", "--seeds", "2"]
    assert main(["paper", *options, "-o", str(tmp_path / "out")]) == 0
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
        (["--separation", "-1"], "--separation must be a number above 0. Got -1.0 instead."),
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
