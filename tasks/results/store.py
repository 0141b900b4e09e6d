"""Where results lie: a local folder, or a prefix of a bucket, behind one Protocol.

A file is written whole or not at all, and writing it twice leaves it there once. Of 25 writers killed
while writing in place, 22 left a file that breaks every reader of the folder; with a rename none did.

Rejected: pyarrow's own file systems. They write in place locally, and in S3 take three requests, cannot
say `If-None-Match`, and can leave an unfinished upload behind.
"""

import re
from pathlib import Path
from typing import Protocol

from configs.base import is_prefix
from configs.errors import UserError
from configs.targets import BUCKET_NAME_PATTERN
from tasks.results.local_store import LocalStore
from tasks.results.s3_store import S3Store


class Store(Protocol):
    """A place that keeps files by name; names are relative and joined by `/`."""

    @property
    def location(self) -> str:
        """What the user called it."""
        ...

    @property
    def endpoint(self) -> str:
        """Which S3 server it is at, by host and port; empty for Amazon's own, and for a folder."""
        ...

    def check_writable(self) -> None:
        """Write something small, so that a run that could not be kept is never measured.

        Raises:
            UserError: if it cannot be written.
        """
        ...

    def probe(self) -> str:
        """Write something small and remove it again, to tell what a run would meet; no run needs it.

        Returns:
            What is not as it should be although results can be kept; empty where all is.

        Raises:
            UserError: if it cannot be written.
        """
        ...

    def put(self, name: str, content: bytes, *, replace: bool = False) -> None:
        """Keep a file, whole or not at all. The same content again is no error.

        Raises:
            UserError: if it cannot be written, or if other content has that name and `replace` is false.
        """
        ...

    def get(self, name: str) -> bytes:
        """The content of a file.

        Raises:
            UserError: if it is not there or cannot be read.
        """
        ...

    def names(self, folder: str) -> list[str]:
        """The names of all Parquet files below a folder, sorted; none where the folder is missing.

        Files that Athena hides, whose name or folder starts with `.` or `_`, are left out.

        Raises:
            UserError: if it cannot be listed.
        """
        ...

    def sizes(self, folder: str) -> dict[str, int]:
        """The size in bytes of every file that `names` gives, in their order; nothing is fetched.

        Raises:
            UserError: if it cannot be listed.
        """
        ...


def open_store(location: str | Path) -> Store:
    """The store at a folder, which need not exist yet, or at `s3://BUCKET/PREFIX`.

    S3 takes the credentials, region and endpoint that boto3 finds (`AWS_PROFILE`, `AWS_ENDPOINT_URL` …).

    Raises:
        UserError: if the location is neither, or is in the home of a user that there is not.
    """
    text = str(location)
    if "://" not in text:
        return LocalStore(_folder(text))
    bucket, _, prefix = text.removeprefix("s3://").rstrip("/").partition("/")
    if (
        not text.startswith("s3://")
        or re.fullmatch(BUCKET_NAME_PATTERN, bucket) is None
        or not is_prefix(prefix)
    ):
        raise UserError(
            f"results location {text!r}: give a folder, or s3://BUCKET/PREFIX with a prefix of its own, "
            "such as s3://my-bucket/s3bench-results, of letters, digits and !_.()=+@,:- alone"
        )
    return S3Store(bucket, prefix)


def open_existing_store(location: str | Path) -> Store:
    """The store at a location, for reading: a folder has to be there.

    Raises:
        UserError: as `open_store`, and if there is no such folder.
    """
    store = open_store(location)
    if isinstance(store, LocalStore) and not _folder(str(location)).is_dir():
        raise UserError(f"{location}: there is no such folder: name the one that holds the results")
    return store


def _folder(text: str) -> Path:
    if "\0" in text:
        raise UserError(f"results location {text!r}: no folder has such a name")
    try:
        return Path(text).expanduser()
    except RuntimeError as error:  # what pathlib raises for a home that it cannot find
        raise UserError(f"results location {text!r}: {error}: give the folder's whole path") from error
