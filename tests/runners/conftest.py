from __future__ import annotations

import pytest


@pytest.fixture(scope="session")
def cluster():
    """Two Dask worker processes of one thread each."""
    distributed = pytest.importorskip("distributed", reason="needs dask")
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, processes=True, dashboard_address=":0"
    ) as cluster:
        yield cluster


@pytest.fixture
def client(cluster):
    """A client of them, and two workers again when a test has lost one."""
    distributed = pytest.importorskip("distributed")
    with distributed.Client(cluster, set_as_default=False) as client:
        client.wait_for_workers(2, timeout=60)
        yield client
