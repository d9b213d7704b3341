"""hashmix fit and report where an engine reads the files."""

from __future__ import annotations

import json

import numpy as np
import pytest

import hashmix as hm
from hashmix.cli import main
from tests.engines.test_same_draws import X

FIT = ["fit", "part-*.npy", "--draws", "5", "--warmup", "5", "--chains", "1", "--component", "gaussian"]


@pytest.fixture
def parts(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    np.save("part-0.npy", X[:300])
    np.save("part-1.npy", X[300:])
    return tmp_path


def test_a_pattern_needs_an_engine(parts, capsys):
    assert main(FIT) == 2
    said = capsys.readouterr().err
    assert "'part-*.npy'" in said
    assert "needs --engine threads to read them into memory, or --workers N" in said
    assert not (parts / "part--clusters").exists()


def test_a_pattern_needs_an_engine_in_python(parts):
    for ask in (hm.SplitMergeMixture().fit, lambda X: hm.sample(X, n_draws=2)):
        for files in ("part-*.npy", parts / "part-0.npy", ["part-0.npy", "part-1.npy"]):
            with pytest.raises((TypeError, ValueError), match="'X' parameter of .* must be rows, or files with an engine"):
                ask(files)


def test_fit_and_report(parts, capsys):
    assert main([*FIT, "--engine", "threads", "--out", "run"]) == 0
    assert len(np.load("run/part-000000.labels.npy")) == 300
    assert len(np.load("run/part-000001.labels.npy")) == 400
    assert json.loads((parts / "run" / "summary.json").read_text())["n_rows"] == 700
    assert main(["resume", "run", "--draws", "7"]) == 0
    fitted = capsys.readouterr()
    assert "does not exist" not in fitted.out + fitted.err
    assert main(["report", "run"]) == 0
    reported = capsys.readouterr()
    assert "does not exist" not in reported.out + reported.err
    assert "without the rows" in reported.err
    assert "<html" in (parts / "run" / "report.html").read_text()


def test_report_of_a_fit_with_default_draws(parts, capsys):
    """The number of draws was not given, so fit.json has none."""
    np.save("one.npy", X[::20])
    assert main(["fit", "one.npy", "--component", "gaussian", "--chains", "1", "--quiet", "--out", "run"]) == 0
    assert main(["report", "run"]) == 0
    assert "wrote" in capsys.readouterr().out
