"""A result store below a prefix of a bucket: one PUT to a file's only key, which is atomic in S3."""

import contextlib
import secrets
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

import boto3
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError

from configs.errors import UserError
from configs.redaction import remember
from tasks.results.store_rules import is_hidden, refuse_unlike

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client

_CHECK_NAME: Final = ".s3bench-write-check"
_TAKEN: Final = frozenset({"PreconditionFailed", "ConditionalRequestConflict"})
"""What S3 answers where the key exists, or is just being written."""

_OVERWRITES: Final = (
    "the server ignores If-None-Match: it would not keep two writers of one file from replacing each other's"
)

_AMAZONS: Final = (".amazonaws.com", ".api.aws")
"""How the host names of Amazon S3 end: a bucket is the same by all of them."""

_PERMISSIONS: Final = "the credentials need s3:GetObject, s3:PutObject and s3:ListBucket on it"
_S3_REMEDIES: Final = {
    "NoSuchBucket": "create the bucket, or name one that exists",
    "AccessDenied": _PERMISSIONS,
    "403": _PERMISSIONS,
    "InvalidAccessKeyId": "set the credentials of the account that owns it",
    "SignatureDoesNotMatch": "set the secret key that belongs to the access key",
    "ExpiredToken": "renew the credentials",
}


class S3Store:
    """A store below a prefix of a bucket."""

    def __init__(self, bucket: str, prefix: str) -> None:
        self._bucket = bucket
        self._prefix = prefix
        with _s3_explained(self.location):
            session = boto3.Session()
            self._client: S3Client = session.client(
                "s3",
                config=Config(
                    connect_timeout=5,
                    read_timeout=60,
                    retries={"mode": "standard", "total_max_attempts": 4},
                ),
            )
            remember(session.get_credentials())

    @property
    def location(self) -> str:
        """The prefix, as an address."""
        return f"s3://{self._bucket}/{self._prefix}"

    @property
    def endpoint(self) -> str:
        """See `Store`. The client's own word: an endpoint may come from the environment or a profile."""
        asked = urlsplit(self._client.meta.endpoint_url)
        if f".{asked.hostname}".endswith(_AMAZONS):
            return ""
        return asked.netloc.rpartition("@")[2]  # before the name may be a password

    def check_writable(self) -> None:
        """See `Store`. Leaves one small hidden object, so that no right to delete is needed.

        It is written anew each time, because a right that was revoked since the last run must show here.
        """
        self.put(_CHECK_NAME, b"results can be written here\n", replace=True)
        self.get(_CHECK_NAME)
        self.names(_CHECK_NAME)

    def probe(self) -> str:
        """See `Store`. Also tells whether `If-None-Match` is honoured."""
        name = f"{_CHECK_NAME}-{secrets.token_hex(8)}"
        with _s3_explained(self._address(name)):
            self._client.put_object(Bucket=self._bucket, Key=self._key(name), Body=b"1", IfNoneMatch="*")
            try:
                self._client.put_object(Bucket=self._bucket, Key=self._key(name), Body=b"2", IfNoneMatch="*")
                warning = _OVERWRITES
            except ClientError as error:
                if error.response["Error"]["Code"] not in _TAKEN:
                    raise
                warning = ""
            finally:
                kept = self._why_kept(name)
        return "; ".join(filter(None, (warning, kept)))

    def _why_kept(self, name: str) -> str:
        """Remove a probe; tells where that is not allowed, which no run needs."""
        try:
            self._client.delete_object(Bucket=self._bucket, Key=self._key(name))
        except (ClientError, BotoCoreError) as error:
            return f"{self._address(name)} could not be removed, as no run needs to: {error}"
        return ""

    def put(self, name: str, content: bytes, *, replace: bool = False) -> None:
        """See `Store`.

        The condition on the PUT closes the race between two writers where the service knows it: Amazon S3
        does, rclone 1.75 ignores it and overwrites, which is why the look goes before it.
        """
        if replace:
            with _s3_explained(self._address(name)):
                self._client.put_object(Bucket=self._bucket, Key=self._key(name), Body=content)
        elif not self._has(name, content):
            self._put_new(name, content)

    def get(self, name: str) -> bytes:
        """See `Store`."""
        with _s3_explained(self._address(name)):
            return self._client.get_object(Bucket=self._bucket, Key=self._key(name))["Body"].read()

    def names(self, folder: str) -> list[str]:
        """See `Store`."""
        return list(self.sizes(folder))

    def sizes(self, folder: str) -> dict[str, int]:
        """See `Store`."""
        pages = self._client.get_paginator("list_objects_v2").paginate(
            Bucket=self._bucket, Prefix=self._key(folder) + "/"
        )
        with _s3_explained(self.location):
            items = [(item["Key"], item["Size"]) for page in pages for item in page.get("Contents", [])]
        below = f"{self._prefix}/"
        # Not every server heeds what it is asked for.
        found = {key.removeprefix(below): size_bytes for key, size_bytes in items if key.startswith(below)}
        return {
            name: found[name] for name in sorted(found) if name.endswith(".parquet") and not is_hidden(name)
        }

    def _key(self, name: str) -> str:
        return f"{self._prefix}/{name}"

    def _address(self, name: str) -> str:
        return f"{self.location}/{name}"

    def _has(self, name: str, content: bytes) -> bool:
        """Whether the file is there with this content; unlike content is refused."""
        with _s3_explained(self._address(name)):
            try:
                answer = self._client.get_object(Bucket=self._bucket, Key=self._key(name))
            except self._client.exceptions.NoSuchKey:
                return False
            refuse_unlike(self._address(name), answer["Body"].read(), content)
            return True

    def _put_new(self, name: str, content: bytes) -> None:
        with _s3_explained(self._address(name)):
            try:
                self._client.put_object(
                    Bucket=self._bucket, Key=self._key(name), Body=content, IfNoneMatch="*"
                )
            except ClientError as error:
                # A retry of a PUT whose answer was lost meets its own object.
                if error.response["Error"]["Code"] not in _TAKEN or not self._has(name, content):
                    raise


@contextlib.contextmanager
def _s3_explained(where: str) -> Iterator[None]:
    """Turn what S3 or its client says into what the user can do."""
    try:
        yield
    except ClientError as error:
        code = error.response["Error"]["Code"]
        remedy = _S3_REMEDIES.get(code, "try again, and look at the bucket's settings if it stays")
        raise UserError(f"results at {where}: {code}: {error}: {remedy}") from error
    except BotoCoreError as error:
        raise UserError(
            f"results at {where}: {error}: check the network, the credentials and AWS_ENDPOINT_URL"
        ) from error
