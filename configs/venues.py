"""Where clients run besides this host: Lambda functions. What a suite says of one is proved."""

from typing import Annotated, Final, Literal

from pydantic import Field

from configs.access_paths import AccessPathConfig, AwsCli, S5cmd, TransferManager
from configs.base import Model
from configs.targets import Endpoint, Region
from configs.workloads import LeftOut, WorkloadConfig

LOCAL: Final = "local"
"""The venue that every suite has without naming it: the host of the run."""


class LambdaVenueConfig(Model):
    """A Lambda function that runs this project's code.

    What is given of `memory_mb`, `architecture`, `vpc` and `direct_s3_read` must be so, or its cells fail;
    what is not given is only recorded.
    """

    kind: Literal["lambda"] = "lambda"
    function: Annotated[str, Field(pattern=r"^[A-Za-z0-9_-]{1,64}(:[A-Za-z0-9$_-]{1,128})?$")]
    """Its name, with `:` and an alias or version if it is not to be the latest."""
    region: Region
    memory_mb: Annotated[int, Field(ge=128, le=10_240)] | None = None
    architecture: Literal["arm64", "x86_64"] | None = None
    vpc: bool | None = None
    """Whether it runs in a VPC, as it must to have a file system."""
    direct_s3_read: Literal["auto", "enabled", "disabled"] | None = None
    """How its S3 Files file system reads: `auto` asks the bucket directly from 512 MB of memory on."""
    endpoint_url: Endpoint | None = None
    """None: Amazon's own endpoint for the region; in the lab an emulator that the lab starts for a run."""


def why_not_in_lambda(access_path: AccessPathConfig, workload: WorkloadConfig) -> str:
    """Why a cell cannot be measured in a Lambda function; empty where nothing written here keeps it."""
    if isinstance(workload, LeftOut):
        return ""
    match access_path:
        case AwsCli() | S5cmd():
            return (
                f"a Lambda function has no program for {access_path.kind}: measure it on this host (venue: "
                f"{LOCAL}), or take boto3_transfer, which moves files in Lambda too"
            )
        case TransferManager(engine="crt"):
            return (
                "Lambda has no CRT engine for boto3: write engine: classic there, or measure it on this host "
                f"(venue: {LOCAL})"
            )
    if workload.needs in {"trees", "both_sides"}:
        return f"{workload.kind} needs this host: write venue: {LOCAL} for it, or name other workloads"
    return ""
