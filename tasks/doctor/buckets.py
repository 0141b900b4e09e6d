"""One bucket: there, in the region that its target says, readable, set up for its use, and clean."""

import secrets
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Final

from botocore.exceptions import BotoCoreError, ClientError

from configs.errors import UserError
from configs.targets import AcceleratedBucketTarget, AnyBucket, BucketTarget, DirectoryBucketTarget
from tasks.access.bucket_io import get_if_there
from tasks.access.cleanup import left_over_runs
from tasks.access.s3_client import control_client
from tasks.doctor.findings import Finding
from tasks.doctor.requests import why_not_told
from tasks.venues.acceleration import what_hinders

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client

_SKEW_S: Final = 5.0
"""Above what the whole seconds of an answer's date and a slow answer explain."""
_REFUSED_SKEW_S: Final = 900.0
"""Amazon S3 refuses requests that are signed farther from its own time (RequestTimeTooSkewed)."""
_FIX_CLOCK: Final = "keep this host's clock in step (NTP)"


def checks_of_bucket(
    target: AnyBucket, environment: Mapping[str, str], *, in_lab: bool, is_behind_s3_files: bool
) -> Iterator[Finding]:
    """Everything that is asked of one bucket; after one that does not answer nothing more is.

    Args:
        target: the bucket.
        environment: of the clients.
        in_lab: whether what killed runs left is removed by the next run itself.
        is_behind_s3_files: whether an S3 Files file system shows it.

    Raises:
        UserError: if the AWS settings of this machine are at fault.
    """
    client = control_client(target, environment)
    asked_at = datetime.now(UTC)
    try:
        answer = client.head_bucket(Bucket=target.bucket)
    except ClientError as error:
        yield _no_bucket(client, target, error)
        yield from _clock(error.response["ResponseMetadata"].get("HTTPHeaders", {}), asked_at)
        return
    except BotoCoreError as error:
        yield Finding("wrong", "answers", why_not_told(error, f"reach bucket {target.bucket}"))
        return
    region = client.meta.region_name
    yield _region(target, region, answer.get("BucketRegion", ""))
    yield from _clock(answer["ResponseMetadata"]["HTTPHeaders"], asked_at)
    yield _reading(client, target)
    yield _left_overs(client, target, in_lab=in_lab)
    if is_behind_s3_files:
        yield versioning(client, target.bucket)
    if isinstance(target, AcceleratedBucketTarget):
        yield acceleration(target, environment)


def _no_bucket(client: "S3Client", target: AnyBucket, error: ClientError) -> Finding:
    """HEAD has no body, so that its bare status is all that is told."""
    code = error.response.get("Error", {}).get("Code", "")
    where = f"bucket {target.bucket} at {client.meta.endpoint_url}"
    match code:
        case "404" | "NoSuchBucket":
            return Finding("wrong", "answers", f"there is no {where}", "create it, or correct its name")
        case "403" | "AccessDenied":
            fix = (
                "use credentials of this endpoint that may s3:ListBucket"
                if isinstance(target, BucketTarget | AcceleratedBucketTarget)
                else "let these credentials s3express:CreateSession on it"
            )
            return Finding("wrong", "answers", f"{where} refuses these credentials (403)", fix)
        case "301" | "PermanentRedirect":
            headers = error.response["ResponseMetadata"].get("HTTPHeaders", {})
            region = headers.get("x-amz-bucket-region", "")
            fix = f"write region: {region or '…'} for the target"
            return Finding("wrong", "answers", f"{where} lies in {region or 'another region'} (301)", fix)
        case "400":
            fix = "sign in again if they have expired; else correct the target's region"
            return Finding("wrong", "answers", f"{where} takes no request with these credentials (400)", fix)
    return Finding("wrong", "answers", why_not_told(error, f"reach {where}"))


def _region(target: AnyBucket, region: str, told: str) -> Finding:
    """Amazon tells the region of a bucket; a client of another one is sent on, which a proof refuses."""
    if isinstance(target, BucketTarget) and target.endpoint_url is not None:
        return Finding("right", "answers", f"at {target.endpoint_url}")
    if told and told != region:
        says = "the target says" if target.region else "this machine's AWS settings say"
        fix = f"write region: {told} for the target"
        return Finding("wrong", "answers", f"it lies in {told}, but {says} {region}", fix)
    where = f", zone {target.zone_id}" if isinstance(target, DirectoryBucketTarget) else ""
    proved = "" if told else " (its region is not told)"
    return Finding("right", "answers", f"in {region}{where}{proved}")


def _clock(headers: Mapping[str, str], asked_at: datetime) -> Iterator[Finding]:
    """How far this host's clock is from the service's, by the date of an answer."""
    try:
        told_at = parsedate_to_datetime(headers.get("date", ""))
    except ValueError:
        return
    skew_s = abs((told_at - asked_at).total_seconds())
    found = f"{skew_s:.0f} s from the service's"
    if skew_s > _REFUSED_SKEW_S:
        yield Finding("wrong", "clock", f"{found}: Amazon S3 refuses such requests", _FIX_CLOCK)
    elif skew_s > _SKEW_S:
        yield Finding("warning", "clock", found, _FIX_CLOCK)
    else:
        yield Finding("right", "clock", f"within {_SKEW_S:.0f} s of the service's")


def _reading(client: "S3Client", target: AnyBucket) -> Finding:
    """Asks for an object that is not there: only who may read is told so."""
    key = f"{target.prefix}/nothing-{secrets.token_hex(16)}"
    try:
        get_if_there(client, target.bucket, key)
    except UserError as error:
        return Finding("wrong", "reads", str(error))
    return Finding("right", "reads", "these credentials may read below the prefix")


def _left_overs(client: "S3Client", target: AnyBucket, *, in_lab: bool) -> Finding:
    try:
        found = left_over_runs(client, target.bucket, target.prefix)
    except UserError as error:
        return Finding("wrong", "prefix", str(error))
    where = f"s3://{target.bucket}/{target.prefix}/"
    if not found:
        return Finding("right", "prefix", f"nothing of earlier runs below {where}runs/")
    what = f"{len(found)} runs that were killed, or go on elsewhere, left something, such as {found[0]}"
    fix = (
        "the next run removes it"
        if in_lab
        else f"where they have ended: aws s3 rm --recursive s3://{target.bucket}/{found[0]}"
    )
    return Finding("warning", "prefix", what, fix)


def versioning(client: "S3Client", bucket: str) -> Finding:
    """S3 Files works on buckets with versioning alone (Amazon S3 User Guide, prerequisites of S3 Files)."""
    try:
        status = client.get_bucket_versioning(Bucket=bucket).get("Status")
    except (ClientError, BotoCoreError) as error:
        what = why_not_told(error, "ask for versioning")
        return Finding("unknown", "versioning", what, "let these credentials s3:GetBucketVersioning")
    if status == "Enabled":
        return Finding("right", "versioning", "enabled, as S3 Files needs it")
    fix = f"aws s3api put-bucket-versioning --bucket {bucket} --versioning-configuration Status=Enabled"
    return Finding("wrong", "versioning", f"{(status or 'never enabled').lower()}; S3 Files needs it", fix)


def acceleration(target: AcceleratedBucketTarget, environment: Mapping[str, str]) -> Finding:
    """As a run looks at it."""
    notes: list[str] = []
    reason = what_hinders(target, environment, notes.append)
    if reason:
        return Finding("wrong", "acceleration", reason)
    if notes:
        return Finding("unknown", "acceleration", notes[0], "let them s3:GetAccelerateConfiguration")
    return Finding("right", "acceleration", "enabled")
