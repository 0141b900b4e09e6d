"""A targets file for a suite, made of what the stacks say: where its targets are, and its functions."""

from collections.abc import Callable, Iterator, Mapping
from typing import Final, Literal

from pydantic import BaseModel, ConfigDict, ValidationError

from configs.errors import UserError
from configs.venues import LOCAL

OutputsOf = Callable[[str], Mapping[str, str]]
"""The outputs of a stack by the last part of its name, such as `storage`."""

MOUNT_PATH: Final = "/mnt/s3bench"
"""Where the stacks have the runner mount S3 Files, and where functions have it."""

_MEMORY_MB: Final = 512
"""Of the functions that a venue without a claim gets."""


class _Sketch(BaseModel):
    """What of a suite decides; a suite without names of buckets is none yet."""

    model_config = ConfigDict(extra="ignore")


class _Target(_Sketch):
    kind: Literal["bucket", "directory_bucket", "accelerated_bucket", "mount"] = "bucket"
    zone: Literal["same", "other"] | None = None
    shows: str = ""
    shows_bucket: bool = True


class _Venue(_Sketch):
    memory_mb: int | None = None
    vpc: bool | None = None
    direct_s3_read: Literal["auto", "enabled", "disabled"] | None = None


class _Configuration(_Sketch):
    target: str = ""
    venue: str = LOCAL


class SuiteSketch(_Sketch):
    """The targets and venues of a suite that is not filled in."""

    targets: dict[str, _Target]
    venues: dict[str, _Venue] = {}
    configurations: dict[str, _Configuration] = {}

    @classmethod
    def of(cls, values: Mapping[str, object], where: str) -> "SuiteSketch":
        """Read one.

        Raises:
            UserError: if it has no targets that make sense.
        """
        try:
            return cls.model_validate(values)
        except ValidationError as error:
            first = error.errors()[0]
            place = ".".join(map(str, first["loc"]))
            raise UserError(f"{where}: {place}: {first['msg']}") from error

    @property
    def shown(self) -> frozenset[str]:
        """The buckets that a mount shows."""
        return frozenset(one.shows for one in self.targets.values() if one.kind == "mount")

    def mounts_of(self, venue: str) -> list[_Target]:
        """The mounts that clients of configurations there go through."""
        used = {one.target for one in self.configurations.values() if one.venue == venue}
        return [one for name, one in self.targets.items() if name in used and one.kind == "mount"]


Places = dict[str, dict[str, dict[str, str]]]
"""`targets` and `venues`, by their names, with the keys that are laid over the suite."""


def places_of(suite: SuiteSketch, outputs_of: OutputsOf, region: str, mount_path: str = MOUNT_PATH) -> Places:
    """What a targets file says.

    Args:
        suite: whose targets and venues.
        outputs_of: asks a stack for its outputs, and raises where it is not there; only those that are
            needed are asked.
        region: where the stacks are.
        mount_path: where this host has mounted S3 Files by the access point of the stack.

    Raises:
        UserError: if a stack is not there, or has not what a target needs.
    """
    found: Places = {
        "targets": {
            name: dict(_target(suite, name, outputs_of, region, mount_path)) for name in suite.targets
        }
    }
    if suite.venues:
        found["venues"] = {
            name: {"function": _function(suite, name, outputs_of), "region": region} for name in suite.venues
        }
    return found


def _target(
    suite: SuiteSketch, name: str, outputs_of: OutputsOf, region: str, mount_path: str
) -> Iterator[tuple[str, str]]:
    target = suite.targets[name]
    if target.kind == "mount":
        yield "path", mount_path
        yield "root_prefix", _output(outputs_of, "file-systems", "S3FilesRootPrefix")
        if target.shows_bucket:
            yield "file_system_id", _output(outputs_of, "file-systems", "S3FilesFileSystemId")
        return
    yield "bucket", _output(outputs_of, "storage", _bucket_output(suite, name))
    yield "region", region


def _bucket_output(suite: SuiteSketch, name: str) -> str:
    target = suite.targets[name]
    if target.kind == "directory_bucket":
        return "ExpressBucketB" if target.zone == "other" else "ExpressBucketA"
    # An accelerated bucket is compared with itself by its ordinary endpoint; but a mount shows the other one.
    is_compared = any(one.kind == "accelerated_bucket" for one in suite.targets.values())
    return "AcceleratedBucket" if is_compared and name not in suite.shown else "DataBucket"


def _function(suite: SuiteSketch, name: str, outputs_of: OutputsOf) -> str:
    venue = suite.venues[name]
    mounts = suite.mounts_of(name)
    if mounts and not any(one.shows_bucket for one in mounts):
        output = "EfsFunction"
    elif mounts:
        output = {"enabled": "S3FilesDirectFunction", "disabled": "S3FilesIndirectFunction"}.get(
            venue.direct_s3_read or "auto", "S3FilesFunction"
        )
    else:
        output = "VpcBoto3Function" if venue.vpc else "Boto3Function"
    return _output(outputs_of, f"functions-{venue.memory_mb or _MEMORY_MB}", output)


def _output(outputs_of: OutputsOf, stack: str, name: str) -> str:
    value = outputs_of(stack).get(name)
    if value is None:
        what_to_do = (
            "give it ZoneIdB" if name == "ExpressBucketB" else "deploy it from this version's template"
        )
        raise UserError(f"the stack for {stack} has no output {name}: {what_to_do}")
    return value
