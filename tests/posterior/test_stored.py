"""Labels on disk are read like an array."""

from __future__ import annotations

import numpy as np
import pytest

import hashmix as hm
from hashmix.posterior.stored import Chunk, StoredLabels, checksum

LABELS = np.random.default_rng(0).integers(0, 5, (2, 7, 6)).astype(np.int32)


@pytest.fixture
def stored(tmp_path):
    """Two chains: five draws in two files, and two in memory."""
    labels = StoredLabels(LABELS.shape)
    for c in range(2):
        for first, end in ((0, 3), (3, 5)):
            path = tmp_path / f"{c}-{first}.npy"
            np.save(path, LABELS[c, first:end].astype(np.uint8))
            labels.chunks[c].append(Chunk(path, first, end - first, checksum(path)))
        for d in (5, 6):
            labels[c, d] = LABELS[c, d]
    return labels


PLACES = [
    0,
    -1,
    np.int64(1),
    slice(None),
    slice(1, None),
    Ellipsis,
    [1, 0],
    np.array([True, False]),
    (0,),
    (1, 2),
    (0, -1),
    (0, slice(2, 6)),
    (0, slice(None, None, 3)),
    (slice(None), 4),
    (slice(None), slice(4, None)),
    (slice(None), slice(2, -1)),
    (slice(None), slice(9, 12)),
    (slice(None), slice(None, None, -1)),
    ([1], slice(None, 3)),
    (slice(None), [5, 0, 0]),
    ([0, 1], [2, 6]),
    (0, [1, 3]),
    (0, 1, 2),
    (0, 1, slice(1, 3)),
    (0, slice(None), [3, 1]),
    (slice(None), slice(None), 0),
    (slice(None), slice(1, 3), slice(2, 5)),
    (Ellipsis, 0),
    (0, Ellipsis),
    (0, Ellipsis, 1),
    (Ellipsis, slice(0, 2), slice(None)),
    None,
    LABELS > 2,
]


@pytest.mark.parametrize("place", PLACES)
def test_places(stored, place):
    found, expected = stored[place], LABELS[place]
    assert found.shape == expected.shape
    np.testing.assert_array_equal(np.asarray(found), expected)


@pytest.mark.parametrize("place", [2, -3, (0, 7), (0, 0, 6), (0, 0, 0, 0)])
def test_what_is_outside(stored, place):
    with pytest.raises(IndexError):
        stored[place]


def test_parts_stay_on_disk(stored):
    part = stored[:, 1:][[1], 2:]
    assert isinstance(part, StoredLabels)
    np.testing.assert_array_equal(np.asarray(part), LABELS[:, 1:][[1], 2:])
    np.testing.assert_array_equal(part[0, 0], LABELS[1, 3])


def test_chains_one_after_another(stored):
    assert len(stored) == 2
    np.testing.assert_array_equal(np.stack(list(stored)), LABELS)


def test_of_a_run_on_an_engine(tmp_path):
    X = np.random.default_rng(0).normal(size=(40, 1))
    settings = {"n_draws": 5, "n_warmup": 2, "random_state": 0, "engine": hm.engines.Threads(1)}
    model = hm.SplitMergeMixture("gaussian", run_dir=tmp_path / "run", **settings).fit(X)
    assert isinstance(model.posterior_.labels, StoredLabels)
    assert model.posterior_.labels[0].shape == (5, 40)
