"""boto3's transfer manager: `upload_file` and `download_file`, by its classic engine or by the CRT."""

import io
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

import boto3
import botocore
from boto3.s3.transfer import S3Transfer, TransferConfig, create_transfer_manager
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError, MissingDependencyException

from configs.access_paths import TransferManager
from configs.targets import AnyBucket, DirectoryBucketTarget
from tasks.access.boto3_calls import CallsOfTransfer
from tasks.access.boto3_crt import (
    CrtWatch,
    crt_proof,
    open_crt_connections,
    refuse_what_the_crt_cannot_reach,
)
from tasks.access.boto3_requests import requests_seen, upload_checksum
from tasks.access.boto3_stages import traffic_of
from tasks.access.bucket_side import BucketSide
from tasks.access.connections import open_connections
from tasks.access.directory_label import refuse_another_session, zones_of
from tasks.access.failures import failure_of_client_error
from tasks.access.hosts import refuse_other_hosts
from tasks.access.protocol import Answer, CacheStates, FileTransfer
from tasks.access.s3_client import measured_client
from tasks.kernel.errors import LabelError
from tasks.kernel.samples import NULL, Failure

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client

_ENGINES: Final = {
    "classic": "s3transfer.manager.TransferManager",
    "crt": "s3transfer.crt.CRTTransferManager",
}
"""The class that moves the bytes."""


class TransferManagerPath(BucketSide):
    """One client for a block, and a transfer manager for each call, as in `client.upload_file`.

    Timed is what one call of `client.upload_file` or `client.download_file` does: making the manager and its
    threads, looking at the file, or at the object (a HEAD, by the classic engine alone), every request, for a
    download writing under a temporary name and renaming, without fsync, and the manager's end. That is what
    the experiments and AWS's own Python runner time. Rejected: one manager kept over all calls (`S3Transfer`
    allows it), which is a third quicker for 64 KiB and hardly anybody's script; with the CRT it also returns
    before a downloaded file has its name.

    The classic engine finds a connection for each of its threads open, the CRT up to as many. The CRT takes
    as many as it likes, and ends all after some idle seconds: what it opens anew is timed. A note of the host
    of each of its transfers is timed too. What was uploaded is looked up and deleted by a control client.
    """

    has_start_up = False
    cache_states = CacheStates(
        single="the same object each time, to a new file; it lands in the page cache, without fsync",
        unique="another object each time, to a new file; it lands in the page cache, without fsync",
        write="a file read or written just before: what fits into memory is in the page cache; to a new key "
        "each time; the service has it when the call returns",
    )

    def __init__(self, config: TransferManager, target: AnyBucket) -> None:
        super().__init__(target)
        self._config = config
        self._settings = _transfer_config(config)
        self._proof: dict[str, str] = {}
        self._calls = CallsOfTransfer()
        self._s3: S3Client | None = None
        self._manager: Any = None
        self._crt: CrtWatch | None = None

    def connect(self, concurrency: int) -> None:
        """Make client and manager, see which engine it is, and ask the bucket once through it.

        Raises:
            UnsupportedError: the CRT cannot reach this target.
            LabelError: another engine would run, or requests go elsewhere.
        """
        try:
            self._connect()
        except BaseException:
            self.close()
            raise

    def _connect(self) -> None:
        if self._config.engine == "crt":
            refuse_what_the_crt_cannot_reach(self._target)
        # A session of its own: boto3's default one keeps the first credentials that a process found.
        client = self._s3 = measured_client(
            boto3.Session(), self._target, Config(max_pool_connections=self._config.threads)
        )
        try:
            self._new_transfer()
        except MissingDependencyException as error:
            raise LabelError(
                f"engine: crt needs awscrt, and {error}: "
                "install it (pip install awscrt), or write engine: classic"
            ) from error
        _refuse_another_engine(self._config.engine, self._manager)
        try:
            seen = self._ask_by_crt() if self._config.engine == "crt" else self._ask_by_classic(client)
        except (BotoCoreError, ClientError) as error:
            raise LabelError(f"bucket {self._target.bucket!r} does not answer: {error}") from error
        self._proof = {
            "client": f"boto3 {boto3.__version__}, botocore {botocore.__version__}",
            "engine": f"{self._config.engine}: {_class_of(self._manager)}",
            **seen,
        }
        self.proof()

    @property
    def _measured(self) -> "S3Client":
        if self._s3 is None:
            raise TypeError("this access path is not connected")
        return self._s3

    def _new_transfer(self) -> S3Transfer:
        """What `client.upload_file` makes for each call, with its manager kept for the proof."""
        self._manager = create_transfer_manager(self._measured, self._settings)
        return S3Transfer(manager=self._manager)

    def _ask_by_classic(self, client: "S3Client") -> dict[str, str]:
        with requests_seen(client) as seen:
            open_connections(self._send_listing, self._config.threads, lambda: traffic_of(client).connections)
        events = client.meta.events
        events.register("before-call.s3.GetObject", self._calls.take_get)
        events.register("after-call.s3", self._calls.take_answer)
        events.register("after-call-error.s3", self._calls.take_no_answer)
        proof = {"signing_name": seen.signing_name, "http": seen.http_version, **_settings_of(client)}
        if isinstance(self._target, DirectoryBucketTarget):
            refuse_another_session(self._target, "boto3", used_session=seen.used_session)
            proof |= {"session": "used" if seen.used_session else "not used", **zones_of(self._target)}
        return proof

    def _send_listing(self) -> None:
        """One listing of the measured client."""
        self._measured.list_objects_v2(
            Bucket=self._target.bucket, Prefix=f"{self._target.prefix}/", MaxKeys=1
        )

    def _ask_by_crt(self) -> dict[str, str]:
        """The CRT moves files only: it asks for objects that are not there."""
        self._crt = CrtWatch()
        open_crt_connections(self._manager, self._target.bucket, self._unused_key, self._config.threads)
        return crt_proof(self._target, self._config.threads)

    def proof(self) -> dict[str, str]:
        """Versions, the class that moves the bytes, and the hosts that were asked so far.

        Raises:
            LabelError: a request went to a host that does not mean the target.
        """
        client = self._measured
        hosts = self._crt.hosts if self._crt else traffic_of(client).requests_by_host
        refuse_other_hosts(hosts, self._target, client.meta.region_name)
        return self._proof | {"host": ", ".join(hosts)}

    def ready_for_writes(self, prefix: str) -> None:
        """A bucket has no folders to make; the checksum of uploads is looked at once, without a request."""
        if self._config.engine == "classic" and "upload_checksum" not in self._proof:
            self._proof["upload_checksum"] = upload_checksum(
                self._measured, lambda: self._upload_one_byte(f"{prefix}probe")
            )

    def _upload_one_byte(self, key: str) -> None:
        with create_transfer_manager(self._measured, self._settings) as manager:
            manager.upload(io.BytesIO(b"x"), self._target.bucket, key).result()

    def upload(self, transfer: FileTransfer) -> object:
        """`upload_file`."""
        self._calls.clear()
        with self._new_transfer() as transfers:
            transfers.upload_file(str(transfer.path), self._target.bucket, transfer.key)
        return None

    def download(self, transfer: FileTransfer) -> object:
        """`download_file`."""
        self._calls.clear()
        with self._new_transfer() as transfers:
            transfers.download_file(self._target.bucket, transfer.key, str(transfer.path))
        return None

    def start_up(self) -> object:
        """Nothing starts: the client is in this process."""
        return None

    def answer(self, native: object) -> Answer:
        """Of the latest transfer: its status, where all its requests had the same, and the SDK's retries.

        The CRT tells neither.

        Raises:
            LabelError: another engine than the labelled one did it.
        """
        _refuse_another_engine(self._config.engine, self._manager)
        return Answer(http_status=self._calls.status, retries=self._calls.all_retries)

    def failure(self, error: Exception) -> Failure:
        """The service's error code and status, also where boto3 wraps them; or the client's exception."""
        retries = NULL if self._calls.all_retries is None else self._calls.all_retries
        known = error if isinstance(error, ClientError) else error.__context__
        if isinstance(known, ClientError):
            return replace(failure_of_client_error(known), message=str(error), retries=retries)
        error = getattr(error, "last_exception", error)  # the one around it tells nothing of why
        # The CRT's own errors begin with their name, such as AWS_IO_SOCKET_TIMEOUT.
        name = getattr(error, "name", type(error).__name__)
        status = NULL if self._calls.status is None else self._calls.status
        return Failure(str(name), str(error), http_status=status, retries=retries)

    def close(self) -> None:
        """End the thread pool and close the connections; the CRT's end by themselves."""
        if self._crt is not None:
            self._crt.close()
            self._crt = None
        if self._manager is not None:
            self._manager.__exit__(None, None, None)
            self._manager = None
        if self._s3 is not None:
            self._s3.close()
            self._s3 = None
        super().close()


def _settings_of(client: "S3Client") -> dict[str, str]:
    """What the user's environment and profile say of retries and checksums, which apply as in a script."""
    config: Any = client.meta.config
    return {
        "retry_mode": str(config.retries["mode"]),
        "max_attempts": str(config.retries.get("total_max_attempts", "the mode's own")),
        "upload_checksums": str(config.request_checksum_calculation),
        "download_checksums": str(config.response_checksum_validation),
    }


def _transfer_config(config: TransferManager) -> TransferConfig:
    if config.engine == "crt":  # chooses its concurrency itself
        return TransferConfig(
            multipart_threshold=int(config.multipart_threshold),
            multipart_chunksize=int(config.part_size),
            preferred_transfer_client="crt",
        )
    return TransferConfig(
        multipart_threshold=int(config.multipart_threshold),
        multipart_chunksize=int(config.part_size),
        max_concurrency=config.threads,
        preferred_transfer_client="classic",
    )


def _class_of(manager: object) -> str:
    return f"{type(manager).__module__}.{type(manager).__qualname__}"


def _refuse_another_engine(engine: str, manager: object) -> None:
    if _class_of(manager) != _ENGINES[engine]:
        raise LabelError(
            f"engine: {engine} is {_ENGINES[engine]}, but boto3 took {_class_of(manager)}, as it does "
            "without a word where another process on this host has a CRT client: measure when it has ended"
        )
