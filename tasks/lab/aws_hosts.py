"""Amazon's host names for S3 in the lab's region, and what a client means by each.

Source of the names: Amazon S3 User Guide, "Amazon S3 endpoints and quotas", "Getting started with Transfer
Acceleration" and "Regional and Zonal endpoints for directory buckets". botocore makes the same.
"""

import re
from dataclasses import dataclass
from typing import Final, Literal

from tasks.lab.state import LAB_REGION, LAB_ZONES

HostKind = Literal["regional", "accelerate", "express", "express_control"]

_ZONES: Final = "|".join(map(re.escape, LAB_ZONES))
_DOMAIN: Final = rf"(?:\.dualstack)?\.{re.escape(LAB_REGION)}\.amazonaws\.com"
_PATTERNS: Final[dict[HostKind, re.Pattern[str]]] = {
    "express_control": re.compile(rf"(?P<bucket>)s3express-control{_DOMAIN}"),
    "express": re.compile(rf"(?P<bucket>[^.]+)\.s3express-(?:{_ZONES}){_DOMAIN}"),
    "accelerate": re.compile(r"(?:(?P<bucket>[^.]+)\.)?s3-accelerate(?:\.dualstack)?\.amazonaws\.com"),
    "regional": re.compile(rf"(?:(?P<bucket>.+)\.)?s3{_DOMAIN}"),
}


@dataclass(frozen=True, slots=True)
class AwsHost:
    """What a client means by a host name."""

    kind: HostKind
    bucket: str
    """Empty where the name has none: then it stands in the path."""


def aws_host(name: str) -> AwsHost | None:
    """What a host name means; none if it is no name of S3 in the lab's region and zones."""
    for kind, pattern in _PATTERNS.items():
        if found := pattern.fullmatch(name.lower()):
            return AwsHost(kind, found["bucket"] or "")
    return None


def certificate_names() -> tuple[str, ...]:
    """Every host name that `aws_host` knows, with wildcards for buckets, as a certificate names them."""
    regional = [f"{stack}{LAB_REGION}.amazonaws.com" for stack in ("", "dualstack.")]
    accelerate = [f"s3-accelerate.{stack}amazonaws.com" for stack in ("", "dualstack.")]
    with_bucket = [
        *(f"s3.{domain}" for domain in regional),
        *accelerate,
        *(f"s3express-{zone}.{domain}" for zone in LAB_ZONES for domain in regional),
    ]
    without = [
        *(f"s3.{domain}" for domain in regional),
        *accelerate,
        *(f"s3express-control.{domain}" for domain in regional),
    ]
    return (*(f"*.{name}" for name in with_bucket), *without)
