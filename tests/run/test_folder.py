"""Run folders: going on after a kill, to the same draws to the last bit; damage, locks and other data are noticed."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import textwrap

import numpy as np
import pytest

import hashmix as hm
from hashmix.paper import make_documents
from hashmix.run import folder as runs
from tests.truth.no_data import NoData


def rows(n=300):
    rng = np.random.default_rng(0)
    return np.concatenate([rng.normal(3.0 * c, 1.0, (n // 5, 2)) for c in range(5)])


SETTINGS = {"n_warmup": 25, "n_chains": 2, "random_state": 3, "init": "auto"}


@pytest.fixture(autouse=True)
def checkpoints_at_every_chance(monkeypatch):
    monkeypatch.setattr(runs, "SECONDS", 0.0)


@pytest.fixture(scope="module")
def whole():
    return hm.sample(rows(), n_draws=70, **SETTINGS)


def assert_same(a, b):
    assert np.array_equal(np.asarray(a.labels), np.asarray(b.labels))
    for name in ("n_clusters", "log_joint", "log_likelihood", "concentration"):
        assert np.array_equal(getattr(a, name), getattr(b, name)), name
    for name, values in a.hyperparameters.items():
        assert np.array_equal(values, b.hyperparameters[name]), name
    for move, fields in a.move_stats.items():
        for what in ("proposed", "accepted", "work"):
            assert np.array_equal(fields[what], b.move_stats[move][what]), (move, what)


def test_a_folder_changes_nothing_and_is_read_back(whole, tmp_path):
    posterior = hm.sample(rows(), n_draws=70, run_dir=tmp_path / "run", **SETTINGS)
    assert_same(whole, posterior)
    again = hm.Posterior.load(tmp_path / "run")
    assert_same(whole, again)
    assert np.array_equal(again.point_estimate(), whole.point_estimate())
    assert again.co_clustering(5).shape == (5, 5)
    about = json.loads((tmp_path / "run" / "run.json").read_text(encoding="utf-8"))
    assert about["data"]["shape"] == [300, 2]
    assert {"hashmix", "numpy", "numba"} <= set(about["versions"])
    assert not list(tmp_path.rglob("*.part"))


@pytest.mark.parametrize("first", [1, 15, 33, 69])
def test_more_draws_later_are_those_of_a_longer_run(whole, tmp_path, first):
    hm.sample(rows(), n_draws=first, run_dir=tmp_path / "run", **SETTINGS)
    assert_same(whole, hm.sample(rows(), n_draws=70, run_dir=tmp_path / "run", **SETTINGS))
    assert_same(whole, hm.Posterior.load(tmp_path / "run"))


def test_a_finished_run_is_returned_and_an_unseeded_one_goes_on(tmp_path):
    settings = SETTINGS | {"random_state": None}
    first = hm.sample(rows(), n_draws=10, run_dir=tmp_path / "run", **settings)
    assert_same(first, hm.sample(rows(), n_draws=10, run_dir=tmp_path / "run", **settings))
    more = hm.sample(rows(), n_draws=30, run_dir=tmp_path / "run", **settings)
    assert np.array_equal(np.asarray(more.labels)[:, :10], np.asarray(first.labels))


def test_sparse_rows_and_published_moves_go_on_too(tmp_path):
    X, _ = make_documents(80, n_words=60, n_topics=3, mean_words=10)
    for component, moves, prior in (("multinomial", "lss", "auto"), ("multinomial", "minsm", "pitman-yor")):
        settings = SETTINGS | {"component": component, "moves": moves, "prior": prior}
        folder = tmp_path / moves
        hm.sample(X, n_draws=20, run_dir=folder, **settings)
        assert_same(hm.sample(X, n_draws=50, **settings), hm.sample(X, n_draws=50, run_dir=folder, **settings))


def test_estimator_goes_on(tmp_path):
    settings = {"n_warmup": 20, "random_state": 0}
    hm.SplitMergeMixture(n_draws=20, run_dir=tmp_path / "run", **settings).fit(rows())
    model = hm.SplitMergeMixture(n_draws=40, run_dir=tmp_path / "run", **settings).fit(rows())
    assert np.array_equal(model.labels_, hm.SplitMergeMixture(n_draws=40, **settings).fit(rows()).labels_)


KILLED = """
import os, random, signal, sys, time
import numpy as np
import hashmix as hm
from hashmix.run import folder as runs
runs.SECONDS = 0.05
folder, n_kills = sys.argv[1], int(sys.argv[2])
rng = np.random.default_rng(0)
X = np.concatenate([rng.normal(3.0 * c, 1.0, (400, 2)) for c in range(5)])
settings = dict(n_draws=400, n_warmup=40, n_chains=2, random_state=3, init="auto")
whole = hm.sample(X, **settings)
random.seed(n_kills)
lost = 0
for k in range(n_kills):
    child = os.fork()
    if child == 0:
        hm.sample(X, run_dir=folder, **settings)
        os._exit(0)
    time.sleep(random.uniform(0.0, 0.4))
    os.kill(child, signal.SIGKILL)
    lost += os.waitpid(child, 0)[1] == signal.SIGKILL
again = hm.sample(X, run_dir=folder, **settings)
same = np.array_equal(np.asarray(again.labels), whole.labels) and np.array_equal(again.log_joint, whole.log_joint)
print(lost, same)
"""


# Windows has neither, and no other way to end a process between two instructions without telling it.
@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork and SIGKILL")
@pytest.mark.parametrize("n_kills", [20, pytest.param(200, marks=pytest.mark.slow)])
def test_killed_at_any_moment_and_resumed(tmp_path, n_kills):
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", textwrap.dedent(KILLED), str(tmp_path / "run"), str(n_kills)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    killed, same = done.stdout.split()
    assert same == "True"
    assert int(killed) >= 5  # later ones may find the run finished


# ---- what is refused ---------------------------------------------------------------------------------------------------------


@pytest.fixture
def folder(tmp_path):
    hm.sample(rows(), n_draws=30, run_dir=tmp_path / "run", **SETTINGS)
    return tmp_path / "run"


@pytest.mark.parametrize(
    ("changed", "sentence"),
    [
        ({"X": rows() + 1.0}, "holds a run on other data"),
        ({"n_warmup": 26}, "holds a run with n_warmup = 25. Got 26"),
        ({"random_state": 4}, "holds a run with random_state = 3. Got 4"),
        ({"n_chains": 3}, "n_chains = 2. Got 3"),
        ({"init": "single"}, "holds a run with init"),
        ({"prior": "pitman-yor"}, "holds a run with prior"),
    ],
)
def test_other_data_or_settings(folder, changed, sentence):
    settings = {"X": rows(), "n_draws": 40, "run_dir": folder} | SETTINGS | changed
    with pytest.raises(ValueError, match=sentence):
        hm.sample(settings.pop("X"), **settings)
    assert hm.Posterior.load(folder).n_draws == 30


def test_a_second_process(folder):
    held = runs._lock(folder)
    try:
        with pytest.raises(ValueError, match="in use by another process"):
            hm.sample(rows(), n_draws=40, run_dir=folder, **SETTINGS)
    finally:
        held.close()


@pytest.mark.parametrize("name", ["labels-000000.npy", "draws-000001.npz"])
@pytest.mark.parametrize("how", ["cut", "edited", "missing"])
def test_damage_is_named(folder, name, how):
    path = folder / "chain-1" / name
    whole = path.read_bytes()
    if how == "missing":
        path.unlink()
    else:
        path.write_bytes(whole[:-7] if how == "cut" else whole[:-1] + bytes([whole[-1] ^ 1]))
    with pytest.raises(ValueError, match=f"The run is damaged: {name} of .*chain-1"):
        hm.sample(rows(), n_draws=40, run_dir=folder, **SETTINGS)
    with pytest.raises(ValueError, match=f"The run is damaged: {name} of .*chain-1"):
        np.asarray(hm.Posterior.load(folder).labels)


def test_damaged_checkpoint_and_settings(folder):
    (folder / "chain-0" / "checkpoint.npz").write_bytes(b"nothing")
    with pytest.raises(ValueError, match="checkpoint.npz of .*chain-0 cannot be read"):
        hm.Posterior.load(folder)
    (folder / "run.json").write_text("{", encoding="utf-8")
    with pytest.raises(ValueError, match="run.json of .* cannot be read"):
        hm.Posterior.load(folder)


def test_changed_settings_are_noticed(folder):
    path = folder / "run.json"
    about = path.read_text(encoding="utf-8")
    path.write_text(about.replace('"n_warmup": 25', '"n_warmup": 26'), encoding="utf-8")
    with pytest.raises(ValueError, match="run.json of .* cannot be read .it is not what was written: checksum"):
        hm.Posterior.load(folder)
    with pytest.raises(ValueError, match="checksum"):
        hm.sample(rows(), n_draws=40, run_dir=folder, **SETTINGS | {"n_warmup": 26})


def test_folders_from_before_there_was_a_checksum(whole, folder):
    path = folder / "run.json"
    about = json.loads(path.read_text(encoding="utf-8"))
    del about["sha256"]
    path.write_text(json.dumps(about | {"format": "hashmix-run-1"}), encoding="utf-8")
    assert hm.Posterior.load(folder).n_draws == 30
    assert_same(whole, hm.sample(rows(), n_draws=70, run_dir=folder, **SETTINGS))


def test_folders_that_are_none(tmp_path):
    (tmp_path / "file").write_text("", encoding="utf-8")
    with pytest.raises(ValueError, match="run_dir must be a folder"):
        hm.sample(rows(), n_draws=2, run_dir=tmp_path / "file")
    with pytest.raises(ValueError, match="run_dir must be inside an existing folder"):
        hm.sample(rows(), n_draws=2, run_dir=tmp_path / "a" / "b")
    with pytest.raises(ValueError, match="is not a run folder"):
        hm.Posterior.load(tmp_path)


def test_a_folder_must_be_a_path():
    with pytest.raises(ValueError, match="'run_dir' parameter of sample must be a path or None. Got 5 instead"):
        hm.sample(rows(), n_draws=2, run_dir=5)


def test_a_full_disk_leaves_earlier_draws(folder, monkeypatch):
    def full(file, *arrays, **named):
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(runs.np, "savez", full)
        with pytest.raises(OSError, match="disk is full; draws up to the last checkpoint are safe"):
            hm.sample(rows(), n_draws=60, run_dir=folder, **SETTINGS)
    assert hm.Posterior.load(folder).n_draws == 30
    assert not list(folder.rglob("*.part"))
    whole = hm.sample(rows(), n_draws=60, **SETTINGS)
    assert_same(whole, hm.sample(rows(), n_draws=60, run_dir=folder, **SETTINGS))


class Plain:
    """An object with the default repr, which holds its address."""


class WithoutRepr(NoData):
    """A component as a user writes it: no ``__repr__``, and a parameter that has none either."""

    def __init__(self, setting=None):
        self.setting = setting


def test_a_component_without_repr_resumes_its_own_folder(tmp_path):
    X = np.zeros((12, 1))
    settings = SETTINGS | {"prior": hm.priors.DirichletProcess(1.0), "moves": "sams", "init": "single"}
    hm.sample(X, WithoutRepr(Plain()), n_draws=10, run_dir=tmp_path / "run", **settings)
    again = hm.sample(X, WithoutRepr(Plain()), n_draws=30, run_dir=tmp_path / "run", **settings)
    assert_same(hm.sample(X, WithoutRepr(Plain()), n_draws=30, **settings), again)
    with pytest.raises(ValueError, match="holds a run with component = WithoutRepr"):
        hm.sample(X, WithoutRepr(3), n_draws=30, run_dir=tmp_path / "run", **settings)
