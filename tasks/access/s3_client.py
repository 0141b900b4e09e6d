"""Clients of boto3: one that is measured, as its label says, and those that prepare and clean up.

The latter are never measured and never accelerated; they have bounded waits and retries.
"""

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, cast

import boto3
import botocore.session
from botocore.config import Config
from botocore.exceptions import BotoCoreError

from configs.errors import UserError
from configs.targets import AcceleratedBucketTarget, AnyBucket, BucketTarget, DirectoryBucketTarget

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client

# A profile may say `s3.use_accelerate_endpoint = true`; what else its s3 section says stays.
_NOT_ACCELERATED: dict[str, Any] = {"use_accelerate_endpoint": False}
_CONFIG = Config(
    connect_timeout=5,
    read_timeout=60,
    retries={"mode": "standard", "total_max_attempts": 4},
    s3=cast("Any", _NOT_ACCELERATED),
)


def measured_client(session: boto3.Session, target: AnyBucket, config: Config) -> "S3Client":
    """A client that reaches a target as its label says: endpoint, region, acceleration, sessions.

    What a label does not say is left to the user's own settings, as in a script; proofs catch those that
    lead elsewhere.
    """
    settings: dict[str, Any] = _session_settings(target)
    if isinstance(target, AcceleratedBucketTarget):
        settings["use_accelerate_endpoint"] = True
    client: S3Client = session.client(
        "s3",
        endpoint_url=_endpoint_url(target),
        region_name=target.region,
        config=config.merge(Config(s3=cast("Any", settings))) if settings else config,
    )
    return client


def control_client(target: AnyBucket, environment: Mapping[str, str]) -> "S3Client":
    """A client of a target's bucket, with the credentials of `environment` (the lab's, or this process's).

    It never uses an accelerate endpoint: that is for the measured client alone.

    Raises:
        UserError: if the AWS settings of this machine are at fault.
    """
    endpoint_url = _endpoint_url(target)
    # Config.merge replaces the whole of `s3`.
    config = _CONFIG.merge(Config(s3=cast("Any", _NOT_ACCELERATED | _session_settings(target))))
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
            region_name=target.region or environment["AWS_REGION"],
            botocore_session=core,
        )
        client: S3Client = session.client(
            "s3",
            endpoint_url=endpoint_url,
            verify=environment.get("AWS_CA_BUNDLE"),
            config=config.merge(_of_lab(environment)),
        )
        return client
    return _default_client(endpoint_url, target.region, config)


def _of_lab(environment: Mapping[str, str]) -> Config:
    """What a lab puts into the environment of clients that read one; the AWS-shaped lab does more."""
    settings: Any = {"ignore_configured_endpoint_urls": True}  # the user's own may be in this process
    own = Config(**settings)
    proxy_url = environment.get("HTTPS_PROXY")
    if proxy_url is None:
        return own
    return own.merge(Config(proxies={"https": proxy_url}, request_checksum_calculation="when_required"))


def default_client() -> "S3Client":
    """A client with this process's own AWS settings, AWS_ENDPOINT_URL included.

    Raises:
        UserError: if those settings are at fault.
    """
    return _default_client(None, None, _CONFIG)


def _endpoint_url(target: AnyBucket) -> str | None:
    return target.endpoint_url if isinstance(target, BucketTarget) else None


def _session_settings(target: AnyBucket) -> dict[str, Any]:
    """Switch off sessions of a directory bucket where its target says so; nothing for any other."""
    if isinstance(target, DirectoryBucketTarget) and not target.sessions:
        # Not as botocore's own documentation spells it, which its client ignores (botocore/args.py).
        return {"disable_s3_express_session_auth": True}
    return {}


def _default_client(endpoint_url: str | None, region: str | None, config: Config) -> "S3Client":
    try:
        client: S3Client = boto3.Session().client(
            "s3", endpoint_url=endpoint_url, region_name=region, config=config
        )
    except (BotoCoreError, ValueError) as error:
        message = f"no S3 client can be made from this machine's AWS settings: {error}"
        raise UserError(message) from error
    return client
