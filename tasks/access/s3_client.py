"""Clients that prepare and clean up: never measured, with bounded waits and retries."""

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING

import boto3
import botocore.session
from botocore.config import Config
from botocore.exceptions import BotoCoreError

from configs.errors import UserError
from configs.targets import BucketTarget

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client

_CONFIG = Config(connect_timeout=5, read_timeout=60, retries={"mode": "standard", "total_max_attempts": 4})


def control_client(target: BucketTarget, environment: Mapping[str, str]) -> "S3Client":
    """A client of a target's bucket, with the credentials of `environment` (the lab's, or this process's).

    Raises:
        UserError: if the AWS settings of this machine are at fault.
    """
    if environment.get("AWS_CONFIG_FILE") == os.devnull:  # the lab: nothing of the user's own applies
        core = botocore.session.Session(
            session_vars={
                "profile": (None, None, None, None),
                "config_file": (None, None, os.devnull, None),
                "credentials_file": (None, None, os.devnull, None),
            }
        )
        session = boto3.Session(
            aws_access_key_id=environment["AWS_ACCESS_KEY_ID"],
            aws_secret_access_key=environment["AWS_SECRET_ACCESS_KEY"],
            region_name=environment["AWS_REGION"],
            botocore_session=core,
        )
        client: S3Client = session.client("s3", endpoint_url=target.endpoint_url, config=_CONFIG)
        return client
    return _default_client(endpoint_url=target.endpoint_url, region=target.region)


def default_client() -> "S3Client":
    """A client with this process's own AWS settings, AWS_ENDPOINT_URL included.

    Raises:
        UserError: if those settings are at fault.
    """
    return _default_client(endpoint_url=None, region=None)


def _default_client(endpoint_url: str | None, region: str | None) -> "S3Client":
    try:
        client: S3Client = boto3.Session().client(
            "s3", endpoint_url=endpoint_url, region_name=region, config=_CONFIG
        )
    except (BotoCoreError, ValueError) as error:
        message = f"no S3 client can be made from this machine's AWS settings: {error}"
        raise UserError(message) from error
    return client
