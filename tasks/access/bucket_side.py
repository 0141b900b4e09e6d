"""The untimed half of every access path that moves files: a client that looks at the bucket and cleans up.

It is never the measured client: it goes the ordinary way where that one uses an accelerate endpoint, and what
it sees is what arrived.
"""

import hashlib
import os
import secrets
from typing import TYPE_CHECKING, Final

from configs.errors import UserError
from configs.targets import AnyBucket
from tasks.access import bucket_io
from tasks.access.s3_client import control_client
from tasks.kernel.errors import LabelError

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client

_CHUNK_BYTES: Final = 1024**2


class BucketSide:
    """Lists, measures and deletes objects; adapters add the client that moves files."""

    def __init__(self, target: AnyBucket) -> None:
        self._target = target
        self._control: S3Client | None = None

    def list_keys(self, prefix: str) -> list[str]:
        """From `list_objects_v2`, all pages."""
        return list(self.sizes_below(prefix))

    def sizes_below(self, prefix: str) -> dict[str, int]:
        """From `list_objects_v2`, all pages."""
        return bucket_io.sizes_below(self._client(), self._target.bucket, prefix)

    def sha256_of(self, key: str) -> str:
        """From a GET of the whole object."""
        digest = hashlib.sha256()
        body = self._client().get_object(Bucket=self._target.bucket, Key=key)["Body"]
        for chunk in body.iter_chunks(_CHUNK_BYTES):
            digest.update(chunk)
        return digest.hexdigest()

    def delete(self, keys: list[str]) -> None:
        """As when cleaning up: one that cannot be deleted is an error."""
        bucket_io.delete(self._client(), self._target.bucket, keys)

    def ready_for_writes(self, prefix: str) -> None:
        """A bucket has no folders to make."""

    def ready(self) -> None:
        """Nothing to make for a client inside this process."""

    def close(self) -> None:
        """Close the control client; harmless when called again."""
        if self._control is not None:
            self._control.close()
            self._control = None

    def _unused_key(self) -> str:
        """The key of an object that is not there, another one each time."""
        return f"{self._target.prefix}/nothing-{secrets.token_hex(16)}"

    def _client(self) -> "S3Client":
        if self._control is None:
            self._control = control_client(self._target, os.environ)
        return self._control

    def _refuse_a_silent_bucket(self) -> "S3Client":
        """The control client, after a listing that the bucket has answered.

        Raises:
            LabelError: it has not.
        """
        try:
            client = self._client()
            next(iter(bucket_io.objects_below(client, self._target.bucket, f"{self._target.prefix}/")), None)
        except UserError as error:
            raise LabelError(str(error)) from error
        return client
