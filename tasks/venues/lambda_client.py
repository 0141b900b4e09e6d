"""Clients of Lambda: nothing that they ask is ever asked again, since a block is measured once."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

import boto3
from botocore.config import Config

from configs.lab_marker import LAB_MARKER
from configs.redaction import remember
from configs.venues import LambdaVenueConfig
from tasks.access.s3_client import lab_session

if TYPE_CHECKING:
    from mypy_boto3_lambda import LambdaClient


def lambda_client(
    venue: LambdaVenueConfig, environment: Mapping[str, str], read_timeout_s: float, connections: int = 1
) -> "LambdaClient":
    """A client for the function of a venue, without retries.

    Args:
        venue: where the function is.
        environment: of the measuring processes: a lab's has the credentials for its emulator; elsewhere this
            process's own AWS settings apply.
        read_timeout_s: how long an answer may take.
        connections: how many invocations it makes at the same time.

    Raises:
        BotoCoreError: if the AWS settings of this machine are at fault.
    """
    config = Config(
        connect_timeout=10,
        read_timeout=read_timeout_s,
        retries={"total_max_attempts": 1},
        max_pool_connections=connections,
        tcp_keepalive=True,  # an answer may take a quarter of an hour, and routers forget idle connections
    )
    session = lab_session(environment) if LAB_MARKER in environment else boto3.Session()
    client: LambdaClient = session.client(
        "lambda", region_name=venue.region, endpoint_url=venue.endpoint_url, config=config
    )
    remember(session.get_credentials())
    return client
