"""What still costs money: all that has our tag, and what tags do not show, that is billed by being there."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from pydantic import BaseModel, Field

from configs.errors import UserError
from tasks.stacks.clients import Account, told

TAG: Final = "s3bench"

_COSTS: Final = (
    (r"ec2:[^:]*:\d*:instance/", "each hour, until it is terminated", "delete the stack …-runner"),
    (r"ec2:[^:]*:\d*:volume/", "each GB and month", "delete it, if no instance has it"),
    (r"ec2:[^:]*:\d*:(natgateway|elastic-ip)/", "each hour", "delete it: no template makes one"),
    (
        r"s3::",
        "each GB and month, older versions too",
        "empty it of versions and delete markers, and delete it",
    ),
    (r"s3express:", "each GB and month", "abort its uploads, empty it, and delete it"),
    (r"elasticfilesystem:[^:]*:\d*:file-system/", "each GB and month", "delete the stack …-file-systems"),
    (
        r"s3files:[^:]*:\d*:file-system/fs-[0-9a-f]+$",
        "each GB and month on its fast tier",
        "wait until it has exported all, and delete the stack …-file-systems",
    ),
    (r"logs:", "each GB and month", "delete the stacks …-functions-…"),
)
"""By what follows `arn:<partition>:`: how it is billed, and how it goes."""

_FREE: Final = re.compile(
    r"(ec2:[^:]*:\d*:(vpc|subnet|route-table|security-group|internet-gateway|vpc-endpoint|network-interface)/"
    r"|iam:|lambda:|glue:|athena:|cloudformation:|elasticfilesystem:[^:]*:\d*:access-point/|s3files:)"
)
"""What costs nothing while nothing uses it."""


@dataclass(frozen=True, slots=True)
class Leak:
    """Something that is billed."""

    arn: str
    billed: str
    remedy: str


@dataclass(frozen=True, slots=True)
class Found:
    """What there is of ours."""

    leaks: tuple[Leak, ...]
    free: tuple[str, ...]
    """ARNs of what costs nothing."""
    unasked: tuple[str, ...]
    """What could not be asked, in words: something of it may be left."""


class _Tagged(BaseModel):
    arn: str = Field(alias="ResourceARN")


class _TaggedPage(BaseModel):
    resources: list[_Tagged] = Field(alias="ResourceTagMappingList")


class _DirectoryBucket(BaseModel):
    name: str = Field(alias="Name")


class _DirectoryBuckets(BaseModel):
    buckets: list[_DirectoryBucket] = Field(default_factory=list, alias="Buckets")


class _FileSystem(BaseModel):
    arn: str = Field(alias="fileSystemArn")
    bucket: str


class _FileSystems(BaseModel):
    file_systems: list[_FileSystem] = Field(default_factory=list, alias="fileSystems")


def find_leaks(account: Account, name: str) -> Found:
    """Look for everything of ours in a region.

    Args:
        account: where.
        name: the value of the tag `s3bench`, with which the names of our buckets begin too.
    """
    unasked: list[str] = []
    arns: dict[str, None] = {}
    for ask in (_tagged, _directory_buckets, _file_systems):
        try:
            arns |= dict.fromkeys(ask(account, name))
        except UserError as error:
            unasked.append(str(error))
    leaks, free = [], []
    for arn in sorted(arns):
        leak = _leak(arn)
        if leak is None or _is_empty_bucket(account, arn, unasked):
            free.append(arn)
        else:
            leaks.append(leak)
    return Found(tuple(leaks), tuple(free), tuple(unasked))


def lines_of(found: Found, name: str, region: str) -> Iterator[str]:
    """What was found, for people: a line for each."""
    for leak in found.leaks:
        yield f"✗ {leak.arn}: billed {leak.billed} → {leak.remedy}"
    for what in found.unasked:
        yield f"? {what}"
    count = f"{len(found.leaks)} of {TAG}={name} in {region} cost money"
    yield f"{count}, {len(found.free)} do not, {len(found.unasked)} could not be asked"
    yield "A terminated instance is listed for about an hour more."


def _tagged(account: Account, name: str) -> Iterator[str]:
    with told("ask for what is tagged", "tag:GetResources"):
        filters = [{"Key": TAG, "Values": [name]}]
        for page in account.pages("resourcegroupstaggingapi", "get_resources", TagFilters=filters):
            yield from (one.arn for one in _TaggedPage.model_validate(page).resources)


def _directory_buckets(account: Account, name: str) -> Iterator[str]:
    with told("list directory buckets", "s3express:ListAllMyDirectoryBuckets"):
        for page in account.pages("s3", "list_directory_buckets"):
            for bucket in _DirectoryBuckets.model_validate(page).buckets:
                if re.fullmatch(rf"{re.escape(name)}-(\d{{12}})--.+--x-s3", bucket.name):
                    number = bucket.name.removeprefix(f"{name}-")[:12]
                    yield f"arn:aws:s3express:{account.region}:{number}:bucket/{bucket.name}"


def _file_systems(account: Account, name: str) -> Iterator[str]:
    with told("list S3 Files file systems", "s3files:ListFileSystems"):
        for page in account.pages("s3files", "list_file_systems"):
            for one in _FileSystems.model_validate(page).file_systems:
                if one.bucket.split(":::")[-1].startswith(f"{name}-data-"):
                    yield one.arn


def _leak(arn: str) -> Leak | None:
    """How it is billed; None where it is not."""
    _, _, kind = arn.split(":", 2)
    for pattern, billed, remedy in _COSTS:
        if re.match(pattern, kind):
            return Leak(arn, billed, remedy)
    if _FREE.match(kind):
        return None
    return Leak(arn, "in a way that is not known here", "look at it in the console: no template makes one")


def _is_empty_bucket(account: Account, arn: str, unasked: list[str]) -> bool:
    """Whether it is a bucket that holds nothing, which costs nothing."""
    kind, bucket = arn.split(":", 2)[2], arn.rsplit(":", maxsplit=1)[-1].removeprefix("bucket/")
    if not kind.startswith(("s3::", "s3express:")):
        return False
    client = account.buckets()
    try:
        with told(f"look into the bucket {bucket}", "s3:ListBucket and s3:ListBucketVersions"):
            if kind.startswith("s3express:"):
                held: object = client.list_objects_v2(Bucket=bucket, MaxKeys=1).get("Contents")
            else:
                versions = client.list_object_versions(Bucket=bucket, MaxKeys=1)
                held = versions.get("Versions") or versions.get("DeleteMarkers")
            return not held and not client.list_multipart_uploads(Bucket=bucket, MaxUploads=1).get("Uploads")
    except UserError as error:
        unasked.append(str(error))
        return False
