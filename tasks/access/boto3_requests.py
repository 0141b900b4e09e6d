"""What boto3's requests show of themselves, seen by botocore's events and never while a sample is taken."""

import io
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from botocore.awsrequest import AWSPreparedRequest, AWSResponse
from botocore.compat import HTTPHeaders
from botocore.httpchecksum import StreamingChecksumBody
from urllib3 import HTTPResponse

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client

SIGNING_SCOPE: Final = re.compile(r"Credential=[^/]+/\d{8}/[^/]+/(?P<signing_name>[^/]+)/aws4_request")
"""The credential scope of a Signature Version 4; what stands before it, the key's id, is not kept."""
S3_SIGNING_NAMES: Final = ("s3", "s3express")

_HTTP_VERSIONS: Final = {10: "HTTP/1.0", 11: "HTTP/1.1", 20: "HTTP/2"}
NO_CHECKSUM: Final = "none"
_CHECKSUM: Final = re.compile(r"x-amz-checksum-(?P<algorithm>(?!type$)\w+)", re.IGNORECASE)
"""A header with a checksum in it; `x-amz-checksum-type` says of what it is one."""


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


def upload_checksum(client: "S3Client", upload: Callable[[], object]) -> str:
    """The checksum that an upload carries, such as `crc32`; `NO_CHECKSUM` where it has none.

    The request is built and signed as any other, but answered here: nothing is sent, nothing is written.

    Args:
        client: sends it.
        upload: writes one small object by that client.
    """
    seen: list[str] = []

    def answer_here(request: AWSPreparedRequest, **_: object) -> Any:
        seen.extend(_checksums_in([*request.headers, _text(request.headers.get("x-amz-trailer", ""))]))
        return AWSResponse(
            request.url, 200, HTTPHeaders(), HTTPResponse(body=io.BytesIO(), preload_content=False)
        )

    client.meta.events.register("before-send.s3.PutObject", answer_here)
    try:
        upload()
    finally:
        client.meta.events.unregister("before-send.s3.PutObject", answer_here)
    return ", ".join(seen) or NO_CHECKSUM


def read_checksum(response: Mapping[str, Any]) -> str:
    """The checksum that came with a read, and whether boto3 checked it, which takes time within the read.

    It comes where it was asked for and the object has one; one made of those of parts cannot be checked.

    Args:
        response: what `get_object` gave.
    """
    came = ", ".join(_checksums_in(response["ResponseMetadata"]["HTTPHeaders"]))
    if not came:
        return NO_CHECKSUM
    checked = isinstance(response["Body"], StreamingChecksumBody)
    return f"{came}, {'checked within the read' if checked else 'not checked'}"


def _checksums_in(headers: Iterable[str]) -> list[str]:
    found = map(_CHECKSUM.fullmatch, headers)
    return [match["algorithm"].lower() for match in found if match]


def _text(header: str | bytes) -> str:
    return header.decode("latin-1") if isinstance(header, bytes) else header
