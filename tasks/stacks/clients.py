"""Clients of the services that know what was deployed, and how their refusals are told."""

import contextlib
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

import boto3
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError

from configs.errors import UserError

if TYPE_CHECKING:
    from mypy_boto3_cloudformation import CloudFormationClient
    from mypy_boto3_s3 import S3Client

_CONFIG: Final = Config(connect_timeout=10, read_timeout=30, retries={"total_max_attempts": 3})


class Account:
    """An account in one region, by the AWS settings of this process."""

    def __init__(self, region: str | None, endpoint_url: str | None = None) -> None:
        """Make one.

        Args:
            region: None takes that of the AWS settings.
            endpoint_url: of an emulator of AWS; None for Amazon itself.

        Raises:
            UserError: if no region is known.
        """
        self._session = boto3.Session(region_name=region)
        self._endpoint_url = endpoint_url
        if not self._session.region_name:
            raise UserError("no region is known: give --region, such as --region ap-northeast-1")
        self.region: str = self._session.region_name

    def stacks(self) -> "CloudFormationClient":
        """Of CloudFormation."""
        client: CloudFormationClient = self._session.client(
            "cloudformation", endpoint_url=self._endpoint_url, config=_CONFIG
        )
        return client

    def buckets(self) -> "S3Client":
        """Of S3."""
        client: S3Client = self._session.client("s3", endpoint_url=self._endpoint_url, config=_CONFIG)
        return client

    def pages(self, service: str, operation: str, **asked: object) -> Iterator[object]:
        """All pages of an operation of a service whose answers have no types here."""
        client = self._session.client(service, endpoint_url=self._endpoint_url, config=_CONFIG)
        yield from client.get_paginator(operation).paginate(**asked)


@contextlib.contextmanager
def told(what: str, permission: str) -> Iterator[None]:
    """Turn a refusal into a message.

    Args:
        what: what was asked for, as in "ask CloudFormation for the stack s3bench-storage".
        permission: which action somebody without permission needs.

    Raises:
        UserError: in place of what botocore raises.
    """
    try:
        yield
    except ClientError as error:
        code, message = error.response["Error"]["Code"], error.response["Error"].get("Message", "")
        if "AccessDenied" in code or "Unauthorized" in code:
            raise UserError(f"not allowed to {what}: let whoever runs this have {permission}") from error
        raise UserError(f"could not {what}: {code}: {message}") from error
    except BotoCoreError as error:
        raise UserError(f"could not {what}: {error}") from error
