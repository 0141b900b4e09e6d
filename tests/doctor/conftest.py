"""Clients that get prepared answers, since no server here gives those of Amazon's that tell a mistake."""

from collections.abc import Callable, Iterator
from typing import Any

import boto3
import pytest
from botocore.stub import Stubber


@pytest.fixture
def stubbed() -> Iterator[Callable[..., tuple[Any, Stubber]]]:
    """Makes a client of a service and its stub; all that was prepared must have been asked for."""
    stubs: list[Stubber] = []

    def make(service: str, region: str = "us-east-1") -> tuple[Any, Stubber]:
        client = boto3.client(
            service,  # type: ignore[call-overload] # any service
            region_name=region,
            aws_access_key_id="k",
            aws_secret_access_key="s",
        )
        stub = Stubber(client)
        stub.activate()
        stubs.append(stub)
        return client, stub

    yield make
    for stub in stubs:
        stub.assert_no_pending_responses()
        stub.deactivate()
