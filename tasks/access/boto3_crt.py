"""What boto3's CRT engine can reach, and whom it asks: it shares no settings and no events of boto3's client.

See boto3/crt.py, where it gets a botocore session and a request serializer of its own.
"""

import io
import pkgutil
from collections.abc import Callable
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, Final

from botocore.exceptions import ClientError

from configs.access_paths import TransferManager, why_unsupported
from configs.targets import AnyBucket, DirectoryBucketTarget
from tasks.access.directory_label import zones_of
from tasks.kernel.errors import LabelError, UnsupportedError

if TYPE_CHECKING:
    from botocore.awsrequest import AWSPreparedRequest

_NOT_SHOWN: Final = "not shown by the CRT"


def refuse_what_the_crt_cannot_reach(target: AnyBucket) -> None:
    """See that what boto3 hands to the CRT is enough: the region, the credentials, and TLS always.

    Raises:
        UnsupportedError: it is not.
    """
    reason = why_unsupported(TransferManager(engine="crt"), target)
    if reason:
        raise UnsupportedError(reason)


class CrtWatch:
    """Notes the hosts of the requests that boto3 hands to the CRT engine, from now on until it is closed.

    The CRT sends them by a client of its own, which shows nothing. A note is one key of a dictionary, made
    within the timed call.
    """

    def __init__(self) -> None:
        self.hosts: dict[str, None] = {}
        # boto3 keeps it in a module variable and has no public way to it.
        serializer = pkgutil.resolve_name("boto3.crt:BOTOCORE_CRT_SERIALIZER")
        self._events = serializer._client.meta.events  # noqa: SLF001
        self._events.register_first("before-send.s3", self._note)

    def _note(self, request: "AWSPreparedRequest", **_: object) -> None:
        self.hosts[request.url.split("/", 3)[2]] = None

    def close(self) -> None:
        """Leave boto3 as it was."""
        self._events.unregister("before-send.s3", self._note)


def open_crt_connections(manager: Any, bucket: str, unused_key: Callable[[], str], wanted: int) -> None:
    """Ask for objects that are not there, once, and then as many at once as connections are wanted.

    The first goes alone, so that a directory bucket's session is made once. The CRT opens as many connections
    as requests are under way at a time: fewer than wanted where answers are quick. It keeps them for whoever
    asks next in this process, and ends all when it had nothing to do for about five seconds.

    Raises:
        LabelError: the CRT does not get there.
        ClientError: the bucket refuses.
    """
    for times in (1, wanted):
        asked = [manager.download(bucket, unused_key(), io.BytesIO()) for _ in range(times)]
        for future in asked:
            try:
                future.result()
            except ClientError as error:
                if error.response["ResponseMetadata"]["HTTPStatusCode"] != HTTPStatus.NOT_FOUND:
                    raise
            except Exception as error:
                raise LabelError(f"the CRT does not reach bucket {bucket!r}: {error}") from error


def crt_proof(target: AnyBucket, threads: int) -> dict[str, str]:
    """What is known of the CRT engine beside the hosts, and what is not.

    Raises:
        LabelError: a directory bucket is known to lie elsewhere than the target says.
    """
    proof = {
        "awscrt": pkgutil.resolve_name("awscrt:__version__"),
        "host_seen_by": "the requests that boto3 hands to the CRT, which sends them by itself",
        "connections": f"up to {threads} before the first sample, not shown by the CRT; "
        "more, and all of them after some idle seconds, are opened within samples",
        "signing_name": _NOT_SHOWN,
        "upload_checksum": f"crc32 is asked for; {_NOT_SHOWN}",
        "read_checksum": f"its check is asked for; {_NOT_SHOWN}",
        "retry_mode": "the CRT's own; the client's does not apply",
    }
    if isinstance(target, DirectoryBucketTarget):
        proof |= {"session": f"asked for; {_NOT_SHOWN}", **zones_of(target)}
    return proof
