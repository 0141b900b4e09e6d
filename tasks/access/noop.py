"""The access path that moves nothing: what is left of a measurement is the harness."""

from configs.access_paths import NoOp
from configs.targets import AnyBucket
from tasks.access.protocol import Answer, CacheStates, Upload
from tasks.kernel.samples import Failure

_ANSWER = Answer()


class NoOpPath:
    """Gives back what this process wrote, and no bytes for any other key."""

    cache_states = CacheStates(
        single="nothing is moved",
        unique="nothing is moved",
        scan="nothing is moved",
        write="nothing is moved",
    )

    def __init__(self, config: NoOp, target: AnyBucket) -> None:
        self._written: dict[str, bytes] = {}

    def connect(self, concurrency: int) -> None:
        """Nothing to connect to."""

    def proof(self) -> dict[str, str]:
        """Says that nothing ran."""
        return {"client": "none"}

    def list_keys(self, prefix: str) -> list[str]:
        """What this process wrote there."""
        return [key for key in self._written if key.startswith(prefix)]

    def read(self, key: str) -> tuple[bytes, object]:
        """What this process wrote, or nothing."""
        return self._written.get(key, b""), None

    def write(self, upload: Upload) -> object:
        """Keep a reference to the payload."""
        self._written[upload.key] = upload.payload
        return None

    def answer(self, native: object) -> Answer:
        """Nothing to tell."""
        return _ANSWER

    def failure(self, error: Exception) -> Failure:
        """Only a mistake of ours can fail here."""
        return Failure(type(error).__name__, str(error))

    def ready_for_writes(self, prefix: str) -> None:
        """Nothing to make."""

    def sizes_below(self, prefix: str) -> dict[str, int]:
        """The sizes that were written there."""
        return {key: len(self._written[key]) for key in self.list_keys(prefix)}

    def delete(self, keys: list[str]) -> None:
        """Forget the keys."""
        for key in keys:
            del self._written[key]

    def close(self) -> None:
        """Nothing to release."""
