"""boto3's low-level API: `get_object` and `put_object` with the whole body, one after another."""

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, cast
from urllib.parse import urlsplit

import boto3
import botocore
from botocore.awsrequest import AWSPreparedRequest
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError

from configs.access_paths import Boto3Api
from configs.targets import BucketTarget
from tasks.access import bucket_io
from tasks.access.protocol import Answer, CacheStates, Upload
from tasks.kernel.errors import LabelError
from tasks.kernel.samples import NULL, Failure

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client


class Boto3ApiPath:
    """A classic boto3 client with one connection, as a script would use it."""

    cache_states = CacheStates(
        single="the same object each time; the client keeps nothing, the service may",
        unique="another object each time; the client keeps nothing",
        scan="every object once in each scan; the client keeps nothing, the service may",
        write="a new key each time; the service has the data when the call returns",
    )

    def __init__(self, config: Boto3Api, target: BucketTarget) -> None:
        self._config = config
        self._target = target
        self._asked_host = ""
        self._client: S3Client

    def connect(self, concurrency: int) -> None:
        """Make the client and send a listing for each thread, so that no sample holds DNS, TCP or TLS.

        Raises:
            LabelError: if the listing was refused, or went to another host than the target's.
        """
        # A session of its own: boto3's default one keeps the first credentials that a process found.
        self._client = boto3.Session().client(
            "s3",
            endpoint_url=self._target.endpoint_url,
            region_name=self._target.region,
            config=Config(
                connect_timeout=self._config.connect_timeout_s,
                read_timeout=self._config.read_timeout_s,
                retries={"total_max_attempts": self._config.max_attempts, "mode": self._config.retry_mode},
                max_pool_connections=concurrency,
            ),
        )
        events = self._client.meta.events
        events.register("before-send.s3", self._note_host)
        try:
            _at_once(self._open_connection, concurrency)
        except (BotoCoreError, ClientError) as error:
            message = f"bucket {self._target.bucket!r} does not answer a listing: {error}"
            raise LabelError(message) from error
        finally:
            events.unregister("before-send.s3", self._note_host)
        self._refuse_another_host()

    def _open_connection(self) -> None:
        self._client.list_objects_v2(Bucket=self._target.bucket, Prefix=f"{self._target.prefix}/", MaxKeys=1)

    def _note_host(self, request: AWSPreparedRequest, **_: object) -> None:
        self._asked_host = urlsplit(request.url).netloc

    def _refuse_another_host(self) -> None:
        wanted = _hosts_of(self._target, self._client.meta.region_name)
        if self._asked_host not in wanted:
            message = (
                f"requests go to {self._asked_host}, but the target is {wanted[0]}: "
                "is another region, AWS_ENDPOINT_URL or a profile setting in the way?"
            )
            raise LabelError(message)

    def proof(self) -> dict[str, str]:
        """Client, versions and the host that was asked."""
        return {
            "client": f"boto3 {boto3.__version__}, botocore {botocore.__version__}",
            "host": self._asked_host,
        }

    def list_keys(self, prefix: str) -> list[str]:
        """All pages of `list_objects_v2`."""
        pages = self._client.get_paginator("list_objects_v2").paginate(
            Bucket=self._target.bucket, Prefix=prefix
        )
        return [item["Key"] for page in pages for item in page.get("Contents", ())]

    def read(self, key: str) -> tuple[bytes, object]:
        """`get_object` and the whole body."""
        response = self._client.get_object(Bucket=self._target.bucket, Key=key)
        return response["Body"].read(), response

    def write(self, upload: Upload) -> object:
        """`put_object`."""
        return self._client.put_object(Bucket=self._target.bucket, Key=upload.key, Body=upload.payload)

    def answer(self, native: object) -> Answer:
        """Status and the SDK's own retries."""
        facts = cast("dict[str, dict[str, int]]", native)["ResponseMetadata"]
        return Answer(http_status=facts["HTTPStatusCode"], retries=facts["RetryAttempts"])

    def failure(self, error: Exception) -> Failure:
        """The service's error code and status, or the client's exception."""
        if not isinstance(error, ClientError):
            return Failure(type(error).__name__, str(error))
        facts = error.response.get("ResponseMetadata", {})
        return Failure(
            error=error.response.get("Error", {}).get("Code", type(error).__name__),
            message=str(error),
            http_status=facts.get("HTTPStatusCode", NULL),
            retries=facts.get("RetryAttempts", NULL),
        )

    def ready_for_writes(self, prefix: str) -> None:
        """A bucket has no folders to make."""

    def size_of(self, key: str) -> int:
        """From HEAD."""
        return self._client.head_object(Bucket=self._target.bucket, Key=key)["ContentLength"]

    def delete(self, keys: list[str]) -> None:
        """As when cleaning up: one that cannot be deleted is an error."""
        bucket_io.delete(self._client, self._target.bucket, keys)

    def close(self) -> None:
        """Close the connection pool."""
        self._client.close()


def _hosts_of(target: BucketTarget, region: str) -> tuple[str, ...]:
    """The hosts that mean this bucket in its region, virtual-hosted or path style (Amazon S3 User Guide).

    After a redirect to a bucket's true region botocore asks that region's host, so that the host tells.
    """
    if target.endpoint_url is not None:
        own = urlsplit(target.endpoint_url).netloc
        return own, f"{target.bucket}.{own}"
    domain = "amazonaws.com.cn" if region.startswith("cn-") else "amazonaws.com"
    services = [f"s3.{region}.{domain}", f"s3.dualstack.{region}.{domain}"]
    if region == "us-east-1":
        services.append(f"s3.{domain}")  # the oldest region has the global name as well
    return (*(f"{target.bucket}.{service}" for service in services), *services)


def _at_once(request: Callable[[], None], times: int) -> None:
    """Send a request from as many threads at the same moment, so that each takes a connection of its own."""
    together = threading.Barrier(times)

    def send(_: int) -> None:
        together.wait()
        request()

    with ThreadPoolExecutor(times) as pool:
        list(pool.map(send, range(times)))
