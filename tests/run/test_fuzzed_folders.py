"""Damaged run folders and posteriors: what is read is what was written, or it is refused in one sentence."""

from __future__ import annotations

import shutil

import numpy as np
import pytest

import hashmix as hm
from hashmix.run import folder as runs
from tests.fuzzing import damaged, outcome
from tests.run.test_folder import assert_same

X = np.concatenate([np.random.default_rng(0).normal(5.0 * c, 1.0, (8, 2)) for c in range(3)])
SETTINGS = {"n_warmup": 10, "n_chains": 2, "random_state": 3, "moves": "sams", "n_jobs": 1}
N_DRAWS, MORE = 24, 30


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """A folder with a finished run, its posterior, and that of a longer run."""
    path = tmp_path_factory.mktemp("whole") / "run"
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(runs, "SECONDS", 0.0)
        posterior = hm.sample(X, n_draws=N_DRAWS, run_dir=path, **SETTINGS)
    return path, posterior, hm.sample(X, n_draws=MORE, **SETTINGS)


def damage(folder, seed):
    """Damage one file, or lose it; return what it held and holds."""
    rng = np.random.default_rng([seed, 5])
    files = sorted(path for path in folder.rglob("*") if path.is_file() and path.name != "lock")
    path = files[int(rng.integers(len(files)))]
    before = path.read_bytes()
    after = damaged(before, rng)
    if rng.random() < 0.05:
        path.unlink()
    else:
        path.write_bytes(after)
    return path.relative_to(folder), before, after


def read(folder):
    posterior = hm.Posterior.load(folder)
    np.asarray(posterior.labels)
    return posterior


def assert_survived(whole, tmp_path, seeds, work, expected):
    path = whole[0]
    folder = tmp_path / "run"
    for seed in seeds:
        shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(path, folder)
        what = damage(folder, seed)
        try:
            posterior = outcome(lambda: work(folder))
            if posterior is not None:
                assert posterior.settings == expected.settings
                assert_same(posterior, expected)
        except BaseException as error:
            raise AssertionError(f"case {seed}: {what[0]}, {what[1][:200]!r} became {what[2][:200]!r}") from error


def resume(folder):
    return hm.sample(X, n_draws=MORE, run_dir=folder, **SETTINGS)


def test_damaged_folders_are_read_or_refused(whole, tmp_path):
    assert_survived(whole, tmp_path, range(150), read, read(whole[0]))


def test_damaged_folders_are_resumed_or_refused(whole, tmp_path):
    assert_survived(whole, tmp_path, range(1000, 1008), resume, whole[2])


@pytest.mark.slow
def test_ten_thousand_damaged_folders(whole, tmp_path):
    assert_survived(whole, tmp_path, range(2000, 11_800), read, read(whole[0]))
    assert_survived(whole, tmp_path, range(11_800, 12_000), resume, whole[2])


@pytest.mark.parametrize("n_cases", [150, pytest.param(10_000, marks=pytest.mark.slow)])
def test_damaged_posteriors(whole, tmp_path, n_cases):
    path = tmp_path / "draws.npz"
    whole[1].save(path)
    content = path.read_bytes()
    for seed in range(n_cases):
        changed = damaged(content, np.random.default_rng([seed, 6]))
        path.write_bytes(changed)
        try:
            posterior = outcome(lambda: hm.Posterior.load(path))
            if posterior is not None:
                assert posterior.settings == whole[1].settings
                assert_same(posterior, whole[1])
        except BaseException as error:
            raise AssertionError(f"case {seed}") from error
