"""What boto3's CRT engine can reach, and whom it asks: it shares no settings and no events of boto3's client.

See boto3/crt.py, where it gets a botocore session and a request serializer of its own.
"""

import pkgutil
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from configs.targets import AcceleratedBucketTarget, AnyBucket, BucketTarget, DirectoryBucketTarget
from tasks.kernel.errors import UnsupportedError

if TYPE_CHECKING:
    from botocore.awsrequest import AWSPreparedRequest


def refuse_what_the_crt_cannot_reach(target: AnyBucket) -> None:
    """See that what boto3 hands to the CRT is enough: the region, the credentials, and TLS always.

    Raises:
        UnsupportedError: it is not.
    """
    if isinstance(target, BucketTarget) and urlsplit(target.endpoint_url or "").scheme == "http":
        raise UnsupportedError(
            f"boto3's CRT engine speaks TLS alone, and {target.endpoint_url} does not: "
            "measure it at Amazon S3, or in the AWS-shaped lab (lab: aws-shaped)"
        )
    if isinstance(target, AcceleratedBucketTarget):
        raise UnsupportedError(
            "boto3 gives its CRT engine no accelerate setting, so that its requests would go to the regional "
            "host: write engine: classic for Transfer Acceleration"
        )
    if isinstance(target, DirectoryBucketTarget) and not target.sessions:
        raise UnsupportedError(
            "boto3's CRT engine signs for a directory bucket with a session always: write sessions: true, "
            "or engine: classic"
        )


@contextmanager
def crt_hosts() -> Iterator[list[str]]:
    """The hosts that the CRT engine is told to ask inside; it makes its requests with a client of its own."""
    hosts: list[str] = []

    def note(request: "AWSPreparedRequest", **_: object) -> None:
        hosts.append(urlsplit(request.url).netloc)

    # boto3 keeps it in a module variable and has no public way to it.
    events = pkgutil.resolve_name("boto3.crt:BOTOCORE_CRT_SERIALIZER")._client.meta.events  # noqa: SLF001
    events.register_first("before-send.s3", note)
    try:
        yield hosts
    finally:
        events.unregister("before-send.s3", note)
