"""Signs anew what the AWS-shaped lab's proxy passes on: the server knows the lab's key alone.

A client's own signature is over another path (its bucket is in the host name), and on directory buckets under
another signing name and with a session's credentials. It is not checked.

Source: Amazon S3 API reference, "Authenticating Requests: Using the Authorization Header".
"""

import hashlib
import hmac
from dataclasses import dataclass, field
from datetime import UTC, datetime

from tasks.lab.aws_requests import RequestHead
from tasks.lab.state import LAB_REGION

_REPLACED = frozenset({"authorization", "x-amz-date", "x-amz-security-token", "x-amz-s3session-token"})
_UNSIGNED_PAYLOAD = "UNSIGNED-PAYLOAD"


@dataclass(slots=True)
class Signer:
    """Signature Version 4 with one key."""

    access_key_id: str
    secret_access_key: str = field(repr=False)
    _day: str = ""
    _key_of_day: bytes = field(default=b"", repr=False)

    def signed(self, head: RequestHead, bucket: str) -> bytes:
        """The head to pass on: in path style, its path below a bucket if one is given, and signed anew."""
        path = f"/{bucket}{head.path}" if bucket else head.path
        query = _without_signature(head.target.partition("?")[2])
        moment = datetime.now(UTC).strftime("%Y%m%dT%H%M%SZ")
        passed = [(name, line) for name, line in head.lines if name not in _REPLACED]
        ours = {"x-amz-content-sha256": _UNSIGNED_PAYLOAD, **_amazons_own(head), "x-amz-date": moment}
        names = ";".join(["host", *sorted(ours)])
        signed = "".join(f"{name}:{value}\n" for name, value in sorted(ours.items()))
        canonical = (
            f"{head.method}\n{path}\n{_canonical(query)}\nhost:{head.headers['host']}\n{signed}\n"
            f"{names}\n{ours['x-amz-content-sha256']}"
        )
        lines = [
            f"{head.method} {path}{f'?{query}' if query else ''} HTTP/1.1",
            *(line for name, line in passed if not name.startswith("x-amz-")),
            *(f"{name}: {value}" for name, value in ours.items()),
            f"authorization: {self._authorization(moment, names, canonical)}",
            "\r\n",
        ]
        return "\r\n".join(lines).encode("latin-1")

    def _authorization(self, moment: str, names: str, canonical: str) -> str:
        day = moment[:8]
        if day != self._day:
            self._day, self._key_of_day = day, self._derive(day)
        scope = f"{day}/{LAB_REGION}/s3/aws4_request"
        digest = hashlib.sha256(canonical.encode("latin-1")).hexdigest()
        signature = _hmac(self._key_of_day, f"AWS4-HMAC-SHA256\n{moment}\n{scope}\n{digest}").hex()
        credential = f"{self.access_key_id}/{scope}"
        return f"AWS4-HMAC-SHA256 Credential={credential}, SignedHeaders={names}, Signature={signature}"

    def _derive(self, day: str) -> bytes:
        key = f"AWS4{self.secret_access_key}".encode()
        for part in (day, LAB_REGION, "s3", "aws4_request"):
            key = _hmac(key, part)
        return key


def _amazons_own(head: RequestHead) -> dict[str, str]:
    """The headers that a signature must take in, for S3 as for rclone: those that are Amazon's own."""
    return {
        name: " ".join(value.split())
        for name, value in head.headers.items()
        if name.startswith("x-amz-") and name not in _REPLACED
    }


def _hmac(key: bytes, message: str) -> bytes:
    return hmac.digest(key, message.encode(), "sha256")


def _without_signature(query: str) -> str:
    """A query without what a presigned URL adds to it."""
    return "&".join(item for item in query.split("&") if not item.startswith("X-Amz-"))


def _canonical(query: str) -> str:
    """Sorted, with an equals sign everywhere; it is percent-encoded already, since its client signed it."""
    return "&".join(sorted(item if "=" in item else f"{item}=" for item in query.split("&") if item))
