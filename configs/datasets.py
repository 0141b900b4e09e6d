"""The data that workloads read: CloudTrail logs, generated or copied, and random blobs."""

from typing import Annotated, Literal

from pydantic import Field, model_validator

from configs.base import Count, Line, Model, Seed, Size


class CloudTrailGenerated(Model):
    """Realistic CloudTrail logs in the real key layout; the same bytes for the same seed.

    The defaults are the size of experiment E1 (cloudtrail-s3-files): one day of one account and region.
    """

    kind: Literal["cloudtrail_generated"] = "cloudtrail_generated"
    files: Count = 302
    records: Annotated[int, Field(ge=0, le=1_000_000_000)] = 11_395
    seed: Seed = 20_260_501

    @model_validator(mode="after")
    def _files_hold_records(self) -> "CloudTrailGenerated":
        if self.records < self.files:
            message = (
                f"{self.records} records do not fill {self.files} files: give at least one record for each"
            )
            raise ValueError(message)
        return self


class CloudTrailCopied(Model):
    """Real CloudTrail logs, copied from a folder or `s3://bucket/prefix`; keys are kept from AWSLogs/ on."""

    kind: Literal["cloudtrail_copied"] = "cloudtrail_copied"
    source: Line


class Blobs(Model):
    """Random bytes of one size: one object for `single` reads and `unique_count` for `unique` reads."""

    kind: Literal["blobs"] = "blobs"
    size: Size
    unique_count: Count = 105
    seed: Seed = 20_260_701


class FileTree(Model):
    """Files as experiment E3 (express-cli-sync) moved them: 12,086 access logs of mean 354,541 bytes.

    Their sizes are drawn once by the seed: see `tasks/datasets/file_tree.py` for the distribution.
    """

    kind: Literal["file_tree"] = "file_tree"
    files: Count = 12_086
    mean_size: Size = Size(354_541)
    scale: Annotated[float, Field(gt=0, le=1)] = 1.0
    """The share of the files that is made, each of a size as in the whole."""
    seed: Seed = 20_231_201

    @property
    def scaled_files(self) -> int:
        """How many files there are."""
        return max(1, round(self.files * self.scale))


DatasetConfig = Annotated[
    CloudTrailGenerated | CloudTrailCopied | Blobs | FileTree, Field(discriminator="kind")
]
