"""One emulator of Lambda for all tests of this folder, and one function that reaches the lab."""

import secrets
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import pytest

from tasks.lab.state import LabState
from tests.lambda_emulator import client_of, make_function, running_emulator

if TYPE_CHECKING:
    from mypy_boto3_lambda import LambdaClient

MakeFunction = Callable[..., str]


@pytest.fixture(scope="session")
def lambda_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with running_emulator(tmp_path_factory.mktemp("ministack")) as url:
        yield url


@pytest.fixture(scope="session")
def lambda_client(lambda_url: str) -> "LambdaClient":
    return client_of(lambda_url)


@pytest.fixture(scope="session")
def function(lambda_client: "LambdaClient", lab: LabState) -> str:
    """A function that nobody changes."""
    make_function(lambda_client, "s3bench-lab", lab)
    return "s3bench-lab"


@pytest.fixture
def a_function(lambda_client: "LambdaClient", lab: LabState) -> MakeFunction:
    """Makes a function of one's own."""

    def make(**how: object) -> str:
        name = f"s3bench-{secrets.token_hex(4)}"
        make_function(lambda_client, name, lab, **how)  # type: ignore[arg-type] # as that one says
        return name

    return make
