"""What boto3's requests show of themselves, seen by botocore's events and never while a sample is taken."""

import io
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from botocore.awsrequest import AWSPreparedRequest, AWSResponse
from botocore.compat import HTTPHeaders
from urllib3 import HTTPResponse

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client

SIGNING_SCOPE: Final = re.compile(r"Credential=[^/]+/\d{8}/[^/]+/(?P<signing_name>[^/]+)/aws4_request")
"""The credential scope of a Signature Version 4; what stands before it, the key's id, is not kept."""

_HTTP_VERSIONS: Final = {10: "HTTP/1.0", 11: "HTTP/1.1", 20: "HTTP/2"}
NO_CHECKSUM: Final = "none"


@dataclass(slots=True)
class RequestFacts:
    """What the latest request and its answer showed."""

    signing_name: str = ""
    """`s3`, or `s3express`; empty where a request was not signed by Signature Version 4."""
    used_session: bool = False
    """Whether it carried the token of a directory bucket's session."""
    http_version: str = ""

    def take_request(self, request: AWSPreparedRequest, **_: object) -> None:
        """Look at a signed request, just before it is sent."""
        if request.url.endswith("?session"):
            return  # CreateSession itself has one's own signature
        found = SIGNING_SCOPE.search(_text(request.headers.get("Authorization", "")))
        self.signing_name = found["signing_name"] if found else ""
        self.used_session = "x-amz-s3session-token" in request.headers

    def take_answer(self, http_response: AWSResponse, **_: object) -> None:
        """Look at an answer."""
        version: int = getattr(http_response.raw, "version", 0)
        self.http_version = _HTTP_VERSIONS.get(version, "unknown")


@contextmanager
def requests_seen(client: "S3Client") -> Iterator[RequestFacts]:
    """Look at every listing that is sent inside; afterwards nothing is left in the client's way."""
    facts, events = RequestFacts(), client.meta.events
    events.register("before-send.s3", facts.take_request)
    events.register("after-call.s3.ListObjectsV2", facts.take_answer)
    try:
        yield facts
    finally:
        events.unregister("before-send.s3", facts.take_request)
        events.unregister("after-call.s3.ListObjectsV2", facts.take_answer)


def upload_checksum(client: "S3Client", bucket: str, key: str) -> str:
    """The checksum that an upload of this client carries, such as `crc32`; `NO_CHECKSUM` where it has none.

    The request is built and signed as any other, but answered here: nothing is sent, nothing is written.
    """
    seen: list[str] = []

    def answer_here(request: AWSPreparedRequest, **_: object) -> Any:
        names = [*request.headers, _text(request.headers.get("x-amz-trailer", ""))]
        seen.extend(
            name.lower().removeprefix("x-amz-checksum-")
            for name in names
            if name.lower().startswith("x-amz-checksum-")
        )
        return AWSResponse(
            request.url, 200, HTTPHeaders(), HTTPResponse(body=io.BytesIO(), preload_content=False)
        )

    client.meta.events.register("before-send.s3.PutObject", answer_here)
    try:
        client.put_object(Bucket=bucket, Key=key, Body=b"x")
    finally:
        client.meta.events.unregister("before-send.s3.PutObject", answer_here)
    return ", ".join(seen) or NO_CHECKSUM


def _text(header: str | bytes) -> str:
    return header.decode("latin-1") if isinstance(header, bytes) else header
