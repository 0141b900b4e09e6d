"""The hosts that mean a target, and the refusal of all others: a request's host is what proves its label."""

import re
from collections.abc import Iterable
from typing import Final
from urllib.parse import urlsplit

from configs.targets import AcceleratedBucketTarget, AnyBucket, BucketTarget, DirectoryBucketTarget
from tasks.kernel.errors import LabelError

_FIPS: Final = re.compile(r"\.s3(express)?-fips[.-]")


def hosts_of(target: AnyBucket, region: str) -> tuple[str, ...]:
    """The hosts, with a port where it is no usual one, that mean this target; the usual one comes first.

    Virtual-hosted or path style for general-purpose buckets, virtual-hosted alone for the other kinds, with
    and without dual stack (Amazon S3 User Guide, and botocore's endpoint rules). After a redirect to a
    bucket's true region botocore asks that region's host, so that the host tells.

    Args:
        target: a bucket of any kind.
        region: that of the client, whose own settings count where the target names none.
    """
    domain = "amazonaws.com.cn" if region.startswith("cn-") else "amazonaws.com"
    match target:
        case DirectoryBucketTarget():
            service = f"{target.bucket}.s3express-{target.zone_id}"
            return f"{service}.{region}.{domain}", f"{service}.dualstack.{region}.{domain}"
        case AcceleratedBucketTarget():
            service = f"{target.bucket}.s3-accelerate"  # one service for all regions
            return f"{service}.amazonaws.com", f"{service}.dualstack.amazonaws.com"
        case BucketTarget(endpoint_url=None):
            services = [f"s3.{region}.{domain}", f"s3.dualstack.{region}.{domain}"]
            if region == "us-east-1":
                services.append(f"s3.{domain}")  # the oldest region has the global name as well
            return (*(f"{target.bucket}.{service}" for service in services), *services)
        case BucketTarget():
            own = urlsplit(str(target.endpoint_url)).netloc
            return own, f"{target.bucket}.{own}"


def refuse_other_hosts(asked: Iterable[str], target: AnyBucket, region: str) -> None:
    """See that requests went to the target and nowhere else.

    Raises:
        LabelError: naming the first host that does not mean the target, the one that does, and what to do.
    """
    wanted = hosts_of(target, region)
    for host in asked:
        if host not in wanted:
            raise LabelError(f"requests go to {host}, but the target is {wanted[0]}: {_remedy(host)}")


def _remedy(host: str) -> str:
    if ".s3-accelerate." in f".{host}":
        return (
            "a profile's s3 section says use_accelerate_endpoint: remove it there, "
            "or write kind: accelerated_bucket"
        )
    if _FIPS.search(f".{host}"):
        # Not every client heeds the setting, so that one would be compared by another way in than the rest.
        return (
            "AWS_USE_FIPS_ENDPOINT, or use_fips_endpoint in a profile, asks for FIPS endpoints, "
            "which are not measured: unset it"
        )
    return "is another region, AWS_ENDPOINT_URL or a profile setting in the way?"
