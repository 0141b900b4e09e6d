"""What an access path is: the client that moves bytes, behind one Protocol.

`read`, `write` and `list_keys` are timed; everything else runs while no clock does. Keys are whole
object keys of the bucket on every path, so that all of them reach the same bytes.
"""

from dataclasses import dataclass
from typing import NamedTuple, Protocol

from tasks.kernel.samples import Failure


class Upload(NamedTuple):
    """One object to write."""

    key: str
    payload: bytes


@dataclass(frozen=True, slots=True)
class Answer:
    """What a client knows of a request that ended; None where it has no such notion."""

    http_status: int | None = None
    retries: int | None = None


@dataclass(frozen=True, slots=True)
class CacheStates:
    """In words: what may hold the bytes when a read begins, and who has them when a write ends."""

    single: str
    unique: str
    scan: str
    write: str


class AccessPath(Protocol):
    """A client that is connected once per block and then used by one worker.

    `Native` answers are passed back untouched, so that taking them apart costs no measured time.
    """

    cache_states: CacheStates

    def connect(self, concurrency: int) -> None:
        """Build the client and open a connection for each of the threads that will use it.

        Raises:
            UnsupportedError: it cannot be measured here; the cell is skipped with this reason.
            LabelError: what would run is not what the label says; the cell fails.
        """

    def proof(self) -> dict[str, str]:
        """What was observed to run: client and version, host that was asked, what is mounted."""

    def list_keys(self, prefix: str) -> list[str]:
        """The keys of all objects below `prefix`, in any order (timed in scans)."""

    def read(self, key: str) -> tuple[bytes, object]:
        """The whole object and the client's native answer (timed)."""

    def write(self, upload: Upload) -> object:
        """Write a whole object; returns the client's native answer (timed)."""

    def answer(self, native: object) -> Answer:
        """Take a native answer apart."""

    def failure(self, error: Exception) -> Failure:
        """Say what an exception of a timed call means."""

    def ready_for_writes(self, prefix: str) -> None:
        """Make what writes below `prefix` need to exist, such as a folder."""

    def size_of(self, key: str) -> int:
        """Size in bytes of an object that was written."""

    def delete(self, keys: list[str]) -> None:
        """Delete objects that this block wrote."""

    def close(self) -> None:
        """Release what `connect` opened."""
