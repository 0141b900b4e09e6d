"""Hosts that are operated for real; making a database for each server would take longer than all the rest."""

import secrets
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tasks.lab.prefect_server import private_prefect_server
from tests.deployments.operated.host import FIRST_START_S, Host, wait_until


@pytest.fixture(scope="session")
def database(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A new server's database: making one takes longer than all the rest of a start."""
    folder = tmp_path_factory.mktemp("database")
    with private_prefect_server(folder):
        pass
    return folder / "prefect" / "prefect.db"


@pytest.fixture(scope="session")
def new_host(tmp_path_factory: pytest.TempPathFactory, database: Path) -> Callable[..., Host]:
    """Makes hosts; keyword arguments are variables that their operator sets."""

    def make(**variables: str) -> Host:
        host = Host(tmp_path_factory.mktemp(f"host-{secrets.token_hex(2)}"), variables=variables)
        home = host.folder / "serve" / "prefect"
        home.mkdir(parents=True)
        shutil.copy(database, home)
        return host

    return make


@pytest.fixture
def idle_host(new_host: Callable[..., Host]) -> Iterator[Host]:
    """One on which nothing runs yet."""
    host = new_host()
    yield host
    host.close()


@pytest.fixture(scope="module")
def host(new_host: Callable[..., Host]) -> Iterator[Host]:
    """One that serves, for all tests of a module."""
    host = new_host()
    try:
        host.start()
        yield host
    finally:
        host.close()


@pytest.fixture(scope="module")
def pool_host(new_host: Callable[..., Host]) -> Iterator[Host]:
    """One whose server has the deployments of the work pools, and that serves none itself."""
    host = new_host()
    server = host.begin("deployments.server")
    try:
        wait_until(lambda: "the Prefect server answers" in host.printed, FIRST_START_S, server)
        host.deploy_to_pools()
        yield host
    finally:
        server.terminate()
        server.wait(30)
        host.close()
