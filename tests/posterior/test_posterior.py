"""Posterior: point estimates, diagnostics, saving."""

from __future__ import annotations

import numpy as np
import pytest
from arviz_stats.base import array_stats

import hashmix as hm
from hashmix.posterior import Posterior
from hashmix.posterior.diagnostics import ess, ess_tail, rhat
from hashmix.posterior.estimate.losses import loss_values, pairwise_losses


def entropy(counts):
    p = counts[counts > 0] / counts.sum()
    return -(p * np.log(p)).sum()


def slow_vi(a, b):
    cells = np.zeros((a.max() + 1, b.max() + 1))
    np.add.at(cells, (a, b), 1)
    return 2 * entropy(cells) - entropy(cells.sum(axis=0)) - entropy(cells.sum(axis=1))


def slow_binder(a, b):
    return ((a[:, None] == a) != (b[:, None] == b)).mean()


@pytest.fixture(scope="module")
def posterior():
    X = np.random.default_rng(0).normal(size=(25, 2)) * 2
    component = hm.components.DiagonalGaussian(0.0, 0.1, 2.0, 0.5)
    return hm.sample(X, component, "dirichlet-process", "sams", n_draws=60, n_chains=2, random_state=1)


def test_losses_against_their_definitions():
    rng = np.random.default_rng(0)
    draws = np.array([np.unique(rng.integers(0, k, 40), return_inverse=True)[1] for k in (1, 2, 5, 40)], dtype=np.int32)
    for by_information, slow in ((True, slow_vi), (False, slow_binder)):
        got = pairwise_losses(draws, np.ones(40, int), 40, loss_values(40, by_information))
        want = [[slow(a, b) for b in draws] for a in draws]
        np.testing.assert_allclose(got, want, atol=1e-12)


@pytest.mark.parametrize(("loss", "slow"), [("vi", slow_vi), ("binder", slow_binder)])
def test_estimate_and_best_draw(posterior, loss, slow):
    draws = posterior.labels.reshape(-1, 25)
    expected = [np.mean([slow(a, b) for b in draws]) for a in draws]
    best = posterior.labels[posterior.point_estimate_draw(loss)]
    assert np.mean([slow(best, b) for b in draws]) == pytest.approx(min(expected))
    estimate = posterior.point_estimate(loss)
    assert np.mean([slow(estimate, b) for b in draws]) <= min(expected) + 1e-12
    assert posterior.expected_loss(estimate, loss) == pytest.approx(np.mean([slow(estimate, b) for b in draws]))
    assert np.array_equal(estimate, posterior.point_estimate(loss))


def test_map_and_unknown_loss(posterior):
    best = np.unravel_index(posterior.log_joint.argmax(), posterior.log_joint.shape)
    assert np.array_equal(posterior.point_estimate("map"), posterior.labels[best])
    with pytest.raises(ValueError, match="'loss' parameter of point_estimate must be one of 'vi', 'binder', 'map'"):
        posterior.point_estimate("mode")


def test_posterior_of_k(posterior):
    probabilities = posterior.n_clusters_probabilities()
    assert sum(probabilities.values()) == pytest.approx(1.0)
    for k, p in probabilities.items():
        assert p == pytest.approx((posterior.n_clusters == k).mean())


@pytest.mark.parametrize("shape", [(1, 50), (2, 101), (4, 400)])
@pytest.mark.parametrize("kind", ["independent", "slow", "discrete", "shifted"])
def test_diagnostics_equal_arviz(shape, kind):
    rng = np.random.default_rng(3)
    x = rng.normal(size=shape)
    if kind == "slow":
        for d in range(1, shape[1]):
            x[:, d] += 0.9 * x[:, d - 1]
    elif kind == "discrete":
        x = rng.poisson(2.0, size=shape).astype(float)
    elif kind == "shifted":
        x += np.arange(shape[0])[:, None]
    assert ess(x) == pytest.approx(float(array_stats.ess(x, chain_axis=0, draw_axis=1, method="bulk")), rel=1e-6)
    tail = array_stats.ess(x, chain_axis=0, draw_axis=1, method="tail", prob=(0.05, 0.95))
    assert ess_tail(x) == pytest.approx(float(tail), rel=1e-6)
    if shape[0] > 1:  # ArviZ gives no R̂ of a single chain
        assert rhat(x) == pytest.approx(float(array_stats.rhat(x, chain_axis=0, draw_axis=1)), rel=1e-9)


def test_diagnostics_of_what_never_varies():
    assert np.isnan(rhat(np.ones((2, 50))))
    assert np.isnan(ess(np.ones((2, 50))))
    assert np.isnan(rhat(np.ones((2, 3))))


def test_save_and_load(posterior, tmp_path):
    path = tmp_path / "draws.npz"
    posterior.save(path)
    again = hm.Posterior.load(path)
    for field in ("labels", *Posterior.SCALARS):
        np.testing.assert_array_equal(getattr(again, field), getattr(posterior, field))
        assert getattr(again, field).dtype == getattr(posterior, field).dtype
    assert again.settings == posterior.settings
    assert again.move_stats.keys() == posterior.move_stats.keys()
    np.testing.assert_array_equal(again.move_stats["SAMS"]["seconds"], posterior.move_stats["SAMS"]["seconds"])
    assert [p.name for p in tmp_path.iterdir()] == ["draws.npz"]


@pytest.mark.parametrize("damage", ["truncated", "text", "other"])
def test_load_refuses_other_files(posterior, tmp_path, damage):
    path = tmp_path / "draws.npz"
    posterior.save(path)
    if damage == "truncated":
        path.write_bytes(path.read_bytes()[:-200])
    elif damage == "text":
        path.write_text("hello")
    else:
        np.savez(path, labels=np.zeros(3))
    with pytest.raises(ValueError, match="is not a file written by Posterior.save"):
        hm.Posterior.load(path)


def test_failed_save_leaves_nothing(posterior, tmp_path, monkeypatch):
    def no_space(*_, **__):
        raise OSError("No space left on device")

    monkeypatch.setattr(np, "savez_compressed", no_space)
    with pytest.raises(OSError, match="No space"):
        posterior.save(tmp_path / "draws.npz")
    assert list(tmp_path.iterdir()) == []


def test_repr_is_readable(posterior):
    text = repr(posterior)
    assert text.startswith("Posterior: 2 chains × 60 draws of 25 rows")
    assert "(log joint)" in text
    assert "SAMS" in text
    assert max(map(len, text.splitlines())) < 100
