"""This host: whose credentials it has, where it stands, which clients it has."""

from collections.abc import Iterator
from typing import Final

import boto3
import botocore
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError

from configs.suite import Suite
from configs.targets import DirectoryBucketTarget
from tasks.access.zones import NOT_TOLD, client_region, client_zone_id
from tasks.doctor.findings import Finding
from tasks.doctor.requests import why_not_told

_CONFIG: Final = Config(connect_timeout=5, read_timeout=10, retries={"total_max_attempts": 2})
_USELESS: Final = frozenset(
    {"InvalidClientTokenId", "ExpiredToken", "ExpiredTokenException", "SignatureDoesNotMatch"}
    | {"RequestExpired", "InvalidAccessKeyId", "UnrecognizedClientException"}
)
"""What the service answers where it knows the credentials not to be good, or no longer."""
_SET_UP: Final = "set up credentials, for example with `aws configure` or AWS_PROFILE"


def credentials_of_this_host(session: boto3.Session) -> Finding:
    """Whether there are credentials, and whose they are; no account number is told.

    Asks STS with the settings of `session`.
    """
    try:
        found = session.get_credentials()
        if found is None:
            return Finding("wrong", "credentials", "none are found", _SET_UP)
        client = session.client("sts", region_name=session.region_name or "us-east-1", config=_CONFIG)
        arn = str(client.get_caller_identity()["Arn"])
    except ClientError as error:
        code = error.response.get("Error", {}).get("Code", "")
        if code in _USELESS:
            return Finding("wrong", "credentials", f"the service refuses them ({code})", _SET_UP)
        return Finding("unknown", "credentials", why_not_told(error, "ask STS whose they are"))
    except BotoCoreError as error:
        return Finding("unknown", "credentials", why_not_told(error, "ask STS whose they are"))
    return Finding("right", "credentials", f"{arn.rpartition(':')[2]}, found by {found.method}")


def zone_of_this_host(session: boto3.Session, suite: Suite) -> Finding:
    """The zone of this client, which claims of directory buckets are checked against."""
    zone = client_zone_id(session)
    if zone != NOT_TOLD:
        return Finding("right", "zone", zone)
    claims = [
        name
        for name in suite.target_ids()
        if isinstance(target := suite.targets[name], DirectoryBucketTarget) and target.zone
    ]
    if claims:
        what = f"not told, so that nobody can check the zone which {', '.join(claims)} says"
        return Finding("warning", "zone", what, "measure on EC2, or read the proof as not checked")
    return Finding("unknown", "zone", "not told: this is no EC2 instance, or its metadata is switched off")


def region_of_this_host(session: boto3.Session, suite: Suite) -> Iterator[Finding]:
    """Where it can be told, whether the buckets that clients here reach lie in the region of this host."""
    region = client_region(session)
    here = dict.fromkeys(cell.configuration.target for cell in suite.cells() if cell.venue is None)
    if region == NOT_TOLD or not here:
        return
    buckets = {name: suite.bucket(suite.bucket_id(name)) for name in here}
    far = [
        f"{name} in {bucket.region}"
        for name, bucket in buckets.items()
        if bucket.region not in {None, region}
    ]
    if far:
        what = f"{region}, and {', '.join(far)}: their requests cross regions, which takes time and is billed"
        yield Finding("warning", "region", what, "measure in their region, if that is not meant")
    else:
        yield Finding("right", "region", region)


def clients_of_this_host(suite: Suite) -> Iterator[Finding]:
    """Whether boto3 is new enough for what the suite asks of it; asked of its own service models."""
    version = f"{boto3.__version__}, botocore {botocore.__version__}"
    lacking = [
        f"{what} (since botocore {since})"
        for what, since, needed, there in (
            ("CreateSession of directory buckets", "1.33.2", _has_directory_bucket(suite), _knows_sessions),
            ("how Lambda reads S3 Files", "1.43.86", bool(suite.venues), _knows_direct_reads),
        )
        if needed and not there()
    ]
    if lacking:
        what = f"{version} does not know {' and '.join(lacking)}"
        yield Finding(
            "wrong", "boto3", what, "pip install --upgrade boto3, or use the locked one: make setup"
        )
    else:
        yield Finding("right", "boto3", version)


def _has_directory_bucket(suite: Suite) -> bool:
    return any(isinstance(target, DirectoryBucketTarget) for target in suite.targets.values())


def _knows_sessions() -> bool:
    return "CreateSession" in _model("s3").operation_names


def _knows_direct_reads() -> bool:
    return "S3FilesConfig" in _model("lambda").shape_names


def _model(service: str) -> botocore.model.ServiceModel:
    core = boto3.Session()._session  # noqa: SLF001 - boto3 has no other way to botocore's models
    return core.get_service_model(service)
