"""The command line, as a user types it."""

from __future__ import annotations

import json

import numpy as np
import pytest

from hashmix.cli import main


@pytest.fixture
def table(tmp_path, three_blobs, monkeypatch):
    monkeypatch.chdir(tmp_path)
    X, y = three_blobs
    np.savetxt("blobs.csv", X, delimiter=",", header="metres,dollars", comments="")
    return y


def test_fit(table, capsys, tmp_path):
    assert main(["fit", "blobs.csv", "--draws", "20", "--warmup", "40", "--seed", "1", "--chains", "1"]) == 0
    out = capsys.readouterr().out
    assert "60 rows, 2 columns: 3 clusters" in out
    folder = tmp_path / "blobs-clusters"
    names = {"clusters.png", "labels.csv", "summary.json", "trace.png", "report.html", "fit.json", "run.json"}
    assert names | {"chain-0", "lock"} == {path.name for path in folder.iterdir()}
    assert (folder / "labels.csv").read_text().splitlines()[:2] == ["row,label,probability", "0,0,1.0000"]
    labels = np.loadtxt(folder / "labels.csv", delimiter=",", skiprows=1)
    assert labels[:, 0].tolist() == list(range(60))
    assert len(np.unique(labels[:, 1])) == 3
    summary = json.loads((folder / "summary.json").read_text())
    assert summary["n_clusters"] == 3
    assert summary["columns"] == ["metres", "dollars"]
    assert sum(summary["n_clusters_probabilities"].values()) == pytest.approx(1.0)
    assert [cluster["size"] for cluster in summary["clusters"]] == [20, 20, 20]
    assert summary["moves"]["ParallelGibbs-2"]["proposed"] in range(60, 20 * 60, 60)  # all rows, in some sweeps
    assert (folder / "clusters.png").read_bytes().startswith(b"\x89PNG")
    # The same again changes nothing; other settings are refused; more draws go on from there.
    assert main(["fit", "blobs.csv", "--draws", "20", "--warmup", "40", "--seed", "1", "--chains", "1"]) == 0
    assert main(["fit", "blobs.csv", "--draws", "5", "--warmup", "5", "--chains", "1"]) == 2
    assert "holds a run with" in capsys.readouterr().err
    assert json.loads((folder / "summary.json").read_text())["n_clusters"] == 3
    assert main(["resume", "blobs-clusters", "--draws", "35"]) == 0
    assert json.loads((folder / "summary.json").read_text())["settings"]["n_sweeps"] == 75
    assert sorted(p.name for p in tmp_path.iterdir()) == ["blobs-clusters", "blobs.csv"]


def test_levels_and_a_sample(table, capsys, tmp_path):
    fit = ["fit", "blobs.csv", "--draws", "20", "--warmup", "40", "--chains", "1"]
    assert main([*fit, "--levels", "2,9,reproducible", "--out", "levels"]) == 0
    lines = (tmp_path / "levels" / "labels.csv").read_text().splitlines()
    assert lines[0] == "row,label,probability,level_2,level_9,level_reproducible"
    values = np.array([line.split(",") for line in lines[1:]], float)
    assert len(np.unique(values[:, 3])) == 2
    np.testing.assert_array_equal(values[:, 4], values[:, 1])  # there are no nine clusters
    assert json.loads((tmp_path / "levels" / "summary.json").read_text())["levels"]["level_2"] == 2
    assert main([*fit, "--levels", "2,few", "--out", "bad"]) == 2
    assert "--levels must be whole numbers above 0 or reproducible, with commas. Got 'few'" in capsys.readouterr().err
    assert main([*fit, "--sample-size", "40", "--out", "sample"]) == 0
    summary = json.loads((tmp_path / "sample" / "summary.json").read_text())
    assert summary["settings"]["sample_size"] == "40 of 60 rows"
    assert summary["n_rows"] == sum(cluster["size"] for cluster in summary["clusters"]) == 60
    assert main(["report", "sample"]) == 0


def test_report(table, capsys, tmp_path):
    assert main(["fit", "blobs.csv", "--warmup", "40", "--out", "run"]) == 0  # with as many draws as it likes
    (tmp_path / "run" / "report.html").unlink()
    assert main(["report", "run"]) == 0
    page = (tmp_path / "run" / "report.html").read_text(encoding="utf-8")
    assert "metres" in page
    assert page.count("data:image/svg+xml") == 6
    assert main(["report", "run", "-o", "elsewhere.html"]) == 0
    (tmp_path / "blobs.csv").rename(tmp_path / "moved.csv")
    capsys.readouterr()
    assert main(["report", "run"]) == 0
    assert "the report is written without the data" in capsys.readouterr().err
    assert main(["resume", "run"]) == 2
    assert "There is no file" in capsys.readouterr().err
    np.savetxt("blobs.csv", np.random.default_rng(0).normal(size=(60, 2)), delimiter=",", header="metres,dollars", comments="")
    assert main(["report", "run"]) == 2
    assert "no longer the data" in capsys.readouterr().err
    assert main(["report", "nowhere"]) == 2
    assert main(["resume", str(tmp_path)]) == 2
    assert "no fit.json" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["missing.csv"], "There is no file 'missing.csv'"),
        (["blobs.csv", "--columns", "feet"], "has no column 'feet'"),
        (["blobs.csv", "--component", "cauchy"], "'component' parameter of SplitMergeMixture must be one of"),
        (["blobs.csv", "--moves", "nuts"], "'moves' parameter"),
        (["blobs.csv", "--draws", "0"], "'n_draws' parameter"),
        (["blobs.csv", "--out", "no/such/folder"], "--out must be inside an existing folder"),
        (["blobs.csv", "--out", "blobs.csv"], "--out must be a folder"),
    ],
)
def test_errors_are_one_sentence(table, capsys, tmp_path, arguments, sentence):
    assert main(["fit", *arguments]) == 2
    captured = capsys.readouterr()
    assert sentence in captured.err
    assert captured.err.count("\n") == 1
    assert [p.name for p in tmp_path.iterdir()] == ["blobs.csv"]


def test_values_that_are_not_finite_name_their_place(table, capsys, tmp_path):
    (tmp_path / "holes.csv").write_text("u,v\n1,2\ninf,3\n2,2\n")
    assert main(["fit", "holes.csv"]) == 2
    sentence = "Numbers must be finite or blank. Got inf in row 1 (u): make such cells blank (--blank inf,-inf), or leave out"
    assert f"{sentence} such columns (--drop u)." in capsys.readouterr().err


def test_version_and_help(capsys):
    for flag in ("--version", "--help"):
        with pytest.raises(SystemExit) as stop:
            main([flag])
        assert stop.value.code == 0
    assert "hashmix 0." in capsys.readouterr().out
