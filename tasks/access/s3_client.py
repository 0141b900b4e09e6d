"""Clients of boto3: one that is measured, as its label says, and those that prepare and clean up.

The latter are never measured and never accelerated; they have bounded waits and retries.
"""

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final, TypeVar, cast

import boto3
import botocore.session
from botocore.config import Config
from botocore.exceptions import BotoCoreError

from configs.errors import UserError
from configs.lab_marker import LAB_MARKER
from configs.redaction import redacted, remember
from configs.targets import AcceleratedBucketTarget, AnyBucket, BucketTarget, DirectoryBucketTarget

if TYPE_CHECKING:
    from botocore.client import BaseClient
    from mypy_boto3_s3 import S3Client

    AnyClient = TypeVar("AnyClient", bound=BaseClient)

# A profile may say `s3.use_accelerate_endpoint = true`; what else its s3 section says stays.
_NOT_ACCELERATED: dict[str, Any] = {"use_accelerate_endpoint": False}
_CONFIG = Config(
    connect_timeout=5,
    read_timeout=60,
    retries={"mode": "standard", "total_max_attempts": 4},
    s3=cast("Any", _NOT_ACCELERATED),
)
_IGNORED: Final[Any] = {"ignore_configured_endpoint_urls": True}  # boto3's stubs do not know it
_NO_CONFIGURED_ENDPOINT: Final = Config(**_IGNORED)


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
    remember(session.get_credentials())
    return client


def control_client(target: AnyBucket, environment: Mapping[str, str]) -> "S3Client":
    """A client of a target's bucket: with the lab's credentials if `environment` is one, else one's own.

    It never uses an accelerate endpoint, which is for the measured client alone; and what only Amazon's host
    names reach it reaches by those, whatever endpoint the user has set.

    Raises:
        UserError: if the AWS settings of this machine are at fault.
    """
    endpoint_url = _endpoint_url(target)
    # Config.merge replaces the whole of `s3`.
    config = _CONFIG.merge(Config(s3=cast("Any", _NOT_ACCELERATED | _session_settings(target))))
    if not isinstance(target, BucketTarget):
        config = config.merge(_NO_CONFIGURED_ENDPOINT)
    if LAB_MARKER in environment:  # nothing of the user's own applies
        client: S3Client = lab_session(environment).client(
            "s3",
            region_name=target.region or environment["AWS_REGION"],
            endpoint_url=endpoint_url,
            verify=environment.get("AWS_CA_BUNDLE"),
            config=config.merge(_of_lab(environment)),
        )
        return without_secrets_in_errors(client)
    return _default_client(endpoint_url, target.region, config)


def lab_session(environment: Mapping[str, str]) -> boto3.Session:
    """A session with the credentials of a lab's environment, and nothing of the user's own files."""
    core = botocore.session.Session(
        session_vars={
            "profile": (None, None, None, None),
            "config_file": (None, None, os.devnull, None),
            "credentials_file": (None, None, os.devnull, None),
        }
    )
    return boto3.Session(
        aws_access_key_id=environment["AWS_ACCESS_KEY_ID"],
        aws_secret_access_key=environment["AWS_SECRET_ACCESS_KEY"],
        botocore_session=core,
    )


def _of_lab(environment: Mapping[str, str]) -> Config:
    """What a lab puts into the environment of clients that read one; the AWS-shaped lab does more."""
    # The user's own settings may be in this process.
    plain = _NO_CONFIGURED_ENDPOINT.merge(Config(use_fips_endpoint=False, use_dualstack_endpoint=False))
    proxy_url = environment.get("HTTPS_PROXY")
    if proxy_url is None:
        return plain
    return plain.merge(Config(proxies={"https": proxy_url}, request_checksum_calculation="when_required"))


def own_endpoint_url(region: str | None) -> str:
    """Where clients with this process's own AWS settings go: Amazon's endpoint, or one that is configured.

    Raises:
        UserError: if those settings are at fault.
    """
    client = _default_client(None, region, _CONFIG)
    try:
        return client.meta.endpoint_url
    finally:
        client.close()


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
        session = boto3.Session()
        client: S3Client = session.client("s3", endpoint_url=endpoint_url, region_name=region, config=config)
    except (BotoCoreError, ValueError) as error:
        message = f"no S3 client can be made from this machine's AWS settings: {error}"
        raise UserError(message) from error
    remember(session.get_credentials())
    return without_secrets_in_errors(client)


def without_secrets_in_errors(client: "AnyClient") -> "AnyClient":
    """The same client, whose errors repeat no secret that a service repeats; for one that is not measured.

    Whoever catches such an error may then tell it, as Prefect does of one that ends a task.
    """
    client.meta.events.register("after-call", _clean_error)
    return client


def _clean_error(parsed: dict[str, Any] | None = None, **_: object) -> None:
    error = (parsed or {}).get("Error")
    if error:
        error.update({name: redacted(value) for name, value in error.items() if isinstance(value, str)})
