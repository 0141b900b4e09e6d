"""obstore, the Python face of the Rust crate object_store: whole objects by one request each."""

import os
import re
import time
from datetime import timedelta
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple, cast
from urllib.parse import urlsplit

import boto3
import obstore
from obstore.auth.boto3 import Boto3CredentialProvider
from obstore.store import S3Store

from configs.access_paths import Obstore, why_unsupported
from configs.redaction import remember
from configs.targets import AnyBucket, BucketTarget, DirectoryBucketTarget
from tasks.access.bucket_side import BucketSide
from tasks.access.connections import at_once
from tasks.access.directory_label import zones_of
from tasks.access.failures import name_of_status
from tasks.access.hosts import hosts_of, refuse_other_hosts
from tasks.access.protocol import Answer, Body, CacheStates, Upload
from tasks.kernel.errors import LabelError, UnsupportedError
from tasks.kernel.samples import NULL, Failure

if TYPE_CHECKING:
    from obstore.store import ClientConfig, S3Config

_URL: Final = re.compile(r"Error performing [A-Z]+ (?P<url>https?://\S+)")
_CODE: Final = re.compile(r"<Code>(?P<code>\w+)</Code>")
_STATUS: Final = re.compile(r"status: (?P<number>\d{3}),")
_RETRIES: Final = re.compile(r"\bretries: (?P<number>\d+),")
_IO_KIND: Final = re.compile(r"\b(?:Os|Custom) \{\s+(?:code: \d+,\s+)?kind: (?P<kind>\w+)")
_HTTP_KIND: Final = re.compile(r"\b(?:HttpError \{\s+kind|inner): (?P<kind>\w+),")
"""How object_store tells a failed request, in the text of its errors and nowhere else.

A request without an answer is by its class a `GenericError`, whatever broke: the text tells what the
operating system said (`ConnectionRefused`), or else what the client was at (`Timeout`).
"""

_clock = time.perf_counter_ns


class _Native(NamedTuple):
    ttfb_ns: int


class ObstorePath(BucketSide):
    """A store of object_store's own, with its connection pool; requests run in Rust, a caller waits for each.

    Timed besides the call itself: two readings of the clock. What comes is a view of memory that Rust holds.
    The client shows no status, no request and no connection of an operation that succeeded.
    """

    cache_states = CacheStates(
        single="the same object each time; the client keeps nothing, the service may",
        unique="another object each time; the client keeps nothing",
        scan="every object once in each scan; the client keeps nothing, the service may",
        write="a new key each time; the service has the data when the call returns",
    )

    def __init__(self, config: Obstore, target: AnyBucket) -> None:
        super().__init__(target)
        self._config = config
        self._proof: dict[str, str] = {}
        self._store: S3Store

    def connect(self, concurrency: int) -> None:
        """Make the store and ask for an object that is not there, once for each thread.

        That opens the connections, and makes the session of a directory bucket. It is also what proves the
        host: object_store tells the address of a request in the error of one that fails.

        Raises:
            UnsupportedError: for a directory bucket without sessions, which the client cannot sign for.
            LabelError: the bucket does not answer, or a request went to another host than the target's.
        """
        reason = why_unsupported(self._config, self._target)
        if reason:
            raise UnsupportedError(reason)
        session = boto3.Session()
        remember(session.get_credentials())
        if session.get_credentials() is None:
            message = (
                "obstore finds no credentials: set them up, for example with `aws configure` or AWS_PROFILE"
            )
            raise LabelError(message)
        region = self._target.region or session.region_name or "us-east-1"
        self._store = _store(self._config, self._target, session, region)
        asked: set[str] = set()
        at_once(lambda: asked.add(self._host_asked()), concurrency)
        refuse_other_hosts(sorted(asked), self._target, region)
        self._proof = {
            "client": f"obstore {metadata.version('obstore')}",
            "client_class": repr(self._store),
            "host": ", ".join(sorted(asked)),
            "host_seen_by": "the error of a request for an object that is not there, sent by this client",
        }
        if isinstance(self._target, DirectoryBucketTarget):
            self._proof |= {
                "session": "asked for by the store's s3_express setting; the client does not show it",
                **zones_of(self._target),
            }

    def _host_asked(self) -> str:
        """Where a request of this client goes, from the error that it ends with.

        Raises:
            LabelError: it did not end as a request for a missing object should.
        """
        try:
            obstore.get(self._store, self._unused_key())
        except (FileNotFoundError, PermissionError, obstore.exceptions.BaseError) as error:
            found = _URL.search(str(error))
            failure = self.failure(error)
            # Without the right to list, a bucket answers 403 for what is not there.
            if found is not None and failure.error in {"NoSuchKey", "AccessDenied"}:
                return urlsplit(found["url"]).netloc
            message = f"bucket {self._target.bucket!r} does not answer: {failure.error}: {failure.message}"
            raise LabelError(message) from error
        message = f"bucket {self._target.bucket!r} gives an object that nobody wrote"
        raise LabelError(message)

    def proof(self) -> dict[str, str]:
        """Client, version, and the host that it was seen to ask when it was connected."""
        return dict(self._proof)

    def list_keys(self, prefix: str) -> list[str]:
        """All pages of obstore's own listing."""
        return [item["path"] for page in obstore.list(self._store, prefix) for item in page]

    def read(self, key: str) -> tuple[Body, object]:
        """`get`, which returns when the response's headers are there, and `bytes()`; nothing is copied."""
        started_ns = _clock()
        result = obstore.get(self._store, key)
        ttfb_ns = _clock() - started_ns
        return memoryview(result.bytes()), _Native(ttfb_ns)

    def write(self, upload: Upload) -> object:
        """`put` in a single request, whatever the size."""
        obstore.put(self._store, upload.key, upload.payload, use_multipart=False)
        return None

    def answer(self, native: object) -> Answer:
        """The first byte of a read; all else stays inside the client."""
        return Answer() if native is None else Answer(ttfb_ns=cast("_Native", native).ttfb_ns)

    def failure(self, error: Exception) -> Failure:
        """The service's error code, status and the client's retries, from the error's text."""
        text = str(error)
        status = _number(_STATUS, text)
        return Failure(
            error=_kind(error, text, status),
            message=text.partition("\n")[0].partition(": <")[0],
            http_status=status,
            retries=_number(_RETRIES, text),
        )


def _kind(error: Exception, text: str, http_status: int) -> str:
    """The service's code; without one, as on a gateway's page, the status's name; or what broke."""
    if code := _CODE.search(text):
        return code["code"]
    if isinstance(error, FileNotFoundError):
        return "NoSuchKey"
    if http_status != NULL:
        return name_of_status(http_status)
    broke = _IO_KIND.search(text) or _HTTP_KIND.search(text)
    return broke["kind"] if broke else type(error).__name__


def _store(config: Obstore, target: AnyBucket, session: boto3.Session, region: str) -> S3Store:
    # Both names of the endpoint are set: each would else be taken from an environment variable.
    endpoint_url, virtual_hosted = _endpoint(target, region)
    settings: S3Config = {
        "endpoint": endpoint_url,
        "aws_endpoint_url_s3": endpoint_url,
        "virtual_hosted_style_request": virtual_hosted,
        "s3_express": isinstance(target, DirectoryBucketTarget),
        "region": region,
    }
    return S3Store(
        target.bucket,
        config=settings,
        client_options=_client_options(config, endpoint_url),
        retry_config={"max_retries": config.max_attempts - 1},
        credential_provider=Boto3CredentialProvider(session),
    )


def _endpoint(target: AnyBucket, region: str) -> tuple[str, bool]:
    """The address that requests go to, and whether it holds the bucket's name already."""
    if isinstance(target, BucketTarget) and target.endpoint_url is not None:
        return target.endpoint_url, False
    host = hosts_of(target, region)[0]
    if "." in target.bucket:  # Amazon's certificate holds for one label before the service's name
        return f"https://{host.removeprefix(f'{target.bucket}.')}", False
    return f"https://{host}", True


def _client_options(config: Obstore, endpoint_url: str) -> "ClientConfig":
    """Time-outs, and the certificates that other AWS clients take from AWS_CA_BUNDLE, which this one ignores.

    It takes HTTPS_PROXY and NO_PROXY from the environment itself.
    """
    options: ClientConfig = {
        "allow_http": endpoint_url.startswith("http://"),
        "connect_timeout": timedelta(seconds=config.connect_timeout_s),
        "read_timeout": timedelta(seconds=config.read_timeout_s),
        # By default 30 s for all of a request, with its body: a large object would end there.
        "timeout": timedelta(days=1),
    }
    if bundle := os.environ.get("AWS_CA_BUNDLE"):
        options["root_certificate"] = Path(bundle).read_bytes()
    return options


def _number(pattern: re.Pattern[str], text: str) -> int:
    found = pattern.search(text)
    return int(found["number"]) if found else NULL
