"""boto3's low-level API: `get_object` and `put_object` with the whole body."""

import functools
import os
import time
from importlib import metadata
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import boto3
import botocore
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError

from configs.access_paths import Boto3Api
from configs.targets import AnyBucket, DirectoryBucketTarget
from tasks.access import bucket_io
from tasks.access.boto3_requests import RequestFacts, read_checksum, requests_seen, upload_checksum
from tasks.access.boto3_stages import Stages, StageWatch, Traffic, traffic_of
from tasks.access.connections import open_connections
from tasks.access.directory_label import refuse_another_session, zones_of
from tasks.access.failures import failure_of_client_error
from tasks.access.hosts import refuse_other_hosts
from tasks.access.protocol import Answer, CacheStates, Upload
from tasks.access.s3_client import control_client, measured_client
from tasks.kernel.errors import LabelError
from tasks.kernel.samples import Failure

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client

_clock = time.perf_counter_ns


class _Native(NamedTuple):
    response: Any
    """boto3's own answer, a dictionary of another shape for each operation."""
    stages: Stages


class Boto3ApiPath:
    """A classic boto3 client with a connection for each thread, as a script would use it.

    Timed besides the call itself: two readings of the clock and one small object, which keep the stages.
    What is written is looked up and deleted by a control client, so that requests and connections in the
    proof are those of the measured client alone.
    """

    cache_states = CacheStates(
        single="the same object each time; the client keeps nothing, the service may",
        unique="another object each time; the client keeps nothing",
        scan="every object once in each scan; the client keeps nothing, the service may",
        write="a new key each time; the service has the data when the call returns",
    )

    def __init__(self, config: Boto3Api, target: AnyBucket) -> None:
        self._target = target
        self._config = config
        self._watch = StageWatch()
        self._proof: dict[str, str] = {}
        self._earlier = Traffic({}, 0)
        self._latest_read: dict[str, Any] | None = None
        self._session: boto3.Session
        self._client_config: Config
        self._client: S3Client

    def connect(self, concurrency: int) -> None:
        """Make the client and open a connection for each thread, so that no sample holds DNS, TCP or TLS.

        It does so by listings. The first of them makes a directory bucket's session, which is timed.

        Raises:
            LabelError: if the listing was refused, or it is not what the label says: another host, a session
                where none was wanted or none where one was, a bucket in another zone.
        """
        # A session of its own: boto3's default one keeps the first credentials that a process found.
        self._session = boto3.Session()
        self._client_config = _client_config(self._config, concurrency)
        client = self._new_client()
        stages = self._watch.begin()
        try:
            with requests_seen(client) as seen:
                open_connections(
                    self._send_listing, concurrency, lambda: traffic_of(self._client).connections
                )
        except (BotoCoreError, ClientError) as error:
            message = f"bucket {self._target.bucket!r} does not answer a listing: {error}"
            raise LabelError(message) from error
        self._proof = _client_proof(client) | {"signing_name": seen.signing_name, "http": seen.http_version}
        if isinstance(self._target, DirectoryBucketTarget):
            self._proof |= _directory_proof(self._target, seen, stages)
        self.proof()

    def _new_client(self) -> "S3Client":
        client = measured_client(self._session, self._target, self._client_config)
        self._watch.attach(client)
        self._client = client
        return client

    @functools.cached_property
    def _control(self) -> "S3Client":
        return control_client(self._target, os.environ)

    def _send_listing(self) -> None:
        self._client.list_objects_v2(Bucket=self._target.bucket, Prefix=f"{self._target.prefix}/", MaxKeys=1)

    def renew(self) -> None:
        """A new client of the same session: no connection, no CreateSession, no TLS session to resume.

        Credentials are kept, and so is what the operating system knows of names.
        """
        self._earlier += traffic_of(self._client)
        self._client.close()
        self._new_client()

    def proof(self) -> dict[str, str]:
        """Client, versions, and what went where so far; after a block it covers the whole of it.

        Raises:
            LabelError: if any request went to a host that does not mean the target.
        """
        client = self._client
        traffic = self._earlier + traffic_of(client)
        hosts = traffic.requests_by_host
        refuse_other_hosts(hosts, self._target, client.meta.region_name)
        read = {"read_checksum": read_checksum(self._latest_read)} if self._latest_read else {}
        return {
            **self._proof,
            **read,
            "host": ", ".join(hosts),
            "requests_in_block": str(sum(hosts.values())),
            "connections_in_block": str(traffic.connections),
        }

    def list_keys(self, prefix: str) -> list[str]:
        """All pages of `list_objects_v2`."""
        self._watch.begin()
        pages = self._client.get_paginator("list_objects_v2").paginate(
            Bucket=self._target.bucket, Prefix=prefix
        )
        return [item["Key"] for page in pages for item in page.get("Contents", ())]

    def read(self, key: str) -> tuple[bytes, object]:
        """`get_object`, which returns when the response's headers are there, and the whole body."""
        stages = self._watch.begin()
        response = self._client.get_object(Bucket=self._target.bucket, Key=key)
        stages.headers_ns = _clock()
        stages.response = response
        return response["Body"].read(), _Native(response, stages)

    def write(self, upload: Upload) -> object:
        """`put_object`; it ends with the response's headers, so that it has no first byte of its own."""
        stages = self._watch.begin()
        response = self._client.put_object(Bucket=self._target.bucket, Key=upload.key, Body=upload.payload)
        return _Native(response, stages)

    def answer(self, native: object) -> Answer:
        """Status, the SDK's own retries, and the stages; of a connection and a session where one was made."""
        response, stages = cast("_Native", native)
        facts = response["ResponseMetadata"]
        if "Body" in response:
            self._latest_read = response
        return Answer(
            http_status=facts["HTTPStatusCode"],
            retries=facts["RetryAttempts"],
            connect_ns=stages.connect_ns or None,
            tls_ns=stages.tls_ns or None,
            session_ns=stages.session_ns or None,
            ttfb_ns=stages.headers_ns - stages.started_ns if stages.headers_ns else None,
        )

    def failure(self, error: Exception) -> Failure:
        """The service's error code and status, or the client's exception."""
        if isinstance(error, ClientError):
            return failure_of_client_error(error)
        stages = self._watch.current
        if stages.response is None:
            return Failure(type(error).__name__, str(error), retries=stages.retries)
        facts = stages.response["ResponseMetadata"]  # the headers came, and the body broke off
        return Failure(type(error).__name__, str(error), facts["HTTPStatusCode"], facts["RetryAttempts"])

    def ready_for_writes(self, prefix: str) -> None:
        """A bucket has no folders to make; the checksum of uploads is looked at once, without a request."""
        if "upload_checksum" not in self._proof:
            self._proof["upload_checksum"] = upload_checksum(
                self._client,
                lambda: self._client.put_object(Bucket=self._target.bucket, Key=f"{prefix}probe", Body=b"x"),
            )

    def sizes_below(self, prefix: str) -> dict[str, int]:
        """From the control client's `list_objects_v2`, all pages."""
        return bucket_io.sizes_below(self._control, self._target.bucket, prefix)

    def delete(self, keys: list[str]) -> None:
        """As when cleaning up: one that cannot be deleted is an error."""
        bucket_io.delete(self._control, self._target.bucket, keys)

    def close(self) -> None:
        """Close the connection pools."""
        if "_control" in self.__dict__:
            self._control.close()
        self._client.close()


def _client_config(config: Boto3Api, concurrency: int) -> Config:
    return Config(
        connect_timeout=config.connect_timeout_s,
        read_timeout=config.read_timeout_s,
        retries={"total_max_attempts": config.max_attempts, "mode": config.retry_mode},
        max_pool_connections=concurrency,
        request_checksum_calculation=config.upload_checksums,
        response_checksum_validation=config.download_checksums,
    )


def _client_proof(client: "S3Client") -> dict[str, str]:
    http_client = type(cast("Any", client)._endpoint.http_session)  # noqa: SLF001 - botocore tells it nowhere else
    return {
        "client": f"boto3 {boto3.__version__}, botocore {botocore.__version__}",
        "client_class": f"{type(client).__name__}, {http_client.__name__}",
        "http_client": f"urllib3 {metadata.version('urllib3')}",
        "download_checksums": cast("Any", client.meta.config).response_checksum_validation,
    }


def _directory_proof(target: DirectoryBucketTarget, seen: RequestFacts, stages: Stages) -> dict[str, str]:
    """What is true of directory buckets alone; a wrong label is a LabelError."""
    refuse_another_session(target, "boto3", used_session=seen.used_session)
    created = {"create_session_ms": f"{stages.session_ns / 1e6:.3f}"} if stages.session_ns else {}
    used = "used" if seen.used_session else "not used: every request signed with one's own credentials"
    return {"session": used, **created, **zones_of(target)}
