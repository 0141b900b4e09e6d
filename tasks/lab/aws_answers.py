"""What the AWS-shaped lab's proxy answers itself: what rclone does not know of Amazon S3.

Sessions of directory buckets, Transfer Acceleration's configuration, and the errors for what Amazon refuses.
Refused is what can be seen in the head of a request; sources are the API reference's pages of CreateSession,
GetBucketAccelerateConfiguration, ListObjectsV2 and "Differences for directory buckets" of the S3 User Guide.
"""

import secrets
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from http import HTTPStatus
from xml.sax.saxutils import escape

from tasks.lab.aws_hosts import AwsHost
from tasks.lab.aws_requests import RequestHead

_SESSION_LASTS = timedelta(minutes=5)
_NAMESPACE = "http://s3.amazonaws.com/doc/2006-03-01/"
_OTHER_READS = frozenset({"uploads", "location", "policy", "encryption", "lifecycle", "session"})
"""Queries that make a GET of a bucket something else than a listing, and that directory buckets know."""


@dataclass(frozen=True, slots=True)
class Answer:
    """A response that the proxy gives itself."""

    status: HTTPStatus
    body: str

    def encode(self, *, to_head: bool, close: bool) -> bytes:
        """The whole response; without its body in answer to a HEAD, and announcing the end if it closes."""
        body = self.body.encode()
        lines = (
            f"HTTP/1.1 {self.status.value} {self.status.phrase}",
            "Server: AmazonS3",
            f"x-amz-request-id: {secrets.token_hex(8).upper()}",
            "Content-Type: application/xml",
            f"Content-Length: {len(body)}",
            *(("Connection: close",) if close else ()),
            "\r\n",
        )
        return "\r\n".join(lines).encode() + (b"" if to_head else body)


@dataclass(frozen=True, slots=True)
class Session:
    """The credentials that CreateSession hands out: one set for as long as the proxy runs."""

    access_key_id: str = field(default_factory=lambda: f"LABSESSION{secrets.token_hex(8).upper()}")
    secret_access_key: str = field(default_factory=lambda: secrets.token_hex(20), repr=False)
    token: str = field(default_factory=lambda: secrets.token_hex(40), repr=False)

    def answer(self) -> Answer:
        """What CreateSession returns, with five minutes to go as at Amazon."""
        expiration = (datetime.now(UTC) + _SESSION_LASTS).strftime("%Y-%m-%dT%H:%M:%SZ")
        return Answer(
            HTTPStatus.OK,
            f'<?xml version="1.0" encoding="UTF-8"?>\n<CreateSessionResult xmlns="{_NAMESPACE}"><Credentials>'
            f"<SessionToken>{self.token}</SessionToken>"
            f"<SecretAccessKey>{self.secret_access_key}</SecretAccessKey>"
            f"<AccessKeyId>{self.access_key_id}</AccessKeyId>"
            f"<Expiration>{expiration}</Expiration></Credentials></CreateSessionResult>",
        )


@dataclass(frozen=True, slots=True)
class OwnAnswers:
    """Decides which requests the proxy answers itself."""

    access_key_id: str
    accelerated: frozenset[str]
    """Buckets for which Transfer Acceleration is enabled."""
    session: Session = field(default_factory=Session)

    def to(self, head: RequestHead, host: AwsHost) -> Answer | None:
        """The answer; none for what is passed on."""
        if not self._knows_key(head, host):
            return error(HTTPStatus.FORBIDDEN, "InvalidAccessKeyId", "This key is not the lab's.")
        if host.kind == "accelerate":
            return self._to_accelerated(host.bucket)
        if host.kind == "express" and head.path == "/":
            return self._to_directory_bucket(head)
        if host.kind == "regional" and head.method == "GET" and "accelerate" in head.query:
            return self._acceleration_of(host.bucket or head.path.strip("/"))
        return None

    def _knows_key(self, head: RequestHead, host: AwsHost) -> bool:
        """Whether a request is signed with the lab's key, or a session's.

        Signatures are not checked. The key's id is a random secret of the lab too, so that it keeps other
        users of this machine out.
        """
        signed_by = head.headers.get("authorization", "") or head.query.get("X-Amz-Credential", "")
        if self.access_key_id in signed_by:
            return True
        token = head.headers.get("x-amz-s3session-token") or head.query.get("X-Amz-S3session-Token")
        return (
            host.kind == "express" and self.session.access_key_id in signed_by and token == self.session.token
        )

    def _to_accelerated(self, bucket: str) -> Answer | None:
        if bucket in self.accelerated:
            return None
        message = "S3 Transfer Acceleration is not configured on this bucket"
        return error(HTTPStatus.BAD_REQUEST, "InvalidRequest", message)

    def _acceleration_of(self, bucket: str) -> Answer:
        status = "<Status>Enabled</Status>" if bucket in self.accelerated else ""
        return Answer(
            HTTPStatus.OK,
            f'<?xml version="1.0" encoding="UTF-8"?>\n<AccelerateConfiguration xmlns="{_NAMESPACE}">'
            f"{status}</AccelerateConfiguration>",
        )

    def _to_directory_bucket(self, head: RequestHead) -> Answer | None:
        """CreateSession, and the listings that directory buckets refuse."""
        if head.method != "GET":
            return None
        query = head.query
        if "session" in query:
            return self.session.answer()
        if query.get("list-type") == "2":
            return _refused_listing(query)
        if _OTHER_READS.isdisjoint(query):
            return error(
                HTTPStatus.NOT_IMPLEMENTED, "NotImplemented", "Directory buckets know ListObjectsV2 only."
            )
        return None


def _refused_listing(query: dict[str, str]) -> Answer | None:
    """Why a directory bucket does not list; none where it does."""
    prefix = query.get("prefix", "")
    if prefix and not prefix.endswith("/"):
        message = f"The prefix of a listing of a directory bucket ends in a slash, but this is: {prefix}"
        return error(HTTPStatus.BAD_REQUEST, "InvalidRequest", message)
    if query.get("delimiter", "/") not in {"", "/"}:
        return error(
            HTTPStatus.BAD_REQUEST, "InvalidRequest", "The only delimiter of a directory bucket is /."
        )
    if "start-after" in query:
        return error(HTTPStatus.NOT_IMPLEMENTED, "NotImplemented", "Directory buckets know no start-after.")
    return None


def error(status: HTTPStatus, code: str, message: str) -> Answer:
    """An error as Amazon S3 words it (API reference, "Error responses")."""
    return Answer(
        status,
        f'<?xml version="1.0" encoding="UTF-8"?>\n<Error><Code>{code}</Code>'
        f"<Message>{escape(message)}</Message></Error>",
    )
