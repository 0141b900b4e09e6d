"""Where CloudTrail logs are copied from: a folder, or a bucket below a prefix.

A source is listed once; the entries say enough to tell later, without reading, whether anything changed.
"""

import os
import stat
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final, Protocol

from botocore.exceptions import ClientError

from configs.errors import UserError
from tasks.access.bucket_io import explained, objects_below
from tasks.datasets.plan import LeftOutError

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client

S3_SCHEME: Final = "s3://"

_ARCHIVED: Final = frozenset({"GLACIER", "DEEP_ARCHIVE"})
"""Storage classes that must be restored before a read; GLACIER_IR can be read at once."""

_ONE_OBJECT_ONLY: Final = {
    "AccessDenied": "may not be read",
    "InvalidObjectState": "archived",
    "NoSuchKey": "gone since the listing",
}
"""Errors that say something of one object, not of the whole source."""


@dataclass(frozen=True, slots=True)
class SourceEntry:
    """One object or file of a source."""

    key: str
    """The whole key, or the path relative to the folder, with slashes."""
    layout_key: str
    """What is searched for `AWSLogs/…`: a folder's own path may hold a part of the layout."""
    size_bytes: int
    version: str
    """Changes when the content is written anew: an ETag, or a time of modification in nanoseconds."""
    problem: str = ""
    """Why it cannot be read at all, seen in the listing; empty where it can."""


class Source(Protocol):
    """What copying needs of a source."""

    @property
    def name(self) -> str:
        """How messages name it."""

    def entries(self) -> Iterator[SourceEntry]:
        """List everything in it, in no particular order. Raises UserError where it cannot be listed."""

    def read(self, entry: SourceEntry) -> bytes:
        """Read one object whole.

        Raises:
            LeftOutError: this one object cannot be read.
            UserError: the source as a whole does not answer.
        """


@dataclass(frozen=True, slots=True)
class FolderSource:
    """Files below a folder. Links to files inside it are followed, links out of it are not."""

    folder: Path
    """Absolute and free of links."""

    @property
    def name(self) -> str:
        """The folder's path."""
        return str(self.folder)

    def entries(self) -> Iterator[SourceEntry]:
        """List every file, and every folder that cannot be listed or is a link."""
        denied: list[OSError] = []
        for parent, subfolders, files in os.walk(self.folder, onerror=denied.append):
            links = [name for name in subfolders if os.path.islink(os.path.join(parent, name))]  # noqa: PTH114, PTH118  walk gives text; a path object per file doubles the time
            for name in (*files, *links):
                yield self._entry(os.path.join(parent, name))  # noqa: PTH118  as above
        for error in denied:
            if Path(error.filename) == self.folder:
                raise UserError(f"cannot list the folder {self.folder}: {error.strerror}") from error
            yield self._described(error.filename, problem="folder that may not be listed")

    def _entry(self, path: str) -> SourceEntry:
        try:
            target = os.path.realpath(path, strict=True)
            status = os.stat(target)  # noqa: PTH116  as in entries
        except OSError:
            return self._described(path, problem="link that leads nowhere, or a file that is gone")
        if not Path(target).is_relative_to(self.folder):
            return self._described(path, problem="link that leads out of the folder")
        if stat.S_ISDIR(status.st_mode):
            return self._described(path, problem="link to a folder")
        if not stat.S_ISREG(status.st_mode):
            return self._described(path, problem="no regular file")
        return self._described(path, size_bytes=status.st_size, version=str(status.st_mtime_ns))

    def _described(
        self, path: str, *, size_bytes: int = 0, version: str = "", problem: str = ""
    ) -> SourceEntry:
        key = os.path.relpath(path, self.folder).replace(os.sep, "/")
        return SourceEntry(key, path.replace(os.sep, "/"), size_bytes, version, problem)

    def read(self, entry: SourceEntry) -> bytes:
        """Read one file whole; raises LeftOutError where that one file cannot be read."""
        # A link that leads out may have taken its place since the listing.
        if problem := self._entry(os.path.join(self.folder, entry.key)).problem:  # noqa: PTH118  as in entries
            raise LeftOutError(problem)
        try:
            return (self.folder / entry.key).read_bytes()
        except FileNotFoundError:
            raise LeftOutError("gone since the listing") from None
        except PermissionError:
            raise LeftOutError("may not be read") from None
        except OSError as error:
            raise UserError(f"cannot read {self.folder / entry.key}: {error.strerror}") from error


@dataclass(frozen=True, slots=True)
class BucketSource:
    """Objects below a prefix of a bucket; the prefix is a folder's name, ending in a slash, or empty."""

    client: "S3Client"
    bucket: str
    prefix: str

    @property
    def name(self) -> str:
        """Its `s3://` address."""
        return f"{S3_SCHEME}{self.bucket}/{self.prefix}"

    def entries(self) -> Iterator[SourceEntry]:
        """List every object, page by page."""
        for listed in objects_below(self.client, self.bucket, self.prefix):
            key = listed["Key"]
            problem = ""
            if listed.get("StorageClass") in _ARCHIVED:
                problem = "archived"
            elif key.endswith("/"):
                problem = "folder's own key"
            yield SourceEntry(key, key, listed["Size"], listed.get("ETag", ""), problem)

    def read(self, entry: SourceEntry) -> bytes:
        """Get one object; raises LeftOutError where that one object cannot be had."""
        with explained(f"read s3://{self.bucket}/{entry.key}", self.client.meta.endpoint_url):
            try:
                return self.client.get_object(Bucket=self.bucket, Key=entry.key)["Body"].read()
            except ClientError as error:
                reason = _ONE_OBJECT_ONLY.get(error.response["Error"]["Code"])
                if reason is None:
                    raise
                raise LeftOutError(reason) from None


def open_source(text: str, make_client: "Callable[[], S3Client]") -> Source:
    """Find the source that `text` names: `s3://bucket/prefix`, or a folder.

    Raises:
        UserError: there is no such folder, the address names no bucket, or no client can be made.
    """
    if text.startswith(S3_SCHEME):
        bucket, _, prefix = text.removeprefix(S3_SCHEME).partition("/")
        if not bucket:
            raise UserError(f"{text} names no bucket: give s3://bucket/prefix")
        with explained(f"make an S3 client for {text}"):
            client = make_client()
        return BucketSource(client, bucket, f"{prefix.rstrip('/')}/" if prefix.strip("/") else "")
    try:
        folder = Path(text).expanduser()
    except RuntimeError as error:
        raise UserError(f"{text} names the home of a user who is not known here") from error
    if not folder.exists():
        raise UserError(f"there is no folder {text}: give a folder of CloudTrail logs, or s3://bucket/prefix")
    if not folder.is_dir():
        raise UserError(f"{text} is no folder: give the folder that holds the CloudTrail logs")
    return FolderSource(folder.resolve())
