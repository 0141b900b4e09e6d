"""What an access path is: the client that moves bytes, behind one Protocol.

An adapter is an `AccessPath` and what its configuration's `abilities` name: an `ObjectPath`, a `FilePath`,
a `TreePath`. `read`, `write`, `list_keys`, `upload…`, `download…` and `start_up` are timed; everything else
runs while no clock does. Keys are whole object keys of the bucket on every path, so that all of them reach
the same bytes.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple, Protocol

from tasks.kernel.samples import Failure

Body = bytes | memoryview
"""A whole object in memory: a view where a client keeps the bytes outside Python, so that none are copied."""


class Upload(NamedTuple):
    """One object to write."""

    key: str
    payload: bytes


class FileTransfer(NamedTuple):
    """One file to move, from or to a local disk."""

    key: str
    path: Path


class TreeTransfer(NamedTuple):
    """A whole folder to move: file `a/b` below `folder` is the object `<prefix>a/b`."""

    prefix: str
    """With its trailing slash."""
    folder: Path


@dataclass(frozen=True, slots=True)
class Answer:
    """What a client knows of a request that ended; None where it has no such notion, or nothing happened."""

    http_status: int | None = None
    retries: int | None = None
    connect_ns: int | None = None
    """Name look-up and TCP, through a proxy its CONNECT too; only where a new connection was opened."""
    tls_ns: int | None = None
    session_ns: int | None = None
    """CreateSession of a directory bucket, from its request to its answer, new connection not counted."""
    ttfb_ns: int | None = None
    """From the start of a read to its response's first byte, which is that of its status line and headers."""
    user_ns: int | None = None
    """Processor time of the client's own process, in user mode."""
    system_ns: int | None = None


@dataclass(frozen=True, slots=True)
class CacheStates:
    """In words: what may hold the bytes when a read begins, and who has them when a write ends.

    Empty where a client does no such operation.
    """

    single: str = ""
    unique: str = ""
    scan: str = ""
    write: str = ""


class AccessPath(Protocol):
    """A client that is connected once per block and then used by one worker.

    Native answers are passed back untouched, so that taking them apart costs no measured time.
    """

    cache_states: CacheStates
    """Read when it is connected: what a mount keeps depends on what is mounted."""

    def connect(self, concurrency: int) -> None:
        """Build the client and open a connection for each of the threads that will use it.

        Raises:
            UnsupportedError: it cannot be measured here; the cell is skipped with this reason.
            LabelError: what would run is not what the label says; the cell fails.
        """

    def proof(self) -> dict[str, str]:
        """What was observed to run so far: client and version, hosts that were asked, what is mounted.

        Taken when the client is connected and again after the last operation.

        Raises:
            LabelError: what ran is not what the label says; the cell fails.
        """

    def list_keys(self, prefix: str) -> list[str]:
        """The keys of all objects below `prefix`, in any order (timed in scans)."""

    def answer(self, native: object) -> Answer:
        """Take a native answer apart."""

    def failure(self, error: Exception) -> Failure:
        """Say what an exception of a timed call means."""

    def ready_for_writes(self, prefix: str) -> None:
        """Make what writes below `prefix` need to exist, such as a folder."""

    def sizes_below(self, prefix: str) -> dict[str, int]:
        """The size in bytes of every object below `prefix`, by its key: what arrived, looked at all at once.

        Not by the measured client where another one can look.
        """

    def delete(self, keys: list[str]) -> None:
        """Delete objects that this block wrote."""

    def close(self) -> None:
        """Release what `connect` opened; harmless when called again."""


class ObjectPath(AccessPath, Protocol):
    """Reads and writes whole objects in memory."""

    def read(self, key: str) -> tuple[Body, object]:
        """The whole object and the client's native answer (timed)."""

    def write(self, upload: Upload) -> object:
        """Write a whole object; returns the client's native answer (timed)."""


class RenewablePath(ObjectPath, Protocol):
    """Can throw away its client, so that the next read makes the first request of a fresh one."""

    def renew(self) -> None:
        """A fresh client: no connection, no session, no cached answer."""


class FilePath(AccessPath, Protocol):
    """Moves files between a local disk and a bucket."""

    has_start_up: bool
    """Whether each operation starts a process, whose cost is to be told beside it."""

    def ready(self) -> None:
        """Make what the next timed call needs to be fresh, such as credentials; called before each."""

    def upload(self, transfer: FileTransfer) -> object:
        """Upload a local file; returns the client's native answer (timed)."""

    def download(self, transfer: FileTransfer) -> object:
        """Download to a local path where nothing is yet (timed)."""

    def start_up(self) -> object:
        """The client's process alone, moving nothing (timed)."""

    def sha256_of(self, key: str) -> str:
        """The SHA-256, in hex, of the bytes that an object has now."""


class TreePath(FilePath, Protocol):
    """Moves whole folders at once."""

    def upload_tree(self, transfer: TreeTransfer) -> object:
        """Upload every file of a folder to an empty prefix (timed)."""

    def download_tree(self, transfer: TreeTransfer) -> object:
        """Download everything below a prefix to an empty folder (timed)."""
