"""What `aws … --debug` tells of its requests to S3: to which host, how signed, by which engine.

A request to another service, such as one that assumes a role, is none of them.

The text holds signatures and session tokens: it is read here, and never stored.
"""

import re
from dataclasses import dataclass
from typing import Final
from urllib.parse import urlsplit

from tasks.access.boto3_requests import S3_SIGNING_NAMES, SIGNING_SCOPE

_REQUEST: Final = re.compile(
    r"Sending http request: <AWSPreparedRequest [^\n]*?url=(?P<url>\S+), (?P<rest>.*)"
)
_CLASSIC: Final = "awscli.customizations.s3.factory - DEBUG - Using a multipart threshold of"
_CRT: Final = re.compile(r"^\[\w+\] \[\S+\] \[\w+\] \[S3Client\]", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Seen:
    """The requests of one process, but CreateSession, which has one's own signature."""

    hosts: tuple[str, ...]
    """In the order in which they were asked, each once."""
    signing_name: str
    """Of the last request: `s3` or `s3express`; empty where there was none."""
    used_session: bool
    """Whether the last one carried the token of a directory bucket's session."""
    engine: str
    """`classic` or `crt`; empty where the CLI says nothing of it, as version 1."""


def seen_in(printed: str) -> Seen:
    """Read what a process printed."""
    requests = [
        found
        for found in _REQUEST.finditer(printed)
        if _signing_name(found["rest"]) in S3_SIGNING_NAMES and not found["url"].endswith("?session")
    ]
    last = requests[-1]["rest"] if requests else ""
    engine = "classic" if _CLASSIC in printed else "crt" if _CRT.search(printed) else ""
    return Seen(
        hosts=tuple(dict.fromkeys(urlsplit(found["url"]).netloc for found in requests)),
        signing_name=_signing_name(last),
        used_session="x-amz-s3session-token" in last,
        engine=engine,
    )


def _signing_name(request: str) -> str:
    scope = SIGNING_SCOPE.search(request)
    return scope["signing_name"] if scope else ""
