"""What a prepared dataset consists of, stored beside its objects and handed to the measuring process."""

from pathlib import Path
from typing import Annotated, Self

from pydantic import Field, NonNegativeInt, model_validator

from configs.base import Model, is_path_below


class DatasetObject(Model):
    """One object of a dataset, with what a read of it must give."""

    key: str
    """The whole key in the bucket."""
    size_bytes: NonNegativeInt
    sha256: Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
    records: NonNegativeInt | None = None
    """CloudTrail records inside; none for blobs."""


class LocalTree(Model):
    """A file tree that lies on a local disk, to be uploaded."""

    folder: Path
    objects: tuple[DatasetObject, ...]
    """Its files; the key of each is its path below `folder`, with slashes."""


class LeftOut(Model):
    """Source objects that were not copied, for one reason."""

    reason: str
    count: NonNegativeInt
    example: str


class Manifest(Model):
    """A dataset as it lies in a bucket."""

    format_version: int = 1
    dataset: str
    prefix: str
    """All objects, and nothing else, lie below this prefix."""
    fingerprint: str
    """Of the configuration and, for copied logs, of the source's listing: unlike means prepare again."""
    seed: int | None
    """None for copies of what somebody else has made."""
    objects: tuple[DatasetObject, ...]
    left_out: tuple[LeftOut, ...] = ()

    @model_validator(mode="after")
    def _lies_below_its_prefix(self) -> Self:
        """Others may have written it where it is stored: its keys are read, deleted, and become paths."""
        for item in self.objects:
            if not item.key.startswith(self.prefix) or not is_path_below(item.key.removeprefix(self.prefix)):
                message = f"{item.key!r} does not lie below {self.prefix}"
                raise ValueError(message)
        return self

    @property
    def is_copied(self) -> bool:
        """Whether its objects cannot be generated again: what they were copied from may be gone."""
        return self.seed is None

    @property
    def size_bytes(self) -> int:
        """Bytes of all objects."""
        return sum(item.size_bytes for item in self.objects)

    @property
    def records(self) -> int:
        """CloudTrail records of all objects."""
        return sum(item.records or 0 for item in self.objects)
