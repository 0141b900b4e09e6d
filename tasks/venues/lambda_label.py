"""Whether a Lambda function is what its venue says: by what Lambda tells of it, and by what it tells itself.

Inside a function nobody sees which file system is mounted: efs-utils leaves no record there. So the id of an
S3 Files file system is proved by the function's configuration, whose access point names it.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from configs.targets import MountTarget
from configs.venues import LambdaVenueConfig
from tasks.kernel.errors import LabelError

if TYPE_CHECKING:
    from mypy_boto3_lambda.type_defs import FileSystemConfigTypeDef, FunctionConfigurationResponseTypeDef

_S3_FILES: Final = re.compile(
    r"^arn:[^:]+:s3files:[^:]*:[^:]*:file-system/(?P<file_system_id>fs-[0-9a-f]+)"
    r"/access-point/(?P<access_point>fsap-[0-9a-f]+)$"
)
_CLAIMS: Final = ("memory_mb", "architecture", "vpc", "direct_s3_read")


@dataclass(frozen=True, slots=True)
class FileSystem:
    """The S3 Files file system of a function."""

    file_system_id: str
    access_point: str
    path: Path
    direct_s3_read: str


@dataclass(frozen=True, slots=True)
class LambdaFunction:
    """What Lambda tells of a function; no ARN, since that has the number of an account in it."""

    memory_mb: int
    architecture: str
    vpc: bool
    timeout_s: int
    runtime: str
    code_sha256: str
    """Of its zip, in Base64."""
    file_system: FileSystem | None
    """None where it has none, or one of another kind."""
    mounted_service: str = ""
    """Of its file system: `s3files` or `elasticfilesystem`; empty where it has none."""

    @property
    def proof(self) -> dict[str, str]:
        """What is recorded of it beside what the function tells itself."""
        direct = {} if self.file_system is None else {"direct_s3_read": self.file_system.direct_s3_read}
        if self.mounted_service:
            direct["file_system_service"] = self.mounted_service
        return {
            "vpc": str(self.vpc).lower(),
            "timeout_s": str(self.timeout_s),
            "configured_runtime": self.runtime,
            "code_sha256": self.code_sha256,
            **direct,
        }

    def file_system_proof(self, target: MountTarget) -> dict[str, str]:
        """The S3 Files file system that lies at a target's path, as it is proved on other hosts.

        Raises:
            LabelError: if it is another one, or none.
        """
        found = self.file_system
        if found is None or (found.file_system_id, found.path) != (target.file_system_id, target.path):
            has = "none" if found is None else f"{found.file_system_id} at {found.path}"
            raise LabelError(
                f"the target says S3 Files file system {target.file_system_id} at {target.path}, and the "
                f"function has {has}: correct the target, or the function's file system"
            )
        return {
            "file_system_id": found.file_system_id,
            "access_point": found.access_point,
            "direct_s3_reads": found.direct_s3_read,
        }


def function_of(answer: "FunctionConfigurationResponseTypeDef") -> LambdaFunction:
    """What Lambda's answer to GetFunctionConfiguration tells."""
    systems = answer.get("FileSystemConfigs", [])
    return LambdaFunction(
        memory_mb=answer["MemorySize"],
        architecture=next(iter(answer.get("Architectures", [])), "x86_64"),  # older functions have none
        vpc=bool(answer.get("VpcConfig", {}).get("SubnetIds")),
        timeout_s=answer["Timeout"],
        runtime=answer.get("Runtime", "an image"),
        code_sha256=answer.get("CodeSha256", ""),
        file_system=_file_system(systems[0]) if systems else None,  # it has one at most
        mounted_service=systems[0]["Arn"].split(":")[2] if systems else "",
    )


def _file_system(config: "FileSystemConfigTypeDef") -> FileSystem | None:
    found = _S3_FILES.match(config["Arn"])
    if found is None:
        return None
    # AUTO is the default (Amazon S3 User Guide, mounting S3 file systems on Lambda functions).
    reads = config.get("S3FilesConfig", {}).get("DirectS3Read", "AUTO").lower()
    path = Path(config["LocalMountPath"])
    return FileSystem(found["file_system_id"], found["access_point"], path, reads)


def check_function(venue: LambdaVenueConfig, found: LambdaFunction) -> None:
    """See that a function is configured as its venue says.

    Raises:
        LabelError: with everything that differs.
    """
    told: Mapping[str, object] = {
        "memory_mb": found.memory_mb,
        "architecture": found.architecture,
        "vpc": found.vpc,
        "direct_s3_read": None if found.file_system is None else found.file_system.direct_s3_read,
    }
    _refuse(venue, told, "Lambda says")


def check_facts(venue: LambdaVenueConfig, facts: Mapping[str, str]) -> None:
    """See that an invocation ran in what its venue says.

    Raises:
        LabelError: with everything that differs.
    """
    _refuse(venue, {name: facts.get(name) for name in ("memory_mb", "architecture")}, "the function tells")


def _refuse(venue: LambdaVenueConfig, told: Mapping[str, object], who: str) -> None:
    differing = list(_differing(venue, told, who))
    if differing:
        raise LabelError(f"{'; '.join(differing)}: correct the venue, or the function {venue.function}")


def _differing(venue: LambdaVenueConfig, told: Mapping[str, object], who: str) -> Iterator[str]:
    for name in _CLAIMS:
        claimed = getattr(venue, name)
        if claimed is not None and name in told and str(told[name]) != str(claimed):
            found = "none" if told[name] is None else str(told[name]).lower()
            yield f"the venue says {name}: {str(claimed).lower()}, and {who} {found}"
