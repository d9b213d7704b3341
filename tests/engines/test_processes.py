"""Workers that are processes of their own, as on a cluster."""

from __future__ import annotations

import pytest

import hashmix as hm
from tests.engines.test_same_draws import X, draws, same
from tests.engines.test_truth import ROWS, largest_z
from tests.shared import DIAGONAL, FULL, PRIORS, name

distributed = pytest.importorskip("distributed")
pytestmark = pytest.mark.filterwarnings("ignore")  # of Dask's own

LIMIT = 4.0


def cluster(n_workers, **how):
    how = {"threads_per_worker": 1, "dashboard_address": None, "silence_logs": 50} | how
    return distributed.LocalCluster(n_workers=n_workers, **how)


@pytest.fixture(scope="module")
def client():
    with cluster(2) as workers, distributed.Client(workers, direct_to_workers=True) as client:
        yield client


def test_same_draws(client):
    spread = hm.engines.Dask(client).open(X, "test")
    assert len(spread.actors) == 2
    assert same(draws(spread), draws(hm.engines.Threads(1).open(X, "test")))
    spread.close()


def test_a_chain_follows_the_posterior(client, seed):
    assert largest_z(ROWS, DIAGONAL, PRIORS[1], 300, seed, hm.engines.Dask(client), n_batches=20)[0] < LIMIT


@pytest.mark.slow
@pytest.mark.parametrize(("component", "prior"), [(DIAGONAL, PRIORS[0]), (FULL, PRIORS[2])], ids=name)
def test_a_long_chain_follows_the_posterior(client, seed, component, prior):
    assert largest_z(ROWS, component, prior, 10_000, seed, hm.engines.Dask(client))[0] < LIMIT


def test_a_fit_with_tls():
    pytest.importorskip("cryptography")
    security = distributed.Security.temporary()
    with (
        cluster(2, security=security, protocol="tls://", processes=False) as workers,
        distributed.Client(workers, security=security) as client,
    ):
        assert all(address.startswith("tls://") for address in client.scheduler_info()["workers"])
        settings = {"n_draws": 3, "n_warmup": 2, "random_state": 0}
        found = hm.sample(X, "gaussian", engine=hm.engines.Dask(client), **settings)
        here = hm.sample(X, "gaussian", engine=hm.engines.Threads(1), **settings)
        assert same(found.labels, here.labels)


def test_a_worker_without_hashmix():
    """It is named in one sentence."""

    def without(dask_worker):
        import sys

        class Nothing:
            def find_spec(self, name, path=None, target=None):
                if name.split(".")[0] in ("hashmix", "tests"):
                    raise ModuleNotFoundError(f"No module named {name!r}", name=name)

        for module in [each for each in sys.modules if each.split(".")[0] in ("hashmix", "tests")]:
            del sys.modules[module]
        sys.meta_path.insert(0, Nothing())
        return dask_worker.address

    with cluster(2) as workers, distributed.Client(workers) as client:
        address = sorted(client.scheduler_info()["workers"])[1]
        client.run(without, workers=[address])
        with pytest.raises(RuntimeError) as raised:
            hm.sample(X, "gaussian", n_draws=2, engine=hm.engines.Dask(client))
        said = str(raised.value)
        assert said.startswith(f"Worker {address} has no hashmix (ModuleNotFoundError: No module named 'hashmix'), the client")
        assert said.count("\n") == 0
