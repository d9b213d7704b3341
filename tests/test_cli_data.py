"""How hashmix fit reads a file: what it says, what it keeps for resume and report, and what labels.csv holds."""

from __future__ import annotations

import csv
import json

import numpy as np
import pytest

from hashmix.cli import main

QUICK = ["--draws", "20", "--warmup", "40", "--chains", "1"]


@pytest.fixture
def people(tmp_path, three_blobs, monkeypatch):
    """A file with an id, two numbers and a constant."""
    monkeypatch.chdir(tmp_path)
    X, _ = three_blobs
    rows = "".join(f"p{i * 7 % 61},{x:.4f},{y:.4f},here\n" for i, (x, y) in enumerate(X))
    (tmp_path / "people.csv").write_text(f"person_id,metres,dollars,place\n{rows}")
    return tmp_path


def labels(folder):
    with (folder / "labels.csv").open(newline="") as file:
        return list(csv.DictReader(file))


def test_ids_and_probabilities(people, capsys):
    assert main(["fit", "people.csv", *QUICK, "--out", "run"]) == 0
    out = capsys.readouterr().out.splitlines()
    assert out[:2] == ["columns: 2 numeric", "set aside: person_id (all different), place (a single value)"]
    rows = labels(people / "run")
    assert list(rows[0]) == ["person_id", "label", "probability"]
    assert [row["person_id"] for row in rows[:3]] == ["p0", "p7", "p14"]
    assert all(0.5 < float(row["probability"]) <= 1 and len(row["probability"]) == 6 for row in rows)
    assert len({row["label"] for row in rows}) == 3


def test_options_are_kept(people, capsys):
    fit = ["fit", "people.csv", *QUICK, "--out", "run", "--columns", "metres,3", "--drop", "3", "--no-header", "--id", "0"]
    assert main(fit) == 2
    assert "has no column 'metres'; it has 0, 1, 2, 3" in capsys.readouterr().err
    fit[fit.index("--no-header")] = "--header"
    assert main(fit) == 0
    kept = json.loads((people / "run" / "fit.json").read_text())
    assert (kept["columns"], kept["drop"], kept["header"], kept["id"]) == ("metres,3", "3", True, "0")
    assert json.loads((people / "run" / "summary.json").read_text())["columns"] == ["metres"]
    assert main(["resume", "run", "--draws", "30"]) == 0
    assert list(labels(people / "run")[0]) == ["person_id", "label", "probability"]
    assert main(["report", "run"]) == 0


def test_runs_of_earlier_versions_can_be_resumed(people):
    assert main(["fit", "people.csv", *QUICK, "--out", "run"]) == 0
    kept = json.loads((people / "run" / "fit.json").read_text())
    for option in ("header", "id", "drop", "categorical", "numeric", "blank", "text", "vocabulary"):
        del kept[option]
    (people / "run" / "fit.json").write_text(json.dumps(kept))
    assert main(["resume", "run", "--draws", "30"]) == 0


def test_texts(people, capsys):
    rng = np.random.default_rng(0)
    topics = [["goal", "match", "team"], ["stock", "bank", "market"]]
    lines = [" ".join(rng.choice(topics[i % 2], 9)) for i in range(60)]
    (people / "news.txt").write_text("\n".join(lines))
    assert main(["fit", "news.txt", *QUICK]) == 0
    out = capsys.readouterr().out
    assert "texts: 60, with 6 different words (lower case, two letters or more, no English stop words)" in out
    assert "60 rows, 6 columns: 2 clusters" in out
    assert "component: DirichletMultinomial\n" in out
    (people / "news.csv").write_text("id,story\n" + "".join(f"{i + 100},{line}\n" for i, line in enumerate(lines)))
    assert main(["fit", "news.csv", *QUICK, "--text", "story", "--out", "run"]) == 0
    assert labels(people / "run")[1]["id"] == "101"


def test_mixed_columns(people, capsys):
    rng = np.random.default_rng(0)
    rows = [f"{6 * (i % 2) + rng.normal():.3f},{'red' if i % 2 else rng.choice(['blue', 'grey'])}" for i in range(60)]
    rows[5] = ",red"
    (people / "mixed.csv").write_text("u,colour\n" + "\n".join(rows))
    assert main(["fit", "mixed.csv", *QUICK, "--out", "run"]) == 0
    out = capsys.readouterr().out
    assert "columns: 1 numeric, 1 categorical; 1 of 120 cells are blank" in out
    assert "30 rows in cluster 1: u 5." in out or "30 rows in cluster 1: u 6." in out
    assert "colour red (100%, lift 2)" in out
    described = json.loads((people / "run" / "summary.json").read_text(encoding="utf-8"))["clusters"][1]["columns"]
    assert {column["column"] for column in described} == {"u", "colour"}
    assert len({row["label"] for row in labels(people / "run")}) == 2
    assert main(["report", "run"]) == 0


def test_codes_for_blanks_are_named_once(people, capsys):
    rng = np.random.default_rng(0)
    ages = np.where(np.arange(90) % 9 == 0, -999, rng.integers(20, 60, 90))
    (people / "ages.csv").write_text(
        "height,age\n" + "".join(f"{u:.3f},{a}\n" for u, a in zip(rng.normal(size=90), ages, strict=True))
    )
    assert main(["fit", "ages.csv", *QUICK, "--out", "run"]) == 0
    said = capsys.readouterr()
    assert "Column 'age' holds -999 in 10 cells, far from its other values (20 to 59)" in said.out
    assert "use --blank=-999." in said.out
    assert "holds" not in said.err
    assert main(["fit", "ages.csv", *QUICK, "--out", "run2", "--blank=-999"]) == 0
    assert "10 of 180 cells are blank" in capsys.readouterr().out
